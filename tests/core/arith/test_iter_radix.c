/*
 * test_iter_radix - mixed-radix indices written at once against the same indices through
 * detection, to which a predicate that says nothing leads. The seed is fixed; ML_CASES
 * changes the number of cases.
 */
#include "core/core_test.h"
#include "moonloop/core/arith/iter_impl.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LOOPS = 8 };

typedef struct Nest {
    ml_Ctx *cx;
    ml_Arith *ar;
    ml_Dtype t;
    ml_Dom dom[MAX_LOOPS];
    size_t n, n_idx;
    const ml_Expr *idx[3];
} Nest;

static const ml_Expr *lit(const Nest *s, int64_t v)
{
    return ml_int(s->cx, s->t, v);
}

static int64_t any_extent(Rng *r)
{
    static const int64_t extents[] = {2, 3, 4, 7, 16, 64, 1 << 12, 1};

    return extents[rng_below(r, rng_below(r, 4) ? 6 : ML_COUNT(extents))];
}

static void any_nest(Nest *s, Rng *r)
{
    s->t = rng_below(r, 4) ? ML_DT_I32 : ML_DT_I64;
    s->n = 1 + rng_below(r, MAX_LOOPS);
    for (size_t k = 0; k < s->n; k++) {
        const ml_Var *v = ml_var_new(s->cx, "i", s->t);

        s->dom[k] = (ml_Dom){v, lit(s, rng_below(r, 40) == 0), lit(s, any_extent(r))};
        ml_arith_bind_range(s->ar, v, s->dom[k].min, s->dom[k].extent);
    }
}

/* Loops dom[from..to) as a number of mixed radix, in nested or flat form; sometimes with a
 * mistake that makes it none. */
static const ml_Expr *any_index(const Nest *s, Rng *r, size_t from, size_t to)
{
    int64_t scale = rng_below(r, 6) ? 1 : 1 + rng_below(r, 5);
    const ml_Expr *e = NULL;

    if (from == to)
        return lit(s, rng_below(r, 3));
    if (rng_below(r, 2)) { /* ((i*n1 + j)*n2 + k)*scale */
        e = ml_var(s->cx, s->dom[from].var);
        for (size_t k = from + 1; k < to; k++)
            e = ml_add(s->cx, ml_mul(s->cx, e, s->dom[k].extent),
                       ml_var(s->cx, s->dom[k].var));
        e = ml_mul(s->cx, e, lit(s, scale));
    } else {
        for (size_t k = to; k-- > from && scale < 1 << 24;) {
            const ml_Expr *v = ml_mul(s->cx, ml_var(s->cx, s->dom[k].var), lit(s, scale));

            e = !e ? v : rng_below(r, 2) ? ml_add(s->cx, e, v) : ml_add(s->cx, v, e);
            scale *= s->dom[k].extent->as.i;
            if (rng_below(r, 30) == 0)
                scale += rng_below(r, 3) ? 1 : -1;
        }
    }
    if (rng_below(r, 30) == 0)
        e = ml_add(s->cx, e, lit(s, 1));
    if (rng_below(r, 30) == 0)
        e = ml_add(s->cx, e, ml_var(s->cx, s->dom[rng_below(r, (uint32_t)s->n)].var));
    return e;
}

static void what_is_written_at_once_is_what_detection_gives(void **state)
{
    const char *wanted = getenv("ML_CASES");
    size_t cases = wanted ? strtoul(wanted, NULL, 10) : 4000, at_once = 0, left = 0;
    ml_Ctx *cx = ml_ctx_new(0);
    Rng r = {20261121};

    for (size_t c = 0; c < cases; c++) {
        Nest s = {.cx = cx, .ar = ml_arith_new(cx)};
        const ml_Expr *out[3], *want[3];
        size_t from = 0;
        bool keep_unit = rng_below(&r, 2);

        any_nest(&s, &r);
        s.n_idx = 1 + rng_below(&r, 3);
        for (size_t k = 0; k < s.n_idx; k++) {
            size_t to = from + rng_below(&r, (uint32_t)(s.n - from) + 1);

            s.idx[k] = any_index(&s, &r, from, to);
            from = to;
        }
        const ml_Expr *pred = ml_lt(cx, ml_var(cx, s.dom[0].var),
                                    lit(&s, s.dom[0].min->as.i + s.dom[0].extent->as.i));
        bool plain = ml_it_radix(s.ar, s.idx, s.n_idx, s.dom, s.n, out);

        at_once += plain;
        left += !plain;
        if (ml_ctx_overflowed(cx)) { /* of the case's own making */
            ml_ctx_clear_marks(cx);
            ml_ctx_reset(cx);
            continue;
        }
        ml_iter_simplify(s.ar, s.idx, s.n_idx, s.dom, s.n, NULL, ML_SURJECTIVE, keep_unit,
                         false, out);
        ml_iter_simplify(s.ar, s.idx, s.n_idx, s.dom, s.n, pred, ML_SURJECTIVE, keep_unit,
                         false, want);
        for (size_t k = 0; k < s.n_idx; k++)
            assert_ptr_equal(out[k], want[k]);
        ml_ctx_reset(cx);
    }
    ml_ctx_unref(cx);
    printf("%zu written at once, %zu left to detection\n", at_once, left);
    assert_true(at_once * 4 > cases && left * 10 > cases);
}

static void what_does_not_fit_the_dtype_is_left_to_detection(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Arith *ar = ml_arith_new(cx);
    ml_Dom dom[2];
    const ml_Expr *out[1];

    for (int k = 0; k < 2; k++)
        dom[k] = (ml_Dom){ml_var_new(cx, "i", ML_DT_I32), ml_i32(cx, 0),
                          ml_i32(cx, k ? 1 << 16 : 1 << 15)};
    const ml_Expr *e = ml_add(cx, ml_mul(cx, ml_var(cx, dom[0].var), ml_i32(cx, 1 << 16)),
                              ml_var(cx, dom[1].var));

    assert_false(ml_it_radix(ar, &e, 1, dom, 2, out)); /* the span is 2^31 */
    dom[0].extent = ml_i32(cx, (1 << 15) - 1);
    assert_true(ml_it_radix(ar, &e, 1, dom, 2, out));
    assert_ptr_equal(out[0], e);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_at_once_is_what_detection_gives),
        cmocka_unit_test(what_does_not_fit_the_dtype_is_left_to_detection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
