/* eval_stmt - statements: stores, bindings, conditions, assertions, attributes.
 * Source: script 9. */
#include "moonloop/core/script/eval/eval.h"

/* ---- statement lists */
ml_Frame *ml_ev_open(ml_Eval *ev, ml_FrameKind kind, ml_Place at)
{
    ml_Frame *f = ML_NEW(ev->sc, ml_Frame);

    f->up = ev->frame;
    f->kind = (uint8_t)kind;
    f->at = at;
    f->blk = ev->blk;
    ev->frame = f;
    return f;
}

const ml_Stmt *ml_ev_close(ml_Eval *ev)
{
    ml_Frame *f = ev->frame;
    ML_VEC(const ml_Stmt *) rev = {0};
    const ml_Stmt *body;

    for (size_t k = f->items.n; k-- > 0;) {
        ml_Item it = f->items.v[k];

        if (it.wrap) {
            ml_Attr a = *it.wrap;

            for (size_t i = 0, j = rev.n; i + 1 < j; i++) { /* back into reading order */
                const ml_Stmt *t = rev.v[i];

                rev.v[i] = rev.v[--j];
                rev.v[j] = t;
            }
            a.body = ml_seq(ev->cx, rev.v, rev.n);
            rev.n = 0;
            it.s = ml_attr_from(ev->cx, &a);
        }
        ml_push(ev->sc, &rev, it.s);
    }
    for (size_t i = 0, j = rev.n; i + 1 < j; i++) {
        const ml_Stmt *t = rev.v[i];

        rev.v[i] = rev.v[--j];
        rev.v[j] = t;
    }
    body = ml_seq(ev->cx, rev.v, rev.n);
    ev->frame = f->up;
    return body;
}

static bool within(const ml_ExprPlace *p, const ml_Place *part)
{
    return (p->line > part->line || (p->line == part->line && p->col >= part->col)) &&
           (p->end_line < part->end_line ||
            (p->end_line == part->end_line && p->end_col <= part->end_col));
}

const ml_Span *ml_ev_span(ml_Eval *ev, ml_Place at, const ml_Place *part)
{
    ml_Span *s = ML_NEW(ev->cx, ml_Span);
    ml_ExprSpans *x;
    ml_ExprPlace *v;

    *s = *ml_place_span(ev->rep, at);
    if (ev->read.n == ev->read_from)
        return s;
    x = ML_NEW(ev->cx, ml_ExprSpans);
    x->v = v = ML_ARRAY(ev->cx, ml_ExprPlace, ev->read.n - ev->read_from);
    for (size_t k = ev->read_from; k < ev->read.n; k++)
        if (!part || within(&ev->read.v[k], part))
            v[x->n++] = ev->read.v[k];
    s->exprs = x;
    return s;
}

enum { MAX_DEPTH = 400 };

void ml_ev_emit(ml_Eval *ev, const ml_Stmt *s, ml_Place at)
{
    ml_Item it = {s, NULL};

    if (s->depth > MAX_DEPTH) {
        ml_report(ev->rep, ML_E_E109, at, "statements are nested deeper than %d",
                  ML_MAX_BLOCKS);
        return;
    }
    if (!s->span)
        it.s = ml_stmt_at(ev->cx, s, ml_ev_span(ev, at, NULL));
    ml_push(ev->sc, &ev->frame->items, it);
}

void ml_ev_wrap(ml_Eval *ev, const ml_Attr *attr, ml_Place at)
{
    ml_Attr *copy = ML_NEW(ev->sc, ml_Attr);
    ml_Item it = {NULL, copy};

    *copy = *attr;
    copy->base.span = ml_ev_span(ev, at, NULL);
    if (++ev->frame->n_wraps > ML_MAX_BLOCKS) {
        if (ev->frame->n_wraps == ML_MAX_BLOCKS + 1)
            ml_report(ev->rep, ML_E_E109, at, "statements are nested deeper than %d",
                      ML_MAX_BLOCKS);
        return;
    }
    ml_push(ev->sc, &ev->frame->items, it);
}

void ml_ev_remember(ml_Eval *ev, const ml_Var *v, ml_Place at)
{
    ml_Place *p = ML_NEW(ev->sc, ml_Place);

    *p = at;
    if (ev->fn)
        ml_map_set(ev->sc, ev->fn->places, v->uid, p);
}

/* ---- other statements */
static const ml_Expr *condition(ml_Eval *ev, ml_Cv v, ml_Place at)
{
    const ml_Expr *e = ml_ev_to_expr(ev, v, at);

    if (!e)
        return NULL;
    if (e->type.lanes == 1 && ml_dtype_is_int(e->type)) {
        ml_report(ev->rep, ML_E_W511, at, "an integer condition is read as `!= 0`");
        return ml_raw_binary(ev->cx, ML_EXPR_NE, e, ml_int(ev->cx, e->type, 0));
    }
    if (!ml_dtype_is_bool(e->type) || e->type.lanes != 1)
        return ml_ev_nothing(ev, E511, at, "the condition must be a boolean, got %s",
                             ml_dtype_name(ev->cx, e->type));
    return e;
}

static const ml_Stmt *branch(ml_Eval *ev, const ml_Node *suite, ml_Place at)
{
    uint32_t saved = ml_ev_push_scope(ev);
    size_t bound = ev->bound.n;
    const ml_Stmt *s;

    ml_ev_open(ev, ML_FRAME_IF, at);
    ml_ev_suite(ev, suite);
    s = ml_ev_close(ev);
    ml_ev_pop_scope(ev, saved, bound);
    return s;
}

static void if_stmt(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv c = ml_ev_value(ev, nd->kids[0]);
    const ml_Expr *e;
    const ml_Stmt *then, *other;

    if (ml_ev_decides(c)) { /* compile-time */
        const ml_Node *taken = ml_ev_truth(c) ? nd->body : nd->other;
        uint32_t saved = ev->scope;
        size_t bound = ev->bound.n;

        if (!taken)
            return;
        if (!ev->fn->newest)
            saved = ml_ev_push_scope(ev);
        ml_ev_suite(ev, taken);
        if (!ev->fn->newest)
            ml_ev_pop_scope(ev, saved, bound);
        return;
    }
    e = c.kind == ML_CV_POISON ? NULL : condition(ev, c, nd->kids[0]->at);
    then = branch(ev, nd->body, nd->at);
    other = nd->other ? branch(ev, nd->other, nd->at) : NULL;
    if (e)
        ml_ev_emit(ev, ml_if(ev->cx, e, then, other), nd->at);
}

static void while_stmt(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv c = ml_ev_value(ev, nd->kids[0]);
    const ml_Expr *e = c.kind == ML_CV_POISON ? NULL : condition(ev, c, nd->kids[0]->at);
    uint32_t saved = ml_ev_push_scope(ev);
    size_t bound = ev->bound.n;
    const ml_Stmt *body;

    ml_ev_open(ev, ML_FRAME_WHILE, nd->at);
    ev->n_loops++;
    ml_ev_suite(ev, nd->body);
    ev->n_loops--;
    body = ml_ev_close(ev);
    ml_ev_pop_scope(ev, saved, bound);
    if (e)
        ml_ev_emit(ev, ml_while(ev->cx, e, body), nd->at);
}

void ml_ev_assert(ml_Eval *ev, ml_Cv c, ml_Place c_at, ml_Cv msg, ml_Place msg_at,
                  ml_Place at)
{
    const ml_Expr *e = c.kind == ML_CV_POISON ? NULL : condition(ev, c, c_at);
    ml_Assert a = {.error = "RuntimeError"};
    const char **parts;
    ml_Cv list = msg;

    if (!e || msg.kind == ML_CV_POISON)
        return;
    if (msg.kind == ML_CV_TUPLE && msg.n == 2 && msg.as.list[0].kind == ML_CV_STRING) {
        a.error = ml_strdup(ev->cx, msg.as.list[0].as.s);
        list = msg.as.list[1];
    }
    if (list.kind == ML_CV_STRING)
        list = ml_cv_list(ev, ML_CV_LIST, &list, 1);
    if ((list.kind != ML_CV_LIST && list.kind != ML_CV_TUPLE) || list.n == 0) {
        ml_report(ev->rep, ML_E_E415, msg_at,
                  "the message is a string, or (\"Kind\", [\"part\", ...])");
        return;
    }
    parts = ML_ARRAY(ev->cx, const char *, list.n);
    for (size_t k = 0; k < list.n; k++) {
        if (list.as.list[k].kind != ML_CV_STRING) {
            ml_report(ev->rep, ML_E_E415, msg_at, "the parts of a message are strings");
            return;
        }
        parts[k] = ml_strdup(ev->cx, list.as.list[k].as.s);
    }
    a.cond = e;
    a.n_parts = list.n;
    a.parts = parts;
    ml_ev_emit(ev, ml_assert_from(ev->cx, &a), at);
}

void ml_ev_return(ml_Eval *ev, const ml_Expr *e, ml_Place at)
{
    if (e && ev->fn->ret.code != ML_VOID && !ml_dtype_eq(e->type, ev->fn->ret))
        ml_report(ev->rep, ML_E_E703, at, "returning %s from a function that returns %s",
                  ml_dtype_name(ev->cx, e->type), ml_dtype_name(ev->cx, ev->fn->ret));
    ml_ev_emit(ev, ml_return(ev->cx, e), at);
}

static void evaluate(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *e = nd->kids[0];
    ml_Cv v;
    const ml_Expr *x;

    if (e->kind == ML_N_STRING)
        return;
    ev->stmt = e;
    v = ml_ev_raw(ev, e);
    ev->stmt = NULL;
    switch (v.kind) {
    case ML_CV_POISON:
    case ML_CV_DONE:
    case ML_CV_SCOPE:
    case ML_CV_STRING:
    case ML_CV_NONE: return;
    case ML_CV_BUFFER:
        if (e->kind == ML_N_CALL)
            return; /* a bare T.match_buffer(...), T.alloc_buffer(...) */
        break;
    case ML_CV_SPEC:
        if (v.as.spec->data) {
            ml_ev_declare(ev, v.as.spec, "buffer");
            return;
        }
        break;
    case ML_CV_TUPLE:
        if (e->kind == ML_N_CALL)
            return; /* T.axis.remap without names */
        break;
    case ML_CV_CELL:
    case ML_CV_BOOL:
    case ML_CV_INT:
    case ML_CV_EXPR:
        x = ml_ev_to_expr(ev, v, e->at);
        if (!x)
            return;
        if (x->kind == ML_EXPR_VAR && (e->kind == ML_N_CALL || ev->fn->newest))
            return;
        ml_ev_emit(ev, ml_evaluate(ev->cx, x), nd->at);
        return;
    default: break;
    }
    ml_report(ev->rep, ML_E_E202, e->at, "a %s is not a statement", ml_cv_describe(ev, v));
}

static void with_item(ml_Eval *ev, const ml_Node *nd, size_t k);

static void with_rest(ml_Eval *ev, const ml_Node *nd, size_t k)
{
    if (k + 2 < nd->n)
        with_item(ev, nd, k + 2);
    else
        ml_ev_suite(ev, nd->body);
}

static void with_item(ml_Eval *ev, const ml_Node *nd, size_t k)
{
    const ml_Node *item = nd->kids[k], *as = nd->kids[k + 1];
    uint32_t saved;
    size_t bound = ev->bound.n;
    ml_Frame *f;
    ml_Cv v;
    const ml_Stmt *body;

    saved = ml_ev_push_scope(ev);
    f = ml_ev_open(ev, ML_FRAME_WITH, nd->at);
    ev->with = item;
    ev->target = as;
    ev->rhs = item;
    v = ml_ev_value(ev, item);
    ev->with = ev->target = ev->rhs = NULL;
    if (v.kind == ML_CV_BLOCK || v.kind == ML_CV_INIT) {
        if (as && !v.self)
            ml_report(ev->rep, ML_E_E608, as->at, "%s has no value to name",
                      v.kind == ML_CV_BLOCK ? "a block" : "T.init()");
        ev->frame = f->up;
        ml_ev_pop_scope(ev, saved, bound);
        if (k + 2 < nd->n) {
            ml_report(ev->rep, ML_E_E201, item->at,
                      "a block stands alone in its `with`; write the others as statements");
            return;
        }
        if (v.kind == ML_CV_BLOCK)
            ml_ev_with_block(ev, nd, v);
        else
            ml_ev_with_init(ev, nd, nd->at);
        return;
    }
    if (v.kind != ML_CV_SCOPE && v.kind != ML_CV_POISON && v.kind != ML_CV_DONE)
        ml_report(ev->rep, ML_E_E201, item->at, "a %s cannot stand in a `with`",
                  ml_cv_describe(ev, v));
    if (as) {
        if (v.kind == ML_CV_SCOPE && v.n && as->kind == ML_N_NAME)
            ml_ev_define(ev, as->as.sym, v.as.list[0], as->at);
        else
            ml_ev_poison_targets(ev, as);
    }
    with_rest(ev, nd, k);
    body = ml_ev_close(ev);
    ml_ev_pop_scope(ev, saved, bound);
    ml_ev_emit(ev, body, nd->at);
}

static void statement(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v, m;
    const ml_Expr *e;

    switch ((ml_NodeKind)nd->kind) {
    case ML_N_EXPR_STMT: evaluate(ev, nd); break;
    case ML_N_ASSIGN: ml_ev_assignment(ev, nd); break;
    case ML_N_AUG: ml_ev_augmented(ev, nd); break;
    case ML_N_ANN: ml_ev_annotated(ev, nd); break;
    case ML_N_ASSERT:
        v = ml_ev_value(ev, nd->kids[0]);
        m = ml_ev_value(ev, nd->kids[1]);
        ml_ev_assert(ev, v, nd->kids[0]->at, m, nd->kids[1]->at, nd->at);
        break;
    case ML_N_RETURN:
        if (ev->expanding) {
            ml_report(ev->rep, ML_E_E202, nd->at, "a macro gives no value");
            break;
        }
        if (!nd->kids[0]) {
            ml_ev_return(ev, NULL, nd->at);
            break;
        }
        v = ml_ev_value(ev, nd->kids[0]);
        e = v.kind == ML_CV_NONE ? NULL : ml_ev_to_expr(ev, v, nd->kids[0]->at);
        if (e || v.kind == ML_CV_NONE)
            ml_ev_return(ev, e, nd->at);
        break;
    case ML_N_PASS: break;
    case ML_N_BREAK:
    case ML_N_CONTINUE:
        if (ev->n_loops == 0)
            ml_report(ev->rep, ML_E_E611, nd->at, "`%s` outside a loop",
                      nd->kind == ML_N_BREAK ? "break" : "continue");
        else
            ml_ev_emit(ev, nd->kind == ML_N_BREAK ? ml_break(ev->cx) : ml_continue(ev->cx),
                       nd->at);
        break;
    case ML_N_FOR: ml_ev_for(ev, nd); break;
    case ML_N_WHILE: while_stmt(ev, nd); break;
    case ML_N_IF: if_stmt(ev, nd); break;
    case ML_N_WITH: with_item(ev, nd, 0); break;
    case ML_N_FUNC:
        if (ml_ev_is_macro(nd))
            ml_ev_macro_define(ev, nd);
        else
            ml_report(ev->rep, ML_E_E108, nd->name_at,
                      "a function inside a function is a macro: write @T.macro above it");
        break;
    case ML_N_CLASS:
        ml_report(ev->rep, ML_E_E108, nd->name_at,
                  "`class` is not supported in script functions");
        break;
    case ML_N_IMPORT:
        ml_report(ev->rep, ML_E_E108, nd->at,
                  "`import` is not supported in script functions");
        break;
    case ML_N_SUITE: ml_ev_suite(ev, nd); break;
    case ML_N_BAD:
        for (size_t k = 0; k < nd->n; k++)
            ml_ev_poison_targets(ev, nd->kids[k]);
        break;
    case ML_N_NAME:
    case ML_N_INT:
    case ML_N_FLOAT:
    case ML_N_STRING:
    case ML_N_CONST:
    case ML_N_TUPLE:
    case ML_N_LIST:
    case ML_N_DICT:
    case ML_N_ATTR:
    case ML_N_CALL:
    case ML_N_SUB:
    case ML_N_SLICE:
    case ML_N_UNARY:
    case ML_N_BIN:
    case ML_N_CMP:
    case ML_N_COND:
    case ML_N_LAMBDA:
    case ML_N_STAR:
    case ML_N_COMP:
    case ML_N_FSTRING:
    case ML_N_FIELD:
    case ML_N_SKIPPED: break;
    }
}

void ml_ev_suite(ml_Eval *ev, const ml_Node *suite)
{
    ev->nest++;
    for (size_t k = 0; suite && k < suite->n && !ml_report_full(ev->rep); k++) {
        const ml_Node *nd = suite->kids[k];
        size_t outer = ev->read_from, n_items = ev->frame->items.n;

        ev->read_from = ev->read.n;
        statement(ev, nd);
        /* What made no statement belongs to the block or loop around: its axes, regions. */
        if (ev->frame->items.n > n_items)
            ev->read.n = ev->read_from;
        ev->read_from = outer;
        ev->target = ev->rhs = ev->stmt = ev->with = NULL;
        if (ml_ctx_overflowed(ev->cx))
            ml_report(ev->rep, ML_E_W112, nd->at, "integer arithmetic here wraps around");
        if (ml_ctx_too_deep(ev->cx))
            ml_report(ev->rep, ML_E_E109, nd->at, "this is nested too deeply");
        ml_ctx_clear_marks(ev->cx);
    }
    ev->nest--;
}
