/* curve - features 147 to 156: operations for each byte, as more of the loops are taken
 * together. Source: auto-scheduler 14. */
#include "moonloop/tune/feature/feature_impl.h"

enum { FIRST = 147, POINTS = 10 };

/* After so many of the innermost loops: operations and operations for each byte. */
typedef struct Level {
    ml_Num operations, rate;
} Level;

void ml_feature_curve(Row *r)
{
    ml_Forms *f = r->f;
    Level at[MAX_LOOPS], before[MAX_LOOPS];
    ml_Num first[MAX_LOOPS], zero = feature_const(r, 0), one = feature_const(r, 1);
    ml_Num all = ml_form_mul(f, r->operations, r->points), none = one;
    Level last = {zero, zero};

    if (ml_form_is(f, r->operations, 0) || r->n_loops == 0)
        return;
    /* loops that are not there are stepped over */
    for (size_t k = r->n_loops; k-- > 0;) {
        at[k].operations = ml_form_mul(f, r->operations, r->inside[k]);
        at[k].rate = ml_form_div(f, at[k].operations, r->memory[k]);
        before[k] = last;
        first[k] = none;
        last.operations = ml_form_select(f, r->live[k], at[k].operations, last.operations);
        last.rate = ml_form_select(f, r->live[k], at[k].rate, last.rate);
        none = ml_form_mul(f, none, ml_form_not(f, r->live[k]));
    }
    for (size_t p = 1; p <= POINTS; p++) {
        ml_Num target = ml_form_mul(f, all, feature_const(r, (double)p / POINTS));
        ml_Num enough = ml_form_sub(f, target, feature_const(r, 1e-4)), y = zero;

        for (size_t k = 0; k < r->n_loops; k++) { /* the innermost that is enough wins */
            ml_Num rest = ml_form_sub(f, target, before[k].operations);
            ml_Num whole = ml_form_sub(f, at[k].operations, before[k].operations);
            ml_Num rise = ml_form_sub(f, at[k].rate, before[k].rate);
            ml_Num between = ml_form_add(f, before[k].rate,
                                         ml_form_mul(f, ml_form_div(f, rest, whole), rise));
            ml_Num here = ml_form_select(f, first[k], at[k].rate, between);
            ml_Num hit =
                ml_form_mul(f, r->live[k], ml_form_le(f, enough, at[k].operations));

            y = ml_form_select(f, hit, here, y);
        }
        r->out[FIRST + p - 1] = ml_form_slog(f, y);
    }
}
