/* test_intrin - the registry of tensor intrinsics: what is built in, registering, looking
 * up, and tensorize with what was registered. */
#include "fixture.h"

#include "codegen/check.h"
#include "primitives/intrin.h"

static const ml_Module *parsed(ml_Ctx *cx, const char *text)
{
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    if (!p.mod)
        fail_msg("%s: %s", p.diags[0].code, p.diags[0].message);
    return p.mod;
}

static void what_is_built_in_computes_what_it_describes(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    const char *const *names;
    size_t n = ml_intrin_names(cx, t, &names);

    (void)state;
    assert_true(n >= 17);
    for (size_t k = 0; k < n; k++) {
        const ml_Intrin *in = ml_intrin_find(t, names[k]);
        ml_Func f[2];
        const ml_Module *m[2];

        assert_non_null(in);
        assert_string_equal(names[k], in->name);
        for (int i = 0; i < 2; i++) {
            const ml_Func *one =
                ml_import_func(ml_import_begin_apart(cx), i ? in->impl : in->desc);
            f[i] = *one;
            f[i].name = "main";
            one = ml_func_from(cx, &f[i]);
            m[i] = ml_module_new(cx, &one, 1, NULL);
        }
        /* Sums of floats are exact for some values only. */
        bool real = ml_dtype_is_float(in->desc->params[0].buffer->type);

        for (int seed = 1; seed <= 5; seed++) {
            ml_CheckOpts o = {.inputs = real ? ML_FILL_TERNARY : ML_FILL_RANDOM,
                              .seed = (uint64_t)seed,
                              .exact = true};
            ml_CheckResult r;

            if (!ml_check(cx, m[0], m[0]->funcs[0], m[1], m[1]->funcs[0], &o, &r))
                fail_msg("%s: %s", names[k], ml_error_code(ml_error(cx)->code));
            if (!r.ok)
                fail_msg("%s: %g, not %g", names[k], r.first_got, r.first_ref);
        }
    }
    ml_intrins_unref(t);
    ml_ctx_unref(cx);
}

static const char twice[] = "@I.ir_module\n"
                            "class Module:\n"
                            "    @T.prim_func\n"
                            "    def desc(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
                            "        with T.block(\"root\"):\n"
                            "            T.reads(A[0:4])\n"
                            "            T.writes(B[0:4])\n"
                            "            for i in range(4):\n"
                            "                with T.block(\"B\"):\n"
                            "                    v = T.axis.spatial(4, i)\n"
                            "                    B[v] = A[v] + A[v]\n"
                            "    @T.prim_func\n"
                            "    def impl(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
                            "        with T.block(\"root\"):\n"
                            "            T.reads(A[0:4])\n"
                            "            T.writes(B[0:4])\n"
                            "            T.block_attr({\"note\": 7})\n"
                            "            W = T.alloc_buffer((4,))\n"
                            "            for i in range(4):\n"
                            "                W[i] = A[i] * T.float32(2)\n"
                            "            for i in range(4):\n"
                            "                B[i] = W[i]\n";

static const char program[] = "@T.prim_func\n"
                              "def main(X: T.Buffer((3, 8)), Y: T.Buffer((3, 8))):\n"
                              "    for i, j_0, j_1 in T.grid(3, 2, 4):\n"
                              "        with T.block(\"Y\"):\n"
                              "            a = T.axis.spatial(3, i)\n"
                              "            b = T.axis.spatial(8, j_0 * 4 + j_1)\n"
                              "            Y[a, b] = X[a, b] + X[a, b]\n";

static void what_was_registered_is_used(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    const ml_Module *m = parsed(cx, twice);
    const ml_Func *d = ml_module_find(m, "desc"), *i = ml_module_find(m, "impl");
    ml_ScheduleOpts o = {.intrins = t};
    Fixture fx;
    ml_CheckOpts co = {.inputs = ML_FILL_TERNARY, .exact = true};
    ml_CheckResult r;

    (void)state;
    assert_true(ml_intrin_register(cx, t, "twice", d, i, false));
    assert_false(ml_intrin_register(cx, t, "twice", d, i, false));
    assert_int_equal(ML_E_INTRIN_EXISTS, ml_error(cx)->code);
    ml_error_clear(cx);
    assert_true(ml_intrin_register(cx, t, "twice", d, i, true));
    assert_true(ml_intrin_register(cx, t, "dot_16x4_vnni", d, i, true));
    assert_int_equal(
        4, ml_intrin_find(t, "dot_16x4_vnni")->desc->params[0].buffer->shape[0]->as.i);
    assert_string_equal("twice", ml_intrin_nearest(cx, t, "twise"));
    fx_open(&fx, mx, parsed(mx, program), &o);
    ml_intrins_unref(t); /* the schedule keeps it */
    fx_apply(&fx, "tensorize(\"j_1\", \"twice\")");
    const ml_Module *was = ml_version_program(fx.s, 0).mod,
                    *is = ml_schedule_program(fx.s).mod;
    const ml_Block *b = ml_as_block(
        ml_index_node(ml_schedule_program(fx.s).index, fx_handle(&fx, "Y_o").uid));

    assert_int_equal(1, b->n_allocs); /* what the implementation allocates comes along */
    assert_int_equal(2, b->n_matches);
    assert_non_null(ml_dict_get(b->annotations, "note"));
    ml_Ctx *tmp = ml_ctx_fork(ml_schedule_ctx(fx.s));

    assert_true(ml_check(tmp, was, was->funcs[0], is, is->funcs[0], &co, &r) && r.ok);
    ml_ctx_unref(tmp);
    fx_close(&fx);
    ml_ctx_unref(cx);
}

static void an_annotation_of_the_schedule_stays_and_a_note_says_so(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    const ml_Module *m = parsed(cx, twice);
    ml_ScheduleOpts o = {.intrins = t};
    Fixture fx;
    ml_Step step;

    (void)state;
    assert_true(ml_intrin_register(cx, t, "twice", ml_module_find(m, "desc"),
                                   ml_module_find(m, "impl"), false));
    fx_open(&fx, mx, parsed(mx, program), &o);
    fx_apply(
        &fx,
        "blockize(\"j_1\") annotate(\"Y_o\", \"note\", 1) tensorize(\"Y_o\", \"twice\")");
    const ml_Block *b = ml_as_block(
        ml_index_node(ml_schedule_program(fx.s).index, fx_handle(&fx, "Y_o").uid));

    assert_int_equal(1, ml_dict_get(b->annotations, "note")->as.i);
    assert_true(ml_version_step(fx.s, ml_schedule_version(fx.s), &step));
    assert_int_equal(1, step.n_notes);
    fx_close(&fx);
    ml_intrins_unref(t);
    ml_ctx_unref(cx);
}

/* What is refused, and the words that say why. */
static void refused(const char *desc, const char *impl, const char *why)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    const ml_Module *d = parsed(cx, desc), *i = parsed(cx, impl);

    assert_false(ml_intrin_register(cx, t, "x", d->funcs[0], i->funcs[0], false));
    assert_int_equal(ML_E_BAD_ARGUMENT, ml_error(cx)->code);
    if (!strstr(ml_error(cx)->facts[0].as.text, why))
        fail_msg("%s", ml_error(cx)->facts[0].as.text);
    assert_null(ml_intrin_find(t, "x"));
    ml_intrins_unref(t);
    ml_ctx_unref(cx);
}

static void what_is_no_intrinsic_is_refused(void **state)
{
    static const char good[] = "@T.prim_func\n"
                               "def main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
                               "    with T.block(\"root\"):\n"
                               "        T.reads(A[0:4])\n"
                               "        T.writes(B[0:4])\n"
                               "        for i in range(4):\n"
                               "            B[i] = A[i]\n";

    (void)state;
    refused("@T.prim_func\n"
            "def main(A: T.Buffer((4,)), n: T.int32):\n"
            "    A[0] = T.float32(0)\n",
            good, "n is no buffer");
    refused(good,
            "@T.prim_func\n"
            "def main(A: T.Buffer((4,))):\n"
            "    with T.block(\"root\"):\n"
            "        T.reads()\n"
            "        T.writes(A[0:4])\n"
            "        A[0] = T.float32(0)\n",
            "2 parameters");
    refused(good,
            "@T.prim_func\n"
            "def main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
            "    with T.block(\"root\"):\n"
            "        T.reads()\n"
            "        T.writes(B[0:4])\n"
            "        B[0] = T.float32(0)\n",
            "neither reads nor writes");
    refused(good,
            "@T.prim_func\n"
            "def main(A: T.Buffer((4,)), B: T.Buffer((4,), \"int32\")):\n"
            "    with T.block(\"root\"):\n"
            "        T.reads(A[0:4])\n"
            "        T.writes(B[0:4])\n"
            "        B[0] = T.Cast(\"int32\", A[0])\n",
            "differs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_in_computes_what_it_describes),
        cmocka_unit_test(what_was_registered_is_used),
        cmocka_unit_test(an_annotation_of_the_schedule_stays_and_a_note_says_so),
        cmocka_unit_test(what_is_no_intrinsic_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
