/*
 * flatten_buffers - every buffer becomes 1-D, an access one index: the sum of indices times
 * strides plus the element offset.
 *
 * Parameters keep their declared form; the body uses a flat alias over the data pointer,
 * declared at its top, and that pointer means element 0 of the declared view: the offset of
 * a parameter is not added. Index arithmetic keeps its dtype unless the buffer may have
 * more elements than int32 counts; then it is done in int64 from the variables on.
 * Source: lowering-and-codegen 2.16, 5.2, 7.3.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/base/fault.h"

static const char PASS[] = "flatten_buffers";

typedef struct Flat {
    const ml_Buffer *from, *to;
    const ml_Expr **stride;
    const ml_Expr *offset; /* NULL: 0 */
    bool wide, used;
    bool owned; /* allocated here; else a view of what somebody else allocated */
} Flat;

typedef struct Flattener {
    ml_Lower *lo;
    const ml_Func *f;
    ml_Arith *ar;
    ml_Map *flats;   /* buffer uid -> Flat */
    ml_Map *params;  /* data pointer uid -> ml_Buffer of a parameter */
    ml_Map *after;   /* data pointer uid -> Implicit: declared where the pointer is */
    ml_Map *defined; /* variables of loops, bindings, parameters, sizes */
    const ml_Stmt *at;
    bool failed;
} Flattener;

typedef struct Implicit { /* buffers used without a declaration over one pointer */
    ML_VEC(const ml_Buffer *) v;
    const ml_Stmt *at;
} Implicit;

static bool fail(Flattener *w, const char *text)
{
    if (!w->failed)
        ml_lower_fail(w->lo, PASS, w->at, "%s", text);
    w->failed = true;
    return false;
}

/* ---------------------------------------------------------------- index arithmetic */

/* e in int64, converted from its variables on: as the sum is to be simplified as one. */
static const ml_Expr *widen(ml_Ctx *cx, const ml_Expr *e)
{
    ml_Dtype t = ml_dtype_lanes(ML_DT_I64, e->type.lanes);

    if (ml_dtype_eq(e->type, t))
        return e;
    if (e->kind == ML_EXPR_INT)
        return ml_int(cx, t, e->as.i);
    if (e->kind == ML_EXPR_RAMP)
        return ml_ramp(cx, widen(cx, e->args[0]), widen(cx, e->args[1]), e->type.lanes);
    if (e->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, widen(cx, e->args[0]), e->type.lanes);
    if (e->type.code == ML_INT && e->type.bits == 32 && ml_kind_computes(e->kind))
        return ml_binary(cx, (ml_ExprKind)e->kind, widen(cx, e->args[0]),
                         widen(cx, e->args[1]));
    return ml_cast(cx, t, e);
}

static const ml_Expr *scaled(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *by)
{
    if (ml_is_int(by, 1))
        return e;
    if (e->kind == ML_EXPR_RAMP)
        return ml_ramp(cx, scaled(cx, e->args[0], by), scaled(cx, e->args[1], by),
                       e->type.lanes);
    if (e->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, scaled(cx, e->args[0], by), e->type.lanes);
    (void)ml_promote(cx, &e, &by);
    return ml_mul(cx, e, by);
}

static const ml_Expr *sum(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    if (ml_is_int(b, 0) && b->type.bits <= a->type.bits)
        return a;
    if (b->type.lanes > a->type.lanes)
        return sum(cx, b, a);
    if (a->kind == ML_EXPR_RAMP && b->kind == ML_EXPR_RAMP &&
        a->type.lanes == b->type.lanes)
        return ml_ramp(cx, sum(cx, a->args[0], b->args[0]), sum(cx, a->args[1], b->args[1]),
                       a->type.lanes);
    if (a->kind == ML_EXPR_RAMP && b->kind == ML_EXPR_BROADCAST)
        b = b->args[0];
    if (a->kind == ML_EXPR_RAMP && b->type.lanes == 1) {
        const ml_Expr *base = sum(cx, a->args[0], b);

        return ml_ramp(cx, base, ml_cast(cx, base->type, a->args[1]), a->type.lanes);
    }
    if (a->kind == ML_EXPR_BROADCAST && b->type.lanes == 1)
        return ml_broadcast(cx, sum(cx, a->args[0], b), a->type.lanes);
    (void)ml_promote(cx, &a, &b);
    return ml_add(cx, a, b);
}

static const ml_Expr *simpler(Flattener *w, const ml_Expr *e)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *to;

    if (e->kind == ML_EXPR_RAMP)
        return ml_ramp(cx, simpler(w, e->args[0]), simpler(w, e->args[1]), e->type.lanes);
    if (e->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, simpler(w, e->args[0]), e->type.lanes);
    if (e->n_args == 0)
        return e;
    to = ml_simplify(w->ar, e);
    return ml_gave_up(cx, w->ar) || !ml_dtype_eq(to->type, e->type) ? e : to;
}

static const ml_Expr *flat_index(Flattener *w, const Flat *f, const ml_Expr *const *idx,
                                 size_t n)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *all = NULL;

    for (size_t d = 0; d < n; d++) {
        const ml_Expr *e = f->wide ? widen(cx, idx[d]) : idx[d];

        e = scaled(cx, e, f->stride[d]);
        all = all ? sum(cx, all, e) : e;
    }
    if (f->offset)
        all = all ? sum(cx, all, f->offset) : f->offset;
    if (!all)
        return ml_i32(cx, 0);
    return n == 1 && !f->offset && ml_is_int(f->stride[0], 1) && !f->wide ? all
                                                                          : simpler(w, all);
}

/* ---------------------------------------------------------------- buffers */

/* An offset or stride that no one defines belongs to a compact buffer. */
static bool open_var(const Flattener *w, const ml_Expr *e)
{
    return e->kind == ML_EXPR_VAR && !ml_map_has(w->defined, e->as.var->uid);
}

/* Number of elements that the indices reach, offset included. Of a strided buffer of
 * its own and of constant form the rows are counted whole: the largest of stride * extent.
 */
static const ml_Expr *reach(Flattener *w, const Flat *f)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Buffer *b = f->from;
    ml_Dtype t = f->wide ? ML_DT_I64 : ml_buffer_index_dtype(b);
    const ml_Expr *one = ml_int(cx, t, 1), *all = one, *rows = one;
    bool literal = true;

    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *n = ml_cast(cx, t, b->shape[d]), *by = ml_cast(cx, t, f->stride[d]);

        literal = literal && ml_is_const_int(n) && ml_is_const_int(by);
        rows = b->n_strides ? ml_max(cx, rows, ml_mul(cx, n, by))
               : d == 0     ? ml_mul(cx, n, by) /* row-major: it holds the others */
                            : rows;
        all = ml_add(cx, all, ml_mul(cx, ml_sub(cx, n, one), by));
    }
    all = !b->n_strides ? rows : literal && f->owned ? ml_max(cx, rows, all) : all;
    if (f->offset)
        all = ml_add(cx, all, ml_cast(cx, t, f->offset));
    return simpler(w, all);
}

/* Whether more elements than int32 counts are possible; f is wide for the moment. */
static bool needs_wide(Flattener *w, Flat *f)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Buffer *b = f->from;
    const ml_Expr *n;
    ml_Bound bound;

    for (size_t d = 0; d < b->rank; d++)
        if (b->shape[d]->type.bits > 32 || (b->n_strides && b->strides[d]->type.bits > 32))
            return true;
    if (b->rank <= 1 && !b->n_strides && !f->offset)
        return false;
    n = reach(w, f);
    bound = ml_arith_bound(w->ar, n);
    return ml_gave_up(cx, w->ar) || bound.hi > INT32_MAX;
}

static void set_strides(Flattener *w, Flat *f)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Buffer *b = f->from;

    for (size_t d = b->rank; d-- > 0;) {
        const ml_Expr *s;

        if (b->n_strides && !open_var(w, b->strides[d])) {
            s = f->wide ? widen(cx, b->strides[d]) : b->strides[d];
        } else if (d + 1u == b->rank) {
            s = ml_int(cx, f->wide ? ML_DT_I64 : b->shape[d]->type, 1);
        } else {
            const ml_Expr *n = b->shape[ML_FAULT(FLATTEN_STRIDE) ? d : d + 1];
            const ml_Expr *x = f->stride[d + 1];

            n = f->wide ? widen(cx, n) : n;
            (void)ml_promote(cx, &x, &n);
            s = ml_mul(cx, x, n);
        }
        f->stride[d] = s;
    }
}

static Flat *flat_of(Flattener *w, const ml_Buffer *b)
{
    /* The map's values are this pass's own records. */
    return (Flat *)(uintptr_t)ml_map_get(w->flats, b->uid);
}

typedef enum Kind { PARAM, ALIAS, OWNED } Kind;

static Flat *define(Flattener *w, const ml_Buffer *b, Kind kind)
{
    ml_Ctx *cx = w->lo->cx;
    Flat *f = ML_NEW(cx, Flat);
    ml_CtxMarks before = ml_ctx_take_marks(cx);
    const ml_Expr **shape;
    ml_Buffer to = *b;

    f->from = b;
    f->stride = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    f->owned = kind == OWNED;
    if (kind != PARAM && !ml_is_int(b->elem_offset, 0) && !open_var(w, b->elem_offset))
        f->offset = b->elem_offset;
    f->wide = true; /* sizes are found without overflow of int32 */
    set_strides(w, f);
    f->wide = needs_wide(w, f);
    set_strides(w, f);
    if (f->wide && f->offset)
        f->offset = widen(cx, f->offset);
    shape = ML_ARRAY(cx, const ml_Expr *, 1);
    shape[0] = reach(w, f);
    if (ml_gave_up(cx, w->ar))
        fail(w, ml_format(cx, "the flattened index of %s does not fit int64", b->name));
    ml_ctx_put_marks(cx, before);
    to.rank = 1;
    to.shape = shape;
    to.n_strides = to.n_separators = 0;
    to.strides = NULL;
    to.separators = NULL;
    to.elem_offset = ml_int(cx, shape[0]->type, 0);
    to.is_scalar = to.auto_broadcast = false;
    f->to = ml_buffer_from(cx, &to, false);
    ml_map_set(cx, w->flats, b->uid, f);
    return f;
}

/* ---------------------------------------------------------------- rewriting */

static const ml_Expr *visit_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Flattener *w = user;
    const ml_Expr *idx;
    Flat *f;
    size_t n;

    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE) {
        const ml_Buffer *b = ml_map_get(w->params, e->as.var->uid);

        if (b && !ml_is_int(b->elem_offset, 0))
            fail(w, ml_format(cx,
                              "parameter %s has an element offset and is used by its data "
                              "pointer; declare it without an offset",
                              b->name));
    }
    if (!(e->flags & ML_X_HAS_LOAD) && (e->flags & ML_X_VAR_FREE))
        return e;
    e = ml_expr_map_args(cx, e, visit_expr, user);
    if (e->kind != ML_EXPR_LOAD || !(f = flat_of(w, e->as.buffer)))
        return e;
    f->used = true;
    n = ml_load_rank(e);
    idx = flat_index(w, f, e->args, n);
    return (e->flags & ML_X_MASKED) ? ml_load_masked(cx, f->to, &idx, 1, e->args[n])
                                    : ml_load(cx, f->to, &idx, 1);
}

static const ml_Stmt *flatten_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *visit_store(ml_Ctx *cx, Flattener *w, const ml_Store *old)
{
    ml_Store st = *old;
    Flat *f = flat_of(w, old->buffer);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, old->n + 1u);
    const ml_Expr **one = ML_ARRAY(cx, const ml_Expr *, 1);

    st.value = visit_expr(cx, old->value, w);
    st.mask = old->mask ? visit_expr(cx, old->mask, w) : NULL;
    for (uint32_t d = 0; d < old->n; d++)
        idx[d] = visit_expr(cx, old->indices[d], w);
    if (f) {
        f->used = true;
        one[0] = flat_index(w, f, idx, old->n);
        st.buffer = f->to;
        st.indices = one;
        st.n = 1;
    } else {
        st.indices = idx;
    }
    return ml_stmt_from(cx, &st.base);
}

/* Buffers over a pointer that has just been defined, used but not declared. */
static const ml_Stmt *with_implicit(ml_Ctx *cx, Flattener *w, const ml_Var *data,
                                    const ml_Stmt *s)
{
    const Implicit *i = ml_map_get(w->after, data->uid);

    for (size_t k = 0; i && k < i->v.n; k++) {
        const ml_Buffer *b = i->v.v[k];
        Flat *f = define(w, b, ALIAS);

        s = ml_then(cx, s,
                    ml_stmt_at(cx, ml_decl_stmt(cx, f->to, ml_var(cx, data)), s->span));
    }
    return s;
}

static const ml_Stmt *visit_alloc(ml_Ctx *cx, Flattener *w, const ml_Alloc *old)
{
    ml_Alloc a = *old;
    Flat *f;

    if (a.data)
        a.data = visit_expr(cx, a.data, w);
    f = define(w, old->buffer, old->data ? ALIAS : OWNED);
    a.buffer = f->to;
    return with_implicit(cx, w, a.buffer->data, ml_stmt_from(cx, &a.base));
}

static void note_var(Flattener *w, const ml_Var *v)
{
    ml_map_set(w->lo->cx, w->defined, v->uid, v);
}

static const ml_Stmt *flatten_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {flatten_stmt, visit_expr, NULL, user};
    Flattener *w = user;
    const ml_Stmt *outer = w->at;
    ml_ArithMark mark = ml_arith_save(w->ar);

    if (w->failed)
        return s;
    if (s->kind != ML_STMT_SEQ)
        w->at = s;
    switch (s->kind) {
    case ML_STMT_STORE: s = visit_store(cx, w, ml_as_store(s)); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL: s = visit_alloc(cx, w, ml_as_alloc(s)); break;
    case ML_STMT_FOR:
        note_var(w, ml_as_for(s)->var);
        s = ml_arith_map_loop(w->ar, ml_as_for(s), &m);
        break;
    case ML_STMT_BIND:
        note_var(w, ml_as_bind(s)->var);
        s = with_implicit(cx, w, ml_as_bind(s)->var, ml_stmt_map(cx, s, &m));
        break;
    case ML_STMT_BLOCK:
        fail(w, ml_format(cx, "%s is still there; lower_opaque comes before",
                          ml_lower_name(cx, s)));
        break;
    default: s = ml_stmt_map(cx, s, &m); break;
    }
    ml_arith_restore(w->ar, mark);
    w->at = outer;
    return s;
}

/* ---------------------------------------------------------------- undeclared buffers */

typedef struct Scan {
    Flattener *w;
    ml_Map *declared; /* uids of buffers */
    const ml_Stmt *at;
} Scan;

static void scan_use(Scan *c, const ml_Buffer *b)
{
    ml_Ctx *cx = c->w->lo->cx;
    Implicit *i;

    if (ml_map_has(c->declared, b->uid))
        return;
    ml_map_set(cx, c->declared, b->uid, b);
    i = (Implicit *)(uintptr_t)ml_map_get(c->w->after, b->data->uid);
    if (!i) {
        i = ML_NEW(cx, Implicit);
        i->at = c->at;
        ml_map_set(cx, c->w->after, b->data->uid, i);
    }
    ml_push(cx, &i->v, b);
}

static bool scan_expr(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        scan_use(user, e->as.buffer);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static bool scan_declared(const ml_Stmt *s, void *user)
{
    Scan *c = user;

    if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
        ml_map_set(c->w->lo->cx, c->declared, ml_as_alloc(s)->buffer->uid, s);
    return true;
}

static bool scan_uses(const ml_Stmt *s, void *user)
{
    Scan *c = user;

    c->at = s;
    if (s->kind == ML_STMT_STORE)
        scan_use(c, ml_as_store(s)->buffer);
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, scan_expr, c);
    return true;
}

/* ---------------------------------------------------------------- the pass */

static bool define_sizes(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        note_var(user, e->as.var);
    return !(e->flags & ML_X_VAR_FREE);
}

static void known_sizes(Flattener *w, const ml_Buffer *b)
{
    for (size_t d = 0; d < b->rank; d++)
        ml_expr_visit(b->shape[d], define_sizes, w);
    for (size_t d = 0; d < b->n_strides; d++)
        ml_expr_visit(b->strides[d], define_sizes, w);
    ml_expr_visit(b->elem_offset, define_sizes, w);
}

const ml_Func *ml_pass_flatten_buffers(ml_Lower *lo, const ml_Func *f)
{
    Flattener w = {.lo = lo, .f = f, .ar = ml_lower_arith(lo, f), .at = f->body};
    ml_Ctx *cx = lo->cx;
    ML_VEC(const ml_Stmt *) list = {0};
    const ml_Span *span = ml_span_of(f->body, f->span);
    Scan scan = {.w = &w};
    const ml_Stmt *body;

    w.flats = ml_map_new(cx);
    w.params = ml_map_new(cx);
    w.after = ml_map_new(cx);
    w.defined = ml_map_new(cx);
    scan.declared = ml_map_new(cx);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        note_var(&w, f->params[k].var);
        if (!b)
            continue;
        known_sizes(&w, b);
        ml_map_set(cx, scan.declared, b->uid, b);
        ml_map_set(cx, w.params, b->data->uid, b);
    }
    ml_stmt_visit(f->body, scan_declared, &scan);
    ml_stmt_visit(f->body, scan_uses, &scan);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b)
            (void)define(&w, b, PARAM);
    }
    for (uint32_t k = 0; k < f->n_params; k++) { /* over a parameter's pointer */
        const ml_Var *data =
            f->params[k].buffer ? f->params[k].buffer->data : f->params[k].var;
        const Implicit *i = ml_map_get(w.after, data->uid);

        for (size_t j = 0; i && j < i->v.n; j++) {
            Flat *flat = define(&w, i->v.v[j], ALIAS);

            (void)visit_expr(cx, ml_var(cx, data), &w);
            ml_push(cx, &list,
                    ml_stmt_at(cx, ml_decl_stmt(cx, flat->to, ml_var(cx, data)), span));
        }
    }
    body = flatten_stmt(cx, f->body, &w);
    for (size_t k = 0; k < ml_map_count(w.after) && !w.failed; k++) {
        const Implicit *i = ml_map_value_at(w.after, k);

        w.at = i->at;
        if (!flat_of(&w, i->v.v[0]))
            fail(&w,
                 ml_format(cx, "%s is used, but nothing declares it or its data pointer",
                           i->v.v[0]->name));
    }
    if (w.failed)
        return NULL;
    for (uint32_t k = f->n_params; k-- > 0;) {
        const ml_Buffer *b = f->params[k].buffer;
        const Flat *flat = b ? flat_of(&w, b) : NULL;

        if (flat && flat->used)
            body = ml_then(
                cx, ml_stmt_at(cx, ml_decl_stmt(cx, flat->to, ml_var(cx, b->data)), span),
                body);
    }
    ml_push(cx, &list, body);
    return ml_func_with_body(cx, f, ml_seq_at(cx, list.v, list.n, span));
}
