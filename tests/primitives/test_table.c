/* The table of primitives: what each entry must say, that each error it lists has a case or
 * a test that provokes it, that each example runs, that sentences fit their facts. */
#include "cases.h"

#include <stdlib.h>

#include "moonloop/primitives/call/render.h"

/* ---- entries */

static void names_and_texts_are_there(void **state)
{
    (void)state;
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        assert_true(*p->name && *p->kind && *p->group && *p->summary && *p->help);
        assert_ptr_equal(p, ml_primitive_find(p->name));
        assert_ptr_equal(p, ml_primitive_of_kind(p->kind));
        if (!ml_streq(p->cases, p->name))
            fail_msg("%s: its cases are in %s", p->name, p->cases);
        if (strlen(p->summary) > 70 || strchr(p->summary, '\n') ||
            p->summary[strlen(p->summary) - 1] == '.')
            fail_msg("%s: the summary is one phrase: %s", p->name, p->summary);
        assert_non_null(p->apply);
        assert_non_null(p->errors);
        /* Queries and samples, no rewrites; the mark stays where nothing uses it. */
        if (!ml_streq(p->name, "enter_postproc"))
            assert_int_equal(p->pure, p->no_version);
    }
}

static void every_parameter_has_a_name_and_a_doc_string(void **state)
{
    (void)state;
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];
        bool optional = false;

        for (size_t m = 0; m < p->n_params; m++) {
            const ml_Param *q = &p->params[m];

            if (!q->name || !*q->name || !q->doc || !*q->doc)
                fail_msg("%s: parameter %zu says nothing", p->name, m);
            if (optional && !q->optional)
                fail_msg("%s: %s stands behind an optional parameter", p->name, q->name);
            optional = q->optional;
            for (size_t j = 0; j < m; j++)
                assert_string_not_equal(q->name, p->params[j].name);
        }
    }
}

/* The order in which help and manual show them. */
static void primitives_stand_in_their_order(void **state)
{
    static const char *const order[] = {"get_block",
                                        "get_loops",
                                        "get_child_blocks",
                                        "get_producers",
                                        "get_consumers",
                                        "get_output_blocks",
                                        "split",
                                        "loop_partition",
                                        "merge",
                                        "fuse",
                                        "reorder",
                                        "reorder_block_iter_var",
                                        "add_unit_loop",
                                        "parallel",
                                        "vectorize",
                                        "unroll",
                                        "bind",
                                        "compute_at",
                                        "reverse_compute_at",
                                        "compute_inline",
                                        "reverse_compute_inline",
                                        "cache_read",
                                        "cache_write",
                                        "decompose_reduction",
                                        "annotate",
                                        "unannotate",
                                        "sample_categorical",
                                        "sample_perfect_tile",
                                        "set_scope",
                                        "storage_align"};
    size_t at = 0;

    (void)state;
    for (size_t k = 0; k < ml_n_primitives; k++)
        if (at < ML_COUNT(order) && ml_streq(order[at], ml_primitives[k]->name))
            at++;
    if (at < ML_COUNT(order))
        fail_msg("%s is missing or stands too early", order[at]);
}

static void other_spellings_resolve(void **state)
{
    static const struct {
        const char *other, *name;
    } v[] = {
        {"get_sblock", "get_block"}, {"get_axes", "get_loops"}, {"pragma", "annotate"}};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(v); k++) {
        if (!ml_primitive_find(v[k].other))
            fail_msg("%s is not understood", v[k].other);
        assert_string_equal(v[k].name, ml_primitive_find(v[k].other)->name);
    }
    assert_string_equal("get_block", ml_primitive_of_kind("GetSBlock")->name);
    assert_null(ml_primitive_find("get_blocks_all"));
    assert_null(ml_primitive_of_kind("get_block"));
}

/* Names of parameters that are accepted too (primitives 13). */
static void other_names_of_parameters_resolve(void **state)
{
    Fixture fx;

    (void)state;
    fx_matmul(&fx, 16, 16, 16);
    fx_apply(&fx, "split{loop = \"i\", factor = 4} split{loop = \"j\", nparts = 4}");
    fx_apply(&fx, "bind{loop = \"i_0\", thread = \"blockIdx.x\"}");
    fx_apply(&fx, "reorder({\"j_0\", \"i_1\"}) fuse({\"j_0\", \"i_1\"})");
    fx_close(&fx);
}

/* ---- errors */

/* What cannot be reached by the calls of a case, and the test below that provokes it. */
static const struct {
    const char *primitive, *code;
} elsewhere[] = {
    {"decompose_reduction", "loop-dependent"}, /* what_a_skipped_check_lets_through */
    {"rfactor", "loop-dependent"},             /* the same */
    {"add_unit_loop", "too-deep"},             /* nesting_has_a_limit */
    {"transform_layout", "pad-foreign-load"},  /* test_transform_layout */
    {"get_block", "no-blocks"},                /* tests/lua/program.lua */
    {"specialize", "not-supported"},           /* tests/lua/specialize.lua */
};

typedef struct Seen {
    bool codes[ML_E_COUNT];
} Seen;

static const ml_Primitive *last_prim(ml_Ctx *cx, const char *calls)
{
    ml_CallTexts c = {0};

    if (!ml_parse_calls(cx, ml_str(calls), &c) || c.n == 0)
        fail_msg("%s: no call", calls);
    return c.v[c.n - 1].prim;
}

static void look(Seen *seen)
{
    for (const ml_EmbeddedFile *f = ml_case_files; f->name; f++) {
        ml_Ctx *cx = ml_ctx_new(0);
        Cases cases = {0};

        cases_read(cx, f->name, f->text, &cases);
        for (size_t k = 0; k < cases.n; k++) {
            const ml_Primitive *p = last_prim(cx, cases.v[k].calls);
            size_t at = 0;

            while (ml_primitives[at] != p)
                at++;
            if (cases.v[k].code)
                seen[at].codes[ml_error_find(cases.v[k].code)] = true;
        }
        ml_ctx_unref(cx);
    }
}

static bool is_elsewhere(const ml_Primitive *p, const char *code)
{
    for (size_t k = 0; k < ML_COUNT(elsewhere); k++)
        if (ml_streq(elsewhere[k].primitive, p->name) && ml_streq(elsewhere[k].code, code))
            return true;
    return false;
}

static void every_listed_error_has_a_case(void **state)
{
    Seen *seen = calloc(ml_n_primitives, sizeof *seen);
    int missing = 0;

    (void)state;
    assert_non_null(seen);
    look(seen);
    for (size_t k = 0; k < ml_n_primitives; k++)
        for (const ml_ErrorCode *e = ml_primitives[k]->errors; *e != ML_E_OK; e++)
            if (!seen[k].codes[*e] && !is_elsewhere(ml_primitives[k], ml_error_code(*e))) {
                print_message("%s: no case for %s\n", ml_primitives[k]->name,
                              ml_error_code(*e));
                missing++;
            }
    free(seen);
    assert_int_equal(0, missing);
}

/* Errors of the call itself: arguments, names, limits. */
static bool is_of_the_call(ml_ErrorCode e)
{
    static const ml_ErrorCode codes[] = {
        ML_E_BAD_ARGUMENT,      ML_E_BAD_HANDLE,       ML_E_EXPIRED_HANDLE,
        ML_E_WRONG_HANDLE_KIND, ML_E_NO_SUCH_BLOCK,    ML_E_AMBIGUOUS_BLOCK,
        ML_E_NO_SUCH_LOOP,      ML_E_AMBIGUOUS_LOOP,   ML_E_BUFFER_INDEX,
        ML_E_BUFFER_NOT_FOUND,  ML_E_BUFFER_AMBIGUOUS, ML_E_INDEX_OVERFLOW,
        ML_E_TOO_DEEP,          ML_E_NO_FUNCTION};

    for (size_t k = 0; k < ML_COUNT(codes); k++)
        if (codes[k] == e)
            return true;
    return false;
}

static void what_a_primitive_refuses_with_is_listed(void **state)
{
    Seen *seen = calloc(ml_n_primitives, sizeof *seen);
    int missing = 0;

    (void)state;
    assert_non_null(seen);
    look(seen);
    for (size_t k = 0; k < ml_n_primitives; k++)
        for (int e = 1; e < ML_E_COUNT; e++) {
            bool listed = is_of_the_call((ml_ErrorCode)e);

            for (const ml_ErrorCode *l = ml_primitives[k]->errors; *l != ML_E_OK; l++)
                listed |= *l == (ml_ErrorCode)e;
            if (seen[k].codes[e] && !listed) {
                print_message("%s does not list %s\n", ml_primitives[k]->name,
                              ml_error_code((ml_ErrorCode)e));
                missing++;
            }
        }
    free(seen);
    assert_int_equal(0, missing);
}

/* {0}, {1} ...: each number up to the highest one occurs. */
static unsigned n_holes(const char *sentence, const char *code)
{
    unsigned seen = 0, n = 0;

    for (const char *p = sentence; (p = strchr(p, '{')); p++) {
        if (p[1] < '0' || p[1] > '9' || p[2] != '}')
            fail_msg("%s: a malformed hole in: %s", code, sentence);
        seen |= 1u << (p[1] - '0');
        n = (unsigned)(p[1] - '0') >= n ? (unsigned)(p[1] - '0') + 1 : n;
    }
    if (seen != (1u << n) - 1)
        fail_msg("%s: a number is left out in: %s", code, sentence);
    return n;
}

/* {2} of iter-not-parallel is the iter, {1} the kind of the loop, which is shown at the
 * mark. */
static bool may_skip(const char *code)
{
    static const char *const codes[] = {"iter-not-parallel", "factors-too-small",
                                        "factors-too-large"};

    for (size_t k = 0; k < ML_COUNT(codes); k++)
        if (ml_streq(code, codes[k]))
            return true;
    return false;
}

static void sentences_number_their_facts(void **state)
{
    (void)state;
    for (int e = 1; e < ML_E_COUNT; e++) {
        const char *code = ml_error_code((ml_ErrorCode)e);

        if (!may_skip(code))
            n_holes(ml_error_sentence((ml_ErrorCode)e), code);
        assert_int_equal(e, ml_error_find(code));
    }
}

static unsigned highest_hole(const char *sentence)
{
    unsigned n = 0;

    for (const char *p = sentence; (p = strchr(p, '{')); p++)
        n = (unsigned)(p[1] - '0') >= n ? (unsigned)(p[1] - '0') + 1 : n;
    return n;
}

static void every_refusal_fills_its_sentence(void **state)
{
    (void)state;
    for (const ml_EmbeddedFile *f = ml_case_files; f->name; f++) {
        ml_Ctx *cx = ml_ctx_new(0);
        Cases cases = {0};

        cases_read(cx, f->name, f->text, &cases);
        for (size_t k = 0; k < cases.n; k++) {
            Fixture fx;

            if (!cases.v[k].code)
                continue;
            fx_text(&fx, cases_whole(cx, cases.v[k].program, cases.v[k].program));
            assert_false(fx_try(&fx, cases.v[k].calls));
            const ml_Error *e = ml_schedule_error(fx.s);

            if (e->n_facts < highest_hole(ml_error_says(e)))
                fail_msg("%s:%u: %u facts for: %s", f->name, cases.v[k].line, e->n_facts,
                         ml_error_says(e));
            fx_close(&fx);
        }
        ml_ctx_unref(cx);
    }
}

/* ---- examples */

static void every_example_runs(void **state)
{
    (void)state;
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];
        ml_CaseExample ex = {0};

        if (!ml_case_example(p->cases, &ex))
            fail_msg("%s has no example", p->name);
        if (!ex.ok)
            fail_msg("the example of %s fails: %s", p->name, ml_text_z(&ex.after));
        if (!strstr(ml_text_z(&ex.call), p->name))
            fail_msg("the example of %s calls %s", p->name, ml_text_z(&ex.call));
        assert_int_equal(p->no_version,
                         ml_streq(ml_text_z(&ex.before), ml_text_z(&ex.after)));
        ml_case_example_free(&ex);
    }
}

/* ---- what enable_check = false skips (primitives 1.4) */

static void open_unchecked(Fixture *fx, const char *text)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    assert_non_null(p.mod);
    fx_open(fx, cx, p.mod, &(ml_ScheduleOpts){.no_check = true});
}

static void what_a_skipped_check_lets_through(void **state)
{
    Fixture fx;

    (void)state;
    open_unchecked(&fx, "@T.prim_func\n"
                        "def main(A: T.Buffer((8, 8)), Y: T.Buffer((8,))):\n"
                        "    for k in range(8):\n"
                        "        for i in range(k + 1):\n"
                        "            with T.block(\"M\"):\n"
                        "                c, a = T.axis.remap(\"RS\", [k, i])\n"
                        "                with T.init():\n"
                        "                    Y[a] = T.float32(0)\n"
                        "                Y[a] = Y[a] + A[a, c]\n");
    fx_refuses(&fx, ML_E_LOOP_DEPENDENT, "decompose_reduction(\"M\", \"k\")");
    fx_refuses(&fx, ML_E_LOOP_DEPENDENT, "rfactor(\"k\", 0)");
    fx_close(&fx);
    open_unchecked(&fx, "@T.prim_func\n"
                        "def main(A: T.Buffer((8, 8)), Y: T.Buffer((8,))):\n"
                        "    for i, k in T.grid(8, 8):\n"
                        "        with T.block(\"M\"):\n"
                        "            a, c = T.axis.remap(\"SR\", [i, k])\n"
                        "            T.where(i + k < 3)\n"
                        "            with T.init():\n"
                        "                Y[a] = T.float32(0)\n"
                        "            Y[a] = Y[a] + A[a, c]\n");
    fx_refuses(&fx, ML_E_INIT_MISPLACED, "decompose_reduction(\"M\", \"i\")");
    fx_close(&fx);
}

static void a_skipped_check_is_the_stage_pipeline(void **state)
{
    static const char text[] = "@T.prim_func\n"
                               "def main(A: T.Buffer((8,)), C: T.Buffer((8,))):\n"
                               "    B = T.alloc_buffer((8,))\n"
                               "    for i in range(8):\n"
                               "        with T.block(\"B\"):\n"
                               "            v = T.axis.spatial(8, i)\n"
                               "            B[v] = A[v]\n"
                               "    for i in range(8):\n"
                               "        with T.block(\"C\"):\n"
                               "            v = T.axis.spatial(8, i)\n"
                               "            C[v] = B[v]\n"
                               "    for i in range(8):\n"
                               "        with T.block(\"Z\"):\n"
                               "            v = T.axis.spatial(8, i)\n"
                               "            A[v] = T.float32(0)\n";
    Fixture fx;

    (void)state;
    fx_text(&fx, text);
    fx_refuses(&fx, ML_E_NOT_STAGE_PIPELINE, "compute_inline(\"B\")");
    fx_close(&fx);
    open_unchecked(&fx, text);
    fx_apply(&fx, "compute_inline(\"B\")");
    fx_close(&fx);
}

static void nesting_has_a_limit(void **state)
{
    Fixture fx;
    int n = 0;

    (void)state;
    fx_stages(&fx, 4, "j");
    while (n < 1000 && fx_try(&fx, "add_unit_loop(\"j\")"))
        n++;
    assert_int_equal(ML_E_TOO_DEEP, ml_schedule_error(fx.s)->code);
    assert_true(n > 400 && n < 500);
    fx_refuses(&fx, ML_E_TOO_DEEP, "add_unit_loop(\"j\")");
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts_are_there),
        cmocka_unit_test(every_parameter_has_a_name_and_a_doc_string),
        cmocka_unit_test(primitives_stand_in_their_order),
        cmocka_unit_test(other_spellings_resolve),
        cmocka_unit_test(other_names_of_parameters_resolve),
        cmocka_unit_test(every_listed_error_has_a_case),
        cmocka_unit_test(what_a_primitive_refuses_with_is_listed),
        cmocka_unit_test(sentences_number_their_facts),
        cmocka_unit_test(every_refusal_fills_its_sentence),
        cmocka_unit_test(every_example_runs),
        cmocka_unit_test(what_a_skipped_check_lets_through),
        cmocka_unit_test(a_skipped_check_is_the_stage_pipeline),
        cmocka_unit_test(nesting_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
