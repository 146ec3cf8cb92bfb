/*
 * gen_fragment - what a warp computes on fragments: loads, stores, fills and products of
 * matrices, by the names that CUDA's wmma has.
 *
 * A fragment buffer is read as the matrix that its fragments make up: number f of fragments
 * of r x c is the tile in row f // (row length / c) of tiles, so that an access of an
 * element and a call for the warp agree. Each call becomes a nest of plain stores over the
 * memory itself; which element a lane holds is not modelled. A product takes its sizes from
 * the loads before it, or from its views. Source: lowering-and-codegen 9.4.
 */
#include "moonloop/codegen/interp/code.h"

typedef struct Shape {
    int64_t m, n, k;
    bool is_b, trans;
} Shape;

typedef struct Tile {
    const ml_Buffer *buffer;  /* whose memory it is */
    const ml_Expr *row, *col; /* of its first element; of memory that is no fragment: row
                                 is its offset in elements, */
    const ml_Expr *stride;    /* and this the distance of its rows; else NULL */
} Tile;

static const ml_Expr *mixed(ml_Gen *g, ml_ExprKind op, const ml_Expr *a, const ml_Expr *b)
{
    return ml_promote(g->cx, &a, &b) ? ml_binary(g->cx, op, a, b) : a;
}

static const ml_Expr *with(ml_Gen *g, ml_ExprKind op, const ml_Expr *a, int64_t n)
{
    return mixed(g, op, a, ml_int(g->cx, a->type, n));
}

/* The buffer that owns the memory of a pointer; NULL: it is no name of memory here. */
const ml_Buffer *ml_gen_owner(ml_Gen *g, const ml_Expr *data)
{
    const ml_Buffer *b =
        data->kind == ML_EXPR_VAR ? ml_map_get(g->by_data, data->as.var->uid) : NULL;
    const ml_BufInfo *info = b ? ml_map_get(g->bufs, b->uid) : NULL;

    while (info && info->match) {
        b = info->match->source.buffer;
        info = ml_map_get(g->bufs, b->uid);
    }
    return info ? b : NULL;
}

/* Indices of the element that lies `at` elements behind the first. */
void ml_gen_index_at(ml_Gen *g, const ml_Buffer *b, const ml_Expr *at, const ml_Expr **out)
{
    const ml_Expr *const *strides = ml_gen_buffer(g, b)->strides;

    for (size_t d = 0; d < b->rank; d++) {
        bool last = d + 1u == b->rank;

        out[d] = last ? at : mixed(g, ML_EXPR_FLOORDIV, at, strides[d]);
        at = last ? at : mixed(g, ML_EXPR_FLOORMOD, at, strides[d]);
    }
}

/* Indices of element (i, j) of the tile. */
static const ml_Expr **index_of(ml_Gen *g, const Tile *t, const ml_Expr *i,
                                const ml_Expr *j)
{
    const ml_Expr **out = ML_ARRAY(g->cx, const ml_Expr *, t->buffer->rank + 1u), *row;

    if (t->stride) {
        row = mixed(g, ML_EXPR_MUL, i, t->stride);
        ml_gen_index_at(g, t->buffer,
                        mixed(g, ML_EXPR_ADD, mixed(g, ML_EXPR_ADD, t->row, row), j), out);
        return out;
    }
    size_t rank = t->buffer->rank;

    row = mixed(g, ML_EXPR_ADD, t->row, i);
    out[rank - 1] = mixed(g, ML_EXPR_ADD, t->col, j);
    for (size_t d = rank - 1; d-- > 0;) { /* leading dimensions count rows too */
        out[d] = d ? mixed(g, ML_EXPR_FLOORMOD, row, t->buffer->shape[d]) : row;
        row = mixed(g, ML_EXPR_FLOORDIV, row, t->buffer->shape[d]);
    }
    if (rank == 1) /* flat: one after the other */
        out[0] = mixed(g, ML_EXPR_ADD, mixed(g, ML_EXPR_MUL, row, t->col), j);
    return out;
}

static const ml_Expr *load(ml_Gen *g, const Tile *t, const ml_Expr *i, const ml_Expr *j)
{
    return ml_load(g->cx, t->buffer, index_of(g, t, i, j), t->buffer->rank);
}

static const ml_Stmt *store(ml_Gen *g, const Tile *t, const ml_Expr *i, const ml_Expr *j,
                            const ml_Expr *value)
{
    return ml_store(g->cx, t->buffer, value, index_of(g, t, i, j), t->buffer->rank, NULL);
}

/* Fragment number `f` of rows x cols; false: the matrix is not made of such. */
static bool fragment(ml_Gen *g, const ml_Expr *data, const ml_Expr *f, int64_t rows,
                     int64_t cols, Tile *out)
{
    const ml_Buffer *b = ml_gen_owner(g, data);
    const ml_Expr *across;

    if (!b || b->rank == 0 || !ml_scope_is_fragment(b->scope))
        return false;
    *out = (Tile){.buffer = b};
    if (b->rank == 1) {
        out->row = with(g, ML_EXPR_MUL, f, rows);
        out->col = ml_int(g->cx, f->type, cols);
        return true;
    }
    across = b->shape[b->rank - 1];
    if (!ml_is_const_int(across) || across->as.i % cols != 0)
        return false;
    out->row =
        with(g, ML_EXPR_MUL, with(g, ML_EXPR_FLOORDIV, f, across->as.i / cols), rows);
    out->col =
        with(g, ML_EXPR_MUL, with(g, ML_EXPR_FLOORMOD, f, across->as.i / cols), cols);
    return true;
}

/* What a pointer into plain memory leads to. */
static bool plain(ml_Gen *g, const ml_Expr *ptr, const ml_Expr *stride, Tile *out)
{
    const ml_Buffer *b = NULL;

    if (ml_is_op(ptr, ML_OP_ACCESS_PTR) && ptr->n_args == 5)
        b = ml_gen_owner(g, ptr->args[1]);
    if (!b || b->rank == 0)
        return false;
    *out = (Tile){b, ptr->args[2], NULL, stride};
    return true;
}

/* ---- nests */

ml_GenNest ml_gen_nest(ml_Gen *g, size_t n, int64_t a, int64_t b, int64_t c)
{
    ml_GenNest out = {.extent = {a, b, c}, .n = n};
    static const char *const NAMES[] = {"i", "j", "k"};

    for (size_t k = 0; k < n; k++) {
        out.var[k] = ml_var_new(g->cx, NAMES[k], ML_DT_I32);
        out.at[k] = ml_var(g->cx, out.var[k]);
    }
    return out;
}

void ml_gen_run_nest(ml_Gen *g, const ml_GenNest *n, const ml_Stmt *body)
{
    for (size_t k = n->n; k-- > 0;)
        body = ml_serial(g->cx, n->var[k], ml_i32(g->cx, 0), ml_i32(g->cx, n->extent[k]),
                         body);
    g->instead = g->site + 1; /* an error outlives what is made here */
    ml_gen_stmt(g, body);
    g->instead = 0;
}

/* ---- calls */

static bool sizes(const ml_Expr *e, Shape *out)
{
    for (size_t k = 1; k < 4; k++)
        if (!ml_is_const_int(e->args[k]) || e->args[k]->as.i < 1)
            return false;
    out->m = e->args[1]->as.i;
    out->n = e->args[2]->as.i;
    out->k = e->args[3]->as.i;
    return true;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && ml_streq(s + n - m, end);
}

/* Rows and columns of a fragment, by where it lies. */
static void extents(const ml_Buffer *b, const Shape *s, int64_t *rows, int64_t *cols)
{
    bool a = ends_with(b->scope.name, "matrix_a") || ends_with(b->scope.name, "matrixA");

    *rows = a ? s->m : !s->is_b ? s->m : s->trans ? s->n : s->k;
    *cols = a || (s->is_b && s->trans) ? s->k : s->n;
}

static void remember(ml_Gen *g, const ml_Buffer *b, const Shape *s)
{
    Shape *kept = ML_NEW(g->cx, Shape);

    *kept = *s;
    ml_map_set(g->cx, g->fragments, b->uid, kept);
}

/* data, m, n, k, number, pointer, distance of rows, how the tile lies */
static bool load_or_store(ml_Gen *g, const ml_Expr *e, bool is_load)
{
    const ml_Buffer *b = ml_gen_owner(g, e->args[0]);
    const ml_Expr *how = e->args[7];
    Shape s = {0};
    Tile frag, mem;
    int64_t rows, cols;

    if (!b || !sizes(e, &s) || how->kind != ML_EXPR_STRING)
        return false;
    s.is_b = ends_with(b->scope.name, "matrix_b") || ends_with(b->scope.name, "matrixB");
    s.trans = ml_streq(how->as.s, "col_major");
    if (s.trans && !s.is_b)
        return false;
    extents(b, &s, &rows, &cols);
    if (!fragment(g, e->args[0], e->args[4], rows, cols, &frag) ||
        !plain(g, e->args[5], e->args[6], &mem))
        return false;
    if (is_load)
        remember(g, b, &s);

    const Tile *from = is_load ? &mem : &frag, *to = is_load ? &frag : &mem;
    ml_GenNest n = ml_gen_nest(g, 2, rows, cols, 1);
    const ml_Expr *v = load(g, from, n.at[0], n.at[1]);

    if (!ml_dtype_eq(v->type, to->buffer->type))
        return false;
    ml_gen_run_nest(g, &n, store(g, to, n.at[0], n.at[1], v));
    return true;
}

/* data, m, n, k, number, value */
static bool fill(ml_Gen *g, const ml_Expr *e)
{
    const ml_Buffer *b = ml_gen_owner(g, e->args[0]);
    Shape s = {0};
    Tile t;
    int64_t rows, cols;

    if (!b || !sizes(e, &s))
        return false;
    extents(b, &s, &rows, &cols);
    if (!fragment(g, e->args[0], e->args[4], rows, cols, &t))
        return false;
    remember(g, b, &s);
    ml_GenNest n = ml_gen_nest(g, 2, rows, cols, 1);

    ml_gen_run_nest(g, &n,
                    store(g, &t, n.at[0], n.at[1], ml_cast(g->cx, b->type, e->args[5])));
    return true;
}

/* Sizes of a product whose operands nobody loaded as fragments: those of the views that it is
 * given, where the block says how b lies. */
static const Shape *shape_of_views(ml_Gen *g, const ml_Expr *e)
{
    const ml_Buffer *v[2];
    int64_t d[4];

    for (size_t k = 0; k < 2; k++) {
        const ml_Expr *data = e->args[2 + 2 * k];

        v[k] = data->kind == ML_EXPR_VAR ? ml_map_get(g->by_data, data->as.var->uid) : NULL;
        for (size_t i = 0; i < 2; i++) {
            if (!v[k] || v[k]->rank != 2 || !ml_is_const_int(v[k]->shape[i]))
                return NULL;
            d[2 * k + i] = v[k]->shape[i]->as.i;
        }
    }
    const ml_Value *how = g->n_blocks ? ml_dict_get(g->blocks[g->n_blocks - 1]->annotations,
                                                    "matrix_b_layout")
                                      : NULL;
    Shape *s = ML_NEW(g->cx, Shape);
    bool trans = how && how->kind == ML_VAL_STRING && ml_streq(how->as.s, "col_major");

    *s = (Shape){d[0], d[trans ? 2 : 3], d[1], true, trans};
    return d[trans ? 3 : 2] == s->k ? s : NULL;
}

/* d, number, a, number, b, number, c, number: d = a b + c, each sum in the type of d */
static bool product(ml_Gen *g, const ml_Expr *e)
{
    Tile t[4]; /* d, a, b, c */
    const Shape *s[4];
    const ml_Buffer *b[4];

    for (size_t k = 0; k < 4; k++) {
        b[k] = ml_gen_owner(g, e->args[2 * k]);
        s[k] = b[k] ? ml_map_get(g->fragments, b[k]->uid) : NULL;
    }
    if (!s[1] || !s[2])
        s[1] = s[2] = shape_of_views(g, e);
    if (!b[0] || !b[1] || !b[2] || !b[3] || !s[1] || s[1]->m != s[2]->m ||
        s[1]->n != s[2]->n || s[1]->k != s[2]->k || !s[2]->is_b)
        return false;
    for (size_t k = 0; k < 4; k++) {
        Shape of = *s[2];
        int64_t rows, cols;

        of.is_b = k == 2;
        of.trans &= k == 2;
        extents(b[k], &of, &rows, &cols);
        if (!fragment(g, e->args[2 * k], e->args[2 * k + 1], rows, cols, &t[k]))
            return false;
    }
    bool same = b[0] == b[3] && e->args[1] == e->args[7], trans = s[2]->trans;
    ml_GenNest n = ml_gen_nest(g, same ? 3 : 2, s[1]->m, s[1]->n, s[1]->k);

    if (!same) { /* first d = c, then as if it had been there */
        const ml_Expr *c = load(g, &t[3], n.at[0], n.at[1]);

        ml_gen_run_nest(g, &n,
                        store(g, &t[0], n.at[0], n.at[1], ml_cast(g->cx, b[0]->type, c)));
        n = ml_gen_nest(g, 3, s[1]->m, s[1]->n, s[1]->k);
    }
    const ml_Expr *x = ml_cast(g->cx, b[0]->type, load(g, &t[1], n.at[0], n.at[2])),
                  *y = ml_cast(g->cx, b[0]->type,
                               load(g, &t[2], n.at[trans ? 1 : 2], n.at[trans ? 2 : 1])),
                  *sum =
                      ml_add(g->cx, load(g, &t[0], n.at[0], n.at[1]), ml_mul(g->cx, x, y));

    ml_gen_run_nest(g, &n, store(g, &t[0], n.at[0], n.at[1], sum));
    return true;
}

uint32_t ml_gen_fragment_call(ml_Gen *g, const ml_Expr *e)
{
    const char *name = e->as.op->name;
    bool ok = false;

    if (ml_streq(name, "tvm_fill_fragment") && e->n_args == 6)
        ok = fill(g, e);
    else if (ml_streq(name, "tvm_mma_sync") && e->n_args == 8)
        ok = product(g, e);
    else if (ml_streq(name, "tvm_load_matrix_sync") && e->n_args == 8)
        ok = load_or_store(g, e, true);
    else if (ml_streq(name, "tvm_store_matrix_sync") && e->n_args == 8)
        ok = load_or_store(g, e, false);
    return ok ? ml_gen_int(g, 0) : ml_gen_no_call(g, e);
}
