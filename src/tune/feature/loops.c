/* loops - features 16 to 56 and 161 to 163: the loops around. Source: auto-scheduler 14. */
#include "moonloop/tune/feature/feature_impl.h"

enum { KIND = 16, PER_KIND = 11, NONE = 3, MIXED = 10, GPU = 49, THREADS = 50, TAIL = 161 };

static void kind_of_loop(Row *r, size_t at, uint8_t kind)
{
    ml_Forms *f = r->f;
    ml_Num zero = feature_const(r, 0), product = feature_const(r, 1), length = zero;
    ml_Num number = zero;

    for (size_t k = 0; k < r->n_loops; k++) {
        const ml_NestAxis *a = &r->n->axes.v[r->loops[k]];
        ml_Num there = a->parts ? r->more[k] : feature_const(r, 1);

        if (a->kind != kind)
            continue;
        number = ml_form_add(f, number, there);
        product = ml_form_mul(f, product, r->ext[k]);
        length = ml_form_select(f, there, r->ext[k], length);
    }
    ml_Num any = ml_form_lt(f, zero, number);

    r->out[at] = ml_form_slog(f, number);
    r->out[at + 1] = ml_form_select(f, any, ml_form_slog(f, product), zero);
    r->out[at + 2] = ml_form_select(f, any, ml_form_slog(f, length), zero);
    r->out[at + MIXED] = any;
    r->out[at + NONE] = ml_form_not(f, any);
}

void ml_feature_loops(Row *r)
{
    ml_Forms *f = r->f;
    ml_Num threads[7], n = feature_const(r, 0), step = feature_const(r, 0);

    kind_of_loop(r, KIND, ML_FOR_VECTORIZED);
    kind_of_loop(r, KIND + PER_KIND, ML_FOR_UNROLLED);
    kind_of_loop(r, KIND + 2 * PER_KIND, ML_FOR_PARALLEL);
    r->out[GPU] = feature_const(r, r->t->gpu);
    for (size_t k = 0; k < 7; k++)
        threads[k] = feature_const(r, 1);
    for (size_t k = r->n_loops; k-- > 0;) {
        const ml_NestAxis *a = &r->n->axes.v[r->loops[k]];

        if (a->thread)
            threads[a->thread - 1] = r->ext[k];
    }
    for (size_t k = 0; k < 7; k++)
        r->out[THREADS + k] = ml_form_slog(f, threads[k]);
    for (size_t k = 0; k < r->n_loops; k++) {
        ml_Num unroll = r->n->axes.v[r->loops[k]].unroll;

        n = ml_form_add(f, n, r->live[k]);
        if (!ml_form_is(f, unroll, 0)) /* an inner one is the active one */
            step = unroll;
    }
    r->out[TAIL] = ml_form_slog(f, r->points);
    r->out[TAIL + 1] = ml_form_slog(f, n);
    r->out[TAIL + 2] = ml_form_slog(f, step);
}
