/*
 * leave - the end of a session: what stands in no file, and the question before it is lost.
 * Source: interaction 6, 9.
 */
#include "repl/cmd/jobs.h"
#include "repl/keep/autosave.h"

void ml_session_saved(ml_Session *ss, const ml_Schedule *s)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (ss->schedules[k] == s)
            ss->saved[k] = ml_schedule_n_versions(s);
}

static long unsaved(const ml_Session *ss, size_t k)
{
    return ml_schedule_n_versions(ss->schedules[k]) - ss->saved[k];
}

long ml_session_unsaved(const ml_Session *ss)
{
    long n = 0;

    for (size_t k = 0; k < ss->n_schedules; k++)
        n += unsaved(ss, k);
    return n;
}

void ml_session_add_unsaved(const ml_Session *ss, ml_Text *out)
{
    long all = ml_session_unsaved(ss);
    size_t n = 0;

    for (size_t k = 0; k < ss->n_schedules; k++)
        if (unsaved(ss, k) > 0)
            ml_text_fmt(out, "%s%ld step%s of %s", n++ ? ", " : "", unsaved(ss, k),
                        unsaved(ss, k) == 1 ? "" : "s", ml_schedule_name(ss->schedules[k]));
    ml_text_fmt(out, " %s not saved", all == 1 ? "is" : "are");
}

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
        ss->quit_asked = true;
        ml_text_add(&t, "; once more leaves");
        ml_err_prose(&ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
    return !ss->quit_asked;
}
