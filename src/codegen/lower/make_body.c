/*
 * make_body - the function as generated code has it: for each parameter its data pointer or
 * the number, then every size that is no parameter of its own; and the signature, which
 * says the same of the function before lowering. Source: lowering-and-codegen 5.2.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "make_body";

/* ---------------------------------------------------------------- sizes */

typedef struct Sizes {
    ml_Ctx *cx;
    ml_Map *params; /* uids of scalar parameters */
    ml_Map *bare;   /* uid -> ml_Var: stands alone somewhere, so that a value is found */
    ml_Map *all;    /* uid -> ml_Var, in order of first occurrence */
} Sizes;

static bool occurs(const ml_Expr *e, void *user)
{
    Sizes *s = user;

    if (e->kind == ML_EXPR_VAR && !ml_map_has(s->params, e->as.var->uid) &&
        !ml_map_has(s->all, e->as.var->uid))
        ml_map_set(s->cx, s->all, e->as.var->uid, e->as.var);
    return !(e->flags & ML_X_VAR_FREE);
}

static void size(Sizes *s, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR)
        ml_map_set(s->cx, s->bare, e->as.var->uid, e->as.var);
    ml_expr_visit(e, occurs, s);
}

bool ml_signature_of(ml_Ctx *cx, const ml_Func *f, ml_Signature *out)
{
    Sizes s = {cx, ml_map_new(cx), ml_map_new(cx), ml_map_new(cx)};
    const ml_Var **sizes;
    size_t n;

    for (uint32_t k = 0; k < f->n_params; k++)
        if (!f->params[k].buffer)
            ml_map_set(cx, s.params, f->params[k].var->uid, f->params[k].var);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        for (size_t d = 0; b && d < b->rank; d++)
            size(&s, b->shape[d]);
        for (size_t d = 0; b && d < b->n_strides; d++)
            size(&s, b->strides[d]);
        if (b)
            size(&s, b->elem_offset);
    }
    n = ml_map_count(s.all);
    sizes = ML_ARRAY(cx, const ml_Var *, n + 1);
    for (size_t k = 0; k < n; k++) {
        sizes[k] = ml_map_value_at(s.all, k);
        if (!ml_map_has(s.bare, sizes[k]->uid)) {
            ml_fail(cx, ML_E_LOWERING_FAILED, ML_TEXT("signature"),
                    ML_TEXT(ml_format(cx,
                                      "size %s of function %s occurs only inside compound "
                                      "expressions, so that no argument tells its value; "
                                      "make it a parameter",
                                      sizes[k]->hint, f->name)),
                    ML_VARIABLE(sizes[k]));
            return false;
        }
    }
    *out = (ml_Signature){f, (uint32_t)n, sizes};
    return true;
}

/* ---------------------------------------------------------------- the pass */

typedef struct Handles {
    ml_Map *map; /* uids of handle parameters that have a buffer */
    const ml_Var *used;
    const ml_Stmt *at, *where;
} Handles;

static bool handle_in(const ml_Expr *e, void *user)
{
    Handles *h = user;

    if (e->kind == ML_EXPR_VAR && !h->used && ml_map_has(h->map, e->as.var->uid)) {
        h->used = e->as.var;
        h->where = h->at;
    }
    return !(e->flags & ML_X_VAR_FREE) || (e->flags & ML_X_HAS_LOAD);
}

static bool handle_in_stmt(const ml_Stmt *s, void *user)
{
    Handles *h = user;

    h->at = s;
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, handle_in, h);
    return true;
}

const ml_Func *ml_pass_make_body(ml_Lower *lo, const ml_Func *f)
{
    ml_Ctx *cx = lo->cx;
    Handles handles = {.map = ml_map_new(cx)};
    ml_Signature sig;
    ml_FuncParam *params;
    ml_Func to = *f;

    if (!ml_signature_of(cx, f, &sig))
        return NULL;
    params = ML_ARRAY(cx, ml_FuncParam, (size_t)f->n_params + sig.n_sizes + 1);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        params[k] = (ml_FuncParam){b ? b->data : f->params[k].var, NULL};
        if (b && b->data->uid != f->params[k].var->uid)
            ml_map_set(cx, handles.map, f->params[k].var->uid, b);
    }
    for (uint32_t k = 0; k < sig.n_sizes; k++)
        params[f->n_params + k] = (ml_FuncParam){sig.sizes[k], NULL};
    ml_stmt_visit(f->body, handle_in_stmt, &handles);
    if (handles.used)
        return ml_lower_fail(lo, PASS, handles.where,
                             "parameter %s is used as a handle; use its buffer or its data "
                             "pointer",
                             handles.used->hint);
    to.params = params;
    to.n_params = f->n_params + sig.n_sizes;
    return ml_func_from(cx, &to);
}
