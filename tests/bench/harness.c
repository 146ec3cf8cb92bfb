/*
 * harness - see harness.h
 */
#include "harness.h"

#include "moonloop/primitives/intrin.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

Report report;

bool judge(double value, double target, bool higher)
{
    bool met = higher ? value >= target : value <= target;

    report.missed += !met;
    return met;
}

void figure(const char *what, double value, double target, const char *unit, bool higher)
{
    bool met = judge(value, target, higher);

    if (report.json)
        printf("{\"name\": \"%s\", \"value\": %.6g, \"target\": %.6g, \"unit\": \"%s\", "
               "\"met\": %s}\n",
               what, value, target, unit, met ? "true" : "false");
    else
        printf("%-62s %10.4g  %s %8.4g %-5s %s\n", what, value,
               higher ? ">=" : "<=", target, unit, met ? "met" : "NOT MET");
    fflush(stdout);
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double quantile(double *v, size_t n, double share)
{
    size_t at = (size_t)(share * (double)n);

    qsort(v, n, sizeof *v, by_value);
    return v[at < n ? at : n - 1];
}

double median(double *v, size_t n)
{
    return quantile(v, n, 0.5);
}

void die(const char *what, const ml_Error *e)
{
    fprintf(stderr, "benchmark: %s: %s\n", what, e ? ml_error_code(e->code) : "?");
    exit(2);
}

ml_Schedule *bench_schedule(Bench *b, bool unchecked)
{
    ml_ScheduleOpts opts = {.unchecked = unchecked, .intrins = b->intrins};
    const ml_Error *e = NULL;
    ml_Schedule *s = ml_schedule_new(b->cx, b->mod, &opts, &e);

    if (!s)
        die("schedule", e);
    return s;
}

void bench_open(Bench *b, const char *text)
{
    ml_Parsed p;

    b->cx = ml_ctx_new(0);
    b->tmp = ml_ctx_new(0);
    b->intrins = ml_intrins_new();
    p = ml_parse(b->cx, ml_str(text), NULL);
    if (!p.mod)
        die(p.diags[0].message, NULL);
    b->mod = p.mod;
    b->s = bench_schedule(b, false);
}

void bench_close(Bench *b)
{
    ml_schedule_unref(b->s);
    ml_intrins_unref(b->intrins);
    ml_ctx_unref(b->tmp);
    ml_ctx_unref(b->cx);
}

void bench_restart(Bench *b)
{
    ml_schedule_unref(b->s);
    b->s = bench_schedule(b, false);
}

void bench_apply(Bench *b, const char *calls)
{
    ml_CallTexts c = {0};

    if (!ml_parse_calls(b->tmp, ml_str(calls), &c))
        die(calls, ml_error(b->tmp));
    for (size_t k = 0; k < c.n; k++)
        if (!ml_apply_prim(b->s, c.v[k].prim, c.v[k].args, c.v[k].n, NULL))
            die(c.v[k].name, ml_schedule_error(b->s));
}

/* What names of a parameter mean; ML_H_EXPR: nothing in the program. */
static ml_HandleKind names_what(const ml_Param *pa)
{
    switch ((ml_ParamKind)pa->kind) {
    case ML_P_BLOCK:
    case ML_P_BLOCKS: return ML_H_BLOCK;
    case ML_P_LOOP:
    case ML_P_LOOP_OR_MARK:
    case ML_P_LOOPS: return ML_H_LOOP;
    case ML_P_BLOCK_OR_LOOP:
    case ML_P_LOOP_BLOCKS: return ML_H_NONE;
    case ML_P_FACTORS:
    case ML_P_INT:
    case ML_P_BOOL:
    case ML_P_STRING:
    case ML_P_SCOPE:
    case ML_P_THREAD:
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER:
    case ML_P_BUFFER:
    case ML_P_VALUE:
    case ML_P_KEY:
    case ML_P_INTS:
    case ML_P_FLOATS:
    case ML_P_DECISION:
    case ML_P_NAME:
    case ML_P_MAP:
    case ML_P_PAD: return ML_H_EXPR;
    }
    return ML_H_EXPR;
}

static ml_Arg resolved(Bench *b, ml_HandleKind kind, const ml_Arg *a)
{
    ml_Handle h;

    if (a->kind == ML_A_LIST) {
        ml_Arg *v = ML_ARRAY(b->tmp, ml_Arg, a->n + 1);

        for (size_t k = 0; k < a->n; k++)
            v[k] = resolved(b, kind, &a->as.list[k]);
        return ML_ARG_LIST(v, a->n);
    }
    if (a->kind != ML_A_STRING)
        return *a;
    if (!ml_resolve(b->s, a->as.s, kind, &h))
        die(a->as.s, ml_schedule_error(b->s));
    return ML_ARG_HANDLE(h);
}

void bench_resolve(Bench *b, const ml_CallText *call, ml_Arg *out)
{
    for (size_t k = 0; k < call->n; k++) {
        ml_HandleKind kind = names_what(&call->prim->params[k]);

        out[k] = kind == ML_H_EXPR ? call->args[k] : resolved(b, kind, &call->args[k]);
    }
}
