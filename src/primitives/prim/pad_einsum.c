/*
 * pad_einsum - round the domains of a block's iters up to multiples.
 *
 * The block works on padded copies: inputs are copied before with zeros beside the old
 * elements, outputs are copied back after. Instances beside the old domain write beside the
 * old elements, or add nothing to them: a reduce iter is only padded when every addend is 0
 * where its operands are. Source: primitives 11, pad_einsum.
 */
#include "moonloop/primitives/layout/einsum.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"

enum { BLOCK, PADDING, MOST_REMAINDERS = 64 };

static bool no_einsum(const ml_Einsum *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool no_einsum(const ml_Einsum *e, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_fail(e->c->cx, ML_E_NOT_EINSUM, ML_BLOCK(e->block), ML_TEXT(ml_text_z(&t)));
    ml_text_free(&t);
    return false;
}

/* ---- the form */

int ml_einsum_iter(const ml_Block *b, const ml_Expr *e)
{
    for (uint32_t k = 0; e->kind == ML_EXPR_VAR && k < b->n_iters; k++)
        if (b->iters[k].var->uid == e->as.var->uid)
            return (int)k;
    return -1;
}

/* Whether padded instances read other elements than there are instances for today. */
static bool reads_more(const ml_Einsum *e, const ml_Expr *const *idx, size_t rank)
{
    for (size_t d = 0; d < rank; d++)
        for (uint32_t k = 0; k < e->block->n_iters; k++)
            if (e->changed[k] && ml_expr_uses_var(idx[d], e->block->iters[k].var))
                return true;
    return false;
}

/* Whether what is loaded at any index stays inside of its shape, under the choices around
 * it; iters are variables with the padded domains. *bad: a buffer that is left. */
static bool has_room(ml_Einsum *e, const ml_Expr *x, const ml_Buffer **bad)
{
    const ml_EinsumSide *s =
        x->kind == ML_EXPR_LOAD ? ml_einsum_side(e, x->as.buffer) : NULL;
    bool choice = ml_is_op(x, ML_OP_IF_THEN_ELSE), ok = true;
    bool more = s && s->stays && reads_more(e, s->idx, s->old->rank);

    for (size_t d = 0; more && d < s->old->rank; d++) {
        const ml_Expr *at = x->args[d],
                      *size = ml_cast(e->c->cx, at->type, s->old->shape[d]);
        if (!ml_prove_ge(e->ar, at, 0) || !ml_prove_lt_expr(e->ar, at, size)) {
            *bad = s->old;
            return false;
        }
    }
    for (size_t k = 0; k < x->n_args && ok; k++) {
        ml_ArithMark mark = ml_arith_save(e->ar);

        if (choice && k > 0)
            ml_arith_assume(e->ar, k == 1 ? x->args[0] : ml_not(e->c->cx, x->args[0]));
        ok = !(x->args[k]->flags & ML_X_HAS_LOAD) || has_room(e, x->args[k], bad);
        ml_arith_restore(e->ar, mark);
    }
    return ok;
}

/* The same for all instances: by the remainders of the iters, of what they are padded to a
 * multiple of, from the k-th on; left: so many remainders of all of them may be told apart. */
static bool all_have_room(ml_Einsum *e, const ml_Expr *x, uint32_t k, int64_t left,
                          const ml_Buffer **bad)
{
    ml_Ctx *cx = e->c->cx;
    const ml_Iter *it = &e->block->iters[k];
    const ml_Var *v;
    int64_t p;

    if (k == e->block->n_iters)
        return has_room(e, ml_simplify(e->ar, x), bad);
    if (!ml_expr_uses_var(x, it->var))
        return all_have_room(e, x, k + 1, left, bad);
    p = e->c->args[PADDING].value->as.list[k]->as.i;
    p = p <= left ? p : 1;
    v = ml_var_fresh(cx, it->var);
    ml_arith_bind_range(e->ar, v, it->min,
                        ml_simplify(e->ar, ml_floordiv(cx, e->extents[k],
                                                       ml_int(cx, it->extent->type, p))));
    for (int64_t c = 0; c < p; c++) {
        const ml_Expr *at = ml_add(cx, ml_mul(cx, ml_var(cx, v), ml_int(cx, v->type, p)),
                                   ml_int(cx, v->type, c));
        if (!all_have_room(e, ml_expr_subst1(cx, x, it->var, at), k + 1, left / p, bad))
            return false;
    }
    return true;
}

static bool is_plain(const ml_Einsum *e, const ml_Expr *at)
{
    return at->kind == ML_EXPR_INT || ml_einsum_iter(e->block, at) >= 0;
}

static bool add_side(ml_Einsum *e, const ml_Region *r, bool write)
{
    const ml_Buffer *buf = r->buffer;
    ml_EinsumSide s = {.old = buf, .write = write};
    size_t odd = buf->rank;

    for (size_t k = 0; k < e->sides.n; k++)
        if (e->sides.v[k].old->uid == buf->uid)
            return no_einsum(e, "it uses %s twice", ml_shown(e->c->cx, buf));
    s.idx = ML_ARRAY(e->c->cx, const ml_Expr *, buf->rank + 1u);
    for (size_t d = buf->rank; d-- > 0;) {
        s.idx[d] = r->ranges[d].min;
        if (!ml_is_int(r->ranges[d].extent, 1) || !is_plain(e, s.idx[d]))
            odd = d;
    }
    s.stays = odd < buf->rank && !write;
    for (size_t d = 0; d < buf->rank && s.stays; d++)
        s.stays = ml_is_int(r->ranges[d].extent, 1);
    if (odd < buf->rank && !s.stays)
        return no_einsum(e, "dimension %zu of %s is not indexed by an iter or a constant",
                         odd, ml_shown(e->c->cx, buf));
    for (size_t d = 0; d < buf->rank; d++)
        if (s.idx[d]->kind == ML_EXPR_INT &&
            (s.idx[d]->as.i < 0 || !ml_prove_lt_expr(e->ar, s.idx[d], buf->shape[d])))
            return no_einsum(e, "the constant index of dimension %zu of %s may be outside",
                             d, ml_shown(e->c->cx, buf));
    ml_push(e->c->cx, &e->sides, s);
    return true;
}

const ml_EinsumSide *ml_einsum_side(const ml_Einsum *e, const ml_Buffer *buf)
{
    for (size_t k = 0; k < e->sides.n; k++)
        if (e->sides.v[k].old->uid == buf->uid)
            return &e->sides.v[k];
    return NULL;
}

typedef struct Loads {
    const ml_Einsum *e;
    const ml_Expr *bad;
} Loads;

static bool is_at(const ml_EinsumSide *s, const ml_Expr *const *idx)
{
    for (size_t d = 0; s && d < s->old->rank; d++)
        if (idx[d] != s->idx[d])
            return false;
    return s != NULL;
}

/* Anything but loads at the indices of the regions, and arithmetic that cannot go wrong on
 * zeros. */
static bool find_bad(const ml_Expr *x, void *user)
{
    Loads *l = user;

    if (x->kind == ML_EXPR_LOAD && (ml_load_rank(x) < x->n_args ||
                                    !is_at(ml_einsum_side(l->e, x->as.buffer), x->args)))
        l->bad = x;
    if (ml_kind_divides(x->kind) && !ml_dtype_is_float(x->type) &&
        x->args[1]->kind != ML_EXPR_INT)
        l->bad = x;
    if (x->kind == ML_EXPR_LET ||
        (x->kind == ML_EXPR_CALL && ml_expr_effect(x) > ML_EFFECT_READ))
        l->bad = x;
    return !l->bad;
}

static bool check_store(ml_Einsum *e, const ml_Stmt *s)
{
    ml_Ctx *cx = e->c->cx;
    Loads l = {e, NULL};
    const ml_Buffer *bad = NULL;
    bool any = false; /* read as it lies */

    if (s->kind == ML_STMT_SEQ) {
        for (uint32_t k = 0; k < ml_as_seq(s)->n; k++)
            if (!check_store(e, ml_as_seq(s)->stmts[k]))
                return false;
        return true;
    }
    if (s->kind != ML_STMT_STORE || ml_as_store(s)->mask)
        return no_einsum(e, "its body is more than stores");
    const ml_Store *st = ml_as_store(s);
    const ml_EinsumSide *to = ml_einsum_side(e, st->buffer);

    if (!is_at(to, st->indices))
        return no_einsum(e, "it stores to %s elsewhere", ml_shown(e->c->cx, st->buffer));
    ml_expr_visit(st->value, find_bad, &l);
    if (l.bad)
        return no_einsum(e, "what it stores to %s is more than arithmetic of its elements",
                         ml_shown(cx, st->buffer));
    for (size_t k = 0; k < e->sides.n; k++)
        any |= e->sides.v[k].stays;
    return !any || all_have_room(e, st->value, 0, MOST_REMAINDERS, &bad) ||
           no_einsum(e,
                     "%s is not indexed by iters and constants alone, and has no elements "
                     "for the padded domain",
                     ml_shown(cx, bad));
}

static bool check_form(ml_Einsum *e)
{
    const ml_Block *b = e->block;
    ml_ArithMark mark = ml_arith_save(e->ar);
    bool ok;

    if (b->n_allocs || b->n_matches)
        return no_einsum(e, "it has buffers of its own");
    if (!ml_is_true(b->predicate))
        return no_einsum(e, "it has a predicate");
    for (uint32_t k = 0; k < b->n_reads; k++)
        if (!add_side(e, &b->reads[k], false))
            return false;
    for (uint32_t k = 0; k < b->n_writes; k++)
        if (!add_side(e, &b->writes[k], true))
            return false;
    ok = check_store(e, b->body) && (!b->init || check_store(e, b->init));
    ml_arith_restore(e->ar, mark);
    return ok;
}

/* ---- the iters */

static bool check_padding(ml_Einsum *e)
{
    ml_Ctx *cx = e->c->cx;
    const ml_Value *list = e->c->args[PADDING].value;
    const ml_Block *b = e->block;

    if (list->n != b->n_iters)
        return ml_fail_as(
            cx, ML_E_BAD_ARGUMENT, "padding has {0} entries, block {1} has {2} iters",
            ML_NUMBER("entries", list->n), ML_BLOCK(b), ML_NUMBER("iters", b->n_iters));
    e->extents = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    e->changed = ML_ARRAY(cx, bool, b->n_iters + 1u);
    e->loop_of = ML_ARRAY(cx, const ml_For *, b->n_iters + 1u);
    for (uint32_t k = 0; k < b->n_iters; k++) {
        int64_t p = list->as.list[k]->as.i;
        const ml_Iter *it = &b->iters[k];
        const ml_Expr *f, *up;

        if (p <= 0 || !ml_dtype_fits(it->extent->type, p))
            return ml_fail_as(
                cx, ML_E_BAD_ARGUMENT, "padding of iter {0} is {1}, it must be positive",
                ML_VARIABLE(it->var), ML_NUMBER("padding", (long long)p), ML_BLOCK(b));
        f = ml_int(cx, it->extent->type, p);
        up = ml_add(cx, it->extent, ml_int(cx, it->extent->type, p - 1));
        e->extents[k] = ml_simplify(e->ar, ml_mul(cx, ml_floordiv(cx, up, f), f));
        e->changed[k] = !ml_prove_equal(e->ar, e->extents[k], it->extent);
        if (!e->changed[k])
            e->extents[k] = it->extent;
    }
    return ml_ok_or_fail(cx);
}

static bool not_trivial(const ml_Einsum *e)
{
    return ml_fail(e->c->cx, ML_E_NOT_TRIVIAL_BINDING, ML_BLOCK(e->block));
}

/* The loop of a padded iter drives nothing else, and holds nothing but the block. */
static bool check_loop(ml_Einsum *e, uint32_t k)
{
    ml_Ctx *cx = e->c->cx;
    const ml_Block *b = e->block;
    const ml_Expr *value = b->iters[k].value;
    size_t at = 0;

    while (at < e->loops.n && (value->kind != ML_EXPR_VAR ||
                               ml_as_for(e->loops.v[at])->var->uid != value->as.var->uid))
        at++;
    if (at == e->loops.n)
        return not_trivial(e);
    const ml_For *f = ml_as_for(e->loops.v[at]);

    if (!ml_is_int(f->min, 0) || !ml_prove_equal(e->ar, f->extent, b->iters[k].extent))
        return not_trivial(e);
    for (uint32_t m = 0; m < b->n_iters; m++)
        if (m != k && ml_expr_uses_var(b->iters[m].value, f->var))
            return not_trivial(e);
    if (f->kind == ML_FOR_THREAD)
        return ml_fail_as(cx, ML_E_LOOP_ANNOTATED, "loop {0} has a thread binding, {1}",
                          ML_LOOP(f), ML_TEXT(f->thread.name));
    if (f->step && !ml_is_int(f->step, 1))
        return ml_fail(cx, ML_E_LOOP_STEP, ML_LOOP(f), ML_EXPRESSION(f->step));
    for (size_t m = at; m < e->loops.n; m++) {
        const ml_For *in = ml_as_for(e->loops.v[m]);
        const ml_Stmt *below = m + 1 < e->loops.n ? e->loops.v[m + 1] : &b->base;

        if (in->body != below)
            return ml_fail_not_only_child(e->c, below, in);
        if (m > at &&
            (ml_expr_uses_var(in->min, f->var) || ml_expr_uses_var(in->extent, f->var)))
            return ml_fail(cx, ML_E_LOOP_DEPENDENT, ML_LOOP(in), ML_LOOP(f));
    }
    e->loop_of[k] = f;
    return true;
}

/* ---- what padded instances do */

/* Whether the expression is 0 where iter r is beside its old domain. */
static bool is_zero(const ml_Einsum *e, const ml_Expr *x, uint32_t r);

/* Whether 0 times it is 0. */
static bool is_finite(const ml_Einsum *e, const ml_Expr *x, uint32_t r)
{
    if (!ml_dtype_is_float(x->type))
        return true;
    if (x->kind == ML_EXPR_FLOAT)
        return x->as.f - x->as.f == 0.0;
    if (x->kind == ML_EXPR_CAST && ml_dtype_is_int(x->args[0]->type))
        return true;
    return is_zero(e, x, r);
}

static bool is_zero(const ml_Einsum *e, const ml_Expr *x, uint32_t r)
{
    switch ((int)x->kind) {
    case ML_EXPR_INT: return x->as.i == 0;
    case ML_EXPR_FLOAT: return x->as.f == 0.0;
    case ML_EXPR_CAST: return is_zero(e, x->args[0], r);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: return is_zero(e, x->args[0], r) && is_zero(e, x->args[1], r);
    case ML_EXPR_MUL:
        return (is_zero(e, x->args[0], r) && is_finite(e, x->args[1], r)) ||
               (is_zero(e, x->args[1], r) && is_finite(e, x->args[0], r));
    case ML_EXPR_LOAD: {
        const ml_EinsumSide *s = ml_einsum_side(e, x->as.buffer);

        for (size_t d = 0; !s->write && !s->stays && d < s->old->rank; d++)
            if (ml_einsum_iter(e->block, s->idx[d]) == (int)r)
                return true;
        return false;
    }
    }
    return false;
}

static bool is_own_load(const ml_Expr *x, const ml_Store *st)
{
    return x->kind == ML_EXPR_LOAD && x->as.buffer->uid == st->buffer->uid;
}

static bool adds_zero(const ml_Einsum *e, const ml_Stmt *s, uint32_t r)
{
    if (s->kind == ML_STMT_SEQ) {
        for (uint32_t k = 0; k < ml_as_seq(s)->n; k++)
            if (!adds_zero(e, ml_as_seq(s)->stmts[k], r))
                return false;
        return true;
    }
    const ml_Store *st = ml_as_store(s);
    const ml_Expr *v = st->value;

    return v->kind == ML_EXPR_ADD &&
           ((is_own_load(v->args[0], st) && is_zero(e, v->args[1], r)) ||
            (is_own_load(v->args[1], st) && is_zero(e, v->args[0], r)));
}

static bool unpadded(const ml_Einsum *e, uint32_t k, const char *why)
{
    return ml_fail(e->c->cx, ML_E_PADDING_USED, ML_ITER(e->block, k), ML_BLOCK(e->block),
                   ML_TEXT(why));
}

static bool check_iter(ml_Einsum *e, uint32_t k)
{
    const ml_Block *b = e->block;

    if (!check_loop(e, k))
        return false;
    if (b->iters[k].kind == ML_ITER_REDUCE)
        return adds_zero(e, b->body, k) ||
               unpadded(
                   e, k,
                   "its instances must add a product of what it indexes, which is 0 for "
                   "zeros");
    if (b->iters[k].kind != ML_ITER_SPATIAL)
        return unpadded(e, k, "it is neither spatial nor reduce");
    for (size_t s = 0; s < e->sides.n; s++) {
        const ml_EinsumSide *w = &e->sides.v[s];
        bool found = !w->write;

        for (size_t d = 0; d < w->old->rank && !found; d++)
            found = ml_einsum_iter(b, w->idx[d]) == (int)k;
        if (!found)
            return ml_fail_as(e->c->cx, ML_E_PADDING_USED,
                              "iter {0} of block {1} cannot be padded: its instances write "
                              "the same element of {2}",
                              ML_ITER(b, k), ML_BLOCK(b), ML_BUFFER(w->old));
    }
    return true;
}

/* A padded output is copied back over the domain of its iters: all of it must be written,
 * each iter once. */
static bool check_output(const ml_Einsum *e, const ml_EinsumSide *s, const ml_Interval *run)
{
    ml_Ctx *cx = e->c->cx;
    const ml_Block *b = e->block;
    uint64_t seen = 0;

    for (size_t d = 0; d < s->old->rank; d++) {
        int k = ml_einsum_iter(b, s->idx[d]);
        const ml_Expr *last;

        if (k < 0)
            continue;
        if (k >= 64 || (seen & (1ull << k)))
            return no_einsum(e, "%s is indexed by %s twice", ml_shown(e->c->cx, s->old),
                             b->iters[k].var->hint);
        seen |= 1ull << k;
        if (e->changed[k])
            continue;
        last = ml_sub(cx, b->iters[k].extent, ml_int(cx, b->iters[k].extent->type, 1));
        if (!ml_prove_equal(e->ar, run[k].min, b->iters[k].min) ||
            !ml_prove_equal(e->ar, run[k].max, last))
            return unpadded(e, (uint32_t)k, "the loops do not run over all of its domain");
    }
    return true;
}

/* Copies stand before and behind the block's statement: what goes between blocks must not
 * go on inside of it. */
static bool check_place(const ml_Einsum *e, const ml_EinsumSide *s)
{
    ml_Call *c = e->c;
    ml_Ctx *cx = c->cx;
    ml_StmtVec inside = {0};

    ml_child_blocks(cx, e->top, &inside);
    for (size_t k = 0; k < inside.n; k++) {
        const ml_Block *o = ml_as_block(inside.v[k]);

        if (o->tag == e->block->tag)
            continue;
        if (ml_write_of(o, s->old) || (s->write && ml_read_of(o, s->old)))
            return ml_fail_as(cx, ML_E_USED_ELSEWHERE,
                              "block {0} uses {1} under the loops of block {2}; the copy "
                              "would stand outside of them",
                              ML_BLOCK(o), ML_BUFFER(s->old), ML_BLOCK(e->block));
    }
    return true;
}

bool ml_einsum_is_padded(const ml_Einsum *e, const ml_EinsumSide *s)
{
    for (size_t d = 0; d < s->old->rank && !s->stays; d++) {
        int k = ml_einsum_iter(e->block, s->idx[d]);

        if (k >= 0 && e->changed[k])
            return true;
    }
    return false;
}

static bool check(ml_Einsum *e)
{
    ml_Call *c = e->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = e->block;
    ml_Interval *run = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);
    const char *why = NULL;

    for (uint32_t k = 0; k < b->n_iters; k++) {
        if (!ml_is_int(b->iters[k].min, 0))
            return no_einsum(e, "iter %s does not start at 0", b->iters[k].var->hint);
        if (e->changed[k] && !check_iter(e, k))
            return false;
    }
    if (!ml_is_affine(cx, c->facts, c->p, b->tag, &why))
        return ml_fail(cx, ML_E_NOT_AFFINE, ML_BLOCK(b), ML_TEXT(why ? why : "?"));
    if (!ml_check_schedulable(c, e->scope, b->tag))
        return false;
    bool known = ml_executed_domains(c, b, run);

    for (size_t k = 0; k < e->sides.n; k++) {
        const ml_EinsumSide *s = &e->sides.v[k];

        if (!ml_einsum_is_padded(e, s))
            continue;
        if (s->write && !known)
            return not_trivial(e);
        if ((s->write && !check_output(e, s, run)) || !check_place(e, s))
            return false;
    }
    return true;
}

/* The statement of the scope's body that holds the block. */
static const ml_Stmt *find_top(const ml_Einsum *e, const ml_Block *root)
{
    const ml_Stmt *in = e->loops.n > 0 ? e->loops.v[0] : &e->block->base;

    if (root->body->kind != ML_STMT_SEQ)
        return root->body;
    for (uint32_t k = 0; k < ml_as_seq(root->body)->n; k++)
        if (ml_as_seq(root->body)->stmts[k] == in)
            return in;
    return NULL;
}

static bool pad_einsum(ml_Call *c)
{
    ml_Einsum e = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};
    ml_Uid uid = e.block->tag;
    bool any = false;

    if (!ml_check_not_root(c, uid))
        return false;
    e.scope = ml_index_scope(c->p.index, uid);
    if (!ml_check_pipeline(c, e.scope))
        return false;
    e.ar = ml_arith_at(c->cx, c->p, uid);
    ml_index_loops(c->cx, c->p.index, uid, &e.loops);
    if (!check_padding(&e) || !check_form(&e))
        return false;
    for (uint32_t k = 0; k < e.block->n_iters; k++)
        any |= e.changed[k];
    if (!any)
        return true;
    if (!ml_check_schedulable(c, e.scope, uid))
        return false;
    e.top = find_top(&e, ml_call_block(c, e.scope));
    ML_ASSERT(e.top); /* nothing but loops stands between the scope and the block */
    if (!check(&e))
        return false;
    ml_StmtVec blocks = {0};
    ml_Uid last = ml_fresh_uid(c->cx);

    if (!ml_einsum_install(&e))
        return false;
    ml_child_blocks(c->cx, ml_index_node(c->p.index, e.scope), &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        if (ml_stmt_uid(blocks.v[k]) > last)
            ml_call_subject(c, ML_COPY_OF, ml_stmt_uid(blocks.v[k]), NULL);
    ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    return true;
}

static const ml_Post posts[] = {
    {ML_SOUND, ML_COPY_OF, ml_check_stays_declared, NULL},
    /* Added instances read further in what is not copied. */
    {ML_SOUND, ML_BLOCK_OF, ml_check_stays_declared, NULL},
    /* A copy behind the loops ends what each iteration had of its own. */
    {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
    /* What stays is read by more instances. */
    {ML_SOUND, ML_BLOCK_OF, ml_check_produced, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block, with iters and constants for indices"),
    ML_PARAM_ATTR("padding", ML_P_INTS, "for each iter: its extent becomes a multiple"),
};

const ml_Primitive ml_prim_pad_einsum = {
    ML_PRIM(pad_einsum, "PadEinsum"),
    .group = "layout",
    .summary = "round the extents of a block's iters up to multiples",
    .help =
        "Inputs are copied with zeros beside them, outputs are copied back. Reduce iters "
        "can\n"
        "be padded where the block adds up products. A buffer that is read at other\n"
        "indices stays, where it has elements for the padded domain.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NOT_STAGE_PIPELINE, ML_E_BAD_ARGUMENT,
                               ML_E_NOT_EINSUM, ML_E_NOT_TRIVIAL_BINDING,
                               ML_E_LOOP_ANNOTATED, ML_E_LOOP_STEP, ML_E_NOT_ONLY_CHILD,
                               ML_E_LOOP_DEPENDENT, ML_E_NOT_AFFINE, ML_E_NOT_SCHEDULABLE,
                               ML_E_WOULD_RACE, ML_E_REGION_UNDECLARED, ML_E_USED_ELSEWHERE,
                               ML_E_PADDING_USED, ML_E_NOT_REGION_COVERED, ML_E_OK},
};
