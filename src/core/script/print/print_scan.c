/*
 * print_scan - the printer's first pass: scopes, uses, what has to be declared where.
 *
 * It opens scopes exactly where the second pass does (script 4, 12.5), so that the k-th
 * scope of one is the k-th of the other. A variable used where no definition is in force
 * is declared at the innermost scope around all such uses.
 */
#include "moonloop/core/script/print/print.h"

static ml_NameInfo *new_info(ml_Printer *p, ml_Uid uid)
{
    ml_NameInfo *info = ML_NEW(p->cx, ml_NameInfo);
    info->free_scope = info->launch_scope = -1;
    if (p->o->names && p->o->names->map) {
        info->fixed = ml_map_get(p->o->names->map, uid);
        if (info->fixed)
            info->fixed_slot = ml_names_take_as_is(&p->names, info->fixed);
    }
    ml_map_set(p->cx, p->infos, uid, info);
    ml_push(p->cx, &p->order, info);
    return info;
}

ml_NameInfo *ml_pr_var(ml_Printer *p, const ml_Var *v)
{
    ml_NameInfo *info = (ml_NameInfo *)(uintptr_t)ml_map_get(p->infos, v->uid);
    if (!info) {
        info = new_info(p, v->uid);
        info->var = v;
    }
    return info;
}

ml_NameInfo *ml_pr_buffer(ml_Printer *p, const ml_Buffer *b)
{
    ml_NameInfo *info = (ml_NameInfo *)(uintptr_t)ml_map_get(p->infos, b->uid);
    if (!info) {
        info = new_info(p, b->uid);
        info->buffer = b;
    }
    return info;
}

static bool is_alloc_default(const ml_Buffer *b)
{
    return b->n_strides == 0 && b->align == 64 && b->offset_factor == 1 &&
           !b->auto_broadcast && b->n_separators == 0 && ml_is_int(b->elem_offset, 0);
}

static bool may_be_cell(const ml_Printer *p, const ml_Buffer *b)
{
    return p->newest && b->is_scalar && b->rank == 1 && ml_is_int(b->shape[0], 1) &&
           ml_dtype_eq(b->shape[0]->type, ML_DT_I32) &&
           ml_is_scope(b->scope, ML_SCOPE_LOCAL) && is_alloc_default(b) &&
           b->type.lanes == 1 && b->type.code != ML_HANDLE && ml_dtype_has_name(b->type);
}

bool ml_pr_is_cell(ml_Printer *p, const ml_Buffer *b)
{
    return p->newest && b->is_scalar && ml_pr_buffer(p, b)->cell;
}

bool ml_pr_is_plain_root(const ml_Stmt *s)
{
    if (s->kind != ML_STMT_BLOCK)
        return false;
    const ml_Block *b = ml_as_block(s);
    if (b->n_iters || b->n_reads || b->n_writes || b->n_matches || b->init ||
        ml_dict_count(b->annotations) || !ml_is_true(b->predicate))
        return false;
    if (b->n_allocs > 0)
        return true;
    if (b->body->kind == ML_STMT_BLOCK)
        return ml_as_block(b->body)->n_iters > 0;
    return b->body->has_block;
}

static const ml_Var *attr_var(const ml_Attr *a)
{
    if (a->node->kind == ML_VAL_VAR)
        return a->node->as.var;
    if (a->node->kind == ML_VAL_EXPR && a->node->as.expr->kind == ML_EXPR_VAR)
        return a->node->as.expr->as.var;
    return NULL;
}

static ml_Dtype launch_dtype(const ml_Attr *a)
{
    /* an integer has the dtype of its variable */
    return a->value->kind == ML_VAL_EXPR ? a->value->as.expr->type : attr_var(a)->type;
}

bool ml_pr_is_launch(const ml_Attr *a)
{
    if (!a->thread.axis || !attr_var(a))
        return false;
    if (a->value->kind != ML_VAL_INT && a->value->kind != ML_VAL_EXPR)
        return false;
    return ml_streq(a->key, ml_thread_key(a->thread));
}

/* ---- scopes */
static int32_t open_scope(ml_Printer *p)
{
    uint32_t depth = p->scopes.n ? p->scopes.v[p->scope].depth + 1 : 0;
    ml_PrintScope s = {.parent = p->scopes.n ? p->scope : -1, .depth = depth};
    ml_push(p->cx, &p->scopes, s);
    p->scope = (int32_t)p->scopes.n - 1;
    return p->scope;
}

static void close_scope(ml_Printer *p, size_t trail)
{
    while (p->trail.n > trail)
        p->trail.v[--p->trail.n]->active--;
    p->scope = p->scopes.v[p->scope].parent;
}

static int32_t around(const ml_Printer *p, int32_t a, int32_t b)
{
    if (a < 0)
        return b;
    while (a != b) {
        if (p->scopes.v[a].depth >= p->scopes.v[b].depth)
            a = p->scopes.v[a].parent;
        else
            b = p->scopes.v[b].parent;
    }
    return a;
}

static void activate(ml_Printer *p, ml_NameInfo *info)
{
    info->active++;
    ml_push(p->cx, &p->trail, info);
}

static void define(ml_Printer *p, const ml_Var *v)
{
    activate(p, ml_pr_var(p, v));
}

/* ---- uses */
static void scan_expr(ml_Printer *p, const ml_Expr *e);

static void use_var(ml_Printer *p, const ml_Var *v)
{
    ml_NameInfo *info = ml_pr_var(p, v);
    info->n_uses++;
    if (!info->active)
        info->free_scope = around(p, info->free_scope, p->scope);
}

static void define_data(ml_Printer *p, const ml_Buffer *b)
{
    ml_NameInfo *data = ml_pr_var(p, b->data);
    if (data->active)
        return;
    data->how = ML_HOW_DATA;
    data->owner = b;
    activate(p, data);
}

static void scan_description(ml_Printer *p, const ml_Buffer *b)
{
    for (size_t k = 0; k < b->rank; k++)
        scan_expr(p, b->shape[k]);
    for (size_t k = 0; k < b->n_strides; k++)
        scan_expr(p, b->strides[k]);
    scan_expr(p, b->elem_offset);
}

static void use_buffer(ml_Printer *p, const ml_Buffer *b)
{
    ml_NameInfo *info = ml_pr_buffer(p, b);
    info->n_uses++;
    if (info->active)
        return;
    /* nowhere defined: declared before everything else, and in force to the end */
    info->active = 1;
    int32_t here = p->scope;
    p->scope = 0;
    ml_NameInfo *data = ml_pr_var(p, b->data);
    if (!data->active) {
        data->how = ML_HOW_DATA;
        data->owner = b;
        data->active = 1;
    }
    scan_description(p, b);
    p->scope = here;
    ml_push(p->cx, &p->free_buffers, info);
}

static void scan_expr(ml_Printer *p, const ml_Expr *e)
{
    if ((e->flags & (ML_X_VAR_FREE | ML_X_HAS_LOAD)) == ML_X_VAR_FREE)
        return;
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        use_var(p, e->as.var);
    else if (e->kind == ML_EXPR_LOAD)
        use_buffer(p, e->as.buffer);
    for (size_t k = 0; k < e->n_args; k++)
        scan_expr(p, e->args[k]);
}

static void scan_map(ml_Printer *p, const ml_IndexMap *m)
{
    size_t trail = p->trail.n;
    for (size_t k = 0; k < m->n_vars; k++)
        define(p, m->vars[k]);
    for (size_t k = 0; k < m->n_exprs; k++)
        scan_expr(p, m->exprs[k]);
    while (p->trail.n > trail)
        p->trail.v[--p->trail.n]->active--;
    if (m->inverse)
        scan_map(p, m->inverse);
}

static void scan_value(ml_Printer *p, const ml_Value *v)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE:
    case ML_VAL_BOOL:
    case ML_VAL_INT:
    case ML_VAL_FLOAT:
    case ML_VAL_TARGET:
    case ML_VAL_STRING: return;
    case ML_VAL_LIST:
    case ML_VAL_DICT:
        for (size_t k = 0; k < v->n; k++)
            scan_value(p, v->as.list[k]);
        return;
    case ML_VAL_EXPR: scan_expr(p, v->as.expr); return;
    case ML_VAL_BUFFER: use_buffer(p, v->as.buffer); return;
    case ML_VAL_VAR: use_var(p, v->as.var); return;
    case ML_VAL_MAP: scan_map(p, v->as.map); return;
    case ML_VAL_REDUCER: {
        const ml_Reducer *r = v->as.reducer;
        size_t trail = p->trail.n;
        for (size_t k = 0; k < r->n; k++)
            define(p, r->lhs[k]);
        for (size_t k = 0; k < r->n; k++)
            define(p, r->rhs[k]);
        for (size_t k = 0; k < r->n; k++)
            scan_expr(p, r->results[k]);
        while (p->trail.n > trail)
            p->trail.v[--p->trail.n]->active--;
        for (size_t k = 0; k < r->n; k++)
            scan_expr(p, r->identities[k]);
        return;
    }
    }
}

static void scan_values(ml_Printer *p, const ml_Value *v)
{
    if (v)
        scan_value(p, v);
}

/* ---- definitions of buffers */
typedef struct Finder {
    ml_Printer *p;
    const ml_Var *want;
    unsigned n;
} Finder;

static void each_var(const ml_Expr *e, void (*fn)(const ml_Var *, void *), void *user)
{
    if ((e->flags & (ML_X_VAR_FREE | ML_X_HAS_LOAD)) == ML_X_VAR_FREE)
        return;
    if (e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_LET)
        fn(e->as.var, user);
    for (size_t k = 0; k < e->n_args; k++)
        each_var(e->args[k], fn, user);
}

void ml_pr_buffer_vars(const ml_Buffer *b, void (*fn)(const ml_Var *v, void *user),
                       void *user)
{
    for (size_t k = 0; k < b->rank; k++)
        each_var(b->shape[k], fn, user);
    for (size_t k = 0; k < b->n_strides; k++)
        each_var(b->strides[k], fn, user);
    each_var(b->elem_offset, fn, user);
}

static void count_var(const ml_Var *v, void *user)
{
    Finder *f = user;
    f->n += v->uid == f->want->uid;
}

static void define_if_new(const ml_Var *v, void *user)
{
    Finder *f = user;
    ml_NameInfo *info = ml_pr_var(f->p, v);
    if (!info->active)
        activate(f->p, info);
}

/* Whether e is a bare variable that b alone defines, at this one place. */
static bool defines_here(ml_Printer *p, const ml_Buffer *b, const ml_Expr *e)
{
    if (e->kind != ML_EXPR_VAR || !ml_dtype_eq(e->type, ml_buffer_index_dtype(b)))
        return false;
    ml_NameInfo *info = ml_pr_var(p, e->as.var);
    if (info->active || info->free_scope >= 0 || info->fixed)
        return false;
    Finder f = {.want = e->as.var};
    ml_pr_buffer_vars(b, count_var, &f);
    return f.n == 1;
}

/* The buffer of a parameter or a match target: it defines its variables. */
static void define_matched(ml_Printer *p, const ml_Buffer *b)
{
    define_data(p, b);
    for (size_t k = 0; k < b->n_strides; k++)
        if (defines_here(p, b, b->strides[k])) {
            ml_NameInfo *info = ml_pr_var(p, b->strides[k]->as.var);
            info->how = ML_HOW_STRIDE;
            info->owner = b;
            info->k = (uint16_t)k;
            activate(p, info);
        }
    if (defines_here(p, b, b->elem_offset)) {
        ml_NameInfo *info = ml_pr_var(p, b->elem_offset->as.var);
        info->how = ML_HOW_OFFSET;
        info->owner = b;
        activate(p, info);
    }
    Finder f = {.p = p};
    ml_pr_buffer_vars(b, define_if_new, &f);
    activate(p, ml_pr_buffer(p, b));
}

static void define_owned(ml_Printer *p, const ml_Buffer *b)
{
    scan_description(p, b);
    define_data(p, b);
    activate(p, ml_pr_buffer(p, b));
}

/* ---- statements */
static void scan_stmt(ml_Printer *p, const ml_Stmt *s, bool last);

static void scan_list(ml_Printer *p, const ml_Stmt *s)
{
    if (s->kind != ML_STMT_SEQ) {
        scan_stmt(p, s, true);
        return;
    }
    const ml_Seq *seq = ml_as_seq(s);
    for (size_t k = 0; k < seq->n; k++)
        scan_stmt(p, seq->stmts[k], k + 1 == seq->n);
}

static void scan_body(ml_Printer *p, const ml_Stmt *s)
{
    size_t trail = p->trail.n;
    open_scope(p);
    scan_list(p, s);
    close_scope(p, trail);
}

static void scan_ranges(ml_Printer *p, const ml_Region *r)
{
    use_buffer(p, r->buffer);
    for (size_t k = 0; k < r->buffer->rank; k++) {
        scan_expr(p, r->ranges[k].min);
        scan_expr(p, r->ranges[k].extent);
    }
}

static void scan_block_inside(ml_Printer *p, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++) {
        scan_expr(p, b->iters[k].min);
        scan_expr(p, b->iters[k].extent);
        scan_expr(p, b->iters[k].value);
        define(p, b->iters[k].var);
    }
    scan_expr(p, b->predicate);
    for (size_t k = 0; k < b->n_reads; k++)
        scan_ranges(p, &b->reads[k]);
    for (size_t k = 0; k < b->n_writes; k++)
        scan_ranges(p, &b->writes[k]);
    scan_values(p, b->annotations);
    for (size_t k = 0; k < b->n_allocs; k++)
        define_owned(p, b->allocs[k]);
    for (size_t k = 0; k < b->n_matches; k++) {
        scan_ranges(p, &b->matches[k].source);
        define_matched(p, b->matches[k].target);
    }
    if (b->init)
        scan_body(p, b->init);
    scan_list(p, b->body);
}

static void scan_attr(ml_Printer *p, const ml_Attr *a, bool last)
{
    const ml_Var *v = ml_pr_is_launch(a) ? attr_var(a) : NULL;
    if (!v)
        scan_value(p, a->node);
    scan_value(p, a->value);
    size_t trail = p->trail.n;
    if (v) {
        ml_NameInfo *info = ml_pr_var(p, v);
        info->n_launches++;
        info->launch_scope = around(p, info->launch_scope, p->scope);
        info->tag = a->thread.name;
        if (!ml_dtype_eq(v->type, launch_dtype(a)))
            info->env = true;
    }
    if (!last)
        open_scope(p);
    if (v)
        define(p, v);
    scan_list(p, a->body);
    if (!last)
        close_scope(p, trail);
}

static void scan_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    scan_expr(user, e);
}

static void scan_stmt(ml_Printer *p, const ml_Stmt *s, bool last)
{
    switch (s->kind) {
    case ML_STMT_STORE: {
        const ml_Store *st = ml_as_store(s);
        use_buffer(p, st->buffer);
        for (size_t k = 0; k < st->n; k++)
            scan_expr(p, st->indices[k]);
        scan_expr(p, st->value);
        if (st->mask)
            scan_expr(p, st->mask);
        return;
    }
    case ML_STMT_SEQ: scan_list(p, s); return;
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(s);
        scan_expr(p, f->min);
        scan_expr(p, f->extent);
        if (f->step)
            scan_expr(p, f->step);
        scan_values(p, f->annotations);
        size_t trail = p->trail.n;
        open_scope(p);
        define(p, f->var);
        scan_list(p, f->body);
        close_scope(p, trail);
        return;
    }
    case ML_STMT_WHILE:
        scan_expr(p, ml_as_while(s)->cond);
        scan_body(p, ml_as_while(s)->body);
        return;
    case ML_STMT_IF:
        scan_expr(p, ml_as_if(s)->cond);
        scan_body(p, ml_as_if(s)->then);
        if (ml_as_if(s)->other)
            scan_body(p, ml_as_if(s)->other);
        return;
    case ML_STMT_BIND:
        scan_expr(p, ml_as_bind(s)->value);
        define(p, ml_as_bind(s)->var);
        return;
    case ML_STMT_ALLOC:
        scan_values(p, ml_as_alloc(s)->annotations);
        define_owned(p, ml_as_alloc(s)->buffer);
        ml_pr_buffer(p, ml_as_alloc(s)->buffer)->cell =
            may_be_cell(p, ml_as_alloc(s)->buffer) &&
            ml_dict_count(ml_as_alloc(s)->annotations) == 0;
        return;
    case ML_STMT_DECL:
        scan_expr(p, ml_as_alloc(s)->data);
        define_owned(p, ml_as_alloc(s)->buffer);
        return;
    case ML_STMT_ATTR: scan_attr(p, ml_as_attr(s), last); return;
    case ML_STMT_BLOCK: {
        size_t trail = p->trail.n;
        open_scope(p);
        scan_block_inside(p, ml_as_block(s));
        close_scope(p, trail);
        return;
    }
    }
    ml_stmt_exprs(s, scan_role, p);
}

/* Puts every variable that has to be declared into its scope's list. */
static void place_pending(ml_Printer *p)
{
    for (size_t k = 0; k < p->order.n; k++) {
        ml_NameInfo *info = p->order.v[k];
        if (!info->var)
            continue;
        if (info->tag && (info->env || info->n_launches > 1 || info->free_scope >= 0)) {
            info->env = true;
            info->free_scope = info->free_scope < 0
                                   ? info->launch_scope
                                   : around(p, info->free_scope, info->launch_scope);
        }
        if (info->free_scope >= 0 && info->how == ML_HOW_NAME)
            ml_push(p->cx, &p->scopes.v[info->free_scope].pending, info);
    }
}

void ml_pr_scan_func(ml_Printer *p, const ml_Func *f)
{
    open_scope(p);
    for (size_t k = 0; k < f->n_params; k++)
        define(p, f->params[k].var);
    scan_values(p, f->attrs);
    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            define_matched(p, f->params[k].buffer);
    if (p->elide_root)
        scan_block_inside(p, ml_as_block(f->body));
    else
        scan_list(p, f->body);
    place_pending(p);
}

void ml_pr_scan_stmt(ml_Printer *p, const ml_Stmt *s)
{
    open_scope(p);
    scan_list(p, s);
    place_pending(p);
}
