/*
 * eval_low - low-level calls, kept by name: T.tvm_mma_sync(...), T.ptx_mma(...),
 * T.ptx.mma(...), T.cuda.cta_sync(). Their result has the dtype that the table says.
 * Source: script 10.4.
 */
#include "moonloop/core/script/eval/eval.h"
#include "moonloop/core/script/lowcall.h"

/* The dtype of the call from its arguments; *first, *last: where the others begin and end.
 */
static bool written_type(ml_Eval *ev, ml_Args *a, const ml_Low *l, size_t *first,
                         size_t *last, ml_Dtype *out)
{
    ml_Arg *s = ml_ev_keyword(a, "dtype");
    bool begin = l->result == ML_LOW_FIRST;

    if (!s && strchr(a->fn->name, '.') && /* some of T.ptx have no dtype */
        !(a->n_pos &&
          (a->v[0].v.kind == ML_CV_DTYPE ||
           (a->v[0].v.kind == ML_CV_STRING && ml_dtype_parse(a->v[0].v.as.s, out))))) {
        *out = ML_DT_VOID;
        return true;
    }
    if (!s && a->n_pos) {
        s = &a->v[begin ? 0 : a->n_pos - 1];
        *first += begin;
        *last -= !begin;
    }
    return ml_ev_need(ev, a, s, "dtype") && ml_ev_dtype(ev, s->v, s->at, out);
}

static ml_Cv low_call(ml_Eval *ev, ml_Args *a)
{
    const ml_Low *l = ml_low_find(ml_str(a->fn->name));
    const ml_Expr **x = ML_ARRAY(ev->sc, const ml_Expr *, a->n_pos + 1);
    size_t first = 0, last = a->n_pos, n = 0;
    ml_Dtype t = ML_DT_VOID;

    ML_ASSERT(l); /* that is how it got this handler */
    if (l->result == ML_LOW_FIRST || l->result == ML_LOW_LAST) {
        if (!written_type(ev, a, l, &first, &last, &t))
            return ml_cv_poison();
    } else {
        ml_Arg *type = ml_ev_keyword(a, "dtype"); /* ignored, but for KEY */

        if (l->result == ML_LOW_KEY && type && !ml_ev_dtype(ev, type->v, type->at, &t))
            return ml_cv_poison();
    }
    if (!ml_ev_no_more(ev, a, SIZE_MAX))
        return ml_cv_poison();
    if (last - first < l->least || last - first > l->most)
        return ml_ev_fail(ev, E414, a->call->at, "%s takes %s%u argument%s, %zu given",
                          a->name, l->least == l->most ? "" : "at least ",
                          (unsigned)(last - first < l->least ? l->least : l->most),
                          l->least == 1 ? "" : "s", last - first);
    for (size_t k = first; k < last; k++) {
        x[n] = a->v[k].v.kind == ML_CV_BUFFER ? ml_var(ev->cx, a->v[k].v.as.b->data)
                                              : ml_ev_to_expr(ev, a->v[k].v, a->v[k].at);
        if (!x[n++])
            return ml_cv_poison();
    }
    ml_low_type(l, x, n, &t);
    return ml_ev_checked(
        ev, ml_call(ev->cx, t, ml_op_intern(ev->cx, ml_str(a->fn->name)), x, n),
        a->call->at);
}

const ml_Builtin *ml_ev_low_builtin(ml_Eval *ev, const char *space, ml_Str name)
{
    static const char *const SHORT[] = {"call_packed_lowered", "call_cpacked_lowered"};
    ml_Builtin *b;
    const char *full = ml_format(ev->sc, "%s%.*s", space, (int)name.n, name.p);

    for (size_t k = 0; k < ML_COUNT(SHORT); k++)
        if (ml_streq(full, SHORT[k]))
            full = ml_format(ev->sc, "tvm_%s", SHORT[k]);

    if (!ml_low_find(ml_str(full)) || ml_low_meant(ml_str(full)))
        return NULL;
    b = ML_NEW(ev->sc, ml_Builtin);
    *b = (ml_Builtin){full, low_call, 0, false};
    return b;
}

ml_Cv ml_ev_low_member(ml_Eval *ev, const ml_Node *nd, const char *space)
{
    ml_Cv v = ml_cv(ML_CV_FN);
    ml_Str name = nd->as.sym->name;
    const char *full = ml_format(ev->sc, "%s%.*s", space, (int)name.n, name.p), *meant;

    if ((v.as.builtin = ml_ev_low_builtin(ev, space, name)))
        return v;
    meant = ml_low_meant(ml_str(full));
    return ml_ev_fail(ev, E401, nd->at, "no `T.%s`%s", full,
                      meant ? ml_format(ev->cx, "; did you mean `%s`?", meant) : "");
}

const char *ml_ev_low_path(ml_Eval *ev, const ml_Builtin *b)
{
    return b->run == low_call && strchr(b->name, '.') ? ml_format(ev->sc, "%s.", b->name)
                                                      : NULL;
}
