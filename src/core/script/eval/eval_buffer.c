/* eval_buffer - constructors of buffers: parameters, allocations, aliases, matches.
 * Source: script 6.1, 8.5. */
#include "moonloop/core/script/eval/eval.h"

const ml_Buffer *ml_ev_make_buffer(ml_Eval *ev, ml_Spec *s, const char *name,
                                   const ml_Var *data)
{
    ml_Buffer b = s->b;
    ml_Dtype index = b.rank ? b.shape[0]->type : ML_DT_I32;

    b.name = ml_strdup(ev->cx, ml_str(name));
    b.says_offset = s->has_offset && ml_is_int(b.elem_offset, 0);
    b.span = ml_place_span(ev->rep, s->at);
    if (s->is_auto && !s->has_strides && b.rank) {
        s->stride_names = ML_ARRAY(ev->cx, const char *, b.rank);
        b.strides = ML_ARRAY(ev->cx, const ml_Expr *, b.rank);
        b.n_strides = b.rank;
        for (size_t k = 0; k < b.rank; k++)
            s->stride_names[k] = ml_format(ev->cx, "%s_s%zu", name, k);
    }
    if (b.n_strides) {
        const ml_Expr **strides = ML_ARRAY(ev->cx, const ml_Expr *, b.n_strides);

        for (size_t k = 0; k < b.n_strides; k++) {
            const char *hint = s->stride_names ? s->stride_names[k] : NULL;

            strides[k] =
                hint ? ml_var(ev->cx, ml_var_new(ev->cx, hint, index)) : b.strides[k];
        }
        b.strides = strides;
    }
    if (!s->has_offset)
        b.elem_offset = s->has_factor
                            ? ml_var(ev->cx, ml_var_new(ev->cx, "elem_offset", index))
                            : ml_int(ev->cx, index, 0);
    b.data = data;
    if (data && data->scope)
        b.scope = ml_scope(data->scope);
    return ml_buffer_from(ev->cx, &b, data == NULL);
}

/* The statement that defines the buffer: an alias with data, an allocation without. */
void ml_ev_no_annotations(ml_Eval *ev, const ml_Spec *s)
{
    if (s->annotations)
        ml_report(ev->rep, ML_E_W401, s->at,
                  "annotations are ignored: only an allocation statement has them");
}

ml_Cv ml_ev_declare(ml_Eval *ev, ml_Spec *s, const char *name)
{
    const ml_Buffer *b;

    if (!ev->frame)
        return ml_ev_fail(ev, E602, s->at,
                          "a buffer can only be declared in a function's body");
    b = ml_ev_make_buffer(ev, s, name,
                          s->data && s->data->kind == ML_EXPR_VAR ? s->data->as.var : NULL);
    if (s->data)
        ml_ev_no_annotations(ev, s);
    ml_ev_emit(ev,
               s->data ? ml_decl_stmt(ev->cx, b, s->data)
                       : ml_alloc_stmt(ev->cx, b, s->annotations),
               s->at);
    return ml_cv_buffer(b);
}

static ml_Cv owned(ml_Eval *ev, ml_Args *a, ml_Spec *s)
{
    const ml_Buffer *b;

    if (s->data)
        return ml_ev_fail(ev, E417, a->call->at, "%s makes its own data; use T.decl_buffer",
                          a->name);
    ml_ev_no_annotations(ev, s);
    b = ml_ev_make_buffer(ev, s, ml_ev_hint(ev, a->call, 0, "buffer"), NULL);
    if (ev->blk)
        ml_push(ev->cx, &ev->blk->allocs, b);
    else
        ml_push(ev->cx, &ev->fn->allocs, b);
    return ml_cv_buffer(b);
}

/* arg: 0 alloc_buffer, 1 sblock_alloc_buffer, 2 decl_buffer, 3 alloc_local, 4 alloc_shared;
 * what is a statement may also stand in a `with`.
 */
static ml_Cv allocate(ml_Eval *ev, ml_Args *a)
{
    ml_Spec s;
    ml_Cv v;

    if (!ev->frame)
        return ml_ev_fail(ev, E602, a->call->at, "%s must be inside a function", a->name);
    if (!ml_ev_spec(ev, a, 0, true, &s))
        return ml_cv_poison();
    if (a->fn->arg == 1 || (a->fn->arg == 0 && !ev->fn->newest))
        return owned(ev, a, &s);
    if (a->fn->arg >= 3) {
        if (s.has_scope)
            return ml_ev_fail(ev, E417, a->call->at, "%s has its own scope", a->name);
        s.b.scope = ml_scope(a->fn->arg == 3 ? "local" : "shared");
    }
    if (a->fn->arg != 2 && s.data)
        return ml_ev_fail(ev, E417, a->call->at, "%s makes its own data; use T.decl_buffer",
                          a->name);
    v = ml_ev_declare(ev, &s, ml_ev_hint(ev, a->call, 0, "buffer"));
    return ev->with == a->call && v.kind == ML_CV_BUFFER
               ? ml_cv_list(ev, ML_CV_SCOPE, &v, 1)
               : v;
}

static ml_Cv buffer_type(ml_Eval *ev, ml_Args *a)
{
    ml_Spec *s = ML_NEW(ev->sc, ml_Spec);
    ml_Cv v = ml_cv(ML_CV_SPEC);

    if (!ml_ev_spec(ev, a, 0, true, s))
        return ml_cv_poison();
    v.as.spec = s;
    return v;
}

/* T.Buffer[shape, dtype], T.Ptr[...] in an annotation. */
ml_Cv ml_ev_buffer_subscript(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv fn = ml_ev_raw(ev, nd->kids[0]), v = ml_cv(ML_CV_SPEC);
    ML_VEC(ml_Cv) items = {0};
    ml_ExprVec shape = {0};
    ml_Spec *s = ML_NEW(ev->sc, ml_Spec);
    ml_Cv dims;

    for (size_t k = 1; k < nd->n; k++) {
        ml_Cv x =
            nd->kids[k]->kind == ML_N_SLICE
                ? ml_ev_fail(ev, E501, nd->kids[k]->at, "an extent must be an integer")
                : ml_ev_value(ev, nd->kids[k]);

        if (x.kind == ML_CV_POISON)
            return x;
        ml_push(ev->sc, &items, x);
    }
    ML_ASSERT(items.n > 0); /* `[]` is no expression */
    if (ml_streq(fn.as.builtin->name, "Ptr")) {
        v = ml_cv(ML_CV_FRESH);
        v.dt = ML_DT_HANDLE;
        if (!ml_ev_dtype(ev, items.v[0], nd->at, &v.elem))
            return ml_cv_poison();
        if (v.elem.code != ML_VOID)
            v.scope = items.n > 1 && items.v[1].kind == ML_CV_STRING && items.v[1].as.s.n
                          ? ml_strdup(ev->cx, items.v[1].as.s)
                          : "global";
        return v;
    }
    if (!ml_streq(fn.as.builtin->name, "Buffer"))
        return ml_ev_fail(ev, E512, nd->at, "function cannot be subscripted");
    s->b.type = ML_DT_F32;
    s->at = nd->at;
    s->has_shape = true;
    if (items.n == 2 &&
        (items.v[1].kind == ML_CV_STRING || items.v[1].kind == ML_CV_DTYPE)) {
        if (!ml_ev_dtype(ev, items.v[1], nd->kids[2]->at, &s->b.type))
            return ml_cv_poison();
        dims = items.v[0];
    } else {
        dims = items.n == 1 && !nd->big ? items.v[0]
                                        : ml_cv_list(ev, ML_CV_TUPLE, items.v, items.n);
    }
    if (!ml_ev_shape(ev, dims, nd->at, ev->fn && !ev->frame, &shape))
        return ml_cv_poison();
    s->b.shape = shape.v;
    s->b.rank = (uint16_t)shape.n;
    v.as.spec = s;
    return v;
}

/* ---- match_buffer */
static ml_Cv match_param(ml_Eval *ev, ml_Args *a, ml_Cv param)
{
    const ml_Var *v = param.as.e->as.var;
    const ml_Buffer *b, *old;
    ml_Spec s;
    size_t at = 0;

    while (at < ev->fn->params.n && ev->fn->params.v[at].var != v)
        at++;
    if (at == ev->fn->params.n || v->type.code != ML_HANDLE)
        return ml_ev_fail(ev, E407, a->v[0].at,
                          "match_buffer needs a parameter or a region first; got %s",
                          at == ev->fn->params.n ? "another variable"
                                                 : ml_dtype_name(ev->cx, v->type));
    if (ev->frame->kind != ML_FRAME_FUNC)
        return ml_ev_fail(
            ev, E604, a->call->at,
            "parameters can only be matched at the top level of the function");
    old = ev->fn->params.v[at].buffer;
    if (old)
        return ml_ev_fail(ev, E605, a->call->at,
                          "parameter `%s` is already matched to `%s`", v->hint, old->name);
    for (size_t k = 1; k < a->n; k++)
        if (a->v[k].v.kind == ML_CV_POISON)
            return ml_cv_poison();
    if (!ml_ev_spec(ev, a, 1, false, &s))
        return ml_cv_poison();
    ml_ev_no_annotations(ev, &s);
    if (!s.has_shape)
        return ml_ev_fail(ev, E407, a->call->at,
                          "match_buffer of a parameter needs a shape");
    if (v->scope && !s.has_scope)
        s.b.scope = ml_scope(v->scope);
    b = ml_ev_make_buffer(ev, &s, ml_ev_hint(ev, a->call, 0, "buffer"), NULL);
    ev->fn->params.v[at].buffer = b;
    return ml_cv_buffer(b);
}

static ml_Cv match_region(ml_Eval *ev, ml_Args *a)
{
    ml_BlockB *blk = ml_ev_block_top(ev, "T.match_buffer of a region", a->call->at);
    ml_Region r;
    ml_Match m;
    ml_Spec s;
    ml_Buffer copy;
    size_t extra, rank;

    if (!blk || !ml_ev_region(ev, a->v[0].node, &r, "T.match_buffer") ||
        !ml_ev_spec(ev, a, 1, false, &s))
        return ml_cv_poison();
    ml_ev_no_annotations(ev, &s);
    rank = r.buffer->rank;
    if (!s.has_shape) {
        const ml_Expr **shape = ML_ARRAY(ev->cx, const ml_Expr *, rank + 1);

        for (size_t k = 0; k < rank; k++)
            shape[k] = r.ranges[k].extent;
        s.b.shape = shape;
        s.b.rank = (uint16_t)rank;
    }
    if (!s.has_dtype)
        s.b.type = r.buffer->type;
    if (!s.has_scope)
        s.b.scope = r.buffer->scope;
    if (!s.has_align && r.buffer->align < 64)
        s.b.align = r.buffer->align;
    if (!ml_dtype_eq(s.b.type, r.buffer->type))
        return ml_ev_fail(ev, E502, a->call->at, "the region holds %s, the buffer %s",
                          ml_dtype_name(ev->cx, r.buffer->type),
                          ml_dtype_name(ev->cx, s.b.type));
    if (!ml_scope_eq(s.b.scope, r.buffer->scope))
        return ml_ev_fail(ev, E502, a->call->at,
                          "the region is in scope %s, the buffer in %s",
                          r.buffer->scope.name, s.b.scope.name);
    if (r.buffer->align % (s.b.align ? s.b.align : 64) != 0)
        return ml_ev_fail(ev, E502, a->call->at,
                          "the alignment %u of the buffer does not divide that of `%s`, %u",
                          (unsigned)(s.b.align ? s.b.align : 64), r.buffer->name,
                          (unsigned)r.buffer->align);
    if (s.b.n_strides && s.b.n_strides != s.b.rank)
        return ml_ev_fail(ev, E417, a->call->at, "%u strides for %u dimensions",
                          (unsigned)s.b.n_strides, (unsigned)s.b.rank);
    if (rank < s.b.rank)
        return ml_ev_fail(ev, E502, a->call->at,
                          "the region has %zu dimensions, the buffer %u", rank,
                          (unsigned)s.b.rank);
    extra = rank - s.b.rank;
    for (size_t k = 0; k < rank; k++) {
        const ml_Expr *e = r.ranges[k].extent,
                      *want = k < extra ? NULL : s.b.shape[k - extra];
        ml_Text t = {0}, u = {0};
        const char *have, *need;

        if (want ? e == want || (want->kind == ML_EXPR_VAR && !ml_is_const_int(e)) ||
                       want->kind == ML_EXPR_VAR
                 : ml_is_int(e, 1))
            continue;
        if (want && ml_is_const_int(e) && ml_is_const_int(want)) {
            if (e->as.i == want->as.i)
                continue;
        } else if (ml_dtype_is_index(e->type) &&
                   (want ? ml_dtype_eq(e->type, want->type) &&
                               ml_prove_equal(ev->ar, e, want)
                         : ml_prove_equal(ev->ar, e, ml_int(ev->cx, e->type, 1)))) {
            continue;
        }
        ml_print_expr(ev->cx, &t, e, NULL);
        if (want)
            ml_print_expr(ev->cx, &u, want, NULL);
        have = ml_strdup(ev->cx, (ml_Str){ml_text_z(&t), t.n});
        need = want ? ml_strdup(ev->cx, (ml_Str){ml_text_z(&u), u.n}) : "";
        ml_text_free(&t);
        ml_text_free(&u);
        return want ? ml_ev_fail(
                          ev, E502, a->call->at,
                          "dimension %zu of the region has extent %s, the buffer has %s", k,
                          have, need)
                    : ml_ev_fail(ev, E502, a->call->at,
                                 "dimension %zu of the region has extent %s, expected 1", k,
                                 have);
    }
    copy = s.b;
    (void)copy;
    m.target = ml_ev_make_buffer(ev, &s, ml_ev_hint(ev, a->call, 0, "buffer"), NULL);
    m.source = r;
    ml_push(ev->cx, &blk->matches, m);
    return ml_cv_buffer(m.target);
}

static ml_Cv match_buffer(ml_Eval *ev, ml_Args *a)
{
    ml_Cv v;

    if (!ev->frame)
        return ml_ev_fail(ev, E602, a->call->at,
                          "T.match_buffer must be inside a function");
    if (a->n_pos == 0 && a->n && ml_str_eq(a->v[0].key->name, ml_str("param"))) {
        a->n_pos = 1;
        a->v[0].key = NULL;
    }
    if (a->n_pos == 0)
        return ml_ev_fail(ev, E407, a->call->at,
                          "match_buffer needs a parameter or a region first");
    for (size_t k = 1; k < a->n_pos; k++) /* lazy: only the first is not evaluated here */
        if (a->v[k].node->kind != ML_N_STAR &&
            (a->v[k].v = ml_ev_value(ev, a->v[k].node)).kind == ML_CV_POISON)
            return ml_cv_poison();
    if (a->v[0].node->kind == ML_N_SUB)
        return match_region(ev, a);
    v = ml_ev_value(ev, a->v[0].node);
    if (v.kind == ML_CV_POISON)
        return v;
    if (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_VAR)
        return match_param(ev, a, v);
    return ml_ev_fail(ev, E407, a->v[0].at,
                      "match_buffer needs a parameter or a region first; got a %s",
                      ml_cv_describe(ev, v));
}

const ml_Builtin ml_ev_buffer_table[] = {
    {"match_buffer", match_buffer, 0, true},
    {"alloc_buffer", allocate, 0, false},
    {"sblock_alloc_buffer", allocate, 1, false},
    {"decl_buffer", allocate, 2, false},
    {"alloc_local", allocate, 3, false},
    {"alloc_shared", allocate, 4, false},
    {"Buffer", buffer_type, 0, false},
    {"buffer_decl", allocate, 2, false},
    {NULL, NULL, 0, false},
};
