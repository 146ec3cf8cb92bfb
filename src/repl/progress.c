/* progress - see progress.h. */
#include "repl/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ml_progress_begin(ml_Progress *p, ml_Session *ss, const char *what, const char *unit)
{
    *p = (ml_Progress){.ss = ss, .what = what, .unit = unit, .begun = now()};
    p->told = p->begun;
    p->live = !ss->batch && ss->out.err_capture == NULL && isatty(STDERR_FILENO);
}

/* Without the blank before a unit that ml_text_si leaves. */
static void count(ml_Text *t, double v)
{
    ml_text_si(t, v);
    while (t->n && t->p[t->n - 1] == ' ')
        t->p[--t->n] = '\0';
}

static void line(const ml_Progress *p, ml_Text *t, double done, double of, double spent)
{
    ml_text_fmt(t, "%s   ", p->what);
    count(t, done);
    if (of > 0) {
        ml_text_add(t, " of ");
        count(t, of);
    }
    ml_text_fmt(t, " %s", p->unit);
    if (of > 0)
        ml_text_fmt(t, "   %.0f %%", done < of ? 100 * done / of : 100.0);
    ml_text_fmt(t, "   %.1f s", spent);
    if (of > done && done > 0 && spent * (of - done) / done >= 1)
        ml_text_fmt(t, "   about %.0f s to go", spent * (of - done) / done);
}

void ml_progress(ml_Progress *p, double done, double of)
{
    double t = now(), wait = p->live ? p->told > p->begun ? 0.1 : 0.15 : 0.15;
    int tenths = of > 0 ? (int)(10 * done / of) : 0;
    ml_Text s = {0};

    if (t - p->told < wait)
        return;
    if (!p->live && p->told > p->begun && tenths <= p->tenths && t - p->told < 30)
        return;
    line(p, &s, done, of, t - p->begun);
    p->told = t;
    p->tenths = tenths;
    if (p->live) {
        fprintf(stderr, "\r%.*s\033[K", p->ss->out.width - 1, ml_text_z(&s));
        fflush(stderr);
        p->shown = true;
    } else {
        ml_err_line(&p->ss->out, ml_text_z(&s));
    }
    ml_text_free(&s);
}

void ml_progress_end(ml_Progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->shown = false;
}
