/*
 * real - a candidate replayed by the primitives themselves, and its features read from the
 * program: what forms are compared with, and what stands in for them.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

typedef struct Decide {
    ml_Ctx *cx;
    const int64_t *d;
    uint32_t at;
} Decide;

static const ml_Value *decide(const ml_Inst *in, const ml_Value *old, void *user)
{
    Decide *de = user;
    uint32_t n = ml_sym_numbers(in);
    const ml_Value **list = ML_ARRAY(de->cx, const ml_Value *, n + 1);
    const int64_t *d = de->d + de->at;

    (void)old;
    de->at += n;
    if (ml_sym_is_place(in))
        return ml_val_int(de->cx, d[0] + ML_SYM_PLACE);
    if (ml_streq(in->prim->name, "sample_categorical"))
        return ml_val_int(de->cx, d[0]);
    for (uint32_t k = 0; k < n; k++)
        list[k] = ml_val_int(de->cx, d[k]);
    return ml_val_list(de->cx, list, n);
}

static const ml_Value *afresh(const ml_Inst *in, const ml_Value *old, void *user)
{
    (void)in;
    (void)old;
    (void)user;
    return NULL;
}

bool ml_sym_real_draw(ml_Schedule *start, const ml_Trace *t, uint32_t seed, int64_t *d)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Schedule *s = ml_schedule_fork_at(start, 0);
    bool ok = ml_schedule_seed(s, seed) && ml_trace_apply(s, t, true, afresh, NULL, NULL);
    const ml_Trace done = ok ? ml_schedule_trace(s, cx) : (ml_Trace){0};

    for (size_t k = 0; k < done.n; k++) {
        const ml_Value *v = done.insts[k]->decision;

        if (v && v->kind == ML_VAL_INT)
            *d++ = v->as.i - (ml_sym_is_place(done.insts[k]) ? ML_SYM_PLACE : 0);
        for (uint32_t m = 0; v && v->kind == ML_VAL_LIST && m < v->n; m++)
            *d++ = v->as.list[m]->as.i;
    }
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    return ok;
}

int ml_sym_real_rows(const ml_SketchForms *sf, const int64_t *d, double *rows)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Schedule *s = ml_schedule_fork_at(sf->start, 0);
    Decide de = {cx, d, 0};
    int n = -1;

    if (ml_schedule_seed(s, 1) && ml_trace_apply(s, &sf->t, true, decide, &de, NULL) &&
        (sf->post.fn == NULL || sf->post.fn(s, sf->post.user))) {
        ml_Forms f;
        ml_Nest nest;
        ml_FeatureRows r;

        ml_forms_init(&f, cx);
        ml_forms_at(&f, NULL);
        ml_nest_read(&nest, cx, &f, ml_schedule_func(s), false);
        if (ml_features(&nest, &sf->target, &r)) {
            n = (int)r.n;
            for (size_t k = 0; k < r.n; k++)
                for (size_t m = 0; m < ML_FEATURES; m++)
                    rows[k * ML_FEATURES + m] = ml_form_value(&f, r.row[k][m]);
        }
    }
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    return n;
}
