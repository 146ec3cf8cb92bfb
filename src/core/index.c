/*
 * index - a persistent radix table uid -> (node, parent, function), and questions about the
 * schedule tree that it answers.
 *
 *   root (inner) --16--> inner --16--> leaf: 16 entries for 16 consecutive uids
 *
 * Pages are small because a step touches the few uids on its path and the fresh ones, which
 * are consecutive. A page may be written only by the edit that made it (`owner`).
 * Source: ir-and-analysis 2.1, 8.2.
 */
#include "core/index.h"

#include "core/index_pages.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, FAN_MASK = FAN - 1 };

typedef struct Page {
    const ml_Index *owner;
    union {
        struct Page *below[FAN];
        ml_IndexEntry entries[FAN];
    } as;
} Page;

struct ml_Index {
    Page *root;      /* NULL: empty */
    unsigned height; /* levels of inner pages above the leaves */
};

static const size_t leaf_size = sizeof(Page);
static const size_t inner_size = offsetof(Page, as) + FAN * sizeof(Page *);

/* ---- the table */

static bool fits(const ml_Index *ix, ml_Uid uid)
{
    unsigned bits = FAN_BITS * (ix->height + 1);

    return ix->root && (bits >= 32 || (uid >> bits) == 0);
}

static unsigned slot(ml_Uid uid, unsigned level)
{
    return (uid >> (FAN_BITS * level)) & FAN_MASK;
}

const ml_IndexEntry *ml_index_find(const ml_Index *ix, ml_Uid uid)
{
    const Page *p = ix->root;

    if (!fits(ix, uid))
        return NULL;
    for (unsigned level = ix->height; p && level > 0; level--)
        p = p->as.below[slot(uid, level)];
    return p && p->as.entries[slot(uid, 0)].node ? &p->as.entries[slot(uid, 0)] : NULL;
}

/* The page in *at, made or copied so that this edit may write to it. */
static Page *own_page(ml_Ctx *cx, const ml_Index *ix, Page **at, bool leaf)
{
    size_t size = leaf ? leaf_size : inner_size;
    Page *p;

    if (*at && (*at)->owner == ix)
        return *at;
    p = ml_zalloc(cx, size);
    if (*at)
        memcpy(p, *at, size);
    p->owner = ix;
    *at = p;
    return p;
}

ml_Index *ml_index_edit(ml_Ctx *cx, const ml_Index *ix)
{
    ml_Index *made = ML_NEW(cx, ml_Index);

    if (ix)
        *made = *ix;
    return made;
}

void ml_index_put(ml_Ctx *cx, ml_Index *ix, ml_Uid uid, ml_IndexEntry entry)
{
    Page *p, **at = &ix->root;

    if (!ix->root)
        own_page(cx, ix, at, true);
    while (!fits(ix, uid)) {
        Page *top = NULL;

        own_page(cx, ix, &top, false)->as.below[0] = ix->root;
        ix->root = top;
        ix->height++;
    }
    for (unsigned level = ix->height; level > 0; level--)
        at = &own_page(cx, ix, at, false)->as.below[slot(uid, level)];
    p = own_page(cx, ix, at, true);
    p->as.entries[slot(uid, 0)] = entry;
}

/* ---- building */

typedef struct Enter {
    ml_Ctx *cx;
    ml_Index *ix;
    ml_Uid parent;
    uint32_t func;
} Enter;

static void enter_child(const ml_Stmt *st, bool in_init, void *user)
{
    Enter *e = user, below = *e;

    if (in_init)
        return;
    below.parent = ml_stmt_uid(st);
    if (below.parent == 0)
        below.parent = e->parent;
    else
        ml_index_put(e->cx, e->ix, below.parent, (ml_IndexEntry){st, e->parent, e->func});
    if (st->has_block || st->has_loop)
        ml_stmt_children(st, enter_child, &below);
}

void ml_index_enter(ml_Ctx *cx, ml_Index *ix, const ml_Stmt *st, ml_Uid parent,
                    uint32_t func)
{
    enter_child(st, false, &(Enter){cx, ix, parent, func});
}

const ml_Index *ml_index_build(ml_Ctx *cx, const ml_Module *m)
{
    ml_Index *ix = ml_index_edit(cx, NULL);

    for (uint32_t k = 0; k < m->n; k++)
        ml_index_enter(cx, ix, m->funcs[k]->body, 0, k);
    return ix;
}

/* ---- looking up */

const ml_Stmt *ml_index_node(const ml_Index *ix, ml_Uid uid)
{
    const ml_IndexEntry *e = ml_index_find(ix, uid);

    return e ? e->node : NULL;
}

ml_Uid ml_index_parent(const ml_Index *ix, ml_Uid uid)
{
    const ml_IndexEntry *e = ml_index_find(ix, uid);

    return e ? e->parent : 0;
}

uint32_t ml_index_func(const ml_Index *ix, ml_Uid uid)
{
    const ml_IndexEntry *e = ml_index_find(ix, uid);

    return e ? e->func : 0;
}

typedef void EachFn(ml_Uid uid, const ml_Stmt *node, void *user);

static void each_page(const Page *p, unsigned level, ml_Uid first, EachFn *fn, void *user)
{
    for (unsigned k = 0; p && k < FAN; k++) {
        ml_Uid uid = first | (k << (FAN_BITS * level));

        if (level > 0)
            each_page(p->as.below[k], level - 1, uid, fn, user);
        else if (p->as.entries[k].node)
            fn(uid, p->as.entries[k].node, user);
    }
}

void ml_index_each(const ml_Index *ix,
                   void (*fn)(ml_Uid uid, const ml_Stmt *node, void *user), void *user)
{
    each_page(ix->root, ix->height, 0, fn, user);
}

/* ---- ancestors */

ml_Uid ml_index_scope(const ml_Index *ix, ml_Uid uid)
{
    ml_Uid up = ml_index_parent(ix, uid);

    while (up && ml_index_node(ix, up)->kind != ML_STMT_BLOCK)
        up = ml_index_parent(ix, up);
    return up;
}

void ml_index_loops(ml_Ctx *cx, const ml_Index *ix, ml_Uid uid, ml_StmtVec *out)
{
    size_t first = out->n;
    ml_Uid up = ml_index_parent(ix, uid);

    for (; up; up = ml_index_parent(ix, up)) {
        const ml_Stmt *node = ml_index_node(ix, up);

        if (node->kind == ML_STMT_BLOCK)
            break;
        ml_push(cx, out, node);
    }
    for (size_t a = first, b = out->n; a + 1 < b; a++) {
        const ml_Stmt *swap = out->v[a];

        out->v[a] = out->v[--b];
        out->v[b] = swap;
    }
}

bool ml_index_is_above(const ml_Index *ix, ml_Uid above, ml_Uid uid)
{
    ml_Uid up = ml_index_parent(ix, uid);

    while (up && up != above)
        up = ml_index_parent(ix, up);
    return up != 0;
}

static size_t levels_above(const ml_Index *ix, ml_Uid uid)
{
    size_t n = 0;

    while ((uid = ml_index_parent(ix, uid)) != 0)
        n++;
    return n;
}

ml_Uid ml_index_lca(const ml_Index *ix, ml_Uid a, ml_Uid b)
{
    size_t da, db;

    if (!ml_index_node(ix, a) || !ml_index_node(ix, b))
        return 0;
    da = levels_above(ix, a);
    db = levels_above(ix, b);
    for (; da > db; da--)
        a = ml_index_parent(ix, a);
    for (; db > da; db--)
        b = ml_index_parent(ix, b);
    while (a != b) {
        a = ml_index_parent(ix, a);
        b = ml_index_parent(ix, b);
    }
    return a;
}

/* ---- descendants */

const ml_Stmt *ml_node_body(const ml_Stmt *loop_or_block)
{
    if (loop_or_block->kind == ML_STMT_FOR)
        return ml_as_for(loop_or_block)->body;
    return ml_as_block(loop_or_block)->body;
}

typedef struct Blocks {
    ml_Ctx *cx;
    ml_StmtVec *out;
    bool deep;
} Blocks;

static void gather(const ml_Stmt *st, bool in_init, void *user)
{
    Blocks *b = user;

    if (in_init || !st->has_block)
        return;
    if (st->kind == ML_STMT_BLOCK)
        ml_push(b->cx, b->out, st);
    if (st->kind != ML_STMT_BLOCK || b->deep)
        ml_stmt_children(st, gather, b);
}

void ml_child_blocks(ml_Ctx *cx, const ml_Stmt *st, ml_StmtVec *out)
{
    ml_stmt_children(st, gather, &(Blocks){cx, out, false});
}

void ml_all_blocks(ml_Ctx *cx, const ml_Stmt *st, ml_StmtVec *out)
{
    ml_stmt_children(st, gather, &(Blocks){cx, out, true});
}

/* ---- what stands between two nodes */

typedef struct Between {
    const ml_Stmt *to;
    const ml_Stmt *first; /* the outermost if, while or attr on the way */
    bool found;
} Between;

/* Between two neighbours of the schedule tree there are only SEQ, IF, WHILE and ATTR. */
static void seek(const ml_Stmt *st, bool in_init, void *user)
{
    Between *b = user;

    if (b->found || in_init)
        return;
    if (st == b->to) {
        b->found = true;
        return;
    }
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK || st->depth < b->to->depth)
        return;
    ml_stmt_children(st, seek, b);
    if (b->found && st->kind != ML_STMT_SEQ)
        b->first = st;
}

const ml_Stmt *ml_between(const ml_Index *ix, ml_Uid from, ml_Uid to)
{
    const ml_Stmt *first = NULL;
    ml_Uid up;

    for (; to && to != from; to = up) {
        Between b = {.to = ml_index_node(ix, to)};

        up = ml_index_parent(ix, to);
        if (!up || !b.to)
            break;
        seek(ml_node_body(ml_index_node(ix, up)), false, &b);
        first = b.first ? b.first : first;
    }
    return first;
}

/* ---- self-check */

typedef struct Verify {
    ml_Ctx *cx;
    const ml_Index *have, *want;
    size_t n;
    const char *what;
} Verify;

static void compare_entry(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Verify *v = user;
    const ml_IndexEntry *have = ml_index_find(v->have, uid);
    const ml_IndexEntry *want = ml_index_find(v->want, uid);

    v->n++;
    if (v->what)
        return;
    if (!have)
        v->what = ml_format(v->cx, "uid %u is missing", (unsigned)uid);
    else if (have->node != node)
        v->what = ml_format(v->cx, "uid %u has an old node", (unsigned)uid);
    else if (have->parent != want->parent)
        v->what = ml_format(v->cx, "uid %u: parent %u instead of %u", (unsigned)uid,
                            (unsigned)have->parent, (unsigned)want->parent);
    else if (have->func != want->func)
        v->what = ml_format(v->cx, "uid %u: function %u instead of %u", (unsigned)uid,
                            (unsigned)have->func, (unsigned)want->func);
}

static void find_extra(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Verify *v = user;

    (void)node;
    if (!v->what && !ml_index_find(v->want, uid))
        v->what = ml_format(v->cx, "uid %u is gone but still listed", (unsigned)uid);
}

/* Loops and blocks of the tree, counted with repetitions. */
static void count_nodes(const ml_Stmt *st, bool in_init, void *user)
{
    if (in_init)
        return;
    *(size_t *)user += ml_stmt_uid(st) != 0;
    ml_stmt_children(st, count_nodes, user);
}

bool ml_index_verify(ml_Ctx *cx, ml_Program p, const char **what)
{
    Verify v = {.cx = cx, .have = p.index};
    size_t nodes = 0;

    v.want = ml_index_build(cx, p.mod);
    ml_index_each(v.want, compare_entry, &v);
    ml_index_each(v.have, find_extra, &v);
    for (size_t k = 0; k < p.mod->n; k++)
        count_nodes(p.mod->funcs[k]->body, false, &nodes);
    if (!v.what && nodes != v.n)
        v.what = ml_format(cx, "%zu loops and blocks have %zu uids", nodes, v.n);
    if (what)
        *what = v.what;
    return v.what == NULL;
}
