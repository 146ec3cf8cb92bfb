/*
 * test_index_values - integer inputs that indices, loops and conditions are made of: they
 * have values that keep everything inside, and enough of them to tell two programs apart.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/params/index_values.h"
#include "moonloop/core/script/script.h"

#include "build.h"

#include <stdlib.h>

#define HEAD                                                                               \
    "@T.prim_func\n"                                                                       \
    "def main(P: T.Buffer((8,), \"%s\"), Q: T.Buffer((8,), \"int32\"), "                   \
    "A: T.Buffer((16,), \"int32\"), C: T.Buffer((8,), \"int32\")):\n"
#define BLOCK                                                                              \
    HEAD "    for i in range(8):\n"                                                        \
         "        with T.block(\"C\"):\n"                                                  \
         "            a = T.axis.spatial(8, i)\n"                                          \
         "            C[a] = %s\n"

static const ml_Func *parsed(Fix *x, const char *text)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);

    if (p.mod == NULL)
        fail_msg("%s in\n%s", p.diags[0].message, text);
    return p.mod->funcs[0];
}

static const ml_Func *storing(Fix *x, const char *type, const char *value)
{
    return parsed(x, ml_format(x->cx, BLOCK, type, value));
}

/* Whether some seed of three tells the two apart; both run without an error. */
static bool told_apart(Fix *x, const ml_Func *f, const ml_Func *g, bool *blind)
{
    bool apart = false;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        ml_CheckOpts o = {.seed = seed};
        ml_CheckResult r;

        if (!ml_check(x->cx, NULL, f, NULL, g, &o, &r))
            fail_msg("%s: %s", ml_error_code(ml_error(x->cx)->code),
                     ml_error(x->cx)->n_notes ? ml_error(x->cx)->notes[0] : "");
        apart |= !r.ok;
        *blind = *r.blind != '\0';
    }
    return apart;
}

static void another_index_is_seen(void **state)
{
    static const char *const row[][2] = {
        {"A[P[a]]", "A[T.min(P[a], 7)]"},
        {"A[T.floormod(P[a], 8)]", "A[T.floormod(P[a] * 5, 8)]"},
        {"A[P[a] + 1]", "A[P[a] // 2 + 1]"},
        {"A[P[a] - 3]", "A[T.max(P[a] - 3, 1)]"},
        {"A[P[a] * 2 + 1]", "A[P[a] + 1]"},
        {"A[15 - P[a]]", "A[15 - P[a] // 2]"},
        {"A[P[a] + Q[a]]", "A[P[a] + Q[7 - a]]"},
        {"A[P[a] + Q[a]]", "A[P[7 - a] + Q[a]]"},
        {"A[P[a] + a]", "A[a]"},
        {"A[T.if_then_else(P[a] < 3, P[a] + 8, 0) % 16]", "A[0]"},
        {"T.if_then_else(P[a] >= 0 and P[a] < 16, A[P[a]], 0)",
         "T.if_then_else(P[a] >= 0 and P[a] < 16, A[15 - P[a]], 0)"},
        {"T.if_then_else(P[a] >= 0 and P[a] < 16, A[P[a]], 7)",
         "T.if_then_else(P[a] >= 0 and P[a] < 16, A[P[a]], 8)"},
        {"A[T.max(T.min(P[a], 15), 0)]", "A[T.min(T.max(P[a], 3), 15)]"},
        {"A[P[Q[a]]]", "A[P[a]]"},
        {"A[P[a] // 4 * 4 + P[a] % 4]", "A[P[a] // 4 * 4]"},
        {"A[8 // P[a]]", "A[7 // P[a]]"}};
    Fix *x = *state;
    bool blind;

    for (size_t k = 0; k < ML_COUNT(row); k++) {
        if (!told_apart(x, storing(x, "int32", row[k][0]), storing(x, "int32", row[k][1]),
                        &blind))
            fail_msg("%s and %s look the same", row[k][0], row[k][1]);
        assert_false(blind);
        if (told_apart(x, storing(x, "int32", row[k][0]), storing(x, "int32", row[k][0]),
                       &blind))
            fail_msg("%s differs from itself", row[k][0]);
    }
}

static void narrow_and_wide_integers_serve_as_indices(void **state)
{
    static const char *const types[] = {"int8", "uint8", "int16", "int64", "uint32"};
    Fix *x = *state;
    bool blind;

    for (size_t k = 0; k < ML_COUNT(types); k++)
        if (!told_apart(x, storing(x, types[k], "A[T.Cast(\"int32\", P[a]) + 2]"),
                        storing(x, types[k], "A[T.Cast(\"int32\", P[a]) // 3 + 2]"),
                        &blind))
            fail_msg("%s", types[k]);
}

/* Rows of a sparse matrix; loops as long as an input says; an index that was stored. */
static void loops_and_stored_indices_stay_inside(void **state)
{
    static const char *const row[][2] = {{"        for j in range(P[i + 1] - P[i]):\n"
                                          "            C[i] = C[i] + A[P[i] + j]\n",
                                          "        for j in range(P[i + 1] - P[i]):\n"
                                          "            C[i] = C[i] + A[P[i] + j // 2]\n"},
                                         {"        for j in range(P[i]):\n"
                                          "            C[i] = C[i] + A[j]\n",
                                          "        for j in range(P[i] // 2):\n"
                                          "            C[i] = C[i] + A[j]\n"},
                                         {"        if P[i] < 5:\n"
                                          "            C[i] = A[P[i] + 9]\n",
                                          "        if P[i] < 5:\n"
                                          "            C[i] = A[9]\n"},
                                         {"        for j in range(2):\n"
                                          "            C[i] = A[T.min(P[i] + j, 14)]\n",
                                          "        for j in range(2):\n"
                                          "            C[i] = A[T.min(P[i] + j, 13)]\n"}};
    Fix *x = *state;
    bool blind;

    for (size_t k = 0; k < ML_COUNT(row); k++) {
        const ml_Func *f[2];

        for (int v = 0; v < 2; v++)
            f[v] = parsed(x, ml_format(x->cx,
                                       HEAD "    for i in range(7):\n"
                                            "        C[i] = 0\n%s",
                                       "int32", row[k][v]));
        if (!told_apart(x, f[0], f[1], &blind))
            fail_msg("%s", row[k][0]);
        assert_false(blind);
    }
}

#define THROUGH                                                                            \
    HEAD "    T_1 = T.alloc_buffer((8,), \"int32\")\n"                                     \
         "    for i in range(8):\n"                                                        \
         "        with T.block(\"T_1\"):\n"                                                \
         "            a = T.axis.spatial(8, i)\n"                                          \
         "            T_1[a] = P[a] * %d\n"                                                \
         "    for i in range(8):\n"                                                        \
         "        with T.block(\"C\"):\n"                                                  \
         "            a = T.axis.spatial(8, i)\n"                                          \
         "            C[a] = A[T_1[a] + 1]\n"

static void an_index_through_a_buffer_keeps_its_argument_inside(void **state)
{
    Fix *x = *state;
    const ml_Func *f = parsed(x, ml_format(x->cx, THROUGH, "int32", 3));
    const ml_Func *g = parsed(x, ml_format(x->cx, THROUGH, "int32", 2));
    bool blind;

    assert_true(told_apart(x, f, g, &blind));
    assert_false(blind);
}

static void a_number_serves_as_an_offset(void **state)
{
    const char *text =
        "@T.prim_func\n"
        "def main(n: T.int32, A: T.Buffer((4,), \"int32\"), C: T.Buffer((2,), "
        "\"int32\")):\n"
        "    for i in range(2):\n"
        "        C[i] = A[i + n]\n";
    Fix *x = *state;
    ml_IndexValues v[3];
    bool blind;

    ml_index_values(x->cx, parsed(x, text), NULL, 0, v);
    assert_true(v[0].index && v[0].fits && v[0].lo == 0 && v[0].hi == 2);
    assert_false(told_apart(x, parsed(x, text), parsed(x, text), &blind));
}

static void what_leaves_no_choice_is_told(void **state)
{
    Fix *x = *state;
    bool blind;
    const ml_Func *f = storing(x, "int32", "A[P[a] * 16 + a]");

    assert_false(told_apart(x, f, storing(x, "int32", "A[P[a] * 8 + a]"), &blind));
    assert_true(blind);
}

/* Random index expressions: they run, and most changed ones are told apart. */
static const char *random_index(Fix *x, ml_Random *r, int depth)
{
    static const char *const leaves[] = {"P[a]", "Q[a]", "P[7 - a]", "a", "Q[a // 2]"};
    uint64_t k = ml_random_below(r, depth > 0 ? 9 : 4);
    const char *e, *g;
    int c = 1 + (int)ml_random_below(r, 5);

    if (k < 3)
        return leaves[ml_random_below(r, ML_COUNT(leaves))];
    e = depth > 0 ? random_index(x, r, depth - 1) : "P[a]";
    g = depth > 0 ? random_index(x, r, depth - 1) : "a";
    switch (k) {
    case 3: return ml_format(x->cx, "T.floormod(%s, %d)", e, c + 1);
    case 4: return ml_format(x->cx, "(%s + %s)", e, g);
    case 5: return ml_format(x->cx, "(%s * %d)", e, c);
    case 6: return ml_format(x->cx, "T.min(%s, %d)", e, c + 3);
    case 7: return ml_format(x->cx, "(%s - %d)", e, c);
    default: return ml_format(x->cx, "T.floordiv(%s, %d)", e, c);
    }
}

static void random_indices_run_and_changes_are_seen(void **state)
{
    Fix *x = *state;
    ml_Random r = ml_random("indices", 0, 1);
    int n = getenv("ML_QUICK") ? 60 : 400, made = 0, seen = 0;

    for (int k = 0; k < n; k++) {
        const char *e = random_index(x, &r, 3);
        const ml_Func *f = storing(x, "int32", ml_format(x->cx, "A[%s]", e)), *g;
        ml_IndexValues v[4];
        bool blind;

        ml_index_values(x->cx, f, NULL, 0, v);
        if (!v[0].fits || !v[1].fits || !(v[0].index || v[1].index))
            continue;
        made++;
        g = storing(x, "int32",
                    ml_format(x->cx, "A[T.floormod(%s + T.floormod(%s, 2), 16)]", e,
                              v[0].index ? "P[a]" : "Q[a]"));
        if (told_apart(x, f, f, &blind))
            fail_msg("%s differs from itself", e);
        seen += told_apart(x, f, g, &blind) || blind;
    }
    if (made < n / 4 || seen < made * 9 / 10)
        fail_msg("%d of %d fit, %d of them told apart", made, n, seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_index_is_seen),
        TEST(narrow_and_wide_integers_serve_as_indices),
        TEST(loops_and_stored_indices_stay_inside),
        TEST(an_index_through_a_buffer_keeps_its_argument_inside),
        TEST(a_number_serves_as_an_offset),
        TEST(what_leaves_no_choice_is_told),
        TEST(random_indices_run_and_changes_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
