/*
 * reverse_compute_inline - fold a consumer into its single producer.
 *
 * The producer stores what the consumer would have stored, at the consumer's place for the
 * element at hand: the consumer's iters are solved from the producer's store indices. An
 * element that no instance of the consumer reads is cut off by a predicate: the solved
 * iters must lie in their domains and lead back to the same element. A producer that
 * reduces over nothing stores what its body makes of its init. Source: primitives 7.
 */
#include "moonloop/primitives/rewrite/inline.h"
#include "moonloop/primitives/rewrite/keep_order.h"

#include "moonloop/core/base/fault.h"

enum { BLOCK };

typedef struct Fold {
    ml_Call *c;
    const ml_Block *consumer, *producer;
    const ml_Buffer *buf;
    const ml_Store *use;         /* the consumer's store */
    const ml_Store *def;         /* the producer's store */
    const ml_Expr *cond;         /* of `if c: store`, or NULL */
    ml_StmtVec nest;             /* loops of a copy nest around it, outermost first */
    const ml_Expr *const *index; /* at which the consumer loads the buffer */
    bool differ;
    const ml_Store *start; /* the producer's init, or NULL */
    const ml_Expr *value;  /* what the producer stores */
    ml_Map *inverse;       /* consumer iter -> expression over the producer's iters */
} Fold;

/* ---- who is folded into whom */

/* A block that read_at or write_at made: its body is a nest that copies. */
static bool is_auto_copy(const ml_Block *b)
{
    const ml_Value *v = b->annotations ? ml_dict_get(b->annotations, "auto_copy") : NULL;

    return v && (v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT) && v->as.i != 0;
}

static bool find_buffer(Fold *f, ml_Uid scope)
{
    ml_Call *c = f->c;
    ml_UidVec writers = {0}, readers = {0};
    size_t n = 0;

    for (size_t k = 0; k < f->consumer->n_reads; k++) {
        const ml_Buffer *b = f->consumer->reads[k].buffer;

        writers.n = 0;
        ml_writers(c->cx, c->facts, c->p, scope, b, &writers);
        if (writers.n > 0 && (!f->buf || f->buf->uid != b->uid)) {
            f->buf = b;
            n++;
        }
    }
    if (n != 1)
        return ml_fail(c->cx, ML_E_NOT_SINGLE_READ, ML_BLOCK(f->consumer),
                       ML_NUMBER("produced", n));
    writers.n = 0;
    ml_writers(c->cx, c->facts, c->p, scope, f->buf, &writers);
    if (writers.n != 1)
        return ml_fail_as(c->cx, ML_E_NOT_SINGLE_PRODUCER, "{0} blocks write {1}",
                          ML_NUMBER("writers", writers.n), ML_BUFFER(f->buf),
                          ML_BLOCK(f->consumer));
    ml_readers(c->cx, c->facts, c->p, scope, f->buf, &readers);
    for (size_t k = 0; k < readers.n; k++)
        if (readers.v[k] != f->consumer->tag)
            return ml_fail_as(c->cx, ML_E_NOT_SINGLE_PRODUCER, "block {0} reads {1} too",
                              ML_BLOCK(ml_call_block(c, readers.v[k])), ML_BUFFER(f->buf),
                              ML_BLOCK(f->consumer));
    f->producer = ml_call_block(c, writers.v[0]);
    return true;
}

/* A reduction of one term is no reduction: the first instance is the last. */
static bool reduces_once(const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind != ML_ITER_SPATIAL && !ml_is_int(b->iters[k].extent, 1))
            return false;
    return b->init != NULL;
}

/* The init is one store of the element that the body stores. */
static bool check_start(Fold *f)
{
    const ml_Stmt *init = f->producer->init;
    bool same = init->kind == ML_STMT_STORE && !f->cond && f->nest.n == 0;

    f->start = same ? ml_as_store(init) : NULL;
    same = same && !f->start->mask && f->start->buffer->uid == f->buf->uid;
    for (size_t d = 0; same && d < f->def->n; d++)
        same = f->start->indices[d] == f->def->indices[d];
    return same || ml_fail(f->c->cx, ML_E_INLINE_PATTERN, ML_BLOCK(f->producer),
                           ML_TEXT("its init is not one store of what its body stores"));
}

static bool check_producer(Fold *f)
{
    ml_Call *c = f->c;
    const ml_Block *p = f->producer;
    const ml_Buffer *out = NULL;
    const char *why = NULL;
    ml_StmtVec inner = {0};

    ML_ASSERT(p);
    ml_child_blocks(c->cx, &p->base, &inner);
    if (inner.n > 0)
        return ml_fail_as(c->cx, ML_E_NOT_SINGLE_PRODUCER,
                          "block {0}, which writes {1}, contains blocks", ML_BLOCK(p),
                          ML_BUFFER(f->buf));
    if (!ML_PROVE(c, ML_SOUND,
                  ml_complete_violation(c->cx, c->facts, c->p, p->tag, &why) == 0 ||
                      (reduces_once(p) &&
                       ml_reduction_violation(c->cx, c->facts, c->p, p->tag, NULL) == 0)))
        return ml_fail_as(c->cx, ML_E_NOT_SINGLE_PRODUCER,
                          "block {0}, which writes {1}, is not complete: {2}", ML_BLOCK(p),
                          ML_BUFFER(f->buf), ML_TEXT(why ? why : "?"));
    if (ml_is_output_block(c->p, p->tag, &out))
        return ml_fail(c->cx, ML_E_OUTPUT_BLOCK, ML_BLOCK(p), ML_BUFFER(out));
    const ml_Stmt *body = p->body;

    while (is_auto_copy(p) && body->kind == ML_STMT_FOR) {
        ml_push(c->cx, &f->nest, body);
        body = ml_as_for(body)->body;
    }
    if (body->kind == ML_STMT_IF && !ml_as_if(body)->other) {
        f->cond = ml_as_if(body)->cond;
        body = ml_as_if(body)->then;
    }
    if (body->kind != ML_STMT_STORE || p->n_matches || p->n_allocs ||
        ml_as_store(body)->mask || ml_as_store(body)->buffer->uid != f->buf->uid)
        return ml_fail(
            c->cx, ML_E_INLINE_PATTERN, ML_BLOCK(p),
            ML_TEXT("the body of the producer is not one store, an if around one, or a "
                    "copy nest annotated auto_copy"));
    f->def = ml_as_store(body);
    return !p->init || check_start(f);
}

/* ---- pattern of the consumer */

static bool find_load(const ml_Expr *e, void *user)
{
    Fold *f = user;

    if (e->kind != ML_EXPR_LOAD || e->as.buffer->uid != f->buf->uid)
        return true;
    if ((e->flags & ML_X_MASKED) != 0)
        f->differ = true;
    for (size_t d = 0; d < ml_load_rank(e); d++) {
        if (e->args[d]->type.lanes != 1)
            f->differ = true;
        if (f->index && f->index[d] != e->args[d])
            f->differ = true;
    }
    if (!f->index)
        f->index = e->args;
    return true;
}

static bool check_consumer(Fold *f)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Block *b = f->consumer;

    if (!ml_is_true(b->predicate))
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b), ML_TEXT("it has a predicate"),
                       ML_EXPRESSION(b->predicate));
    f->use = ml_single_store(b);
    if (!f->use || f->use->mask || b->n_matches || b->n_allocs)
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b),
                       ML_TEXT("its body is not one store"));
    ml_expr_visit(f->use->value, find_load, f);
    for (size_t k = 0; k < f->use->n; k++)
        ml_expr_visit(f->use->indices[k], find_load, f);
    if (!f->index || f->differ)
        return ml_fail_as(
            cx, ML_E_INLINE_PATTERN,
            f->index ? "block {0} cannot be inlined: it loads {1} at different indices"
                     : "block {0} cannot be inlined: it does not load {1}",
            ML_BLOCK(b), ML_BUFFER(f->buf));
    return true;
}

/* Every instance of the consumer reads an element that there is: one that reads none
 * (padding by if_then_else) would not be stored by any instance of the producer. */
static bool check_inside(Fold *f, ml_Arith *ar)
{
    ml_Ctx *cx = f->c->cx;

    if (ml_is_empty_block(f->consumer))
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(f->consumer),
                       ML_TEXT("its domain is empty: there is nothing to move"));
    for (size_t d = 0; d < f->buf->rank; d++) {
        const ml_Expr *at = f->index[d], *dim = f->buf->shape[d];

        if (!ml_promote(cx, &at, &dim))
            return false;
        if (!ml_prove_symbolic(ar, ml_ge(cx, at, ml_int(cx, at->type, 0))) ||
            !ml_prove_symbolic(ar, ml_lt(cx, at, dim)))
            return ml_fail_as(cx, ML_E_INLINE_PATTERN,
                              "block {0} cannot be inlined: some of its instances read "
                              "outside of {2} and would be lost",
                              ML_BLOCK(f->consumer), ML_EXPRESSION(f->index[d]),
                              ML_BUFFER(f->buf));
    }
    return true;
}

/* Each iter of the consumer from the indices at which the producer stores. */
static bool solve(Fold *f)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Block *b = f->consumer;
    ml_DomVec dom = {0};
    ml_Arith *ar = ml_arith_at(cx, f->c->p, b->tag);

    for (size_t k = 0; k < b->n_iters; k++)
        ml_push(cx, &dom, ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    ml_IterMap m = ml_iter_detect(ar, f->index, f->buf->rank, dom.v, dom.n,
                                  ml_bool(cx, true), ML_NO_CHECK, true);

    ML_ASSERT(f->index && f->def);
    f->inverse = ml_map_new(cx);
    ml_arith_bind_iters(ar, b);
    if (!ML_PROVE(f->c, ML_SOUND, check_inside(f, ar)))
        return false;
    if (!m.ok)
        return ml_fail_as(cx, ML_E_INLINE_PATTERN,
                          "block {0} cannot be inlined: the indices of its load are no "
                          "affine map of its iters ({2})",
                          ML_BLOCK(b), ML_EXPRESSION(m.at ? m.at : f->index[0]),
                          ML_TEXT(ml_iter_fail_text(m.fail)));
    if (!ml_iter_inverse(ar, &m, f->def->indices, f->inverse))
        return ml_fail(cx, ML_E_INLINE_PATTERN, ML_BLOCK(b),
                       ML_TEXT("the indices of its load cannot be inverted"));
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        if (ml_map_has(f->inverse, it->var->uid) && !ml_is_int(it->extent, 1))
            continue;
        if (!ml_is_int(it->extent, 1))
            return ml_fail_as(cx, ML_E_INLINE_PATTERN,
                              "block {0} cannot be inlined: iter {2} is not determined by "
                              "the element that is read",
                              ML_BLOCK(b), ML_ITER(b, k), ML_VARIABLE(it->var));
        ml_map_set(cx, f->inverse, it->var->uid, it->min);
    }
    return true;
}

/* ---- the new producer */

static const ml_Expr *replace_load(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Fold *f = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == f->buf->uid)
        return f->value;
    return ml_expr_map_args(cx, e, replace_load, user);
}

/* What the consumer leaves out of an output stays left out. */
static bool check_instances(Fold *f)
{
    ml_Ctx *cx = f->c->cx;
    ml_Interval *ran = ML_ARRAY(cx, ml_Interval, f->consumer->n_iters + 1u);

    if (!ml_call_asks(f->c, ML_SOUND) ||
        !ml_is_output_block(f->c->p, f->consumer->tag, NULL) ||
        ml_executed_domains(f->c, f->consumer, ran))
        return true;
    return ml_unproved(cx, ML_E_INSTANCES_LOST,
                       "the loops of block {0} run all of its instances; all that block "
                       "{1} produces would be stored",
                       ML_BLOCK(f->consumer), ML_BLOCK(f->producer));
}

/* Which elements the consumer uses: over the producer's iters. */
static const ml_Expr *used(Fold *f, ml_Arith *ar, const ml_Subst *sub)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Expr *p = ml_bool(cx, true);
    ml_Interval *ran = ML_ARRAY(cx, ml_Interval, f->consumer->n_iters + 1u);

    /* A piece of a partitioned loop runs a part of its domain. */
    (void)ml_executed_domains(f->c, f->consumer, ran);
    for (size_t k = 0; k < f->consumer->n_iters; k++) {
        const ml_Iter *it = &f->consumer->iters[k];
        const ml_Expr *v = ml_expr_subst(cx, ml_var(cx, it->var), sub);
        const ml_Expr *end = ml_add(cx, it->min, it->extent);
        const ml_Expr *lo = ran[k].min, *hi = ran[k].max, *a = v, *b = v;

        p = ml_and(cx, p, ml_and(cx, ml_ge(cx, v, it->min), ml_lt(cx, v, end)));
        if (lo && !ran[k].nothing && ml_promote(cx, &lo, &a))
            p = ml_and(cx, p, ml_ge(cx, a, lo));
        if (hi && !ran[k].nothing && ml_promote(cx, &hi, &b))
            p = ml_and(
                cx, p,
                ml_lt(cx, b, ml_simplify(ar, ml_add(cx, hi, ml_int(cx, hi->type, 1)))));
    }
    for (size_t d = 0; d < f->buf->rank; d++) {
        const ml_Expr *back = ml_expr_subst(cx, f->index[d], sub), *at = f->def->indices[d];

        if (ml_promote(cx, &back, &at) && !ml_prove_equal(ar, back, at))
            p = ml_and(cx, p, ml_eq(cx, back, at));
    }
    return ml_simplify(ar, p);
}

static bool has_conjunct(const ml_Expr *p, const ml_Expr *q)
{
    if (p == q)
        return true;
    return p->kind == ML_EXPR_AND &&
           (has_conjunct(p->args[0], q) || has_conjunct(p->args[1], q));
}

/* p and q, without what p says already. */
static const ml_Expr *conjoin(ml_Ctx *cx, const ml_Expr *p, const ml_Expr *q)
{
    if (q->kind == ML_EXPR_AND)
        return conjoin(cx, conjoin(cx, p, q->args[0]), q->args[1]);
    return has_conjunct(p, q) ? p : ml_and(cx, p, q);
}

static bool uses_nest(const Fold *f, const ml_Expr *e)
{
    for (size_t k = 0; k < f->nest.n; k++)
        if (ml_expr_uses_var(e, ml_as_for(f->nest.v[k])->var))
            return true;
    return false;
}

/* The conjuncts that the loops of the nest decide stay with the store (`inside`). */
static const ml_Expr *part(const Fold *f, const ml_Expr *e, bool inside)
{
    ml_Ctx *cx = f->c->cx;

    if (e->kind == ML_EXPR_AND)
        return ml_and(cx, part(f, e->args[0], inside), part(f, e->args[1], inside));
    return uses_nest(f, e) == inside ? e : ml_bool(cx, true);
}

static const ml_Iter *all_spatial(ml_Ctx *cx, const ml_Block *b)
{
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1u);

    for (size_t k = 0; k < b->n_iters; k++) {
        iters[k] = b->iters[k];
        iters[k].kind = ML_ITER_SPATIAL;
    }
    return iters;
}

static const ml_Stmt *folded(Fold *f)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Block *p = f->producer, *b = f->consumer;
    ml_Arith *ar = ml_arith_at(cx, f->c->p, p->tag);
    ml_Subst sub = {0}, bind = {0};
    ml_UidVec untold = {0};

    ML_ASSERT(f->use);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, f->use->n);

    ml_arith_bind_within(ar, p);
    for (size_t k = 0; k < f->nest.n; k++)
        ml_arith_bind_loop(ar, ml_as_for(f->nest.v[k]));
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Var *v = b->iters[k].var;
        const ml_Expr *to = ml_map_get(f->inverse, v->uid);

        ml_subst_var(cx, &sub, v, ml_cast(cx, v->type, ml_simplify(ar, to)));
    }
    for (size_t k = 0; k < p->n_iters; k++)
        ml_subst_var(cx, &bind, p->iters[k].var, p->iters[k].value);

    f->value = f->def->value;
    if (f->start) { /* what the body adds to */
        f->value = f->start->value;
        f->value = replace_load(cx, f->def->value, f);
    }
    /* The load first: its indices are in the consumer's iters. */
    const ml_Expr *value = ml_expr_subst(cx, replace_load(cx, f->use->value, f), &sub);

    for (size_t k = 0; k < f->use->n; k++)
        idx[k] = ml_simplify(
            ar, ml_expr_subst(cx, replace_load(cx, f->use->indices[k], f), &sub));
    const ml_Expr *all = used(f, ar, &sub);
    const ml_Expr *here = part(f, all, true);
    const ml_Expr *keep = ml_expr_subst(cx, part(f, all, false), &bind);
    ml_Block nb = *p;

    nb.body = ml_store(cx, f->use->buffer, value, idx, f->use->n, NULL);
    nb.init = NULL;
    if (p->init)
        nb.iters = all_spatial(cx, p);
    if (!ml_is_true(keep) && !ML_FAULT(INLINE_PREDICATE))
        nb.predicate = conjoin(cx, p->predicate, keep);
    if (f->cond && (f->nest.n || (f->cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0))
        nb.body = ml_if(cx, f->cond, nb.body, NULL);
    else if (f->cond)
        nb.predicate = conjoin(cx, nb.predicate, ml_expr_subst(cx, f->cond, &bind));
    if (!ml_is_true(here))
        nb.body = ml_if(cx, here, nb.body, NULL);
    for (size_t k = f->nest.n; k-- > 0;) {
        ml_For loop = *ml_as_for(f->nest.v[k]);

        loop.body = nb.body;
        nb.body = ml_for_from(cx, &loop);
    }
    ml_untold_loads(cx, f->use->value, &untold); /* what the consumer reads beside it */
    const ml_Block *r = ml_block_reinfer_with(cx, ml_call_func(f->c),
                                              ml_as_block(ml_block_from(cx, &nb)), &untold);

    return r ? &r->base : NULL;
}

static bool reverse_compute_inline(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid block = c->args[BLOCK].uid;
    ml_Removal removal;

    if (!ml_check_not_root(c, block))
        return false;
    Fold f = {.c = c, .consumer = ml_call_block(c, block)};
    ml_Uid scope = ml_index_scope(c->p.index, block);

    if (f.consumer->init)
        return ml_fail(cx, ML_E_HAS_INIT, ML_BLOCK(f.consumer));
    if (!ml_check_pipeline(c, scope))
        return false;
    if (!find_buffer(&f, scope))
        return false;
    if (!ML_PROVE(c, ML_SOUND, ml_need_complete(cx, c->facts, c->p, block)))
        return false;
    if (!check_producer(&f) || !check_consumer(&f) || !solve(&f) || !check_instances(&f) ||
        !ml_leaf_removal(c, block, &removal))
        return false;
    const ml_Block *opaque = ml_opaque_user(cx, ml_call_block(c, scope)->body, f.buf);

    if (opaque)
        return ml_fail_opaque(c, f.buf, opaque);
    ml_Uid lca = ml_index_lca(c->p.index, block, f.producer->tag);

    if (!ml_check_schedulable(c, lca, block) ||
        !ml_check_schedulable(c, lca, f.producer->tag))
        return false;
    /* Its instances will run as the producer's, by elements of the buffer. */
    if (!ML_PROVE(c, ML_SOUND, ml_check_place_order(c, f.consumer, f.buf, f.index)))
        return false;
    ml_UidVec producers = {0};

    ml_producers(cx, c->facts, c->p, f.producer->tag, &producers);
    const ml_Stmt *st = folded(&f);

    if (!st || !ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, removal.uid, removal.with);
    ml_call_replace(c, f.producer->tag, st);
    ml_inline_finish(c, scope, f.buf);
    ml_call_subjects(c, ML_PRODUCER_OF, &producers, NULL);
    ml_call_subject(c, ML_BLOCK_OF, f.producer->tag, NULL);
    ml_name_readers(c, f.producer->tag, f.buf);
    return ml_ok_or_fail(cx) &&
           ML_PROVE(c, ML_SOUND,
                    ml_check_place_order(c, ml_call_block(c, f.producer->tag), f.buf,
                                         f.def->indices));
}

static void suggest_reverse_compute_inline(ml_Schedule *s, const ml_Given *args,
                                           const ml_Error *e, ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    ml_UidVec rel = {0};
    ml_StmtVec loops = {0};

    if (e->code == ML_E_ROOT_BLOCK || ml_index_parent(p.index, args[BLOCK].uid) == 0)
        return;
    ml_try(t, NULL, "compute_inline(\"%s\")", ml_name_of(s, args[BLOCK].uid));
    ml_producers(cx, ml_schedule_facts(s), p, args[BLOCK].uid, &rel);
    if (rel.n)
        ml_index_loops(cx, p.index, rel.v[0], &loops);
    for (size_t k = loops.n; k-- > 0;)
        ml_try(t, NULL, "reverse_compute_at(\"%s\", \"%s\")",
               ml_name_of(s, args[BLOCK].uid), ml_name_of(s, ml_stmt_uid(loops.v[k])));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the consumer to be folded into its producer"),
};

const ml_Primitive ml_prim_reverse_compute_inline = {
    ML_PRIM(reverse_compute_inline, "ReverseComputeInline"),
    .group = "compute location",
    .summary = "fold a consumer into its single producer",
    .help =
        "The producer stores what the consumer would have stored; consumer and buffer go.\n"
        "Elements that the consumer does not use are cut off by a predicate.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = (const ml_Post[]){{ML_SOUND, ML_PRODUCER_OF, ml_check_concurrency, NULL},
                               {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
                               {ML_SOUND, ML_BLOCK_OF, ml_check_own_memory, NULL},
                               {ML_SOUND, ML_READER_OF, ml_check_covered, NULL},
                               {0}},
    .suggest = suggest_reverse_compute_inline,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_ROOT_BLOCK, ML_E_HAS_INIT, ML_E_NOT_STAGE_PIPELINE, ML_E_NOT_SINGLE_READ,
            ML_E_NOT_COMPLETE, ML_E_NOT_SINGLE_PRODUCER, ML_E_OUTPUT_BLOCK,
            ML_E_INLINE_PATTERN, ML_E_OPAQUE_ACCESS, ML_E_NOT_SCHEDULABLE,
            ML_E_ITER_NOT_PARALLEL, ML_E_NOT_REGION_COVERED, ML_E_ORDER_REVERSED,
            ML_E_WOULD_RACE, ML_E_INSTANCES_LOST, ML_E_OK},
};
