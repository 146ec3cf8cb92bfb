/*
 * cover - whether what a block reads was written before, under every loop that it shares
 * with a producer; and the stage pipeline of a scope.
 *
 * Per common ancestor: the union of what the producers write (lower bounds, merged as
 * boxes) must hold what the consumer reads (upper bound). Storage decides which thread
 * loops count: shared memory is seen by all threads of a block, private memory by one
 * thread only, so that there loops of one tag and extent are one symbol. Source:
 * ir-and-analysis 2.4, 5.4.
 */
#include "verify/attained.h"

#include "core/fault.h"

/* -DML_CHECK_COVER: what numbers show is shown by the prover, too. */
#ifdef ML_CHECK_COVER
enum { CHECK_PLAIN = 1 };
#else
enum { CHECK_PLAIN = 0 };
#endif

/* The loops between a block and the ancestor, split into what is relaxed and what is one
 * thread's own. */
typedef struct Around {
    ml_DomVec dom;
    ml_Subst threads; /* private thread loops -> one variable per tag and extent */
} Around;

typedef struct Tag {
    const char *tag;
    const ml_Expr *extent;
    const ml_Var *var;
    const ml_For *loop; /* the first one of it */
} Tag;

typedef struct Cover {
    ml_Ctx *cx;
    ml_Program p;
    ml_Uid scope;
    ml_Arith *ar;
    ML_VEC(Tag) tags;
    bool explain;
    bool views; /* of the scope or above */
} Cover;

static const ml_Var *tag_var(Cover *c, const ml_For *f)
{
    for (size_t k = 0; k < c->tags.n; k++)
        if (ml_streq(c->tags.v[k].tag, f->thread) && c->tags.v[k].extent == f->extent)
            return c->tags.v[k].var;
    const ml_Var *v = ml_var_new(c->cx, f->thread, f->var->type);

    ml_arith_bind_range(c->ar, v, f->min, f->extent);
    ml_push(c->cx, &c->tags, ((Tag){f->thread, f->extent, v, f}));
    return v;
}

static void look_around(Cover *c, ml_Uid block, ml_Uid stop, const ml_Buffer *buf,
                        Around *out)
{
    ml_Scope scope;
    ml_DomVec all = {0};

    if (!ml_scope_parse(buf->scope, &scope))
        scope = (ml_Scope){0, ""};
    ml_relax_domain(c->cx, c->p, block, stop, buf, &all);
    *out = (Around){0};
    for (size_t k = 0; k < all.n; k++) {
        const ml_For *f = ml_as_for(ml_index_node(c->p.index, all.v[k].var->uid));

        if (scope.rank > 0 && f->thread && !ml_scope_spans(scope, f->thread))
            ml_subst_var(c->cx, &out->threads, f->var, ml_var(c->cx, tag_var(c, f)));
        else
            ml_push(c->cx, &out->dom, all.v[k]);
    }
}

/* A region of the block in terms of what is around it. */
static ml_Region outward(Cover *c, const ml_Block *b, const ml_Region *r,
                         const Around *around, const ml_Expr **pred)
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

static void clip(Cover *c, const ml_Buffer *buf, ml_Interval *box)
{
    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *zero = ml_int(c->cx, buf->shape[d]->type, 0);

        box[d] = ml_interval_intersect(c->ar, box[d],
                                       ml_interval_range(c->ar, zero, buf->shape[d]));
    }
}

static const ml_Buffer *canonical(Cover *c, const ml_Buffer *b)
{
    return ml_canonical_buffer(c->p, c->scope, b);
}

static const ml_Expr *at_unit_loops(Cover *c, const ml_Expr *e, const ml_DomVec *dom)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < dom->n; k++)
        if (ml_is_int(dom->v[k].extent, 1))
            ml_subst_var(c->cx, &sub, dom->v[k].var, dom->v[k].min);
    return sub.vars ? ml_simplify(c->ar, ml_expr_subst(c->cx, e, &sub)) : e;
}

/* A producer's predicate without the conjuncts that only outer loops decide and that hold
 * wherever an instance of the consumer runs: where none does, nothing is read. */
static const ml_Expr *where_read(Cover *c, const ml_Expr *pred, const ml_DomVec *own,
                                 const ml_Expr *given, const ml_DomVec *inner)
{
    pred = at_unit_loops(c, pred, own);
    if (ml_is_true(pred))
        return pred;
    if (pred->kind == ML_EXPR_AND)
        return ml_and(c->cx, where_read(c, pred->args[0], own, given, inner),
                      where_read(c, pred->args[1], own, given, inner));
    for (size_t k = 0; k < own->n; k++)
        if (ml_expr_uses_var(pred, own->v[k].var))
            return pred;
    ml_ArithMark mark = ml_arith_save(c->ar);

    for (size_t k = 0; k < inner->n; k++)
        ml_arith_bind_range(c->ar, inner->v[k].var, inner->v[k].min, inner->v[k].extent);
    ml_arith_assume(c->ar, at_unit_loops(c, given, inner));
    bool holds = ml_prove_symbolic(c->ar, pred);

    ml_arith_restore(c->ar, mark);
    return holds ? ml_bool(c->cx, true) : pred;
}

/* What holds where an instance of the consumer reads an element that there is: its
 * predicate, and that the region meets the buffer. */
static const ml_Expr *touched(Cover *c, const ml_Buffer *buf, const ml_Region *r,
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

/* One region read, against the producers whose common ancestor with the consumer is `a`. */
static bool region_covered(Cover *c, const ml_Block *consumer, const ml_Region *read,
                           ml_Uid a, const ml_UidVec *producers)
{
    const ml_Buffer *buf = canonical(c, read->buffer);
    size_t rank = read->buffer->rank;
    bool aliased = buf != read->buffer;
    ml_Uid stop = a == c->scope ? 0 : a;
    ml_Boxes *boxes = ml_boxes_new(c->ar, rank);
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank);
    const ml_Expr *pred, *given;
    Around around, mine;
    bool written = false;

    look_around(c, consumer->tag, stop, read->buffer, &mine);
    ml_Region mine_read = outward(c, consumer, read, &mine, &given);
    const ml_Expr *inside = NULL; /* made when a producer has a predicate */

    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));

        for (size_t m = 0; m < w->n_writes; m++) {
            if (canonical(c, w->writes[m].buffer)->uid != buf->uid)
                continue;
            written = true;
            /* Through a view the elements are others: only a view of itself compares. */
            if (w->writes[m].buffer->uid != read->buffer->uid) {
                aliased = true;
                continue;
            }
            look_around(c, w->tag, stop, read->buffer, &around);
            ml_Region r = outward(c, w, &w->writes[m], &around, &pred);

            if (!ml_is_true(pred)) {
                if (!inside)
                    inside = touched(c, read->buffer, &mine_read, &mine.dom, given);
                pred = where_read(c, pred, &around.dom, inside, &mine.dom);
            }
            if (!ml_region_lower(c->ar, r.ranges, rank, around.dom.v, around.dom.n, pred,
                                 box))
                continue;
            clip(c, read->buffer, box);
            ml_boxes_add(boxes, box);
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
    if (c->explain) {
        const char *text;

        if (aliased)
            text = "it is written through a view";
        else if (ml_boxes_count(boxes) == 0)
            text = "cannot show which elements are written";
        else
            text = ml_format(c->cx, "dimension %zu reads %s, written is %s", dim,
                             ml_interval_text(c->cx, box[dim]),
                             ml_interval_text(c->cx, ml_boxes_at(boxes, 0)[dim]));
        ml_fail(c->cx, ML_E_NOT_REGION_COVERED, ML_BLOCK(consumer), ML_BUFFER(read->buffer),
                ML_TEXT(text), ML_BLOCK_UID(producers->v[0]));
    }
    return false;
}

static bool writes_itself(const ml_Block *b, const ml_Buffer *buf)
{
    for (size_t k = 0; k < b->n_writes; k++)
        if (b->writes[k].buffer->uid == buf->uid)
            return true;
    return false;
}

/* Writers before the consumer of anything that it reads. */
static void raw_producers(Cover *c, ml_Facts *f, const ml_Block *consumer, ml_UidVec *out)
{
    ml_Children ch = ml_scope_children(f, c->p, c->scope);
    const ml_Buffer **reads = ML_ARRAY(c->cx, const ml_Buffer *, consumer->n_reads + 1);

    for (size_t k = 0; k < consumer->n_reads; k++)
        reads[k] = canonical(c, consumer->reads[k].buffer);
    for (size_t m = 0; m < ch.n && ch.v[m]->tag != consumer->tag; m++) {
        bool writes = false;

        for (size_t k = 0; k < consumer->n_reads && !writes; k++)
            writes = c->views ? ml_block_writes(c->p, c->scope, ch.v[m], reads[k])
                              : writes_itself(ch.v[m], reads[k]);
        if (writes)
            ml_push(c->cx, out, ch.v[m]->tag);
    }
}

/* By numbers alone: nothing of the group writes what is read, or one of it writes it all.
 */
static bool plainly_covered(const Cover *c, const ml_Block *consumer, const ml_Region *read,
                            ml_Uid a, const ml_UidVec *producers)
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
            if (ml_covers_plainly(c->p, a, w, &w->writes[m], consumer, read))
                return true;
        }
    }
    return !written;
}

static bool covered(Cover *c, const ml_Block *consumer, const ml_UidVec *producers)
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
            bool plainly = plainly_covered(c, consumer, &consumer->reads[r], a, &same);

            if (plainly && !CHECK_PLAIN)
                continue;
            if (!ready) {
                c->ar = ml_arith_at(c->cx, c->p, a);
                c->tags.n = 0;
                if (ml_index_node(c->p.index, a)->kind == ML_STMT_FOR)
                    ml_arith_bind_loop(c->ar, ml_as_for(ml_index_node(c->p.index, a)));
                ready = true;
            }
            if (!region_covered(c, consumer, &consumer->reads[r], a, &same)) {
                ML_ASSERT(!plainly);
                return false;
            }
        }
    }
    return true;
}

static const char COVER, PIPELINE; /* their addresses tell the questions apart */

static void cover_key(Cover *c, const ml_Block *consumer, const ml_UidVec *producers,
                      ml_FactKey *key)
{
    ml_key_add(c->cx, key, &COVER);
    ml_key_add(c->cx, key, consumer->reads);
    ml_key_nest(c->cx, key, c->p, consumer, 0);
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));

        ml_key_add(c->cx, key, w->writes);
        ml_key_nest(c->cx, key, c->p, w, 0);
    }
    /* Thread loops above the scope matter to shared buffers. */
    for (ml_Uid u = ml_index_parent(c->p.index, c->scope); u;
         u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *node = ml_index_node(c->p.index, u);

        if (node->kind == ML_STMT_FOR && ml_as_for(node)->thread)
            ml_key_add(c->cx, key, ml_as_for(node)->thread);
    }
}

bool ml_is_covered(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Mark mark = ml_mark(cx);
    Cover c = {.cx = cx, .p = p, .explain = set_error};
    ml_UidVec producers = {0};
    ml_FactKey key = {0};
    bool answer = true;

    c.scope = ml_index_scope(p.index, block);
    if (!c.scope)
        return true;
    c.views = ml_has_views(p, c.scope);
    raw_producers(&c, f, b, &producers);
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

/* ---- what is provably missing */

/* Some end of what is read lies provably, at some point, outside all that is written. */
static bool dimension_missed(Cover *c, ml_Interval read, ml_Interval written)
{
    ml_Subst threads = {0};
    const ml_Expr *gaps[2] = {NULL, NULL};

    if (read.nothing)
        return false;
    if (written.nothing)
        return true;
    for (size_t k = 0; k < c->tags.n; k++)
        ml_subst_var(c->cx, &threads, c->tags.v[k].var,
                     ml_var(c->cx, c->tags.v[k].loop->var));
    if (read.max && written.max && ml_dtype_eq(read.max->type, written.max->type))
        gaps[0] = ml_sub(c->cx, read.max, written.max);
    if (read.min && written.min && ml_dtype_eq(read.min->type, written.min->type))
        gaps[1] = ml_sub(c->cx, written.min, read.min);
    for (size_t k = 0; k < 2; k++) {
        if (!gaps[k])
            continue;
        if (threads.vars) {
            for (size_t t = 0; t < c->tags.n; t++)
                ml_arith_bind_loop(c->ar, c->tags.v[t].loop);
            gaps[k] = ml_expr_subst(c->cx, gaps[k], &threads);
        }
        if (ml_reaches(c->ar, c->p, gaps[k], 1))
            return true;
    }
    return false;
}

/* The elements surely read of one region, against the hull of all that may be written. */
static bool region_missed(Cover *c, const ml_Block *consumer, const ml_Region *read,
                          ml_Uid a, const ml_UidVec *producers)
{
    size_t rank = read->buffer->rank;
    ml_Uid stop = a == c->scope ? 0 : a;
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank + 1);
    ml_Interval *hull = ML_ARRAY(c->cx, ml_Interval, rank + 1);
    const ml_Expr *pred;
    Around around;
    bool written = false;

    for (size_t d = 0; d < rank; d++)
        hull[d] = ML_NOTHING;
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));

        for (size_t m = 0; m < w->n_writes; m++) {
            if (canonical(c, w->writes[m].buffer)->uid != canonical(c, read->buffer)->uid)
                continue;
            /* Another level or a view: not decided here. */
            if (w->writes[m].buffer->uid != read->buffer->uid ||
                ml_index_lca(c->p.index, w->tag, consumer->tag) != a)
                return false;
            look_around(c, w->tag, stop, read->buffer, &around);
            ml_Region r = outward(c, w, &w->writes[m], &around, &pred);

            ml_region_upper(c->ar, r.ranges, rank, around.dom.v, around.dom.n, pred, box);
            for (size_t d = 0; d < rank; d++)
                hull[d] = ml_interval_union(c->ar, hull[d], box[d]);
            written = true;
        }
    }
    if (!written)
        return false;
    look_around(c, consumer->tag, stop, read->buffer, &around);
    ml_Region r = outward(c, consumer, read, &around, &pred);

    for (size_t d = 0; d < around.dom.n; d++)
        if (ml_arith_bound(c->ar, around.dom.v[d].extent).lo < 1)
            return false;
    for (size_t d = 0; d < rank; d++) /* surely something is read */
        if (ml_arith_bound(c->ar, r.ranges[d].extent).lo < 1)
            return false;
    if (!ml_region_lower(c->ar, r.ranges, rank, around.dom.v, around.dom.n, pred, box))
        return false;
    /* What lies outside the buffer is not read. */
    for (size_t d = 0; d < rank; d++) {
        ml_Interval whole = ml_interval_range(
            c->ar, ml_int(c->cx, read->buffer->shape[d]->type, 0), read->buffer->shape[d]);

        if (box[d].nothing || !ml_interval_includes(c->ar, whole, box[d]))
            return false;
        /* Nor anything at all where the predicate leaves nothing. */
        if (!box[d].min || !box[d].max ||
            !ml_dtype_eq(box[d].min->type, box[d].max->type) ||
            !ml_prove_symbolic(c->ar, ml_le(c->cx, box[d].min, box[d].max)))
            return false;
    }
    for (size_t d = 0; d < rank; d++)
        if (dimension_missed(c, box[d], hull[d]))
            return true;
    return false;
}

bool ml_is_missed(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Mark mark = ml_mark(cx);
    Cover c = {.cx = cx, .p = p, .scope = ml_index_scope(p.index, block)};
    ml_UidVec producers = {0};
    bool missed = false;

    c.views = ml_has_views(p, c.scope);
    raw_producers(&c, f, b, &producers);
    for (size_t k = 0; k < producers.n && !missed; k++) {
        ml_Uid a = ml_index_lca(p.index, producers.v[k], block);

        c.ar = ml_arith_at(cx, p, a);
        c.tags.n = 0;
        if (ml_index_node(p.index, a)->kind == ML_STMT_FOR)
            ml_arith_bind_loop(c.ar, ml_as_for(ml_index_node(p.index, a)));
        for (size_t r = 0; r < b->n_reads && !missed; r++)
            missed = region_missed(&c, b, &b->reads[r], a, &producers);
    }
    ml_release(cx, mark);
    return missed;
}

/* ---- stage pipeline */

/* A block that overwrites what an earlier one reads. */
static bool find_war(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                     const ml_Block **reader, const ml_Block **writer,
                     const ml_Buffer **buf)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    ml_Map *readers = ml_map_new(cx); /* canonical buffer -> first reader */

    for (size_t m = 0; m < ch.n; m++) {
        const ml_Block *b = ch.v[m];

        for (size_t k = 0; k < b->n_writes; k++) {
            const ml_Buffer *w = ml_canonical_buffer(p, scope, b->writes[k].buffer);
            const ml_Block *r = ml_map_get(readers, w->uid);

            if (r && r->tag != b->tag) {
                *reader = r;
                *writer = b;
                *buf = w;
                return true;
            }
        }
        for (size_t k = 0; k < b->n_reads; k++) {
            const ml_Buffer *r = ml_canonical_buffer(p, scope, b->reads[k].buffer);

            if (!ml_map_has(readers, r->uid))
                ml_map_set(cx, readers, r->uid, b);
        }
    }
    return false;
}

static bool stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                           bool explain)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    const ml_Stmt *root = ml_index_node(p.index, scope);
    const ml_Block *reader = NULL, *writer = NULL;
    const ml_Buffer *buf = NULL;

    if (find_war(cx, f, p, scope, &reader, &writer, &buf)) {
        if (explain)
            ml_fail(cx, ML_E_NOT_STAGE_PIPELINE, ML_BLOCK(root),
                    ML_TEXT(ml_format(
                        cx, "block %s overwrites %s, which block %s reads before it",
                        writer->name, buf->name, reader->name)),
                    ML_BLOCK(writer), ML_BLOCK(reader), ML_BUFFER(buf));
        return false;
    }
    for (size_t m = 0; m < ch.n; m++) {
        if (ml_is_covered(cx, f, p, ch.v[m]->tag, false))
            continue;
        if (explain) {
            ml_is_covered(cx, f, p, ch.v[m]->tag, true);
            const ml_Error *e = ml_error(cx);
            const char *text = "its producers do not cover what it reads";
            const ml_Buffer *read = NULL;

            if (e && e->code == ML_E_NOT_REGION_COVERED) {
                read = e->facts[1].as.buffer;
                text = ml_strdup(cx, ml_str(e->facts[2].as.text));
            }
            ml_error_clear(cx);
            ml_fail(cx, ML_E_NOT_STAGE_PIPELINE, ML_BLOCK(root),
                    ML_TEXT(ml_format(
                        cx, "cannot show that what block %s reads of %s was written: %s",
                        ch.v[m]->name, read ? read->name : "a buffer", text)),
                    ML_BLOCK(ch.v[m]));
        }
        return false;
    }
    return true;
}

/* ---- the same for a version that shares most of its statements with one that was shown */

enum { MAX_CHANGED = 24 };

typedef struct Changed {
    ml_StmtVec blocks;              /* of the statements that are new */
    ML_VEC(const ml_Buffer *) made; /* written by blocks of old and new statements */
    ML_VEC(const ml_Buffer *) used; /* read or written by those of new statements */
} Changed;

static bool in_list(const ml_Buffer *const *v, size_t n, const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k]->uid == b->uid)
            return true;
    return false;
}

static void add_buffers(ml_Ctx *cx, Changed *c, const ml_Block *b, bool is_new)
{
    for (size_t k = 0; k < b->n_writes; k++) {
        if (!in_list(c->made.v, c->made.n, b->writes[k].buffer))
            ml_push(cx, &c->made, b->writes[k].buffer);
        if (is_new && !in_list(c->used.v, c->used.n, b->writes[k].buffer))
            ml_push(cx, &c->used, b->writes[k].buffer);
    }
    for (size_t k = 0; is_new && k < b->n_reads; k++)
        if (!in_list(c->used.v, c->used.n, b->reads[k].buffer))
            ml_push(cx, &c->used, b->reads[k].buffer);
}

/* The statements that differ between two bodies; false: too many, or no lists. */
static bool find_changed(ml_Ctx *cx, const ml_Stmt *was, const ml_Stmt *now, Changed *c)
{
    if (was->kind != ML_STMT_SEQ || now->kind != ML_STMT_SEQ)
        return false;
    const ml_Seq *a = ml_as_seq(was), *b = ml_as_seq(now);
    size_t n = a->n < b->n ? a->n : b->n, head = 0, tail = 0;

    while (head < n && a->stmts[head] == b->stmts[head])
        head++;
    while (tail < n - head && a->stmts[a->n - 1 - tail] == b->stmts[b->n - 1 - tail])
        tail++;
    if (a->n - head - tail > MAX_CHANGED || b->n - head - tail > MAX_CHANGED)
        return false;
    for (size_t side = 0; side < 2; side++) {
        const ml_Seq *q = side ? b : a;

        for (size_t k = head; k < q->n - tail; k++) {
            ml_StmtVec v = {0};

            if (q->stmts[k]->kind == ML_STMT_BLOCK)
                ml_push(cx, &v, q->stmts[k]);
            else
                ml_child_blocks(cx, q->stmts[k], &v);
            for (size_t m = 0; m < v.n; m++) {
                add_buffers(cx, c, ml_as_block(v.v[m]), side == 1);
                if (side)
                    ml_push(cx, &c->blocks, v.v[m]);
            }
        }
    }
    return true;
}

/* Whether what changed keeps the scope a stage pipeline: only its blocks, and readers of
 * what they write or wrote, can have lost their cover; only their buffers can have got a
 * WAR. */
static bool still_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                           const Changed *c)
{
    ml_Children ch = ml_scope_children(f, p, scope);
    const ml_Block **reader = ML_ARRAY(cx, const ml_Block *, c->used.n + 1);

    for (size_t m = 0; m < ch.n; m++) {
        const ml_Block *b = ch.v[m];
        bool ask = false;

        for (size_t k = 0; k < b->n_writes; k++)
            for (size_t u = 0; u < c->used.n; u++)
                if (c->used.v[u]->uid == b->writes[k].buffer->uid && reader[u] &&
                    reader[u] != b)
                    return false;
        for (size_t k = 0; k < b->n_reads; k++) {
            ask |= in_list(c->made.v, c->made.n, b->reads[k].buffer);
            for (size_t u = 0; u < c->used.n; u++)
                if (c->used.v[u]->uid == b->reads[k].buffer->uid && !reader[u])
                    reader[u] = b;
        }
        for (size_t k = 0; !ask && k < c->blocks.n; k++)
            ask = c->blocks.v[k] == &b->base;
        if (ask && !ml_is_covered(cx, f, p, b->tag, false))
            return false;
    }
    return true;
}

/* true: shown from what was shown before; false: nothing is known by this. */
static bool pipeline_by_change(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    const ml_Block *root = ml_as_block(ml_index_node(p.index, scope));
    const ml_Stmt *was = ml_last_pipeline(f, scope);
    Changed c = {0};

    /* Views and thread loops above the scope take part in cover, too. */
    if (!was || root->n_matches > 0 || ml_index_parent(p.index, scope) != 0)
        return false;
    return find_changed(cx, was, root->body, &c) && still_pipeline(cx, f, p, scope, &c);
}

static bool ask_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope, bool explain)
{
    ml_Mark mark = ml_mark(cx);
    ml_FactKey key = {0};
    const ml_Block *root = ml_as_block(ml_index_node(p.index, scope));
    bool answer;

    ml_key_add(cx, &key, &PIPELINE);
    ml_key_add(cx, &key, root->body);
    ml_key_add(cx, &key, root->matches);
    for (ml_Uid u = ml_index_parent(p.index, scope); u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *node = ml_index_node(p.index, u);

        if (node->kind == ML_STMT_FOR)
            ml_key_add(cx, &key, ml_as_for(node)->thread);
    }
    if (!ml_fact_get(f, &key, &answer)) {
        answer =
            pipeline_by_change(cx, f, p, scope) || stage_pipeline(cx, f, p, scope, false);
        ml_fact_put(f, &key, answer);
        if (answer)
            ml_set_last_pipeline(f, scope, root->body);
    }
    if (!answer && explain)
        stage_pipeline(cx, f, p, scope, true);
    if (answer || !explain)
        ml_release(cx, mark);
    return answer;
}

bool ml_is_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    return ask_pipeline(cx, f, p, scope, false);
}

bool ml_need_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope)
{
    return ask_pipeline(cx, f, p, scope, true);
}
