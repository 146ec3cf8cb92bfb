/*
 * leave - the end of a session: the question before jobs end and steps are lost.
 * Source: interaction 6, 9.
 */
#include "repl/job/jobs.h"
#include "repl/keep/autosave.h"
#include "repl/run/run.h"

static bool has_name(const ml_Schedule *s, int version)
{
    const char *marks = ml_schedule_marks_of(s, version);

    return ml_version_branch(s, version) || (marks && !ml_streq(marks, "failed"));
}

/* Whether steps in no file lead to the current version, or to one that has a name: what was
 * taken back is not asked about. */
static bool has_work(const ml_Session *ss, size_t k)
{
    ml_Schedule *s = ss->schedules[k];

    for (int v = ml_schedule_n_versions(s); --v >= ss->saved[k];)
        if (v == ml_schedule_version(s) || has_name(s, v))
            return true;
    return false;
}

static bool would_lose(const ml_Session *ss)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (has_work(ss, k))
            return !ml_autosave_holds_all(ss);
    return false;
}

bool ml_session_let_quit(ml_Session *ss)
{
    ml_Text t = {0};

    if (!ss->prompting || ss->quit_asked)
        return true;
    ml_jobs_add_running(ss, &t);
    if (would_lose(ss)) {
        ml_text_add(&t, t.n ? ", and " : "note: ");
        ml_session_add_unsaved(ss, &t);
        ml_text_add(&t, ss->private_ ? ", and --private keeps nothing (:save FILE)"
                                     : ", nor autosaved (:save FILE)");
    }
    if (t.n) {
        ss->quit_asked = ss->n_lines ? ss->n_lines : -1;
        ml_text_add(&t, "; once more leaves");
        ml_err_prose(&ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
    return !ss->quit_asked;
}
