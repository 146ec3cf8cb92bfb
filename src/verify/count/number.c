/* number - counts that say how sure they are; what goes beyond int64 is unknown. */
#include <math.h>

#include "moonloop/verify/count/counts_impl.h"

ml_Number ml_number(int64_t n)
{
    return (ml_Number){.how = ML_EXACT, .n = n};
}

ml_Number ml_number_unknown(void)
{
    return (ml_Number){.how = ML_UNKNOWN};
}

ml_Number ml_number_of(ml_Ctx *cx, const ml_Expr *e)
{
    if (!e)
        return ml_number_unknown();
    if (ml_is_const_int(e))
        return ml_number(e->as.i);
    return (ml_Number){.how = ML_EXACT, .expr = ml_cast(cx, ML_DT_I64, e)};
}

static ml_Number both(ml_Number a, ml_Number b)
{
    return (ml_Number){.how = a.how > b.how ? a.how : b.how};
}

static const ml_Expr *as_expr(ml_Ctx *cx, ml_Number a)
{
    return a.expr ? a.expr : ml_int(cx, ML_DT_I64, a.n);
}

ml_Number ml_number_mul(ml_Ctx *cx, ml_Number a, ml_Number b)
{
    ml_Number out = both(a, b);

    if ((a.how == ML_EXACT && !a.expr && a.n == 0) ||
        (b.how == ML_EXACT && !b.expr && b.n == 0))
        return ml_number(0);
    if (out.how == ML_UNKNOWN)
        return out;
    if (!a.expr && !b.expr) {
        if (__builtin_mul_overflow(a.n, b.n, &out.n))
            return ml_number_unknown();
    } else if (!a.expr && a.n == 1)
        out.expr = b.expr;
    else if (!b.expr && b.n == 1)
        out.expr = a.expr;
    else
        out.expr = ml_mul(cx, as_expr(cx, a), as_expr(cx, b));
    return out;
}

ml_Number ml_number_add(ml_Ctx *cx, ml_Number a, ml_Number b)
{
    ml_Number out = both(a, b);

    if (out.how == ML_UNKNOWN)
        return out;
    if (!a.expr && !b.expr) {
        if (__builtin_add_overflow(a.n, b.n, &out.n))
            return ml_number_unknown();
    } else if (!a.expr && a.n == 0)
        out.expr = b.expr;
    else if (!b.expr && b.n == 0)
        out.expr = a.expr;
    else
        out.expr = ml_add(cx, as_expr(cx, a), as_expr(cx, b));
    return out;
}

ml_Number ml_number_at_most(ml_Number a)
{
    if (a.how == ML_EXACT && (a.expr || a.n != 0))
        a.how = ML_AT_MOST;
    return a;
}

ml_Number ml_number_min(ml_Number a, ml_Number b)
{
    if (a.how == ML_UNKNOWN || b.how == ML_UNKNOWN)
        return a.how == ML_UNKNOWN ? b : a;
    if (a.how == ML_EXACT || b.how == ML_EXACT)
        return a.how == ML_EXACT ? a : b;
    if (a.expr || b.expr) /* one of them: what is a number is easier to read */
        return a.expr ? b : a;
    return a.n <= b.n ? a : b;
}

double ml_reuse(const ml_Touched *t, bool *exact)
{
    bool sure = t->elements.how == ML_EXACT && t->loads.how == ML_EXACT &&
                t->stores.how == ML_EXACT;

    if (exact)
        *exact = sure;
    if (t->elements.how == ML_UNKNOWN || t->loads.how == ML_UNKNOWN ||
        t->stores.how == ML_UNKNOWN || t->elements.expr || t->loads.expr ||
        t->stores.expr || t->elements.n <= 0)
        return (double)NAN;
    return ((double)t->loads.n + (double)t->stores.n) / (double)t->elements.n;
}
