/*
 * decompose_padding - a constant fill, and a copy of the interior, of "value here, constant
 * there".
 *
 * The condition bounds each iter of the block alone, so that where it holds is a box of
 * instances. The fill runs over all instances directly before the loop; then the block runs
 * over the box. Each element is written by one instance, else a fill could come after a
 * value. Source: primitives 11, decompose_padding.
 */
#include "moonloop/primitives/layout/layout.h"

#include "moonloop/primitives/rewrite/move.h"

enum { BLOCK, LOOP };

typedef struct Padding {
    ml_Call *c;
    const ml_Block *block;
    const ml_For *loop;
    ml_StmtVec way; /* the loop and those inside of it, down to the block */
    ml_Arith *ar;
    const ml_Store *store;
    const ml_Expr *cond, *value, *constant;
    const ml_Expr *bounds, *outer; /* what the condition says of the iters; and of others */
    const ml_Expr **lo, **extent;  /* of the box, per iter */
    const ml_For **shrunk;         /* per iter: the loop that runs over the box; or NULL */
} Padding;

static bool no_pattern(const Padding *p, const char *why)
{
    return ml_fail(p->c->cx, ML_E_PADDING_PATTERN, ML_BLOCK(p->block), ML_TEXT(why));
}

static bool find_way(Padding *p)
{
    ml_Ctx *cx = p->c->cx;
    ml_StmtVec loops = {0};
    size_t at = 0;

    ml_index_loops(cx, p->c->p.index, p->block->tag, &loops);
    while (at < loops.n && loops.v[at] != &p->loop->base)
        at++;
    if (at == loops.n)
        return ml_fail(cx, ML_E_NOT_ANCESTOR, ML_LOOP(p->loop), ML_BLOCK(p->block));
    for (size_t k = at; k < loops.n; k++)
        ml_push(cx, &p->way, loops.v[k]);
    return ml_check_schedulable(p->c, p->loop->var->uid, p->block->tag);
}

static bool find_pattern(Padding *p)
{
    const ml_Block *b = p->block;

    if (b->init || b->n_allocs || b->n_matches || b->body->kind != ML_STMT_STORE)
        return no_pattern(p, "its body is not one store");
    p->store = ml_as_store(b->body);
    const ml_Expr *v = p->store->value;

    if (p->store->mask || !ml_is_op(v, ML_OP_IF_THEN_ELSE) || v->n_args != 3)
        return no_pattern(p, "it does not store an if_then_else");
    p->cond = v->args[0];
    p->value = v->args[1];
    p->constant = v->args[2];
    if (p->constant->kind != ML_EXPR_INT && p->constant->kind != ML_EXPR_FLOAT)
        return no_pattern(p, "what it stores beside is no constant");
    if (ml_expr_effect(p->value) > ML_EFFECT_READ)
        return no_pattern(p, "its value has side effects");
    for (size_t d = 0; d < p->store->n; d++)
        if (ml_expr_effect(p->store->indices[d]) > ML_EFFECT_PURE)
            return no_pattern(p, "where it stores depends on a buffer");
    return true;
}

static void split_condition(Padding *p, const ml_Expr *e)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    bool own = false;

    while (ml_is_op(e, ML_OP_LIKELY) && e->n_args == 1)
        e = e->args[0];
    if (e->kind == ML_EXPR_AND) {
        split_condition(p, e->args[0]);
        split_condition(p, e->args[1]);
        return;
    }
    for (size_t k = 0; k < b->n_iters; k++)
        own |= ml_expr_uses_var(e, b->iters[k].var);
    const ml_Expr **to = own ? &p->bounds : &p->outer;

    *to = ml_is_true(*to) ? e : ml_and(cx, *to, e);
}

/* The box of instances for which the condition holds. */
static bool find_box(Padding *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, b->n_iters + 1u);
    ml_Range *point = ML_ARRAY(cx, ml_Range, b->n_iters + 1u);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);

    p->lo = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    p->extent = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    p->shrunk = ML_ARRAY(cx, const ml_For *, b->n_iters + 1u);
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        dom[k] = (ml_Dom){it->var, it->min, it->extent};
        point[k] = (ml_Range){ml_var(cx, it->var), ml_int(cx, it->var->type, 1)};
    }
    ML_ASSERT(p->store && p->cond);
    ml_arith_bind_iters(p->ar, b);
    if (ml_prove(p->ar, p->cond))
        return no_pattern(p, "its condition always holds");
    if (!ml_iter_holds(p->ar, p->store->indices, p->store->n, dom, b->n_iters,
                       ml_bool(cx, true), ML_BIJECTIVE, false))
        return ml_fail_as(cx, ML_E_WRITES_OVERLAP,
                          "several instances of block {0} may write one element of {1}; "
                          "the fill would not come before each",
                          ML_BLOCK(b), ML_BUFFER(p->store->buffer));
    p->bounds = p->outer = ml_bool(cx, true);
    split_condition(p, p->cond);
    if (b->n_iters == 0 || ml_expr_effect(p->cond) > ML_EFFECT_PURE ||
        !ml_region_strict(p->ar, point, b->n_iters, dom, b->n_iters, p->bounds, box))
        return no_pattern(p, "its condition does not bound each iter alone");
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Dtype t = b->iters[k].var->type;

        if (box[k].nothing || !box[k].min || !box[k].max)
            return no_pattern(p, "its condition does not bound each iter alone");
        p->lo[k] = ml_cast(cx, t, box[k].min);
        p->extent[k] =
            ml_simplify(p->ar, ml_add(cx, ml_sub(cx, ml_cast(cx, t, box[k].max), p->lo[k]),
                                      ml_int(cx, t, 1)));
    }
    return true;
}

static bool is_concurrent(const ml_For *f)
{
    return f->kind == ML_FOR_PARALLEL || f->kind == ML_FOR_VECTORIZED ||
           f->kind == ML_FOR_THREAD;
}

/* The fill comes before the whole loop: of what it writes nothing may be a loop's own, or
 * be read before the block writes it. */
static bool check_place(Padding *p)
{
    ml_Call *c = p->c;
    ml_Ctx *cx = c->cx;

    ML_ASSERT(p->store);
    const ml_Buffer *buf = p->store->buffer;
    ml_StmtVec blocks = {0};

    for (size_t k = 0; k < p->way.n; k++) {
        const ml_For *f = ml_as_for(p->way.v[k]);

        if (f->step && !ml_is_int(f->step, 1))
            return ml_fail(cx, ML_E_LOOP_STEP, ML_LOOP(f), ML_EXPRESSION(f->step));
        if (is_concurrent(f) && ml_buffer_is_private(cx, c->facts, c->p, f->var->uid, buf))
            return ml_fail_as(cx, ML_E_NOT_SHARED,
                              "iterations of loop {0} each have a {1} of their own; the "
                              "fill would stand outside of it",
                              ML_LOOP(f), ML_BUFFER(buf));
    }
    ml_child_blocks(cx, &p->loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *o = ml_as_block(blocks.v[k]);

        if (ml_read_of(o, buf) && o->tag != p->block->tag &&
            !ml_still_covered(c, o->tag, o->tag, true))
            return false;
    }
    return true;
}

/* ---- the fill */

static const ml_Stmt *fill_nest(const Padding *p, ml_Uid *tag)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1u);
    ml_Subst of_loops = {0}, of_iters = {0};
    ml_For *loops = ML_ARRAY(cx, ml_For, p->way.n + 1);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, p->store->n + 1u);
    ml_Region *writes = ML_ARRAY(cx, ml_Region, b->n_writes + 1u);
    ml_Block nb = *b;

    for (size_t k = 0; k < p->way.n; k++) {
        const ml_For *f = ml_as_for(p->way.v[k]);

        loops[k] = (ml_For){.var = ml_var_fresh(cx, f->var)};
        loops[k].min = ml_expr_subst(cx, f->min, &of_loops);
        loops[k].extent = ml_expr_subst(cx, f->extent, &of_loops);
        ml_subst_var(cx, &of_loops, f->var, ml_var(cx, loops[k].var));
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        iters[k] = *it;
        iters[k].var = ml_var_fresh(cx, it->var);
        iters[k].value = ml_expr_subst(cx, it->value, &of_loops);
        iters[k].min = ml_expr_subst(cx, it->min, &of_loops);
        iters[k].extent = ml_expr_subst(cx, it->extent, &of_loops);
        ml_subst_var(cx, &of_iters, it->var, ml_var(cx, iters[k].var));
    }
    for (size_t d = 0; d < p->store->n; d++)
        idx[d] = ml_expr_subst(cx, p->store->indices[d], &of_iters);
    for (uint32_t k = 0; k < b->n_writes; k++)
        writes[k] = ml_region_subst(cx, b->writes[k], &of_iters);
    nb.tag = *tag = ml_fresh_uid(cx);
    nb.name = ml_format(cx, "%s_pad_const", b->name);
    nb.predicate = ml_expr_subst(cx, b->predicate, &of_loops);
    nb.iters = iters;
    nb.n_reads = 0;
    nb.reads = NULL;
    nb.writes = writes;
    nb.annotations = NULL;
    nb.base.span = NULL;
    nb.body = ml_store(cx, p->store->buffer, p->constant, idx, p->store->n, NULL);
    const ml_Stmt *st = ml_block_from(cx, &nb);

    for (size_t k = p->way.n; k-- > 0;)
        st = ml_serial(cx, loops[k].var, loops[k].min, loops[k].extent, st);
    return st;
}

/* ---- the interior */

static bool is_whole(const Padding *p, size_t k)
{
    return ml_prove_equal(p->ar, p->lo[k], p->block->iters[k].min) &&
           ml_prove_equal(p->ar, p->extent[k], p->block->iters[k].extent);
}

/* Loops that hold nothing but the way to the block, and are an iter's value. */
static void find_shrunk(Padding *p)
{
    const ml_Block *b = p->block;
    const ml_Stmt *below = &b->base;

    for (size_t at = p->way.n; at-- > 0;) {
        const ml_For *f = ml_as_for(p->way.v[at]);

        if (f->body != below)
            return;
        below = &f->base;
        for (size_t k = 0; k < b->n_iters && f->kind != ML_FOR_THREAD; k++) {
            const ml_Iter *it = &b->iters[k];

            if (it->value->kind == ML_EXPR_VAR && it->value->as.var->uid == f->var->uid &&
                ml_is_int(f->min, 0) && ml_is_int(it->min, 0) &&
                ml_prove_equal(p->ar, f->extent, it->extent) && !is_whole(p, k)) {
                p->shrunk[k] = f;
                break;
            }
        }
    }
}

typedef struct Shrink {
    const Padding *p;
    const ml_Stmt *block; /* what takes its place */
    const ml_Subst *shift;
} Shrink;

static const ml_Stmt *shrink(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const Shrink *w = user;
    const Padding *p = w->p;

    if (s == &p->block->base)
        return w->block;
    if (!s->has_block || s->kind == ML_STMT_BLOCK)
        return s;
    const ml_Stmt *r = ml_stmt_map(cx, s, &(ml_Mapper){.stmt = shrink, .user = user});

    if (r == s || r->kind != ML_STMT_FOR)
        return r;
    ml_For f = *ml_as_for(r);

    f.min = ml_expr_subst(cx, f.min, w->shift); /* of loops outside */
    f.extent = ml_expr_subst(cx, f.extent, w->shift);
    for (size_t k = 0; k < p->block->n_iters; k++)
        if (p->shrunk[k] && p->shrunk[k]->var->uid == f.var->uid)
            f.extent = ml_cast(cx, f.var->type, p->extent[k]);
    return ml_for_from(cx, &f);
}

static const ml_Stmt *interior(Padding *p)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1u);
    ml_Subst of_loops = {0}, of_iters = {0};
    ml_Block nb = *b;

    find_shrunk(p);
    for (size_t k = 0; k < b->n_iters; k++)
        if (p->shrunk[k]) {
            const ml_Var *v = p->shrunk[k]->var;

            ml_subst_var(cx, &of_loops, v,
                         ml_add(cx, ml_var(cx, v), ml_cast(cx, v->type, p->lo[k])));
        }
    nb.predicate = ml_expr_subst(cx, b->predicate, &of_loops);
    if (!ml_is_true(p->outer))
        nb.predicate =
            ml_is_true(nb.predicate) ? p->outer : ml_and(cx, nb.predicate, p->outer);
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_Dtype t = it->var->type;
        const ml_Expr *at = ml_expr_subst(cx, it->value, &of_loops), *end;

        iters[k] = *it;
        iters[k].value = at;
        if (is_whole(p, k))
            continue;
        iters[k].min = ml_int(cx, t, 0);
        iters[k].extent = p->extent[k];
        iters[k].value =
            p->shrunk[k] ? it->value : ml_simplify(p->ar, ml_sub(cx, at, p->lo[k]));
        iters[k].var = ml_var_fresh(cx, it->var);
        ml_subst_var(cx, &of_iters, it->var,
                     ml_add(cx, ml_var(cx, iters[k].var), p->lo[k]));
        ml_arith_bind_range(p->ar, iters[k].var, iters[k].min, iters[k].extent);
        if (p->shrunk[k])
            continue;
        end = ml_simplify(p->ar, ml_add(cx, p->lo[k], p->extent[k]));
        if (!ml_prove_equal(p->ar, p->lo[k], it->min))
            nb.predicate = ml_is_true(nb.predicate)
                               ? ml_le(cx, p->lo[k], at)
                               : ml_and(cx, nb.predicate, ml_le(cx, p->lo[k], at));
        if (!ml_prove_equal(p->ar, end, ml_add(cx, it->min, it->extent)))
            nb.predicate = ml_is_true(nb.predicate)
                               ? ml_lt(cx, at, end)
                               : ml_and(cx, nb.predicate, ml_lt(cx, at, end));
    }
    nb.iters = iters;
    nb.body = ml_stmt_at(
        cx, ml_store(cx, p->store->buffer, p->value, p->store->indices, p->store->n, NULL),
        b->body->span);
    const ml_Stmt *st = ml_block_from(cx, &nb);

    if (of_iters.vars)
        st = ml_stmt_subst(cx, st, &of_iters);
    st = ml_tidy_indices(p->ar, st, iters, nb.n_iters);
    const ml_Block *inferred = ml_block_reinfer(cx, ml_call_func(p->c), ml_as_block(st));
    Shrink w = {p, inferred ? &inferred->base : st, &of_loops};

    return shrink(cx, &p->loop->base, &w);
}

static bool decompose_padding(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Padding p = {.c = c,
                 .block = ml_call_block(c, c->args[BLOCK].uid),
                 .loop = ml_call_loop(c, c->args[LOOP].uid)};
    ml_Uid uid = p.block->tag, fill = 0;
    const char *why = NULL;

    if (!ml_check_not_root(c, uid) ||
        !ML_PROVE(c, ML_SOUND, ml_need_complete(cx, c->facts, c->p, uid)) || !find_way(&p))
        return false;
    p.ar = ml_arith_at(cx, c->p, uid);
    if (!find_pattern(&p) || !find_box(&p))
        return false;
    if (!ml_is_affine(cx, c->facts, c->p, uid, &why))
        return ml_fail(cx, ML_E_NOT_AFFINE, ML_BLOCK(p.block), ML_TEXT(why ? why : "?"));
    if (!check_place(&p))
        return false;
    const ml_Stmt *both[2] = {fill_nest(&p, &fill), interior(&p)};

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, p.loop->var->uid, ml_seq(cx, both, 2));
    ml_call_subject(c, ML_BLOCK_OF, fill, NULL);
    ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    ml_call_return_block(c, fill);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that stores a value or a constant"),
    ML_PARAM("loop", ML_P_LOOP, "a loop above it; the fill stands before it"),
};

const ml_Primitive ml_prim_decompose_padding = {
    ML_PRIM(decompose_padding, "DecomposePadding"),
    .group = "layout",
    .summary = "split padding into a constant fill and a copy of the interior",
    .help =
        "The block stores if_then_else(c, value, constant). A block <name>_pad_const "
        "stores the\n"
        "constant everywhere, directly before the loop; the block keeps what lies inside.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = (const ml_Post[]){{ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL}, {0}},
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NOT_COMPLETE, ML_E_NOT_ANCESTOR,
                               ML_E_NOT_SCHEDULABLE, ML_E_PADDING_PATTERN, ML_E_NOT_AFFINE,
                               ML_E_LOOP_STEP, ML_E_NOT_REGION_COVERED, ML_E_WRITES_OVERLAP,
                               ML_E_NOT_SHARED, ML_E_OK},
};
