/*
 * index - a table uid -> (node, parent, function), and questions about the schedule tree
 * that it answers. Its pages are those of index_pages.c; who uses what is in postings.c.
 * Source: ir-and-analysis 2.1, 8.2.
 */
#include "moonloop/core/index/index.h"

#include "moonloop/core/index/index_pages.h"

/* ---- the table */

const ml_IndexEntry *ml_index_find(const ml_Index *ix, ml_Uid uid)
{
    const ml_Cell *c = ml_pages_find(&ix->nodes, uid);

    return c && c->entry.node ? &c->entry : NULL;
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
    ml_pages_own(cx, &ix->nodes, ix, uid)->entry = entry;
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
    else {
        ml_index_put(e->cx, e->ix, below.parent, (ml_IndexEntry){st, e->parent, e->func});
        ml_index_sign(e->cx, e->ix, NULL, st);
    }
    if (st->has_block || st->has_loop)
        ml_stmt_children(st, enter_child, &below);
}

/* Enters all loops and blocks of st, the nearest one above being `parent`. */
static void enter_stmt(ml_Ctx *cx, ml_Index *ix, const ml_Stmt *st, ml_Uid parent,
                       uint32_t func)
{
    enter_child(st, false, &(Enter){cx, ix, parent, func});
}

const ml_Index *ml_index_build(ml_Ctx *cx, const ml_Module *m)
{
    ml_Index *ix = ml_index_edit(cx, NULL);
    size_t blocks = 0;

    for (uint32_t k = 0; k < m->n; k++)
        blocks += m->funcs[k]->body->n_blocks;
    ml_index_expect(ix, blocks);
    for (uint32_t k = 0; k < m->n; k++)
        enter_stmt(cx, ix, m->funcs[k]->body, 0, k);
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

typedef struct Each {
    void (*fn)(ml_Uid uid, const ml_Stmt *node, void *user);
    void *user;
} Each;

static void each_entry(uint32_t uid, const ml_Cell *cell, void *user)
{
    const Each *e = user;

    if (cell->entry.node)
        e->fn(uid, cell->entry.node, e->user);
}

void ml_index_each(const ml_Index *ix,
                   void (*fn)(ml_Uid uid, const ml_Stmt *node, void *user), void *user)
{
    ml_pages_each(&ix->nodes, each_entry, &(Each){fn, user});
}

/* ---- ancestors */

void ml_index_next(ml_Up *u)
{
    const ml_IndexEntry *e = u->parent ? ml_index_find(u->ix, u->parent) : NULL;

    u->uid = u->parent;
    u->node = e ? e->node : NULL;
    u->parent = e ? e->parent : 0;
}

ml_Up ml_index_up(const ml_Index *ix, ml_Uid uid)
{
    ml_Up u = {.ix = ix, .parent = ml_index_parent(ix, uid)};

    ml_index_next(&u);
    return u;
}

ml_Uid ml_index_scope(const ml_Index *ix, ml_Uid uid)
{
    ml_Up u = ml_index_up(ix, uid);

    while (u.node && u.node->kind != ML_STMT_BLOCK)
        ml_index_next(&u);
    return u.uid;
}

void ml_index_loops(ml_Ctx *cx, const ml_Index *ix, ml_Uid uid, ml_StmtVec *out)
{
    size_t first = out->n;
    ml_Up u = ml_index_up(ix, uid);

    for (; u.node && u.node->kind != ML_STMT_BLOCK; ml_index_next(&u))
        ml_push(cx, out, u.node);
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

/* Where the ways up from two nodes meet; 0: nowhere. */
typedef struct Fork {
    ml_Uid top;
    ml_Uid a, b; /* the nodes just below it on the two ways; 0: it is the node itself */
} Fork;

enum { FEW_LEVELS = 32 };

static Fork fork_of(const ml_Index *ix, ml_Uid a, ml_Uid b)
{
    ml_Uid way[FEW_LEVELS], below = 0; /* some levels above a; the node below them */

    if (!ml_index_find(ix, a) || !ml_index_find(ix, b))
        return (Fork){0, 0, 0};
    while (a) {
        ml_Uid last = 0;
        size_t n = 0;

        for (; a && n < FEW_LEVELS; a = ml_index_parent(ix, a))
            way[n++] = a;
        for (ml_Uid u = b; u; last = u, u = ml_index_parent(ix, u))
            for (size_t k = 0; k < n; k++)
                if (way[k] == u)
                    return (Fork){u, k > 0 ? way[k - 1] : below, last};
        below = way[n - 1];
    }
    return (Fork){0, 0, 0};
}

ml_Uid ml_index_lca(const ml_Index *ix, ml_Uid a, ml_Uid b)
{
    return fork_of(ix, a, b).top;
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

/* ---- order */

static size_t place(const ml_Seq *seq, size_t from, const ml_Stmt *st)
{
    while (from < seq->n && seq->stmts[from] != st)
        from++;
    return from;
}

typedef struct First {
    const ml_Stmt *a, *b;
    const ml_Stmt *found; /* the one of them that was met */
} First;

static void meet(const ml_Stmt *st, bool in_init, void *user)
{
    First *f = user;

    if (f->found || in_init)
        return;
    if (st == f->a || st == f->b) {
        f->found = st;
        return;
    }
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK ||
        !(st->has_block || st->has_loop))
        return;
    if (st->kind == ML_STMT_SEQ) { /* found by pointer alone, where both stand in it */
        const ml_Seq *seq = ml_as_seq(st);
        size_t at = 0;

        while (at < seq->n && seq->stmts[at] != f->a && seq->stmts[at] != f->b)
            at++;
        if (at < seq->n &&
            place(seq, at + 1, seq->stmts[at] == f->a ? f->b : f->a) < seq->n) {
            f->found = seq->stmts[at];
            return;
        }
    }
    ml_stmt_children(st, meet, f);
}

bool ml_index_before(const ml_Index *ix, ml_Uid a, ml_Uid b)
{
    Fork k = fork_of(ix, a, b);
    First f = {0};

    ML_ASSERT(k.top && k.a && k.b);
    f.a = ml_index_node(ix, k.a);
    f.b = ml_index_node(ix, k.b);
    meet(ml_node_body(ml_index_node(ix, k.top)), false, &f);
    ML_ASSERT(f.found);
    return f.found == f.a;
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
    if (st->kind == ML_STMT_SEQ && place(ml_as_seq(st), 0, b->to) < ml_as_seq(st)->n) {
        b->found = true;
        return;
    }
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
    if (!v.what)
        ml_index_same_postings(cx, v.have, v.want, &v.what);
    if (what)
        *what = v.what;
    return v.what == NULL;
}
