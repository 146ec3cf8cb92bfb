/*
 * transform_block_layout - other iters for a block, and plain loops over them.
 *
 * The nest that holds nothing but the block is replaced by one loop for each new iter; the
 * old iters become the inverse of the map. Each instance runs once, as before: spatial and
 * reduce iters may run in another order, others keep theirs. Source: primitives 11,
 * transform_block_layout.
 */
#include "moonloop/primitives/layout/layout.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, MAP };

typedef struct Iters {
    ml_Call *c;
    const ml_Block *block;
    ml_StmtVec loops;
    ml_Arith *ar;
    const ml_IndexMap *map, *inverse;
    const ml_Expr **extents; /* of the new iters */
    const uint8_t *kinds;    /* of the new iters */
} Iters;

/* ---- checks */

static bool check_loops(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_Block *b = it->block;
    ml_StmtVec children = {0};

    for (size_t k = 0; k < it->loops.n; k++) {
        const ml_For *f = ml_as_for(it->loops.v[k]);

        if (!ml_is_int(f->min, 0))
            return ml_fail(cx, ML_E_LOOP_NOT_ZERO_BASED, ML_LOOP(f), ML_EXPRESSION(f->min));
        if (f->step && !ml_is_int(f->step, 1))
            return ml_fail(cx, ML_E_LOOP_STEP, ML_LOOP(f), ML_EXPRESSION(f->step));
    }
    if (it->loops.n > 0) {
        const char *names = "";

        ml_child_blocks(cx, it->loops.v[0], &children);
        for (size_t k = 0; k < children.n; k++)
            names = ml_format(cx, "%s%s%s", names, k ? ", " : "",
                              ml_as_block(children.v[k])->name);
        if (children.n != 1)
            return ml_fail(cx, ML_E_NOT_SINGLE_CHILD, ML_LOOP(it->loops.v[0]),
                           ML_NUMBER("blocks", children.n), ML_TEXT(names));
    }
    if (it->loops.n != b->n_iters || (b->n_iters == 0 && it->map->n_exprs > 0) ||
        !ml_is_trivial_binding(cx, it->c->p, b->tag))
        return ml_fail(cx, ML_E_NOT_TRIVIAL_BINDING, ML_BLOCK(b));
    for (size_t k = 0; k < it->loops.n; k++) {
        const ml_For *f = ml_as_for(it->loops.v[k]);
        const ml_Stmt *below = k + 1 < it->loops.n ? it->loops.v[k + 1] : &b->base;

        if (f->body != below) {
            if (!ml_check_schedulable(it->c, f->var->uid, b->tag))
                return false;
            return ml_fail_not_only_child(it->c, below, f);
        }
        if (!ml_is_int(b->iters[k].min, 0))
            return ml_bad_argument(cx, "iter %s of block %s does not start at 0",
                                   b->iters[k].var->hint, ml_shown(cx, b));
        for (size_t m = 0; m < k; m++)
            if (ml_expr_uses_var(f->extent, ml_as_for(it->loops.v[m])->var))
                return ml_fail(cx, ML_E_LOOP_DEPENDENT, ML_LOOP(f),
                               ML_LOOP(it->loops.v[m]));
    }
    return true;
}

static bool is_unit(const ml_Iter *it)
{
    return ml_is_int(it->extent, 1);
}

static bool check_kinds(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_Block *b = it->block;
    uint8_t *kinds = ML_ARRAY(cx, uint8_t, it->map->n_exprs + 1u);

    for (uint32_t k = 0; k < it->map->n_exprs; k++) {
        size_t first = b->n_iters;

        kinds[k] = ML_ITER_SPATIAL;
        for (size_t m = 0; m < b->n_iters; m++) {
            if (is_unit(&b->iters[m]) ||
                !ml_expr_uses_var(it->map->exprs[k], it->map->vars[m]))
                continue;
            if (first < b->n_iters && b->iters[m].kind != kinds[k])
                return ml_fail(
                    cx, ML_E_MIXED_ITER_KINDS, ML_NUMBER("iter", k), ML_BLOCK(b),
                    ML_TEXT(ml_iter_kind_name((ml_IterKind)b->iters[first].kind)),
                    ML_ITER(b, first),
                    ML_TEXT(ml_iter_kind_name((ml_IterKind)b->iters[m].kind)),
                    ML_ITER(b, m));
            if (first == b->n_iters)
                first = m;
            kinds[k] = b->iters[m].kind;
        }
    }
    it->kinds = kinds;
    return true;
}

static bool not_bijective(const Iters *it, const char *why)
{
    return ml_fail(it->c->cx, ML_E_MAP_NOT_BIJECTIVE, ML_BLOCK(it->block), ML_TEXT(why));
}

/* As many instances as values, by numbers: an injective map leaves none out then. */
static bool fills(const ml_Expr *const *old, size_t n, const ml_Expr *const *new, size_t m)
{
    int64_t have = 1, want = 1;

    for (size_t k = 0; k < n; k++)
        if (!ml_is_const_int(old[k]) || __builtin_mul_overflow(have, old[k]->as.i, &have))
            return false;
    for (size_t k = 0; k < m; k++)
        if (!ml_is_const_int(new[k]) || __builtin_mul_overflow(want, new[k]->as.i, &want))
            return false;
    return have == want && have > 0;
}

/* The new iters take every value of their domains: each sum of digits that the map is made
 * of has one digit, which counts by ones. */
static bool has_gaps(Iters *it, const ml_Dom *dom)
{
    const ml_IndexMap *m = it->map;
    ml_IterMap map = ml_iter_detect(it->ar, m->exprs, m->n_exprs, dom, m->n_vars, NULL,
                                    ML_BIJECTIVE, true);

    for (size_t k = 0; map.ok && k < map.n; k++) {
        const ml_IterSum *s = &map.sums[k];
        const ml_Expr *values =
            s->n ? s->digits[0].extent : ml_int(it->c->cx, it->extents[k]->type, 1);

        if (!ml_prove_equal(it->ar, values, it->extents[k]))
            return true;
    }
    return !map.ok;
}

static bool check_map(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_Block *b = it->block;
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, b->n_iters + 1u);
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, b->n_iters + 1u);
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    ml_IndexMap alone = *it->map; /* what can be shown need not be trusted */
    ml_IterFail fail = ML_ITER_FAIL_NONE;

    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Dtype t = it->map->vars[k]->type;

        shape[k] = ml_cast(cx, t, b->iters[k].extent);
        ranges[k] = (ml_Range){ml_int(cx, t, 0), shape[k]};
        dom[k] = (ml_Dom){it->map->vars[k], ranges[k].min, shape[k]};
        ml_arith_bind_range(it->ar, it->map->vars[k], ranges[k].min, shape[k]);
    }
    it->extents = ML_ARRAY(cx, const ml_Expr *, it->map->n_exprs + 1u);
    if (!ml_index_map_shape(it->ar, it->map, shape, it->extents))
        return not_bijective(it, ml_is_empty_block(b) ? "its domain is empty"
                                                      : "the new iters do not start at 0");
    alone.inverse = NULL;
    it->inverse = ml_index_map_inverse(it->ar, &alone, ranges, &fail);
    if (it->inverse)
        return ML_FAULT(MAP_GAPS) ||
               fills(shape, b->n_iters, it->extents, it->map->n_exprs) ||
               !has_gaps(it, dom) ||
               not_bijective(it, "it leaves gaps: not every value of the new iters stands "
                                 "for an instance");
    if (!it->map->inverse)
        return not_bijective(it, ml_iter_fail_text(fail));
    const char *clash = ml_map_try(cx, it->map, shape, it->extents, true);

    it->inverse = it->map->inverse;
    return !clash || not_bijective(it, clash);
}

/* The number of an instance in the order of the loops. */
static const ml_Expr *position(ml_Ctx *cx, const ml_Expr *const *idx,
                               const ml_Expr *const *extents, size_t n, ml_Dtype t)
{
    const ml_Expr *at = ml_int(cx, t, 0);

    for (size_t k = 0; k < n; k++)
        at = ml_add(cx, ml_mul(cx, at, ml_cast(cx, t, extents[k])), ml_cast(cx, t, idx[k]));
    return at;
}

/* Iters of which the order counts keep it; and a reduction begins where it began, unless an
 * init says what it begins with. */
static bool check_order(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_Block *b = it->block;
    const ml_IndexMap *m = it->map;
    const ml_Expr **vars = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    const ml_Expr **extents = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    bool ordered = false, moved = false;
    ml_Subst zero = {0};

    for (uint32_t k = 0; k < it->inverse->n_vars; k++)
        ml_subst_var(cx, &zero, it->inverse->vars[k],
                     ml_int(cx, it->inverse->vars[k]->type, 0));
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *iter = &b->iters[k];

        vars[k] = ml_var(cx, m->vars[k]);
        extents[k] = iter->extent;
        if (is_unit(iter))
            continue;
        ordered |= iter->kind != ML_ITER_SPATIAL && iter->kind != ML_ITER_REDUCE;
        moved |=
            iter->kind == ML_ITER_REDUCE && !b->init &&
            !ml_is_int(ml_simplify(it->ar, ml_expr_subst(cx, it->inverse->exprs[k], &zero)),
                       0);
    }
    if (moved)
        return ml_fail_as(
            cx, ML_E_INIT_MISPLACED,
            "block {0} has no init, and another instance of its reduction would come first",
            ML_BLOCK(b));
    if (!ordered || b->n_iters == 0)
        return true;
    ml_Dtype t = m->vars[0]->type;

    if (ml_prove_equal(it->ar, position(cx, vars, extents, b->n_iters, t),
                       position(cx, m->exprs, it->extents, m->n_exprs, t)))
        return true;
    return ml_fail_as(cx, ML_E_ORDER_REVERSED,
                      "block {0} has iters that are neither spatial nor reduce; its "
                      "instances would run in another order",
                      ML_BLOCK(b));
}

/* So it is seen at once; the variables of the map stand for the loops. */
static bool order_stays(const Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_IndexMap *m = it->map;
    ml_DomVec loops = {0}, open = {0};
    bool *told = ML_ARRAY(cx, bool, m->n_vars + 1u);

    for (size_t k = 0; k < m->n_vars; k++) {
        const ml_For *f = ml_as_for(it->loops.v[k]);

        ml_push(cx, &loops, ((ml_Dom){f->var, f->min, f->extent}));
    }
    ml_loops_told(it->block, loops.v, loops.n, true, told);
    for (size_t k = 0; k < loops.n; k++)
        if (!told[k])
            ml_push(cx, &open, ((ml_Dom){m->vars[k], loops.v[k].min, loops.v[k].extent}));
    return ml_key_grows(open.v, open.n, m->exprs, m->n_exprs);
}

/* Instances that depend on each other run in the order of the old loops, and will run in
 * that of the new iters. */
static bool check_dependences(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_IndexMap *m = it->map;
    const ml_Expr **key = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);
    ml_Subst of_loops = {0};

    if (order_stays(it))
        return true;

    for (size_t k = 0; k < m->n_vars; k++) {
        const ml_Var *l = ml_as_for(it->loops.v[k])->var;

        ml_subst_var(cx, &of_loops, m->vars[k],
                     ml_cast(cx, m->vars[k]->type, ml_var(cx, l)));
    }
    for (size_t k = 0; k < m->n_exprs; k++)
        key[k] = ml_expr_subst(cx, m->exprs[k], &of_loops);
    return ml_check_key_order(it->c, it->block, 0, key, it->extents, m->n_exprs);
}

/* ---- the new nest */

static const ml_Expr *simpler(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    (void)cx;
    return ml_simplify(user, e);
}

static const ml_Stmt *new_nest(Iters *it)
{
    ml_Ctx *cx = it->c->cx;
    const ml_Block *b = it->block;
    const ml_IndexMap *m = it->map;
    uint32_t n = m->n_exprs;
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, n + 1u);
    const ml_Expr **vars = ML_ARRAY(cx, const ml_Expr *, n + 1u);
    const ml_Expr **bound = ML_ARRAY(cx, const ml_Expr *, n + 1u);
    const ml_Expr **old = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, n + 1u);
    ml_Subst of_iters = {0}, of_loops = {0};
    ml_Block nb = *b;

    for (uint32_t k = 0; k < n; k++) {
        ml_Dtype type = m->exprs[k]->type;
        const ml_Expr *zero = ml_int(cx, type, 0);

        it->extents[k] = ml_cast(cx, type, it->extents[k]);
        loops[k] = ml_var_new(cx, ml_numbered(cx, "ax", "", k), type);
        bound[k] = ml_var(cx, loops[k]);
        iters[k] = (ml_Iter){.var = ml_var_new(cx, ml_numbered(cx, "v", "", k), type),
                             .min = zero,
                             .extent = it->extents[k],
                             .value = bound[k],
                             .kind = it->kinds[k]};
        vars[k] = ml_var(cx, iters[k].var);
        ml_arith_bind_range(it->ar, iters[k].var, zero, it->extents[k]);
        ml_arith_bind_range(it->ar, loops[k], zero, it->extents[k]);
    }
    ml_index_map_apply(it->ar, it->inverse, vars, old);
    ml_index_map_apply(it->ar, it->inverse, bound, at);
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Var *v = b->iters[k].var, *l = ml_as_for(it->loops.v[k])->var;

        ml_subst_var(cx, &of_iters, v, ml_cast(cx, v->type, old[k]));
        ml_subst_var(cx, &of_loops, l, ml_cast(cx, l->type, at[k]));
    }
    /* A loop may have run over a part of the domain only. */
    nb.predicate = ml_expr_subst(cx, b->predicate, &of_loops);
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Expr *ran = ml_as_for(it->loops.v[k])->extent;
        const ml_Expr *all = ml_cast(cx, ran->type, b->iters[k].extent);

        if (!ml_prove_le_expr(it->ar, all, ran))
            nb.predicate =
                ml_and(cx, nb.predicate, ml_lt(cx, ml_cast(cx, ran->type, at[k]), ran));
    }
    if (!ml_is_true(nb.predicate))
        nb.predicate = ml_simplify(it->ar, nb.predicate);
    nb.iters = iters;
    nb.n_iters = n;
    const ml_Stmt *st =
        ml_stmt_subst_tidy(cx, ml_block_from(cx, &nb), &of_iters, simpler, it->ar);

    st = ml_tidy_indices(it->ar, st, iters, n);
    for (uint32_t k = n; k-- > 0;)
        st = ml_serial(cx, loops[k], ml_int(cx, loops[k]->type, 0), it->extents[k], st);
    return st;
}

static bool transform_block_layout(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Iters it = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};
    const ml_IndexMap *given = c->args[MAP].map;
    const ml_Block *b = it.block;
    ml_Dtype t = ML_DT_I32;
    bool plain = true;

    if (!ml_check_not_root(c, b->tag))
        return false;
    ml_index_loops(cx, c->p.index, b->tag, &it.loops);
    it.map = given;
    if (!check_loops(&it))
        return false;
    if (given->n_vars != b->n_iters)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                          "index_map takes {0} indices, block {1} has {2} iters",
                          ML_NUMBER("indices", given->n_vars), ML_BLOCK(b),
                          ML_NUMBER("iters", b->n_iters));
    if (b->n_iters == 0)
        return true;
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_For *f = ml_as_for(it.loops.v[k]);

        if (b->iters[k].var->type.bits > t.bits)
            t = b->iters[k].var->type;
        plain &= f->kind == ML_FOR_SERIAL && ml_dict_count(f->annotations) == 0;
    }
    ml_Uid top = ml_stmt_uid(it.loops.v[0]);

    it.ar = ml_arith_at(cx, c->p, top);
    it.map = ml_map_typed(it.ar, given, t);
    if (!check_kinds(&it) || !check_map(&it) || !check_order(&it) ||
        !ML_PROVE(c, ML_SOUND,
                  ml_check_reads_in_blocks(c, it.loops.v[0], NULL) &&
                      (ML_FAULT(SELF_DEPENDENCE) || check_dependences(&it))))
        return false;
    const ml_Stmt *st = new_nest(&it);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, top, st);
    if (!plain)
        ml_call_note(c, "kinds and annotations of the loops above %s went with the loops",
                     ml_shown(c->cx, b));
    ml_call_subject(c, ML_BLOCK_OF, b->tag, NULL);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block, alone under its loops"),
    ML_PARAM_ATTR("index_map", ML_P_MAP, "from the iters to the new ones"),
};

const ml_Primitive ml_prim_transform_block_layout = {
    ML_PRIM(transform_block_layout, "TransformBlockLayout"),
    .group = "layout",
    .summary = "give a block other iters, with a loop for each",
    .help = "The loops above the block are replaced by ax0, ax1, ... over what the map "
            "gives; the\n"
            "block's iters must be its loops, in order.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = (const ml_Post[]){{ML_SOUND, ML_BLOCK_OF, ml_check_starts, NULL}, {0}},
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_LOOP_NOT_ZERO_BASED, ML_E_LOOP_STEP,
                               ML_E_NOT_SINGLE_CHILD, ML_E_NOT_TRIVIAL_BINDING,
                               ML_E_NOT_SCHEDULABLE, ML_E_NOT_ONLY_CHILD, ML_E_BAD_ARGUMENT,
                               ML_E_LOOP_DEPENDENT, ML_E_MIXED_ITER_KINDS,
                               ML_E_MAP_NOT_BIJECTIVE, ML_E_ORDER_REVERSED,
                               ML_E_INIT_MISPLACED, ML_E_OUTSIDE_BLOCKS, ML_E_OK},
    .one_order = true,
};
