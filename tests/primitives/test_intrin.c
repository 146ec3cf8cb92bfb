/* test_intrin - the registry of tensor intrinsics: what is built in, registering, looking
 * up, and tensorize with what was registered. */
#include "fixture.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/intrin.h"

#include <stdio.h>
#include <stdlib.h>

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
        if (!ml_intrin_register(cx, t, "again", in->desc, in->impl, true))
            fail_msg("%s: %s", names[k], ml_error(cx)->facts[0].as.text);
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

/* ---- what a function does outside of its signature */

static const char head[] = "@T.prim_func\n"
                           "def main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
                           "    with T.block(\"root\"):\n";

static void refused_body(const char *impl, const char *why)
{
    static const char good[] = "        T.reads(A[0:4])\n"
                               "        T.writes(B[0:4])\n"
                               "        for i in range(4):\n"
                               "            B[i] = A[i]\n";
    ml_Text d = {0}, i = {0};

    ml_text_fmt(&d, "%s%s", head, good);
    ml_text_fmt(&i, "%s%s", head, impl);
    refused(ml_text_z(&d), ml_text_z(&i), why);
    ml_text_free(&d);
    ml_text_free(&i);
}

static void an_implementation_stays_inside_its_signature(void **state)
{
    (void)state;
    refused_body("        T.reads(A[0:4])\n"
                 "        T.writes(B[0:4])\n"
                 "        B[0:4] = A[0:4]\n"
                 "        B[0:4] = B[0:4] + T.Broadcast(T.float32(0), 4)\n",
                 "reads B outside");
    refused_body("        T.reads(A[0:3])\n"
                 "        T.writes(B[0:4])\n"
                 "        B[0:4] = A[0:4]\n",
                 "reads A outside");
    refused_body("        T.reads(A[0:4])\n"
                 "        T.writes(B[0:3])\n"
                 "        B[0:4] = A[0:4]\n",
                 "writes B outside");
    refused_body("        T.reads(A[0:4])\n"
                 "        T.writes(A[0:4], B[0:4])\n"
                 "        B[0:4] = A[0:4]\n"
                 "        A[0:4] = T.Broadcast(T.float32(0), 4)\n",
                 "the implementation writes A, the description does not");
    refused_body("        T.reads(A[0:4])\n"
                 "        T.writes(B[0:2])\n"
                 "        B[0:2] = A[0:2]\n",
                 "writes B, the description another part of it");
    refused_body("        T.reads(A[0:4], B[0:4])\n"
                 "        T.writes(B[0:4])\n"
                 "        B[0:4] = A[0:4] + B[0:4] - B[0:4]\n",
                 "the implementation reads B, the description does not");
    refused_body("        T.reads(A[0:4])\n" /* a block inside says less than it does */
                 "        T.writes(B[0:4])\n"
                 "        with T.block(\"in\"):\n"
                 "            T.reads(A[0])\n"
                 "            T.writes(B[0])\n"
                 "            B[0:4] = A[0:4]\n",
                 "block in reads A outside");
    refused_body("        T.reads(A[0:4])\n"
                 "        T.writes(B[0:4])\n"
                 "        for i in range(4):\n"
                 "            with T.block(\"in\"):\n"
                 "                v = T.axis.spatial(4, i)\n"
                 "                T.reads(A[v])\n"
                 "                T.writes(B[v])\n"
                 "                B[v] = A[v] + A[v + 1]\n",
                 "block in reads A outside");
}

/* ---- operands */

#define SUM(body)                                                                          \
    "@T.prim_func\n"                                                                       \
    "def f(a: T.handle, b: T.handle, c: T.handle):\n"                                      \
    "    A = T.match_buffer(a, (4,), offset_factor=1)\n"                                   \
    "    B = T.match_buffer(b, (4,), offset_factor=1)\n"                                   \
    "    C = T.match_buffer(c, (4,), offset_factor=1)\n"                                   \
    "    with T.block(\"root\"):\n"                                                        \
    "        T.reads(A[0:4], B[0:4])\n"                                                    \
    "        T.writes(C[0:4])\n" body

static const char sum_desc[] = SUM("        for i in range(4):\n"
                                   "            with T.block(\"C\"):\n"
                                   "                v = T.axis.spatial(4, i)\n"
                                   "                C[v] = A[v] + B[v]\n");
/* It clears the result first: right where C is neither A nor B. */
static const char sum_impl[] = SUM("        C[0:4] = T.Broadcast(T.float32(0), 4)\n"
                                   "        C[0:4] = A[0:4] + B[0:4]\n");

/* Whether the sum fits the block that says `store`, over X and a part of Y. */
static bool sums(const char *store, bool views)
{
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    ml_ScheduleOpts o = {.intrins = t};
    ml_Text text = {0};
    Fixture fx;
    bool ok;

    assert_true(ml_intrin_register(cx, t, "sum", parsed(cx, sum_desc)->funcs[0],
                                   parsed(cx, sum_impl)->funcs[0], false));
    ml_text_add(&text, "@T.prim_func\n"
                       "def main(X: T.Buffer((16,)), Y: T.Buffer((40,))):\n");
    if (views)
        ml_text_add(&text,
                    "    with T.block(\"O\"):\n"
                    "        T.reads(X[0:16], Y[0:40])\n"
                    "        T.writes(Y[0:40])\n"
                    "        P = T.match_buffer(Y[0:16], (16,), offset_factor=1)\n"
                    "        Q = T.match_buffer(Y[2:18], (16,), offset_factor=1)\n"
                    "        R = T.match_buffer(Y[24:40], (16,), offset_factor=1)\n");
    ml_text_fmt(&text,
                "%*sfor i_0, i_1 in T.grid(4, 4):\n"
                "%*swith T.block(\"S\"):\n"
                "%*sv = T.axis.spatial(16, i_0 * 4 + i_1)\n"
                "%*s%s\n",
                views ? 8 : 4, "", views ? 12 : 8, "", views ? 16 : 12, "", views ? 16 : 12,
                "", store);
    fx_open(&fx, mx, parsed(mx, ml_text_z(&text)), &o);
    ok = fx_try(&fx, "tensorize(\"i_1\", \"sum\")");
    if (!ok && !strstr(fx_message(&fx), "may overlap"))
        fail_msg("%s", fx_message(&fx));
    if (ok) {
        const ml_Module *was = ml_version_program(fx.s, 0).mod,
                        *is = ml_schedule_program(fx.s).mod;
        ml_CheckOpts co = {.inputs = ML_FILL_TERNARY, .exact = true};
        ml_CheckResult r;
        ml_Ctx *tmp = ml_ctx_fork(ml_schedule_ctx(fx.s));

        assert_true(ml_check(tmp, was, was->funcs[0], is, is->funcs[0], &co, &r));
        assert_true(r.ok);
        ml_ctx_unref(tmp);
    }
    fx_close(&fx);
    ml_text_free(&text);
    ml_intrins_unref(t);
    ml_ctx_unref(cx);
    return ok;
}

static void a_written_operand_overlaps_no_other_one(void **state)
{
    (void)state;
    assert_false(sums("Y[v] = X[v] + Y[v]", false));
    assert_false(sums("Y[v] = Y[v] + X[v]", false));
    assert_false(sums("Y[v + 1] = X[v] + Y[v]", false));
    for (int to = 0; to < 10; to++)
        for (int from = 0; from < 10; from++) {
            char store[64];

            snprintf(store, sizeof store, "Y[v + %d] = X[v] + Y[v + %d]", to, from);
            if (sums(store, false) != (abs(to - from) >= 4))
                fail_msg("%s", store);
        }
    assert_true(sums("Y[v] = X[v] + Y[v + 16]", false));
}

static void views_of_one_buffer_are_one_buffer(void **state)
{
    (void)state;
    assert_false(sums("Q[v] = X[v] + P[v]", true));
    assert_false(sums("P[v] = X[v] + Y[v]", true));
    assert_true(sums("R[v] = Q[v] + P[v]", true));
}

/* ---- layouts */

/* Whether a copy of 4 x 4 elements between views of these declarations fits a tile of 16
 * columns; NULL: yes; else why not (until the next call). */
static const char *copies(const char *declared, const char *steps)
{
    static char why[400];
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    ml_Intrins *t = ml_intrins_new();
    ml_ScheduleOpts o = {.intrins = t};
    const ml_Func *f[2];
    Fixture fx;
    bool ok;

    for (int impl = 0; impl < 2; impl++) {
        ml_Text text = {0};

        ml_text_fmt(&text,
                    "@T.prim_func\n"
                    "def f(a: T.handle, b: T.handle):\n"
                    "    s0 = T.int32()\n"
                    "    s1 = T.int32()\n"
                    "    A = T.match_buffer(a, (4, 4), %s)\n"
                    "    B = T.match_buffer(b, (4, 4), strides=[s1, 1], offset_factor=1)\n"
                    "    with T.block(\"root\"):\n"
                    "        T.reads(A[0:4, 0:4])\n"
                    "        T.writes(B[0:4, 0:4])\n"
                    "%s",
                    declared,
                    impl ? "        for i in range(4):\n"
                           "            B[i, 0:4] = A[i, 0:4]\n"
                         : "        for i, j in T.grid(4, 4):\n"
                           "            with T.block(\"B\"):\n"
                           "                v, w = T.axis.remap(\"SS\", [i, j])\n"
                           "                B[v, w] = A[v, w]\n");
        f[impl] = parsed(cx, ml_text_z(&text))->funcs[0];
        ml_text_free(&text);
    }
    assert_true(ml_intrin_register(cx, t, "copy", f[0], f[1], false));
    fx_open(&fx, mx,
            parsed(mx, "@T.prim_func\n"
                       "def main(X: T.Buffer((12, 16)), Y: T.Buffer((12, 16))):\n"
                       "    A = T.alloc_buffer((12, 16))\n"
                       "    for p, q in T.grid(12, 16):\n"
                       "        with T.block(\"A\"):\n"
                       "            v, w = T.axis.remap(\"SS\", [p, q])\n"
                       "            A[v, w] = X[v, w]\n"
                       "    for i_0, j_0, i, j in T.grid(3, 4, 4, 4):\n"
                       "        with T.block(\"C\"):\n"
                       "            v = T.axis.spatial(12, i_0 * 4 + i)\n"
                       "            w = T.axis.spatial(16, j_0 * 4 + j)\n"
                       "            Y[v, w] = A[v, w]\n"),
            &o);
    ok = fx_try(&fx, steps);
    snprintf(why, sizeof why, "%s", ok ? "" : fx_message(&fx));
    fx_close(&fx);
    ml_intrins_unref(t);
    ml_ctx_unref(cx);
    return ok ? NULL : why;
}

static void accepted_layout(const char *declared, const char *steps)
{
    const char *got = copies(declared, steps);

    if (got)
        fail_msg("%s: %s", declared, got);
}

static void refused_layout(const char *declared, const char *steps, const char *why)
{
    const char *got = copies(declared, steps);

    if (!got || !strstr(got, why))
        fail_msg("%s: %s", declared, got ? got : "accepted");
}

static void strides_and_offsets_of_a_parameter_are_those_of_the_buffer(void **state)
{
    static const char plain[] = "tensorize(\"i\", \"copy\")",
                      padded[] = "storage_align(\"A\", 0, 0, 32, 4) "
                                 "tensorize(\"i\", \"copy\")",
                      after[] = "tensorize(\"i\", \"copy\") "
                                "storage_align(\"A\", 0, 0, 32, 4)";

    (void)state;
    accepted_layout("strides=[s0, 1], offset_factor=1", plain);
    accepted_layout("strides=[s0, 1], offset_factor=4", plain);
    accepted_layout("strides=[16, 1], offset_factor=4", plain);
    accepted_layout("strides=[36, 1], offset_factor=4", padded);
    accepted_layout("strides=[s0, 1], offset_factor=4", after);
    refused_layout("strides=[4, 1], offset_factor=1", plain, "the source gives 16");
    refused_layout("strides=[1, 4], offset_factor=1", plain, "the source gives 16");
    refused_layout("strides=[s0, s0], offset_factor=1", plain, "the source gives 1;");
    refused_layout("strides=[16, 1], offset_factor=1", padded, "the source gives 36");
    refused_layout("strides=[16, 1], offset_factor=1", after, "the source gives 36");
    refused_layout("strides=[s0, 1], offset_factor=8", plain,
                   "multiple of offset_factor 8");
    refused_layout("offset_factor=1", plain, "a part of dimension 1");
}

static void rows_of_a_wider_buffer_are_packed_by_a_copy(void **state)
{
    static const char product[] =
        "@T.prim_func\n"
        "def main(A: T.Buffer((8, 64), \"uint8\"), B: T.Buffer((32, 64), \"int8\"), C: "
        "T.Buffer((8, 32), \"int32\")):\n"
        "    for i, j_0, k_0, j_1, k_1 in T.grid(8, 2, 16, 16, 4):\n"
        "        with T.block(\"C\"):\n"
        "            vi = T.axis.spatial(8, i)\n"
        "            vj = T.axis.spatial(32, j_0 * 16 + j_1)\n"
        "            vk = T.axis.reduce(64, k_0 * 4 + k_1)\n"
        "            T.reads(C[vi, vj], A[vi, vk], B[vj, vk])\n"
        "            T.writes(C[vi, vj])\n"
        "            C[vi, vj] = C[vi, vj] + T.Cast(\"int32\", A[vi, vk]) * "
        "T.Cast(\"int32\", "
        "B[vj, vk])\n";
    ml_Ctx *mx = ml_ctx_new(0);
    const ml_Suggestion *way;
    ml_Failure *f;
    Fixture fx;

    (void)state;
    fx_open(&fx, mx, parsed(mx, product), NULL);
    assert_false(fx_try(&fx, "tensorize(\"j_1\", \"dot_16x4_vnni\")"));
    f = ml_failure_take(fx.s);
    assert_int_equal(1, ml_failure_suggestions(f, &way));
    assert_string_equal(way[0].call, "cache_read(\"C\", 2, \"global\") "
                                     "transform_layout(\"C\", {\"read\", 2}, \"lambda i0, "
                                     "i1: (i0 // 16, i1 // 4, i0 % 16, i1 % 4)\") "
                                     "tensorize(\"j_1\", \"dot_16x4_vnni\")");
    fx_apply(&fx, way[0].call);
    ml_failure_free(f);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_in_computes_what_it_describes),
        cmocka_unit_test(what_was_registered_is_used),
        cmocka_unit_test(an_annotation_of_the_schedule_stays_and_a_note_says_so),
        cmocka_unit_test(what_is_no_intrinsic_is_refused),
        cmocka_unit_test(an_implementation_stays_inside_its_signature),
        cmocka_unit_test(a_written_operand_overlaps_no_other_one),
        cmocka_unit_test(views_of_one_buffer_are_one_buffer),
        cmocka_unit_test(strides_and_offsets_of_a_parameter_are_those_of_the_buffer),
        cmocka_unit_test(rows_of_a_wider_buffer_are_packed_by_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
