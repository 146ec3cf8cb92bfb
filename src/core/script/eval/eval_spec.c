/* eval_spec - the arguments of a buffer: shape, dtype, strides and the rest.
 * Source: script 6.1, 8.5. */
#include "moonloop/core/script/eval/eval.h"

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
