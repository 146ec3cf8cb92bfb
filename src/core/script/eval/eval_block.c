/* eval_block - blocks: header, axes, predicate, regions, annotations, init. Source:
 * script 8. */
#include "moonloop/core/script/eval/eval.h"

ml_BlockB *ml_ev_block_top(ml_Eval *ev, const char *what, ml_Place at)
{
    static const char *const INSIDE[] = {"the function", "a loop", "a loop",  "an `if`",
                                         "the block",    "T.init", "a `with`"};
    ml_Frame *f = ev->frame, *in = NULL;
    ml_Diag *d;

    if (f && f->kind == ML_FRAME_BLOCK)
        return f->blk;
    for (; f && f->kind != ML_FRAME_BLOCK; f = f->up)
        if (f->kind != ML_FRAME_FUNC)
            in = in ? in : f;
    if (!f || !in)
        return ml_ev_nothing(ev, E602, at, "%s must be inside a block", what);
    d = ml_report(ev->rep, ML_E_E603, at,
                  "%s must be at the top level of block \"%s\", not inside %s", what,
                  f->blk->name, INSIDE[in->kind]);
    ml_report_note(ev->rep, d, in->at,
                   in->kind == ML_FRAME_FOR || in->kind == ML_FRAME_WHILE ? "the loop"
                                                                          : "opened here");
    return NULL;
}

static ml_Cv block(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"name", "no_realize", "*exec_scope", NULL};
    ml_Arg *s[3];
    ml_Cv v = ml_cv(ML_CV_BLOCK);
    ml_Args rest = *a;

    v.as.s = (ml_Str){"", 0};
    if (ev->with != a->call)
        return ml_ev_fail(ev, E201, a->call->at, "%s must stand in a `with` statement",
                          a->name);
    if (a->n_pos && (a->v[0].v.kind == ML_CV_LIST || a->v[0].v.kind == ML_CV_TUPLE)) {
        ml_Cv *axes = ML_NEW(ev->sc, ml_Cv);

        if (!ev->opts->archaic) {
            ml_Diag *d = ml_report(ev->rep, ML_E_E419, a->v[0].at,
                                   "axes in the header of a block are the form of 2020");

            ml_report_help(ev->rep, d,
                           "read the text with {archaic = true}, or write T.axis");
            return ml_cv_poison();
        }
        *axes = a->v[0].v;
        v.self = axes;
        rest.v++;
        rest.n--;
        rest.n_pos--;
        a = &rest;
    }
    if (!ml_ev_slots(ev, a, NAMES, s) ||
        (s[0] && !ml_ev_arg_string(ev, a, s[0], "the name", &v.as.s)))
        return ml_cv_poison();
    if (s[1] && ml_ev_truth(s[1]->v))
        return ml_ev_fail(ev, E419, a->call->at,
                          "no_realize is for fragments; a function holds realized blocks");
    return v;
}

static ml_Cv init(ml_Eval *ev, ml_Args *a)
{
    if (ev->with != a->call)
        return ml_ev_fail(ev, E201, a->call->at, "%s must stand in a `with` statement",
                          a->name);
    return ml_ev_no_more(ev, a, 0) ? ml_cv(ML_CV_INIT) : ml_cv_poison();
}

void ml_ev_with_init(ml_Eval *ev, const ml_Node *nd, ml_Place at)
{
    ml_BlockB *b = ml_ev_block_top(ev, "T.init", at);
    uint32_t saved;
    size_t bound = ev->bound.n;
    const ml_Stmt *body;

    saved = ml_ev_push_scope(ev);
    ml_ev_open(ev, ML_FRAME_INIT, at);
    ml_ev_suite(ev, nd->body);
    body = ml_ev_close(ev);
    ml_ev_pop_scope(ev, saved, bound);
    if (!b)
        return;
    if (b->init_at.line) {
        ml_Diag *d =
            ml_report(ev->rep, ML_E_E607, at, "block \"%s\" already has an init", b->name);

        ml_report_note(ev->rep, d, b->init_at, "first here");
        return;
    }
    b->init = body;
    b->init_at = at;
}

static void report_uses(ml_Eval *ev, ml_BlockB *b)
{
    for (size_t k = 0; k < b->uses.n; k++) {
        ml_Use u = b->uses.v[k];

        if (b->iters.n) {
            ml_Diag *d;

            if (!ev->fn->check)
                continue;
            d = ml_report(ev->rep, ML_E_E701, u.at,
                          "block \"%s\" uses loop variable `%s`; bind it to an axis",
                          b->name, u.binding->sym->name.p);
            ml_report_note(ev->rep, d, u.binding->at, "the loop");
        } else if (b->up && b->up != u.binding->blk) {
            ml_push(ev->sc, &b->up->uses, u);
        }
    }
}

void ml_ev_with_block(ml_Eval *ev, const ml_Node *nd, ml_Cv header)
{
    ml_BlockB *b = ML_NEW(ev->sc, ml_BlockB), *ctx = ev->blk_ctx;
    ml_BlockNote *note = ML_NEW(ev->sc, ml_BlockNote);
    uint32_t saved;
    size_t bound = ev->bound.n, n_loops = ev->loops.n;
    ml_Block out = {0};
    const ml_Stmt *s;
    bool loops;

    b->up = ev->blk;
    b->at = nd->at;
    b->name = ml_strdup(ev->cx, header.as.s);
    if (ev->suffix && b->name[0])
        b->name = ml_format(ev->cx, "%s%s", b->name, ev->suffix);
    b->predicate = ml_bool(ev->cx, true);
    saved = ml_ev_push_scope(ev);
    ev->blk = ev->blk_ctx = b;
    ml_ev_open(ev, ML_FRAME_BLOCK, nd->at);
    if (header.self)
        ml_ev_header_axes(ev, b, header.self, nd->kids[nd->n - 1]);
    ml_ev_suite(ev, nd->body);
    loops = ml_ev_header_close(ev, b);
    out.body = ml_ev_close(ev);
    ev->blk = b->up;
    ev->blk_ctx = ctx;
    ml_ev_pop_scope(ev, saved, bound);
    ev->loops.n = n_loops;
    report_uses(ev, b);

    out.base.span = ml_ev_span(ev, nd->at, NULL);
    out.tag = ml_fresh_uid(ev->cx);
    out.name = b->name;
    out.predicate = b->predicate;
    out.n_iters = (uint32_t)b->iters.n;
    out.iters = b->iters.v;
    out.n_reads = (uint32_t)b->reads.n;
    out.reads = b->reads.v;
    out.n_writes = (uint32_t)b->writes.n;
    out.writes = b->writes.v;
    out.n_allocs = (uint32_t)b->allocs.n;
    out.allocs = b->allocs.v;
    out.n_matches = (uint32_t)b->matches.n;
    out.matches = b->matches.v;
    out.annotations = ml_dict_count(b->annotations) ? b->annotations : NULL;
    out.init = b->init;
    note->no_reads = b->reads_at.line == 0;
    note->no_writes = b->writes_at.line == 0;
    note->at = nd->at;
    ml_map_set(ev->sc, ev->fn->notes, out.tag, note);
    s = ml_block_from(ev->cx, &out);
    ml_ev_emit(ev, loops ? ml_ev_header_loops(ev, b, s) : s, nd->at);
}

/* ---- axes */
static ml_Cv add_iter(ml_Eval *ev, ml_BlockB *b, ml_IterKind kind, const char *hint,
                      const ml_Expr *min, const ml_Expr *extent, const ml_Expr *value,
                      ml_Place at)
{
    ml_Iter it = {.min = min, .extent = extent, .value = value, .kind = (uint8_t)kind};

    it.var = ml_var_new(ev->cx, hint, extent->type);
    ml_ev_remember(ev, it.var, at);
    it.span = ml_place_span(ev->rep, at);
    ml_push(ev->cx, &b->iters, it);
    return ml_cv_expr(ml_var(ev->cx, it.var));
}

/* Bindings belong to what is around the block. */
static ml_Cv outside_value(ml_Eval *ev, const ml_Node *nd)
{
    ml_BlockB *ctx = ev->blk_ctx;
    ml_Cv v;

    ev->blk_ctx = ev->blk ? ev->blk->up : NULL;
    v = ml_ev_value(ev, nd);
    ev->blk_ctx = ctx;
    return v;
}

static bool is_signed(const ml_Expr *e)
{
    return e->type.code == ML_INT && e->type.lanes == 1;
}

static ml_Cv axis(ml_Eval *ev, ml_Args *a)
{
    ml_BlockB *b = ml_ev_block_top(ev, a->name, a->call->at);
    ml_Arg *key = ml_ev_keyword(a, "dtype"), *dom_key = ml_ev_keyword(a, "dom"),
           *bind_key = ml_ev_keyword(a, "binding");
    const ml_Node *dom_node, *value_node;
    const ml_Expr *min, *extent, *value;
    ml_Dtype t = ML_DT_I32;
    uint8_t said;
    ml_Cv dom, v, out;
    ml_Place value_at;

    if (!b || !ml_ev_no_more(ev, a, 2))
        return ml_cv_poison();
    dom_node = a->n_pos > 0 ? a->v[0].node : dom_key ? dom_key->node : NULL;
    value_node = a->n_pos > 1 ? a->v[1].node : bind_key ? bind_key->node : NULL;
    if (!dom_node)
        return ml_ev_fail(ev, E414, a->call->at, "%s needs a domain and a binding value",
                          a->name);
    dom = outside_value(ev, dom_node);
    if (!value_node)
        return ml_ev_fail(ev, E410, a->call->at, "missing the binding value");
    v = outside_value(ev, value_node);
    value_at = value_node->at;
    if (key && !ml_ev_dtype(ev, key->v, key->at, &t))
        return ml_cv_poison();
    if (dom.kind == ML_CV_POISON || v.kind == ML_CV_POISON)
        return ml_cv_poison();
    if ((dom.kind == ML_CV_TUPLE || dom.kind == ML_CV_LIST || dom.kind == ML_CV_RANGE) &&
        dom.n == 2) {
        const ml_Expr *hi;

        min = ml_ev_to_int(ev, dom.as.list[0], dom_node->at, "axis domain");
        hi = min ? ml_ev_to_int(ev, dom.as.list[1], dom_node->at, "axis domain") : NULL;
        if (!min || !hi || !ml_ev_promote(ev, &min, &hi))
            return ml_cv_poison();
        extent = ml_ev_difference(ev, min, hi);
    } else {
        extent = ml_ev_to_int(ev, dom, dom_node->at, "axis domain");
        if (!extent)
            return ml_cv_poison();
        min = ml_int(ev->cx, extent->type, 0);
    }
    if (v.kind == ML_CV_FLOAT)
        return ml_ev_fail(ev, E501, value_at, "binding must be an integer, got float32");
    value = ml_ev_to_int(ev, v, value_at, "binding");
    if (!value)
        return ml_cv_poison();
    if (!is_signed(extent) || !is_signed(value))
        return ml_ev_fail(ev, E501, a->call->at,
                          "domain and binding must be signed integers");
    if (key && t.code == ML_INT && t.bits > extent->type.bits) {
        min = ml_cast(ev->cx, t, min);
        extent = ml_cast(ev->cx, t, extent);
    }
    said = ml_is_const_int(value) ? value->type.bits : 0;
    if (!ml_dtype_eq(value->type, extent->type)) {
        if (value->type.bits < extent->type.bits ||
            (ml_is_const_int(value) && ml_dtype_fits(extent->type, value->as.i))) {
            value = ml_cast(ev->cx, extent->type, value);
        } else { /* an int64 binding makes the axis int64 */
            min = ml_cast(ev->cx, value->type, min);
            extent = ml_cast(ev->cx, value->type, extent);
        }
    }
    out = add_iter(ev, b, (ml_IterKind)a->fn->arg, ml_ev_hint(ev, a->call, 0, "v"), min,
                   extent, value,
                   ev->target && ev->rhs == a->call ? ev->target->at : a->call->at);
    b->iters.v[b->iters.n - 1].said_bits = said;
    return out;
}

static ml_Cv remap(ml_Eval *ev, ml_Args *a)
{
    ml_BlockB *b = ml_ev_block_top(ev, "T.axis.remap", a->call->at);
    ML_VEC(ml_Cv) values = {0};
    ML_VEC(ml_Place) at = {0};
    ML_VEC(ml_Cv) out = {0};
    const ml_Node *list;
    ml_Cv kinds;
    ml_BlockB *ctx = ev->blk_ctx;
    bool ok = true;

    if (!b)
        return ml_cv_poison();
    ml_ev_keyword(a, "dtype");
    if (a->n_pos != 2 || !ml_ev_no_more(ev, a, 2))
        return ml_ev_fail(ev, E414, a->call->at, "T.axis.remap takes kinds and bindings");
    kinds = ml_ev_value(ev, a->v[0].node);
    if (kinds.kind != ML_CV_STRING)
        return kinds.kind == ML_CV_POISON
                   ? kinds
                   : ml_ev_fail(ev, E415, a->v[0].at, "the kinds must be a string, got %s",
                                ml_cv_describe(ev, kinds));
    for (size_t k = 0; k < kinds.as.s.n; k++) {
        char c = kinds.as.s.p[k];

        if (c != 'S' && c != 'R') {
            ml_Place p = a->v[0].at;

            if (p.line == p.end_line && a->v[0].node->kind == ML_N_STRING) {
                p.col += 1 + (uint32_t)k;
                p.end_col = p.col + 1;
            }
            return ml_ev_fail(ev, E408, p, "unknown axis kind `%c`; expected S or R", c);
        }
    }
    list = a->v[1].node;
    ev->blk_ctx = b->up;
    if (list->kind == ML_N_LIST || list->kind == ML_N_TUPLE) {
        for (size_t k = 0; k < list->n && ok; k++) {
            const ml_Node *one = list->kids[k];
            ml_Cv v = ml_ev_value(ev, one->kind == ML_N_STAR ? one->kids[0] : one);

            ok = v.kind != ML_CV_POISON;
            if (ok && v.kind == ML_CV_TUPLE) {
                for (size_t j = 0; j < v.n; j++) {
                    ml_push(ev->sc, &values, v.as.list[j]);
                    ml_push(ev->sc, &at, one->at);
                }
            } else if (ok) {
                ml_push(ev->sc, &values, v);
                ml_push(ev->sc, &at, one->at);
            }
        }
    } else {
        ml_Cv v = ml_ev_value(ev, list);

        ok = v.kind != ML_CV_POISON;
        for (size_t k = 0;
             ok && k < (v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST ? v.n : 1); k++) {
            ml_push(ev->sc, &values,
                    v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST ? v.as.list[k] : v);
            ml_push(ev->sc, &at, list->at);
        }
    }
    ev->blk_ctx = ctx;
    if (!ok)
        return ml_cv_poison();
    if (values.n != kinds.as.s.n)
        return ml_ev_fail(ev, E408, a->call->at, "%zu kind%s for %zu binding%s",
                          kinds.as.s.n, kinds.as.s.n == 1 ? "" : "s", values.n,
                          values.n == 1 ? "" : "s");
    for (size_t k = 0; k < values.n; k++) {
        const ml_LoopInfo *loop = NULL;
        ml_Cv v = values.v[k];

        if (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_VAR)
            for (size_t j = ev->loops.n; j-- > 0 && !loop;)
                if (ev->loops.v[j].var == v.as.e->as.var)
                    loop = &ev->loops.v[j];
        if (!loop) {
            ml_Text t = {0};
            const char *z;

            if (v.kind == ML_CV_EXPR)
                ml_print_expr(ev->cx, &t, v.as.e, NULL);
            z = t.n ? ml_strdup(ev->cx, (ml_Str){t.p, t.n}) : "...";
            ml_text_free(&t);
            return ml_ev_fail(ev, E409, at.v[k],
                              "remap takes loop variables; use `T.axis.%s(extent, %s)`",
                              kinds.as.s.p[k] == 'S' ? "spatial" : "reduce", z);
        }
        if (loop->var->type.code != ML_INT)
            return ml_ev_fail(ev, E501, at.v[k],
                              "a block iterator must be a signed integer");
        v = add_iter(ev, b, kinds.as.s.p[k] == 'S' ? ML_ITER_SPATIAL : ML_ITER_REDUCE,
                     ml_ev_hint(ev, a->call, k, "v"), loop->min, loop->extent,
                     ml_var(ev->cx, loop->var), a->call->at);
        ml_push(ev->sc, &out, v);
    }
    return out.n == 1 ? out.v[0] : ml_cv_list(ev, ML_CV_TUPLE, out.v, out.n);
}

const ml_Builtin ml_ev_axis_table[] = {
    {"spatial", axis, ML_ITER_SPATIAL, true},
    {"S", axis, ML_ITER_SPATIAL, true},
    {"reduce", axis, ML_ITER_REDUCE, true},
    {"R", axis, ML_ITER_REDUCE, true},
    {"scan", axis, ML_ITER_ORDERED, true},
    {"opaque", axis, ML_ITER_OPAQUE, true},
    {"remap", remap, 0, true},
    {NULL, NULL, 0, false},
};

/* ---- the rest of the signature */
static bool repeated(ml_Eval *ev, ml_Place first, ml_Place at, const char *what,
                     ml_BlockB *b)
{
    ml_Diag *d;

    if (first.line == 0)
        return false;
    d = ml_report(ev->rep, ML_E_E607, at, "%s of block \"%s\" already given", what,
                  b->name);
    ml_report_note(ev->rep, d, first, "first given here");
    return true;
}

static ml_Cv where(ml_Eval *ev, ml_Args *a)
{
    ml_BlockB *b = ml_ev_block_top(ev, "T.where", a->call->at);
    const ml_Expr *e;
    ml_Cv v;

    if (!b || a->n_pos != 1)
        return b ? ml_ev_fail(ev, E414, a->call->at, "T.where takes 1 argument")
                 : ml_cv_poison();
    if (repeated(ev, b->where_at, a->call->at, "predicate", b))
        return ml_cv_poison();
    b->where_at = a->call->at;
    v = outside_value(ev, a->v[0].node);
    if (v.kind == ML_CV_INT && (v.as.i == 0 || v.as.i == 1))
        v = ml_cv_bool(v.as.i);
    e = ml_ev_to_expr(ev, v, a->v[0].at);
    if (!e)
        return ml_cv_poison();
    if (!ml_dtype_is_bool(e->type) || e->type.lanes != 1)
        return ml_ev_fail(ev, E511, a->v[0].at, "the predicate must be a boolean, got %s",
                          ml_cv_describe(ev, v));
    b->predicate = e;
    return ml_cv(ML_CV_DONE);
}

static ml_Cv regions(ml_Eval *ev, ml_Args *a)
{
    bool writes = a->fn->arg == 1, ok = true;
    ml_BlockB *b = ml_ev_block_top(ev, writes ? "T.writes" : "T.reads", a->call->at);
    ML_VEC(const ml_Node *) nodes = {0};

    if (!b ||
        repeated(ev, writes ? b->writes_at : b->reads_at, a->call->at,
                 writes ? "writes" : "reads", b) ||
        !ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (writes)
        b->writes_at = a->call->at;
    else
        b->reads_at = a->call->at;
    for (size_t k = 0; k < a->n; k++) {
        const ml_Node *nd = a->v[k].node;

        if (a->n == 1 && (nd->kind == ML_N_LIST || nd->kind == ML_N_TUPLE))
            for (size_t j = 0; j < nd->n; j++)
                ml_push(ev->sc, &nodes, nd->kids[j]);
        else
            ml_push(ev->sc, &nodes, nd);
    }
    for (size_t k = 0; k < nodes.n; k++) {
        ml_Region r;

        if (!ml_ev_region(ev, nodes.v[k], &r, writes ? "T.writes" : "T.reads")) {
            ok = false;
            continue;
        }
        if (writes)
            ml_push(ev->cx, &b->writes, r);
        else
            ml_push(ev->cx, &b->reads, r);
    }
    return ok ? ml_cv(ML_CV_DONE) : ml_cv_poison();
}

static const ml_Value *merge(ml_Eval *ev, const ml_Value *old, const ml_Value *add,
                             ml_Place at)
{
    for (uint32_t k = 0; add && k < add->n; k++) {
        const ml_Value *have = ml_dict_get(old, add->keys[k]), *v = add->as.list[k];

        if (have && have->kind == ML_VAL_DICT && v->kind == ML_VAL_DICT) {
            v = merge(ev, have, v, at);
        } else if (have && !ml_value_eq(have, v)) {
            ml_Text t = {0};

            ml_print_value(ev->cx, &t, have, NULL);
            ml_report(ev->rep, ML_E_E609, at, "annotation `%s` already is %s", add->keys[k],
                      ml_text_z(&t));
            ml_text_free(&t);
            continue;
        }
        old = ml_dict_with(ev->cx, old, add->keys[k], v);
    }
    return old;
}

static ml_Cv block_attr(ml_Eval *ev, ml_Args *a)
{
    ml_Frame *f = ev->frame;
    ml_BlockB *b;
    const ml_Value *v;

    while (f && (f->kind == ML_FRAME_FOR || f->kind == ML_FRAME_WITH) && f->up)
        f = f->up;
    if (f && f->kind == ML_FRAME_BLOCK && f != ev->frame) {
        ml_report(ev->rep, ML_E_W603, a->call->at,
                  "%s inside a loop annotates block \"%s\"", a->name, f->blk->name);
        b = f->blk;
    } else {
        b = ml_ev_block_top(ev, a->name, a->call->at);
    }
    if (!b)
        return ml_cv_poison();
    if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
        return ml_ev_fail(ev, E414, a->call->at, "%s takes a dict", a->name);
    if (a->v[0].v.kind != ML_CV_DICT)
        return ml_ev_fail(ev, E415, a->v[0].at, "%s takes a dict, got %s", a->name,
                          ml_cv_describe(ev, a->v[0].v));
    v = ml_ev_to_value(ev, a->v[0].v, a->v[0].at);
    if (!v)
        return ml_cv_poison();
    b->annotations = merge(ev, b->annotations, v, a->call->at);
    return ml_cv(ML_CV_DONE);
}

const ml_Builtin ml_ev_block_table[] = {
    {"block", block, 0, false},
    {"sblock", block, 0, false},
    {"init", init, 0, false},
    {"where", where, 0, true},
    {"reads", regions, 0, true},
    {"writes", regions, 1, true},
    {"block_attr", block_attr, 0, false},
    {"sblock_attr", block_attr, 0, false},
    {NULL, NULL, 0, false},
};
