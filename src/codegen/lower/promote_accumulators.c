/*
 * promote_accumulators - what a reduction adds to stays in registers.
 *
 * Two rewrites. A small `local` buffer whose indices still contain loop variables has those
 * loops unrolled, so that each element is a value of its own for the backend. And a loop
 * whose only statement updates one element (or vector) of a buffer in memory loads it
 * before, keeps it in a local one, and stores it after. Source: lowering-and-codegen 7.4.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/base/fault.h"

enum { MOST_VECTORS = 64, MOST_BYTES = 8192 };

typedef struct Promoter {
    ml_Lower *lo;
    bool overlap; /* buffers may share memory */
} Promoter;

/* ---------------------------------------------------------------- updates in memory */

typedef struct Uses {
    const ml_Expr *same; /* the load that may occur */
    const ml_Buffer *b;
    bool overlap, other;
} Uses;

static bool see_use(const ml_Expr *e, void *user)
{
    Uses *u = user;

    if (e == u->same)
        return false;
    if (e->kind == ML_EXPR_LOAD &&
        (u->overlap || e->as.buffer->data->uid == u->b->data->uid))
        u->other = true;
    if (e->kind == ML_EXPR_VAR && e->as.var->uid == u->b->data->uid)
        u->other = true;
    return !u->other;
}

/* The load of what st stores to, when st's value contains it and nothing else of the
 * buffer, and its place does not depend on the loop; NULL: no such update. */
static const ml_Expr *updated(const Promoter *w, const ml_For *f, const ml_Store *st)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *load;
    Uses u = {.b = st->buffer, .overlap = w->overlap};

    if (st->n == 0 || st->buffer->type.lanes != 1 ||
        ml_expr_uses_var(st->indices[st->n - 1], f->var) ||
        (st->mask && ml_expr_uses_var(st->mask, f->var)))
        return NULL;
    for (uint32_t k = 0; k < st->n; k++)
        if (ml_expr_uses_var(st->indices[k], f->var) ||
            (st->indices[k]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)))
            return NULL;
    if (st->mask && (st->mask->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)))
        return NULL;
    load = st->mask ? ml_load_masked(cx, st->buffer, st->indices, st->n, st->mask)
                    : ml_load(cx, st->buffer, st->indices, st->n);
    u.same = load;
    ml_expr_visit(st->value, see_use, &u);
    if (u.other || !ml_expr_uses_buffer(st->value, st->buffer) ||
        ml_expr_effect(st->value) > ML_EFFECT_READ)
        return NULL;
    return load;
}

typedef struct Swap {
    const ml_Expr *from, *to;
} Swap;

static const ml_Expr *swap(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Swap *s = user;

    if (e == s->from)
        return s->to;
    return (e->flags & ML_X_HAS_LOAD) ? ml_expr_map_args(cx, e, swap, user) : e;
}

static bool in_registers(const ml_Buffer *b)
{
    return b->scope.rank == ML_SCOPE_LOCAL;
}

static const ml_Stmt *keep_in_register(Promoter *w, const ml_For *f, const ml_Store *st,
                                       const ml_Expr *load)
{
    ml_Ctx *cx = w->lo->cx;
    unsigned lanes = load->type.lanes;
    const ml_Expr *shape = ml_i32(cx, lanes), *at = ml_i32(cx, 0);
    const ml_Buffer *acc = ml_buffer_new(cx, ml_format(cx, "%s_acc", st->buffer->name),
                                         st->buffer->type, &shape, 1, "local");
    const ml_Stmt *parts[4];
    const ml_Span *span = st->base.span;
    ml_For loop = *f;
    Swap s = {.from = load};

    if (lanes > 1)
        at = ml_ramp(cx, at, ml_i32(cx, 1), lanes);
    s.to = ml_load(cx, acc, &at, 1);
    parts[0] = ml_stmt_at(cx, ml_alloc_stmt(cx, acc, NULL), span);
    parts[1] = ml_stmt_at(cx, ml_store(cx, acc, load, &at, 1, NULL), span);
    loop.body =
        ml_stmt_at(cx, ml_store(cx, acc, swap(cx, st->value, &s), &at, 1, NULL), span);
    parts[2] = ml_for_from(cx, &loop);
    parts[3] =
        ml_stmt_at(cx, ml_store(cx, st->buffer, s.to, st->indices, st->n, st->mask), span);
    return ml_seq_at(cx, parts, ML_FAULT(ACCUMULATOR_STORE) ? 3 : 4, f->base.span);
}

/* ---------------------------------------------------------------- tiles in registers */

typedef struct Tile { /* loops whose variables index small local buffers */
    ml_Ctx *cx;
    ml_Map *small;  /* uid of the data pointer */
    ml_Map *inside; /* loop variables in such indices */
} Tile;

static bool see_index_var(const ml_Expr *e, void *user)
{
    Tile *t = user;

    if (e->kind == ML_EXPR_VAR)
        ml_map_set(t->cx, t->inside, e->as.var->uid, e);
    return true;
}

static bool see_load(const ml_Expr *e, void *user)
{
    Tile *t = user;

    if (e->kind == ML_EXPR_LOAD && ml_map_has(t->small, e->as.buffer->data->uid))
        for (size_t k = 0; k < ml_load_rank(e); k++)
            ml_expr_visit(e->args[k], see_index_var, t);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static bool see_access(const ml_Stmt *s, void *user)
{
    Tile *t = user;

    if (s->kind == ML_STMT_STORE && ml_map_has(t->small, ml_as_store(s)->buffer->data->uid))
        for (uint32_t k = 0; k < ml_as_store(s)->n; k++)
            ml_expr_visit(ml_as_store(s)->indices[k], see_index_var, t);
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, see_load, t);
    return true;
}

/* Buffers of at most 64 values, each as wide as what is stored. */
static bool see_small(const ml_Stmt *s, void *user)
{
    Tile *t = user;
    const ml_Store *st;
    int64_t n, lanes;

    if (s->kind != ML_STMT_STORE || ml_as_store(s)->n != 1)
        return true;
    st = ml_as_store(s);
    n = ml_buffer_const_size(st->buffer);
    lanes = st->indices[0]->type.lanes;
    if (in_registers(st->buffer) && n > 0 && n / lanes <= MOST_VECTORS &&
        n * (int64_t)ml_dtype_bytes(st->buffer->type) <= MOST_BYTES)
        ml_map_set(t->cx, t->small, st->buffer->data->uid, st->buffer);
    return true;
}

typedef struct Unroll {
    Promoter *w;
    const Tile *t;
} Unroll;

static int64_t extent_of(const ml_Stmt *s)
{
    const ml_For *f = ml_as_for(s);

    return ml_is_const_int(f->extent) ? f->extent->as.i : -1;
}

typedef struct Copies {
    const Tile *t;
    int64_t n; /* of a statement below, at most; many where a loop over the tile stays */
} Copies;

static void count_copies(const ml_Stmt *s, bool in_init, void *user)
{
    Copies *c = user, below = {c->t, 1};

    (void)in_init;
    ml_stmt_children(s, count_copies, &below);
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_UNROLLED)
        below.n *= extent_of(s) < 1 ? 1 : extent_of(s);
    else if (s->kind == ML_STMT_FOR && ml_map_has(c->t->inside, ml_as_for(s)->var->uid))
        below.n = MOST_VECTORS + 1;
    if (below.n > c->n)
        c->n = below.n;
}

/* Marks the loops of register tiles `unrolled`, the innermost ones, of at most 64 copies
 * together. */
static const ml_Stmt *mark(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = mark, .user = user};
    Unroll *u = user;
    Copies copies = {u->t, 1};
    ml_For f;

    if (!s->has_loop)
        return s;
    s = ml_stmt_map(cx, s, &m);
    if (s->kind != ML_STMT_FOR || !ml_map_has(u->t->inside, ml_as_for(s)->var->uid))
        return s;
    f = *ml_as_for(s);
    if (f.kind != ML_FOR_SERIAL || extent_of(s) < 1 || extent_of(s) > MOST_VECTORS ||
        ml_dict_get(f.annotations, ML_IRREGULAR_LOOP))
        return s;
    count_copies(f.body, false, &copies);
    if (copies.n * extent_of(s) > MOST_VECTORS)
        return s;
    ml_lower_note(u->w->lo, s->span,
                  "loop %s indexes a buffer in registers: it is unrolled (%lld times)",
                  f.var->hint, (long long)extent_of(s));
    f.kind = ML_FOR_UNROLLED;
    return ml_for_from(cx, &f);
}

static const ml_Stmt *unroll_tiles(Promoter *w, const ml_Func *f, const ml_Stmt *body)
{
    Tile t = {
        .cx = w->lo->cx, .small = ml_map_new(w->lo->cx), .inside = ml_map_new(w->lo->cx)};
    Unroll u = {w, &t};
    size_t notes = w->lo->notes.n;
    const ml_Stmt *marked;
    const ml_Func *g;

    ml_stmt_visit(body, see_small, &t);
    if (ml_map_count(t.small) == 0)
        return body;
    ml_stmt_visit(body, see_access, &t);
    marked = mark(w->lo->cx, body, &u);
    if (marked == body)
        return body;
    g = ml_pass_unroll(w->lo, ml_func_with_body(w->lo->cx, f, marked));
    if (g)
        return g->body;
    ml_error_clear(w->lo->cx); /* too many statements: nobody asked for them */
    w->lo->notes.n = notes;
    return body;
}

/* ---------------------------------------------------------------- the pass */

static const ml_Stmt *promote_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = promote_stmt, .user = user};
    Promoter *w = user;
    const ml_For *f;
    const ml_Expr *load;

    if (!s->has_loop)
        return s;
    s = ml_stmt_map(cx, s, &m);
    if (s->kind != ML_STMT_FOR)
        return s;
    f = ml_as_for(s);
    if (f->kind != ML_FOR_SERIAL || f->body->kind != ML_STMT_STORE ||
        in_registers(ml_as_store(f->body)->buffer) ||
        ml_dict_get(f->annotations, ML_IRREGULAR_LOOP))
        return s;
    if (!ml_is_const_int(f->extent) || f->extent->as.i < 2)
        return s; /* of a loop that may not run nothing may be read */
    load = updated(w, f, ml_as_store(f->body));
    return load ? keep_in_register(w, f, ml_as_store(f->body), load) : s;
}

const ml_Func *ml_pass_promote_accumulators(ml_Lower *lo, const ml_Func *f)
{
    Promoter w = {.lo = lo, .overlap = !ml_func_noalias(f)};
    const ml_Stmt *body = unroll_tiles(&w, f, f->body);

    return ml_func_with_body(lo->cx, f, promote_stmt(lo->cx, body, &w));
}
