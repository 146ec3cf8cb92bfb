/*
 * loops - pane 1: the tree of loops and blocks.
 *
 * One row per function, loop and block; extents end at one column, as far as most rows
 * allow. Rows below a folded node are left out, and the node carries their bar. On request
 * each loop tells what it touches and computes, as soon as that is known.
 * Source: interaction 10.
 */
#include "repl/session/profiles.h"
#include "repl/view/pane/counts.h"
#include "repl/view/state/node_changes.h"

typedef struct Item {
    ml_Uid uid;
    int depth;
    ml_Fold fold;
    bool is_block, is_func, changed;
    bool below; /* a block is */
    const char *name, *extent, *kind;
    ml_CellRole role;
} Item;

typedef struct Tree {
    ml_View *v;
    ml_Rows *r;
    ml_Shown sh;
    bool has_before;
    ml_Program before; /* of the version that the last step was made from */
    const ml_Map *folded;
    ML_VEC(Item) items;
    size_t hidden_in; /* item + 1 below which nothing is shown; 0: none */
    int depth;
    bool all_columns; /* there is room for them */
} Tree;

static const char *kind_of(const ml_For *f)
{
    switch ((ml_ForKind)f->kind) {
    case ML_FOR_PARALLEL: return "parallel";
    case ML_FOR_VECTORIZED: return "vector";
    case ML_FOR_UNROLLED: return "unroll";
    case ML_FOR_THREAD: return f->thread.name;
    case ML_FOR_SERIAL:
    case ML_FOR_KINDS: break;
    }
    return NULL;
}

static const char *marked_keys(ml_Rows *r, const char *kind, const ml_Value *annotations)
{
    ml_Text t = {0};

    if (ml_dict_count(annotations) == 0)
        return kind;
    ml_text_fmt(&t, "%s%s", kind ? kind : "", kind ? " " : "");
    for (size_t k = 0; k < ml_dict_count(annotations); k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : "@ ", annotations->keys[k]);
    return ml_text_into(r->cx, &t);
}

/* Whether something that has a row is below. */
static bool has_rows(const ml_Stmt *body)
{
    return body && (body->has_block || body->has_loop);
}

static void visit_stmt(const ml_Stmt *st, bool in_init, void *user);

static void descend(Tree *t, Item it, const ml_Stmt *body)
{
    size_t hidden = t->hidden_in;
    bool closed = false;

    if (t->has_before && it.uid && !it.is_func)
        it.changed = ml_node_changed(t->before, t->sh.p, it.uid);
    if (hidden) {
        t->items.v[hidden - 1].changed |= it.changed;
    } else {
        closed = has_rows(body) && it.uid && ml_map_has(t->folded, it.uid);
        it.depth = t->depth;
        it.fold = !has_rows(body) ? ML_FOLD_LEAF : closed ? ML_FOLD_CLOSED : ML_FOLD_OPEN;
        ml_push(t->r->cx, &t->items, it);
        if (closed)
            t->hidden_in = t->items.n;
    }
    if (has_rows(body) && (!t->hidden_in || t->has_before)) {
        t->depth++;
        visit_stmt(body, false, t);
        t->depth--;
    }
    t->hidden_in = hidden;
}

static void visit_stmt(const ml_Stmt *st, bool in_init, void *user)
{
    Tree *t = user;

    if (in_init || !has_rows(st))
        return;
    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);

        descend(t,
                (Item){.uid = f->var->uid,
                       .name = ml_pane_loop_name(&t->sh, f),
                       .extent = ml_pane_expr(t->r, &t->sh, f->extent),
                       .below = st->has_block,
                       .kind = marked_keys(t->r, kind_of(f), f->annotations),
                       .role = ml_loop_role((ml_ForKind)f->kind)},
                f->body);
    } else if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);

        descend(t,
                (Item){.uid = b->tag,
                       .is_block = true,
                       .name = ml_pane_name(&t->sh, b->tag),
                       .kind = marked_keys(t->r, NULL, b->annotations),
                       .role = ML_ROLE_BLOCK},
                b->body);
    } else {
        ml_stmt_children(st, visit_stmt, t);
    }
}

static void add_func(Tree *t, const ml_Func *f, const char *name)
{
    const ml_Block *root = ml_func_root(f);

    descend(t,
            (Item){.uid = root ? root->tag : 0,
                   .is_func = true,
                   .below = f->body->has_block,
                   .name = name,
                   .role = ML_ROLE_STRONG},
            root ? root->body : f->body);
}

/* ---- rows */

static int width_of(const Item *it)
{
    return 2 * it->depth + 2 + (int)ml_columns(it->name) +
           (it->extent ? 1 + (int)ml_columns(it->extent) : 0);
}

static const char *marker(const Item *it)
{
    switch (it->fold) {
    case ML_FOLD_OPEN: return "▾ ";
    case ML_FOLD_CLOSED: return "▸ ";
    case ML_FOLD_LEAF: break;
    }
    return it->is_block ? "■ " : "  ";
}

enum {
    BYTES = 11,
    FLOPS = 8,
    SHARE = 9,
    ALL_COLUMNS = BYTES + FLOPS + SHARE,
    TREE_LEAST = 14, /* what is left of the tree beside all of them */
};

int ml_pane_loops_columns(const ml_View *v)
{
    bool all = ml_pane_width(v, ML_PANE_LOOPS) >= TREE_LEAST + ALL_COLUMNS;

    return all ? !v->columns : (v->columns + 1) % 4;
}

/* What was measured of the nest, only where its loop stands. */
static const char *share_of(Tree *t, const Item *it)
{
    const ml_NestShare *v;
    size_t n = ml_profiles_of(t->v->ss, t->sh.s, t->sh.version, &v);

    if (it->is_func)
        return n ? "measured" : ":profile";
    for (size_t k = 0; k < n; k++)
        if (v[k].node == it->uid)
            return v[k].with ? "↑"
                             : ml_format(t->r->cx, "%.*f %%", v[k].share < 0.0995,
                                         100 * v[k].share);
    return "";
}

/* Columns that end at the right edge, as many as there is room for from the chosen one on.
 * `kind` of the loop stands left of them, as far as it fits. */
static void put_columns(Tree *t, const Item *it)
{
    const ml_LoopCount *n = it->is_func ? NULL : ml_pane_count(t->v, &t->sh, it->uid);
    const char *text[] = {n             ? n->bytes
                          : it->is_func ? "touches"
                                        : "…",
                          n             ? n->flops
                          : it->is_func ? "flops"
                                        : "…",
                          share_of(t, it)};
    static const int WIDTH[] = {BYTES, FLOPS, SHARE};
    ml_CellRole role = it->is_func ? ML_ROLE_DIM : ML_ROLE_NUMBER;
    int from = t->all_columns ? 0 : t->v->columns - 1, end = t->all_columns ? 3 : from + 1;
    int at = ml_pane_width(t->v, ML_PANE_LOOPS) - 2;

    for (int k = end - 1; k > from; k--)
        at -= WIDTH[k];
    for (int k = from; k < end; k++) {
        if (*text[k]) {
            ml_rows_pad(t->r, at - (int)ml_columns(text[k]), 1);
            ml_rows_put(t->r, role, "%s", text[k]);
        }
        at += k + 1 < end ? WIDTH[k + 1] : 0;
    }
}

/* As much of the loop's kind as columns leave room for. */
static int kind_room(const Tree *t, const Item *it, int column)
{
    int wide = ml_pane_width(t->v, ML_PANE_LOOPS) - 2, used = it->extent ? column : 0;

    if (!t->v->columns || !it->below)
        return 1000;
    used = width_of(it) > used ? width_of(it) : used;
    return wide - used - 1 - (t->all_columns ? ALL_COLUMNS : BYTES - 1);
}

static void put_item(Tree *t, const Item *it, int column)
{
    ml_Rows *r = t->r;
    ml_Row *row;

    ml_rows_pad(r, 2 * it->depth, 0);
    ml_rows_put(r, it->is_block && it->fold == ML_FOLD_LEAF ? ML_ROLE_BLOCK : ML_ROLE_DIM,
                "%s", marker(it));
    ml_rows_put(r, it->role, "%s%s", it->is_block && it->fold != ML_FOLD_LEAF ? "■ " : "",
                it->name);
    if (it->extent) {
        ml_rows_pad(r, column - (int)ml_columns(it->extent), 1);
        ml_rows_put(r, ML_ROLE_NUMBER, "%s", it->extent);
    }
    int room = kind_room(t, it, column);

    if (it->kind && room > 0) {
        ml_rows_pad(r, 0, 1);
        ml_rows_put(r, it->is_block ? ML_ROLE_DIM : it->role, "%.*s",
                    (int)ml_text_fitting(it->kind, strlen(it->kind), room), it->kind);
    }
    if (t->v->columns && it->below)
        put_columns(t, it);
    row = ml_rows_end(r);
    row->node = it->uid;
    row->depth = (uint16_t)it->depth;
    row->fold = (uint8_t)it->fold;
    row->changed = it->changed;
}

static void put_items(Tree *t)
{
    enum { KIND = 10 }; /* room behind the extents */
    int columns = !t->v->columns ? 0 : t->all_columns ? ALL_COLUMNS : BYTES;
    int column = 0,
        most = ml_pane_width(t->v, ML_PANE_LOOPS) - (columns ? columns + 1 : KIND);

    for (size_t k = 0; k < t->items.n; k++) {
        const Item *it = &t->items.v[k];

        if (it->extent && width_of(it) > column && width_of(it) <= most)
            column = width_of(it);
    }
    for (size_t k = 0; k < t->items.n; k++)
        put_item(t, &t->items.v[k], column);
}

static const ml_Map *set_of(ml_Ctx *cx, const ml_Uid *v, size_t n)
{
    ml_Map *m = ml_map_new(cx);

    for (size_t k = 0; k < n; k++)
        ml_map_set(cx, m, v[k], m);
    return m;
}

void ml_pane_loops(ml_View *v, ml_Rows *r)
{
    Tree t = {.v = v, .r = r};

    if (!ml_pane_shows(v, r, &t.sh))
        return;
    const ml_Module *m = t.sh.p.mod;
    bool all = !ml_schedule_func(t.sh.s); /* none is chosen: each under its name */
    uint32_t from = all ? 0 : ml_schedule_func_pos(t.sh.s), end = all ? m->n : from + 1;

    t.has_before = ml_pane_before(&t.sh, &t.before);
    t.all_columns = ml_pane_width(v, ML_PANE_LOOPS) >= TREE_LEAST + ALL_COLUMNS;
    t.folded = set_of(r->cx, v->folded.v, v->folded.n);
    for (uint32_t k = from; k < end; k++)
        add_func(&t, m->funcs[k], m->n > 1 ? m->funcs[k]->name : ml_schedule_name(t.sh.s));
    put_items(&t);
}
