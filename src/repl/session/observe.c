/*
 * observe - the observers of a session (observe.h).
 *
 * One that is taken away leaves its place empty until another comes: the list may be at
 * work. Source: interaction 1, 6.
 */
#include "repl/session/observe.h"

#include "moonloop/core/base/arena.h"
#include "repl/session/session.h"

/* Calls what each has for the moment. */
#define TELL(ss, moment, arguments)                                                        \
    do                                                                                     \
        for (size_t k = 0; k < (ss)->observers.n; k++) {                                   \
            const ml_Observer *o = (ss)->observers.v[k];                                   \
                                                                                           \
            if (o && o->moment)                                                            \
                o->moment arguments;                                                       \
        }                                                                                  \
    while (0)

static void tell_output(void *user, const char *shown, const char *raw)
{
    ml_OutputEvent e = {shown, raw};

    TELL((ml_Session *)user, on_output, (o->user, user, &e));
}

void ml_session_observe(ml_Session *ss, const ml_Observer *o)
{
    ml_Observers *all = &ss->observers;
    size_t at = all->n;

    for (size_t k = 0; k < all->n; k++) {
        if (all->v[k] == o)
            return;
        if (!all->v[k] && at == all->n)
            at = k;
    }
    if (at == all->n)
        all->v = ml_heap_grow(all->v, ++all->n * sizeof *all->v);
    all->v[at] = o;
    if (o->on_output) {
        ss->out.tee = tell_output;
        ss->out.tee_user = ss;
    }
}

void ml_session_unobserve(ml_Session *ss, const ml_Observer *o)
{
    for (size_t k = 0; k < ss->observers.n; k++)
        if (ss->observers.v[k] == o)
            ss->observers.v[k] = NULL;
}

void ml_tell_before(ml_Session *ss, const ml_LineEvent *e)
{
    TELL(ss, before_line, (o->user, ss, e));
}

void ml_tell_after(ml_Session *ss, const ml_LineEvent *e)
{
    TELL(ss, after_line, (o->user, ss, e));
}

void ml_tell_version(ml_Session *ss, ml_Schedule *s, int version)
{
    TELL(ss, on_version, (o->user, ss, s, version));
}

void ml_tell_settings(ml_Session *ss)
{
    TELL(ss, on_settings, (o->user, ss));
}

void ml_tell_tick(ml_Session *ss)
{
    double now = ml_clock();

    if (now - ss->observers.ticked < 0.1)
        return;
    ss->observers.ticked = now;
    TELL(ss, on_tick, (o->user, ss));
}

void ml_tell_end(ml_Session *ss)
{
    ml_Observers *all = &ss->observers;

    while (all->n > 0) {
        const ml_Observer *o = all->v[--all->n];

        if (o && o->on_end)
            o->on_end(o->user, ss);
    }
    ml_heap_free(all->v);
    *all = (ml_Observers){0};
    ss->out.tee = NULL;
}
