/*
 * test_self_check - what is kept beside a program is compared with what is computed anew:
 * right programs pass, a wrong index, a wrong summary, a wrong memory and wrong regions are
 * found and named. Source: ir-and-analysis 8.5.
 */
#include "verify_test.h"

#include "moonloop/verify/facts.h"

#define HEAD                                                                               \
    "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), C: T.Buffer((16,), "             \
    "\"float32\")):\n    B = T.alloc_buffer((16,))\n"
#define STAGE(name, to, from)                                                              \
    "    for i in range(16):\n        with T.block(\"" name "\"):\n"                       \
    "            v = T.axis.S(16, i)\n            " to "[v] = " from "[v] + 1.0\n"

typedef struct Two {
    ml_Ctx *cx;
    ml_Program p, q;
    ml_Facts *facts;
} Two;

static ml_Program program(ml_Ctx *cx, const char *text)
{
    ml_Parsed r = ml_parse(cx, ml_str(text), NULL);

    assert_non_null(r.mod);
    return (ml_Program){r.mod, ml_index_build(cx, r.mod)};
}

static Two two(const char *a, const char *b)
{
    Two t = {.cx = ml_ctx_new(0)};

    t.p = program(t.cx, a);
    t.q = program(t.cx, b);
    t.facts = ml_facts_new(t.cx);
    return t;
}

static void finds(Two *t, ml_Program p, uint32_t what, const char *says)
{
    bool ok = ml_self_check(t->cx, t->facts, (ml_Program){0}, p, what);

    if (!says) {
        if (!ok)
            fail_msg("%s", ml_error(t->cx)->facts[0].as.text);
        return;
    }
    assert_false(ok);
    assert_int_equal(ml_error(t->cx)->code, ML_E_SELF_CHECK);
    if (!strstr(ml_error(t->cx)->facts[0].as.text, says))
        fail_msg("%s", ml_error(t->cx)->facts[0].as.text);
    ml_error_clear(t->cx);
}

static void done(Two *t)
{
    ml_facts_free(t->facts);
    ml_ctx_unref(t->cx);
}

static void right_programs_pass(void **state)
{
    Two t = two(
        HEAD STAGE("b", "B", "A") STAGE("c", "C", "B"), HEAD
        "    for i in range(16):\n        with T.block(\"o\"):\n"
        "            v = T.axis.S(16, i)\n            for k in range(4):\n"
        "                with T.block(\"n\"):\n"
        "                    w = T.axis.S(16, v)\n                    u = T.axis.R(4, k)\n"
        "                    with T.init():\n                        C[w] = 0.0\n"
        "                    C[w] += A[u]\n");

    (void)state;
    finds(&t, t.p, UINT32_MAX, NULL);
    finds(&t, t.q, UINT32_MAX, NULL);
    finds(&t, t.p, UINT32_MAX, NULL); /* with answers that are remembered */
    done(&t);
}

static void an_index_of_another_program_is_found(void **state)
{
    Two t = two(HEAD STAGE("b", "B", "A") STAGE("c", "C", "B"), HEAD STAGE("b", "C", "A"));

    (void)state;
    finds(&t, (ml_Program){t.p.mod, t.q.index}, ML_CHECK_TABLES, "");
    finds(&t, (ml_Program){t.p.mod, t.q.index}, 0, NULL);
    done(&t);
}

static void a_wrong_summary_is_found(void **state)
{
    Two t = two(HEAD STAGE("b", "B", "A") STAGE("c", "C", "B"), HEAD STAGE("b", "C", "A"));
    ml_Block root = *ml_as_block(t.p.mod->funcs[0]->body);
    ml_Func f = *t.p.mod->funcs[0];
    const ml_Func *one = &f;
    ml_Program wrong;

    (void)state;
    assert_true(ml_stmt_summary_holds(&root.base));
    root.base.depth++;
    assert_false(ml_stmt_summary_holds(&root.base));
    f.body = &root.base;
    wrong.mod = ml_module_new(t.cx, &one, 1, NULL);
    wrong.index = ml_index_build(t.cx, wrong.mod);
    finds(&t, wrong, ML_CHECK_TABLES, "summary");
    done(&t);
}

static void a_wrong_memory_is_found(void **state)
{
    Two t = two(HEAD STAGE("c", "C", "B") STAGE("b", "B", "A"), HEAD STAGE("b", "C", "A"));
    const ml_Stmt *root = t.p.mod->funcs[0]->body;

    (void)state;
    finds(&t, t.p, ML_CHECK_FLAGS, NULL);
    ml_facts_forget(t.facts);
    ml_set_shown(t.facts, ML_SHOWN_PIPELINE, ml_stmt_uid(root), ml_node_body(root));
    finds(&t, t.p, ML_CHECK_FLAGS,
          "block root: that its scope is a stage pipeline is "
          "remembered as true, it is false");
    done(&t);
}

static void wrong_regions_are_found(void **state)
{
#define DECLARED(reads, writes)                                                            \
    HEAD "    for i in range(8):\n        with T.block(\"b\"):\n"                          \
         "            v = T.axis.S(8, i)\n            T.reads(" reads ")\n"                \
         "            T.writes(" writes ")\n            C[v + 1] = A[v]\n"
    Two t = two(DECLARED("A[0:16]", "C[v:v + 2]"), DECLARED("A[v]", "C[v]"));
    Two u = two(DECLARED("", "C[v + 1]"), DECLARED("A[v + 1]", "C[v + 1]"));

    (void)state;
    finds(&t, t.p, ML_CHECK_REGIONS, NULL);
    finds(&t, t.q, ML_CHECK_REGIONS, "block b writes C outside of what is declared");
    finds(&u, u.p, ML_CHECK_REGIONS, "block b reads A, which is not declared");
    finds(&u, u.q, ML_CHECK_REGIONS, "block b reads A outside of what is declared");
    /* a buffer that is declared twice */
    Two twice = two(DECLARED("A[0:2], A[v:v + 1]", "C[0:3], C[5:9]"),
                    DECLARED("A[v + 1:v + 2], A[v + 2:v + 3]", "C[v + 1]"));

    finds(&twice, twice.p, ML_CHECK_REGIONS, NULL);
    finds(&twice, twice.q, ML_CHECK_REGIONS, "block b reads A outside of what is declared");
    done(&twice);
    /* a block that was there before is not the step's */
    assert_true(ml_self_check(u.cx, u.facts, u.q, u.q, ML_CHECK_REGIONS));
    done(&t);
    done(&u);
}

/* Padding: the only instance reads before the buffer, where nothing is. */
static void what_lies_outside_of_the_buffer_need_not_be_declared(void **state)
{
    static const char text[] =
        HEAD "    for i in range(1):\n        with T.block(\"b\"):\n"
             "            v = T.axis.S(1, i)\n            T.reads(A[0:3])\n"
             "            T.writes(C[v])\n"
             "            C[v] = T.if_then_else(1 <= v, A[v - 1], T.float32(0))\n";
    Two t = two(text, text);

    (void)state;
    finds(&t, t.p, ML_CHECK_REGIONS, NULL);
    done(&t);
}

static void what_never_runs_touches_nothing(void **state)
{
    Two t = two(HEAD "    with T.block(\"o\"):\n        T.reads()\n"
                     "        T.writes(C[1])\n        for i in range(1, 2):\n"
                     "            with T.block(\"b\"):\n"
                     "                v = T.axis.S(1, i)\n                T.where(i < 1)\n"
                     "                C[v] = 1.0\n",
                HEAD "    for i in range(3, 4):\n        with T.block(\"b\"):\n"
                     "            v = T.axis.S((3, 4), i)\n            T.reads()\n"
                     "            T.writes(C[v:v + T.min(3 - v, 1)])\n"
                     "            for k in range(T.min(3 - v, 1)):\n"
                     "                C[v + k] = 1.0\n");
    Two w = two("@T.prim_func\ndef f(A: T.Buffer((2,), \"float32\"), C: T.Buffer((16,), "
                "\"float32\")):\n    for i in range(3, 4):\n"
                "        with T.block(\"b\"):\n            v = T.axis.S((3, 4), i)\n"
                "            T.reads(A[2:2])\n            T.writes(C[v])\n"
                "            for k in range(1):\n"
                "                C[v + k] = T.if_then_else(1 <= v + k and v + k < 3, "
                "A[v + k - 1], 0.0)\n",
                HEAD "    for i in range(3, 4):\n        with T.block(\"b\"):\n"
                     "            v = T.axis.S((3, 4), i)\n            T.reads()\n"
                     "            T.writes(C[5])\n            if v < 3:\n"
                     "                C[v] = 1.0\n            else:\n"
                     "                C[5] = 1.0\n");
    Two u = two(HEAD "    with T.block(\"o\"):\n        T.reads()\n"
                     "        T.writes(C[5])\n        for i in range(1):\n"
                     "            with T.block(\"b\"):\n"
                     "                v = T.axis.S(1, i)\n                T.where(i < 1)\n"
                     "                C[v] = 1.0\n",
                HEAD STAGE("b", "B", "A"));

    (void)state;
    finds(&t, t.p, ML_CHECK_REGIONS, NULL);
    finds(&t, t.q, ML_CHECK_REGIONS, NULL);
    finds(&w, w.p, ML_CHECK_REGIONS, NULL);
    finds(&w, w.q, ML_CHECK_REGIONS, NULL);
    finds(&u, u.p, ML_CHECK_REGIONS, "block o writes C outside of what is declared");
    done(&t);
    done(&w);
    done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_programs_pass),
        cmocka_unit_test(an_index_of_another_program_is_found),
        cmocka_unit_test(a_wrong_summary_is_found),
        cmocka_unit_test(a_wrong_memory_is_found),
        cmocka_unit_test(wrong_regions_are_found),
        cmocka_unit_test(what_lies_outside_of_the_buffer_need_not_be_declared),
        cmocka_unit_test(what_never_runs_touches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
