/*
 * plan_storage - where buffers live: allocations leave the loops, and buffers that are
 * never alive together share memory.
 *
 * The attach scope of a buffer is the body of the outermost parallel loop around it, what
 * the threads of its kernel do, or the function. There its life is from the first to the last statement that touches it; what
 * touches it inside a loop keeps it alive for the whole loop. Registers (scope local),
 * scalars, and buffers whose address is passed on do not share. A buffer whose size depends
 * on a variable of a loop stays where it is. Source: lowering-and-codegen 4.1.
 */
#include "moonloop/codegen/lower/lower_impl.h"

enum { FACTOR = 16, LEAST_BYTES = 5 };

typedef struct Item { /* an allocation of the attach scope */
    const ml_Alloc *alloc;
    size_t first, last; /* statements of the scope */
    bool used, shares;
    size_t slot;
} Item;

typedef struct Slot {
    const ml_Buffer *buffer; /* the first that took it */
    const ml_Span *span;
    int64_t size; /* elements */
    uint32_t align;
    size_t busy_until;
    bool changed; /* another buffer than the first uses it too */
    const ml_Buffer *made;
} Slot;

typedef struct Scope {
    ml_Ctx *cx;
    ML_VEC(Item) items;
    ML_VEC(Slot) slots;
    ml_Map *hoisted; /* uid of a buffer -> its ALLOC, to be removed */
} Scope;

/* ---------------------------------------------------------------- collecting */

static bool plain_size(const ml_Buffer *b)
{
    return b->rank == 1 && ml_buffer_const_size(b) >= 0 && b->n_strides == 0 &&
           ml_is_int(b->elem_offset, 0);
}

/* A parallel loop or a kernel, whose body is a scope of its own. */
static bool is_scope(const ml_Stmt *s)
{
    return (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_PARALLEL) ||
           (s->kind == ML_STMT_ATTR && ml_attr_defines(ml_as_attr(s)));
}

static void collect(const ml_Stmt *s, bool in_init, void *user)
{
    Scope *sc = user;

    (void)in_init;
    if (is_scope(s))
        return;
    if (s->kind == ML_STMT_ALLOC && plain_size(ml_as_alloc(s)->buffer)) {
        Item i = {.alloc = ml_as_alloc(s)};

        ml_push(sc->cx, &sc->items, i);
        ml_map_set(sc->cx, sc->hoisted, i.alloc->buffer->uid, s);
    }
    ml_stmt_children(s, collect, sc);
}

typedef struct Touch {
    Scope *sc;
    size_t at;
    const ml_Map *by_data; /* uid of the data pointer -> item + 1 */
} Touch;

static void touch(Touch *t, ml_Uid data, bool address)
{
    size_t k = (size_t)(uintptr_t)ml_map_get(t->by_data, data);
    Item *i;

    if (k == 0)
        return;
    i = &t->sc->items.v[k - 1];
    if (!i->used)
        i->first = t->at;
    i->used = true;
    i->last = t->at;
    if (address)
        i->shares = false;
}

static bool touch_expr(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        touch(user, e->as.buffer->data->uid, false);
    if (e->kind == ML_EXPR_VAR)
        touch(user, e->as.var->uid, true);
    return true;
}

static bool touch_stmt(const ml_Stmt *s, void *user)
{
    if (s->kind == ML_STMT_STORE)
        touch(user, ml_as_store(s)->buffer->data->uid, false);
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, touch_expr, user);
    return true;
}

static bool may_share(const ml_Buffer *b)
{
    return b->scope.rank != ML_SCOPE_LOCAL && b->scope.rank != ML_SCOPE_WARP &&
           ml_buffer_const_size(b) * (int64_t)ml_dtype_bytes(b->type) >= LEAST_BYTES;
}

/* ---------------------------------------------------------------- sharing */

static bool fits_kind(const Slot *s, const ml_Buffer *b)
{
    return ml_dtype_eq(s->buffer->type, b->type) &&
           ml_scope_eq(s->buffer->scope, b->scope) &&
           ml_dtype_eq(s->buffer->shape[0]->type, b->shape[0]->type);
}

/* The smallest free slot of up to 16 times the size, else the largest of down to 1/16. */
static Slot *free_slot(Scope *sc, const Item *i)
{
    int64_t n = ml_buffer_const_size(i->alloc->buffer);
    Slot *larger = NULL, *smaller = NULL;

    for (size_t k = 0; k < sc->slots.n; k++) {
        Slot *s = &sc->slots.v[k];

        if (s->busy_until == SIZE_MAX || s->busy_until > i->first ||
            !fits_kind(s, i->alloc->buffer))
            continue;
        if (s->size >= n && s->size / FACTOR <= n && (!larger || s->size < larger->size))
            larger = s;
        if (s->size < n && n / FACTOR <= s->size && (!smaller || s->size > smaller->size))
            smaller = s;
    }
    return larger ? larger : smaller;
}

static void assign(Scope *sc)
{
    for (size_t k = 0; k < sc->items.n; k++) { /* in order of first use */
        Item *i = NULL;
        Slot *s = NULL;
        const ml_Buffer *b;

        for (size_t j = 0; j < sc->items.n; j++) {
            Item *c = &sc->items.v[j];

            if (c->used && c->slot == SIZE_MAX && (!i || c->first < i->first))
                i = c;
        }
        if (i == NULL)
            return;
        b = i->alloc->buffer;
        if (i->shares)
            s = free_slot(sc, i);
        if (s == NULL) {
            Slot fresh = {.buffer = b,
                          .span = i->alloc->base.span,
                          .size = ml_buffer_const_size(b),
                          .align = b->align};

            ml_push(sc->cx, &sc->slots, fresh);
            s = &sc->slots.v[sc->slots.n - 1];
        } else {
            s->changed = true;
        }
        if (ml_buffer_const_size(b) > s->size)
            s->size = ml_buffer_const_size(b);
        if (b->align > s->align)
            s->align = b->align;
        s->busy_until = i->shares ? i->last + 1 : SIZE_MAX;
        i->slot = (size_t)(s - sc->slots.v);
    }
}

/* ---------------------------------------------------------------- rewriting */

static const ml_Stmt *without_allocs(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = without_allocs, .user = user};
    const Scope *sc = user;

    if (s->kind == ML_STMT_ALLOC && ml_map_has(sc->hoisted, ml_as_alloc(s)->buffer->uid))
        return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), s->span);
    return is_scope(s) ? s : ml_stmt_map(cx, s, &m);
}

static const ml_Buffer *make_shared(ml_Ctx *cx, const Slot *s)
{
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, 1);
    ml_Buffer b = *s->buffer;

    shape[0] = ml_int(cx, b.shape[0]->type, s->size);
    b.shape = shape;
    b.align = s->align;
    return ml_buffer_from(cx, &b, true);
}

static const ml_Stmt *plan(ml_Lower *lo, const ml_Stmt *body)
{
    ml_Ctx *cx = lo->cx;
    Scope sc = {.cx = cx, .hoisted = ml_map_new(cx)};
    ml_Map *by_data = ml_map_new(cx);
    Touch t = {&sc, 0, by_data};
    ML_VEC(const ml_Stmt *) to = {0};
    ml_Subst subst = {0};
    const ml_Span *span = ml_span_of(body, NULL);

    collect(body, false, &sc);
    if (sc.items.n == 0)
        return body;
    for (size_t k = 0; k < sc.items.n; k++) {
        Item *i = &sc.items.v[k];

        i->shares = may_share(i->alloc->buffer);
        i->slot = SIZE_MAX;
        ml_map_set(cx, by_data, i->alloc->buffer->data->uid, (const void *)(k + 1));
    }
    if (body->kind == ML_STMT_SEQ) {
        for (t.at = 0; t.at < ml_as_seq(body)->n; t.at++)
            ml_stmt_visit(ml_as_seq(body)->stmts[t.at], touch_stmt, &t);
    } else {
        ml_stmt_visit(body, touch_stmt, &t);
    }
    assign(&sc);
    body = without_allocs(cx, body, &sc);
    for (size_t k = 0; k < sc.slots.n; k++) {
        Slot *s = &sc.slots.v[k];

        s->made = s->changed ? make_shared(cx, s) : s->buffer;
        ml_push(cx, &to, ml_stmt_at(cx, ml_alloc_stmt(cx, s->made, NULL), s->span));
    }
    for (size_t k = 0; k < sc.items.n; k++) {
        const Item *i = &sc.items.v[k];

        if (i->used && sc.slots.v[i->slot].changed)
            ml_subst_buffer(cx, &subst, i->alloc->buffer, sc.slots.v[i->slot].made);
    }
    if (subst.buffers)
        body = ml_stmt_subst(cx, body, &subst);
    ml_push(cx, &to, body);
    return ml_seq_at(cx, to.v, to.n, span);
}

static const ml_Stmt *plan_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = plan_stmt, .user = user};

    if (!s->has_loop && s->kind != ML_STMT_ATTR && s->kind != ML_STMT_SEQ)
        return s;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_PARALLEL) {
        ml_For f = *ml_as_for(s);

        f.body = plan(user, f.body);
        return f.body == ml_as_for(s)->body ? s : ml_for_from(cx, &f);
    }
    if (s->kind == ML_STMT_ATTR && is_scope(s)) {
        ml_Attr a = *ml_as_attr(s);

        a.body = is_scope(a.body) ? plan_stmt(cx, a.body, user)
                                  : plan(user, plan_stmt(cx, a.body, user));
        return a.body == ml_as_attr(s)->body ? s : ml_attr_from(cx, &a);
    }
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_plan_storage(ml_Lower *lo, const ml_Func *f)
{
    const ml_Stmt *body = plan_stmt(lo->cx, f->body, lo);

    return ml_func_with_body(lo->cx, f, plan(lo, body));
}
