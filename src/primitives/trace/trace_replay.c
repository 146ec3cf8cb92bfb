/*
 * trace_replay - the instructions of a trace applied to a schedule: to a fresh one, or the
 * later ones again to the schedule that recorded them, at another version of it.
 *
 * Source: primitives 12.4, interaction 6.
 */
#include "moonloop/primitives/trace.h"

#include "moonloop/primitives/trace/trace_impl.h"

#include <stdio.h>

typedef struct Replay {
    ml_Schedule *s;
    ml_Ctx *tmp;
    const ml_Trace *t;
    ml_Handle *now; /* by number */
    bool *made;
    ml_Map
        *symbols; /* of the trace: uid -> number + 1; NULL until an expression needs it */
} Replay;

static bool bad(Replay *r, size_t k, const char *what)
{
    ml_Text t = {0};

    ml_schedule_begin(r->s);
    ml_text_fmt(&t, "instruction %zu (%s): %s", k, r->t->insts[k]->prim->kind, what);
    ml_fail(r->s->space->cx, ML_E_BAD_TRACE, ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

static ml_Arg value_arg(Replay *r, const ml_Value *v)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_BOOL: return ML_ARG_BOOL(v->as.i != 0);
    case ML_VAL_INT: return ML_ARG_INT(v->as.i);
    case ML_VAL_FLOAT: return (ml_Arg){.kind = ML_A_FLOAT, .as.f = v->as.f};
    case ML_VAL_STRING: return ML_ARG_STR(v->as.s);
    case ML_VAL_LIST:
    case ML_VAL_DICT: {
        ml_Arg *list = ML_ARRAY(r->tmp, ml_Arg, v->n + 1);

        for (uint32_t k = 0; k < v->n; k++)
            list[k] = value_arg(r, v->as.list[k]);
        ml_Arg a = ML_ARG_LIST(list, v->n);

        if (v->kind == ML_VAL_DICT) {
            a.kind = ML_A_DICT;
            a.keys = v->keys;
        }
        return a;
    }
    case ML_VAL_NONE:
    case ML_VAL_EXPR:
    case ML_VAL_BUFFER:
    case ML_VAL_VAR:
    case ML_VAL_MAP:
    case ML_VAL_TARGET:
    case ML_VAL_REDUCER: break;
    }
    return ML_ARG_AUTO;
}

static void find_symbols(Replay *r)
{
    if (r->symbols)
        return;
    r->symbols = ml_map_new(r->tmp);
    for (size_t k = 0; k < r->t->n; k++)
        for (uint32_t m = 0; m < r->t->insts[k]->n_outputs; m++) {
            const ml_TVar *v = &r->t->insts[k]->outputs[m];

            if (v->kind == ML_H_EXPR)
                ml_map_set(r->tmp, r->symbols, v->uid,
                           (const void *)((uintptr_t)v->num + 1));
        }
}

typedef struct Translate {
    Replay *r;
    ml_Import *im;
} Translate;

/* Symbols of the trace become those of the schedule that replays it. */
static const ml_Expr *translate(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Translate *tr = user;

    if (e->kind != ML_EXPR_VAR)
        return ml_expr_map_args(cx, e, translate, user);
    uintptr_t num = (uintptr_t)ml_map_get(tr->r->symbols, e->as.var->uid);
    const ml_Expr *sym = num && tr->r->made[num - 1]
                             ? ml_handle_symbol(tr->r->s, tr->r->now[num - 1])
                             : NULL;

    return sym ? ml_cast(cx, e->type, ml_import_expr(tr->im, sym)) : e;
}

static bool tv_arg(Replay *r, size_t k, const ml_TV *v, ml_Arg *out)
{
    switch ((ml_TVKind)v->kind) {
    case ML_TV_NONE: *out = ML_ARG_AUTO; return true;
    case ML_TV_VAR:
        if (!r->made[v->var])
            return bad(r, k, "an input that no earlier instruction made");
        *out = ML_ARG_HANDLE(r->now[v->var]);
        return true;
    case ML_TV_VALUE: *out = value_arg(r, v->value); return true;
    case ML_TV_EXPR: {
        Translate tr = {r, ml_import_begin(r->tmp)};
        const ml_Expr *e = ml_import_expr(tr.im, v->expr);

        find_symbols(r);
        tr.im = ml_import_begin(r->tmp);
        *out = (ml_Arg){.kind = ML_A_EXPR, .as.e = translate(r->tmp, e, &tr)};
        return true;
    }
    case ML_TV_MAP: *out = (ml_Arg){.kind = ML_A_MAP, .as.map = v->map}; return true;
    case ML_TV_LIST: {
        ml_Arg *list = ML_ARRAY(r->tmp, ml_Arg, v->n + 1);

        for (uint32_t m = 0; m < v->n; m++)
            if (!tv_arg(r, k, &v->list[m], &list[m]))
                return false;
        *out = ML_ARG_LIST(list, v->n);
        return true;
    }
    }
    return bad(r, k, "an input of an unknown kind");
}

static bool inst_args(Replay *r, size_t k, const ml_Value *decision, ml_Arg *args)
{
    const ml_Inst *in = r->t->insts[k];
    ml_TVArg by_param[ML_MAX_PARAMS];

    ML_ASSERT(in->prim->n_params <= ML_MAX_PARAMS);
    if (!ml_inst_args(in, by_param))
        return bad(r, k, "the number of inputs or attributes is wrong");
    for (size_t p = 0; p < in->prim->n_params; p++) {
        const ml_Param *pa = &in->prim->params[p];
        const ml_TVArg *a = &by_param[p];

        args[p] = ML_ARG_ABSENT;
        if (pa->kind == ML_P_DECISION && decision)
            args[p] = value_arg(r, decision);
        if (ml_takes_many(pa)) {
            ml_Arg *list = ML_ARRAY(r->tmp, ml_Arg, a->n + 1);

            for (size_t m = 0; m < a->n; m++)
                if (!tv_arg(r, k, &a->v[m], &list[m]))
                    return false;
            args[p] = ML_ARG_LIST(list, a->n);
        } else if (pa->kind == ML_P_BUFFER) {
            ml_Arg *pair = ML_ARRAY(r->tmp, ml_Arg, 2);

            if (!tv_arg(r, k, &a->v[1], &pair[0]) || !tv_arg(r, k, &a->v[0], &pair[1]))
                return false;
            args[p] = ML_ARG_LIST(pair, 2);
        } else if (a->n > 0 && !(pa->attr && a->v->kind == ML_TV_NONE) &&
                   !tv_arg(r, k, a->v, &args[p]))
            return false;
    }
    return true;
}

static bool is_default(const ml_Param *pa, const ml_Arg *a)
{
    if (a->kind == ML_A_ABSENT)
        return true;
    if (!pa->optional)
        return false;
    switch (a->kind) {
    case ML_A_BOOL: return pa->kind == ML_P_BOOL && a->as.b == (pa->def != 0);
    case ML_A_INT: return pa->kind == ML_P_INT && a->as.i == pa->def;
    case ML_A_STRING: return pa->def_s && ml_streq(a->as.s, pa->def_s);
    case ML_A_LIST: return pa->kind == ML_P_BLOCKS && a->n == 0;
    default: return false;
    }
}

/* A trace has a value for every parameter; a person leaves out the last ones where they are
 * the defaults, and so do the lines that show the step. */
static void leave_defaults(const ml_Primitive *prim, ml_Arg *args)
{
    for (size_t p = prim->n_params; p-- > 0 && is_default(&prim->params[p], &args[p]);)
        args[p] = ML_ARG_ABSENT;
}

static bool replay_one(Replay *r, size_t k, ml_DecideFn *decide, void *user)
{
    const ml_Inst *in = r->t->insts[k];
    const ml_Value *decision = in->decision;
    ml_State before = ml_schedule_state(r->s);
    ml_Arg args[ML_MAX_PARAMS];
    ml_Results res;

    if (decide && in->prim->has_decision)
        decision = decide(in, decision, user);
    if (!inst_args(r, k, decision, args))
        return false;
    leave_defaults(in->prim, args);
    if (!ml_apply_prim(r->s, in->prim, args, in->prim->n_params, &res)) {
        ml_error_note(r->s->space->cx, "while replaying instruction %zu, %s", k,
                      in->prim->kind);
        return false;
    }
    if (res.n != in->n_outputs) {
        char what[64];

        snprintf(what, sizeof(what), "it gave %zu results, the trace has %u", res.n,
                 in->n_outputs);
        ml_schedule_restore(r->s, before);
        return bad(r, k, what);
    }
    const ml_Handle *h = res.more ? res.more : res.v;

    for (uint32_t m = 0; m < in->n_outputs; m++)
        if (in->outputs[m].kind != ML_H_NONE) {
            r->now[in->outputs[m].num] = h[m];
            r->made[in->outputs[m].num] = true;
        }
    return true;
}

bool ml_trace_apply(ml_Schedule *s, const ml_Trace *t, bool remove_postproc,
                    ml_DecideFn *decide, void *user, size_t *n_done)
{
    uint32_t n_vars = ml_trace_n_vars(t);
    Replay r = {.s = s, .tmp = ml_ctx_new(0), .t = t};
    bool ok = true, was = s->replaying;
    size_t k;

    r.now = ML_ARRAY(r.tmp, ml_Handle, n_vars + 1);
    r.made = ML_ARRAY(r.tmp, bool, n_vars + 1);
    s->replaying = true;
    for (k = 0; ok && k < t->n; k++) {
        if (remove_postproc && ml_is_enter_postproc(t->insts[k]->prim))
            break;
        ok = replay_one(&r, k, decide, user);
        if (!ok)
            break;
    }
    s->replaying = was;
    if (n_done)
        *n_done = k;
    ml_ctx_unref(r.tmp);
    return ok;
}

/* ---- one by one */

struct ml_Replayer {
    Replay r;
    ml_Trace t;
    const ml_Inst **insts; /* of t */
    size_t cap, cap_vars, n_vars;
};

ml_Replayer *ml_replayer_new(ml_Schedule *s)
{
    ml_Replayer *p = ml_heap_zalloc(sizeof *p);

    p->r = (Replay){.s = s, .tmp = ml_ctx_new(0), .t = &p->t};
    p->r.symbols = ml_map_new(p->r.tmp);
    return p;
}

void ml_replayer_free(ml_Replayer *p)
{
    if (!p)
        return;
    ml_ctx_unref(p->r.tmp);
    ml_heap_free(p);
}

/* Room for the instruction and its variables. */
static void make_room(ml_Replayer *p, const ml_Inst *in)
{
    if (p->t.n == p->cap) {
        const ml_Inst **v = ML_ARRAY(p->r.tmp, const ml_Inst *, 2 * p->cap + 64);

        if (p->t.n)
            memcpy(v, p->t.insts, p->t.n * sizeof *v);
        p->cap = 2 * p->cap + 64;
        p->t.insts = p->insts = v;
    }
    for (uint32_t m = 0; m < in->n_outputs; m++)
        if (in->outputs[m].kind != ML_H_NONE && in->outputs[m].num >= p->n_vars)
            p->n_vars = in->outputs[m].num + 1;
    if (p->n_vars > p->cap_vars) {
        size_t cap = 2 * p->n_vars + 64;
        ml_Handle *now = ML_ARRAY(p->r.tmp, ml_Handle, cap);
        bool *made = ML_ARRAY(p->r.tmp, bool, cap);

        if (p->cap_vars) {
            memcpy(now, p->r.now, p->cap_vars * sizeof *now);
            memcpy(made, p->r.made, p->cap_vars * sizeof *made);
        }
        p->r.now = now;
        p->r.made = made;
        p->cap_vars = cap;
    }
}

bool ml_replayer_next(ml_Replayer *p, const ml_Inst *in)
{
    bool was = p->r.s->replaying, ok;

    make_room(p, in);
    p->insts[p->t.n++] = in;
    for (uint32_t m = 0; m < in->n_outputs; m++)
        if (in->outputs[m].kind == ML_H_EXPR)
            ml_map_set(p->r.tmp, p->r.symbols, in->outputs[m].uid,
                       (const void *)((uintptr_t)in->outputs[m].num + 1));
    p->r.s->replaying = true;
    ok = replay_one(&p->r, p->t.n - 1, NULL, NULL);
    p->r.s->replaying = was;
    return ok;
}

size_t ml_trace_before(const ml_Schedule *s, int version)
{
    ML_ASSERT(version >= 0 && version < s->n_versions);
    const ml_TraceNode *t = s->v[version].before;

    return t ? t->n : 0;
}

size_t ml_trace_after(const ml_Schedule *s, int version)
{
    ML_ASSERT(version >= 0 && version < s->n_versions);
    const ml_TraceNode *t = s->v[version].trace;

    return t ? t->n : 0;
}

const ml_Handle *ml_version_results(const ml_Schedule *s, ml_Ctx *cx, size_t *n)
{
    const ml_Version *v = &s->v[s->cur];
    ml_Handle *h = ML_ARRAY(cx, ml_Handle, v->n_results + 1);

    *n = v->n_results;
    if (v->n_results)
        memcpy(h, v->results, v->n_results * sizeof *h);
    return h;
}

/* Compaction moves the instructions of a schedule: one that is no fork replays a copy of
 * its own trace. */
static bool own_copy(ml_Schedule *s, ml_Ctx *cx, const ml_Trace *t, ml_Trace *out)
{
    ml_Text json = {0};
    bool ok = true;

    *out = *t;
    if (!s->space->is_fork) {
        ml_trace_json(cx, &json, t);
        ok = ml_trace_from_json(cx, (ml_Str){ml_text_z(&json), json.n}, out) &&
             out->n == t->n;
        ml_text_free(&json);
    }
    return ok;
}

/* One instruction again. What a lookup found before and is still there is meant, not what
 * stands in its position now; what is gone is complained about where it is used. */
static bool repeat_one(Replay *r, const ml_Inst *was, size_t k)
{
    const ml_Inst *in = r->t->insts[k];
    bool all = true;

    if (!in->prim->pure || in->prim->has_decision)
        return replay_one(r, k, NULL, NULL);
    for (size_t pass = 0; pass < 2; pass++) {
        for (uint32_t m = 0; m < in->n_outputs; m++) {
            const ml_TVar *v = &in->outputs[m];
            bool here = v->kind != ML_H_NONE &&
                        ml_index_node(ml_schedule_program(r->s).index, was->outputs[m].uid);

            if (v->kind == ML_H_NONE || (!here && r->made[v->num]))
                continue;
            all &= here;
            if (here || pass == 1) {
                r->now[v->num] = (ml_Handle){v->kind, was->outputs[m].uid};
                r->made[v->num] = true;
            }
        }
        if (all)
            return true;
        if (pass == 0 && !replay_one(r, k, NULL, NULL))
            ml_schedule_begin(r->s);
    }
    return true;
}

bool ml_trace_continue(ml_Schedule *s, const ml_Trace *own, size_t first,
                       const ml_Handle *instead, size_t n, size_t *n_done)
{
    Replay r = {.s = s, .tmp = ml_ctx_new(0)};
    ml_Trace t;
    bool ok = own_copy(s, r.tmp, own, &t), was = s->replaying;
    size_t k = first;

    r.t = &t;
    if (ok) {
        uint32_t n_vars = ml_trace_n_vars(&t);

        r.now = ML_ARRAY(r.tmp, ml_Handle, n_vars + 1);
        r.made = ML_ARRAY(r.tmp, bool, n_vars + 1);
        for (size_t m = 0; m < first && m < t.n; m++)
            for (uint32_t o = 0; o < t.insts[m]->n_outputs; o++) {
                const ml_TVar *v = &t.insts[m]->outputs[o];

                if (v->kind == ML_H_NONE)
                    continue;
                const ml_TVar *then = &own->insts[m]->outputs[o]; /* of a mark: which one */

                r.now[v->num] = (ml_Handle){then->kind, then->uid};
                if (instead && m + 1 == first && o < n)
                    r.now[v->num] = instead[o];
                r.made[v->num] = true;
            }
    } else {
        ml_schedule_begin(s);
        ml_fail(s->space->cx, ML_E_BAD_TRACE, ML_TEXT("its steps cannot be repeated"));
    }
    s->replaying = true;
    while (ok && k < t.n && (ok = repeat_one(&r, own->insts[k], k)))
        k++;
    s->replaying = was;
    if (n_done)
        *n_done = k;
    ml_ctx_unref(r.tmp);
    return ok;
}
