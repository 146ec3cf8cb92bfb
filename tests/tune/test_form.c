/*
 * test_form - forms of a vector: folding, the path of questions, and programs, which give
 * what the graph gives, for every operator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/tune/form/form.h"

enum { INPUTS = 5, NODES = 3000 };

static uint32_t draw(uint64_t *s, uint32_t n)
{
    *s = *s * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*s >> 33) % n);
}

/* A node of any operator over those there are; divisors are positive. What is no integer is
 * an operand of nothing but a comparison. */
static ml_Num random_node(ml_Forms *f, uint64_t *s, const ml_Num *from, uint32_t n)
{
    static const double table[] = {3, 1, 4, 1, 5};
    ml_Num a = from[draw(s, n)], b = from[draw(s, n)], c = from[draw(s, n)];
    ml_Num positive = from[draw(s, INPUTS)];
    ml_FormOp op = (ml_FormOp)(ML_FORM_PICK + draw(s, ML_FORM_OPS - ML_FORM_PICK));

    if (op == ML_FORM_PICK)
        return ml_form_pick(f, ml_form_mod(f, a, ml_form_const(f, 5)), table, 5);
    if (op == ML_FORM_MUL || op == ML_FORM_ADD || op == ML_FORM_SUB) /* stay small */
        return ml_form(f, op, ml_form_mod(f, a, ml_form_const(f, 1000)),
                       ml_form_mod(f, b, ml_form_const(f, 50)), 0);
    if (op == ML_FORM_FLOORDIV || op == ML_FORM_MOD || op == ML_FORM_DIV)
        b = positive;
    if (op == ML_FORM_DIV)
        return ml_form_lt(f, ml_form_div(f, a, b), ml_form_slog(f, c));
    if (op == ML_FORM_SLOG)
        return ml_form_le(f, ml_form_slog(f, a), b);
    return ml_form(f, op, a, b, c);
}

static void programs_give_what_the_graph_gives(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Forms f;
    ml_Num nodes[NODES], out[200];
    ml_FormProgram p;
    uint64_t s = 7;
    double *x = ML_ARRAY(cx, double, INPUTS *ML_LANES), at[INPUTS], *room;

    ml_forms_init(&f, cx);
    for (size_t k = 0; k < INPUTS * ML_LANES; k++)
        x[k] = 1 + draw(&s, 64);
    for (size_t k = 0; k < INPUTS; k++)
        at[k] = x[k * ML_LANES];
    ml_forms_at(&f, at);
    for (uint32_t k = 0; k < INPUTS; k++)
        nodes[k] = ml_form_input(&f, k, 1, 64);
    for (uint32_t k = INPUTS; k < NODES; k++)
        nodes[k] = random_node(&f, &s, nodes, k);
    for (size_t k = 0; k < ML_COUNT(out); k++)
        out[k] = nodes[draw(&s, NODES)];
    assert_true(ml_form_compile(cx, &f, out, ML_COUNT(out), &p));
    room = ML_ARRAY(cx, double, ml_form_room(&p));
    ml_form_ready(&p, room);
    for (int again = 0; again < 2; again++) { /* constants stay where they are */
        ml_form_run(&p, ML_LANES, x, room);
        for (size_t l = 0; l < ML_LANES; l++) {
            for (size_t k = 0; k < INPUTS; k++)
                at[k] = x[k * ML_LANES + l];
            ml_forms_at(&f, at);
            for (size_t k = 0; k < ML_COUNT(out); k++) {
                double want = ml_form_value(&f, out[k]);
                double have = room[(size_t)p.out[k] * ML_LANES + l];

                assert_memory_equal(&want, &have, sizeof want);
            }
        }
    }
    ml_ctx_unref(cx);
}

/* What folds says the same of all vectors within the bounds. */
static void bounds_hold(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Forms f;
    ml_Num nodes[NODES];
    uint64_t s = 11;
    double at[INPUTS] = {1, 1, 1, 1, 1};

    ml_forms_init(&f, cx);
    ml_forms_at(&f, at);
    for (uint32_t k = 0; k < INPUTS; k++)
        nodes[k] = ml_form_input(&f, k, 1, 64);
    for (uint32_t k = INPUTS; k < NODES; k++)
        nodes[k] = random_node(&f, &s, nodes, k);
    for (int turn = 0; turn < 200; turn++) {
        for (size_t k = 0; k < INPUTS; k++)
            at[k] = 1 + draw(&s, 64);
        ml_forms_at(&f, at);
        for (size_t k = 0; k < f.nodes.n; k++) {
            const ml_FormNode *n = &f.nodes.v[k];

            assert_true(n->value >= n->lo && n->value <= n->hi);
        }
    }
    ml_ctx_unref(cx);
}

static void a_question_is_on_the_path_once(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Forms f;
    const double at[1] = {6};

    ml_forms_init(&f, cx);
    ml_forms_at(&f, at);
    ml_Num x = ml_form_input(&f, 0, 1, 64), two = ml_form_const(&f, 2);
    ml_Num even = ml_form_eq(&f, ml_form_mod(&f, x, two), ml_form_const(&f, 0));

    assert_true(ml_form_holds(&f, even));
    assert_true(ml_form_holds(&f, even));
    assert_true(ml_form_holds(&f, ml_form_lt(&f, ml_form_const(&f, 0), x)));
    assert_false(ml_form_holds(&f, ml_form_eq(&f, x, two)));
    assert_int_equal(f.path.n, 2);
    assert_true(f.path.v[0].yes && !f.path.v[1].yes);
    /* x * 2 // 2 is x, and its remainder 0 */
    assert_int_equal(ml_form_floordiv(&f, ml_form_mul(&f, x, two), two), x);
    assert_true(ml_form_is(&f, ml_form_mod(&f, ml_form_mul(&f, x, two), two), 0));
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_give_what_the_graph_gives),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(a_question_is_on_the_path_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
