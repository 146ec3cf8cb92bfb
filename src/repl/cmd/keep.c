/* cmd_keep - what outlives a session: :record, :recover. Source: interaction 6, 15. */
#include <stdlib.h>
#include <unistd.h>

#include "repl/command/command.h"
#include "repl/keep/record.h"
#include "repl/keep/recover.h"
#include "repl/keep/sessions.h"

/* ---- :record */

bool cmd_record(ml_Session *ss, const ml_Words *w)
{
    const char *last = w->n > 0 ? w->v[w->n - 1] : "", *path = ml_record_path(ss);
    bool stops = ml_streq(last, "stop") || ml_streq(last, "off");

    if (w->n == 0) {
        if (path)
            ml_out_say(&ss->out, "recording to %s; :record stop ends it", path);
        else
            ml_out_prose(&ss->out,
                         "nothing is being recorded; :record FILE writes the session");
        return true;
    }
    if (ml_session_forbids(ss, ":record"))
        return false;
    if (!ss->record)
        return ml_session_error(ss, ML_E_NOT_SUPPORTED,
                                ":record where nothing is typed (scripts, -e, --json)");
    if (w->n > 2 || (w->n == 2 && !stops))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":record [FILE|FILE.cast] [stop]");
    if (stops && w->n == 1)
        return ml_record_stop(ss);
    if (path)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                "%s is being recorded: :record stop comes first", path);
    return ml_record_to(ss, w->v[0]) && (!stops || ml_record_stop(ss));
}

/* ---- :recover */

static void list(ml_Session *ss, const ml_Orphans *o)
{
    ml_Text t = {0};

    for (size_t k = 0; k < o->n; k++) {
        const ml_Orphan *one = &o->v[k];

        ml_text_fmt(&t, "%zu  ", k + 1);
        ml_orphan_when(one, &t);
        if (one->name[0])
            ml_text_fmt(&t, "  %ld step%s of %s", one->steps, one->steps == 1 ? "" : "s",
                        one->name);
        else
            ml_text_add(&t, "  damaged at its end");
        ml_text_fmt(&t, "  %ld kB%s\n", (long)((one->size + 1023) / 1024),
                    one->ended ? "  left with :quit" : "");
    }
    ml_text_add(&t, ":recover NUMBER brings one back, :recover drop NUMBER|all forgets");
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

/* 1..n, or 0. */
static size_t number_of(const char *z, size_t n)
{
    char *end;
    unsigned long k = strtoul(z, &end, 10);

    return end != z && !*end && k >= 1 && k <= n ? (size_t)k : 0;
}

static bool drop(ml_Session *ss, const ml_Orphans *o, const char *which)
{
    size_t one = number_of(which, o->n), n = 0;

    if (!one && !ml_streq(which, "all"))
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":recover drop NUMBER|all, where :recover list has the "
                                "numbers; not %s",
                                which);
    for (size_t k = 0; k < o->n; k++)
        if ((!one || k + 1 == one) && unlink(o->v[k].path) == 0)
            n++;
    ml_out_say(&ss->out, "%zu session%s forgotten", n, n == 1 ? "" : "s");
    return true;
}

/* What :recover alone means: the only one, or the only one that its user did not leave. */
static size_t only_one(const ml_Orphans *o)
{
    for (size_t k = 0; k < o->n; k++)
        if ((o->n_lost == 1 && !o->v[k].ended) || o->n == 1)
            return k + 1;
    return 0;
}

static bool choose(ml_Session *ss, const ml_Words *w, const ml_Orphans *o)
{
    size_t one = only_one(o);

    if (w->n == 1 && strchr(w->v[0], '/'))
        return ml_recover(ss, w->v[0], false);
    if (w->n == 2 && ml_streq(w->v[0], "drop"))
        return drop(ss, o, w->v[1]);
    if (w->n > 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT,
                                ":recover [NUMBER|FILE|list|drop NUMBER|drop all]");
    if (o->n == 0) {
        ml_out_prose(&ss->out,
                     "nothing is to be brought back: no session left steps behind");
        return true;
    }
    if ((w->n == 0 && !one) || (w->n == 1 && ml_streq(w->v[0], "list"))) {
        list(ss, o);
        return true;
    }
    if (w->n)
        one = number_of(w->v[0], o->n);
    if (!one)
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            ":recover NUMBER, from 1 to %zu, or a path with a /; not %s", o->n, w->v[0]);
    return ml_recover(ss, o->v[one - 1].path, true);
}

bool cmd_recover(ml_Session *ss, const ml_Words *w)
{
    ml_Orphans o = {0};

    if (ml_session_forbids(ss, ":recover"))
        return false;
    if (!ss->scratch)
        ml_orphans_find(&o);
    bool ok = choose(ss, w, &o);

    ml_orphans_free(&o);
    return ok;
}
