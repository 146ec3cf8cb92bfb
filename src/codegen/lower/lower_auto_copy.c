/*
 * lower_auto_copy - how a copy that says only what it copies is done by the threads of its
 * kernel: blocks annotated auto_copy, a nest of loops around one store of one load.
 *
 *   global <-> shared     the loops become one, cut over threadIdx.z, y, x and a vector of
 *                         vector_bytes; local_stage: by way of registers of the thread
 *   shared -> fragments   the last two loops in tiles, each a load by the warp
 *   fragments -> outside  the same with stores
 *
 * Other pairs of scopes, tiles that do not divide, and extents that are not known leave the
 * nest as it is: the first thread then copies all of it, or each where it is its own memory.
 * Source: lowering-and-codegen 2.9.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/arith/iter_map.h"
#include "moonloop/core/walk.h"

enum { MOST_LOOPS = 16, AXES = 3, TILE = 16 };

static const char *const NAMES[AXES] = {"tx", "ty", "tz"};

typedef struct Pass {
    ml_Lower *lo;
    ml_Ctx *cx;
    ml_Arith *ar;
    int64_t threads[AXES]; /* of the kernel: extents of threadIdx.x, y, z; 0: no such */
    bool in_kernel, changed;
} Pass;

typedef struct Copy {
    Pass *p;
    const ml_Block *block;
    const ml_For *loop[MOST_LOOPS];
    int64_t extent[MOST_LOOPS];
    size_t n;
    const ml_Store *store;
    const ml_Expr *load;
    const ml_Span *span;
} Copy;

/* ---- what there is */

static bool find_threads(const ml_Stmt *s, void *user)
{
    Pass *p = user;

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        if (f->kind == ML_FOR_THREAD && f->thread.axis == ML_AXIS_THREAD &&
            f->thread.dim < AXES && ml_is_const_int(f->extent))
            p->threads[f->thread.dim] = f->extent->as.i;
    }
    return true;
}

/* A warp executes some block: it has 32 lanes, though no loop says so. */
static bool find_warps(const ml_Stmt *s, void *user)
{
    Pass *p = user;

    if (s->kind == ML_STMT_BLOCK &&
        ml_dict_get(ml_as_block(s)->annotations, "warp_execution") && !p->threads[ML_DIM_X])
        p->threads[ML_DIM_X] = 32;
    return true;
}

static int64_t number(const ml_Block *b, const char *key, int64_t otherwise)
{
    const ml_Value *v = ml_dict_get(b->annotations, key);

    if (v && (v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL))
        return v->as.i;
    if (v && v->kind == ML_VAL_EXPR && ml_is_const_int(v->as.expr))
        return v->as.expr->as.i;
    return otherwise;
}

/* A nest of loops from 0, with numbers for extents, around one store of one load. */
static bool is_copy(Copy *c)
{
    const ml_Stmt *s = c->block->body;

    for (; s->kind == ML_STMT_FOR; s = ml_as_for(s)->body) {
        const ml_For *f = ml_as_for(s);

        if (c->n == MOST_LOOPS || f->kind != ML_FOR_SERIAL || f->step ||
            !ml_is_int(f->min, 0) || !ml_is_const_int(f->extent) || f->extent->as.i < 1)
            return false;
        c->extent[c->n] = f->extent->as.i;
        c->loop[c->n++] = f;
    }
    if (s->kind != ML_STMT_STORE || c->n == 0)
        return false;
    c->store = ml_as_store(s);
    c->load = c->store->value;
    c->span = ml_span_of(s, NULL);
    return !c->store->mask && c->load->kind == ML_EXPR_LOAD &&
           !(c->load->flags & ML_X_MASKED) && ml_load_rank(c->load) > 0;
}

static bool uses_loops(const Copy *c, const ml_Expr *e)
{
    for (size_t k = 0; k < c->n; k++)
        if (ml_expr_uses_var(e, c->loop[k]->var))
            return true;
    return false;
}

/* The index less the loop's variable, where that is all there is of the loops; NULL. */
static const ml_Expr *base_of(const Copy *c, const ml_Expr *index, size_t loop)
{
    ml_Ctx *cx = c->p->cx;
    const ml_Expr *v = ml_var(cx, c->loop[loop]->var);

    if (!ml_promote(cx, &index, &v))
        return NULL;
    const ml_Expr *e = ml_simplify(c->p->ar, ml_sub(cx, index, v));

    return uses_loops(c, e) ? NULL : e;
}

/* ---- pieces */

static const ml_Expr *num(const Copy *c, int64_t v)
{
    return ml_int(c->p->cx, c->loop[0]->var->type, v);
}

static const ml_Stmt *loop_around(const Copy *c, const ml_Var *v, int64_t extent,
                                  ml_ForKind kind, const ml_Stmt *body)
{
    ml_For f = {.base.span = c->span,
                .kind = (uint8_t)kind,
                .var = v,
                .min = num(c, 0),
                .extent = num(c, extent),
                .body = body};

    return ml_for_from(c->p->cx, &f);
}

/* Loops over all threads of the kernel, of the variables that are not NULL; x innermost. */
static const ml_Stmt *over_threads(const Pass *p, const ml_Span *span,
                                   const ml_Var *const *v, const ml_Stmt *body)
{
    static const char *const TAGS[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

    for (size_t d = 0; d < AXES; d++) {
        if (!v[d])
            continue;
        ml_For f = {.base.span = span,
                    .kind = ML_FOR_THREAD,
                    .var = v[d],
                    .min = ml_int(p->cx, v[d]->type, 0),
                    .extent = ml_int(p->cx, v[d]->type, p->threads[d]),
                    .thread = ml_thread(TAGS[d]),
                    .body = body};

        body = ml_for_from(p->cx, &f);
    }
    return body;
}

static const ml_Var *new_var(const Copy *c, const char *name)
{
    return ml_var_new(c->p->cx, name, c->loop[0]->var->type);
}

/* The loops' variables as digits of the number of the element. */
static ml_Subst digits_of(const Copy *c, const ml_Expr *at)
{
    ml_Ctx *cx = c->p->cx;
    ml_Subst sub = {0};
    int64_t stride = 1;

    for (size_t k = c->n; k-- > 0;) {
        const ml_Expr *d = stride > 1 ? ml_floordiv(cx, at, num(c, stride)) : at;

        d = k ? ml_floormod(cx, d, num(c, c->extent[k])) : d;
        ml_subst_var(cx, &sub, c->loop[k]->var, ml_cast(cx, c->loop[k]->var->type, d));
        stride *= c->extent[k];
    }
    return sub;
}

/* ---- by all threads */

static const ml_Expr *stride_of(const Copy *c, const ml_Buffer *b, size_t d)
{
    ml_Ctx *cx = c->p->cx;
    const ml_Expr *s = ml_i32(cx, 1);

    if (b->n_strides)
        return b->strides[d];
    for (size_t k = d + 1; k < b->rank; k++) {
        const ml_Expr *e = b->shape[k];

        s = ml_promote(cx, &s, &e) ? ml_mul(cx, s, e) : s;
    }
    return s;
}

static bool divides(const Copy *c, const ml_Expr *e, int64_t n)
{
    ml_Modular m = ml_arith_modular(c->p->ar, e);

    return m.coeff % n == 0 && m.base % n == 0;
}

/* The last loop runs along the last dimension, and n elements from where it begins, or n
 * further, lie next to each other at a place that n divides. */
static bool has_vectors(const Copy *c, const ml_Buffer *b, const ml_Expr *const *index,
                        size_t rank, int64_t n)
{
    const ml_Expr *base = base_of(c, index[rank - 1], c->n - 1);

    if (!base || !divides(c, base, n) || !divides(c, b->elem_offset, n) ||
        !ml_is_int(stride_of(c, b, rank - 1), 1))
        return false;
    for (size_t d = 0; d + 1u < rank; d++)
        if (ml_expr_uses_var(index[d], c->loop[c->n - 1]->var) ||
            !divides(c, stride_of(c, b, d), n))
            return false;
    return true;
}

/* Elements that a thread moves at once. */
static int64_t lanes_of(const Copy *c)
{
    const ml_Buffer *to = c->store->buffer, *from = c->load->as.buffer;
    int64_t bits = (int64_t)to->type.bits * to->type.lanes;
    int64_t want = number(c->block, "vector_bytes", 1) * 8 / bits;

    return want > 1 && c->extent[c->n - 1] % want == 0 &&
                   has_vectors(c, to, c->store->indices, c->store->n, want) &&
                   has_vectors(c, from, c->load->args, ml_load_rank(c->load), want)
               ? want
               : 1;
}

typedef struct Turns {
    const ml_Var *axis[AXES], *turn, *lane;
    int64_t threads, turns, lanes, all;
} Turns;

/* All that a thread does of one nest: its turns, in each a vector. stores: to `to` at that
 * place from `from`; where a buffer of the thread is one of them it is at [turn, lane]. */
static const ml_Stmt *by_turns(const Copy *c, const Turns *t, const ml_Buffer *own,
                               bool into_own)
{
    ml_Ctx *cx = c->p->cx;
    const ml_Var *turn = ml_var_fresh(cx, t->turn), *lane = ml_var_fresh(cx, t->lane);
    const ml_Expr *mine[2] = {t->turns > 1 ? ml_var(cx, turn) : num(c, 0),
                              t->lanes > 1 ? ml_var(cx, lane) : num(c, 0)};
    const ml_Expr *at = mine[0], *begin, *value = c->load;
    const ml_Stmt *s;

    for (size_t d = AXES; d-- > 0;)
        if (t->axis[d])
            at = ml_add(cx, ml_mul(cx, at, num(c, c->p->threads[d])),
                        ml_var(cx, t->axis[d]));
    begin = ml_mul(cx, at, num(c, t->lanes));

    ml_Subst sub = digits_of(c, ml_add(cx, begin, mine[1]));

    value = own && !into_own ? ml_load(cx, own, mine, 2) : ml_expr_subst(cx, value, &sub);
    if (own && into_own) {
        s = ml_store(cx, own, value, mine, 2, NULL);
    } else {
        const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, c->store->n + 1u);

        for (size_t d = 0; d < c->store->n; d++)
            idx[d] = ml_expr_subst(cx, c->store->indices[d], &sub);
        s = ml_store(cx, c->store->buffer, value, idx, c->store->n, NULL);
    }
    s = ml_at(cx, s, c->span);
    if (t->lanes > 1)
        s = loop_around(c, lane, t->lanes, ML_FOR_VECTORIZED, s);
    if (t->threads * t->turns * t->lanes != t->all) /* what is left over is not there */
        s = ml_at(cx, ml_if(cx, ml_lt(cx, begin, num(c, t->all)), s, NULL), c->span);
    return t->turns > 1 ? loop_around(c, turn, t->turns, ML_FOR_SERIAL, s) : s;
}

static const ml_Stmt *coalesce(const Copy *c, ml_Block *b)
{
    ml_Ctx *cx = c->p->cx;
    Turns t = {.threads = 1, .all = 1, .lanes = lanes_of(c)};
    const ml_Stmt *s;

    for (size_t k = 0; k < c->n; k++)
        if (__builtin_mul_overflow(t.all, c->extent[k], &t.all) || t.all > INT32_MAX / 2)
            return NULL;
    for (size_t d = 0; d < AXES; d++) {
        if (c->p->threads[d] < 1)
            continue;
        t.threads *= c->p->threads[d];
        t.axis[d] = new_var(c, NAMES[d]);
    }
    if (t.threads == 1 || t.threads > INT32_MAX / (2 * t.lanes))
        return NULL;
    t.turns = (t.all + t.threads * t.lanes - 1) / (t.threads * t.lanes);
    t.turn = new_var(c, "turn");
    t.lane = new_var(c, "lane");
    if (ml_streq(c->store->buffer->scope.name, "global") ||
        !number(c->block, "local_stage", 0)) {
        s = by_turns(c, &t, NULL, false);
    } else {
        const ml_Expr *shape[2] = {num(c, t.turns), num(c, t.lanes)};
        const ml_Buffer *own =
            ml_buffer_new(cx, ml_format(cx, "%s_local", c->store->buffer->name),
                          c->store->buffer->type, shape, 2, "local");
        const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b->n_allocs + 1u);

        for (uint32_t k = 0; k < b->n_allocs; k++)
            allocs[k] = b->allocs[k];
        allocs[b->n_allocs++] = own;
        b->allocs = allocs;
        s = ml_then(cx, by_turns(c, &t, own, true), by_turns(c, &t, own, false));
    }
    return over_threads(c->p, c->span, t.axis, s);
}

/* ---- by a warp, tile after tile */

typedef struct Side {
    const ml_Buffer *buffer;
    const ml_Expr *const *index;
    size_t rank;
    const ml_Expr *row, *col; /* bases of the last two dimensions */
} Side;

static bool side_of(const Copy *c, const ml_Buffer *b, const ml_Expr *const *index,
                    size_t rank, Side *out)
{
    *out = (Side){.buffer = b, .index = index, .rank = rank};
    if (rank < 2)
        return false;
    out->row = base_of(c, index[rank - 2], c->n - 2);
    out->col = base_of(c, index[rank - 1], c->n - 1);
    for (size_t d = 0; d + 2u < rank; d++)
        for (size_t k = c->n - 2; k < c->n; k++)
            if (ml_expr_uses_var(index[d], c->loop[k]->var))
                return false;
    return out->row && out->col;
}

/* The number of the fragment that begins there: fragments lie row by row. */
static const ml_Expr *fragment_at(const Copy *c, const Side *s, const ml_Expr *row,
                                  const ml_Expr *col, int64_t rows, int64_t cols)
{
    ml_Ctx *cx = c->p->cx;
    ml_Dtype t = row->type;
    const ml_Expr *line = NULL;

    for (size_t d = 0; d + 2u < s->rank; d++) {
        const ml_Expr *i = ml_cast(cx, t, s->index[d]);

        line =
            line ? ml_add(cx, ml_mul(cx, line, ml_cast(cx, t, s->buffer->shape[d])), i) : i;
    }
    row = line ? ml_add(cx, ml_mul(cx, line, ml_cast(cx, t, s->buffer->shape[s->rank - 2])),
                        row)
               : row;
    return ml_add(cx,
                  ml_mul(cx, ml_floordiv(cx, row, ml_int(cx, t, rows)),
                         ml_int(cx, t, s->buffer->shape[s->rank - 1]->as.i / cols)),
                  ml_floordiv(cx, ml_cast(cx, t, col), ml_int(cx, t, cols)));
}

static const ml_Expr *pointer_at(const Copy *c, const Side *s, const ml_Expr *row,
                                 const ml_Expr *col, int64_t rows, bool writes)
{
    ml_Ctx *cx = c->p->cx;
    const ml_Expr *at = s->buffer->elem_offset, *x[5];

    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *i = d + 2u == s->rank ? row : d + 1u == s->rank ? col : s->index[d];
        const ml_Expr *by = stride_of(c, s->buffer, d);

        i = ml_promote(cx, &i, &by) ? ml_mul(cx, i, by) : i;
        at = ml_promote(cx, &at, &i) ? ml_add(cx, at, i) : at;
    }
    const ml_Expr *all = stride_of(c, s->buffer, s->rank - 2);

    x[0] = ml_call_id(cx, s->buffer->type, ML_OP_TYPE_ANNOTATION, NULL, 0);
    x[1] = ml_var(cx, s->buffer->data);
    x[2] = at;
    x[3] = ml_mul(cx, all, ml_int(cx, all->type, rows));
    x[4] = ml_i32(cx, writes ? 2 : 1);
    return ml_call_id(cx, ML_DT_HANDLE, ML_OP_ACCESS_PTR, x, 5);
}

/* loads: into fragments of m x n x k, which are rows x cols there; else out of them. */
static const ml_Stmt *fragments(const Copy *c, bool loads, const int64_t mnk[3],
                                int64_t rows, int64_t cols)
{
    ml_Ctx *cx = c->p->cx;
    Side mem, frag;
    const ml_Buffer *from = c->load->as.buffer, *to = c->store->buffer;

    if (c->n < 2 || c->extent[c->n - 2] % rows != 0 || c->extent[c->n - 1] % cols != 0 ||
        !side_of(c, loads ? from : to, loads ? c->load->args : c->store->indices,
                 loads ? ml_load_rank(c->load) : c->store->n, &mem) ||
        !side_of(c, loads ? to : from, loads ? c->store->indices : c->load->args,
                 loads ? c->store->n : ml_load_rank(c->load), &frag) ||
        !divides(c, frag.row, rows) || !divides(c, frag.col, cols) ||
        !ml_dtype_eq(from->type, to->type))
        return NULL;
    for (size_t d = 0; d < frag.rank; d++)
        if (!ml_is_const_int(frag.buffer->shape[d]) ||
            (d + 2u == frag.rank && frag.buffer->shape[d]->as.i % rows != 0) ||
            (d + 1u == frag.rank && frag.buffer->shape[d]->as.i % cols != 0))
            return NULL;
    const ml_Var *i = new_var(c, "i"), *j = new_var(c, "j");
    const ml_Expr *down = ml_mul(cx, ml_var(cx, i), num(c, rows));
    const ml_Expr *right = ml_mul(cx, ml_var(cx, j), num(c, cols));
    const ml_Expr *x[8];

    for (size_t k = 0; k < 2; k++) {
        Side *s = k ? &frag : &mem;

        s->row = ml_add(cx, s->row, ml_cast(cx, s->row->type, down));
        s->col = ml_add(cx, s->col, ml_cast(cx, s->col->type, right));
    }
    x[0] = ml_var(cx, frag.buffer->data);
    for (size_t k = 0; k < 3; k++)
        x[1 + k] = ml_i32(cx, (int32_t)mnk[k]);
    x[4] = fragment_at(c, &frag, frag.row, frag.col, rows, cols);
    x[5] = pointer_at(c, &mem, mem.row, mem.col, rows, !loads);
    x[6] = stride_of(c, mem.buffer, mem.rank - 2);
    x[7] = ml_string(cx, ml_str("row_major"));
    const ml_Op *op =
        ml_op_intern(cx, ml_str(loads ? "tvm_load_matrix_sync" : "tvm_store_matrix_sync"));
    const ml_Stmt *s =
        ml_at(cx, ml_evaluate(cx, ml_call(cx, ML_DT_HANDLE, op, x, 8)), c->span);

    s = loop_around(c, j, c->extent[c->n - 1] / cols, ML_FOR_SERIAL, s);
    s = loop_around(c, i, c->extent[c->n - 2] / rows, ML_FOR_SERIAL, s);
    for (size_t k = c->n - 2; k-- > 0;) {
        ml_For f = *c->loop[k];

        f.body = s;
        s = ml_for_from(cx, &f);
    }
    return s;
}

/* ---- the pass */

static bool is_at(const ml_Buffer *b, const char *scope)
{
    return ml_streq(b->scope.name, scope);
}

static const ml_Stmt *done(const Copy *c, ml_Block *b)
{
    static const int64_t WMMA[] = {16, 16, 16}, MMA[] = {16, 8, 8};
    const ml_Buffer *from = c->load->as.buffer, *to = c->store->buffer;
    bool shared[2] = {from->scope.rank == ML_SCOPE_SHARED,
                      to->scope.rank == ML_SCOPE_SHARED};

    if ((is_at(from, "global") && shared[1]) || (shared[0] && is_at(to, "global")))
        return coalesce(c, b);
    if (shared[0] && (is_at(to, "wmma.matrix_a") || is_at(to, "wmma.matrix_b")))
        return fragments(c, true, WMMA, TILE, TILE);
    if (!shared[1] && !is_at(to, "global"))
        return NULL;
    if (is_at(from, "wmma.accumulator"))
        return fragments(c, false, WMMA, TILE, TILE);
    return is_at(from, "m16n8k8.matrixC") ? fragments(c, false, MMA, TILE, 8) : NULL;
}

/* The block as it is, by the first thread alone where others see what it writes. */
static const ml_Stmt *by_first_thread(Pass *p, const ml_Block *b)
{
    ml_Ctx *cx = p->cx;
    const ml_Var *v[AXES] = {NULL};
    const ml_Expr *first = NULL;
    const ml_Stmt *s;
    bool common = false;

    for (uint32_t k = 0; k < b->n_writes; k++)
        common |= b->writes[k].buffer->scope.rank == ML_SCOPE_SHARED ||
                  b->writes[k].buffer->scope.rank == ML_SCOPE_GLOBAL;
    for (size_t d = 0; d < AXES && common; d++) {
        if (p->threads[d] < 2)
            continue;
        v[d] = ml_var_new(cx, NAMES[d], ML_DT_I32);
        const ml_Expr *at = ml_eq(cx, ml_var(cx, v[d]), ml_int(cx, ML_DT_I32, 0));

        first = first ? ml_and(cx, first, at) : at;
    }
    s = ml_block_from(cx, b);
    if (first)
        s = ml_stmt_at(cx, ml_if(cx, first, s, NULL), ml_span_of(s, NULL));
    return over_threads(p, ml_span_of(s, NULL), v, s);
}

static const ml_Stmt *lower_kernel(Pass *p, const ml_Stmt *s);

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {.stmt = lower_stmt, .user = user};
    Pass *p = user;

    if (!st->has_block)
        return st;
    if (!p->in_kernel && st->kind == ML_STMT_FOR && ml_as_for(st)->thread.axis)
        return lower_kernel(p, st);
    if (st->kind != ML_STMT_BLOCK || !number(ml_as_block(st), "auto_copy", 0))
        return ml_stmt_map(cx, st, &m);
    ml_Block b = *ml_as_block(st);
    Copy c = {.p = p, .block = ml_as_block(st)};
    const ml_Stmt *body = is_copy(&c) ? done(&c, &b) : NULL;

    p->changed = true;
    b.annotations = ml_dict_without(cx, b.annotations, "auto_copy");
    if (!body) {
        ml_lower_note(p->lo, ml_span_of(st, NULL),
                      "auto_copy: block %s is left as it is, threads do not share it out",
                      b.name ? b.name : "");
        return by_first_thread(p, &b);
    }
    b.body = body;
    return ml_block_from(cx, &b);
}

static const ml_Stmt *lower_kernel(Pass *p, const ml_Stmt *s)
{
    const ml_Mapper m = {.stmt = lower_stmt, .user = p};

    memset(p->threads, 0, sizeof p->threads);
    ml_stmt_visit(s, find_threads, p);
    ml_stmt_visit(s, find_warps, p);
    find_threads(s, p);
    p->in_kernel = true;
    s = ml_stmt_map(p->cx, s, &m);
    p->in_kernel = false;
    memset(p->threads, 0, sizeof p->threads);
    return s;
}

const ml_Func *ml_pass_lower_auto_copy(ml_Lower *lo, const ml_Func *f)
{
    Pass p = {.lo = lo, .cx = lo->cx, .ar = ml_lower_arith(lo, f)};

    f = ml_func_with_body(lo->cx, f, lower_stmt(lo->cx, f->body, &p));
    return p.changed ? ml_pass_unify_threads(lo, f) : f; /* the threads are the kernel's */
}
