/*
 * eval_archaic - spellings of older texts, read with the option `archaic`: names without a
 * prefix under @script, and blocks whose header lists their axes.
 *
 *     with T.block([n, T.reduce_axis(0, 8)], "name") as [vi, vk]:
 *         T.bind(vi, i)
 *
 * Such a block without any T.bind gets a loop per axis around it. Source: script 1.
 */
#include "moonloop/core/script/eval/eval.h"

bool ml_ev_archaic_name(ml_Eval *ev, ml_Sym *sym, ml_Cv *out)
{
    const ml_Builtin *b;
    ml_Dtype t;

    if (!ev->opts->archaic)
        return false;
    if (ml_str_eq(sym->name, ml_str("axis")) || ml_str_eq(sym->name, ml_str("ty"))) {
        *out = ml_cv(ML_CV_NS);
        out->as.i = sym->name.p[0] == 'a' ? ML_NS_AXIS : ML_NS_T;
        return true;
    }
    b = ml_ev_builtin(sym->name);
    if (!b)
        b = ml_ev_archaic_builtin(ev, sym->name);
    if (b) {
        *out = ml_cv(ML_CV_FN);
        out->as.builtin = b;
        return true;
    }
    if (!ml_ev_dtype_name(sym->name, &t))
        return false;
    *out = ml_cv(ML_CV_DTYPE);
    out->dt = t;
    return true;
}

bool ml_ev_is_archaic_script(const ml_Eval *ev, ml_Str decorator)
{
    return ev->opts->archaic &&
           (ml_str_eq(decorator, ml_str("script")) || ml_str_eq(decorator, ml_str("tir")));
}

/* ---- axes */
static bool bounds(ml_Eval *ev, ml_Cv v, ml_Place at, const ml_Expr **min,
                   const ml_Expr **extent)
{
    const ml_Expr *hi;

    if ((v.kind == ML_CV_RANGE || v.kind == ML_CV_TUPLE) && v.n == 2) {
        *min = ml_ev_to_int(ev, v.as.list[0], at, "axis domain");
        hi = *min ? ml_ev_to_int(ev, v.as.list[1], at, "axis domain") : NULL;
        if (!*min || !hi || !ml_ev_promote(ev, min, &hi))
            return false;
        *extent = ml_ev_difference(ev, *min, hi);
    } else {
        if (!(*extent = ml_ev_to_int(ev, v, at, "axis domain")))
            return false;
        *min = ml_int(ev->cx, (*extent)->type, 0);
    }
    if ((*extent)->type.code == ML_INT && (*extent)->type.lanes == 1)
        return true;
    return ml_ev_reject(ev, E501, at, "an axis domain must be a signed integer");
}

/* reduce_axis(lo, hi) in a header; reduce_axis(extent, binding) in a block. */
static ml_Cv axis(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"spatial", "reduce", "scan", "opaque"};
    static const uint8_t KINDS[] = {ML_ITER_SPATIAL, ML_ITER_REDUCE, ML_ITER_ORDERED,
                                    ML_ITER_OPAQUE};
    ml_Cv v[2];

    if (!ev->with) {
        ml_Args as_axis = *a;

        as_axis.fn = ml_ev_axis_builtin(ml_str(NAMES[a->fn->arg]));
        return as_axis.fn->run(ev, &as_axis);
    }
    if (a->n_pos != 2 || !ml_ev_no_more(ev, a, 2))
        return ml_ev_fail(ev, E414, a->call->at, "%s in a header takes two bounds",
                          a->name);
    for (size_t k = 0; k < 2; k++) {
        v[k] = a->v[k].node->kind == ML_N_STAR ? a->v[k].v : ml_ev_value(ev, a->v[k].node);
        if (v[k].kind == ML_CV_POISON)
            return v[k];
    }
    v[0] = ml_cv_list(ev, ML_CV_RANGE, v, 2);
    v[0].axis = (uint8_t)(KINDS[a->fn->arg] + 1);
    return v[0];
}

void ml_ev_header_axes(ml_Eval *ev, ml_BlockB *b, const ml_Cv *axes, const ml_Node *as)
{
    const ml_Node *const *names = as && (as->kind == ML_N_TUPLE || as->kind == ML_N_LIST)
                                      ? (const ml_Node *const *)as->kids
                                      : &as;
    size_t n = !as ? 0 : names == &as ? 1 : as->n;

    b->header = true;
    if (as && n != axes->n) {
        ml_report(ev->rep, ML_E_E402, as->at, "%zu target%s for %u axes", n,
                  n == 1 ? "" : "s", (unsigned)axes->n);
        ml_ev_poison_targets(ev, as);
        return;
    }
    for (size_t k = 0; k < axes->n; k++) {
        ml_Cv v = axes->as.list[k];
        const ml_Node *name = as ? names[k] : NULL;
        ml_Iter it = {.kind = v.axis ? (uint8_t)(v.axis - 1) : ML_ITER_SPATIAL};
        ml_Place at = name ? name->at : b->at;

        if (name && name->kind != ML_N_NAME) {
            if (name->kind != ML_N_BAD)
                ml_report(ev->rep, ML_E_E203, at, "an axis has a plain name");
            continue;
        }
        if (!bounds(ev, v, b->at, &it.min, &it.extent)) {
            if (name)
                ml_ev_poison_targets(ev, name);
            continue;
        }
        it.var = ml_var_new(ev->cx, name ? name->as.sym->name.p : "v", it.extent->type);
        it.span = ml_place_span(ev->rep, at);
        ml_ev_remember(ev, it.var, at);
        ml_push(ev->cx, &b->iters, it);
        if (name)
            ml_ev_define(ev, name->as.sym, ml_cv_expr(ml_var(ev->cx, it.var)), at);
    }
}

bool ml_ev_header_bind(ml_Eval *ev, ml_Args *a, ml_Cv *out)
{
    ml_BlockB *b = ev->blk, *ctx = ev->blk_ctx;
    ml_Iter *it = NULL;
    const ml_Expr *e;
    ml_Cv v;

    if (!b || !b->header || a->n_pos != 2 || a->v[0].node->kind != ML_N_NAME)
        return false;
    v = ml_ev_value(ev, a->v[0].node);
    for (size_t k = 0; k < b->iters.n && v.kind == ML_CV_EXPR; k++)
        if (v.as.e->kind == ML_EXPR_VAR && v.as.e->as.var == b->iters.v[k].var)
            it = &b->iters.v[k];
    if (!it && v.kind != ML_CV_POISON)
        return false;
    *out = ml_cv_poison();
    if (!it || !ml_ev_no_more(ev, a, 2) ||
        !ml_ev_block_top(ev, "T.bind of an axis", a->call->at))
        return true;
    if (it->value) {
        ml_report(ev->rep, ML_E_E607, a->call->at,
                  "axis `%s` of block \"%s\" is bound already", it->var->hint, b->name);
        return true;
    }
    ev->blk_ctx = b->up; /* the binding belongs to what is around */
    v = ml_ev_value(ev, a->v[1].node);
    ev->blk_ctx = ctx;
    e = v.kind == ML_CV_POISON ? NULL : ml_ev_to_int(ev, v, a->v[1].at, "binding");
    if (!e)
        return true;
    if (e->type.code != ML_INT || e->type.lanes != 1 || e->type.bits > it->var->type.bits) {
        if (!ml_is_const_int(e)) {
            ml_report(ev->rep, ML_E_E501, a->v[1].at, "axis `%s` is %s, its binding %s",
                      it->var->hint, ml_dtype_name(ev->cx, it->var->type),
                      ml_dtype_name(ev->cx, e->type));
            return true;
        }
    }
    it->value = ml_cast(ev->cx, it->var->type, e);
    *out = ml_cv(ML_CV_DONE);
    return true;
}

/* Whether loops have to come around the block; their variables are the bindings then. */
static bool unbound(ml_Eval *ev, ml_BlockB *b)
{
    size_t n = 0;

    for (size_t k = 0; k < b->iters.n; k++)
        n += b->iters.v[k].value != NULL;
    for (size_t k = 0; k < b->iters.n; k++) {
        ml_Iter *it = &b->iters.v[k];

        if (it->value)
            continue;
        if (n)
            ml_report(ev->rep, ML_E_E410, b->at,
                      "axis `%s` of block \"%s\" has no binding, others have one",
                      it->var->hint, b->name);
        it->value =
            ml_var(ev->cx, ml_var_new(ev->cx, ml_format(ev->cx, "i%zu", k), it->var->type));
    }
    return n == 0 && b->iters.n > 0;
}

bool ml_ev_header_close(ml_Eval *ev, ml_BlockB *b)
{
    return b->header && unbound(ev, b);
}

const ml_Stmt *ml_ev_header_loops(ml_Eval *ev, const ml_BlockB *b, const ml_Stmt *body)
{
    for (size_t k = b->iters.n; k-- > 0;) {
        const ml_Iter *it = &b->iters.v[k];
        ml_For f = {.kind = ML_FOR_SERIAL,
                    .var = it->value->as.var,
                    .min = it->min,
                    .extent = it->extent,
                    .body = body};

        f.base.span = ml_ev_span(ev, b->at, NULL);
        body = ml_for_from(ev->cx, &f);
    }
    return body;
}

static const ml_Builtin TABLE[] = {
    {"spatial_axis", axis, 0, true},
    {"reduce_axis", axis, 1, true},
    {"scan_axis", axis, 2, true},
    {"opaque_axis", axis, 3, true},
};

const ml_Builtin *ml_ev_archaic_builtin(const ml_Eval *ev, ml_Str name)
{
    for (size_t k = 0; ev->opts->archaic && k < ML_COUNT(TABLE); k++)
        if (ml_str_eq(name, ml_str(TABLE[k].name)))
            return &TABLE[k];
    return NULL;
}
