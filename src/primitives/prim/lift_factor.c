/*
 * lift_factor - make a signed factor of a sum of products unsigned.
 *
 * The sum of (a + 128) * b is the sum of a * b, and 128 times that of b besides: the operand is
 * stored with 128 added, 32768 of 16 bits; a block before adds up the other factors, and the
 * sum of products starts from that less what they add up to. Integers wrap, so that this is
 * exact. For instructions that want one operand without a sign. Source:
 * lowering-and-codegen 9.1.
 */
#include "moonloop/primitives/rewrite/addend.h"
#include "moonloop/primitives/rewrite/cache.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/retype.h"

enum { BLOCK, BUFFER };

typedef struct Lift {
    ml_Call *c;
    const ml_Block *block;
    const ml_Store *store;                /* of the block */
    const ml_Buffer *signed_one, *lifted; /* the operand */
    const ml_Expr *product;               /* of the lifted one and the rest */
    const ml_Expr *rest;                  /* the other factors; NULL: there are none */
    const ml_Buffer *sums;                /* of the rest */
    const ml_Stmt *top;                   /* of the scope's body, with the block alone */
} Lift;

static bool no_factor(const Lift *l, const char *why)
{
    return ml_fail(l->c->cx, ML_E_NO_SIGNED_FACTOR, ML_BLOCK(l->block),
                   ML_BUFFER(l->signed_one), ML_TEXT(why));
}

/* ---- how elements are stored */

static const ml_Expr *shifted(ml_Ctx *cx, const ml_Expr *v, ml_Dtype t, int sign)
{
    ml_Dtype wide = ML_DT_I32;
    const ml_Expr *by;

    wide.lanes = t.lanes;
    by = ml_const(cx, wide, sign * (1 << (t.bits - 1)));
    return ml_cast(cx, t, ml_add(cx, ml_cast(cx, wide, v), by));
}

static const ml_Expr *encode(ml_Ctx *cx, const ml_Expr *v, ml_Dtype t)
{
    return shifted(cx, v, t, 1);
}

static const ml_Expr *decode(ml_Ctx *cx, const ml_Expr *v, ml_Dtype t)
{
    return shifted(cx, v, t, -1);
}

/* ---- the product */

/* The product with the lifted operand in place of the first factor that is an element of the
 * signed one, widened; NULL: there is none. *rest: the product of the others. */
static const ml_Expr *lift(const Lift *l, const ml_Expr *e, const ml_Expr **rest)
{
    ml_Ctx *cx = l->c->cx;

    if (e->kind == ML_EXPR_CAST && e->args[0]->kind == ML_EXPR_LOAD &&
        e->args[0]->as.buffer->uid == l->signed_one->uid &&
        !(e->args[0]->flags & ML_X_MASKED)) {
        const ml_Expr *at = e->args[0];

        return ml_cast(cx, e->type, ml_load(cx, l->lifted, at->args, ml_load_rank(at)));
    }
    for (int k = 0; e->kind == ML_EXPR_MUL && k < 2; k++) {
        const ml_Expr *in = lift(l, e->args[k], rest), *other = e->args[1 - k];

        if (!in)
            continue;
        *rest = !*rest ? other : k ? ml_mul(cx, other, *rest) : ml_mul(cx, *rest, other);
        return k ? ml_mul(cx, other, in) : ml_mul(cx, in, other);
    }
    return NULL;
}

static bool is_same_place(const ml_Store *a, const ml_Store *b)
{
    bool same = a->buffer->uid == b->buffer->uid && a->n == b->n && !a->mask;

    for (uint32_t d = 0; same && d < a->n; d++)
        same = a->indices[d] == b->indices[d];
    return same;
}

static bool check_sum(Lift *l)
{
    const ml_Block *b = l->block;
    const ml_Stmt *init = b->init;
    const ml_Expr *addend = ml_addend(b);
    ml_Dtype t = l->signed_one->type;

    if (t.code != ML_INT || (t.bits != 8 && t.bits != 16))
        return no_factor(l, "its elements are not int8 or int16");
    if (!init || !addend)
        return no_factor(l,
                         "its body is not one store that adds to an element, with an init");
    l->store = ml_as_store(b->body);
    if (init->kind != ML_STMT_STORE || !is_same_place(ml_as_store(init), l->store) ||
        ml_expr_uses_buffer(ml_as_store(init)->value, l->store->buffer))
        return no_factor(l, "its init is not one store to the same element");
    if (!ml_dtype_is_int(addend->type) || addend->type.lanes != 1 ||
        addend->type.bits <= t.bits)
        return no_factor(l, "the sums are no wider integers");
    l->product = lift(l, addend, &l->rest);
    if (!l->product)
        return no_factor(l, "no factor of what it adds is an element of that, widened");
    return true;
}

/* ---- the instances */

/* The block is alone in its nest, which runs all of its domain, each instance once. */
static bool check_nest(Lift *l, ml_Uid scope)
{
    ml_Call *c = l->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = l->block;
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    ml_Arith *outside = ml_arith_at(cx, c->p, scope);
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};
    const char *why = NULL;

    if (ml_under_threads(c, b->tag))
        return no_factor(l, "threads run it");
    ml_index_loops(cx, c->p.index, b->tag, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);
        const ml_Stmt *below = k + 1 < loops.n ? loops.v[k + 1] : &b->base;

        if (f->body != below)
            return ml_fail_not_only_child(c, below, f);
        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    l->top = loops.n > 0 ? loops.v[0] : &b->base;
    if (!ml_is_affine(cx, c->facts, c->p, b->tag, &why))
        return ml_fail(cx, ML_E_NOT_AFFINE, ML_BLOCK(b), ML_TEXT(why ? why : "?"));
    for (uint32_t k = 0; k < b->n_iters; k++) {
        values[k] = b->iters[k].value;
        if (b->iters[k].kind != ML_ITER_SPATIAL && b->iters[k].kind != ML_ITER_REDUCE)
            return no_factor(l, "an iter of it is neither spatial nor reduce");
        if (!ml_is_int(b->iters[k].min, 0))
            return no_factor(l, "an iter of it does not start at 0");
    }
    if (!ml_iter_holds(outside, values, b->n_iters, dom.v, dom.n, b->predicate,
                       ML_BIJECTIVE, false))
        return no_factor(l, "its loops run some instance twice");
    ml_Interval *run = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);
    bool whole = ml_executed_domains(c, b, run);

    for (uint32_t k = 0; k < b->n_iters && whole; k++) {
        const ml_Expr *n = b->iters[k].extent;

        whole = ml_prove_equal(outside, run[k].min, b->iters[k].min) &&
                ml_prove_equal(outside, run[k].max, ml_sub(cx, n, ml_int(cx, n->type, 1)));
    }
    return whole || no_factor(l, "its loops do not run over all of its domain");
}

/* ---- the blocks beside it */

/* A block over some iters of the block, in loops of its own. */
typedef struct Nest {
    ml_Iter *iters;
    const ml_Var **loops;
    uint32_t n;
    ml_Subst sub; /* iters of the block */
} Nest;

static void add_iter(const Lift *l, Nest *n, uint32_t k)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Iter *it = &l->block->iters[k];

    const ml_Var *named = it->value->kind == ML_EXPR_VAR ? it->value->as.var : it->var;

    n->loops[n->n] = ml_var_new(cx, named->hint, it->extent->type);
    n->iters[n->n] =
        (ml_Iter){.var = ml_var_fresh(cx, it->var),
                  .min = it->min,
                  .extent = it->extent,
                  .value = ml_cast(cx, it->var->type, ml_var(cx, n->loops[n->n])),
                  .kind = it->kind};
    ml_subst_var(cx, &n->sub, it->var, ml_var(cx, n->iters[n->n].var));
    n->n++;
}

static Nest open_nest(const Lift *l)
{
    ml_Ctx *cx = l->c->cx;

    return (Nest){.iters = ML_ARRAY(cx, ml_Iter, l->block->n_iters + 1u),
                  .loops = ML_ARRAY(cx, const ml_Var *, l->block->n_iters + 1u)};
}

static const ml_Expr *inside(const Lift *l, const Nest *n, const ml_Expr *e)
{
    return n->sub.vars ? ml_expr_subst(l->c->cx, e, &n->sub) : e;
}

static const ml_Stmt *close_nest(const Lift *l, const Nest *n, const char *name,
                                 const ml_Stmt *init, const ml_Stmt *body)
{
    ml_Ctx *cx = l->c->cx;
    ml_Block b = {.tag = ml_fresh_uid(cx),
                  .name = name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = n->n,
                  .iters = n->iters,
                  .init = init,
                  .body = body};
    const ml_Block *done =
        ml_block_reinfer(cx, ml_call_func(l->c), ml_as_block(ml_block_from(cx, &b)));
    const ml_Stmt *st = done ? &done->base : NULL;

    for (uint32_t k = n->n; k-- > 0 && st;)
        st = ml_serial(cx, n->loops[k], ml_int(cx, n->loops[k]->type, 0),
                       n->iters[k].extent, st);
    return st;
}

/* The element of the sums for an instance: iters that the rest knows, or the only one. */
static size_t sum_at(const Lift *l, const ml_Expr **out)
{
    const ml_Block *b = l->block;
    size_t n = 0;

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_SPATIAL && l->rest &&
            ml_expr_uses_var(l->rest, b->iters[k].var))
            out[n++] = ml_var(l->c->cx, b->iters[k].var);
    if (n == 0)
        out[n++] = ml_int(l->c->cx, ML_DT_I32, 0);
    return n;
}

static void make_sums(Lift *l)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Block *b = l->block;
    const ml_Buffer *to = l->store->buffer;
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    size_t n = sum_at(l, shape);

    for (size_t d = 0; d < n; d++)
        shape[d] = shape[d]->kind == ML_EXPR_VAR
                       ? b->iters[ml_iter_of(b, shape[d]->as.var)].extent
                       : ml_int(cx, ML_DT_I32, 1);
    l->sums = ml_buffer_new(cx, ml_format(cx, "%s_lift", to->name), to->type, shape, n,
                            to->scope.name);
}

/* The sum of the other factors. */
static const ml_Stmt *sum_nest(const Lift *l)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Block *b = l->block;
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    ml_Dtype t = l->store->buffer->type;
    const ml_Expr *rest = l->rest ? l->rest : ml_const(cx, t, 1);
    size_t rank = sum_at(l, at);
    Nest n = open_nest(l);

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE ||
            (l->rest && ml_expr_uses_var(l->rest, b->iters[k].var)))
            add_iter(l, &n, k);
    for (size_t d = 0; d < rank; d++)
        at[d] = inside(l, &n, at[d]);
    const ml_Expr *own = ml_load(cx, l->sums, at, rank);

    return close_nest(
        l, &n, l->sums->name, ml_store(cx, l->sums, ml_const(cx, t, 0), at, rank, NULL),
        ml_store(cx, l->sums, ml_add(cx, own, inside(l, &n, rest)), at, rank, NULL));
}

/* The block, of the lifted operand, that starts from less. */
static const ml_Stmt *lifted_block(const Lift *l)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Store *st = l->store, *init = ml_as_store(l->block->init);
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, l->block->n_iters + 1u);
    size_t rank = sum_at(l, at);
    const ml_Expr *own = ml_load(cx, st->buffer, st->indices, st->n);
    const ml_Expr *less = ml_load(cx, l->sums, at, rank);
    int64_t by = (int64_t)1 << (l->signed_one->type.bits - 1);
    ml_Block nb = *l->block;

    if (less->type.code == ML_UINT)
        less = ml_sub(cx, init->value, ml_mul(cx, less, ml_int(cx, less->type, by)));
    else
        less = ml_add(cx, init->value, ml_mul(cx, less, ml_int(cx, less->type, -by)));
    nb.init = ml_stmt_at(cx, ml_store(cx, st->buffer, less, init->indices, init->n, NULL),
                         init->base.span);
    nb.body = ml_stmt_at(
        cx, ml_store(cx, st->buffer, ml_add(cx, own, l->product), st->indices, st->n, NULL),
        st->base.span);
    return ml_block_from(cx, &nb);
}

/* ---- the rewrite */

static bool install(Lift *l, ml_Uid scope)
{
    ml_Call *c = l->c;
    ml_Uid top = ml_stmt_uid(l->top);
    const ml_Stmt *sums = sum_nest(l), *in = sums;
    const ml_Block *root;

    if (!sums)
        return false;
    while (in->kind == ML_STMT_FOR)
        in = ml_as_for(in)->body;
    ml_call_replace(c, l->block->tag, lifted_block(l));
    const ml_Stmt *both[2] = {sums, ml_index_node(c->p.index, top)};

    ml_call_replace(c, top, ml_seq(c->cx, both, 2));
    root = ml_block_add_alloc(c->cx, ml_call_block(c, scope), l->sums);
    ml_call_replace(c, scope, &root->base);
    ml_call_return_block(c, ml_as_block(in)->tag);
    return true;
}

/* What the block reads, once it reads nothing of what was signed. */
static bool reinfer(const Lift *l)
{
    ml_Call *c = l->c;
    const ml_Block *b =
        ml_block_reinfer(c->cx, ml_call_func(c), ml_call_block(c, l->block->tag));

    if (b)
        ml_call_replace(c, b->tag, &b->base);
    return b != NULL;
}

static bool lift_factor(ml_Call *c)
{
    Lift l = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};
    ml_Uid uid = l.block->tag, scope, site;
    ml_Retype r;

    if (!ml_check_not_root(c, uid))
        return false;
    scope = ml_index_scope(c->p.index, uid);
    l.signed_one = l.block->reads[c->args[BUFFER].i].buffer;
    site = ml_retype_site(c, l.signed_one, l.block);
    if (!site || !ml_check_pipeline(c, scope))
        return false;
    ml_Dtype t = l.signed_one->type;

    t.code = ML_UINT;
    l.lifted = ml_retype_begin(&r, c->cx, l.signed_one, t, encode, decode);
    if (!check_sum(&l) || !check_nest(&l, scope) || !ml_check_schedulable(c, scope, uid))
        return false;
    make_sums(&l);
    return install(&l, scope) && ml_retype_install(c, &r, site, l.signed_one, l.block) &&
           reinfer(&l);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that adds up products"),
    ML_PARAM_ATTR("buffer_index", ML_P_READ_BUFFER,
                  "which of its read buffers: int8 or int16, of which a block makes each "
                  "element"),
};

const ml_Primitive ml_prim_lift_factor = {
    ML_PRIM(lift_factor, "LiftFactor"),
    .group = "reductions",
    .summary = "make a signed factor of a sum of products unsigned",
    .help = "The buffer is stored with 128 added to each element (32768 of int16). A block "
            "before\n"
            "adds up the other factors, and the sum starts from what takes that off again. "
            "A\n"
            "parameter gets a copy first, by cache_read.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_BUFFER_NOT_ALLOCATED,
                               ML_E_NOT_SUPPORTED, ML_E_NOT_STAGE_PIPELINE,
                               ML_E_NO_SIGNED_FACTOR, ML_E_NOT_ONLY_CHILD, ML_E_NOT_AFFINE,
                               ML_E_NOT_SCHEDULABLE, ML_E_OPAQUE_ACCESS, ML_E_OK},
};
