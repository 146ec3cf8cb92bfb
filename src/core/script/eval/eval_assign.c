/* eval_assign - assignments: bindings, scalar cells, stores, tuples of targets.
 * Source: script 4, 9. */
#include "moonloop/core/script/eval/eval.h"

static ml_Cv named_var(ml_Eval *ev, const ml_Node *t, ml_Cv fresh)
{
    ml_Sym *sym = t->as.sym;
    const ml_Var *v;

    if (sym->top && sym->top->scope == ev->scope && sym->top->val.kind == ML_CV_EXPR &&
        sym->top->val.as.e->kind == ML_EXPR_VAR && !sym->top->loop &&
        sym->top->at.line != t->at.line && fresh.dt.code != ML_HANDLE) {
        const ml_Var *old = sym->top->val.as.e->as.var; /* made by a quoted dimension */

        if (ml_dtype_eq(old->type, fresh.dt))
            return sym->top->val;
        return ml_ev_fail(ev, E310, t->at, "`%s` is already a variable of dtype %s",
                          sym->name.p, ml_dtype_name(ev->cx, old->type));
    }
    if (fresh.dt.code == ML_HANDLE && fresh.scope)
        v = ml_var_new_handle(ev->cx, sym->name.p, fresh.elem, fresh.scope);
    else
        v = fresh.big ? ml_var_new_size(ev->cx, sym->name.p, fresh.dt)
                      : ml_var_new(ev->cx, sym->name.p, fresh.dt);
    ml_ev_remember(ev, v, t->at);
    return ml_cv_expr(ml_var(ev->cx, v));
}

/* Whether the call is one of the reader's functions: T.f(...), or f(...) in old texts. */
static bool calls_reader(const ml_Eval *ev, const ml_Node *call)
{
    const ml_Node *fn = call->kids[0];

    return fn->kind == ML_N_ATTR ||
           (ev->opts->archaic && fn->kind == ML_N_NAME && !fn->as.sym->top);
}

/* type: what the text says of the name, or NULL. */
static void bind_value(ml_Eval *ev, const ml_Node *t, const ml_Expr *e, const ml_Cv *type,
                       ml_Place at)
{
    const ml_Var *v;

    if (type && type->scope && e->type.code == ML_HANDLE)
        v = ml_var_new_handle(ev->cx, t->as.sym->name.p, type->elem, type->scope);
    else if (e->type.code == ML_HANDLE && e->kind == ML_EXPR_VAR)
        v = ml_var_new_handle(ev->cx, t->as.sym->name.p, e->as.var->elem,
                              e->as.var->scope ? e->as.var->scope : "global");
    else
        v = ml_var_new(ev->cx, t->as.sym->name.p, e->type);
    if (!(type && type->scope) && e->type.code == ML_HANDLE &&
        (e->kind != ML_EXPR_VAR || !e->as.var->scope))
        v = ml_var_new(ev->cx, t->as.sym->name.p, e->type);
    ml_ev_remember(ev, v, t->at);
    ml_ev_emit(ev, ml_bind(ev->cx, v, e), at);
    ml_ev_define(ev, t->as.sym, ml_cv_expr(ml_var(ev->cx, v)), t->at);
}

static void store_at(ml_Eval *ev, const ml_Buffer *b, const ml_ExprVec *idx,
                     const ml_Expr *value, ml_Cv given, ml_Place value_at, ml_Place at)
{
    unsigned lanes = b->type.lanes * (idx->n ? idx->v[idx->n - 1]->type.lanes : 1u);

    if (value->type.lanes != lanes) {
        ml_report(ev->rep, ML_E_E504, at, "storing %u lane%s into %u",
                  (unsigned)value->type.lanes, value->type.lanes == 1 ? "" : "s", lanes);
        return;
    }
    if (ml_dtype_is_float(value->type) &&
        (ml_dtype_is_int(b->type) || ml_dtype_is_bool(b->type)))
        ml_report(ev->rep, ML_E_W504, value_at, "storing %s into `%s`, which holds %s",
                  ml_cv_describe(ev, ml_cv_expr(value)), b->name,
                  ml_dtype_name(ev->cx, b->type));
    if ((given.kind == ML_CV_INT || given.kind == ML_CV_FLOAT ||
         given.kind == ML_CV_BOOL) &&
        b->type.code != ML_HANDLE)
        value = ml_ev_const(ev, b->type, given, value_at);
    else
        value = ml_ev_cast(ev, ml_dtype_lanes(b->type, lanes), value, value_at);
    if (value && !ml_ev_too_deep(ev, value, value_at))
        ml_ev_emit(ev, ml_store(ev->cx, b, value, idx->v, idx->n, NULL), at);
}

static void store_cell(ml_Eval *ev, const ml_Buffer *b, ml_Cv v, ml_Place value_at,
                       ml_Place at)
{
    const ml_Expr *e = ml_ev_to_expr(ev, v, value_at);
    ml_ExprVec idx = {0};

    ml_push(ev->cx, &idx, ml_i32(ev->cx, 0));
    if (e)
        store_at(ev, b, &idx, e, v, value_at, at);
}

/* A new mutable scalar (newest spelling). */
static const ml_Buffer *new_cell(ml_Eval *ev, const ml_Node *t, ml_Dtype type, ml_Place at)
{
    const ml_Expr *one = ml_i32(ev->cx, 1);
    ml_Buffer b = *ml_buffer_new(ev->cx, t->as.sym->name.p, type, &one, 1, "local");
    const ml_Buffer *cell;
    ml_Cv v;

    b.is_scalar = true;
    b.span = ml_place_span(ev->rep, t->at);
    cell = ml_buffer_from(ev->cx, &b, false);
    ml_ev_emit(ev, ml_alloc_stmt(ev->cx, cell, NULL), at);
    v = ml_cv(ML_CV_CELL);
    v.as.b = cell;
    ml_ev_define(ev, t->as.sym, v, t->at);
    return cell;
}

static bool holds_one(ml_Cv v)
{
    return v.kind == ML_CV_CELL ||
           (v.kind == ML_CV_BUFFER && v.as.b->rank == 1 && ml_is_int(v.as.b->shape[0], 1));
}

static void assign_name(ml_Eval *ev, const ml_Node *t, ml_Cv v, ml_Place value_at,
                        ml_Place at)
{
    const ml_Expr *e;
    ml_Binding *old = t->as.sym->top;

    switch (v.kind) {
    case ML_CV_POISON: break;
    case ML_CV_META: v = v.as.list[0]; break;
    case ML_CV_FRESH: v = named_var(ev, t, v); break;
    case ML_CV_SCOPE: v = v.n ? v.as.list[0] : ml_cv_poison(); break;
    case ML_CV_SPEC:
        v = v.as.spec->data
                ? ml_ev_declare(ev, v.as.spec, t->as.sym->name.p)
                : ml_ev_fail(ev, E417, value_at, "T.Buffer in a body needs data=");
        break;
    case ML_CV_DONE:
    case ML_CV_LOOP:
    case ML_CV_BLOCK:
    case ML_CV_INIT:
    case ML_CV_NS:
    case ML_CV_FN:
        ml_report(ev->rep, ML_E_E202, value_at, "a %s is not a value",
                  ml_cv_describe(ev, v));
        v = ml_cv_poison();
        break;
    case ML_CV_BOOL:
    case ML_CV_INT:
    case ML_CV_FLOAT:
    case ML_CV_STRING:
    case ML_CV_EXPR:
        if (!ev->frame)
            break;
        if (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_VAR && ev->rhs &&
            ev->rhs->kind == ML_N_CALL && calls_reader(ev, ev->rhs) && ev->stmt == ev->rhs)
            break; /* an axis, a bound name: defined by the call itself */
        if (ev->fn && ev->fn->newest && old && holds_one(old->val)) {
            store_cell(ev, old->val.as.b, v, value_at, at);
            return;
        }
        e = ml_ev_to_expr(ev, v, value_at);
        if (!e) {
            v = ml_cv_poison();
            break;
        }
        if (!ev->fn->newest || e->type.code == ML_HANDLE || e->type.code == ML_VOID) {
            if (old && old->scope == ev->scope && old->val.kind != ML_CV_POISON)
                break; /* E310 below */
            bind_value(ev, t, e, NULL, at);
            return;
        }
        if (old && old->scope == ev->scope && old->val.kind != ML_CV_POISON)
            break;
        store_cell(ev, new_cell(ev, t, e->type, at), v, value_at, at);
        return;
    default: break;
    }
    ml_ev_define(ev, t->as.sym, v, t->at);
}

void ml_ev_poison_targets(ml_Eval *ev, const ml_Node *t)
{
    if (t->kind == ML_N_STAR)
        t = t->kids[0];
    if (t->kind == ML_N_NAME && (!t->as.sym->top || t->as.sym->top->scope != ev->scope))
        ml_ev_bind(ev, t->as.sym, ml_cv_poison(), t->at);
    else if (t->kind == ML_N_TUPLE || t->kind == ML_N_LIST)
        for (size_t k = 0; k < t->n; k++)
            ml_ev_poison_targets(ev, t->kids[k]);
}

static bool no_twice(ml_Eval *ev, const ml_Node *t)
{
    for (size_t k = 0; k < t->n && t->n < 300; k++)
        for (size_t j = 0; j < k; j++)
            if (t->kids[k]->kind == ML_N_NAME && t->kids[j]->kind == ML_N_NAME &&
                t->kids[k]->as.sym == t->kids[j]->as.sym)
                return ml_ev_reject(ev, E311, t->kids[k]->at,
                                    "name `%s` appears twice in one target",
                                    t->kids[k]->as.sym->name.p);
    return true;
}

static void assign(ml_Eval *ev, const ml_Node *t, ml_Cv v, ml_Place value_at, ml_Place at)
{
    if (t->kind == ML_N_NAME) {
        assign_name(ev, t, v, value_at, at);
    } else if (t->kind == ML_N_SUB) {
        ml_Cv base = ml_ev_raw(ev, t->kids[0]);
        ml_ExprVec idx = {0};
        const ml_Expr *e;

        if (base.kind == ML_CV_POISON || v.kind == ML_CV_POISON)
            return;
        if (base.kind != ML_CV_BUFFER && base.kind != ML_CV_CELL) {
            ml_report(ev->rep, ML_E_E512, t->at, "cannot store into a %s",
                      ml_cv_describe(ev, base));
            return;
        }
        if (ml_ev_indices(ev, base.as.b, t, true, &idx) &&
            (e = ml_ev_to_expr(ev, v, value_at)))
            store_at(ev, base.as.b, &idx, e, v, value_at, at);
    } else if (t->kind == ML_N_TUPLE || t->kind == ML_N_LIST) {
        bool meta = v.kind == ML_CV_META;
        size_t stars = 0;

        if (!no_twice(ev, t)) {
            ml_ev_poison_targets(ev, t);
            return;
        }
        if (meta)
            v = v.as.list[0];
        if (v.kind == ML_CV_POISON) {
            ml_ev_poison_targets(ev, t);
            return;
        }
        for (size_t k = 0; k < t->n; k++)
            stars += t->kids[k]->kind == ML_N_STAR;
        if ((v.kind != ML_CV_TUPLE && v.kind != ML_CV_LIST) ||
            (stars ? stars > 1 || t->n - 1 > v.n : t->n != v.n)) {
            if (v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST)
                ml_report(ev->rep, ML_E_E402, t->at, "%u targets for %u values",
                          (unsigned)t->n, (unsigned)v.n);
            else
                ml_report(ev->rep, ML_E_E402, t->at, "%u targets for one %s",
                          (unsigned)t->n, ml_cv_describe(ev, v));
            ml_ev_poison_targets(ev, t);
            return;
        }
        for (size_t k = 0, j = 0; k < t->n; k++) {
            ml_Cv one;

            if (t->kids[k]->kind == ML_N_STAR) {
                size_t many = v.n - (t->n - 1);

                one = ml_cv_list(ev, ML_CV_LIST, v.as.list + j, many);
                j += many;
                assign(ev, t->kids[k]->kids[0], one, value_at, at);
                continue;
            }
            one = v.as.list[j++];
            if (meta)
                one = ml_cv_list(ev, ML_CV_META, &one, 1);
            assign(ev, t->kids[k], one, value_at, at);
        }
    } else if (t->kind != ML_N_BAD) {
        ml_report(ev->rep, ML_E_E203, t->at,
                  t->kind == ML_N_ATTR ? "assigning to a member is not supported"
                                       : "cannot assign to this expression");
    }
}

void ml_ev_assignment(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *value = nd->kids[nd->n - 1], *t = nd->kids[0];
    ml_Cv v;

    if (nd->n > 2) {
        ml_report(ev->rep, ML_E_E203, nd->at, "chained assignment is not supported");
        for (size_t k = 0; k + 1 < nd->n; k++)
            ml_ev_poison_targets(ev, nd->kids[k]);
        return;
    }
    ev->target = t;
    ev->rhs = value;
    ev->stmt = NULL;
    v = ml_ev_value(ev, value);
    /* what an axis or a bind gives is a name for a variable made by the call */
    if (value->kind == ML_N_CALL &&
        (v.kind == ML_CV_TUPLE ||
         (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_VAR &&
          ml_map_has(ev->fn ? ev->fn->places : NULL, v.as.e->as.var->uid) &&
          calls_reader(ev, value))))
        v = ml_cv_list(ev, ML_CV_META, &v, 1);
    assign(ev, t, v, value->at, nd->at);
    ev->target = ev->rhs = NULL;
}

void ml_ev_annotated(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *t = nd->kids[0], *value = nd->kids[2];
    ml_Cv type, v;
    const ml_Expr *e;

    if (t->kind != ML_N_NAME) {
        ml_report(ev->rep, ML_E_E203, t->at, "only a name can have a type");
        return;
    }
    type = ml_ev_raw(ev, nd->kids[1]);
    ev->target = t;
    ev->rhs = value;
    v = value ? ml_ev_value(ev, value) : ml_cv(ML_CV_NONE);
    ev->target = ev->rhs = NULL;
    if (type.kind == ML_CV_POISON || v.kind == ML_CV_POISON) {
        ml_ev_poison_targets(ev, t);
        return;
    }
    if (!ev->frame) { /* a constant of the file: the type is not looked at */
        ml_ev_define(ev, t->as.sym, v, t->at);
        return;
    }
    if (type.kind == ML_CV_ARRAY) {
        ml_Spec s = {.at = nd->at};
        ml_ExprVec shape = {0};

        for (size_t k = 0; k < type.n; k++) {
            e = ml_ev_to_int(ev, type.as.list[k], nd->kids[1]->at, "buffer extent");
            if (!e)
                return;
            ml_push(ev->cx, &shape, e);
        }
        if (value) {
            ml_report(ev->rep, ML_E_E202, value->at, "a local array has no initial value");
            return;
        }
        s.b.type = type.dt;
        s.b.scope = ml_scope("local");
        s.b.shape = shape.v;
        s.b.rank = (uint16_t)shape.n;
        ml_ev_define(ev, t->as.sym, ml_ev_declare(ev, &s, t->as.sym->name.p), t->at);
        return;
    }
    if (type.kind != ML_CV_DTYPE && type.kind != ML_CV_LET && type.kind != ML_CV_FRESH) {
        ml_report(ev->rep, ML_E_E516, nd->kids[1]->at, "expected a dtype, got %s",
                  ml_cv_describe(ev, type));
        ml_ev_poison_targets(ev, t);
        return;
    }
    if (!value) {
        if (type.kind != ML_CV_LET && ev->fn->newest)
            new_cell(ev, t, type.dt, nd->at);
        else
            ml_report(ev->rep, ML_E_E414, nd->at, "`%s` needs a value", t->as.sym->name.p);
        return;
    }
    if (type.kind == ML_CV_LET && !type.big) {
        e = ml_ev_to_expr(ev, v, value->at);
    } else if (v.kind == ML_CV_BOOL || v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT) {
        e = ml_ev_const(ev, type.dt, v, value->at);
    } else {
        e = ml_ev_to_expr(ev, v, value->at);
        if (e && !ml_dtype_eq(e->type, type.dt)) {
            ml_report(ev->rep, ML_E_E515, value->at, "`%s` is declared %s, its value is %s",
                      t->as.sym->name.p, ml_dtype_name(ev->cx, type.dt),
                      ml_cv_describe(ev, v));
            e = NULL;
        }
    }
    if (!e) {
        ml_ev_poison_targets(ev, t);
        return;
    }
    if (ev->fn->newest && type.kind != ML_CV_LET && e->type.code != ML_HANDLE) {
        ml_Binding *old = t->as.sym->top;

        if (old && old->scope == ev->scope && old->val.kind != ML_CV_POISON) {
            ml_ev_define(ev, t->as.sym, ml_cv_expr(e), t->at);
            return;
        }
        store_cell(ev, new_cell(ev, t, e->type, nd->at), ml_cv_expr(e), value->at, nd->at);
        return;
    }
    bind_value(ev, t, e, &type, nd->at);
}

void ml_ev_augmented(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *t = nd->kids[0];
    ml_Cv base, v;
    ml_ExprVec idx = {0};
    const ml_Expr *e;

    if (t->kind != ML_N_NAME && t->kind != ML_N_SUB) {
        ml_report(ev->rep, ML_E_E203, t->at, "cannot assign to this expression");
        return;
    }
    base = ml_ev_raw(ev, t->kind == ML_N_SUB ? t->kids[0] : t);
    v = ml_ev_value(ev, nd->kids[1]);
    if (base.kind == ML_CV_POISON || v.kind == ML_CV_POISON)
        return;
    if (base.kind != ML_CV_CELL && (t->kind == ML_N_NAME || base.kind != ML_CV_BUFFER)) {
        if (t->kind == ML_N_NAME) {
            ml_Diag *d =
                ml_report(ev->rep, ML_E_E310, t->at,
                          "`%s` is bound once and cannot be changed", t->as.sym->name.p);

            ml_report_help(ev->rep, d, "keep the value in a buffer, or use another name");
        } else {
            ml_report(ev->rep, ML_E_E512, t->at, "cannot store into a %s",
                      ml_cv_describe(ev, base));
        }
        return;
    }
    if (t->kind == ML_N_NAME)
        ml_push(ev->cx, &idx, ml_i32(ev->cx, 0));
    else if (!ml_ev_indices(ev, base.as.b, t, true, &idx))
        return;
    v = ml_ev_binary(ev, nd->op, ml_cv_expr(ml_load(ev->cx, base.as.b, idx.v, idx.n)), v,
                     nd->at);
    if (v.kind != ML_CV_POISON && (e = ml_ev_to_expr(ev, v, nd->at)))
        store_at(ev, base.as.b, &idx, e, v, nd->kids[1]->at, nd->at);
}
