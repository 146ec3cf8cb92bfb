/*
 * dataflow - pane 4: the buffers of the selected block (of a loop: of the blocks below
 * it; of the function: all), who writes and who reads them, and how far apart.
 *
 * Two accesses are as many iterations apart as the writer makes within one iteration of
 * what stands around both. For an element that a block updates itself these are the
 * iterations of the loops inside its innermost loop of reduction. Enter goes to the block
 * at the other end. Source: interaction 10.
 */
#include "repl/show/footprint.h"
#include "repl/view/pane/panes.h"
#include "repl/view/pane/wants.h"

typedef struct Flow {
    ml_Rows *r;
    ml_Shown sh;
    ml_Uid selected; /* a block; 0: several */
    ML_VEC(const ml_Buffer *) buffers;
    ml_Map *seen;
} Flow;

typedef struct Line {
    const ml_Buffer *buffer;
    const char *shape, *bytes, *where;
    ml_UidVec writers, readers;
    bool is_param;
} Line;

/* ---- which buffers */

static void add_regions(Flow *f, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!ml_map_has(f->seen, v[k].buffer->uid)) {
            ml_map_set(f->r->cx, f->seen, v[k].buffer->uid, v[k].buffer);
            ml_push(f->r->cx, &f->buffers, v[k].buffer);
        }
}

static void add_block(Flow *f, const ml_Stmt *block)
{
    const ml_Block *b = ml_as_block(block);

    add_regions(f, b->reads, b->n_reads);
    add_regions(f, b->writes, b->n_writes);
}

static void gather(Flow *f, const ml_Stmt *st)
{
    ml_StmtVec v = {0};

    if (st->kind == ML_STMT_BLOCK && f->selected)
        add_block(f, st);
    else
        ml_all_blocks(f->r->cx, st, &v);
    for (size_t k = 0; k < v.n; k++)
        add_block(f, v.v[k]);
}

/* ---- who uses them */

static bool among(const ml_Region *v, size_t n, const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer == b)
            return true;
    return false;
}

/* Into the order of the text. */
static void insert(Flow *f, ml_UidVec *v, ml_Uid uid)
{
    size_t at;

    ml_push(f->r->cx, v, uid);
    for (at = v->n - 1; at > 0; at--) {
        const ml_Index *ix = f->sh.p.index;
        ml_Uid before = v->v[at - 1];

        if (ml_index_is_above(ix, before, uid) ||
            (!ml_index_is_above(ix, uid, before) && !ml_index_before(ix, uid, before)))
            break;
        v->v[at] = before;
    }
    v->v[at] = uid;
}

/* Blocks that only hold others which use it are left out, and so are those of other
 * functions. */
static void find_users(Flow *f, Line *l)
{
    enum { MOST = 64 };
    ml_Tags t = ml_index_users(f->sh.p.index, l->buffer);

    for (size_t k = 0; k < t.n && l->writers.n + l->readers.n < MOST; k++) {
        const ml_Block *b = ml_as_block(ml_index_node(f->sh.p.index, t.v[k]));

        if (b->base.n_blocks > 1 && b->tag != f->selected)
            continue;
        if (among(b->writes, b->n_writes, l->buffer))
            insert(f, &l->writers, b->tag);
        if (among(b->reads, b->n_reads, l->buffer))
            insert(f, &l->readers, b->tag);
    }
}

static bool is_param(const Flow *f, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < f->sh.p.mod->n; k++) {
        const ml_Func *fn = f->sh.p.mod->funcs[k];

        for (size_t m = 0; m < fn->n_params; m++)
            if (fn->params[m].buffer == b)
                return true;
    }
    return false;
}

/* ---- how far apart */

/* Iterations of the loops above `from` up to (not at) `top`; of the innermost ones until a
 * loop of reduction when `inner`. -1: not a number. */
static int64_t iterations(const Flow *f, ml_Uid from, ml_Uid top, bool inner)
{
    int64_t n = 1;

    for (ml_Up u = ml_index_up(f->sh.p.index, from); u.node && u.uid != top;
         ml_index_next(&u)) {
        const ml_For *loop;

        if (u.node->kind != ML_STMT_FOR)
            continue;
        loop = ml_as_for(u.node);
        if (inner && ml_loop_type(f->sh.p, u.uid) != ML_ITER_SPATIAL)
            return n;
        if (!ml_is_const_int(loop->extent) ||
            __builtin_mul_overflow(n, loop->extent->as.i, &n))
            return -1;
    }
    return inner ? 0 : n; /* no reduction: no element comes again */
}

/* The writer and the reader that matter to who looks. */
static bool ends(const Flow *f, const Line *l, ml_Uid *writer, ml_Uid *reader)
{
    *writer = *reader = 0;
    for (size_t k = 0; k < l->readers.n; k++)
        if (!*reader || l->readers.v[k] == f->selected)
            *reader = l->readers.v[k];
    for (size_t k = 0; k < l->writers.n; k++)
        if (!*writer || l->writers.v[k] == f->selected ||
            (*reader && *writer != f->selected && l->writers.v[k] != *reader &&
             ml_index_before(f->sh.p.index, l->writers.v[k], *reader)))
            *writer = l->writers.v[k];
    return *writer && *reader;
}

static void put_distance(const Flow *f, const Line *l)
{
    ml_Uid writer, reader;
    ml_Text t = {0};
    int64_t n;

    if (!ends(f, l, &writer, &reader))
        return;
    n = writer == reader
            ? iterations(f, reader, 0, true)
            : iterations(f, writer, ml_index_lca(f->sh.p.index, writer, reader), false);
    if (n > 0) {
        ml_text_thousands(&t, n);
        ml_rows_put(f->r, ML_ROLE_DIM, "   %s iteration%s apart", ml_text_z(&t),
                    n == 1 ? "" : "s");
    }
    ml_text_free(&t);
}

/* ---- rows */

static Line line_of(Flow *f, const ml_Buffer *b)
{
    Line l = {.buffer = b, .is_param = is_param(f, b)};
    int64_t n = ml_buffer_const_size(b);
    ml_Text t = {0};

    for (size_t d = 0; d < b->rank; d++)
        ml_text_fmt(&t, "%s%s", d ? "×" : "", ml_pane_expr(f->r, &f->sh, b->shape[d]));
    ml_text_fmt(&t, "%s%s", b->rank ? " " : "", ml_dtype_name(f->r->cx, b->type));
    l.shape = ml_text_into(f->r->cx, &t);
    if (n >= 0 && n <= INT64_MAX / 64)
        ml_text_bytes(&t, n * (int64_t)ml_dtype_bytes(b->type));
    else
        ml_text_char(&t, '?');
    l.bytes = ml_text_into(f->r->cx, &t);
    l.where = l.is_param ? "param" : b->scope.name;
    find_users(f, &l);
    return l;
}

static void put_names(Flow *f, const ml_UidVec *v, const char *none)
{
    enum { MOST = 4 };

    for (size_t k = 0; k < v->n && k < MOST; k++) {
        ml_rows_put(f->r, ML_ROLE_TEXT, "%s", k ? ", " : "");
        ml_rows_put(f->r, v->v[k] == f->selected ? ML_ROLE_STRONG : ML_ROLE_BLOCK, "%s",
                    ml_pane_name(&f->sh, v->v[k]));
    }
    if (v->n > MOST)
        ml_rows_put(f->r, ML_ROLE_DIM, ", … %zu more", v->n - MOST);
    if (v->n == 0)
        ml_rows_put(f->r, ML_ROLE_DIM, "%s", none);
}

/* Where Enter leads: to a block at the other end, if there is one. */
static ml_Uid other_end(const Flow *f, const Line *l)
{
    for (size_t k = l->writers.n; k-- > 0;)
        if (l->writers.v[k] != f->selected)
            return l->writers.v[k];
    for (size_t k = 0; k < l->readers.n; k++)
        if (l->readers.v[k] != f->selected)
            return l->readers.v[k];
    return 0;
}

/* The buffers of what lies at and below a node; NULL: of all that is shown. */
static void put_flow(Flow *f, const ml_Stmt *st)
{
    enum { NAME = 16 };
    ml_Rows *r = f->r;
    int name = 0;

    f->seen = ml_map_new(r->cx);
    if (st)
        gather(f, st);
    for (uint32_t k = 0; !st && k < f->sh.p.mod->n; k++)
        if (!ml_schedule_func(f->sh.s) || k == ml_schedule_func_pos(f->sh.s))
            gather(f, f->sh.p.mod->funcs[k]->body);
    Line *lines = ML_ARRAY(r->cx, Line, f->buffers.n + 1);

    for (size_t k = 0; k < f->buffers.n; k++) {
        Line *l = &lines[k];

        *l = line_of(f, f->buffers.v[k]);
        name = ml_wider(name, ml_pane_name(&f->sh, l->buffer->uid), NAME);
    }
    for (size_t k = 0; k < f->buffers.n; k++) {
        const Line *l = &lines[k];
        ml_Row *row;

        ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_pane_name(&f->sh, l->buffer->uid));
        ml_rows_pad(r, name + 2, 1);
        put_names(f, &l->writers, l->is_param ? "input" : "nobody");
        ml_rows_put(r, ML_ROLE_TEXT, " → ");
        put_names(f, &l->readers, l->is_param ? "output" : "nobody");
        put_distance(f, l);
        ml_rows_put(r, ML_ROLE_TEXT, "   %s", l->shape);
        ml_rows_put(r, ML_ROLE_NUMBER, "  %s", l->bytes);
        ml_rows_put(r, ML_ROLE_DIM, "  %s", l->where);
        row = ml_rows_end(r);
        row->key = ml_pane_name(&f->sh, l->buffer->uid);
        row->node = other_end(f, l);
    }
}

void ml_pane_dataflow(ml_View *v, ml_Rows *r)
{
    Flow f = {.r = r};
    const ml_Stmt *st;

    if (!ml_pane_shows(v, r, &f.sh))
        return;
    st = ml_pane_selected(v, &f.sh);
    if (st && st->kind == ML_STMT_BLOCK && ml_index_parent(f.sh.p.index, v->node))
        f.selected = v->node;
    put_flow(&f, st);
    if (f.buffers.n == 0)
        ml_pane_say(v, r, ML_PANE_DATAFLOW, ML_ROLE_DIM,
                    "no block here reads or writes a buffer");
}

static void want_nest(ml_Rows *r, const ml_Shown *sh, const ml_Stmt *nest, ml_Want *out)
{
    enum { MOST_COLUMNS = 56, MOST_ROWS = 12 };
    Flow f = {.r = r, .sh = *sh};

    put_flow(&f, nest);
    ml_want_rows(out, r, MOST_COLUMNS);
    out->rows = out->rows > MOST_ROWS ? MOST_ROWS : out->rows;
}

void ml_pane_dataflow_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    ml_Shown sh;

    if (v->ss->focus && ml_pane_shows(v, r, &sh))
        ml_nests_want(v, r, &sh, ML_PANE_DATAFLOW, true, want_nest, out);
}
