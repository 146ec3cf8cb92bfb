/*
 * test_casts - casts of every pattern of 16 and of 8 bits, as scalars and as vectors: compiled code
 * and the interpreter leave the same bits, and a narrow float that is widened and narrowed
 * again is what it was. Source: lowering-and-codegen 6.
 */
#include "run_llvm.h"

#include <math.h>

enum { ALL = 65536, LANES = 16, INPUT = 0, BACK = 1 };

static const char *const names[] = {
    "float32", "float64", "int8",   "uint8",   "int16",    "uint16",        "int32",
    "uint32",  "int64",   "uint64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"};

/* A casts function: A of `from` into one buffer of each type, by way of `middle` in the
 * first of them; vectors of `lanes`, or scalars. */
static const char *casts(Fix *x, const char *from, const char *middle, int lanes)
{
    ml_Text t = {0};
    const char *z;

    ml_text_fmt(&t,
                "@T.prim_func\ndef main(A: T.Buffer((%d,), \"%s\"), B: T.Buffer((%d,), "
                "\"%s\")",
                ALL, from, ALL, from);
    for (size_t k = 0; k < ML_COUNT(names); k++)
        ml_text_fmt(&t, ", C%zu: T.Buffer((%d,), \"%s\")", k, ALL, names[k]);
    ml_text_add(&t, "):\n");
    for (size_t k = 0; k <= ML_COUNT(names); k++) {
        const char *at =
            lanes > 1 ? ml_format(x->cx, "i * %d:i * %d + %d", lanes, lanes, lanes) : "i";
        const char *type = k ? names[k - 1] : from;
        const char *value = ml_format(x->cx, "A[%s]", at);
        const char *n = lanes > 1 ? ml_format(x->cx, "x%d", lanes) : "";

        if (k == 0)
            value = ml_format(x->cx, "T.Cast(\"%s%s\", %s)", middle, n, value);
        ml_text_fmt(&t, "    for i in range(%d):\n        %s[%s] = T.Cast(\"%s%s\", %s)\n",
                    ALL / lanes, k ? ml_format(x->cx, "C%zu", k - 1) : "B", at, type, n,
                    value);
    }
    z = ml_strdup(x->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void both_ways(void **state, const char *from, const char *middle,
                      void (*fill)(ml_Tensor *a))
{
    for (int lanes = 1; lanes <= LANES; lanes += LANES - 1) {
        Fix *x;
        const ml_Func *f;
        ml_CodeOpts o = {.no_contract = true};

        fix_setup(state);
        x = *state;
        f = parse_func(x, casts(x, from, middle, lanes));
        make_args(x, f);
        fill(x->args[INPUT].tensor);
        same_as_interpreter(x, f, &o, EXACT);
        if (!ml_streq(middle, "int8"))
            for (int64_t k = 0; k < ALL; k++) {
                double a = ml_tensor_get(x->args[INPUT].tensor, k);
                double b = ml_tensor_get(x->args[BACK].tensor, k);

                assert_true((isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)));
            }
        fix_teardown(state);
    }
}

static void patterns(ml_Tensor *a)
{
    uint16_t *p = a->data;

    for (int64_t k = 0; k < ALL; k++)
        p[k] = (uint16_t)k;
}

static void bytes(ml_Tensor *a)
{
    uint8_t *p = a->data;

    for (int64_t k = 0; k < ALL; k++)
        p[k] = (uint8_t)k;
}

static void every_narrow_float_and_integer_of_16_bits(void **state)
{
    NEED_LLVM();
    both_ways(state, "float16", "float32", patterns);
    both_ways(state, "bfloat16", "float32", patterns);
    both_ways(state, "float16", "float64", patterns);
    both_ways(state, "bfloat16", "float64", patterns);
    both_ways(state, "int16", "float32", patterns);
    both_ways(state, "uint16", "float32", patterns);
}

/* A formula that moves exponents alone makes normal numbers of zero and of subnormals, and -0
 * of a NaN that is rounded. */
static void zeros_subnormals_and_nan_of_eight_bits_stay_what_they_are(void **state)
{
    static const struct {
        const char *type;
        double least;
        int nan;
    } of[] = {{"float8_e4m3fn", 0x1p-9, 0x7f}, {"float8_e5m2", 0x1p-16, 0x7d}};

    NEED_LLVM();
    for (size_t t = 0; t < ML_COUNT(of); t++) {
        Fix *x;
        ml_CodeOpts o = {0};
        const ml_Func *f;
        uint8_t *p;

        fix_setup(state);
        x = *state;
        f = parse_func(x, ml_format(x->cx,
                                    "@T.prim_func\n"
                                    "def main(A: T.Buffer((4,), \"%s\"), B: T.Buffer((4,), "
                                    "\"float32\"), C: T.Buffer((4,), \"%s\")):\n"
                                    "    B[0:4] = T.Cast(\"float32x4\", A[0:4])\n"
                                    "    C[0:4] = T.Cast(\"%sx4\", B[0:4])\n",
                                    of[t].type, of[t].type, of[t].type));
        make_args(x, f);
        p = x->args[0].tensor->data;
        p[0] = 0, p[1] = 0x80, p[2] = 1, p[3] = (uint8_t)of[t].nan;
        assert_int_equal(call_compiled(x, f, &o), 0);
        assert_true(ml_tensor_get(x->args[1].tensor, 0) == 0);
        assert_true(signbit(ml_tensor_get(x->args[1].tensor, 1)) != 0);
        assert_true(ml_tensor_get(x->args[1].tensor, 2) == of[t].least);
        assert_true(isnan(ml_tensor_get(x->args[1].tensor, 3)));
        p = x->args[2].tensor->data;
        assert_true(p[0] == 0 && p[1] == 0x80 && p[2] == 1);
        assert_true(isnan(ml_tensor_get(x->args[2].tensor, 3)));
        fix_teardown(state);
    }
}

static void every_byte_of_the_floats_of_eight_bits(void **state)
{
    NEED_LLVM();
    both_ways(state, "float8_e4m3fn", "float32", bytes);
    both_ways(state, "float8_e5m2", "float32", bytes);
    both_ways(state, "float8_e4m3fn", "float64", bytes);
    both_ways(state, "float8_e5m2", "float64", bytes);
}

/* The narrow floats of a type, what lies halfway to the next, and its neighbours. */
static void around(ml_Tensor *a, ml_Dtype t)
{
    int64_t patterns = INT64_C(1) << t.bits;

    for (int64_t k = 0; k < ALL; k++) {
        double v = ml_float_value(t, (uint64_t)(k % patterns)),
               next = ml_float_value(t, (uint64_t)((k + k / patterns % 2) % patterns ^ 1));
        double mid = v / 2 + next / 2;

        ml_tensor_set(a, k,
                      k % 3 == 0   ? mid
                      : k % 3 == 1 ? (double)nextafterf((float)mid, INFINITY)
                                   : (double)nextafterf((float)mid, -INFINITY));
    }
}

static void around_float16(ml_Tensor *a)
{
    around(a, ML_DT(ML_FLOAT, 16));
}

static void around_bfloat16(ml_Tensor *a)
{
    around(a, ML_DT(ML_BFLOAT, 16));
}

static void around_e4m3(ml_Tensor *a)
{
    around(a, ML_DT(ML_F8_E4M3FN, 8));
}

static void around_e5m2(ml_Tensor *a)
{
    around(a, ML_DT(ML_F8_E5M2, 8));
}

/* Around what an integer holds: limits of every width, infinities, NaN. */
static void limits(ml_Tensor *a)
{
    ml_Random r = ml_random("limits", 0, 1);

    for (int64_t k = 0; k < ALL; k++) {
        double v = ldexp(1.0, (int)ml_random_below(&r, 70)) * (k % 2 ? 1 : -1);

        v += (double)ml_random_below(&r, 5) / 2 - 1;
        if (k < 4)
            v = k < 2 ? (k ? 1.0 : -1.0) * (double)INFINITY : (double)NAN;
        ml_tensor_set(a, k, v);
    }
}

static void halves_and_what_no_integer_holds(void **state)
{
    NEED_LLVM();
    both_ways(state, "float32", "float64", around_float16);
    both_ways(state, "float64", "float64", around_float16);
    both_ways(state, "float32", "float64", around_bfloat16);
    both_ways(state, "float64", "float64", around_bfloat16);
    both_ways(state, "float32", "float64", around_e4m3);
    both_ways(state, "float32", "float64", around_e5m2);
    both_ways(state, "float64", "float64", around_e4m3);
    both_ways(state, "float64", "float64", around_e5m2);
    both_ways(state, "float32", "int8", limits);
    both_ways(state, "float64", "int8", limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_narrow_float_and_integer_of_16_bits),
        cmocka_unit_test(zeros_subnormals_and_nan_of_eight_bits_stay_what_they_are),
        cmocka_unit_test(every_byte_of_the_floats_of_eight_bits),
        cmocka_unit_test(halves_and_what_no_integer_holds),
    };

    return MAIN(tests);
}
