/*
 * import - deep copies of programs into another, unrelated context.
 *
 * Identity numbers are kept, so that handles, traces and errors mean the same on both
 * sides; `to` continues counting above them. Every node is copied once: what was shared
 * stays shared, also between several versions imported by one object. Expressions are
 * rebuilt without folding: a copy prints as its original. Source: DESIGN section 3.
 */
#include "core/walk.h"

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

/* The copy of the k-th child; there are as many as e's kind has. */
static const ml_Expr *kid(const ml_Expr *e, const ml_Expr *const *kids, size_t k)
{
    ML_ASSERT(k < e->n_args);
    return kids[k];
}

static const ml_Expr *build(ml_Import *im, const ml_Expr *e, const ml_Expr *const *kids)
{
    size_t n = e->n_args, vectors;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return ml_int(im->cx, e->type, e->as.i);
    case ML_EXPR_FLOAT: return ml_float(im->cx, e->type, e->as.f);
    case ML_EXPR_STRING: return ml_string(im->cx, ml_str(e->as.s));
    case ML_EXPR_VAR: return ml_var(im->cx, import_var(im, e->as.var));
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR:
        return ml_raw_binary(im->cx, (ml_ExprKind)e->kind, kid(e, kids, 0),
                             kid(e, kids, 1));
    case ML_EXPR_NOT: return ml_raw_not(im->cx, kid(e, kids, 0));
    case ML_EXPR_SELECT:
        return ml_select(im->cx, kid(e, kids, 0), kid(e, kids, 1), kid(e, kids, 2));
    case ML_EXPR_CAST: return ml_raw_cast(im->cx, e->type, kid(e, kids, 0));
    case ML_EXPR_LOAD:
        vectors = ml_load_rank(e);
        return (e->flags & ML_X_MASKED)
                   ? ml_load_masked(im->cx, ml_import_buffer(im, e->as.buffer), kids,
                                    vectors, kid(e, kids, vectors))
                   : ml_load(im->cx, ml_import_buffer(im, e->as.buffer), kids, vectors);
    case ML_EXPR_RAMP:
        return ml_ramp(im->cx, kid(e, kids, 0), kid(e, kids, 1), e->type.lanes);
    case ML_EXPR_BROADCAST: return ml_broadcast(im->cx, kid(e, kids, 0), e->type.lanes);
    case ML_EXPR_SHUFFLE:
        vectors = (size_t)e->as.i;
        return ml_shuffle(im->cx, kids, vectors, kids + vectors, n - vectors);
    case ML_EXPR_LET:
        return ml_let(im->cx, import_var(im, e->as.var), kid(e, kids, 0), kid(e, kids, 1));
    case ML_EXPR_CALL: return ml_call(im->cx, e->type, import_op(im, e->as.op), kids, n);
    case ML_EXPR_KINDS: break;
    }
    ML_ASSERT(!"kind of expression");
    return NULL;
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

static const ml_Stmt *import_block(ml_Import *im, const ml_Block *old)
{
    ml_Iter *iters = ML_ARRAY(im->cx, ml_Iter, old->n_iters ? old->n_iters : 1);
    ml_Match *matches = ML_ARRAY(im->cx, ml_Match, old->n_matches ? old->n_matches : 1);
    const ml_Buffer **allocs =
        ML_ARRAY(im->cx, const ml_Buffer *, old->n_allocs ? old->n_allocs : 1);
    ml_Block b = *old;

    for (size_t k = 0; k < old->n_iters; k++)
        iters[k] = (ml_Iter){.var = import_var(im, old->iters[k].var),
                             .min = ml_import_expr(im, old->iters[k].min),
                             .extent = ml_import_expr(im, old->iters[k].extent),
                             .value = ml_import_expr(im, old->iters[k].value),
                             .kind = old->iters[k].kind,
                             .span = import_span(im, old->iters[k].span)};
    for (size_t k = 0; k < old->n_allocs; k++)
        allocs[k] = ml_import_buffer(im, old->allocs[k]);
    for (size_t k = 0; k < old->n_matches; k++)
        matches[k] = (ml_Match){ml_import_buffer(im, old->matches[k].target),
                                import_region(im, &old->matches[k].source)};
    b.tag += im->shift;
    ml_ctx_reserve_uid(im->cx, b.tag);
    b.base.span = import_span(im, old->base.span);
    b.name = import_text(im, old->name);
    b.predicate = ml_import_expr(im, old->predicate);
    b.iters = iters;
    b.reads = import_regions(im, old->reads, old->n_reads);
    b.writes = import_regions(im, old->writes, old->n_writes);
    b.allocs = allocs;
    b.matches = matches;
    b.annotations = ml_import_value(im, old->annotations);
    b.init = old->init ? ml_import_stmt(im, old->init) : NULL;
    b.body = ml_import_stmt(im, old->body);
    return ml_block_from(im->cx, &b);
}

static const ml_Stmt *import_seq(ml_Import *im, const ml_Seq *old)
{
    const ml_Stmt **stmts = ML_ARRAY(im->cx, const ml_Stmt *, old->n);
    ml_Seq seq = *old;

    for (size_t k = 0; k < old->n; k++)
        stmts[k] = ml_import_stmt(im, old->stmts[k]);
    seq.stmts = stmts;
    seq.base.span = import_span(im, old->base.span);
    return ml_stmt_from(im->cx, &seq.base);
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
    union {
        ml_Stmt base;
        ml_Store store;
        ml_For loop;
        ml_While again;
        ml_If cond;
        ml_Bind bind;
        ml_Evaluate evaluate;
        ml_Alloc alloc;
        ml_Attr attr;
        ml_Assert check;
        ml_Return ret;
    } u;

    switch ((ml_StmtKind)st->kind) {
    case ML_STMT_BLOCK: return import_block(im, ml_as_block(st));
    case ML_STMT_SEQ: return import_seq(im, ml_as_seq(st));
    case ML_STMT_STORE:
        u.store = *ml_as_store(st);
        u.store.buffer = ml_import_buffer(im, u.store.buffer);
        u.store.indices = import_exprs(im, u.store.indices, u.store.n);
        u.store.value = ml_import_expr(im, u.store.value);
        u.store.mask = import_opt(im, u.store.mask);
        break;
    case ML_STMT_FOR:
        u.loop = *ml_as_for(st);
        u.loop.var = import_var(im, u.loop.var);
        u.loop.thread_var = import_var(im, u.loop.thread_var);
        u.loop.thread.name = import_text(im, u.loop.thread.name);
        u.loop.min = ml_import_expr(im, u.loop.min);
        u.loop.extent = ml_import_expr(im, u.loop.extent);
        u.loop.step = import_opt(im, u.loop.step);
        u.loop.annotations = ml_import_value(im, u.loop.annotations);
        u.loop.body = ml_import_stmt(im, u.loop.body);
        break;
    case ML_STMT_WHILE:
        u.again = *ml_as_while(st);
        u.again.cond = ml_import_expr(im, u.again.cond);
        u.again.body = ml_import_stmt(im, u.again.body);
        break;
    case ML_STMT_IF:
        u.cond = *ml_as_if(st);
        u.cond.cond = ml_import_expr(im, u.cond.cond);
        u.cond.then = ml_import_stmt(im, u.cond.then);
        u.cond.other = u.cond.other ? ml_import_stmt(im, u.cond.other) : NULL;
        break;
    case ML_STMT_BIND:
        u.bind = *ml_as_bind(st);
        u.bind.var = import_var(im, u.bind.var);
        u.bind.value = ml_import_expr(im, u.bind.value);
        break;
    case ML_STMT_EVALUATE:
        u.evaluate = *ml_as_evaluate(st);
        u.evaluate.value = ml_import_expr(im, u.evaluate.value);
        break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        u.alloc = *ml_as_alloc(st);
        u.alloc.buffer = ml_import_buffer(im, u.alloc.buffer);
        u.alloc.data = import_opt(im, u.alloc.data);
        u.alloc.annotations = ml_import_value(im, u.alloc.annotations);
        break;
    case ML_STMT_ATTR:
        u.attr = *ml_as_attr(st);
        u.attr.node = ml_import_value(im, u.attr.node);
        u.attr.key = import_text(im, u.attr.key);
        u.attr.value = ml_import_value(im, u.attr.value);
        u.attr.thread.name = import_text(im, u.attr.thread.name);
        u.attr.body = ml_import_stmt(im, u.attr.body);
        break;
    case ML_STMT_ASSERT:
        u.check = *ml_as_assert(st);
        u.check.cond = ml_import_expr(im, u.check.cond);
        u.check.error = import_text(im, u.check.error);
        u.check.parts = import_parts(im, u.check.parts, u.check.n_parts);
        break;
    case ML_STMT_RETURN:
        u.ret = *ml_as_return(st);
        u.ret.value = import_opt(im, u.ret.value);
        break;
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE:
    case ML_STMT_KINDS: u.base = *st; break;
    }
    u.base.span = import_span(im, st->span);
    return ml_stmt_from(im->cx, &u.base);
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
