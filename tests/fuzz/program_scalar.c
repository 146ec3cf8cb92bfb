/*
 * program_scalar - programs about numbers: expressions over every integer and float dtype,
 * on the ends of their ranges, infinities, NaN and both zeros.
 *
 * Integers may be summed in any order, as they wrap. Floats are combined element by element
 * in one stage, and no product is an operand of a sum: compiled code may contract the two.
 * Divisors are odd and shifts are masked, so that the start is defined. Source: script 10.2.
 */
#include "program_impl.h"

#include "trial_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {
    "int32",   "int32",    "int64",   "int64",   "int8",          "uint8",      "int16",
    "uint32",  "uint64",   "float32", "float64", "float16",       "bfloat16",   "float32",
    "float16", "bfloat16", "int8",    "uint8",   "float8_e4m3fn", "float8_e5m2"};

typedef struct Made {
    uint64_t *rnd;
    const char *type;
    int bits; /* of an integer; 0: a float */
    int n_operands;
} Made;

static int pick(const Made *m, int n)
{
    return fz_below(m->rnd, n);
}

static void literal(const Made *m, ml_Text *out)
{
    static const int some[] = {0, 1, 2, 3, 4, 7};

    ml_text_fmt(out, "T.%s(%d)", m->type, some[pick(m, (int)ML_COUNT(some))]);
}

static void leaf(const Made *m, ml_Text *out)
{
    int k = pick(m, m->n_operands + 1);

    if (k < m->n_operands)
        ml_text_fmt(out, "A%d[v]", k);
    else
        literal(m, out);
}

static void expression(const Made *m, int depth, ml_Text *out);

/* About what is loaded: a condition of numbers alone must not overflow. */
static void condition(const Made *m, int depth, ml_Text *out)
{
    static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
    ml_Text x = {0}, y = {0};

    expression(m, depth, &x);
    expression(m, depth, &y);
    bool loads = strchr(ml_text_z(&x), '[') || strchr(ml_text_z(&y), '[');

    ml_text_fmt(out, "%s %s %s", ml_text_z(&x), ops[pick(m, 6)],
                loads ? ml_text_z(&y) : "A0[v]");
    ml_text_free(&x);
    ml_text_free(&y);
}

static void call(const Made *m, const char *name, int depth, ml_Text *out)
{
    ml_text_fmt(out, "%s(", name);
    if (ml_streq(name, "T.Select") || ml_streq(name, "T.if_then_else")) {
        condition(m, depth, out);
        ml_text_add(out, ", ");
    }
    expression(m, depth, out);
    ml_text_add(out, ", ");
    expression(m, depth, out);
    ml_text_char(out, ')');
}

/* What is x (or true) of integers that do not wrap. */
static void identity(const Made *m, int depth, ml_Text *out)
{
    ml_Text x = {0};
    int c = 2 + pick(m, 6);

    expression(m, depth, &x);
    const char *z = ml_text_z(&x), *t = m->type;

    switch (pick(m, 5)) {
    case 0: ml_text_fmt(out, "%s * T.%s(%d) // T.%s(%d)", z, t, c, t, c); break;
    case 1: ml_text_fmt(out, "(%s + T.%s(%d)) // T.%s(%d)", z, t, c, t, c); break;
    case 2:
        ml_text_fmt(out, "(%s * T.%s(%d) + T.%s(1)) %% T.%s(%d)", z, t, c, t, t, c);
        break;
    case 3:
        ml_text_fmt(out, "T.Select(%s + T.%s(%d) > %s, %s, T.%s(%d))", z, t, c, z, z, t, c);
        break;
    default: ml_text_fmt(out, "T.max(%s, %s + T.%s(%d))", z, z, t, c); break;
    }
    ml_text_free(&x);
}

static void of_integers(const Made *m, int depth, ml_Text *out)
{
    static const char *const divisions[] = {"//", "%"};
    static const char *const truncating[] = {"T.truncdiv", "T.truncmod"};
    static const char *const shifts[] = {"<<", ">>"};
    static const char *const sums[] = {"+", "-", "*", "*", "+"};
    int kind = pick(m, 10);

    ml_text_char(out, '(');
    if (kind == 0) { /* by an odd number, or by a literal */
        bool trunc = pick(m, 3) == 0, odd = pick(m, 2);

        if (trunc)
            ml_text_fmt(out, "%s(", truncating[pick(m, 2)]);
        expression(m, depth, out);
        ml_text_fmt(out, trunc ? ", " : " %s ", divisions[pick(m, 2)]);
        if (odd) {
            ml_text_add(out, "T.bitwise_or(");
            expression(m, 0, out);
            ml_text_fmt(out, ", T.%s(1))", m->type);
        } else
            ml_text_fmt(out, "T.%s(%d)", m->type, 1 + pick(m, 7));
        if (trunc)
            ml_text_char(out, ')');
    } else if (kind == 1) {
        expression(m, depth, out);
        ml_text_fmt(out, " %s T.bitwise_and(", shifts[pick(m, 2)]);
        expression(m, 0, out);
        ml_text_fmt(out, ", T.%s(%d))", m->type, m->bits - 1);
    } else if (kind == 2 || kind == 3) {
        identity(m, depth, out);
    } else {
        expression(m, depth, out);
        ml_text_fmt(out, " %s ", sums[pick(m, 5)]);
        expression(m, depth, out);
    }
    ml_text_char(out, ')');
}

static void expression(const Made *m, int depth, ml_Text *out)
{
    static const char *const calls[] = {"T.max", "T.min", "T.Select", "T.if_then_else"};
    static const char *const sums[] = {"+", "-"};

    if (depth == 0 || pick(m, 5) == 0)
        leaf(m, out);
    else if (pick(m, 3) == 0)
        call(m, calls[pick(m, 4)], depth - 1, out);
    else if (m->bits)
        of_integers(m, depth - 1, out);
    else if (pick(m, 2)) { /* of leaves alone: no product is added to */
        ml_text_char(out, '(');
        leaf(m, out);
        ml_text_fmt(out, " %s ", sums[pick(m, 2)]);
        leaf(m, out);
        ml_text_char(out, ')');
    } else { /* kept apart from a sum around it by a maximum */
        ml_text_add(out, "T.max(");
        leaf(m, out);
        ml_text_fmt(out, " %s ", pick(m, 3) ? "*" : "/");
        leaf(m, out);
        ml_text_add(out, ", ");
        leaf(m, out);
        ml_text_char(out, ')');
    }
}

bool fz_is_scalar(const FzPlan *plan)
{
    uint64_t rnd = plan->seed ^ 0x510e527fade682d1U;

    return !(plan->off & FZ_SCALARS) && fz_chance(&rnd, 8);
}

/* B0 = f(A0, A1, ...); of integers sometimes a sum of it along one loop, and B0 - B1 * .. */
void fz_scalar_program(const FzPlan *plan, FzProgram *out)
{
    uint64_t rnd = plan->seed * 0x9e3779b97f4a7c15U + 11;
    int rows = 2 + fz_below(&rnd, 5), n = 6 + fz_below(&rnd, 20);
    Made m = {.rnd = &rnd, .type = types[fz_below(&rnd, (int)ML_COUNT(types))]};
    const char *digits = m.type + strcspn(m.type, "0123456789");
    ml_Text *t = &out->text;
    bool sum;

    m.bits = strstr(m.type, "int") ? (int)strtol(digits, NULL, 10) : 0;
    m.n_operands = 1 + fz_below(&rnd, 3);
    sum = m.bits && plan->stages > 1 && fz_chance(&rnd, 40);
    *out = (FzProgram){.n = 1, .m = 1, .flag = 1, .stages = 1 + sum, .extreme = true};
    ml_text_add(t, "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main(");
    for (int k = 0; k < m.n_operands; k++)
        ml_text_fmt(t, "A%d: T.Buffer((%d,), \"%s\"), ", k, n, m.type);
    ml_text_fmt(t, "B0: T.Buffer((%d,), \"%s\")", n, m.type);
    if (sum)
        ml_text_fmt(t, ", B1: T.Buffer((%d,), \"%s\")", n, m.type);
    ml_text_fmt(t,
                "):\n        for i in range(%d):\n            with T.block(\"B0\"):\n"
                "                v = T.axis.spatial(%d, i)\n                B0[v] = ",
                n, n);
    expression(&m, 1 + fz_below(&rnd, 3), t);
    ml_text_char(t, '\n');
    if (!sum)
        return;
    ml_text_fmt(t,
                "        for i, j in T.grid(%d, %d):\n            with T.block(\"B1\"):\n"
                "                v, r = T.axis.remap(\"SR\", [i, j])\n"
                "                with T.init():\n"
                "                    B1[v] = T.%s(0)\n"
                "                B1[v] = B1[v] + B0[v] * (B0[r] + ",
                n, rows < n ? rows : n, m.type);
    expression(&m, 1, t);
    ml_text_add(t, ")\n");
}

/* ---- the arguments */

static int64_t extreme_int(ml_Dtype t, uint64_t *rnd)
{
    int64_t lo = ml_dtype_min(t), hi = ml_dtype_max(t);
    const int64_t some[] = {lo, lo + 1, hi, hi - 1, -1, 0, 1, 2, 3, hi / 2, hi / 2 + 1};

    if (fz_chance(rnd, 20))
        return ml_dtype_wrap(t, (int64_t)fz_next(rnd));
    return ml_dtype_wrap(t, some[fz_below(rnd, (int)ML_COUNT(some))]);
}

void fz_extreme_fill(ml_Tensor *t, uint64_t *rnd)
{
    static const double some[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, (double)NAN, 1,
                                  -1,  0.5,  -2.5,     1.5,       3,           255,
                                  -7,  1e4,  6e-8,     -1.2e-38,  1e30,        -1e30};
    ml_Dtype type = ml_dtype_lanes(t->type, 1);

    for (int64_t l = 0; l < t->n_lanes; l++)
        if (ml_dtype_is_float(type))
            ml_tensor_set(t, l, some[fz_below(rnd, (int)ML_COUNT(some))]);
        else
            ml_tensor_set_int(t, l, extreme_int(type, rnd));
}

bool fz_same_lane(const ml_Tensor *a, const ml_Tensor *b, int64_t l, bool zeros)
{
    double x = ml_tensor_get(a, l), y = ml_tensor_get(b, l);

    if (!ml_dtype_is_float(ml_dtype_lanes(a->type, 1)))
        return ml_tensor_get_int(a, l) == ml_tensor_get_int(b, l);
    return isnan(x) ? isnan(y) : x == y && (!zeros || !signbit(x) == !signbit(y));
}
