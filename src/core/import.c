/*
 * import - deep copies of programs into another, unrelated context.
 *
 * Identity numbers are kept, so that handles, traces and errors mean the same on both
 * sides; `to` continues counting above them. Every node is copied once: what was shared
 * stays shared, also between several versions imported by one object. Expressions are
 * rebuilt without folding: a copy prints as its original. Source: DESIGN section 3.
 */
#include "moonloop/core/expr_impl.h"
#include "moonloop/core/walk.h"

/* Address -> copy; open addressing, a power of two of slots, at most half full. Addresses
 * decide nothing but the place in the table. */
typedef struct Slot {
    const void *from, *made;
} Slot;

struct ml_Import {
    ml_Ctx *cx, *tables; /* where copies go, and where these tables are */
    Slot *slots;
    size_t cap, n;
    ml_Map *vars, *buffers; /* by uid: one node for each identity */
    ml_Uid keep_below; /* nodes numbered below it are of an ancestor: used as they are */
    ml_Uid shift;      /* added to every number */
};

static size_t place(const ml_Import *im, const void *from)
{
    uint64_t h = (uint64_t)(uintptr_t)from * UINT64_C(0x9E3779B97F4A7C15);
    size_t k = (size_t)(h >> 20) & (im->cap - 1);

    while (im->slots[k].from && im->slots[k].from != from)
        k = (k + 1) & (im->cap - 1);
    return k;
}

static const void *copy_of(const ml_Import *im, const void *from)
{
    return im->slots[place(im, from)].made;
}

static void remember(ml_Import *im, const void *from, const void *made)
{
    size_t k;

    if (2 * (im->n + 1) > im->cap) {
        Slot *old = im->slots;
        size_t n = im->cap;

        im->cap *= 2;
        im->slots = ML_ARRAY(im->tables, Slot, im->cap);
        for (size_t j = 0; j < n; j++)
            if (old[j].from)
                im->slots[place(im, old[j].from)] = old[j];
    }
    k = place(im, from);
    im->n += im->slots[k].from == NULL;
    im->slots[k] = (Slot){from, made};
}

ml_Import *ml_import_begin_in(ml_Ctx *to, ml_Ctx *tables)
{
    enum { FIRST_SLOTS = 256 };
    ml_Import *im = ML_NEW(tables, ml_Import);

    im->cx = to;
    im->tables = tables;
    im->cap = FIRST_SLOTS;
    im->slots = ML_ARRAY(tables, Slot, im->cap);
    im->vars = ml_map_new(tables);
    im->buffers = ml_map_new(tables);
    return im;
}

ml_Import *ml_import_begin(ml_Ctx *to)
{
    return ml_import_begin_in(to, to);
}

ml_Import *ml_import_begin_apart(ml_Ctx *to)
{
    ml_Import *im = ml_import_begin_in(to, to);

    im->shift = ml_ctx_next_uid(to) - 1;
    return im;
}

void ml_import_keep_below(ml_Import *im, ml_Uid uid)
{
    im->keep_below = uid;
}

/* ---- small things */

static const char *import_text(ml_Import *im, const char *z)
{
    const char *made;

    if (!z)
        return NULL;
    made = copy_of(im, z);
    if (!made) {
        made = ml_strdup(im->cx, ml_str(z));
        remember(im, z, made);
    }
    return made;
}

static const ml_Span *import_span(ml_Import *im, const ml_Span *span)
{
    const ml_Span *made;
    ml_Span *copy;

    if (!span)
        return NULL;
    made = copy_of(im, span);
    if (made)
        return made;
    copy = ml_alloc(im->cx, sizeof(*copy));
    *copy = *span;
    copy->exprs = NULL; /* nodes of the other context */
    copy->file = import_text(im, span->file);
    remember(im, span, copy);
    return copy;
}

static const ml_Var *import_var(ml_Import *im, const ml_Var *v)
{
    const ml_Var *made;
    ml_Var *copy;

    if (!v || v->uid < im->keep_below)
        return v;
    made = ml_map_get(im->vars, v->uid);
    if (made)
        return made;
    copy = ml_alloc(im->cx, sizeof(*copy));
    *copy = *v;
    copy->uid += im->shift;
    if (copy->whole && copy->whole >= im->keep_below)
        copy->whole += im->shift;
    copy->hint = import_text(im, v->hint);
    copy->scope = import_text(im, v->scope);
    ml_ctx_reserve_uid(im->cx, copy->uid);
    ml_map_set(im->tables, im->vars, v->uid, copy);
    return copy;
}

static const ml_Var *const *import_vars(ml_Import *im, const ml_Var *const *list, size_t n)
{
    const ml_Var **copy = ML_ARRAY(im->cx, const ml_Var *, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        copy[k] = import_var(im, list[k]);
    return copy;
}

static const ml_Expr *import_opt(ml_Import *im, const ml_Expr *e)
{
    return e ? ml_import_expr(im, e) : NULL;
}

static const ml_Expr *const *import_exprs(ml_Import *im, const ml_Expr *const *list,
                                          size_t n)
{
    const ml_Expr **copy = ML_ARRAY(im->cx, const ml_Expr *, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        copy[k] = ml_import_expr(im, list[k]);
    return copy;
}

const ml_Buffer *ml_import_buffer(ml_Import *im, const ml_Buffer *b)
{
    const ml_Buffer *made = ml_map_get(im->buffers, b->uid);
    int32_t *separators;
    ml_Buffer *copy;

    if (b->uid < im->keep_below)
        return b;
    if (made)
        return made;
    copy = ml_alloc(im->cx, sizeof(*copy));
    *copy = *b;
    copy->uid += im->shift;
    copy->name = import_text(im, b->name);
    copy->scope.name = import_text(im, b->scope.name);
    copy->data = import_var(im, b->data);
    copy->shape = import_exprs(im, b->shape, b->rank);
    copy->strides = import_exprs(im, b->strides, b->n_strides);
    copy->elem_offset = ml_import_expr(im, b->elem_offset);
    copy->span = import_span(im, b->span);
    if (b->n_separators) {
        separators = ML_ARRAY(im->cx, int32_t, b->n_separators);
        memcpy(separators, b->separators, b->n_separators * sizeof(*separators));
        copy->separators = separators;
    }
    ml_ctx_reserve_uid(im->cx, copy->uid);
    ml_map_set(im->tables, im->buffers, b->uid, copy);
    return copy;
}

/* ---- expressions */

static const ml_Op *import_op(ml_Import *im, const ml_Op *op)
{
    return op->id == ML_OP_OTHER ? ml_op_intern(im->cx, ml_str(op->name)) : op;
}

/* The node with its payload imported; it was folded where it was made. */
static const ml_Expr *build(ml_Import *im, const ml_Expr *e, const ml_Expr *const *kids)
{
    ml_Expr head = *e;

    switch (e->kind) {
    case ML_EXPR_INT: return ml_int(im->cx, e->type, e->as.i);
    case ML_EXPR_VAR: return ml_var(im->cx, import_var(im, e->as.var));
    case ML_EXPR_LET: head.as.var = import_var(im, e->as.var); break;
    case ML_EXPR_LOAD: head.as.buffer = ml_import_buffer(im, e->as.buffer); break;
    case ML_EXPR_CALL: head.as.op = import_op(im, e->as.op); break;
    }
    return ml_expr_intern(im->cx, &head, kids, e->n_args);
}

const ml_Expr *ml_import_expr(ml_Import *im, const ml_Expr *e)
{
    enum { FEW = 16 };
    const ml_Expr *few[FEW], **kids = few;
    const ml_Expr *made = copy_of(im, e);

    if (made)
        return made;
    if (e->n_args > FEW)
        kids = ML_ARRAY(im->cx, const ml_Expr *, e->n_args);
    for (size_t k = 0; k < e->n_args; k++)
        kids[k] = ml_import_expr(im, e->args[k]);
    made = build(im, e, kids);
    remember(im, e, made);
    return made;
}

/* ---- constants */

static const ml_IndexMap *import_index_map(ml_Import *im, const ml_IndexMap *m)
{
    ml_IndexMap *copy;

    if (!m)
        return NULL;
    copy = ml_alloc(im->cx, sizeof(*copy));
    *copy = *m;
    copy->vars = import_vars(im, m->vars, m->n_vars);
    copy->exprs = import_exprs(im, m->exprs, m->n_exprs);
    copy->inverse = import_index_map(im, m->inverse);
    return copy;
}

static const ml_Reducer *import_reducer(ml_Import *im, const ml_Reducer *r)
{
    ml_Reducer *copy = ml_alloc(im->cx, sizeof(*copy));

    copy->n = r->n;
    copy->lhs = import_vars(im, r->lhs, r->n);
    copy->rhs = import_vars(im, r->rhs, r->n);
    copy->results = import_exprs(im, r->results, r->n);
    copy->identities = import_exprs(im, r->identities, r->n);
    return copy;
}

static void import_items(ml_Import *im, ml_Value *copy, const ml_Value *v)
{
    const ml_Value **list = ML_ARRAY(im->cx, const ml_Value *, v->n ? v->n : 1);
    const char **keys;

    for (size_t k = 0; k < v->n; k++)
        list[k] = ml_import_value(im, v->as.list[k]);
    copy->as.list = list;
    if (v->kind != ML_VAL_DICT)
        return;
    keys = ML_ARRAY(im->cx, const char *, v->n ? v->n : 1);
    for (size_t k = 0; k < v->n; k++)
        keys[k] = import_text(im, v->keys[k]);
    copy->keys = keys;
}

const ml_Value *ml_import_value(ml_Import *im, const ml_Value *v)
{
    const ml_Value *made;
    ml_Value *copy;

    if (!v)
        return NULL;
    made = copy_of(im, v);
    if (made)
        return made;
    copy = ml_alloc(im->cx, sizeof(*copy));
    *copy = *v;
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE:
    case ML_VAL_BOOL:
    case ML_VAL_INT:
    case ML_VAL_FLOAT: break;
    case ML_VAL_STRING: copy->as.s = import_text(im, v->as.s); break;
    case ML_VAL_TARGET:
    case ML_VAL_LIST:
    case ML_VAL_DICT: import_items(im, copy, v); break;
    case ML_VAL_EXPR: copy->as.expr = ml_import_expr(im, v->as.expr); break;
    case ML_VAL_BUFFER: copy->as.buffer = ml_import_buffer(im, v->as.buffer); break;
    case ML_VAL_VAR: copy->as.var = import_var(im, v->as.var); break;
    case ML_VAL_MAP: copy->as.map = import_index_map(im, v->as.map); break;
    case ML_VAL_REDUCER: copy->as.reducer = import_reducer(im, v->as.reducer); break;
    }
    remember(im, v, copy);
    return copy;
}

/* ---- statements */

static ml_Region import_region(ml_Import *im, const ml_Region *r)
{
    size_t n = r->buffer->rank;
    ml_Range *ranges = ML_ARRAY(im->cx, ml_Range, n ? n : 1);

    for (size_t k = 0; k < n; k++) {
        ranges[k].min = ml_import_expr(im, r->ranges[k].min);
        ranges[k].extent = ml_import_expr(im, r->ranges[k].extent);
    }
    return (ml_Region){ml_import_buffer(im, r->buffer), ranges};
}

static const ml_Region *import_regions(ml_Import *im, const ml_Region *list, size_t n)
{
    ml_Region *copy = ML_ARRAY(im->cx, ml_Region, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        copy[k] = import_region(im, &list[k]);
    return copy;
}

/* Everything but the body. */
static void import_block(ml_Import *im, ml_Block *b)
{
    ml_Iter *iters = ML_ARRAY(im->cx, ml_Iter, b->n_iters ? b->n_iters : 1);
    ml_Match *matches = ML_ARRAY(im->cx, ml_Match, b->n_matches ? b->n_matches : 1);
    const ml_Buffer **allocs =
        ML_ARRAY(im->cx, const ml_Buffer *, b->n_allocs ? b->n_allocs : 1);

    for (size_t k = 0; k < b->n_iters; k++)
        iters[k] = (ml_Iter){.var = import_var(im, b->iters[k].var),
                             .min = ml_import_expr(im, b->iters[k].min),
                             .extent = ml_import_expr(im, b->iters[k].extent),
                             .value = ml_import_expr(im, b->iters[k].value),
                             .kind = b->iters[k].kind,
                             .span = import_span(im, b->iters[k].span)};
    for (size_t k = 0; k < b->n_allocs; k++)
        allocs[k] = ml_import_buffer(im, b->allocs[k]);
    for (size_t k = 0; k < b->n_matches; k++)
        matches[k] = (ml_Match){ml_import_buffer(im, b->matches[k].target),
                                import_region(im, &b->matches[k].source)};
    b->tag += im->shift;
    ml_ctx_reserve_uid(im->cx, b->tag);
    b->name = import_text(im, b->name);
    b->predicate = ml_import_expr(im, b->predicate);
    b->iters = iters;
    b->reads = import_regions(im, b->reads, b->n_reads);
    b->writes = import_regions(im, b->writes, b->n_writes);
    b->allocs = allocs;
    b->matches = matches;
    b->annotations = ml_import_value(im, b->annotations);
    b->init = b->init ? ml_import_stmt(im, b->init) : NULL;
}

static const ml_Stmt *const *import_list(ml_Import *im, const ml_Stmt *const *list,
                                         size_t n)
{
    const ml_Stmt **copy = ML_ARRAY(im->cx, const ml_Stmt *, n);

    for (size_t k = 0; k < n; k++)
        copy[k] = ml_import_stmt(im, list[k]);
    return copy;
}

static const char *const *import_parts(ml_Import *im, const char *const *parts, size_t n)
{
    const char **copy = ML_ARRAY(im->cx, const char *, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        copy[k] = import_text(im, parts[k]);
    return copy;
}

static const ml_Stmt *import_node(ml_Import *im, const ml_Stmt *st)
{
    ml_AnyStmt to;

    switch ((ml_StmtKind)st->kind) {
/* NOLINTBEGIN(bugprone-macro-parentheses): a type takes none */
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        type *at = (type *)(void *)&to;                                                    \
        *at = *(const type *)(const void *)st;
/* NOLINTEND(bugprone-macro-parentheses) */
#define ML_F_VAR(f)            at->f = import_var(im, at->f);
#define ML_F_EXPR(f, role)     at->f = import_opt(im, at->f);
#define ML_F_EXPRS(f, n, role) at->f = import_exprs(im, at->f, at->n);
#define ML_F_VALUE(f)          at->f = ml_import_value(im, at->f);
#define ML_F_NODE(f)           at->f = ml_import_value(im, at->f);
#define ML_F_USES(f)           at->f = ml_import_buffer(im, at->f);
#define ML_F_BUFFER(f)         at->f = ml_import_buffer(im, at->f);
#define ML_F_TEXT(f)           at->f = import_text(im, at->f);
#define ML_F_TEXTS(f, n)       at->f = import_parts(im, at->f, at->n);
#define ML_F_BODY(f)           at->f = ml_import_stmt(im, at->f);
#define ML_F_ELSE(f)           at->f = at->f ? ml_import_stmt(im, at->f) : NULL;
#define ML_F_LIST(f, n)        at->f = import_list(im, at->f, at->n);
#define ML_F_BLOCK             import_block(im, at);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
    to.base.span = import_span(im, st->span);
    return ml_stmt_from(im->cx, &to.base);
}

const ml_Stmt *ml_import_stmt(ml_Import *im, const ml_Stmt *st)
{
    const ml_Stmt *made = copy_of(im, st);

    if (!made) {
        made = import_node(im, st);
        remember(im, st, made);
    }
    return made;
}

/* ---- functions and modules */

const ml_Func *ml_import_func(ml_Import *im, const ml_Func *f)
{
    const ml_Func *made = copy_of(im, f);
    ml_FuncParam *params;
    ml_Func copy = *f;

    if (made)
        return made;
    params = ML_ARRAY(im->cx, ml_FuncParam, f->n_params ? f->n_params : 1);
    for (size_t k = 0; k < f->n_params; k++) {
        params[k].var = import_var(im, f->params[k].var);
        if (f->params[k].buffer)
            params[k].buffer = ml_import_buffer(im, f->params[k].buffer);
    }
    copy.name = import_text(im, f->name);
    copy.params = params;
    copy.body = ml_import_stmt(im, f->body);
    copy.attrs = ml_import_value(im, f->attrs);
    copy.span = import_span(im, f->span);
    made = ml_func_from(im->cx, &copy);
    remember(im, f, made);
    return made;
}

const ml_Module *ml_import_module(ml_Import *im, const ml_Module *m)
{
    const ml_Module *made = copy_of(im, m);
    const ml_Func **funcs;

    if (made)
        return made;
    funcs = ML_ARRAY(im->cx, const ml_Func *, m->n ? m->n : 1);
    for (size_t k = 0; k < m->n; k++)
        funcs[k] = ml_import_func(im, m->funcs[k]);
    made = ml_module_new(im->cx, funcs, m->n, ml_import_value(im, m->attrs));
    remember(im, m, made);
    return made;
}
