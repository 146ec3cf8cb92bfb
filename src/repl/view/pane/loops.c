/*
 * loops - pane 1: the tree of loops and blocks.
 *
 * One row per function, loop and block; extents end at one column, as far as most rows
 * allow. A narrow pane indents less and says kinds in letters, so that extents and kinds of
 * inner loops are seen. Rows below a folded node are left out, and the node carries their
 * bar. On request each loop tells what it touches and computes, as soon as that is known.
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
    bool hidden; /* a fold is above */
    bool below;  /* a block is */
    const char *name, *extent, *kind;
    const char *letters; /* the kind, shortest */
    int word;            /* columns of the kind that are to be seen */
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
    int indent;       /* blanks a level */
    bool letters;     /* for kinds */
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

/* The letter of the key that makes it so; of a thread axis two: tx. */
static const char *letters_of(ml_Rows *r, const ml_For *f)
{
    const char *axis;

    switch ((ml_ForKind)f->kind) {
    case ML_FOR_PARALLEL: return "p";
    case ML_FOR_VECTORIZED: return "v";
    case ML_FOR_UNROLLED: return "U";
    case ML_FOR_THREAD:
        axis = strchr(f->thread.name, '.');
        return ml_format(r->cx, "%.1s%.1s", f->thread.name, axis ? axis + 1 : "t");
    case ML_FOR_SERIAL:
    case ML_FOR_KINDS: break;
    }
    return "";
}

/* The kind with the keys of annotations behind it. */
static void set_kind(ml_Rows *r, Item *it, const char *kind, const char *letters,
                     const ml_Value *annotations)
{
    size_t n = ml_dict_count(annotations);
    ml_Text t = {0};

    it->kind = kind;
    it->letters = letters;
    it->word = kind ? (int)ml_columns(kind) : 0;
    if (n == 0)
        return;
    it->word += it->word ? 2 : 1;
    it->letters = ml_format(r->cx, "%s@", letters);
    ml_text_fmt(&t, "%s%s", kind ? kind : "", kind ? " " : "");
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : "@ ", annotations->keys[k]);
    it->kind = ml_text_into(r->cx, &t);
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
    bool closed = it.uid && has_rows(body) && ml_map_has(t->folded, it.uid);

    if (t->has_before && it.uid && !it.is_func)
        it.changed = ml_node_changed(t->before, t->sh.p, it.uid);
    if (hidden)
        t->items.v[hidden - 1].changed |= it.changed;
    it.hidden = hidden > 0;
    it.depth = t->depth;
    it.fold = !has_rows(body) ? ML_FOLD_LEAF : closed ? ML_FOLD_CLOSED : ML_FOLD_OPEN;
    ml_push(t->r->cx, &t->items, it);
    if (closed && !hidden)
        t->hidden_in = t->items.n;
    if (has_rows(body)) {
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
        Item it = {.uid = f->var->uid,
                   .name = ml_pane_loop_name(&t->sh, f),
                   .extent = ml_pane_expr(t->r, &t->sh, f->extent),
                   .below = st->has_block,
                   .role = ml_loop_role((ml_ForKind)f->kind)};

        set_kind(t->r, &it, kind_of(f), letters_of(t->r, f), f->annotations);
        descend(t, it, f->body);
    } else if (st->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(st);
        Item it = {.uid = b->tag,
                   .is_block = true,
                   .name = ml_pane_name(&t->sh, b->tag),
                   .role = ML_ROLE_BLOCK};

        set_kind(t->r, &it, NULL, "", b->annotations);
        descend(t, it, b->body);
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

/* A block with something below it: it has a sign of its own behind that of the fold. */
static bool is_marked(const Item *it)
{
    return it->is_block && it->fold != ML_FOLD_LEAF;
}

/* Up to the extent. */
static int width_of(const Tree *t, const Item *it)
{
    return t->indent * it->depth + (is_marked(it) ? 4 : 2) + (int)ml_columns(it->name) +
           (it->extent ? 1 + (int)ml_columns(it->extent) : 0);
}

/* Of the kind, with the blank before it. */
static int kind_width(const Tree *t, const Item *it)
{
    if (!it->kind)
        return 0;
    return 1 + (t->letters ? (int)ml_columns(it->letters) : it->word);
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

/* The columns for the tree itself; the last one is that of the cursor. */
static int tree_room(const Tree *t, bool beside)
{
    int columns = t->all_columns ? ALL_COLUMNS : BYTES - 1;

    return ml_pane_width(t->v, ML_PANE_LOOPS) - 2 - (beside ? columns : 0);
}

/* The name, and less of it or of the indentation where extent and kind would be cut. */
static void put_name(Tree *t, const Item *it, int room)
{
    enum { SHORTEST = 4 };
    const char *mark = is_marked(it) ? "■ " : "";
    ml_CellRole role =
        it->is_block && it->fold == ML_FOLD_LEAF ? ML_ROLE_BLOCK : ML_ROLE_DIM;
    int name = (int)ml_columns(it->name), indent = t->indent * it->depth;
    int over = width_of(t, it) + kind_width(t, it) - room;
    int cut = over <= 0 ? 0 : over < name - SHORTEST ? over : name - SHORTEST;

    cut = cut < 0 ? 0 : cut;
    indent = over - cut > indent ? 0 : indent - (over > cut ? over - cut : 0);
    ml_rows_pad(t->r, indent, 0);
    ml_rows_put(t->r, role, "%s", marker(it));
    if (cut == 0)
        ml_rows_put(t->r, it->role, "%s%s", mark, it->name);
    else
        ml_rows_put(t->r, it->role, "%s%.*s…", mark,
                    (int)ml_text_fitting(it->name, strlen(it->name), name - cut - 1),
                    it->name);
}

static void put_item(Tree *t, const Item *it, int column)
{
    bool beside = t->v->columns && it->below;
    int room = tree_room(t, beside);
    ml_Rows *r = t->r;
    ml_Row *row;

    put_name(t, it, room);
    if (it->extent) {
        ml_rows_pad(r, column - (int)ml_columns(it->extent), 1);
        ml_rows_put(r, ML_ROLE_NUMBER, "%s", it->extent);
    }
    if (it->kind) {
        const char *kind = t->letters ? it->letters : it->kind;
        int used = it->extent && column > width_of(t, it) ? column : width_of(t, it);
        int wide = room - used - 1;

        wide = wide < kind_width(t, it) - 1 ? kind_width(t, it) - 1 : wide;
        ml_rows_pad(r, 0, 1);
        ml_rows_put(r, it->is_block ? ML_ROLE_DIM : it->role, "%.*s",
                    beside || t->letters ? (int)ml_text_fitting(kind, strlen(kind), wide)
                                         : (int)strlen(kind),
                    kind);
    }
    if (beside)
        put_columns(t, it);
    row = ml_rows_end(r);
    row->node = it->uid;
    row->depth = (uint16_t)it->depth;
    row->fold = (uint8_t)it->fold;
    row->changed = it->changed;
}

/* Whether all rows can be seen as they stand, folded ones too: folding moves nothing. */
static bool all_fit(const Tree *t)
{
    for (size_t k = 0; k < t->items.n; k++) {
        const Item *it = &t->items.v[k];

        if (width_of(t, it) + kind_width(t, it) > tree_room(t, t->v->columns && it->below))
            return false;
    }
    return true;
}

/* As wide as the rows allow: two blanks a level and words, one and words, one and letters. */
static void choose_form(Tree *t)
{
    for (int k = 0; k < 3; k++) {
        t->indent = k == 0 ? 2 : 1;
        t->letters = k == 2;
        if (all_fit(t))
            return;
    }
}

/* Where extents end: no further right than the kinds behind them can be seen. */
static int extent_column(const Tree *t)
{
    int column = 0, room = tree_room(t, t->v->columns > 0), most = room;

    for (size_t k = 0; k < t->items.n; k++) {
        const Item *it = &t->items.v[k];
        int left = room - kind_width(t, it);

        most = it->extent && left < most ? left : most;
    }
    for (size_t k = 0; k < t->items.n; k++) {
        const Item *it = &t->items.v[k];

        if (it->extent && !it->hidden && width_of(t, it) > column &&
            width_of(t, it) <= most)
            column = width_of(t, it);
    }
    return column;
}

static void put_items(Tree *t)
{
    int column;

    choose_form(t);
    column = extent_column(t);
    for (size_t k = 0; k < t->items.n; k++)
        if (!t->items.v[k].hidden)
            put_item(t, &t->items.v[k], column);
}

static const ml_Map *set_of(ml_Ctx *cx, const ml_Uid *v, size_t n)
{
    ml_Map *m = ml_map_new(cx);

    for (size_t k = 0; k < n; k++)
        ml_map_set(cx, m, v[k], m);
    return m;
}

static bool gather(Tree *t)
{
    ml_View *v = t->v;

    if (!ml_pane_shows(v, t->r, &t->sh))
        return false;
    const ml_Module *m = t->sh.p.mod;
    bool all = !ml_schedule_func(t->sh.s); /* none is chosen: each under its name */
    uint32_t from = all ? 0 : ml_schedule_func_pos(t->sh.s), end = all ? m->n : from + 1;

    t->has_before = ml_pane_before(&t->sh, &t->before);
    t->all_columns = ml_pane_width(v, ML_PANE_LOOPS) >= TREE_LEAST + ALL_COLUMNS;
    t->folded = set_of(t->r->cx, v->folded.v, v->folded.n);
    for (uint32_t k = from; k < end; k++)
        add_func(t, m->funcs[k], m->n > 1 ? m->funcs[k]->name : ml_schedule_name(t->sh.s));
    return true;
}

void ml_pane_loops(ml_View *v, ml_Rows *r)
{
    Tree t = {.v = v, .r = r};

    if (gather(&t))
        put_items(&t);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

void ml_pane_loops_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { EDGES = 2 }; /* the bar of what has changed, the cursor's mark */
    Tree t = {.v = v, .r = r};
    int extents = 0, kinds = 0;

    if (!v->ss->focus || !gather(&t))
        return;
    for (size_t k = 0; k < t.items.n; k++) {
        const Item *it = &t.items.v[k];

        t.indent = 1;
        t.letters = true;
        out->narrow = larger(out->narrow, width_of(&t, it) + kind_width(&t, it) + EDGES);
        t.indent = 2;
        t.letters = false;
        out->columns = larger(out->columns, width_of(&t, it) + EDGES);
        extents = larger(extents, it->extent ? width_of(&t, it) : 0);
        kinds = larger(kinds, it->extent ? kind_width(&t, it) : 0);
    }
    out->rows = (int)t.items.n;
    out->columns = larger(out->columns, extents + kinds + EDGES);
}
