/* trial - see trial.h. What must hold of each version is in trial_version.c. */
#include "checked.h"
#include "compiled.h"
#include "odd_names.h"
#include "reexamine.h"
#include "saved.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- steps */

static const ml_Arg *real_arg(FzRun *r, const ml_Arg *a, bool handles, ml_ParamKind kind)
{
    ml_Arg *b = ML_NEW(r->tmp, ml_Arg);

    *b = *a;
    if (a->kind == ML_A_LIST) {
        ml_Arg *list = ML_ARRAY(r->tmp, ml_Arg, a->n + 1);
        for (uint32_t k = 0; k < a->n; k++)
            list[k] = *real_arg(r, &a->as.list[k], handles, kind);
        b->as.list = list;
    } else if (a->kind == ML_A_INT && a->as.i >= FZ_SAMPLE &&
               a->as.i < FZ_SAMPLE + r->focus.n_samples) {
        *b = ML_ARG_HANDLE(r->samples[a->as.i - FZ_SAMPLE]);
    } else if (a->kind == ML_A_STRING && handles) {
        bool either = kind == ML_P_BLOCK_OR_LOOP;
        ml_Handle h;
        if ((kind == ML_P_BLOCK || kind == ML_P_LOOP || kind == ML_P_LOOPS || either ||
             kind == ML_P_LOOP_OR_MARK) &&
            ml_resolve(r->s, a->as.s,
                       either               ? ML_H_NONE
                       : kind == ML_P_BLOCK ? ML_H_BLOCK
                                            : ML_H_LOOP,
                       &h))
            *b = ML_ARG_HANDLE(h);
    }
    return b;
}

typedef struct Before {
    ml_State state;
    ml_Program p;
    uint64_t hash;
    int n_versions;
} Before;

static bool unchanged(FzRun *r, const Before *b)
{
    ml_State now = ml_schedule_state(r->s);
    ml_Program p = ml_schedule_program(r->s);

    if (now.version != b->state.version || ml_schedule_n_versions(r->s) != b->n_versions)
        return fz_fail(r, "refused-changed", "the version changed");
    if (now.trace != b->state.trace)
        return fz_fail(r, "refused-changed", "the trace changed");
    if (now.random != b->state.random)
        return fz_fail(r, "refused-changed", "the random state changed");
    if (p.mod != b->p.mod || p.index != b->p.index)
        return fz_fail(r, "refused-changed", "the program changed");
    if (ml_schedule_hash(r->s) != b->hash)
        return fz_fail(r, "refused-changed", "the hash changed");
    return true;
}

/* What the next steps are about. */
static void look_at(FzRun *r, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                    const ml_Results *res)
{
    const ml_Handle *h = res->more ? res->more : res->v;
    ml_Handle first;

    r->focus.last = prim->name;
    if (res->n && h[0].kind == ML_H_EXPR) {
        r->focus.n_samples = res->is_list ? (int)res->n : 1;
        memcpy(r->samples, h, res->n * sizeof *h);
    } else if (ml_streq(prim->name, "sample_compute_location")) {
        r->focus.n_samples = 1; /* a place: a loop or a mark */
        r->samples[0] = h[0];
    } else if (res->n && h[0].kind == ML_H_BLOCK) {
        r->focus.made = h[0].uid;
    } else if (res->n && h[0].kind == ML_H_LOOP) {
        r->focus.n_loops = 0;
        for (size_t k = 0; k < res->n && k < 4; k++)
            r->focus.loops[r->focus.n_loops++] = h[k].uid;
    }
    if (n && prim->params[0].kind == ML_P_BLOCK) {
        if (args[0].kind == ML_A_HANDLE)
            r->focus.block = args[0].as.h.uid;
        else if (args[0].kind == ML_A_STRING &&
                 ml_resolve(r->s, args[0].as.s, ML_H_BLOCK, &first))
            r->focus.block = first.uid;
    }
}

/* Whether the refusal was needed. FZ_SHOW=CODE tells of those that were not. */
static void refused(FzRun *r, FzCount *count, ml_ErrorCode code, const ml_Module *m,
                    const char *text)
{
    const char *show = getenv("FZ_SHOW");
    ml_Text t = {0};
    FzVerdict v;

    if (strstr(text, "90000")) /* a sample is known to the schedule that drew it only */
        return;
    if (code == ML_E_NO_SUCH_BLOCK || code == ML_E_NO_SUCH_LOOP)
        return; /* a name that another version has */
    v = fz_reexamine(m, text, &r->prog, show ? &t : NULL);
    count->applied[code] += v != FZ_NOT_APPLIED;
    count->right[code] += v == FZ_RIGHT;
    if (show && v == FZ_RIGHT && (!*show || ml_streq(ml_error_code(code), show))) {
        ml_Failure *f = ml_failure_take(r->s);
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(r->s));
        ml_Text was = {0};

        ml_print_module(cx, &was, m, NULL);
        printf("---- seed %llu: %s\n%s\n%s\nwould be\n%s\n",
               (unsigned long long)r->t->plan.seed, text, ml_failure_message(f),
               ml_text_z(&was), ml_text_z(&t));
        ml_text_free(&was);
        ml_ctx_unref(cx);
        ml_failure_free(f);
    }
    ml_text_free(&t);
}

static bool one_step(FzRun *r, const char *text, uint64_t *hash)
{
    Before before = {ml_schedule_state(r->s), ml_schedule_program(r->s), *hash,
                     ml_schedule_n_versions(r->s)};
    ml_CallTexts calls = {0};
    ml_Results res = {0};
    ml_Arg args[8];
    FzCount *count = NULL;

    for (int k = 0; k < FUNCS; k++)
        if (strncmp(text, "work_on", 7) == 0 && strstr(text, fz_func_names[k])) {
            ml_schedule_work_on(r->s, fz_func_names[k]); /* there may be no other one */
            return true;
        }
    if (!ml_parse_calls(r->tmp, ml_str(text), &calls) || calls.n != 1) {
        fz_fail_error(r, "call-text", ml_error(r->tmp));
        ml_error_clear(r->tmp);
        return false;
    }
    const ml_Primitive *prim = calls.v[0].prim;
    bool handles = strlen(text) % 2;

    for (size_t k = 0; k < calls.v[0].n && k < ML_COUNT(args); k++)
        args[k] =
            *real_arg(r, &calls.v[0].args[k], handles, (ml_ParamKind)prim->params[k].kind);
    if (r->stats) {
        for (size_t k = 0; k < ml_n_primitives; k++)
            if (ml_primitives[k] == prim)
                count = &r->stats->prims[k];
        ML_ASSERT(count);
        r->stats->steps++;
        count->tried++;
    }
    if (!ml_apply_prim(r->s, prim, args, calls.v[0].n, &res)) {
        ml_ErrorCode code = ml_schedule_error(r->s)->code;
        if (count)
            count->refused[code]++;
        if (code == ML_E_SELF_CHECK)
            return fz_fail_error(r, "self-check", ml_schedule_error(r->s));
        if (r->stats && r->stats->reexamine)
            refused(r, count, code, before.p.mod, text);
        return unchanged(r, &before);
    }
    if (count)
        count->accepted++;
    r->declared |= ml_streq(prim->name, "annotate_buffer_access");
    look_at(r, prim, args, calls.v[0].n, &res);
    ml_ctx_reset(r->tmp);
    if (ml_schedule_version(r->s) == before.state.version)
        return true; /* a query or a sample */
    *hash = ml_schedule_hash(r->s);
    if (!fz_version_holds(r, false))
        return false;
    if (r->misplaced) { /* as a check tells whoever asked to be trusted: without the step */
        ml_schedule_restore(r->s, before.state);
        *hash = before.hash;
        r->misplaced = false;
    }
    return true;
}

/* ---- the end */

static bool replays(FzRun *r, uint64_t hash)
{
    ml_Ctx *cx = ml_ctx_fork(r->module_cx);
    ml_ScheduleOpts opts = {.func = "main", .intrins = fz_intrins()};
    bool ok = true;

    for (int json = 0; json < 2 && ok; json++) {
        const ml_Error *e = NULL;
        ml_Text text = {0};
        ml_Schedule *again =
            ml_schedule_new(r->module_cx, ml_version_program(r->s, 0).mod, &opts, &e);
        ml_Trace t = ml_schedule_trace(r->s, ml_schedule_ctx(r->s));
        size_t done = 0;
        if (json) {
            ml_trace_json(cx, &text, &t);
            if (!ml_trace_from_json(cx, ml_str(ml_text_z(&text)), &t)) {
                fz_fail_error(r, "json", ml_error(cx));
                ml_error_clear(cx);
                ok = false;
            }
        }
        if (ok && !ml_trace_apply(again, &t, false, NULL, NULL, &done)) {
            fz_fail_error(r, json ? "replay-json" : "replay", ml_schedule_error(again));
            ok = false;
        } else if (ok && ml_schedule_hash(again) != hash) {
            ok = fz_fail(r, json ? "replay-json" : "replay", "another hash");
        } else if (ok) {
            ok = fz_same_names(r, json ? "replay-json" : "replay", again);
        }
        if (!ok && json)
            ml_text_fmt(&r->t->detail, "\n%s", ml_text_z(&text));
        ml_text_free(&text);
        ml_schedule_unref(again);
    }
    ml_ctx_unref(cx);
    return ok;
}

static bool all_steps(FzRun *r, bool make)
{
    uint64_t hash = ml_schedule_hash(r->s);
    FzTrial *t = r->t;
    uint64_t names = t->plan.seed;
    uint32_t pick;

    for (t->at = 0; t->at < t->n_steps; t->at++) {
        if (make) {
            ml_Text text = {0};
            fz_step(&t->rnd, r->s, &r->focus, r->tmp, &text);
            ml_ctx_reset(r->tmp);
            if (text.n == 0) {
                t->n_steps = t->at;
                break;
            }
            fz_rename_parameters(&names, &text);
            t->steps[t->at] = strdup(ml_text_z(&text));
            ml_text_free(&text);
        }
        if (!one_step(r, t->steps[t->at], &hash)) {
            t->at++;
            return false;
        }
        ml_ctx_reset(r->tmp);
    }
    t->hash = hash;
    if (fz_chosen(r, true, &pick)) {
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(r->s));
        bool ok = fz_compiles_the_same(r, cx, ml_schedule_program(r->s), pick);

        ml_ctx_unref(cx);
        if (!ok)
            return false;
    }
    return fz_passes_check(r) && replays(r, hash) && fz_saved_is_the_same(r, hash);
}

FzTrial fz_trial(uint64_t seed, int64_t k)
{
    /* Numbers of programs must not repeat between seeds 1, 2, 3 ... */
    uint64_t plan = seed * 1000003U + (uint64_t)k, rnd = plan ^ 0x5deece66dU;
    FzTrial t = {.plan = {.seed = plan, .stages = 9, .cap = 12}};

    fz_next(&rnd);
    if (fz_chance(&rnd, 50)) /* half of the programs are tiny */
        t.plan.cap = 2 + fz_below(&rnd, 6);
    t.n_steps = 4 + fz_below(&rnd, 12);
    if (fz_is_chain(plan))
        t.n_steps = FZ_MAX_STEPS;
    t.rnd = rnd;
    return t;
}

void fz_run(FzTrial *t, bool make, FzStats *stats)
{
    /* every fourth trial checks after each step what is remembered of the program */
    ml_ScheduleOpts opts = {.func = "main",
                            .intrins = fz_intrins(),
                            .debug_mask = t->plan.seed % 4 ? 0 : UINT32_MAX};
    FzRun r = {.t = t,
               .stats = stats,
               .chosen = t->plan.seed,
               .focus = {.last = "", .chain = fz_is_chain(t->plan.seed)}};
    uint64_t theme = t->plan.seed ^ 0x6a09e667f3bcc909U;
    const ml_Error *e = NULL;
    ml_Parsed parsed;

    r.focus.swarm = fz_next(&theme);
    t->failed = false;
    t->at = 0;
    ml_text_clear(&t->program);
    fz_watch(t);
    fz_program(&t->plan, &r.prog);
    r.sizes[0] = (ml_Size){"n", r.prog.n};
    r.sizes[1] = (ml_Size){"m", r.prog.m};
    r.module_cx = ml_ctx_new(0);
    r.tmp = ml_ctx_new(0);
    parsed = ml_parse(r.module_cx, ml_str(ml_text_z(&r.prog.text)), NULL);
    if (stats)
        stats->programs++;
    if (parsed.mod == NULL) {
        fz_fail(&r, "start", "%s: %s", parsed.diags[0].code, parsed.diags[0].message);
    } else if ((r.s = ml_schedule_new(r.module_cx, parsed.mod, &opts, &e)) == NULL) {
        fz_fail_error(&r, "start", e);
    } else if (fz_make_arguments(&r) && fz_version_holds(&r, true)) {
        all_steps(&r, make);
    } else if (!ml_streq(t->kind, "generator") && strncmp(t->kind, "compiled", 8) != 0 &&
               strncmp(t->kind, "lowered", 7) != 0) {
        memcpy(t->kind, "start", 6);
    }
    fz_watch(NULL);
    if (stats && t->failed && ml_streq(t->kind, "start"))
        stats->start_refused++;
    fz_free_arguments(&r);
    if (r.s)
        ml_schedule_unref(r.s);
    ml_ctx_unref(r.tmp);
    ml_ctx_unref(r.module_cx);
    ml_text_free(&r.prog.text);
}

void fz_trial_clear(FzTrial *t)
{
    for (int k = 0; k < FZ_MAX_STEPS; k++)
        free(t->steps[k]);
    ml_text_free(&t->detail);
    ml_text_free(&t->program);
    *t = (FzTrial){0};
}
