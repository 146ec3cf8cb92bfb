/*
 * print_value - constants of attributes and annotations, lambdas, types, buffer calls.
 * Source: script 10.4, 12.2, 12.4.
 */
#include "moonloop/core/script/print/print.h"
#include <math.h>

/* ---- types of variables */
void ml_pr_type(ml_Printer *p, const ml_Var *v, bool call)
{
    if (v->type.code == ML_HANDLE && v->type.lanes == 1) {
        bool global = !v->scope || !*v->scope || ml_streq(v->scope, "global");
        ml_pr_t(p, "handle");
        if (v->elem.code == ML_VOID && global) {
            ml_pr_z(p, call ? "()" : "");
            return;
        }
        ml_pr_z(p, "(");
        if (v->elem.code != ML_VOID)
            ml_pr_dtype(p, v->elem);
        if (!global) {
            ml_pr_z(p, v->elem.code != ML_VOID ? ", " : "storage_scope=");
            ml_pr_string(p, v->scope, strlen(v->scope));
        }
        ml_pr_z(p, ")");
        return;
    }
    if (!ml_dtype_has_name(v->type)) {
        ml_pr_t(p, "var(");
        ml_pr_dtype(p, v->type);
        ml_pr_z(p, ")");
        return;
    }
    ml_pr_t(p, "");
    ml_dtype_print(p->out, v->type);
    ml_pr_z(p, call ? "()" : "");
}

/* ---- lambdas */
/* "lambda i, j: " over variables that are in scope until the caller's scope mark. */
static void print_lambda_head(ml_Printer *p, const ml_Var *const *a, size_t n,
                              const ml_Var *const *b, size_t m)
{
    ml_pr_z(p, n + m ? "lambda " : "lambda");
    for (size_t k = 0; k < n + m; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_z(p, ml_pr_define_var(p, k < n ? a[k] : b[k - n]));
    }
    ml_pr_z(p, ": ");
}

static void print_map_lambda(ml_Printer *p, const ml_IndexMap *m)
{
    size_t mark = ml_pr_scope_mark(p);
    print_lambda_head(p, m->vars, m->n_vars, NULL, 0);
    ml_pr_tuple(p, m->exprs, m->n_exprs);
    ml_pr_scope_end(p, mark);
}

static void print_map(ml_Printer *p, const ml_IndexMap *m)
{
    ml_pr_t(p, "index_map(");
    print_map_lambda(p, m);
    if (m->inverse) {
        ml_pr_z(p, ", inverse_index_map=");
        print_map_lambda(p, m->inverse);
    }
    if (m->n_vars > 0 && !ml_dtype_eq(m->vars[0]->type, ML_DT_I64)) {
        ml_pr_z(p, ", index_dtype=");
        ml_pr_dtype(p, m->vars[0]->type);
    }
    ml_pr_z(p, ")");
}

static void print_reducer(ml_Printer *p, const ml_Reducer *r)
{
    size_t mark = ml_pr_scope_mark(p);
    ml_pr_t(p, "comm_reducer(");
    print_lambda_head(p, r->lhs, r->n, r->rhs, r->n);
    if (r->n == 1)
        ml_pr_expr(p, r->results[0], ML_PREC_TEST);
    else
        ml_pr_tuple(p, r->results, r->n);
    ml_pr_scope_end(p, mark);
    ml_pr_z(p, ", [");
    ml_pr_args(p, r->identities, r->n);
    ml_pr_z(p, "])");
}

/* ---- constants */
static void print_dict(ml_Printer *p, const ml_Value *v)
{
    ml_pr_z(p, "{");
    for (size_t k = 0; k < v->n; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_string(p, v->keys[k], strlen(v->keys[k]));
        ml_pr_z(p, ": ");
        ml_pr_value(p, v->as.list[k]);
    }
    ml_pr_z(p, "}");
}

void ml_pr_value(ml_Printer *p, const ml_Value *v)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE: ml_pr_z(p, "None"); return;
    case ML_VAL_BOOL: ml_pr_z(p, v->as.i ? "True" : "False"); return;
    case ML_VAL_INT: ml_text_int(p->out, v->as.i); return;
    case ML_VAL_FLOAT:
        if (isfinite(v->as.f)) {
            ml_text_double(p->out, v->as.f);
            return;
        }
        ml_pr_t(p, "float64(\"");
        ml_pr_z(p, isnan(v->as.f) ? "nan" : v->as.f < 0 ? "-inf" : "inf");
        ml_pr_z(p, "\")");
        return;
    case ML_VAL_STRING: ml_pr_string(p, v->as.s, v->n); return;
    case ML_VAL_LIST:
        ml_pr_z(p, "[");
        for (size_t k = 0; k < v->n; k++) {
            ml_pr_z(p, k ? ", " : "");
            ml_pr_value(p, v->as.list[k]);
        }
        ml_pr_z(p, "]");
        return;
    case ML_VAL_DICT: print_dict(p, v); return;
    case ML_VAL_EXPR: ml_pr_expr(p, v->as.expr, ML_PREC_TEST); return;
    case ML_VAL_BUFFER: ml_pr_buffer_ref(p, v->as.buffer); return;
    case ML_VAL_VAR: ml_pr_var_name(p, v->as.var); return;
    case ML_VAL_MAP: print_map(p, v->as.map); return;
    case ML_VAL_REDUCER: print_reducer(p, v->as.reducer); return;
    case ML_VAL_TARGET:
        ml_pr_t(p, "target(");
        ml_pr_value(p, v->as.list[0]);
        if (v->n > 1) {
            ml_pr_z(p, ", host=");
            ml_pr_value(p, v->as.list[1]);
        }
        ml_pr_z(p, ")");
        return;
    }
}

void ml_pr_key(ml_Printer *p, const char *key)
{
    if (p->newest && strncmp(key, "tir.", 4) == 0)
        key = ml_format(p->cx, "tirx.%s", key + 4);
    ml_pr_string(p, key, strlen(key));
}

void ml_pr_attrs(ml_Printer *p, const ml_Value *dict, const char *without)
{
    bool first = true;
    ml_pr_z(p, "{");
    for (size_t k = 0; k < dict->n; k++) {
        if (without && ml_streq(dict->keys[k], without))
            continue;
        ml_pr_z(p, first ? "" : ", ");
        first = false;
        ml_pr_key(p, dict->keys[k]);
        ml_pr_z(p, ": ");
        ml_pr_value(p, dict->as.list[k]);
    }
    ml_pr_z(p, "}");
}

/* ---- buffers */
/* A variable of e that has no name yet is named; true when there was one. */
static bool name_new(ml_Printer *p, const ml_Expr *e)
{
    bool any = false;
    if (e->kind == ML_EXPR_VAR) {
        ml_NameInfo *info = ml_pr_var(p, e->as.var);
        if (info->how == ML_HOW_NAME && !info->name) {
            ml_pr_define_var(p, e->as.var);
            any = true;
        }
    }
    for (size_t k = 0; k < e->n_args; k++)
        any |= name_new(p, e->args[k]);
    return any;
}

static void quoted(ml_Printer *p, const ml_Expr *e)
{
    ml_Text text = {0}, *out = p->out;
    size_t line_start = p->line_start;
    p->out = &text;
    p->line_start = 0;
    ml_pr_expr(p, e, ML_PREC_TEST);
    p->out = out;
    p->line_start = line_start;
    ml_pr_string(p, ml_text_z(&text), text.n);
    out->bad |= text.bad;
    ml_text_free(&text);
}

static void print_shape(ml_Printer *p, const ml_Buffer *b, bool quote)
{
    /* A dimension is quoted when a variable in it is bound to the left of the whole buffer
     * by nothing: all are judged before any is named. */
    bool *fresh = NULL;
    if (quote && b->rank > 0) {
        fresh = ML_ARRAY(p->cx, bool, b->rank);
        ml_InfoVec named = {0};
        for (size_t k = 0; k < b->rank; k++) {
            size_t before = p->undo.n;
            fresh[k] = name_new(p, b->shape[k]);
            for (size_t u = before; u < p->undo.n; u++)
                ml_push(p->cx, &named, p->undo.v[u].info);
            for (size_t n = 0; n < named.n && !fresh[k]; n++)
                fresh[k] = ml_expr_uses_var(b->shape[k], named.v[n]->var);
        }
    }
    ml_pr_z(p, "(");
    for (size_t k = 0; k < b->rank; k++) {
        ml_pr_z(p, k ? ", " : "");
        if (fresh && fresh[k])
            quoted(p, b->shape[k]);
        else
            ml_pr_expr(p, b->shape[k], ML_PREC_TEST);
    }
    ml_pr_z(p, b->rank == 1 ? ",)" : ")");
}

static bool is_own(ml_Printer *p, const ml_Buffer *b, const ml_Expr *e, ml_How how)
{
    if (e->kind != ML_EXPR_VAR)
        return false;
    const ml_NameInfo *info = ml_pr_var(p, e->as.var);
    return info->how == how && info->owner && info->owner->uid == b->uid;
}

static void print_strides(ml_Printer *p, const ml_Buffer *b, bool defines)
{
    ml_pr_z(p, ", strides=(");
    for (size_t k = 0; k < b->n_strides; k++) {
        ml_pr_z(p, k ? ", " : "");
        if (defines && is_own(p, b, b->strides[k], ML_HOW_STRIDE)) {
            const char *s = ml_name_sanitize(p->cx, b->strides[k]->as.var->hint, false);
            ml_pr_string(p, s, strlen(s));
        } else {
            ml_pr_expr(p, b->strides[k], ML_PREC_TEST);
        }
    }
    ml_pr_z(p, b->n_strides == 1 ? ",)" : ")");
}

void ml_pr_buffer_args(ml_Printer *p, const ml_Buffer *b, unsigned flags,
                       const ml_Expr *data)
{
    bool defines = (flags & ML_BUF_DEFINES) != 0;

    print_shape(p, b, (flags & ML_BUF_QUOTE) != 0);
    if ((flags & ML_BUF_DTYPE) || !ml_dtype_eq(b->type, ML_DT_F32)) {
        ml_pr_z(p, ", ");
        ml_pr_dtype(p, b->type);
    }
    if (data) {
        ml_pr_z(p, ", data=");
        ml_pr_expr(p, data, ML_PREC_TEST);
    }
    if (b->n_strides > 0)
        print_strides(p, b, defines);
    bool own_offset = defines && is_own(p, b, b->elem_offset, ML_HOW_OFFSET);
    bool zero = ml_is_int(b->elem_offset, 0) &&
                ml_dtype_eq(b->elem_offset->type, ml_buffer_index_dtype(b));
    if (!own_offset && (!zero || b->offset_factor != 1 || b->says_offset)) {
        ml_pr_z(p, ", elem_offset=");
        ml_pr_expr(p, b->elem_offset, ML_PREC_TEST);
    }
    if (!(flags & ML_BUF_NO_SCOPE) && !ml_is_scope(b->scope, ML_SCOPE_GLOBAL)) {
        ml_pr_z(p, ", scope=");
        ml_pr_string(p, b->scope.name, strlen(b->scope.name));
    }
    if (b->align != 64)
        ml_text_fmt(p->out, ", align=%u", (unsigned)b->align);
    if (own_offset || b->offset_factor != 1)
        ml_text_fmt(p->out, ", offset_factor=%u", (unsigned)b->offset_factor);
    if (b->auto_broadcast)
        ml_pr_z(p, ", buffer_type=\"auto\"");
    if (b->n_separators > 0) {
        ml_pr_z(p, ", axis_separators=[");
        for (size_t k = 0; k < b->n_separators; k++) {
            ml_pr_z(p, k ? ", " : "");
            ml_text_int(p->out, b->separators[k]);
        }
        ml_pr_z(p, "]");
    }
}

/* ---- declarations of variables */
void ml_pr_declare(ml_Printer *p, ml_NameInfo *const *infos, size_t n)
{
    if (n == 0)
        return;
    ml_pr_line(p);
    for (size_t k = 0; k < n; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_z(p, ml_pr_define_var(p, infos[k]->var));
    }
    ml_pr_z(p, " = ");
    for (size_t k = 0; k < n; k++) {
        ml_pr_z(p, k ? ", " : "");
        ml_pr_type(p, infos[k]->var, true);
    }
}

typedef struct Dims {
    ml_Printer *p;
    ml_InfoVec found;
} Dims;

static void collect_dim(const ml_Var *v, void *user)
{
    Dims *d = user;
    ml_NameInfo *info = ml_pr_var(d->p, v);
    if (info->how != ML_HOW_NAME || info->name)
        return;
    for (size_t k = 0; k < d->found.n; k++)
        if (d->found.v[k] == info)
            return;
    ml_push(d->p->cx, &d->found, info);
}

void ml_pr_declare_dims(ml_Printer *p, const ml_Buffer *b)
{
    Dims d = {.p = p};
    ml_pr_buffer_vars(b, collect_dim, &d);
    ml_pr_declare(p, d.found.v, d.found.n);
}
