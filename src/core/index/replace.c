/*
 * replace - a new program with one subtree exchanged, and its index.
 *
 * The path to the root is copied, everything beside it is shared. The index is brought up
 * to date in three passes over the exchanged part only:
 *   1. old and new are walked side by side while they agree; where they do not, the two
 *      statements are set aside (equal pointers at equal places are skipped at once);
 *   2. the new statements are entered; one that the old index holds as the same pointer is
 *      shared, and so is all below it;
 *   3. the old statements are searched for uids that pass 2 did not meet: they have ended.
 * Source: ir-and-analysis 2.6, 8.2.
 */
#include "moonloop/core/index/index_pages.h"

/* -DML_CHECK_INDEX: after each replacement the index is compared with a fresh one. */
#ifdef ML_CHECK_INDEX
enum { CHECK_INDEX = 1 };
#else
enum { CHECK_INDEX = 0 };
#endif

/* ---- statements */

static const ml_Stmt *nothing(ml_Ctx *cx)
{
    return ml_evaluate(cx, ml_i32(cx, 0));
}

typedef struct Swap {
    ml_Ctx *cx;
    const ml_Stmt *old, *with;
    bool through_nodes; /* look below loops and blocks too */
    bool found;
} Swap;

static const ml_Stmt *swap(Swap *s, const ml_Stmt *st);

static const ml_Stmt *swap_seq(Swap *s, const ml_Seq *seq)
{
    for (size_t k = 0; k < seq->n; k++)
        if (seq->stmts[k] == s->old) {
            s->found = true;
            return ml_seq_with(s->cx, seq, k, s->with);
        }
    for (size_t k = 0; k < seq->n; k++) {
        const ml_Stmt *to = swap(s, seq->stmts[k]);

        if (s->found)
            return ml_seq_with(s->cx, seq, k, to);
    }
    return &seq->base;
}

static const ml_Stmt *swap_if(Swap *s, const ml_If *old)
{
    ml_If f = *old;

    f.then = swap(s, old->then);
    if (!s->found && old->other)
        f.other = swap(s, old->other);
    if (!s->found)
        return &old->base;
    f.then = f.then ? f.then : nothing(s->cx);
    return ml_stmt_from(s->cx, &f.base);
}

static const ml_Stmt *swap_block(Swap *s, const ml_Block *old)
{
    ml_Block b = *old;

    b.body = swap(s, old->body);
    if (!s->found && old->init)
        b.init = swap(s, old->init);
    if (!s->found)
        return &old->base;
    b.body = b.body ? b.body : nothing(s->cx);
    return ml_block_from(s->cx, &b);
}

/* st with s->old replaced (NULL: nothing is left of st); s->found says whether it was met.
 */
static const ml_Stmt *swap(Swap *s, const ml_Stmt *st)
{
    const ml_Stmt *to;

    if (st == s->old) {
        s->found = true;
        return s->with;
    }
    if (st->depth < s->old->depth)
        return st;
    switch (ml_stmt_shape(st)) {
    case ML_SHAPE_LIST: return swap_seq(s, ml_as_seq(st));
    case ML_SHAPE_BRANCH: return swap_if(s, ml_as_if(st));
    case ML_SHAPE_BLOCK: return s->through_nodes ? swap_block(s, ml_as_block(st)) : st;
    case ML_SHAPE_BODY:
        if (st->kind == ML_STMT_FOR && !s->through_nodes)
            return st;
        to = swap(s, ml_stmt_body(st));
        if (!s->found)
            return st;
        return ml_stmt_with_body(s->cx, st, to ? to : nothing(s->cx));
    case ML_SHAPE_LEAF: break;
    }
    return st;
}

const ml_Stmt *ml_stmt_replace(ml_Ctx *cx, const ml_Stmt *root, const ml_Stmt *old,
                               const ml_Stmt *with)
{
    Swap s = {.cx = cx, .old = old, .with = with, .through_nodes = true};
    const ml_Stmt *to = with == old ? root : swap(&s, root);

    return to ? to : nothing(cx);
}

/* ---- the index of the exchanged part */

typedef struct Place {
    const ml_Stmt *st;
    ml_Uid parent;
} Place;

typedef struct Reindex {
    ml_Ctx *cx;
    const ml_Index *before;
    ml_Index *ix;
    uint32_t func;
    ML_VEC(Place) old, new; /* where the two trees differ */
    ml_Map *met;            /* uid -> its node in the new statements */
    ml_UidVec *ended;
    ml_Uid parent; /* of the statements being walked, in pass 2 */
} Reindex;

static void compare(Reindex *r, const ml_Stmt *old, const ml_Stmt *new, ml_Uid parent);

/* Pointers compared at once where lists are the same: long lists differ in one place. */
enum { STRIDE = 32 };

static bool same_stride(const ml_Stmt *const *a, const ml_Stmt *const *b)
{
    return memcmp(a, b, STRIDE * sizeof(*a)) == 0;
}

void ml_common_ends(const ml_Stmt *const *a, size_t na, const ml_Stmt *const *b, size_t nb,
                    size_t *head, size_t *tail)
{
    size_t n = na < nb ? na : nb, k = 0;

    while (n - k >= STRIDE && same_stride(a + k, b + k))
        k += STRIDE;
    while (k < n && a[k] == b[k])
        k++;
    *head = k;
    n -= k;
    k = 0;
    while (n - k >= STRIDE && same_stride(a + na - k - STRIDE, b + nb - k - STRIDE))
        k += STRIDE;
    while (k < n && a[na - 1 - k] == b[nb - 1 - k])
        k++;
    *tail = k;
}

/* Common statements at both ends of two lists are skipped; the rest is compared in pairs
 * as far as it goes. */
static void compare_lists(Reindex *r, const ml_Seq *old, const ml_Seq *new, ml_Uid parent)
{
    size_t first, tail, no, nn;

    ml_common_ends(old->stmts, old->n, new->stmts, new->n, &first, &tail);
    no = old->n - tail;
    nn = new->n - tail;
    for (size_t k = first; k < no || k < nn; k++)
        compare(r, k < no ? old->stmts[k] : NULL, k < nn ? new->stmts[k] : NULL, parent);
}

static void set_aside(Reindex *r, const ml_Stmt *old, const ml_Stmt *new, ml_Uid parent)
{
    if (old && (old->has_block || old->has_loop))
        ml_push(r->cx, &r->old, ((Place){old, parent}));
    if (new && (new->has_block || new->has_loop))
        ml_push(r->cx, &r->new, ((Place){new, parent}));
}

static void compare(Reindex *r, const ml_Stmt *old, const ml_Stmt *new, ml_Uid parent)
{
    ml_Uid uid;

    if (old == new)
        return;
    if (!old || !new || old->kind != new->kind) {
        set_aside(r, old, new, parent);
        return;
    }
    uid = ml_stmt_uid(new);
    if (uid) { /* a loop or block */
        if (uid != ml_stmt_uid(old)) {
            set_aside(r, old, new, parent);
            return;
        }
        ml_index_put(r->cx, r->ix, uid, (ml_IndexEntry){new, parent, r->func});
        ml_index_sign(r->cx, r->ix, old, new);
        parent = uid;
    }
    switch (ml_stmt_shape(new)) {
    case ML_SHAPE_LIST: compare_lists(r, ml_as_seq(old), ml_as_seq(new), parent); return;
    case ML_SHAPE_BRANCH:
        compare(r, ml_as_if(old)->then, ml_as_if(new)->then, parent);
        compare(r, ml_as_if(old)->other, ml_as_if(new)->other, parent);
        return;
    case ML_SHAPE_BODY:
    case ML_SHAPE_BLOCK: compare(r, ml_stmt_body(old), ml_stmt_body(new), parent); return;
    case ML_SHAPE_LEAF: return;
    }
}

static void enter(const ml_Stmt *st, bool in_init, void *user)
{
    const ml_IndexEntry *was;
    Reindex *r = user;
    ml_Uid uid = ml_stmt_uid(st), above = r->parent;

    if (in_init || !(st->has_block || st->has_loop))
        return;
    if (uid) {
        was = ml_index_find(r->before, uid);
        ml_map_set(r->cx, r->met, uid, st);
        if (!was || was->node != st || was->parent != above || was->func != r->func)
            ml_index_put(r->cx, r->ix, uid, (ml_IndexEntry){st, above, r->func});
        if (was && was->node == st && was->func == r->func)
            return;
        ml_index_sign(r->cx, r->ix, was ? was->node : NULL, st);
        r->parent = uid;
    }
    ml_stmt_children(st, enter, r);
    r->parent = above;
}

static void leave(const ml_Stmt *st, bool in_init, void *user)
{
    Reindex *r = user;
    ml_Uid uid = ml_stmt_uid(st);
    const void *met;

    if (in_init || !(st->has_block || st->has_loop))
        return;
    if (uid) {
        met = ml_map_get(r->met, uid);
        if (met == st)
            return;
        if (!met) {
            ml_index_put(r->cx, r->ix, uid, (ml_IndexEntry){NULL, 0, 0});
            ml_index_sign(r->cx, r->ix, st, NULL);
            if (r->ended)
                ml_push(r->cx, r->ended, uid);
        }
    }
    ml_stmt_children(st, leave, r);
}

/* Brings ix up to date for `new` in the place of `old` below the node `parent`. */
static void reindex(ml_Ctx *cx, const ml_Index *before, ml_Index *ix, const ml_Stmt *old,
                    const ml_Stmt *new, ml_Uid parent, uint32_t func, ml_UidVec *ended)
{
    Reindex r = {.cx = cx, .before = before, .ix = ix, .func = func, .ended = ended};

    compare(&r, old, new, parent);
    if (r.old.n == 0 && r.new.n == 0)
        return;
    r.met = ml_map_new(cx);
    for (size_t k = 0; k < r.new.n; k++) {
        r.parent = r.new.v[k].parent;
        enter(r.new.v[k].st, false, &r);
    }
    for (size_t k = 0; k < r.old.n; k++)
        leave(r.old.v[k].st, false, &r);
}

/* ---- programs */

static const ml_Module *with_func_body(ml_Ctx *cx, const ml_Module *m, uint32_t func,
                                       const ml_Stmt *body)
{
    const ml_Func **funcs = ML_ARRAY(cx, const ml_Func *, m->n);
    ml_Module *made = ML_NEW(cx, ml_Module);

    memcpy(funcs, m->funcs, m->n * sizeof(*funcs));
    funcs[func] = ml_func_with_body(cx, funcs[func], body);
    *made = *m;
    made->funcs = funcs;
    return made;
}

static ml_Program checked(ml_Program p)
{
    const char *what = NULL;

    if (CHECK_INDEX) {
        ml_Ctx *scratch = ml_ctx_new(0);

        ml_index_verify(scratch, p, &what);
        ML_ASSERT(!what);
        ml_ctx_unref(scratch);
    }
    return p;
}

ml_Program ml_program_replace(ml_Ctx *cx, ml_Program p, ml_Uid uid, const ml_Stmt *with,
                              ml_UidVec *ended)
{
    const ml_IndexEntry *at = ml_index_find(p.index, uid);
    const ml_Stmt *old, *new = with;
    ml_Uid up;
    ml_Index *ix;

    ML_ASSERT(at);
    if (at->node == with)
        return p;
    ix = ml_index_edit(cx, p.index);
    reindex(cx, p.index, ix, at->node, with, at->parent, at->func, ended);
    old = at->node;
    for (up = at->parent; up; up = ml_index_parent(p.index, up)) {
        const ml_IndexEntry *above = ml_index_find(p.index, up);
        Swap s = {.cx = cx, .old = old, .with = new};
        const ml_Stmt *body = swap(&s, ml_node_body(above->node));

        ML_ASSERT(s.found);
        new = ml_stmt_with_body(cx, above->node, body ? body : nothing(cx));
        ml_index_put(cx, ix, up, (ml_IndexEntry){new, above->parent, above->func});
        old = above->node;
    }
    {
        Swap s = {.cx = cx, .old = old, .with = new};
        const ml_Stmt *body = swap(&s, p.mod->funcs[at->func]->body);

        ML_ASSERT(s.found);
        p.mod = with_func_body(cx, p.mod, at->func, body ? body : nothing(cx));
        return checked((ml_Program){p.mod, ix});
    }
}

ml_Program ml_program_replace_body(ml_Ctx *cx, ml_Program p, uint32_t func,
                                   const ml_Stmt *body, ml_UidVec *ended)
{
    const ml_Stmt *old;
    ml_Index *ix;

    ML_ASSERT(func < p.mod->n);
    old = p.mod->funcs[func]->body;
    if (old == body)
        return p;
    body = body ? body : nothing(cx);
    ix = ml_index_edit(cx, p.index);
    reindex(cx, p.index, ix, old, body, 0, func, ended);
    return checked((ml_Program){with_func_body(cx, p.mod, func, body), ix});
}

const ml_Index *ml_index_follow(ml_Ctx *cx, ml_Program near, const ml_Module *m)
{
    size_t changed = 0;
    uint32_t func = 0;

    for (uint32_t k = 0; m->n == near.mod->n && k < m->n; k++)
        if (m->funcs[k]->body != near.mod->funcs[k]->body) {
            changed++;
            func = k;
        }
    if (m->n != near.mod->n || changed > 1)
        return ml_index_build(cx, m);

    ml_Index *ix = ml_index_edit(cx, near.index);

    if (changed)
        reindex(cx, near.index, ix, near.mod->funcs[func]->body, m->funcs[func]->body, 0,
                func, NULL);
    return checked((ml_Program){m, ix}).index;
}
