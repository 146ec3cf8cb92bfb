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
#include "moonloop/verify/cover/cover_impl.h"

#include "moonloop/core/base/fault.h"

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

const ml_Buffer *ml_cover_canonical(ml_Cover *c, const ml_Buffer *b)
{
    return ml_canonical_buffer(c->p, c->scope, b);
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
                !ml_cover_by_choice(c, w, &w->writes[m], producers))
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
