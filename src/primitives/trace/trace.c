/*
 * trace - the instructions of a version as a list; dead code, decisions.
 *
 * Source: primitives 12.
 */
#include "moonloop/primitives/trace.h"

#include "moonloop/primitives/trace/trace_impl.h"

/* ---- as a list */

typedef struct Copy {
    ml_Ctx *cx;
    ml_Import *im;
} Copy;

static ml_TV copy_tv(Copy *c, const ml_TV *v)
{
    ml_TV to = *v;

    if (v->value)
        to.value = ml_import_value(c->im, v->value);
    if (v->expr)
        to.expr = ml_import_expr(c->im, v->expr);
    if (v->map) {
        const ml_Value *m = ml_import_value(c->im, ml_val_map(c->cx, v->map));

        to.map = m->as.map;
    }
    if (v->kind == ML_TV_LIST) {
        ml_TV *list = ML_ARRAY(c->cx, ml_TV, v->n + 1);

        for (uint32_t k = 0; k < v->n; k++)
            list[k] = copy_tv(c, &v->list[k]);
        to.list = list;
    }
    return to;
}

static const ml_TV *copy_tvs(Copy *c, const ml_TV *v, uint32_t n)
{
    ml_TV *to = ML_ARRAY(c->cx, ml_TV, n + 1);

    for (uint32_t k = 0; k < n; k++)
        to[k] = copy_tv(c, &v[k]);
    return to;
}

static const ml_Inst *copy_inst(Copy *c, const ml_Inst *in)
{
    ml_Inst *to = ML_NEW(c->cx, ml_Inst);
    ml_TVar *out = ML_ARRAY(c->cx, ml_TVar, in->n_outputs + 1);

    *to = *in;
    to->inputs = copy_tvs(c, in->inputs, in->n_inputs);
    to->attrs = copy_tvs(c, in->attrs, in->n_attrs);
    if (in->n_outputs > 0)
        memcpy(out, in->outputs, in->n_outputs * sizeof(*out));
    to->outputs = out;
    if (in->decision)
        to->decision = ml_import_value(c->im, in->decision);
    return to;
}

const ml_Inst *ml_inst_copy(ml_Ctx *cx, ml_Import *im, const ml_Inst *in)
{
    return copy_inst(&(Copy){cx, im}, in);
}

ml_Trace ml_schedule_trace(ml_Schedule *s, ml_Ctx *cx)
{
    uint32_t n = s->trace ? s->trace->n : 0, k = n;

    ml_space_settle(s->space);
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, n + 1);
    bool shared = ml_ctx_descends(cx, s->space->cx);
    Copy c = {cx, shared ? NULL : ml_import_begin(cx)};

    for (const ml_TraceNode *t = s->trace; t; t = t->prev)
        insts[--k] = t->inst;
    for (k = 0; !shared && k < n; k++)
        insts[k] = copy_inst(&c, insts[k]);
    return (ml_Trace){n, insts};
}

uint32_t ml_trace_n_vars(const ml_Trace *t)
{
    uint32_t n = 0;

    for (size_t k = 0; k < t->n; k++)
        for (uint32_t m = 0; m < t->insts[k]->n_outputs; m++)
            if (t->insts[k]->outputs[m].kind != ML_H_NONE &&
                t->insts[k]->outputs[m].num >= n)
                n = t->insts[k]->outputs[m].num + 1;
    return n;
}

const ml_TVar *ml_trace_vars(ml_Ctx *cx, const ml_Trace *t)
{
    ml_TVar *v = ML_ARRAY(cx, ml_TVar, ml_trace_n_vars(t) + 1);

    for (size_t k = 0; k < t->n; k++)
        for (uint32_t m = 0; m < t->insts[k]->n_outputs; m++)
            if (t->insts[k]->outputs[m].kind != ML_H_NONE)
                v[t->insts[k]->outputs[m].num] = t->insts[k]->outputs[m];
    return v;
}

const char *ml_trace_var_name(ml_Ctx *cx, const ml_TVar *v)
{
    char letter = v->kind == ML_H_BLOCK ? 'b' : v->kind == ML_H_EXPR ? 'v' : 'l';

    return ml_format(cx, "%c%u", letter, v->num);
}

ml_Names ml_trace_names(ml_Ctx *cx, const ml_Trace *t)
{
    ml_Map *map = ml_map_new(cx);

    for (size_t k = 0; k < t->n; k++)
        for (uint32_t m = 0; m < t->insts[k]->n_outputs; m++) {
            const ml_TVar *v = &t->insts[k]->outputs[m];

            if (v->kind == ML_H_EXPR)
                ml_map_set(cx, map, v->uid, ml_trace_var_name(cx, v));
        }
    return (ml_Names){map};
}

bool ml_is_enter_postproc(const ml_Primitive *prim)
{
    return prim->kind[0] == 'E' && ml_streq(prim->kind, "EnterPostproc");
}

bool ml_returns_list(const ml_Primitive *prim)
{
    return prim->result == ML_R_LOOPS || prim->result == ML_R_BLOCKS ||
           prim->result == ML_R_EXPRS;
}

/* ---- arguments by parameter */

bool ml_takes_many(const ml_Param *pa)
{
    return pa->kind == ML_P_LOOPS || pa->kind == ML_P_FACTORS;
}

bool ml_inst_args(const ml_Inst *in, ml_TVArg *out)
{
    const ml_Primitive *prim = in->prim;
    size_t after = 0, at = 0, attr = 0;

    /* inputs that stand behind the parameter that takes many */
    for (size_t k = prim->n_params; k-- > 0 && !ml_takes_many(&prim->params[k]);)
        after += !prim->params[k].attr && prim->params[k].kind != ML_P_DECISION;
    for (size_t k = 0; k < prim->n_params; k++) {
        const ml_Param *pa = &prim->params[k];

        out[k] = (ml_TVArg){0};
        if (pa->kind == ML_P_DECISION)
            continue;
        if (pa->attr) {
            size_t n = pa->kind == ML_P_BUFFER ? 2 : 1;

            if (n == 2 && attr + n > in->n_attrs)
                return false;
            if (attr < in->n_attrs)
                out[k] = (ml_TVArg){n, &in->attrs[attr]};
            attr += out[k].n;
            continue;
        }
        if (ml_takes_many(pa)) {
            if (in->n_inputs < at + after)
                return false;
            out[k] = (ml_TVArg){in->n_inputs - at - after, &in->inputs[at]};
            at += out[k].n;
        } else if (at < in->n_inputs) {
            size_t n = pa->kind == ML_P_BUFFER ? 2 : 1;

            if (at + n > in->n_inputs)
                return false;
            out[k] = (ml_TVArg){n, &in->inputs[at]};
            at += n;
        }
    }
    return at == in->n_inputs && attr == in->n_attrs;
}

bool ml_tv_is_default(const ml_Param *pa, const ml_TVArg *a)
{
    if (a->n == 0 || a->v->kind == ML_TV_NONE)
        return true;
    if (!pa->optional || a->v->kind != ML_TV_VALUE)
        return false;
    const ml_Value *v = a->v->value;

    if (pa->kind == ML_P_BOOL || pa->kind == ML_P_INT)
        return (v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT) && v->as.i == pa->def;
    return v->kind == ML_VAL_STRING && pa->def_s && ml_streq(v->as.s, pa->def_s);
}

/* ---- dead code */

typedef struct Uses {
    ml_Ctx *cx;
    bool *used;         /* by number */
    const ml_Map *nums; /* symbol uid -> number + 1 */
} Uses;

static bool use_expr(const ml_Expr *e, void *user)
{
    Uses *u = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(u->nums, e->as.var->uid))
        u->used[(uintptr_t)ml_map_get(u->nums, e->as.var->uid) - 1] = true;
    return true;
}

static void use_tv(Uses *u, const ml_TV *v)
{
    if (v->kind == ML_TV_VAR)
        u->used[v->var] = true;
    if (v->kind == ML_TV_EXPR)
        ml_expr_visit(v->expr, use_expr, u);
    for (uint32_t k = 0; v->kind == ML_TV_MAP && k < v->map->n_exprs; k++)
        ml_expr_visit(v->map->exprs[k], use_expr, u);
    for (uint32_t k = 0; v->kind == ML_TV_LIST && k < v->n; k++)
        use_tv(u, &v->list[k]);
}

static bool any_used(const Uses *u, const ml_Inst *in)
{
    for (uint32_t m = 0; m < in->n_outputs; m++)
        if (in->outputs[m].kind != ML_H_NONE && u->used[in->outputs[m].num])
            return true;
    return false;
}

/* ---- variables numbered anew, in order of creation */

typedef struct Renumber {
    ml_Ctx *cx;
    const uint32_t *to;
} Renumber;

static ml_TV renumber_tv(const Renumber *r, const ml_TV *v)
{
    ml_TV to = *v;

    if (v->kind == ML_TV_VAR)
        to.var = r->to[v->var];
    if (v->kind == ML_TV_LIST) {
        ml_TV *list = ML_ARRAY(r->cx, ml_TV, v->n + 1);

        for (uint32_t k = 0; k < v->n; k++)
            list[k] = renumber_tv(r, &v->list[k]);
        to.list = list;
    }
    return to;
}

static const ml_Inst *renumber_inst(const Renumber *r, const ml_Inst *was)
{
    ml_Inst *in = ML_NEW(r->cx, ml_Inst);
    ml_TV *inputs = ML_ARRAY(r->cx, ml_TV, was->n_inputs + 1);
    ml_TVar *outputs = ML_ARRAY(r->cx, ml_TVar, was->n_outputs + 1);

    *in = *was;
    for (uint32_t m = 0; m < in->n_inputs; m++)
        inputs[m] = renumber_tv(r, &in->inputs[m]);
    for (uint32_t m = 0; m < in->n_outputs; m++) {
        outputs[m] = in->outputs[m];
        if (outputs[m].kind != ML_H_NONE)
            outputs[m].num = r->to[in->outputs[m].num];
    }
    in->inputs = inputs;
    in->outputs = outputs;
    return in;
}

void ml_trace_renumber(ml_Ctx *cx, const ml_Inst **insts, size_t n, const uint32_t *to)
{
    Renumber r = {cx, to};

    for (size_t k = 0; k < n; k++)
        insts[k] = renumber_inst(&r, insts[k]);
}

static void renumber(ml_Ctx *cx, const ml_Inst **insts, size_t n, uint32_t n_vars)
{
    uint32_t *to = ML_ARRAY(cx, uint32_t, n_vars + 1), next = 0;

    for (size_t k = 0; k < n; k++)
        for (uint32_t m = 0; m < insts[k]->n_outputs; m++)
            if (insts[k]->outputs[m].kind != ML_H_NONE)
                to[insts[k]->outputs[m].num] = next++;
    ml_trace_renumber(cx, insts, n, to);
}

ml_Trace ml_trace_simplified(ml_Ctx *cx, const ml_Trace *t, bool remove_postproc)
{
    uint32_t n_vars = ml_trace_n_vars(t);
    ml_Map *nums = ml_map_new(cx);
    Uses u = {cx, ML_ARRAY(cx, bool, n_vars + 1), nums};
    size_t end = t->n, n = 0;
    bool *keep = ML_ARRAY(cx, bool, t->n + 1);

    for (size_t k = 0; k < t->n; k++)
        for (uint32_t m = 0; m < t->insts[k]->n_outputs; m++)
            if (t->insts[k]->outputs[m].kind == ML_H_EXPR)
                ml_map_set(cx, nums, t->insts[k]->outputs[m].uid,
                           (const void *)((uintptr_t)t->insts[k]->outputs[m].num + 1));
    for (size_t k = 0; remove_postproc && k < end; k++)
        if (ml_is_enter_postproc(t->insts[k]->prim))
            end = k;
    for (size_t k = end; k-- > 0;) {
        const ml_Inst *in = t->insts[k];

        keep[k] = !in->prim->pure || any_used(&u, in);
        for (uint32_t m = 0; keep[k] && m < in->n_inputs; m++)
            use_tv(&u, &in->inputs[m]);
    }
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, end + 1);

    for (size_t k = 0; k < end; k++)
        if (keep[k])
            insts[n++] = t->insts[k];
    renumber(cx, insts, n, n_vars);
    return (ml_Trace){n, insts};
}

ml_Trace ml_trace_with_decision(ml_Ctx *cx, const ml_Trace *t, size_t inst,
                                const ml_Value *decision)
{
    const ml_Inst **insts = ML_ARRAY(cx, const ml_Inst *, t->n + 1);

    for (size_t k = 0; k < t->n; k++)
        insts[k] = t->insts[k];
    if (inst < t->n) {
        ml_Inst *in = ML_NEW(cx, ml_Inst);

        *in = *t->insts[inst];
        in->decision = decision;
        insts[inst] = in;
    }
    return (ml_Trace){t->n, insts};
}
