/* shrink - a failing trial made smaller: fewer steps, fewer stages, smaller extents, fewer
 * features; and its report. The result fails in the same way. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>

static void copy_steps(FzTrial *to, const FzTrial *from, int leave_out)
{
    to->n_steps = 0;
    for (int k = 0; k < from->n_steps; k++)
        if (k != leave_out)
            to->steps[to->n_steps++] = strdup(from->steps[k]);
}

/* Runs `next`; takes it over when it fails in the same way. */
static bool better(FzTrial *t, FzTrial *next)
{
    fz_run(next, false, NULL);
    if (!next->failed || strcmp(next->kind, t->kind) != 0) {
        fz_trial_clear(next);
        return false;
    }
    fz_trial_clear(t);
    *t = *next;
    return true;
}

static FzTrial variant(const FzTrial *t, int leave_out)
{
    FzTrial next = {.plan = t->plan};

    copy_steps(&next, t, leave_out);
    return next;
}

static bool fewer_steps(FzTrial *t)
{
    bool any = false;

    for (int k = t->n_steps - 1; k >= 0; k--) {
        FzTrial next = variant(t, k);
        any = better(t, &next) || any;
    }
    return any;
}

static bool smaller_plan(FzTrial *t)
{
    bool any = false;

    for (int k = 1; k < t->plan.stages && k < 5; k++) {
        FzTrial next = variant(t, -1);
        next.plan.stages = k;
        if (better(t, &next)) {
            any = true;
            break;
        }
    }
    for (int bit = 0; bit < FZ_FEATURES; bit++) {
        FzTrial next = variant(t, -1);
        next.plan.off |= 1U << bit;
        if (t->plan.off & (1U << bit))
            fz_trial_clear(&next);
        else
            any = better(t, &next) || any;
    }
    for (int cap = 2; cap < t->plan.cap; cap++) {
        FzTrial next = variant(t, -1);
        next.plan.cap = cap;
        if (better(t, &next)) {
            any = true;
            break;
        }
    }
    return any;
}

void fz_shrink(FzTrial *t)
{
    if (strncmp(t->kind, "compiled", 8) == 0)
        t->plan.compile = 1; /* every version, as plan.code says by now */
    for (int k = t->at; k < t->n_steps; k++) {
        free(t->steps[k]);
        t->steps[k] = NULL;
    }
    t->n_steps = t->at < t->n_steps ? t->at : t->n_steps;
    for (int round = 0; round < 6; round++) {
        bool any = fewer_steps(t);
        if (!smaller_plan(t) && !any)
            break;
    }
}

void fz_report(FzTrial *t, ml_Text *out)
{
    FzProgram prog;

    fz_program(&t->plan, &prog);
    ml_text_fmt(out, "---- failure: %s\n%s\n", t->kind, ml_text_z(&t->detail));
    ml_text_fmt(out,
                "-- plan: seed %llu, stages %d, cap %d, off 0x%x; n = %lld, m = %lld, flag "
                "= %lld\n",
                (unsigned long long)t->plan.seed, t->plan.stages, t->plan.cap, t->plan.off,
                (long long)prog.n, (long long)prog.m, (long long)prog.flag);
    if (t->plan.compile)
        ml_text_fmt(out, "-- compiled: code %u\n", (unsigned)t->plan.code);
    ml_text_fmt(out, "local m = parse [[\n%s]]\nlocal s = m:schedule(\"main\")\n",
                ml_text_z(&prog.text));
    for (int k = 0; k < t->n_steps; k++) {
        bool sample = strncmp(t->steps[k], "sample", 6) == 0;
        ml_text_add(out, sample ? "local t = s:" : "s:");
        for (const char *p = t->steps[k]; *p; p++)
            if (strncmp(p, "90000", 5) == 0) { /* a lone result is no list */
                bool one = k > 0 && (strstr(t->steps[k - 1], "_location(") ||
                                     strstr(t->steps[k - 1], "_categorical("));
                if (one)
                    ml_text_add(out, "t");
                else
                    ml_text_fmt(out, "t[%d]", p[5] - '0');
                p += 5;
            } else if (strncmp(p, "auto", 4) == 0) {
                ml_text_add(out, "moonloop.auto");
                p += 3;
            } else {
                ml_text_char(out, *p);
            }
        ml_text_add(out, "\n");
    }
    ml_text_fmt(out, "-- the version it shows on:\n%s\n", ml_text_z(&t->program));
    ml_text_free(&prog.text);
}
