/*
 * compute_at, reverse_compute_at - move a producer under a loop that holds all its
 * consumers, or a consumer under a loop that holds all its producers.
 *
 * The block gets a new nest over exactly what is needed there (solve.c); its old loops go,
 * and what its predicate said of them. What the conditions cannot see is checked on the
 * result: readers are still covered, a reduction accumulates once, concurrent loops do not
 * collide. Source: primitives 7; Feng et al., ASPLOS 2023, section 3.2.
 */
#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, LOOP, PRESERVE_UNIT_LOOPS, INDEX };

typedef struct Move {
    ml_Call *c;
    bool reverse;
    const ml_Block *block;
    const ml_For *loop;
    ml_UidVec producers, consumers;
    size_t n_body;
    const ml_Stmt *const *body; /* the statements of the loop's body */
    const ml_Stmt *one[1];
    size_t at;            /* where the nest goes among them */
    bool never;           /* no instance was executed where it was */
    bool driven;          /* reverse: every instance reads what a producer writes */
    const bool **outside; /* per read and dimension: not shown to stay in the buffer */
    ml_Uid above;         /* what holds both places */
    ml_DomVec old;        /* reverse, not driven: the loops of the block below that */
    ml_Interval *was;     /* and the values of its iters in them, at most */
    ml_Removal removal;
} Move;

static bool holds_block(const Move *m, const ml_Stmt *s, ml_Uid block)
{
    const ml_Index *ix = m->c->p.index;
    ml_Uid self = ml_stmt_uid(s);

    if (self)
        return self == block || ml_index_is_above(ix, self, block);
    if (!s->has_block)
        return false;
    ml_StmtVec below = {0};

    ml_child_blocks(m->c->cx, s, &below);
    for (size_t k = 0; k < below.n; k++)
        if (ml_stmt_uid(below.v[k]) == block ||
            ml_index_is_above(ix, ml_stmt_uid(below.v[k]), block))
            return true;
    return false;
}

static bool check_scope(Move *m)
{
    ml_Call *c = m->c;
    const ml_Index *ix = c->p.index;
    ml_Uid block = m->block->tag, loop = m->loop->var->uid;
    ml_Uid scope = ml_index_scope(ix, block);

    if (!ml_check_pipeline(c, scope) ||
        !ML_PROVE(c, ML_SOUND, ml_need_complete_or_reduction(c->cx, c->facts, c->p, block)))
        return false;
    if (ml_index_scope(ix, loop) != scope || ml_index_is_above(ix, loop, block))
        return ml_fail_apart(c, block, loop);
    m->above = ml_index_lca(ix, block, loop);
    if (!ml_check_schedulable(c, m->above, block) ||
        !ml_check_schedulable(c, m->above, loop))
        return false;
    const ml_Buffer *out = NULL;

    if (!m->reverse && !ML_PROVE(c, ML_SOUND, !ml_is_output_block(c->p, block, &out)))
        return ml_fail(c->cx, ML_E_OUTPUT_BLOCK, ML_BLOCK(m->block), ML_BUFFER(out));
    return ml_leaf_removal(c, block, &m->removal);
}

/* Related blocks that are not under the loop, by name. */
static bool check_all_under(Move *m, const ml_UidVec *v, ml_ErrorCode code)
{
    ml_Call *c = m->c;
    size_t missing = 0;
    const char *names = "";

    for (size_t k = 0; k < v->n; k++) {
        if (ml_index_is_above(c->p.index, m->loop->var->uid, v->v[k]))
            continue;
        names = ml_format(c->cx, "%s%s%s", names, missing++ ? ", " : "",
                          ml_call_block(c, v->v[k])->name);
    }
    if (!missing)
        return true;
    return ml_fail(c->cx, code, ML_NUMBER("missing", missing), ML_BLOCK(m->block),
                   ML_LOOP(m->loop), ML_TEXT(names));
}

/* The other side stays where it is: what the block reads must be written before the loop,
 * what reads the block must come after it. */
static bool check_order(Move *m, const ml_UidVec *v)
{
    ml_Call *c = m->c;
    const ml_Index *ix = c->p.index;
    ml_Uid loop = m->loop->var->uid;
    ml_Uid wrong = 0; /* the first one in the text */

    for (size_t j = 0; j < v->n; j++)
        if (!ml_index_is_above(ix, loop, v->v[j]) &&
            ml_index_before(ix, loop, v->v[j]) != m->reverse &&
            (!wrong || ml_index_before(ix, v->v[j], wrong)))
            wrong = v->v[j];
    if (!wrong)
        return true;
    return ml_fail_as(
        c->cx, ML_E_ORDER_REVERSED, "block {0}, which {1} block {2}, would come {3} it",
        ML_BLOCK(ml_call_block(c, wrong)), ML_TEXT(m->reverse ? "follows" : "precedes"),
        ML_BLOCK(m->block), ML_TEXT(m->reverse ? "before" : "after"), ML_LOOP(m->loop));
}

/* reverse: every instance of the block reads an element that there is. One that reads none
 * (padding by if_then_else) is driven by no producer. */
static bool is_driven(Move *m)
{
    ml_Call *c = m->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = m->block;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    ml_arith_bind_iters(ar, b);
    m->outside = ML_ARRAY(cx, const bool *, b->n_reads + 1u);
    for (size_t k = 0; k < b->n_reads; k++) {
        const ml_Region *r = &b->reads[k];
        bool *out = ML_ARRAY(cx, bool, r->buffer->rank + 1u);
        bool produced = false, inside = true;

        m->outside[k] = out;
        for (size_t j = 0; j < m->producers.n && !produced; j++) {
            const ml_Block *p = ml_call_block(c, m->producers.v[j]);

            for (size_t w = 0; w < p->n_writes; w++)
                produced |= p->writes[w].buffer->uid == r->buffer->uid;
        }
        for (size_t d = 0; produced && d < r->buffer->rank; d++) {
            const ml_Expr *min = r->ranges[d].min, *n = r->ranges[d].extent;
            const ml_Expr *dim = r->buffer->shape[d], *end = NULL;

            if (ml_promote(cx, &min, &n))
                end = ml_add(cx, min, n);
            out[d] = !end || !ml_promote(cx, &end, &dim) ||
                     !ml_prove_symbolic(ar, ml_ge(cx, min, ml_int(cx, min->type, 0))) ||
                     !ml_prove_symbolic(ar, ml_le(cx, end, dim));
            inside = inside && !out[d];
        }
        if (produced && inside)
            return true;
    }
    return false;
}

/* An analyzer for what is below the node that holds both places. */
static ml_Arith *arith_above(const Move *m)
{
    const ml_Stmt *node = ml_index_node(m->c->p.index, m->above);
    ml_Arith *ar = ml_arith_at(m->c->cx, m->c->p, m->above);

    if (node->kind == ML_STMT_FOR)
        ml_arith_bind_loop(ar, ml_as_for(node));
    return ar;
}

static ml_Range *bindings_of(const Move *m, const ml_Block *b, ml_DomVec *dom)
{
    ml_Ctx *cx = m->c->cx;
    ml_Range *box = ML_ARRAY(cx, ml_Range, b->n_iters + 1u);
    bool root = m->above == ml_index_scope(m->c->p.index, b->tag);

    ml_relax_domain(cx, m->c->p, b->tag, root ? 0 : m->above, NULL, dom);
    for (size_t k = 0; k < b->n_iters; k++)
        box[k] = (ml_Range){b->iters[k].value, ml_int(cx, b->iters[k].value->type, 1)};
    return box;
}

static void note_instances(Move *m)
{
    const ml_Block *b = m->block;
    const ml_Range *box = bindings_of(m, b, &m->old);

    m->was = ML_ARRAY(m->c->cx, ml_Interval, b->n_iters + 1u);
    ml_region_upper(arith_above(m), box, b->n_iters, m->old.v, m->old.n, b->predicate,
                    m->was);
}

/* Whether the loop runs wherever the block ran before. */
static bool surely_runs(const Move *m, ml_Arith *ar, const ml_Dom *d)
{
    if (ml_prove_ge(ar, d->extent, 1))
        return true;
    for (size_t k = 0; k < m->old.n; k++)
        if (m->old.v[k].extent == d->extent)
            return true;
    return false;
}

static bool fail_lost(Move *m)
{
    ml_Ctx *cx = m->c->cx;

    ml_error_clear(cx);
    return m->producers.n == 0
               ? ml_unproved(cx, ML_E_INSTANCES_LOST,
                             "all instances of block {0} would still run",
                             ML_BLOCK(m->block))
               : ml_unproved(cx, ML_E_INSTANCES_LOST,
                             "each instance of block {0} reads something that its "
                             "producers write; others would be lost",
                             ML_BLOCK(m->block));
}

/* reverse, not driven: all instances are there again, in each iteration of what holds both
 * places. */
static bool check_instances(Move *m)
{
    ml_Call *c = m->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, m->block->tag);
    ml_Arith *ar = arith_above(m);
    ml_DomVec dom = {0};
    const ml_Range *box = bindings_of(m, b, &dom);
    ml_Interval *is = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);
    if (m->never && ml_never_runs(c->p, b->tag)) /* nor did it before */
        return true;
    bool all = ml_region_lower(ar, box, b->n_iters, dom.v, dom.n, b->predicate, is);

    for (size_t k = 0; all && k < dom.n; k++)
        if (!surely_runs(m, ar, &dom.v[k])) {
            const ml_Stmt *loop = ml_index_node(c->p.index, dom.v[k].var->uid);

            return ml_unproved(
                cx, ML_E_INSTANCES_LOST,
                "loop {0} has an iteration; block {1} would not run without one",
                ML_VARIABLE(dom.v[k].var), ML_BLOCK(b), ML_LOOP(loop));
        }
    for (size_t k = 0; all && k < b->n_iters; k++)
        all = ml_interval_includes(ar, is[k], m->was[k]);
    return all || fail_lost(m);
}

static bool find_place(Move *m)
{
    ml_Call *c = m->c;
    int64_t index = c->args[INDEX].i, last = -1, first;

    ml_producers(c->cx, c->facts, c->p, m->block->tag, &m->producers);
    ml_consumers(c->cx, c->facts, c->p, m->block->tag, &m->consumers);
    if (m->loop->body->kind == ML_STMT_SEQ) {
        m->body = ml_as_seq(m->loop->body)->stmts;
        m->n_body = ml_as_seq(m->loop->body)->n;
    } else {
        m->one[0] = m->loop->body;
        m->body = m->one;
        m->n_body = 1;
    }
    ml_Uid producer = 0, consumer = 0;

    first = (int64_t)m->n_body;
    for (size_t k = 0; k < m->n_body; k++) {
        for (size_t j = 0; j < m->producers.n; j++)
            if (holds_block(m, m->body[k], m->producers.v[j])) {
                last = (int64_t)k;
                producer = m->producers.v[j];
            }
        for (size_t j = 0; j < m->consumers.n && first == (int64_t)m->n_body; j++)
            if (holds_block(m, m->body[k], m->consumers.v[j])) {
                first = (int64_t)k;
                consumer = m->consumers.v[j];
            }
    }
    if (last >= first)
        return ml_fail_as_(
            c->cx, ML_E_NO_INSERTION_POINT,
            last > first ? ml_error_sentence(ML_E_NO_INSERTION_POINT)
            : producer == consumer
                ? "under loop {0} block {2} is a producer and a consumer of block {1}"
                : "under loop {0} one statement holds block {2}, a producer of block {1}, "
                  "and "
                  "block {3}, a consumer",
            ML_LOOP(m->loop), ML_BLOCK(m->block), ML_BLOCK_UID(producer),
            ML_BLOCK_UID(consumer), ML_NUMBER("producer", last),
            ML_NUMBER("consumer", first), ML_FACT_END);
    if (!ML_PROVE(c, ML_SOUND,
                  (m->reverse
                       ? check_all_under(m, &m->producers, ML_E_PRODUCERS_MISSING)
                       : check_all_under(m, &m->consumers, ML_E_CONSUMERS_MISSING)) &&
                      check_order(m, m->reverse ? &m->consumers : &m->producers)))
        return false;
    m->never = ml_never_runs(c->p, m->block->tag);
    m->driven = !m->reverse || ML_PROVE(c, ML_SOUND, is_driven(m));
    if (!m->driven)
        note_instances(m);
    if (index == -1)
        index = first;
    else if (index == -2)
        index = last + 1;
    if (index < last + 1 || index > first)
        return ml_fail_as(
            c->cx, ML_E_BAD_ARGUMENT, "index is {0}; legal are {1} to {2}, -1 and -2",
            ML_NUMBER("index", (long long)index), ML_NUMBER("first", (long long)(last + 1)),
            ML_NUMBER("last", (long long)first), ML_LOOP(m->loop));
    m->at = (size_t)index;
    return true;
}

/* The parts of the predicate p that speak of no loop the block leaves: they hold, or do
 * not, for all iterations there, and no domain of an iter says what they said. */
static const ml_Expr *staying(const Move *m, ml_Arith *ar, const ml_Expr *p)
{
    ml_Ctx *cx = m->c->cx;
    ml_StmtVec loops = {0};

    if (p->kind == ML_EXPR_AND)
        return ml_and(cx, staying(m, ar, p->args[0]), staying(m, ar, p->args[1]));
    ml_index_loops(cx, m->c->p.index, m->block->tag, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        if (ml_expr_uses_var(p, f->var) &&
            !ml_index_is_above(m->c->p.index, f->var->uid, m->loop->var->uid))
            return ml_bool(cx, true);
    }
    return ml_prove_symbolic(ar, p) ? ml_bool(cx, true) : p;
}

/* The nest over the solved domains; the block keeps its tag. */
static const ml_Stmt *new_nest(Move *m, ml_Arith *ar, const ml_IterDomain *dom)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Block *b = m->block;
    ml_Block nb = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters);
    ml_For *loops = ML_ARRAY(cx, ml_For, b->n_iters);
    size_t n = 0;

    nb.predicate = staying(m, ar, b->predicate);
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Dtype t = b->iters[k].var->type;
        const ml_Expr *lo = ml_cast(cx, t, dom[k].need.min);
        const ml_Expr *hi = ml_cast(cx, t, dom[k].need.max), *one = ml_int(cx, t, 1);
        const ml_Expr *extent = ml_simplify(ar, ml_add(cx, ml_sub(cx, hi, lo), one));

        if (ML_FAULT(COMPUTE_AT_DOMAIN) && !ml_is_int(extent, 1))
            extent = ml_sub(cx, extent, one);

        iters[k] = b->iters[k];
        iters[k].value = lo;
        if (!ml_is_int(extent, 1) || m->c->args[PRESERVE_UNIT_LOOPS].b) {
            loops[n].kind = ML_FOR_SERIAL;
            loops[n].var = ml_var_new(cx, ml_numbered(cx, "ax", "", n), t);
            loops[n].min = ml_int(cx, t, 0);
            loops[n].extent = extent;
            /* before the range is known: a loop of extent 1 that is kept stands in the
             * value */
            iters[k].value = ml_simplify(ar, ml_add(cx, lo, ml_var(cx, loops[n].var)));
            ml_arith_bind_loop(ar, &loops[n]);
            n++;
        }
        if (dom[k].bound.min) {
            const ml_Expr *p = ml_ge(cx, iters[k].value, ml_cast(cx, t, dom[k].bound.min));

            if (!ml_prove_symbolic(ar, p))
                nb.predicate = ml_and(cx, nb.predicate, ml_simplify(ar, p));
        }
        if (dom[k].bound.max) {
            const ml_Expr *end =
                ml_simplify(ar, ml_add(cx, ml_cast(cx, t, dom[k].bound.max), one));
            const ml_Expr *p = ml_lt(cx, iters[k].value, end);

            if (!ml_prove_symbolic(ar, p))
                nb.predicate = ml_and(cx, nb.predicate, p);
        }
    }
    nb.iters = iters;
    const ml_Stmt *st = ml_block_from(cx, &nb);

    while (n-- > 0) {
        loops[n].body = st;
        st = ml_for_from(cx, &loops[n]);
    }
    return st;
}

/* A block without iters may use its loops directly; they do not move with it. */
static bool check_loop_uses(Move *m, const ml_Stmt *nest)
{
    ml_Call *c = m->c;
    ml_StmtVec loops = {0};

    ml_index_loops(c->cx, c->p.index, m->block->tag, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        if (!ml_index_is_above(c->p.index, f->var->uid, m->loop->var->uid) &&
            ml_stmt_uses_var(nest, f->var))
            return ml_fail_as(
                c->cx, ML_E_VALUE_CHANGED,
                "block {0} uses the variable of loop {1}, which does not move with it",
                ML_BLOCK(m->block), ML_LOOP(f));
    }
    return true;
}

static bool keeps_values(ml_Call *c, ml_Uid block)
{
    Move *m = c->work;

    return (m->driven || check_instances(m)) && ml_check_kept(c, block, block);
}

/* What it computes under the loop it computes anew, and whole, in each iteration. */
static bool keeps_order(ml_Call *c, ml_Uid block)
{
    const Move *m = c->work;

    return ml_check_iter_order(c, block, m->reverse ? 0 : m->loop->var->uid);
}

/* Readers must still find everything written; see the head of the file. */
static bool finds_values(ml_Call *c, ml_Uid reader)
{
    Move *m = c->work;

    return ml_check_covered(c, reader) ||
           (!m->driven && !(m->never && ml_never_runs(c->p, reader)) &&
            m->producers.n > 0 && fail_lost(m));
}

/* Executions of a block: the product of the extents of its loops; 0 when not constant. */
static int64_t executions(ml_Call *c, ml_Uid block)
{
    ml_StmtVec loops = {0};
    int64_t n = 1;

    ml_index_loops(c->cx, c->p.index, block, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_Expr *e = ml_as_for(loops.v[k])->extent;

        if (e->kind != ML_EXPR_INT || __builtin_mul_overflow(n, e->as.i, &n))
            return 0;
    }
    return n;
}

static bool move(ml_Call *c, bool reverse)
{
    ml_Ctx *cx = c->cx;
    Move *m = ML_NEW(cx, Move);
    ml_Uid block = c->args[BLOCK].uid;

    if (c->args[LOOP].h.kind == ML_H_ROOT_MARK)
        return true;
    if (c->args[LOOP].h.kind == ML_H_INLINE_MARK)
        return ml_call_run(c, reverse ? &ml_prim_reverse_compute_inline
                                      : &ml_prim_compute_inline);
    if (!ml_check_not_root(c, block))
        return false;
    m->c = c;
    m->reverse = reverse;
    m->block = ml_call_block(c, block);
    m->loop = ml_call_loop(c, c->args[LOOP].uid);
    if (!check_scope(m) || !find_place(m))
        return false;

    ml_Arith *ar = ml_arith_at(cx, c->p, m->loop->var->uid);
    ml_IterDomain *dom = ML_ARRAY(cx, ml_IterDomain, m->block->n_iters);

    ml_arith_bind_loop(ar, m->loop);
    if (!ml_solve_domains(c, ar, m->block, m->loop, reverse ? &m->producers : &m->consumers,
                          reverse, m->driven ? NULL : m->outside, dom))
        return false;
    const ml_Stmt *nest = new_nest(m, ar, dom);
    int64_t before = executions(c, block);

    /* The new loops run over the iters in order: so must those of today. */
    if (!ML_PROVE(c, ML_SOUND, ml_check_order(c, block)))
        return false;
    if (!check_loop_uses(m, nest))
        return false;
    const ml_Stmt **body = ML_ARRAY(cx, const ml_Stmt *, m->n_body + 1);

    memcpy(body, m->body, m->at * sizeof *body);
    body[m->at] = nest;
    memcpy(body + m->at + 1, m->body + m->at, (m->n_body - m->at) * sizeof *body);

    ml_For f = *m->loop;

    f.body = ml_seq(cx, body, m->n_body + 1);
    ml_call_replace(c, m->removal.uid, m->removal.with);
    ml_call_replace(c, m->loop->var->uid, ml_for_from(cx, &f));
    if (!ml_ok_or_fail(cx))
        return false;
    c->work = m;
    ml_call_subject(c, ML_BLOCK_OF, block, NULL);
    ml_call_subjects(c, ML_PRODUCER_OF, &m->producers, NULL);
    if (!reverse)
        ml_call_subjects(c, ML_READER_OF, &m->consumers, NULL);
    if (reverse || m->producers.n > 0)
        ml_call_subject(c, ML_READER_OF, block, NULL);
    int64_t after = executions(c, block);

    if (before > 0 && after > before)
        ml_call_note(c, "block %s now runs %lld times instead of %lld",
                     /* nobody reads a replayed step's, and names take their time */
                     c->sched->replaying ? m->block->name : ml_shown(c->cx, m->block),
                     (long long)after, (long long)before);
    return true;
}

static bool compute_at(ml_Call *c)
{
    return move(c, false);
}

static bool reverse_compute_at(ml_Call *c)
{
    return move(c, true);
}

/* Ways out: the same at the loops of a consumer (producer), innermost first. */
static void suggest_compute_at(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                               ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    const ml_Stmt *node = ml_index_node(p.index, args[BLOCK].uid);
    ml_UidVec rel = {0};
    ml_StmtVec loops = {0};

    if (!node || !e->primitive || ml_index_parent(p.index, args[BLOCK].uid) == 0)
        return;
    bool reverse = ml_streq(e->primitive, "reverse_compute_at");

    if (reverse)
        ml_producers(cx, ml_schedule_facts(s), p, args[BLOCK].uid, &rel);
    else
        ml_consumers(cx, ml_schedule_facts(s), p, args[BLOCK].uid, &rel);
    if (rel.n > 0)
        ml_index_loops(cx, p.index, rel.v[0], &loops);
    for (size_t k = loops.n; k-- > 0;)
        if (ml_stmt_uid(loops.v[k]) != args[LOOP].uid)
            ml_try(t, NULL, "%s(\"%s\", \"%s\")", e->primitive,
                   ml_name_of(s, args[BLOCK].uid), ml_name_of(s, ml_stmt_uid(loops.v[k])));
    if (!reverse)
        ml_try(t, NULL, "compute_inline(\"%s\")", ml_name_of(s, args[BLOCK].uid));
}

static void find_bound(const ml_Stmt *s, bool in_init, void *user)
{
    ml_Uid *found = user;

    (void)in_init;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD)
        *found = ml_stmt_uid(s);
    if (!*found)
        ml_stmt_children(s, find_bound, user);
}

/* Threads inside of the block are one kernel now with those around it. */
static bool joins_kernel(ml_Call *c, ml_Uid block)
{
    ml_Uid bound = 0;

    ml_stmt_children(ml_index_node(c->p.index, block), find_bound, &bound);
    return !bound || ml_check_launchable(c, bound);
}

static const ml_Post posts[] = {
    {ML_STRICT, ML_BLOCK_OF, joins_kernel, NULL},
    {ML_SOUND, ML_BLOCK_OF, keeps_values, NULL},
    {ML_SOUND, ML_BLOCK_OF, ml_check_accumulation, NULL},
    {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_BLOCK_OF, keeps_order, NULL},
    /* What they wrote for one iteration alone may now be read outside of it. */
    {ML_SOUND, ML_PRODUCER_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_READER_OF, finds_values, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that moves"),
    ML_PARAM("loop", ML_P_LOOP_OR_MARK, "the loop it moves under"),
    ML_PARAM_FLAG("preserve_unit_loops", false, "make a loop also where the extent is 1"),
    ML_PARAM_INT("index", -1, "place in the loop's body; -1: last legal, -2: first legal"),
};

/* only-leaf and no-insertion-point are checked, but cannot come: a block and a loop that is
 * not above it have a sequence above both, and all producers of a block stand before it. */
#define ERRORS(...)                                                                        \
    (const ml_ErrorCode[])                                                                 \
    {                                                                                      \
        ML_E_ROOT_BLOCK, ML_E_NOT_STAGE_PIPELINE, ML_E_NOT_COMPLETE_OR_REDUCTION,          \
            ML_E_NOT_SAME_SCOPE, ML_E_NOT_SCHEDULABLE, __VA_ARGS__, ML_E_BAD_ARGUMENT,     \
            ML_E_REGION_NOT_SOLVABLE, ML_E_NOT_REGION_COVERED, ML_E_ORDER_REVERSED,        \
            ML_E_INSTANCES_LOST, ML_E_THREAD_NESTED, ML_E_LAUNCH_LIMIT, ML_E_OK            \
    }

const ml_Primitive ml_prim_compute_at = {
    ML_PRIM(compute_at, "ComputeAt"),
    .group = "compute location",
    .summary = "compute a producer where it is used",
    .help =
        "Moves a block under a loop that holds all its consumers; there it computes just\n"
        "what they need in one iteration.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_compute_at,
    .errors = ERRORS(ML_E_OUTPUT_BLOCK, ML_E_CONSUMERS_MISSING, ML_E_COVER_LOST,
                     ML_E_WOULD_RACE, ML_E_NAMES_OVERLAP, ML_E_VALUE_CHANGED),
};

const ml_Primitive ml_prim_reverse_compute_at = {
    ML_PRIM(reverse_compute_at, "ReverseComputeAt"),
    .group = "compute location",
    .summary = "compute a consumer where its input is produced",
    .help =
        "Moves a block under a loop that holds all its producers; there it uses just what\n"
        "one iteration has produced.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_compute_at,
    .errors = ERRORS(ML_E_PRODUCERS_MISSING, ML_E_ITER_NOT_PARALLEL, ML_E_INIT_MISPLACED,
                     ML_E_REDUCTION_CHANGED),
};
