/* eval_buffer - constructors of buffers: parameters, allocations, aliases, matches.
 * Source: script 6.1, 8.5. */
#include "core/script/eval/eval.h"

enum { MAX_RANK = 256 };

static const char *const CLASSIC[] = {"shape",           "dtype",         "data",
                                      "strides",         "elem_offset",   "scope",
                                      "align",           "offset_factor", "buffer_type",
                                      "axis_separators", "*byte_offset",  "*layout",
                                      "*allocated_addr", "*annotations",  NULL};
static const char *const NEWEST[] = {"shape",           "dtype",           "data",
                                     "strides",         "elem_offset",     "byte_offset",
                                     "scope",           "align",           "offset_factor",
                                     "buffer_type",     "axis_separators", "*layout",
                                     "*allocated_addr", "*annotations",    NULL};
enum { N_FIELDS = 14 };

static ml_Arg *field(ml_Arg *const *s, const char *const *names, const char *name)
{
    for (size_t k = 0; names[k]; k++)
        if (ml_streq(names[k][0] == '*' ? names[k] + 1 : names[k], name))
            return s[k] && s[k]->v.kind != ML_CV_NONE ? s[k] : NULL;
    return NULL;
}

/* "n * 2 + 1" in a newest shape: unknown names become variables. */
static ml_Cv quoted(ml_Eval *ev, ml_Str text, ml_Place at)
{
    ml_Lexed lx = {0};
    size_t n_diags = ev->rep->diags.n;
    ml_Node *nd = NULL;
    ml_Cv v = ml_cv_poison();

    ml_lex(ev->sc, ev->syms, ev->rep, text, &lx);
    if (ev->rep->diags.n == n_diags)
        nd = ml_syntax_expr(ev->sc, ev->rep, &lx);
    if (nd) {
        for (size_t k = 0; k < lx.n; k++) {
            ml_Sym *sym = lx.toks[k].as.sym;
            ml_Dtype t = ML_DT_I32;

            if (lx.toks[k].kind != ML_TOK_NAME || sym->top ||
                ml_ev_python_find(sym->name) >= 0)
                continue;
            for (size_t p = 0; p < ev->fn->node->as.params.n; p++) {
                const ml_ParamNode *q = &ev->fn->node->as.params.v[p];

                if (q->sym == sym && q->ann && q->ann->kind != ML_N_SUB) {
                    ml_Cv ann = ml_ev_raw(ev, q->ann);

                    if ((ann.kind == ML_CV_DTYPE || ann.kind == ML_CV_FRESH) &&
                        ml_dtype_is_int(ann.dt))
                        t = ann.dt;
                }
            }
            v = ml_cv_expr(ml_var(ev->cx, ml_var_new(ev->cx, sym->name.p, t)));
            ml_ev_remember(ev, v.as.e->as.var, at);
            ml_ev_bind(ev, sym, v, at);
        }
        v = ml_ev_value(ev, nd);
    }
    for (size_t k = n_diags; k < ev->rep->diags.n; k++)
        ev->rep->diags.v[k].span =
            (ml_Span){ev->rep->file, at.line, at.col, at.end_line, at.end_col, NULL};
    return v;
}

bool ml_ev_shape(ml_Eval *ev, ml_Cv v, ml_Place at, bool quoting, ml_ExprVec *out)
{
    const ml_Cv *list = v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST ? v.as.list : &v;
    size_t n = list == &v ? 1 : v.n;

    if (n > MAX_RANK)
        return ml_ev_reject(ev, E417, at, "a buffer has at most %d dimensions", MAX_RANK);
    for (size_t k = 0; k < n; k++) {
        ml_Cv d = list[k];
        const ml_Expr *e;

        if (d.kind == ML_CV_STRING && quoting)
            d = quoted(ev, d.as.s, at);
        e = d.kind == ML_CV_POISON ? NULL : ml_ev_to_int(ev, d, at, "buffer extent");
        if (!e)
            return false;
        if (e->type.lanes != 1)
            return ml_ev_reject(ev, E501, at, "buffer extent must be a scalar");
        ml_push(ev->cx, out, e);
    }
    return true;
}

static bool small_int(ml_Eval *ev, ml_Arg *s, const char *what, int64_t *out)
{
    ml_Cv v = s->v;

    if (v.kind == ML_CV_EXPR && ml_is_const_int(v.as.e))
        v = ml_cv_int(v.as.e->as.i);
    if ((v.kind != ML_CV_INT && v.kind != ML_CV_BOOL) || v.big || v.as.i > INT32_MAX ||
        v.as.i < INT32_MIN)
        return ml_ev_reject(ev, E417, s->at, "%s must be a constant integer, got %s", what,
                            ml_cv_describe(ev, v));
    *out = v.as.i;
    return true;
}

static bool read_strides(ml_Eval *ev, ml_Arg *s, ml_Spec *out)
{
    ml_ExprVec e = {0};
    const ml_Cv *list;

    if (s->v.kind != ML_CV_LIST && s->v.kind != ML_CV_TUPLE)
        return ml_ev_reject(ev, E417, s->at, "strides must be a list, got %s",
                            ml_cv_describe(ev, s->v));
    if (s->v.n == 0)
        return true;
    if (s->v.n > MAX_RANK)
        return ml_ev_reject(ev, E417, s->at, "too many strides");
    list = s->v.as.list;
    out->stride_names = ML_ARRAY(ev->cx, const char *, s->v.n);
    for (size_t k = 0; k < s->v.n; k++) {
        const ml_Expr *x = NULL;

        if (list[k].kind == ML_CV_STRING)
            out->stride_names[k] = ml_strdup(ev->cx, list[k].as.s);
        else if (!(x = ml_ev_to_int(ev, list[k], s->at, "stride")))
            return false;
        ml_push(ev->cx, &e, x);
    }
    out->b.strides = e.v;
    out->b.n_strides = (uint16_t)e.n;
    out->has_strides = true;
    return !out->has_shape || out->b.n_strides == out->b.rank ||
           ml_ev_reject(ev, E417, s->at, "%u strides for %u dimensions",
                        (unsigned)out->b.n_strides, (unsigned)out->b.rank);
}

static bool read_separators(ml_Eval *ev, ml_Arg *s, ml_Spec *out)
{
    int32_t *v;

    if (s->v.kind != ML_CV_LIST && s->v.kind != ML_CV_TUPLE)
        return ml_ev_reject(ev, E417, s->at, "axis_separators must be a list, got %s",
                            ml_cv_describe(ev, s->v));
    if (s->v.n > MAX_RANK)
        return ml_ev_reject(ev, E417, s->at, "too many axis separators");
    v = ML_ARRAY(ev->cx, int32_t, s->v.n + 1);
    for (size_t k = 0; k < s->v.n; k++) {
        ml_Arg one = *s;
        int64_t i;

        one.v = s->v.as.list[k];
        if (!small_int(ev, &one, "an axis separator", &i))
            return false;
        if (i < (k ? v[k - 1] : 0) || i > (out->has_shape ? out->b.rank : MAX_RANK))
            return ml_ev_reject(
                ev, E417, s->at,
                "axis_separators must be non-decreasing, from 0 to the rank");
        v[k] = (int32_t)i;
    }
    out->b.separators = v;
    out->b.n_separators = (uint16_t)s->v.n;
    return true;
}

/* ---- one argument each: what it says, into out; false: reported */
static bool read_dtype(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    out->has_dtype = true;
    return ml_ev_dtype(ev, f->v, f->at, &out->b.type) &&
           (out->b.type.code != ML_VOID ||
            ml_ev_reject(ev, E516, f->at, "a buffer cannot hold void"));
}

static bool read_shape(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    ml_ExprVec shape = {0};

    if (!ml_ev_shape(ev, f->v, f->at, ev->fn && !ev->frame /* an annotation */, &shape))
        return false;
    out->has_shape = true;
    out->b.shape = shape.v;
    out->b.rank = (uint16_t)shape.n;
    return true;
}

static bool read_scope(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    ml_Str z;

    if (!ml_ev_arg_string(ev, out->args, f, "the scope", &z))
        return false;
    out->b.scope = ml_scope(ml_strdup(ev->cx, z));
    out->has_scope = true;
    return true;
}

static bool read_data(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    out->data = f->v.kind == ML_CV_BUFFER ? ml_var(ev->cx, f->v.as.b->data)
                                          : ml_ev_to_expr(ev, f->v, f->at);
    return out->data && (out->data->type.code == ML_HANDLE ||
                         ml_ev_reject(ev, E417, f->at, "data must be a pointer, got %s",
                                      ml_cv_describe(ev, f->v)));
}

static bool read_elem_offset(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    if (f->v.kind == ML_CV_FRESH || f->v.kind == ML_CV_STRING) {
        const char *hint =
            f->v.kind == ML_CV_STRING ? ml_strdup(ev->cx, f->v.as.s) : "elem_offset";
        ml_Dtype type = f->v.kind == ML_CV_FRESH ? f->v.dt
                        : out->b.rank            ? out->b.shape[0]->type
                                                 : ML_DT_I32;

        out->b.elem_offset = ml_var(ev->cx, ml_var_new(ev->cx, hint, type));
    } else {
        out->b.elem_offset = ml_ev_to_int(ev, f->v, f->at, "elem_offset");
    }
    out->has_offset = true;
    return out->b.elem_offset != NULL;
}

static bool read_byte_offset(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    const ml_Expr *e = ml_ev_to_int(ev, f->v, f->at, "byte_offset");
    int64_t bits = (int64_t)ml_dtype_bytes(out->b.type) * 8;

    if (!e)
        return false;
    if (out->has_offset)
        return ml_ev_reject(ev, E417, f->at, "give either elem_offset or byte_offset");
    out->b.elem_offset =
        ml_floordiv(ev->cx, ml_mul(ev->cx, e, ml_int(ev->cx, e->type, 8)),
                    ml_int(ev->cx, ml_dtype_lanes(e->type, 1), bits ? bits : 8));
    out->has_offset = true;
    return true;
}

static bool read_align(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    int64_t i;

    if (!small_int(ev, f, "align", &i))
        return false;
    out->b.align = i > 0 ? (uint32_t)i : 64;
    out->has_align = true;
    return true;
}

static bool read_offset_factor(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    int64_t i;

    if (!small_int(ev, f, "offset_factor", &i))
        return false;
    if (i < 0)
        return ml_ev_reject(ev, E417, f->at, "offset_factor must not be negative");
    out->has_factor = i != 0;
    out->b.offset_factor = i ? (uint32_t)i : 1;
    return true;
}

static bool read_buffer_type(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    ml_Str z;

    if (!ml_ev_arg_string(ev, out->args, f, "buffer_type", &z))
        return false;
    out->is_auto = ml_str_eq(z, ml_str("auto"));
    if (!out->is_auto && z.n && !ml_str_eq(z, ml_str("default")))
        return ml_ev_reject(ev, E411, f->at, "buffer_type must be \"auto\" or \"default\"");
    out->b.auto_broadcast = out->is_auto;
    return true;
}

static bool refuse_layout(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    (void)out;
    return (f->v.kind == ML_CV_STRING && ml_str_eq(f->v.as.s, ml_str("default"))) ||
           ml_ev_reject(ev, E418, f->at, "layouts of buffers are not supported");
}

static bool refuse_address(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    (void)out;
    return ml_ev_reject(ev, E418, f->at, "allocated addresses are not supported");
}

static bool read_annotations(ml_Eval *ev, ml_Arg *f, ml_Spec *out)
{
    if (f->v.kind != ML_CV_DICT)
        return ml_ev_reject(ev, E415, f->at, "annotations must be a dict");
    if (!(out->annotations = ml_ev_to_value(ev, f->v, f->at)))
        return false;
    if (ml_dict_count(out->annotations) == 0)
        out->annotations = NULL;
    return true;
}

/* Reads the arguments from position `first` on. */
bool ml_ev_spec(ml_Eval *ev, ml_Args *a, size_t first, bool shape_needed, ml_Spec *out)
{
    /* In the order in which they are read: some look at what came before. */
    static const struct {
        const char *name;
        bool (*read)(ml_Eval *, ml_Arg *, ml_Spec *);
    } FIELDS[N_FIELDS] = {
        {"dtype", read_dtype},
        {"shape", read_shape},
        {"scope", read_scope},
        {"data", read_data},
        {"strides", read_strides},
        {"elem_offset", read_elem_offset},
        {"byte_offset", read_byte_offset},
        {"align", read_align},
        {"offset_factor", read_offset_factor},
        {"buffer_type", read_buffer_type},
        {"axis_separators", read_separators},
        {"layout", refuse_layout},
        {"allocated_addr", refuse_address},
        {"annotations", read_annotations},
    };
    const char *const *names = ev->fn && ev->fn->newest ? NEWEST : CLASSIC;
    ml_Arg *s[N_FIELDS], *f;
    ml_Args rest = *a;

    memset(out, 0, sizeof *out);
    out->b.type = ML_DT_F32;
    out->at = a->call->at;
    out->args = a;
    rest.v += first;
    rest.n -= first;
    rest.n_pos -= first;
    if (ml_ev_poisoned(&rest) || !ml_ev_slots(ev, &rest, names, s))
        return false;
    for (size_t k = 0; k < N_FIELDS; k++) {
        if ((f = field(s, names, FIELDS[k].name))) {
            if (!FIELDS[k].read(ev, f, out))
                return false;
        } else if (FIELDS[k].read == read_shape && shape_needed) {
            return ml_ev_reject(ev, E407, a->call->at, "%s needs a shape", a->name);
        }
    }
    return true;
}

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
