/*
 * walk - reading and rewriting expressions and statements one level at a time.
 *
 * ml_expr_map_args and ml_stmt_map (from the fields of stmt.def) rebuild each kind of
 * node; both give the node itself back when nothing changed, so that untouched parts
 * stay shared (undo and the diff view rely on pointer equality). Source: style 7.
 */
#include "moonloop/core/walk.h"

enum { ML_FEW_ARGS = 16 };

/* ---- expressions */

const ml_Expr *ml_expr_map_args(ml_Ctx *cx, const ml_Expr *e, ml_ExprFn *fn, void *user)
{
    const ml_Expr *few[ML_FEW_ARGS], **kids = few;
    bool changed = false;

    if (e->n_args == 0)
        return e;
    if (e->n_args > ML_FEW_ARGS)
        kids = ml_alloc(cx, e->n_args * sizeof(*kids));
    for (size_t k = 0; k < e->n_args; k++) {
        kids[k] = fn(cx, e->args[k], user);
        changed |= kids[k] != e->args[k];
    }
    return changed ? ml_expr_with_args(cx, e, kids) : e;
}

void ml_expr_visit(const ml_Expr *e, ml_ExprVisitFn *fn, void *user)
{
    if (!fn(e, user))
        return;
    for (size_t k = 0; k < e->n_args; k++)
        ml_expr_visit(e->args[k], fn, user);
}

/* ---- statements: one rewriting step */

typedef struct Step {
    ml_Ctx *cx;
    const ml_Mapper *m;
    bool changed; /* something directly in the node came back different */
} Step;

static const ml_Expr *map_expr(Step *s, const ml_Expr *e)
{
    const ml_Expr *to;

    if (!e || !s->m->expr)
        return e;
    to = s->m->expr(s->cx, e, s->m->user);
    s->changed |= to != e;
    return to;
}

static const ml_Buffer *map_buffer(Step *s, const ml_Buffer *b, bool is_definition)
{
    const ml_Buffer *to;

    if (!s->m->buffer)
        return b;
    to = s->m->buffer(s->cx, b, is_definition, s->m->user);
    s->changed |= to != b;
    return to;
}

/* NULL for a dropped child. */
static const ml_Stmt *map_child(Step *s, const ml_Stmt *st)
{
    const ml_Stmt *to;

    if (!st || !s->m->stmt)
        return st;
    to = s->m->stmt(s->cx, st, s->m->user);
    s->changed |= to != st;
    return to;
}

/* The same for a body that cannot be absent. */
static const ml_Stmt *map_body(Step *s, const ml_Stmt *st)
{
    const ml_Stmt *to = map_child(s, st);

    return to ? to : ml_evaluate(s->cx, ml_i32(s->cx, 0));
}

static const ml_Expr *const *map_exprs(Step *s, const ml_Expr *const *list, size_t n)
{
    const ml_Expr **copy = NULL;

    if (!s->m->expr)
        return list;
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *to = map_expr(s, list[k]);

        if (to != list[k] && !copy) {
            copy = ml_alloc(s->cx, n * sizeof(*copy));
            memcpy(copy, list, n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    return copy ? copy : list;
}

static ml_Region map_region(Step *s, ml_Region r)
{
    ml_Range *copy = NULL;

    for (size_t k = 0; k < r.buffer->rank; k++) {
        const ml_Expr *min = map_expr(s, r.ranges[k].min);
        const ml_Expr *extent = map_expr(s, r.ranges[k].extent);

        if (!copy && (min != r.ranges[k].min || extent != r.ranges[k].extent)) {
            copy = ml_alloc(s->cx, r.buffer->rank * sizeof(*copy));
            memcpy(copy, r.ranges, r.buffer->rank * sizeof(*copy));
        }
        if (copy)
            copy[k] = (ml_Range){min, extent};
    }
    if (copy)
        r.ranges = copy;
    r.buffer = map_buffer(s, r.buffer, false);
    return r;
}

static const ml_Region *map_regions(Step *s, const ml_Region *list, size_t n)
{
    ml_Region *copy = NULL;

    for (size_t k = 0; k < n; k++) {
        ml_Region to = map_region(s, list[k]);

        if (!copy && (to.buffer != list[k].buffer || to.ranges != list[k].ranges)) {
            copy = ml_alloc(s->cx, n * sizeof(*copy));
            memcpy(copy, list, n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    return copy ? copy : list;
}

static const ml_Value *map_value(Step *s, const ml_Value *v);

static const ml_Value *map_value_list(Step *s, const ml_Value *v)
{
    const ml_Value **copy = NULL;
    ml_Value *made;

    for (size_t k = 0; k < v->n; k++) {
        const ml_Value *to = map_value(s, v->as.list[k]);

        if (to != v->as.list[k] && !copy) {
            copy = ml_alloc(s->cx, v->n * sizeof(*copy));
            memcpy(copy, v->as.list, v->n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    if (!copy)
        return v;
    made = ml_alloc(s->cx, sizeof(*made));
    *made = *v;
    made->as.list = copy;
    return made;
}

static const ml_IndexMap *map_index_map(Step *s, const ml_IndexMap *m)
{
    const ml_Expr *const *exprs;
    const ml_IndexMap *inverse;
    ml_IndexMap *copy;

    if (!m)
        return NULL;
    exprs = map_exprs(s, m->exprs, m->n_exprs);
    inverse = map_index_map(s, m->inverse);
    if (exprs == m->exprs && inverse == m->inverse)
        return m;
    copy = ml_alloc(s->cx, sizeof(*copy));
    *copy = *m;
    copy->exprs = exprs;
    copy->inverse = inverse;
    return copy;
}

static const ml_Reducer *map_reducer(Step *s, const ml_Reducer *r)
{
    const ml_Expr *const *results = map_exprs(s, r->results, r->n);
    const ml_Expr *const *identities = map_exprs(s, r->identities, r->n);
    ml_Reducer *copy;

    if (results == r->results && identities == r->identities)
        return r;
    copy = ml_alloc(s->cx, sizeof(*copy));
    *copy = *r;
    copy->results = results;
    copy->identities = identities;
    return copy;
}

/* A variable in a value is a use: it becomes what its VAR expression becomes. */
static const ml_Value *map_value_var(Step *s, const ml_Value *v)
{
    const ml_Expr *e, *to;

    if (!s->m->expr)
        return v;
    e = ml_var(s->cx, v->as.var);
    to = map_expr(s, e);
    if (to == e)
        return v;
    return to->kind == ML_EXPR_VAR ? ml_val_var(s->cx, to->as.var) : ml_val_expr(s->cx, to);
}

static const ml_Value *map_value(Step *s, const ml_Value *v)
{
    const ml_Reducer *reducer;
    const ml_Buffer *buffer;
    const ml_IndexMap *map;
    const ml_Expr *e;

    if (!v)
        return NULL;
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE:
    case ML_VAL_BOOL:
    case ML_VAL_INT:
    case ML_VAL_FLOAT:
    case ML_VAL_TARGET:
    case ML_VAL_STRING: return v;
    case ML_VAL_LIST:
    case ML_VAL_DICT: return map_value_list(s, v);
    case ML_VAL_EXPR:
        e = map_expr(s, v->as.expr);
        return e == v->as.expr ? v : ml_val_expr(s->cx, e);
    case ML_VAL_BUFFER:
        buffer = map_buffer(s, v->as.buffer, false);
        return buffer == v->as.buffer ? v : ml_val_buffer(s->cx, buffer);
    case ML_VAL_VAR: return map_value_var(s, v);
    case ML_VAL_MAP:
        map = map_index_map(s, v->as.map);
        return map == v->as.map ? v : ml_val_map(s->cx, map);
    case ML_VAL_REDUCER:
        reducer = map_reducer(s, v->as.reducer);
        return reducer == v->as.reducer ? v : ml_val_reducer(s->cx, reducer);
    }
    return v;
}

static const ml_Iter *map_iters(Step *s, const ml_Iter *list, size_t n)
{
    ml_Iter *copy = NULL;

    for (size_t k = 0; k < n; k++) {
        ml_Iter to = list[k];

        to.min = map_expr(s, to.min);
        to.extent = map_expr(s, to.extent);
        to.value = map_expr(s, to.value);
        if (!copy && (to.min != list[k].min || to.extent != list[k].extent ||
                      to.value != list[k].value)) {
            copy = ml_alloc(s->cx, n * sizeof(*copy));
            memcpy(copy, list, n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    return copy ? copy : list;
}

static const ml_Buffer *const *map_allocs(Step *s, const ml_Buffer *const *list, size_t n)
{
    const ml_Buffer **copy = NULL;

    for (size_t k = 0; k < n; k++) {
        const ml_Buffer *to = map_buffer(s, list[k], true);

        if (to != list[k] && !copy) {
            copy = ml_alloc(s->cx, n * sizeof(*copy));
            memcpy(copy, list, n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    return copy ? copy : list;
}

static const ml_Match *map_matches(Step *s, const ml_Match *list, size_t n)
{
    ml_Match *copy = NULL;

    for (size_t k = 0; k < n; k++) {
        ml_Match to = {.target = map_buffer(s, list[k].target, true),
                       .source = map_region(s, list[k].source)};

        if (!copy &&
            (to.target != list[k].target || to.source.buffer != list[k].source.buffer ||
             to.source.ranges != list[k].source.ranges)) {
            copy = ml_alloc(s->cx, n * sizeof(*copy));
            memcpy(copy, list, n * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    return copy ? copy : list;
}

static void map_block(Step *s, ml_Block *b)
{
    b->iters = map_iters(s, b->iters, b->n_iters);
    b->predicate = map_expr(s, b->predicate);
    b->reads = map_regions(s, b->reads, b->n_reads);
    b->writes = map_regions(s, b->writes, b->n_writes);
    b->allocs = map_allocs(s, b->allocs, b->n_allocs);
    b->matches = map_matches(s, b->matches, b->n_matches);
    b->annotations = map_value(s, b->annotations);
    b->init = map_child(s, b->init);
}

static const ml_Stmt *map_seq(Step *s, const ml_Seq *seq)
{
    const ml_Stmt **copy = NULL;
    size_t n = 0;

    for (size_t k = 0; k < seq->n; k++) {
        const ml_Stmt *to = map_child(s, seq->stmts[k]);

        if (to != seq->stmts[k] && !copy) {
            copy = ml_alloc(s->cx, seq->n * sizeof(*copy));
            memcpy(copy, seq->stmts, k * sizeof(*copy));
        }
        if (copy && to)
            copy[n] = to;
        n += to != NULL;
    }
    return copy ? ml_seq_at(s->cx, copy, n, seq->base.span) : &seq->base;
}

const ml_Stmt *ml_stmt_map(ml_Ctx *cx, const ml_Stmt *st, const ml_Mapper *m)
{
    Step s = {.cx = cx, .m = m};
    ml_AnyStmt to;

    switch ((ml_StmtKind)st->kind) {
/* NOLINTBEGIN(bugprone-macro-parentheses): a type takes none */
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        type *at = (type *)(void *)&to;                                                    \
        *at = *(const type *)(const void *)st;
/* NOLINTEND(bugprone-macro-parentheses) */
#define ML_F_EXPR(f, role)     at->f = map_expr(&s, at->f);
#define ML_F_EXPRS(f, n, role) at->f = map_exprs(&s, at->f, at->n);
#define ML_F_VALUE(f)          at->f = map_value(&s, at->f);
#define ML_F_NODE(f)                                                                       \
    if (!ml_attr_defines(at))                                                              \
        at->f = map_value(&s, at->f);
#define ML_F_USES(f)    at->f = map_buffer(&s, at->f, false);
#define ML_F_BUFFER(f)  at->f = map_buffer(&s, at->f, true);
#define ML_F_BODY(f)    at->f = map_body(&s, at->f);
#define ML_F_ELSE(f)    at->f = map_child(&s, at->f);
#define ML_F_LIST(f, n) return map_seq(&s, ml_as_seq(st));
#define ML_F_BLOCK      map_block(&s, at);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: return st;
    }
    return s.changed ? ml_stmt_from(cx, &to.base) : st;
}

/* ---- reading */

void ml_stmt_children(const ml_Stmt *st, ml_StmtChildFn *fn, void *user)
{
    switch ((ml_StmtKind)st->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)st;                                   \
        (void)at;
#define ML_F_LIST(f, n)                                                                    \
    for (size_t k = 0; k < at->n; k++)                                                     \
        fn(at->f[k], false, user);
#define ML_F_BLOCK                                                                         \
    if (at->init)                                                                          \
        fn(at->init, true, user);
#define ML_F_BODY(f) fn(at->f, false, user);
#define ML_F_ELSE(f)                                                                       \
    if (at->f)                                                                             \
        fn(at->f, false, user);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
}

typedef struct Visit {
    ml_StmtVisitFn *fn;
    void *user;
} Visit;

static void visit_child(const ml_Stmt *s, bool in_init, void *user)
{
    Visit *v = user;

    (void)in_init;
    if (v->fn(s, v->user))
        ml_stmt_children(s, visit_child, v);
}

void ml_stmt_visit(const ml_Stmt *st, ml_StmtVisitFn *fn, void *user)
{
    visit_child(st, false, &(Visit){fn, user});
}
