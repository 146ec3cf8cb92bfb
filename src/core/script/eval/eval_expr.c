/* eval_expr - expressions as the tree has them: literals, operators, conditions, lambdas.
 * Source: script 10.1 to 10.4. */
#include "moonloop/core/script/eval/eval.h"

const ml_Expr *ml_ev_expr(ml_Eval *ev, const ml_Node *nd)
{
    return ml_ev_to_expr(ev, ml_ev_value(ev, nd), nd->at);
}

static ml_Cv unary(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *sub = nd->kids[0];
    ml_Cv v;
    const ml_Expr *e;

    if (nd->op == ML_OPR_SUB && sub->kind == ML_N_INT &&
        !sub->big) { /* -2**63 is one literal */
        if (sub->as.i == (uint64_t)1 << 63)
            return ml_cv_int(INT64_MIN);
    }
    v = ml_ev_value(ev, sub);
    if (v.kind == ML_CV_POISON)
        return v;
    if (nd->op == ML_KW_NOT)
        return ml_ev_not(ev, v, nd->at);
    if (!ml_cv_is_ir(v) && v.kind != ML_CV_TUPLE) {
        if (v.kind == ML_CV_FLOAT && nd->op != ML_OPR_BITNOT)
            return nd->op == ML_OPR_SUB ? ml_cv_float(-v.as.f) : v;
        if (v.kind == ML_CV_INT || v.kind == ML_CV_BOOL) {
            v.kind = ML_CV_INT;
            return nd->op == ML_OPR_ADD ? v
                   : nd->op == ML_OPR_SUB
                       ? ml_ev_python_binary(ev, ML_OPR_SUB, ml_cv_int(0), v, nd->at)
                       : ml_ev_python_binary(ev, ML_OPR_SUB, ml_cv_int(-1), v, nd->at);
        }
        return ml_ev_fail(ev, E512, nd->at, "operator `%s` is not defined for %s",
                          ml_tok_op_text(nd->op), ml_cv_describe(ev, v));
    }
    e = ml_ev_to_expr(ev, v, sub->at);
    if (!e)
        return ml_cv_poison();
    if (!ml_ev_has_arith(e->type) ||
        (nd->op == ML_OPR_BITNOT ? ml_dtype_is_float(e->type) : ml_dtype_is_bool(e->type)))
        return ml_ev_fail(ev, E512, nd->at, "operator `%s` is not defined for %s",
                          ml_tok_op_text(nd->op), ml_cv_describe(ev, v));
    if (nd->op == ML_OPR_ADD)
        return ml_cv_expr(e);
    if (nd->op == ML_OPR_SUB)
        return ml_ev_checked(ev, ml_neg(ev->cx, e), nd->at);
    return ml_ev_checked(ev, ml_call_id(ev->cx, e->type, ML_OP_BITWISE_NOT, &e, 1), nd->at);
}

static ml_Cv comparison(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv left = ml_ev_value(ev, nd->kids[0]), all = ml_cv_bool(true);

    for (size_t k = 1; k < nd->n; k++) {
        ml_Cv right = ml_ev_value(ev, nd->kids[k]), one;
        ml_Place at = ml_place_join(nd->kids[k - 1]->at, nd->kids[k]->at);

        one = ml_ev_compare(ev, nd->as.ops[k - 1], left, right, at);
        if (k == 1)
            all = one;
        else if (!ml_cv_is_ir(all) && !ml_cv_is_ir(one) && all.kind == ML_CV_BOOL)
            all = all.as.i ? one : all;
        else
            all = ml_ev_logic(ev, ML_EXPR_AND, all, one, nd->at);
        left = right;
        if (all.kind == ML_CV_POISON)
            return all;
    }
    return all;
}

static ml_Cv logical(ml_Eval *ev, const ml_Node *nd)
{
    bool is_and = nd->op == ML_KW_AND;
    ml_Cv a = ml_ev_value(ev, nd->kids[0]), b;

    if (a.kind == ML_CV_POISON)
        return a;
    if (!ml_cv_is_ir(a) && ml_ev_truth(a) != is_and)
        return a;
    b = ml_ev_value(ev, nd->kids[1]);
    if (!ml_cv_is_ir(a) && (!ml_cv_is_ir(b) || a.kind == ML_CV_BOOL))
        return b;
    return ml_ev_logic(ev, is_and ? ML_EXPR_AND : ML_EXPR_OR, a, b, nd->at);
}

static ml_Cv conditional(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv c = ml_ev_value(ev, nd->kids[1]);
    const ml_Expr *cond, *t, *f;

    if (c.kind == ML_CV_POISON)
        return c;
    if (ml_ev_decides(c))
        return ml_ev_value(ev, nd->kids[ml_ev_truth(c) ? 0 : 2]);
    cond = ml_ev_to_expr(ev, c, nd->kids[1]->at);
    t = ml_ev_expr(ev, nd->kids[0]);
    f = ml_ev_expr(ev, nd->kids[2]);
    if (!cond || !t || !f)
        return ml_cv_poison();
    if (!ml_dtype_is_bool(cond->type) || cond->type.lanes != 1)
        return ml_ev_fail(ev, E511, nd->kids[1]->at,
                          "the condition must be a boolean, got %s",
                          ml_dtype_name(ev->cx, cond->type));
    if (!ml_ev_promote(ev, &t, &f))
        return ml_ev_fail(ev, E515, nd->at, "branches have types %s and %s",
                          ml_cv_describe(ev, ml_cv_expr(t)),
                          ml_cv_describe(ev, ml_cv_expr(f)));
    if (ml_is_const_int(cond))
        return ml_cv_expr(ml_is_true(cond) ? t : f);
    return ml_ev_checked(ev, ml_if_then_else(ev->cx, cond, t, f), nd->at);
}

static ml_Cv several(ml_Eval *ev, const ml_Node *nd, ml_CvKind kind)
{
    ML_VEC(ml_Cv) v = {0};

    for (size_t k = 0; k < nd->n; k++) {
        const ml_Node *sub = nd->kids[k];
        ml_Cv x;

        if (sub->kind == ML_N_STAR) {
            x = ml_ev_value(ev, sub->kids[0]);
            if (x.kind == ML_CV_POISON)
                return x;
            if (x.kind != ML_CV_TUPLE && x.kind != ML_CV_LIST)
                return ml_ev_fail(ev, E501, sub->at, "`*` needs a tuple or list, got %s",
                                  ml_cv_describe(ev, x));
            for (size_t j = 0; j < x.n; j++)
                ml_push(ev->sc, &v, x.as.list[j]);
            continue;
        }
        x = ml_ev_value(ev, sub);
        if (x.kind == ML_CV_POISON)
            return x;
        ml_push(ev->sc, &v, x);
    }
    return ml_cv_list(ev, kind, v.v, v.n);
}

static ml_Cv literal(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v;

    if (nd->big)
        return ml_ev_fail(ev, E112, nd->at, "the number does not fit 64 bits");
    v = ml_cv_int((int64_t)nd->as.i);
    v.big = nd->as.i > INT64_MAX;
    return v;
}

static ml_Cv node(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v;

    if (ev->steps++ > 4000000 + 64 * ev->lx->n || !ml_tick(ev->cx)) {
        if (ev->steps < 100000000)
            ml_report(ev->rep, ML_E_E114, nd->at, "too much compile-time work");
        ev->steps = 100000000;
        return ml_cv_poison();
    }
    switch ((ml_NodeKind)nd->kind) {
    case ML_N_NAME: return ml_ev_name(ev, nd->as.sym, nd->at);
    case ML_N_INT: return literal(ev, nd);
    case ML_N_FLOAT: return ml_cv_float(nd->as.f);
    case ML_N_STRING: return ml_cv_str(nd->as.s);
    case ML_N_CONST:
        return nd->op == ML_KW_NONE ? ml_cv(ML_CV_NONE) : ml_cv_bool(nd->op == ML_KW_TRUE);
    case ML_N_TUPLE: return several(ev, nd, ML_CV_TUPLE);
    case ML_N_LIST: return several(ev, nd, ML_CV_LIST);
    case ML_N_DICT: return several(ev, nd, ML_CV_DICT);
    case ML_N_ATTR: return ml_ev_attribute(ev, nd);
    case ML_N_CALL: return ml_ev_call(ev, nd);
    case ML_N_SUB: return ml_ev_subscript(ev, nd);
    case ML_N_UNARY: return unary(ev, nd);
    case ML_N_BIN:
        if (nd->op == ML_KW_AND || nd->op == ML_KW_OR)
            return logical(ev, nd);
        v = ml_ev_value(ev, nd->kids[0]);
        return ml_ev_binary(ev, nd->op, v, ml_ev_value(ev, nd->kids[1]), nd->at);
    case ML_N_CMP: return comparison(ev, nd);
    case ML_N_COND: return conditional(ev, nd);
    case ML_N_LAMBDA: return ml_ev_lambda(ev, nd);
    case ML_N_SLICE:
        return ml_ev_fail(ev, E100, nd->at, "a slice may only stand in an index");
    case ML_N_STAR: return ml_ev_fail(ev, E100, nd->at, "`*` may only stand in a list");
    case ML_N_COMP: return ml_ev_comprehension(ev, nd);
    case ML_N_FSTRING: return ml_ev_fstring(ev, nd);
    case ML_N_FIELD:
    case ML_N_EXPR_STMT:
    case ML_N_ASSIGN:
    case ML_N_AUG:
    case ML_N_ANN:
    case ML_N_ASSERT:
    case ML_N_RETURN:
    case ML_N_PASS:
    case ML_N_BREAK:
    case ML_N_CONTINUE:
    case ML_N_FOR:
    case ML_N_WHILE:
    case ML_N_IF:
    case ML_N_WITH:
    case ML_N_FUNC:
    case ML_N_CLASS:
    case ML_N_IMPORT:
    case ML_N_SUITE:
    case ML_N_BAD:
    case ML_N_SKIPPED: break;
    }
    return ml_cv_poison();
}

/* Keeps where v was read. */
static ml_Cv keep(ml_Eval *ev, const ml_Node *nd, ml_Cv v)
{
    ml_ExprPlace p = {.line = nd->at.line,
                      .col = nd->at.col,
                      .end_line = nd->at.end_line,
                      .end_col = nd->at.end_col};

    switch (v.kind) {
    case ML_CV_EXPR: p.expr = v.as.e; break;
    case ML_CV_INT: p.number = v.big ? (double)(uint64_t)v.as.i : (double)v.as.i; break;
    case ML_CV_FLOAT: p.number = v.as.f; break;
    default: return v;
    }
    ml_push(ev->sc, &ev->read, p);
    return v;
}

ml_Cv ml_ev_raw(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v = node(ev, nd);

    if (v.kind == ML_CV_POISON && ev->fn && ev->rep->n_errors == 0 && ev->lost.line == 0)
        ev->lost = nd->at;
    return keep(ev, nd, v);
}

ml_Cv ml_ev_value(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v = ml_ev_raw(ev, nd);

    return v.kind == ML_CV_CELL ? keep(ev, nd, ml_ev_load_cell(ev, v)) : v;
}

ml_Cv ml_ev_apply(ml_Eval *ev, const ml_Node *lambda, const ml_Cv *args, size_t n,
                  ml_Place at)
{
    uint32_t saved;
    size_t bound = ev->bound.n;
    ml_Cv v;

    if (n != lambda->n_keys)
        return ml_ev_fail(ev, E414, at, "the lambda takes %u arguments, got %zu",
                          (unsigned)lambda->n_keys, n);
    if (ev->depth >= 100)
        return ml_ev_fail(ev, E109, at, "calls of lambdas are nested deeper than 100");
    ev->depth++;
    saved = ml_ev_push_scope(ev);
    for (size_t k = 0; k < n; k++)
        ml_ev_define(ev, lambda->keys[k], args[k], lambda->key_at[k]);
    v = ml_ev_value(ev, lambda->kids[0]);
    ml_ev_pop_scope(ev, saved, bound);
    ev->depth--;
    return v;
}

/* The rule of loops, slices and axes (script 7): exact where that is syntactic. */
const ml_Expr *ml_ev_difference(ml_Eval *ev, const ml_Expr *a, const ml_Expr *b)
{
    if (ml_is_int(a, 0))
        return b;
    if (ml_is_const_int(a) && ml_is_const_int(b))
        return ml_sub(ev->cx, b, a);
    if (b->kind == ML_EXPR_ADD && b->args[0] == a)
        return b->args[1];
    return ml_simplify(ev->ar, ml_sub(ev->cx, b, a));
}
