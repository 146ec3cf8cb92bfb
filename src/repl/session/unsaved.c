/*
 * unsaved - what of a session stands in no file that its user has named.
 * Source: interaction 6, 9.
 */
#include "repl/session/session.h"

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

/* What was taken back and has no name is not asked about. */
static bool has_work(const ml_Session *ss, size_t k)
{
    ml_Schedule *s = ss->schedules[k];

    for (int v = ml_schedule_n_versions(s); --v >= ss->saved[k];)
        if (v == ml_schedule_version(s) || has_name(s, v))
            return true;
    return false;
}

bool ml_session_has_work(const ml_Session *ss)
{
    for (size_t k = 0; k < ss->n_schedules; k++)
        if (has_work(ss, k))
            return true;
    return false;
}
