/*
 * cover - whether what a block reads was written before, under every loop that it shares
 * with a producer.
 *
 * Per common ancestor: the union of what the producers write (lower bounds, merged as
 * boxes) must hold what the consumer reads (upper bound). Storage decides which thread
 * loops count: shared memory is seen by all threads of a block, private memory by one
 * thread only, so that there loops of one tag and extent are one symbol. Source:
 * ir-and-analysis 2.4, 5.4.
 */
#include "verify/cover/cover_impl.h"

#include "core/base/fault.h"

/* -DML_CHECK_COVER: what numbers show is shown by the prover, too. */
#ifdef ML_CHECK_COVER
enum { CHECK_PLAIN = 1 };
#else
enum { CHECK_PLAIN = 0 };
#endif

static const ml_Var *tag_var(ml_Cover *c, const ml_For *f)
{
    for (size_t k = 0; k < c->tags.n; k++)
        if (ml_thread_eq(c->tags.v[k].thread, f->thread) &&
            c->tags.v[k].extent == f->extent)
            return c->tags.v[k].var;
    const ml_Var *v = ml_var_new(c->cx, f->thread.name, f->var->type);

    ml_arith_bind_range(c->ar, v, f->min, f->extent);
    ml_push(c->cx, &c->tags, ((ml_CoverTag){f->thread, f->extent, v, f}));
    return v;
}

/* Whether the consumer is below a loop of the threads. */
static bool is_run_by(const ml_Cover *c, ml_Thread t)
{
    for (ml_Up u = ml_index_up(c->p.index, c->consumer); u.node; ml_index_next(&u))
        if (u.node->kind == ML_STMT_FOR && ml_thread_eq(ml_as_for(u.node)->thread, t))
            return true;
    return false;
}

void ml_cover_around(ml_Cover *c, ml_Uid block, ml_Uid stop, const ml_Buffer *buf,
                     ml_CoverAround *out)
{
    ml_DomVec all = {0};

    ml_relax_domain(c->cx, c->p, block, stop, buf, &all);
    *out = (ml_CoverAround){0};
    for (size_t k = 0; k < all.n; k++) {
        const ml_For *f = ml_as_for(ml_index_node(c->p.index, all.v[k].var->uid));

        if (ml_is_private(buf) && f->thread.axis &&
            !ml_scope_spans(buf->scope, f->thread) &&
            !(c->values && !is_run_by(c, f->thread)))
            ml_subst_var(c->cx, &out->threads, f->var, ml_var(c->cx, tag_var(c, f)));
        else
            ml_push(c->cx, &out->dom, all.v[k]);
    }
}

/* A region of the block in terms of what is around it. */
ml_Region ml_cover_outward(ml_Cover *c, const ml_Block *b, const ml_Region *r,
                           const ml_CoverAround *around, const ml_Expr **pred)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(c->cx, &sub, b->iters[k].var, b->iters[k].value);
    ml_Region out = ml_region_subst(c->cx, *r, &sub);

    *pred = b->predicate;
    if (around->threads.vars) {
        out = ml_region_subst(c->cx, out, &around->threads);
        *pred = ml_expr_subst(c->cx, *pred, &around->threads);
    }
    return out;
}

typedef struct Choice {
    bool found; /* an if without else */
} Choice;

static bool find_choice(const ml_Stmt *s, void *user)
{
    Choice *x = user;

    x->found |= s->kind == ML_STMT_IF && !ml_as_if(s)->other;
    return !x->found;
}

/* Whether the block writes of a buffer that others write, too, by choice: a point that it
 * declares is then what it may write, and where it does not, theirs counts. */
static bool by_choice(const ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                      const ml_UidVec *producers)
{
    Choice x = {0};
    size_t n = 0;

    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *b = ml_as_block(ml_index_node(c->p.index, producers->v[k]));
        bool one = false;

        for (size_t m = 0; m < b->n_writes; m++)
            one |= b->writes[m].buffer->uid == declared->buffer->uid;
        n += one;
    }
    if (n > 1)
        ml_stmt_visit(w->body, find_choice, &x);
    return x.found;
}

static bool writes_whole(ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                         const ml_UidVec *producers)
{
    if (ml_region_is_point(declared) && !w->body->has_block)
        return !by_choice(c, w, declared, producers);
    return !ml_may_have_holes(c->cx, c->p, w, declared);
}

/* What a producer surely writes, in terms of what is around it: its region, or the stores
 * inside when that has holes. */
static void written_parts(ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                          const ml_CoverAround *around, bool whole, ml_AccessVec *out)
{
    const ml_Expr *pred;
    ml_AccessVec inside = {0};

    if (whole) {
        ml_Region r = ml_cover_outward(c, w, declared, around, &pred);

        ml_push(c->cx, out, ((ml_Access1){r.ranges, around->dom.v, around->dom.n, pred}));
        return;
    }
    ml_stores_inside(c->cx, w, declared, &inside);
    for (size_t k = 0; k < inside.n; k++) {
        const ml_Region here = {declared->buffer, inside.v[k].ranges};
        ml_Region r = ml_cover_outward(c, w, &here, around, &pred);
        ml_DomVec dom = {0};
        ml_Subst sub = {0};

        for (size_t m = 0; m < w->n_iters; m++)
            ml_subst_var(c->cx, &sub, w->iters[m].var, w->iters[m].value);
        for (size_t m = 0; m < around->dom.n; m++)
            ml_push(c->cx, &dom, around->dom.v[m]);
        for (size_t m = 0; m < inside.v[k].n_dom; m++) {
            ml_Dom d = inside.v[k].dom[m];

            d.min = ml_expr_subst(c->cx, d.min, &sub);
            d.extent = ml_expr_subst(c->cx, d.extent, &sub);
            ml_push(c->cx, &dom, d);
        }
        pred = ml_and(c->cx, pred, ml_expr_subst(c->cx, inside.v[k].pred, &sub));
        ml_push(c->cx, out, ((ml_Access1){r.ranges, dom.v, dom.n, pred}));
    }
}

static void clip(ml_Cover *c, const ml_Buffer *buf, ml_Interval *box)
{
    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *zero = ml_int(c->cx, buf->shape[d]->type, 0);

        box[d] = ml_interval_intersect(c->ar, box[d],
                                       ml_interval_range(c->ar, zero, buf->shape[d]));
    }
}

const ml_Buffer *ml_cover_canonical(ml_Cover *c, const ml_Buffer *b)
{
    return ml_canonical_buffer(c->p, c->scope, b);
}

static const ml_Expr *at_unit_loops(ml_Cover *c, const ml_Expr *e, const ml_Dom *dom,
                                    size_t n)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < n; k++)
        if (ml_is_int(dom[k].extent, 1))
            ml_subst_var(c->cx, &sub, dom[k].var, dom[k].min);
    return sub.vars ? ml_simplify(c->ar, ml_expr_subst(c->cx, e, &sub)) : e;
}

/* A producer's predicate without the conjuncts that only outer loops decide and that hold
 * wherever an instance of the consumer runs: where none does, nothing is read. */
static const ml_Expr *where_read(ml_Cover *c, const ml_Expr *pred, const ml_Dom *own,
                                 size_t n_own, const ml_Expr *given, const ml_DomVec *inner)
{
    pred = at_unit_loops(c, pred, own, n_own);
    if (ml_is_true(pred))
        return pred;
    if (pred->kind == ML_EXPR_AND)
        return ml_and(c->cx, where_read(c, pred->args[0], own, n_own, given, inner),
                      where_read(c, pred->args[1], own, n_own, given, inner));
    for (size_t k = 0; k < n_own; k++)
        if (ml_expr_uses_var(pred, own[k].var))
            return pred;
    ml_ArithMark mark = ml_arith_save(c->ar);

    for (size_t k = 0; k < inner->n; k++)
        ml_arith_bind_range(c->ar, inner->v[k].var, inner->v[k].min, inner->v[k].extent);
    ml_arith_assume(c->ar, at_unit_loops(c, given, inner->v, inner->n));
    bool holds = ml_prove_cases(c->ar, pred);

    ml_arith_restore(c->ar, mark);
    return holds ? ml_bool(c->cx, true) : pred;
}

/* What holds where an instance of the consumer reads an element that there is: its
 * predicate, and that the region meets the buffer. */
static const ml_Expr *touched(ml_Cover *c, const ml_Buffer *buf, const ml_Region *r,
                              const ml_DomVec *dom, const ml_Expr *given)
{
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, buf->rank + 1u);

    ml_region_upper(c->ar, r->ranges, buf->rank, dom->v, dom->n, given, box);
    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *lo = box[d].min, *hi = box[d].max, *n = buf->shape[d];

        if (box[d].nothing)
            continue;
        if (hi)
            given = ml_and(c->cx, given, ml_ge(c->cx, hi, ml_int(c->cx, hi->type, 0)));
        if (lo && ml_promote(c->cx, &lo, &n))
            given = ml_and(c->cx, given, ml_lt(c->cx, lo, n));
    }
    return given;
}

/* Whether some iteration of the access runs wherever an instance of the consumer does. */
static bool runs_where_read(ml_Cover *c, const ml_Access1 *a, const ml_Expr *given,
                            const ml_DomVec *inner)
{
    const ml_Expr *cond = ml_region_runs(c->ar, a->dom, a->n_dom, a->pred);

    return cond && ml_is_true(where_read(c, cond, a->dom, a->n_dom, given, inner));
}

typedef struct Writer {
    const ml_Block *block;
    const ml_Region *region;
    size_t part;
} Writer;

/* What the scope block says that it reads was there before. */
static void add_outside(ml_Cover *c, const ml_Buffer *buf, ml_Boxes *boxes)
{
    const ml_Block *root = ml_as_block(ml_index_node(c->p.index, c->scope));
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, buf->rank + 1u);

    for (size_t k = 0; k < root->n_reads; k++) {
        if (root->reads[k].buffer->uid != buf->uid)
            continue;
        for (size_t d = 0; d < buf->rank; d++)
            box[d] = ml_interval_range(c->ar, root->reads[k].ranges[d].min,
                                       root->reads[k].ranges[d].extent);
        ml_boxes_add(boxes, box);
    }
}

bool ml_cover_region(ml_Cover *c, const ml_Block *consumer, const ml_Region *read, ml_Uid a,
                     const ml_UidVec *producers)
{
    const ml_Buffer *buf = ml_cover_canonical(c, read->buffer);
    size_t rank = read->buffer->rank;
    bool aliased = buf != read->buffer;
    ml_Uid stop = a == c->scope ? 0 : a;
    ml_Boxes *boxes = ml_boxes_new(c->ar, rank);
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank);
    const ml_Expr *given;
    ml_CoverAround around, mine;
    bool written = false;
    ml_AccessVec parts = {0};
    ML_VEC(Writer) writers = {0}; /* that write all that they declare */

    ml_cover_around(c, consumer->tag, stop, read->buffer, &mine);
    ml_Region mine_read = ml_cover_outward(c, consumer, read, &mine, &given);
    const ml_Expr *inside = NULL; /* made when a producer may not run */

    if (c->outside)
        add_outside(c, read->buffer, boxes);
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));
        ml_Uid own = ml_index_lca(c->p.index, w->tag, consumer->tag);

        for (size_t m = 0; m < w->n_writes; m++) {
            if (ml_cover_canonical(c, w->writes[m].buffer)->uid != buf->uid)
                continue;
            written = true;
            /* Through a view the elements are others: only a view of itself compares. */
            if (w->writes[m].buffer->uid != read->buffer->uid) {
                aliased = true;
                continue;
            }
            ml_cover_around(c, w->tag, own == c->scope ? 0 : own, read->buffer, &around);
            size_t first = parts.n;
            bool whole = writes_whole(c, w, &w->writes[m], producers);

            written_parts(c, w, &w->writes[m], &around, whole, &parts);
            for (size_t t = first; t < parts.n; t++) {
                ml_Access1 *part = &parts.v[t];
                bool guarded = !ml_is_true(part->pred), plain = !guarded;

                for (size_t d = 0; d < part->n_dom; d++)
                    plain &= ml_is_const_int(part->dom[d].extent);
                if (!plain && !inside)
                    inside = touched(c, read->buffer, &mine_read, &mine.dom, given);
                if (guarded)
                    part->pred = where_read(c, part->pred, part->dom, part->n_dom, inside,
                                            &mine.dom);
                if (!ml_region_lower_where(
                        c->ar, part->ranges, rank, part->dom, part->n_dom, part->pred,
                        plain || runs_where_read(c, part, inside, &mine.dom), box))
                    continue;
                clip(c, read->buffer, box);
                ml_boxes_add(boxes, box);
            }
            if (!around.threads.vars && whole)
                ml_push(c->cx, &writers, ((Writer){w, &w->writes[m], first}));
        }
    }
    if (!written)
        return true;
    size_t dim = 0;

    ml_region_upper(c->ar, mine_read.ranges, rank, mine.dom.v, mine.dom.n, given, box);
    clip(c, read->buffer, box);
    if (ML_FAULT(COVER_DIMENSION) && rank > 0 && ml_boxes_count(boxes) > 0)
        box[rank - 1] = ml_boxes_at(boxes, 0)[rank - 1];
    if (ml_boxes_cover(boxes, box, &dim))
        return true;
    ml_Access1 me = {mine_read.ranges, mine.dom.v, mine.dom.n, given};

    if (ml_strides_cover(c->ar, rank, parts.v, parts.n, &me, box))
        return true;
    for (size_t k = 0; k < writers.n && !mine.threads.vars; k++)
        if (ml_same_cover(c->cx, c->ar, writers.v[k].block, writers.v[k].region,
                          &parts.v[writers.v[k].part], &me))
            return true;
    if (c->explain) {
        const char *text;
        ml_CoverEnds ends = ml_cover_no_ends(c->cx);
        bool known = false; /* by numbers: no proof is missing */

        if (aliased)
            text = "it is written through a view";
        else if (ml_boxes_count(boxes) == 0)
            text = "it is not known which elements are written";
        else {
            /* As it is read, not cut to the buffer: shorter, where both say the same. */
            ml_Interval *whole = ML_ARRAY(c->cx, ml_Interval, rank + 1u);

            ml_region_upper(c->ar, mine_read.ranges, rank, mine.dom.v, mine.dom.n, given,
                            whole);
            if (!box[dim].min || !ml_is_const_int(box[dim].min))
                box[dim].min = whole[dim].min;
            if (!box[dim].max || !ml_is_const_int(box[dim].max))
                box[dim].max = whole[dim].max;
            text = ml_cover_dimension_text(c, dim, rank, box[dim],
                                           ml_boxes_at(boxes, 0)[dim], &ends);
            known = ml_cover_numbers(box[dim], ml_boxes_at(boxes, 0)[dim]);
        }
        ml_fail(c->cx, ML_E_NOT_REGION_COVERED, ML_BLOCK(consumer), ML_BUFFER(read->buffer),
                ML_TEMPLATED(text), ML_BLOCK_UID(producers->v[0]), ML_SHOWN_IN(ends.v[0]),
                ML_SHOWN_IN(ends.v[1]), ML_SHOWN_IN(ends.v[2]), ML_SHOWN_IN(ends.v[3]));
        if (!known)
            ml_error_set_unproved(c->cx);
    }
    return false;
}

/* Writers before the consumer of anything that it reads. */
void ml_cover_producers(ml_Cover *c, ml_Facts *f, const ml_Block *consumer, ml_UidVec *out)
{
    ml_BlockVec users = {0};

    ml_region_users(c->cx, f, c->p, c->scope, consumer->reads, consumer->n_reads, &users);
    for (size_t m = 0; m < users.n && users.v[m]->tag != consumer->tag; m++) {
        bool writes = false;

        for (size_t k = 0; k < consumer->n_reads && !writes; k++)
            writes = ml_block_writes(c->p, c->scope, users.v[m],
                                     ml_cover_canonical(c, consumer->reads[k].buffer));
        if (writes)
            ml_push(c->cx, out, users.v[m]->tag);
    }
}

/* By numbers alone: nothing of the group writes what is read, or one of it writes it all.
 */
static bool plainly_covered(const ml_Cover *c, const ml_Block *consumer,
                            const ml_Region *read, ml_Uid a, const ml_UidVec *producers)
{
    bool written = false;

    if (c->views || !ml_tick(c->cx))
        return false;
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));

        for (size_t m = 0; m < w->n_writes; m++) {
            if (w->writes[m].buffer->uid != read->buffer->uid)
                continue;
            written = true;
            if (ml_covers_plainly(c->p, a, w, &w->writes[m], consumer, read) &&
                ml_plainly_filled(w, &w->writes[m]) &&
                !by_choice(c, w, &w->writes[m], producers))
                return true;
        }
    }
    return !written;
}

void ml_cover_at(ml_Cover *c, ml_Uid a)
{
    c->ar = ml_arith_at(c->cx, c->p, a);
    c->tags.n = 0;
    if (ml_index_node(c->p.index, a)->kind == ML_STMT_FOR)
        ml_arith_bind_loop(c->ar, ml_as_for(ml_index_node(c->p.index, a)));
}

typedef struct Wrapped {
    const ml_Block *block;
    bool found; /* a remainder that an ordered iter takes part in */
} Wrapped;

static bool find_wrapped(const ml_Expr *e, void *user)
{
    Wrapped *w = user;

    for (size_t k = 0; e->kind == ML_EXPR_FLOORMOD && k < w->block->n_iters; k++)
        w->found |= w->block->iters[k].kind != ML_ITER_SPATIAL &&
                    w->block->iters[k].kind != ML_ITER_REDUCE &&
                    ml_expr_uses_var(e, w->block->iters[k].var);
    return !w->found;
}

/* Whether a producer keeps what it wrote in earlier iterations (rolling_buffer): its blocks
 * run in order, and what is read now may have been written then. */
static bool is_window(ml_Cover *c, const ml_Region *read, const ml_UidVec *producers)
{
    Wrapped w = {0};

    for (size_t k = 0; k < producers->n && !w.found; k++) {
        w.block = ml_as_block(ml_index_node(c->p.index, producers->v[k]));
        for (size_t m = 0; m < w.block->n_writes; m++)
            for (size_t d = 0; d < read->buffer->rank; d++)
                if (w.block->writes[m].buffer->uid == read->buffer->uid)
                    ml_expr_visit(w.block->writes[m].ranges[d].min, find_wrapped, &w);
    }
    return w.found;
}

static bool covered(ml_Cover *c, const ml_Block *consumer, const ml_UidVec *producers)
{
    ml_UidVec done = {0};

    for (size_t k = 0; k < producers->n; k++) {
        ml_Uid a = ml_index_lca(c->p.index, producers->v[k], consumer->tag);
        ml_UidVec same = {0};
        bool seen = false;

        for (size_t m = 0; m < done.n; m++)
            seen |= done.v[m] == a;
        if (seen)
            continue;
        ml_push(c->cx, &done, a);
        for (size_t m = k; m < producers->n; m++)
            if (ml_index_lca(c->p.index, producers->v[m], consumer->tag) == a)
                ml_push(c->cx, &same, producers->v[m]);
        bool ready = false; /* the analyzer, made when the prover is asked */

        for (size_t r = 0; r < consumer->n_reads; r++) {
            if ((c->only && c->only != &consumer->reads[r]) ||
                (c->values && is_window(c, &consumer->reads[r], &same)))
                continue;
            bool plainly = plainly_covered(c, consumer, &consumer->reads[r], a, &same);

            if (plainly && !CHECK_PLAIN)
                continue;
            if (!ready)
                ml_cover_at(c, a);
            ready = true;
            if (!ml_cover_region(c, consumer, &consumer->reads[r], a, &same)) {
                ML_ASSERT(!plainly);
                return false;
            }
        }
    }
    return true;
}

static void cover_key(ml_Cover *c, const ml_Block *consumer, const ml_UidVec *producers,
                      ml_FactKey *key)
{
    ml_key_ask(c->cx, key, c->values ? ML_ASK_PRODUCED : ML_ASK_COVER);
    ml_key_add(c->cx, key, consumer->reads);
    ml_key_nest(c->cx, key, c->p, consumer, 0);
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));

        ml_key_add(c->cx, key, w->writes);
        for (size_t m = 0; m < w->n_writes; m++)
            if (w->body->has_block || !ml_region_is_point(&w->writes[m])) {
                ml_key_add(c->cx, key, w->body);
                break;
            }
        ml_key_nest(c->cx, key, c->p, w, 0);
    }
    /* Thread loops above the scope matter to shared buffers. */
    for (ml_Uid u = ml_index_parent(c->p.index, c->scope); u;
         u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *node = ml_index_node(c->p.index, u);

        if (node->kind == ML_STMT_FOR && ml_as_for(node)->thread.axis)
            ml_key_add(c->cx, key, ml_as_for(node)->thread.name);
    }
}

static bool ask_cover(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool values,
                      bool set_error)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Mark mark = ml_mark(cx);
    ml_Cover c = {
        .cx = cx, .p = p, .explain = set_error, .consumer = block, .values = values};
    ml_UidVec producers = {0};
    ml_FactKey key = {0};
    bool answer = true;

    c.scope = ml_index_scope(p.index, block);
    if (!c.scope)
        return true;
    c.views = ml_has_views(p, c.scope);
    ml_cover_producers(&c, f, b, &producers);
    if (producers.n > 0) {
        cover_key(&c, b, &producers, &key);
        if (!ml_fact_get(f, &key, &answer)) {
            answer = covered(&c, b, &producers);
            ml_fact_put(f, &key, answer);
        } else if (!answer && set_error)
            covered(&c, b, &producers);
    }
    if (answer || !set_error)
        ml_release(cx, mark);
    return answer;
}

bool ml_is_covered(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error)
{
    return ask_cover(cx, f, p, block, false, set_error);
}

bool ml_is_private(const ml_Buffer *b)
{
    return b->scope.rank > ML_SCOPE_GLOBAL;
}

bool ml_reads_private(const ml_Block *b)
{
    for (size_t k = 0; k < b->n_reads; k++)
        if (ml_is_private(b->reads[k].buffer))
            return true;
    return false;
}

bool ml_is_produced(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error)
{
    return ml_is_covered(cx, f, p, block, false) ||
           ask_cover(cx, f, p, block, true, set_error);
}

void ml_cover_explain(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                      const ml_Region *read)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Cover c = {.cx = cx, .p = p, .explain = true, .only = read};
    ml_UidVec producers = {0};

    c.scope = ml_index_scope(p.index, block);
    c.views = ml_has_views(p, c.scope);
    ml_cover_producers(&c, f, b, &producers);
    covered(&c, b, &producers);
}
