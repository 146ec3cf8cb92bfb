/* background - commands that go on as jobs (background.h). Source: interaction 9. */
#include "repl/job/background.h"

#include "moonloop/core/json/data.h"
#include "repl/job/jobs.h"
#include "repl/keep/record.h"

static bool is_plain(const char *word)
{
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-=./:@,+*") == strlen(word);
}

static void add_word(ml_Text *t, const char *word)
{
    if (is_plain(word)) {
        ml_text_fmt(t, " %s", word);
        return;
    }
    ml_text_add(t, " \"");
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            ml_text_char(t, '\\');
        ml_text_char(t, *word);
    }
    ml_text_char(t, '"');
}

bool ml_run_apart(ml_Session *ss, const char *command, const ml_Words *w)
{
    int version = ml_schedule_version(ss->focus), number;
    ml_Text line = {0}, said = {0};
    ml_Data *d = ml_session_data(ss);

    ml_text_add(&line, command);
    for (size_t k = 0; k < w->n; k++)
        if (!ml_streq(w->v[k], ML_BACKGROUND))
            add_word(&line, w->v[k]);
    number = ml_job_start(ss, ml_text_z(&line), version);
    if (number) {
        ml_data_one(d);
        ml_data_int(d, "job", number);
        ml_data_str(d, "what", ml_text_z(&line));
        ml_data_str(d, "schedule", ml_schedule_name(ss->focus));
        ml_data_int(d, "version", version);
        ml_text_fmt(&said, "job %d: %s on %s v%d; :jobs shows it, :stop %d ends it", number,
                    ml_text_z(&line), ml_schedule_name(ss->focus), version, number);
        ml_out_prose(&ss->out, ml_text_z(&said));
    }
    ml_text_free(&line);
    ml_text_free(&said);
    return number != 0;
}

bool ml_time_after_step(ml_Session *ss)
{
    if (!ss->prompting) {
        ml_record_unseen(ss); /* other figures the next time */
        return ml_command_run(ss, "time");
    }
    if (ss->timing)
        ml_job_stop(ss, ss->timing);
    ss->timing = ml_job_start(ss, "time", ml_schedule_version(ss->focus));
    return ss->timing != 0;
}
