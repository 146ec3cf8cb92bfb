/*
 * reorder - let loops of one chain take a new order in the positions they occupy.
 *
 * Loops move whole: variable, extent, kind, binding, annotations. Unlisted loops between
 * stay. Beyond the checks of TVM, three things that would change results are refused:
 * a reduction whose outputs are computed by several iterations must keep its reduce loops
 * inside (ir-and-analysis 5.2, rule 9), blocks that pass values to each other under the
 * innermost loop must do so within one iteration, and what instances of blocks pass to
 * later ones they must still pass. Source: primitives 6, reorder.
 */
#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/base/fault.h"

enum { LOOPS };

typedef struct Chain {
    size_t n;            /* loops on the path from the outermost to the innermost listed */
    const ml_For **path; /* outermost first */
    const ml_For **now;  /* the loop that stands at each position afterwards */
} Chain;

static size_t position(const Chain *ch, ml_Uid uid)
{
    for (size_t k = 0; k < ch->n; k++)
        if (ch->path[k]->var->uid == uid)
            return k;
    return ch->n;
}

/* The path between the outermost and the innermost of the given loops. */
static bool find_chain(ml_Call *c, const ml_Given *g, Chain *ch)
{
    ml_Ctx *cx = c->cx;
    const ml_Index *ix = c->p.index;
    ml_Uid top = g->uids[0], bottom = g->uids[0];

    for (size_t k = 0; k < g->n; k++)
        for (size_t m = 0; m < k; m++)
            if (g->uids[k] == g->uids[m])
                return ml_fail(cx, ML_E_DUPLICATE_LOOP, ML_LOOP_UID(g->uids[k]));
    for (size_t k = 1; k < g->n; k++) {
        ml_Uid u = g->uids[k];

        if (ml_index_scope(ix, u) != ml_index_scope(ix, top))
            return ml_fail_apart(c, top, u);
        if (ml_index_is_above(ix, u, top))
            top = u;
        else if (ml_index_is_above(ix, bottom, u))
            bottom = u;
        else if (!(ml_index_is_above(ix, top, u) && ml_index_is_above(ix, u, bottom)))
            return ml_fail(cx, ML_E_NOT_CHAIN, ML_LOOP_UID(bottom), ML_LOOP_UID(u),
                           ML_TEXT("neither is inside the other"));
    }
    ML_VEC(const ml_For *) up = {0};

    for (ml_Uid u = bottom;; u = ml_index_parent(ix, u)) {
        const ml_For *loop = ml_call_loop(c, u);

        if (up.n > 0 && loop->body != &up.v[up.n - 1]->base)
            return ml_fail_as(cx, ML_E_NOT_CHAIN,
                              "loops {0} and {1} are not on one chain: loop {0} holds "
                              "other statements too",
                              ML_LOOP(loop), ML_LOOP(up.v[up.n - 1]));
        ml_push(cx, &up, loop);
        if (u == top)
            break;
    }
    ch->n = up.n;
    ch->path = ML_ARRAY(cx, const ml_For *, up.n);
    ch->now = ML_ARRAY(cx, const ml_For *, up.n);
    for (size_t k = 0; k < up.n; k++)
        ch->path[k] = ch->now[k] = up.v[up.n - 1 - k];

    bool *listed = ML_ARRAY(cx, bool, up.n);
    size_t next = 0;

    for (size_t k = 0; k < g->n; k++)
        listed[position(ch, g->uids[k])] = true;
    for (size_t k = 0; k < ch->n; k++)
        if (listed[k])
            ch->now[k] = ml_call_loop(c, g->uids[next++]);
    return true;
}

/* No loop's bounds may mention a loop that is now inside it. */
static bool check_bounds(ml_Call *c, const Chain *ch)
{
    for (size_t k = 0; k < ch->n; k++)
        for (size_t m = k + 1; m < ch->n; m++) {
            const ml_For *outer = ch->now[k], *inner = ch->now[m];

            if (ml_expr_uses_var(outer->min, inner->var) ||
                ml_expr_uses_var(outer->extent, inner->var))
                return ml_fail(c->cx, ML_E_LOOP_DEPENDENT, ML_LOOP(outer), ML_LOOP(inner));
        }
    return true;
}

/* The loops from the chain's top down to the block, outermost first, also through blocks
 * without iters; false: another block is between. */
static bool loops_to(ml_Call *c, const ml_Block *b, const Chain *ch, ml_DomVec *out)
{
    ml_StmtVec loops = {0};

    for (ml_Uid u = ml_index_parent(c->p.index, b->tag); u;
         u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *node = ml_index_node(c->p.index, u);

        if (node->kind == ML_STMT_BLOCK && ml_as_block(node)->n_iters > 0)
            return false;
        if (node->kind != ML_STMT_FOR)
            continue;
        ml_push(c->cx, &loops, node);
        if (ml_as_for(node) != ch->path[0])
            continue;
        while (loops.n > 0) {
            const ml_For *f = ml_as_for(loops.v[--loops.n]);

            ml_push(c->cx, out, ((ml_Dom){f->var, f->min, f->extent}));
        }
        return true;
    }
    return false;
}

/* Whether two iterations of the loops from the chain's top inwards may run one instance of
 * the block: the bindings are not provably one-to-one in them. */
static bool may_repeat(ml_Call *c, const ml_Block *b, const Chain *ch)
{
    ml_Ctx *cx = c->cx;
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters);

    if (!loops_to(c, b, ch, &dom))
        return true;
    for (size_t k = 0; k < b->n_iters; k++)
        values[k] = b->iters[k].value;
    ml_Arith *ar = ml_arith_at(cx, c->p, ch->path[0]->var->uid);

    return !ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                          false);
}

/* A reduce loop that moves outside a loop under which instances repeat would accumulate
 * more than once. */
static bool check_repeats(ml_Call *c, const ml_Block *b, const Chain *ch)
{
    for (size_t r = 0; r < ch->n; r++) {
        if (!ml_loop_drives(b, ch->now[r], ML_ITER_REDUCE) ||
            ml_is_int(ch->now[r]->extent, 1))
            continue;
        for (size_t s = r + 1; s < ch->n; s++) {
            const ml_For *in = ch->now[s];

            if (ml_loop_drives(b, in, ML_ITER_REDUCE) || ml_is_int(in->extent, 1) ||
                position(ch, in->var->uid) > position(ch, ch->now[r]->var->uid))
                continue;
            if (!may_repeat(c, b, ch)) /* whichever two loops they are */
                return true;
            return ml_fail_as(
                c->cx, ML_E_REDUCTION_CHANGED,
                "several iterations of loop {0} may compute the same element of block {1}; "
                "with the reduce loop {2} outside, it would be accumulated more than once",
                ML_LOOP(in), ML_BLOCK(b), ML_LOOP(ch->now[r]));
        }
    }
    return true;
}

/* Loops that drive spatial and reduce iters at once (fused ones, split again) decide
 * together which reduce instance of an element comes first, which is where its init runs:
 * they keep their order. */
static bool check_mixed(ml_Call *c, const ml_Block *b, const Chain *ch)
{
    const ml_For *last = NULL;
    size_t at = 0;

    if (!b->init)
        return true;
    for (size_t k = 0; k < ch->n; k++) {
        const ml_For *f = ch->now[k];

        if (!ml_loop_drives(b, f, ML_ITER_REDUCE) ||
            !ml_loop_drives(b, f, ML_ITER_SPATIAL) || ml_is_int(f->extent, 1))
            continue;
        size_t was = position(ch, f->var->uid);

        if (last && was < at)
            return ml_fail_as(
                c->cx, ML_E_INIT_MISPLACED,
                "loops {0} and {1} both choose the element and the reduce instance of "
                "block {2}; in another order its init would not come first",
                ML_LOOP(f), ML_LOOP(last), ML_BLOCK(b));
        last = f;
        at = was;
    }
    return true;
}

/* Blocks below the innermost loop that touch one buffer must do so within one iteration:
 * readers are covered there, writers write disjoint elements in different iterations. */
static bool check_dependences(ml_Call *c, const ml_StmtVec *blocks, const Chain *ch)
{
    ml_Ctx *cx = c->cx;
    const ml_For *inner = ch->path[ch->n - 1];

    for (size_t k = 0; k < blocks->n; k++) {
        const ml_Block *b = ml_as_block(blocks->v[k]);
        ml_UidVec from = {0};
        bool fed = false;

        ml_producers(cx, c->facts, c->p, b->tag, &from);
        for (size_t m = 0; m < from.n; m++)
            fed |= ml_index_is_above(c->p.index, inner->var->uid, from.v[m]);
        if (!fed)
            continue;
        if (!ml_is_covered(cx, c->facts, c->p, b->tag, false))
            return ml_fail_as(cx, ML_E_ORDER_REVERSED,
                              "block {0} reads what other iterations write; another order "
                              "of the loops would change what it sees",
                              ML_BLOCK(b));
        for (size_t w = 0; w < b->n_writes; w++) {
            ml_UidVec writers = {0};
            size_t below = 0;

            ml_writers(cx, c->facts, c->p, ml_index_scope(c->p.index, b->tag),
                       b->writes[w].buffer, &writers);
            for (size_t m = 0; m < writers.n; m++)
                below += ml_index_is_above(c->p.index, inner->var->uid, writers.v[m]);
            for (size_t l = 0; below > 1 && l < ch->n; l++)
                if (!ml_is_int(ch->path[l]->extent, 1) &&
                    !ml_writes_disjoint(cx, c->facts, c->p, ch->path[l]->var->uid,
                                        b->writes[w].buffer))
                    return ml_fail_as(cx, ML_E_WRITES_OVERLAP,
                                      "{0} blocks under loop {1} write {2}, and iterations "
                                      "of loop {3} may write one element",
                                      ML_NUMBER("blocks", below), ML_LOOP(inner),
                                      ML_BUFFER(b->writes[w].buffer), ML_LOOP(ch->path[l]),
                                      ML_BLOCK(b));
        }
    }
    return true;
}

/* ---- dependences between iterations that change places */

typedef struct Driven {
    ml_Call *c;
    ml_Uid inner; /* the innermost loop of the chain */
    const ml_StmtVec *blocks;
} Driven;

static bool has_region_of(const ml_Region *v, size_t n, const ml_Buffer *buf)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->data == buf->data)
            return true;
    return false;
}

/* The block, or the one around it, that lies in one scope with the other or with one around
 * that. */
static ml_Uid side_of(const ml_Index *ix, const ml_Block *b, const ml_Block *other)
{
    ml_Uid u = b->tag;

    for (ml_Uid next = u; next; next = ml_index_scope(ix, u)) {
        u = next;
        for (ml_Uid w = other->tag; w; w = ml_index_scope(ix, w))
            if (ml_index_scope(ix, w) == ml_index_scope(ix, u))
                return u;
    }
    return u;
}

/* All that the block reads of the buffer, another one has written before in the same
 * iteration: cover is a question about the scope that holds both. */
static bool is_fed(const Driven *d, const ml_Block *b, const ml_Buffer *buf)
{
    for (size_t k = 0; k < d->blocks->n && ml_as_block(d->blocks->v[k]) != b; k++) {
        const ml_Block *from = ml_as_block(d->blocks->v[k]);

        if (has_region_of(from->writes, from->n_writes, buf))
            return ml_is_covered(d->c->cx, d->c->facts, d->c->p,
                                 side_of(d->c->p.index, b, from), false);
    }
    return false;
}

/* Each iteration has its own contents of the buffer: nothing in it comes from another one,
 * or is left for what follows. */
static bool is_own(const Driven *d, const ml_Buffer *buf)
{
    if (d->blocks->n < 2 ||
        !ml_buffer_is_private(d->c->cx, d->c->facts, d->c->p, d->inner, buf))
        return false;
    for (size_t k = 0; k < d->blocks->n; k++) {
        const ml_Block *b = ml_as_block(d->blocks->v[k]);
        ml_GoesOn g;

        if (has_region_of(b->reads, b->n_reads, buf) && !is_fed(d, b, buf))
            return false;
        if (has_region_of(b->writes, b->n_writes, buf) &&
            ml_goes_on(d->c->cx, d->c->p, b, true, d->inner, &g))
            return false;
    }
    return true;
}

/* Blocks of one scope with the loops are asked for what they pass on within an iteration;
 * others are not. */
static bool in_scope(const Driven *d, const ml_Block *b)
{
    return ml_index_scope(d->c->p.index, b->tag) == ml_index_scope(d->c->p.index, d->inner);
}

/* No other block writes what it reads. */
static ml_Runs runs_of(const Driven *d, const ml_Block *b)
{
    for (size_t k = 0; k < d->blocks->n; k++) {
        const ml_Block *from = ml_as_block(d->blocks->v[k]);

        for (size_t w = 0; from != b && w < from->n_writes; w++)
            if (has_region_of(b->reads, b->n_reads, from->writes[w].buffer))
                return ML_RUNS_ANYHOW;
    }
    return ML_RUNS_EQUAL;
}

static bool is_apart(const ml_Block *a, const ml_Touch *x, const ml_Block *b,
                     const ml_Touch *y, void *user)
{
    const Driven *d = user;

    if (a == b)
        return ml_runs_in_any_order(d->c, a, runs_of(d, a)) || is_own(d, x->buf);
    if (x->write && y->write) /* asked of the writers of each buffer */
        return in_scope(d, a);
    return is_fed(d, x->write ? b : a, x->buf);
}

/* A block before another one that overwrites what it reads, or of which nobody asked what
 * they pass on. */
static bool has_pair(const Driven *d)
{
    for (size_t k = 0; k < d->blocks->n; k++)
        for (size_t m = k + 1; m < d->blocks->n; m++) {
            const ml_Block *a = ml_as_block(d->blocks->v[k]);
            const ml_Block *b = ml_as_block(d->blocks->v[m]);
            bool all = !in_scope(d, a);

            for (size_t w = 0; w < b->n_writes; w++)
                if (has_region_of(a->reads, a->n_reads, b->writes[w].buffer) ||
                    (all && has_region_of(a->writes, a->n_writes, b->writes[w].buffer)))
                    return true;
            for (size_t w = 0; all && w < a->n_writes; w++)
                if (has_region_of(b->reads, b->n_reads, a->writes[w].buffer))
                    return true;
        }
    return false;
}

/* Loops of the chain that instances on one element do not agree in come in one order before
 * and after. */
static bool same_elements_stay(const Driven *d, const ml_Block *b, const Chain *ch)
{
    ml_Ctx *cx = d->c->cx;
    ml_StmtVec up = {0};
    ml_DomVec loops = {0};
    size_t at = 0;
    bool plain = true;

    for (size_t k = 0; k < b->n_iters; k++)
        plain &= b->iters[k].value->kind == ML_EXPR_VAR;
    if (!plain)
        ml_index_loops(cx, d->c->p.index, b->tag, &up);
    for (size_t k = 0; k < (plain ? ch->n : up.n); k++) {
        const ml_For *f = plain ? ch->path[k] : ml_as_for(up.v[k]);

        if (loops.n > 0 || f->var == ch->path[0]->var)
            ml_push(cx, &loops, ((ml_Dom){f->var, f->min, f->extent}));
    }
    bool *told = ML_ARRAY(cx, bool, loops.n + 1);

    if (loops.n < ch->n) /* a block further in */
        return false;
    ml_loops_told(b, loops.v, loops.n, !plain, told);
    for (size_t k = 0; k < ch->n; k++) {
        if (told[k] || ml_is_int(ch->path[k]->extent, 1))
            continue;
        while (at < ch->n && ch->now[at]->var != ch->path[k]->var)
            at++;
        if (at++ == ch->n)
            return false;
    }
    return true;
}

/* Instances that touch one element of what the block writes first differ in a loop whose
 * iterations are not apart; none of the loops inside of such a one has come outside, so that
 * it still decides. */
static bool outer_loops_decide(const Driven *d, const ml_Block *b, const Chain *ch)
{
    for (size_t k = 0; k < ch->n; k++) {
        ml_Uid loop = ch->path[k]->var->uid;
        size_t m = 0;
        bool apart = true;

        while (ch->now[m]->var->uid != loop)
            if (position(ch, ch->now[m++]->var->uid) > k)
                apart = ml_is_int(ch->path[k]->extent, 1);
        for (size_t w = 0; w < b->n_writes && !apart; w++)
            if (!ml_accesses_disjoint(d->c->cx, d->c->facts, d->c->p, loop,
                                      b->writes[w].buffer))
                return false;
    }
    return b->n_matches == 0;
}

static bool check_instances(ml_Call *c, const ml_StmtVec *driven, const Chain *ch)
{
    ml_Ctx *cx = c->cx;
    Driven d = {c, ch->path[ch->n - 1]->var->uid, driven};
    ml_DomVec loops = {0};
    const ml_Expr **key = ML_ARRAY(cx, const ml_Expr *, ch->n);
    const ml_Expr **extents = ML_ARRAY(cx, const ml_Expr *, ch->n);
    const ml_Block **blocks = ML_ARRAY(cx, const ml_Block *, driven->n + 1);
    bool free = !has_pair(&d);

    for (size_t k = 0; k < driven->n; k++) {
        blocks[k] = ml_as_block(driven->v[k]);
        free = free && (same_elements_stay(&d, blocks[k], ch) ||
                        ml_runs_in_any_order(c, blocks[k], runs_of(&d, blocks[k])));
    }
    if (free || (driven->n == 1 && outer_loops_decide(&d, blocks[0], ch)))
        return true;
    for (size_t k = 0; k < ch->n; k++) {
        const ml_For *f = ch->path[k];

        ml_push(cx, &loops, ((ml_Dom){f->var, f->min, f->extent}));
        key[k] = ml_var(cx, ch->now[k]->var);
        extents[k] = ch->now[k]->extent;
    }
    return ml_keeps_order(cx, c->p,
                          &(ml_NewOrder){.loops = loops.v,
                                         .n = loops.n,
                                         .key = key,
                                         .extents = extents,
                                         .n_key = ch->n,
                                         .blocks = blocks,
                                         .n_blocks = driven->n,
                                         .ignore = is_apart,
                                         .user = &d});
}

/* The blocks below st that its loops drive: those without iters let them through. */
static void find_driven(ml_Ctx *cx, const ml_Stmt *st, ml_StmtVec *out)
{
    ml_StmtVec below = {0};

    ml_child_blocks(cx, st, &below);
    for (size_t k = 0; k < below.n; k++)
        if (ml_as_block(below.v[k])->n_iters > 0)
            ml_push(cx, out, below.v[k]);
        else
            find_driven(cx, below.v[k], out);
}

static bool has_order(const ml_Iter *it)
{
    return it->kind != ML_ITER_SPATIAL && it->kind != ML_ITER_REDUCE;
}

static bool see_effect(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= (e->flags & ML_X_EFFECT) != 0;
    return false;
}

/* An ordered or opaque iter wants its values in their order. Loops that drive none may come
 * inside of it, for what instances pass on to each other is asked apart; calls that do more
 * than compute stay where they are. */
static bool check_kinds(ml_Call *c, const ml_Block *b, const Chain *ch)
{
    bool effect = false;

    for (size_t m = 0; m < b->n_iters; m++) {
        size_t last = 0;
        bool stays = true;

        if (!has_order(&b->iters[m]))
            continue;
        if (!effect)
            ml_stmt_visit_exprs_below(b->body, ML_ROLES_ALL, see_effect, &effect);
        for (size_t k = 0; k < ch->n; k++) {
            const ml_For *f = ch->now[k];

            if (ml_is_int(f->extent, 1) || (!ml_loop_drives(b, f, ML_ITER_OPAQUE) &&
                                            !ml_loop_drives(b, f, ML_ITER_ORDERED)))
                continue;
            stays &= position(ch, f->var->uid) >= last;
            last = position(ch, f->var->uid);
        }
        if (effect || !stays)
            return ml_fail(c->cx, ML_E_BAD_ITER_KIND, ML_ITER(b, m), ML_BLOCK(b),
                           ML_TEXT(ml_iter_kind_name((ml_IterKind)b->iters[m].kind)));
    }
    return true;
}

static bool check_blocks(ml_Call *c, const Chain *ch)
{
    ml_Ctx *cx = c->cx;
    ml_StmtVec blocks = {0};

    ml_child_blocks(cx, &ch->path[ch->n - 1]->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);
        const char *why = NULL;

        if (ml_call_asks(c, ML_SOUND) && !check_kinds(c, b, ch))
            return false;
        if (b->n_iters == 0)
            continue;
        if (!ML_PROVE(c, ML_SOUND,
                      ml_is_affine(cx, c->facts, c->p, b->tag, &why) ||
                          ml_is_affine_under(cx, c->facts, c->p, b->tag,
                                             ch->path[0]->var->uid, &why)))
            return ml_fail(cx, ML_E_NOT_AFFINE, ML_BLOCK(b), ML_TEXT(why ? why : "?"));
    }
    if (!check_bounds(c, ch))
        return false;
    if (!ml_call_asks(c, ML_SOUND) || ML_FAULT(REORDER_DEPENDENCE))
        return true;
    ml_StmtVec driven = {0};

    find_driven(cx, &ch->path[ch->n - 1]->base, &driven);
    for (size_t k = 0; k < driven.n; k++) {
        const ml_Block *b = ml_as_driven(c, ml_as_block(driven.v[k]));

        if (!check_repeats(c, b, ch) || !check_mixed(c, b, ch))
            return false;
    }
    return ml_check_reads_in_blocks(c, &ch->path[0]->base, NULL) &&
           (driven.n < 2 || ml_check_one_name(c, ch->path[0]->var->uid)) &&
           (blocks.n < 2 || check_dependences(c, &blocks, ch)) &&
           (ML_FAULT(SELF_DEPENDENCE) || check_instances(c, &driven, ch));
}

/* A concurrent loop that comes outside of another runs the iterations of that one at the
 * same time, too: those of different iterations must write different elements. */
static bool comes_outside(const Chain *ch, size_t k)
{
    const ml_For *f = ch->now[k];

    if (f->kind == ML_FOR_SERIAL || f->kind == ML_FOR_UNROLLED || ml_is_int(f->extent, 1))
        return false;
    for (size_t m = k + 1; m < ch->n; m++)
        if (!ml_is_int(ch->now[m]->extent, 1) &&
            position(ch, ch->now[m]->var->uid) < position(ch, f->var->uid))
            return true;
    return false;
}

/* Under blockIdx a global buffer is shared, also by the iterations of loops further inside:
 * a blockIdx loop that comes outside of a parallel one takes their own buffers from them.
 */
static void name_shared(ml_Call *c, const Chain *ch, ml_Uid nest)
{
    bool shared = false;

    for (size_t k = 0; k < ch->n; k++)
        shared |= ch->now[k]->thread.axis == ML_AXIS_BLOCK || comes_outside(ch, k);
    if (!shared)
        return;
    ml_call_subject(c, ML_SCOPE_OF, nest, NULL);
    for (size_t k = 0; k < ch->n; k++)
        if (comes_outside(ch, k))
            ml_call_subject(c, ML_LOOP_OF, ch->now[k]->var->uid, NULL);
    ml_call_subjects_below(c, ML_BLOCK_OF, nest);
}

/* Nested loops of one tag are one thread, whose number the inner one gives: one that comes
 * inside of another must be used by nothing of that one. */
static void name_nested(ml_Call *c, const Chain *ch)
{
    for (size_t k = 1; k < ch->n; k++)
        for (size_t m = 0; m < k && ch->now[k]->thread.axis; m++)
            if (ml_thread_eq(ch->now[m]->thread, ch->now[k]->thread) &&
                position(ch, ch->now[m]->var->uid) > position(ch, ch->now[k]->var->uid)) {
                ml_call_subject(c, ML_THREAD_OF, ch->now[k]->var->uid, NULL);
                break;
            }
}

static bool reorder(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *g = &c->args[LOOPS];
    Chain ch = {0};

    if (g->n < 2)
        return true;
    if (!find_chain(c, g, &ch))
        return false;
    ML_ASSERT(ch.n > 0 && ch.path);
    if (!check_blocks(c, &ch))
        return false;

    const ml_Stmt *st = ch.path[ch.n - 1]->body;

    for (size_t k = ch.n; k-- > 0;) {
        ml_For f = *ch.now[k];

        f.body = st;
        st = ch.now[k] == ch.path[k] && st == ch.path[k]->body ? &ch.path[k]->base
                                                               : ml_for_from(cx, &f);
    }
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, ch.path[0]->var->uid, st);
    if (ml_call_asks(c, ML_STRICT)) {
        name_nested(c, &ch);
        name_shared(c, &ch, ml_stmt_uid(st));
    }
    return true;
}

static const ml_Post posts[] = {
    {ML_STRICT, ML_THREAD_OF, ml_check_launchable, NULL},
    {ML_STRICT, ML_SCOPE_OF, ml_check_one_name, NULL},
    /* What one iteration of it reads, another may write now. */
    {ML_STRICT, ML_LOOP_OF, ml_check_compact, NULL},
    {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("loops", ML_P_LOOPS, "the loops in their new order; unlisted ones stay"),
};

const ml_Primitive ml_prim_reorder = {
    ML_PRIM(reorder, "Reorder"),
    .group = "loops",
    .summary = "change the order of nested loops",
    .help =
        "The listed loops, which lie on one chain, take the listed order in the positions\n"
        "they occupy. Fewer than two loops: nothing happens.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_DUPLICATE_LOOP, ML_E_NOT_SAME_SCOPE, ML_E_NOT_CHAIN, ML_E_BAD_ITER_KIND,
            ML_E_NOT_AFFINE, ML_E_LOOP_DEPENDENT, ML_E_ORDER_REVERSED, ML_E_INIT_MISPLACED,
            ML_E_REDUCTION_CHANGED, ML_E_WRITES_OVERLAP, ML_E_WOULD_RACE,
            ML_E_OUTSIDE_BLOCKS, ML_E_NAMES_OVERLAP, ML_E_THREAD_NESTED, ML_E_OK},
    .one_order = true,
};
