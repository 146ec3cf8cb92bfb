/*
 * test_text - texts and objects: lines in the assembly, prefetches, attributes, pipelines,
 * external functions and intrinsics, linking and unlinking many times.
 */
#include "run_llvm.h"

#include <math.h>

#define HEAD(params) "@T.prim_func\ndef main(" params "):\n"

static const char two_loops[] = HEAD("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), "
                                     "\"float32\")") "    for i in range(64):\n"
                                                     "        B[i] = A[i] * T.float32(2)\n"
                                                     "    for i in T.parallel(64):\n"
                                                     "        B[i] = B[i] + A[i]\n";

static char *text_of(Fix *x, const ml_Func *f, const ml_CodeOpts *o, const char *what)
{
    ml_Text t = {0};

    if (!ml_code_text(rig.ll, x->cx, &f, 1, o, what, &t))
        fail_msg("%s", error_text(x));
    return t.p;
}

static void lines_of_the_program_are_in_the_assembly(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {.lines = true};
    char *asm_text, *plain, want[32];

    NEED_LLVM();
    asm_text = text_of(x, parse_func(x, two_loops), &o, "asm");
    for (int line = 3; line <= 6; line++) {
        snprintf(want, sizeof want, ".loc\t1 %d ", line);
        if (strstr(asm_text, want) == NULL)
            fail_msg("line %d is not in the assembly:\n%s", line, asm_text);
    }
    o.lines = false;
    plain = text_of(x, parse_func(x, two_loops), &o, "asm");
    assert_null(strstr(plain, ".loc"));
    assert_non_null(strstr(plain, "main_body:"));
    assert_non_null(strstr(plain, "main_call:"));
    free(asm_text);
    free(plain);
}

static void every_pipeline_computes_the_same(void **state)
{
    Fix *x = *state;

    NEED_LLVM();
    for (int opt = ML_OPT_LIGHT; opt <= ML_OPT_O3; opt++) {
        const ml_Func *f = parse_func(x, two_loops);
        ml_CodeOpts o = {
            .opt = (ml_OptLevel)opt, .lines = opt % 2 != 0, .no_contract = true};
        make_args(x, f);
        fill_random(x, 1);
        same_as_interpreter(x, f, &o, EXACT);
    }
}

/* Copies, averages and minima in nests of 12: unrolled to straight-line code, whose loads
 * an SLP vectorizer gathers. */
static void straight_line_code_is_right_in_every_pipeline(void **state)
{
    static const char text[] =
        "@T.prim_func\n"
        "def main(A0: T.Buffer((24,), \"int32\"), A1: T.Buffer((12,), \"float32\"), "
        "B0: T.Buffer((24,), \"int32\"), B2: T.Buffer((12,), \"int32\")):\n"
        "    B1 = T.decl_buffer((12,), \"int32\")\n"
        "    S = T.decl_buffer((12,), \"int32\")\n"
        "    for i, j, k in T.grid(4, 3, 2):\n"
        "        B0[i * 6 + j * 2 + k] = T.max(A0[j * 2 + k + 18 - i * 6], "
        "T.Cast(\"int32\", A1[j * 4 + i]))\n"
        "    for i in range(2):\n"
        "        for a, b, c in T.grid(2, 3, 2):\n"
        "            S[a * 6 + b * 2 + c] = A0[i * 6 + a * 6 + b * 2 + c]\n"
        "        for f in range(6):\n"
        "            B1[i * 6 + f] = T.shift_right(S[f] + S[f + 6], 1) + "
        "B0[T.shift_right(f, 1) * 6 + i * 2 + T.bitwise_and(f, 1)]\n"
        "    for i, j, k in T.grid(2, 3, 2):\n"
        "        B2[i * 6 + j * 2 + k] = T.min(B1[i * 7 + k * 2], B1[i * 6 + j * 2 + k])\n";
    Fix *x = *state;

    NEED_LLVM();
    for (int opt = ML_OPT_LIGHT; opt <= ML_OPT_O3; opt++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const ml_Func *f = parse_func(x, text);
            ml_CodeOpts o = {.opt = (ml_OptLevel)opt, .no_contract = true};
            make_args(x, f);
            fill_random(x, seed);
            same_as_interpreter(x, f, &o, EXACT);
        }
}

/* A[18 - i * 6] begins 18 elements before A when i is 3: neither step is inbounds. */
static void a_step_from_outside_a_buffer_is_not_inbounds(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    char *t;

    NEED_LLVM();
    t = text_of(x,
                parse_func(x, "@T.prim_func\n"
                              "def main(A: T.Buffer((24,), \"int32\"), "
                              "B: T.Buffer((4,), \"int32\")):\n"
                              "    for i in range(4):\n"
                              "        B[i] = A[18 - i * 6]\n"),
                &o, "llvm");
    assert_non_null(strstr(t, "i64 18"));
    for (char *p = t, *e; *p; p = e + 1) {
        e = strchr(p, '\n');
        if (e == NULL)
            break;
        *e = 0;
        if (strstr(p, "getelementptr") && strstr(p, "i64 18") && strstr(p, "inbounds"))
            fail_msg("%s", p);
    }
    free(t);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static void prefetch_touches_each_line_of_the_tile_once(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;
    char *t;

    NEED_LLVM(); /* 8 rows of 32 floats, 1024 floats apart: 16 lines */
    f = parse_func(
        x,
        HEAD("A: T.Buffer((65536,), \"float32\"), C: T.Buffer((65536,), "
             "\"float32\")") "    for i in T.serial(8, annotations={\"prefetch\": "
                             "[{\"buffer\": \"C\", \"rw\": 1, "
                             "\"distance\": 2}, {\"buffer\": \"A\", \"bytes\": 4096}]}):\n"
                             "        for k in range(16):\n"
                             "            A[i * 16 + k] = T.float32(1)\n"
                             "        for j in range(8):\n"
                             "            C[T.Ramp(i * 8192 + j * 1024, 1, 32)] = "
                             "A[T.Ramp(j, 1, 32)]\n");
    t = text_of(x, f, &o, "llvm");
    assert_int_equal(count(t, "call void @llvm.prefetch.p0(ptr"), 16 + 4); /* A: 4 lines */
    assert_int_equal(count(t, "i32 1, i32 3, i32 1)"), 16);
    assert_non_null(strstr(t, ", i64 16384")); /* 2 ahead */
    assert_non_null(strstr(t, ", i64 4096"));
    free(t);
    make_args(x, f);
    fill_random(x, 1);
    same_as_interpreter(x, f, &o, EXACT);
}

static void prefetches_are_spread_over_the_loops_that_say_here(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;
    char *t;

    NEED_LLVM(); /* of 8 rows of 4 lines, 8 iterations ask for 4 each; no loop of the second nest asks */
    f = parse_func(
        x, HEAD("A: T.Buffer((65536,), \"float32\"), C: T.Buffer((65536,), "
                "\"float32\")") "    for i in T.serial(4, annotations={\"prefetch\": "
                                "[{\"buffer\": \"A\", \"distance\": 1, \"spread\": 1}]}):\n"
                                "        for j in T.serial(8, "
                                "annotations={\"prefetch_here\": 1}):\n"
                                "            C[T.Ramp(i * 512 + j * 64, 1, 64)] = "
                                "A[T.Ramp(i // 2 * 8192 + i % 2 * 64 + (7 - j) * 1024, 1, "
                                "64)]\n"
                                "    for i in T.serial(4, annotations={\"prefetch\": "
                                "[{\"buffer\": \"A\", \"spread\": 1}]}):\n"
                                "        for j in range(8):\n"
                                "            C[i * 8 + j] = A[i * 1024 + j]\n");
    t = text_of(x, f, &o, "llvm");
    assert_int_equal(count(t, "call void @llvm.prefetch.p0(ptr"), 4);
    free(t);
    make_args(x, f);
    fill_random(x, 1);
    same_as_interpreter(x, f, &o, EXACT);
}

static void parameters_say_what_is_known_of_them(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    char *t;

    NEED_LLVM();
    t = text_of(x, parse_func(x, two_loops), &o, "llvm");
    assert_non_null(
        strstr(t, "noalias nocapture readonly align 64 dereferenceable(256) %A"));
    assert_non_null(strstr(t, "noalias nocapture align 64 dereferenceable(256) %B"));
    assert_non_null(strstr(t, "\"target-cpu\"="));
    assert_non_null(strstr(t, "llvm.loop.mustprogress"));
    free(t);
    o.unaligned = true;
    t = text_of(x, parse_func(x, two_loops), &o, "llvm");
    assert_non_null(strstr(t, "align 4 dereferenceable(256) %A"));
    free(t);
    t = text_of(
        x,
        parse_func(x, HEAD("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), "
                           "\"float32\")") "    T.func_attr({\"tir.noalias\": False})\n"
                                           "    A[0] = B[0]\n"),
        &o, "llvm");
    assert_null(strstr(t, "noalias"));
    free(t);
}

static void contraction_happens_only_where_it_is_allowed(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const char *text = HEAD("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), "
                            "\"float32\")") "    for i in range(64):\n"
                                            "        B[i] = B[i] * A[i] + A[i] - A[i] * "
                                            "B[i]\n";
    char *t;

    NEED_LLVM();
    t = text_of(x, parse_func(x, text), &o, "llvm");
    assert_int_equal(count(t, "call float @llvm.fmuladd.f32"), 2);
    free(t);
    o.no_contract = true;
    t = text_of(x, parse_func(x, text), &o, "llvm");
    assert_int_equal(count(t, "llvm.fma"), 0);
    free(t);
    o = (ml_CodeOpts){.fast_math = true};
    t = text_of(x, parse_func(x, text), &o, "llvm");
    assert_true(count(t, " reassoc ") >= 2);
    free(t);
}

static void external_functions_and_intrinsics_are_called(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;

    NEED_LLVM();
    f = parse_func(
        x,
        HEAD(
            "A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float64\")") "    A[1] = "
                                                                              "T.call_pure_"
                                                                              "extern("
                                                                              "\"fmaf\", "
                                                                              "A[2], A[3], "
                                                                              "T.float32(0."
                                                                              "5), "
                                                                              "dtype="
                                                                              "\"float32\")"
                                                                              "\n"
                                                                              "    B[1] = "
                                                                              "T.call_"
                                                                              "extern("
                                                                              "\"cbrt\", "
                                                                              "B[5], "
                                                                              "dtype="
                                                                              "\"float64\")"
                                                                              "\n"
                                                                              "    A[0] = "
                                                                              "T.call_llvm_"
                                                                              "pure_intrin("
                                                                              "\"float32\","
                                                                              " \"llvm."
                                                                              "sqrt\", "
                                                                              "T.uint32(1),"
                                                                              " A[4])\n"
                                                                              "    "
                                                                              "T.evaluate("
                                                                              "T.call_"
                                                                              "extern("
                                                                              "\"int32\", "
                                                                              "\"memcpy\", "
                                                                              "T.address_"
                                                                              "of(A[5]), "
                                                                              "T.address_"
                                                                              "of(A[3]), "
                                                                              "T.int64(4)))"
                                                                              "\n");
    make_args(x, f);
    assert_int_equal(call_compiled(x, f, &o), 0);
    assert_true(at(x, 0, 1) == 6.5);
    assert_true(at(x, 0, 0) == 2.0);
    assert_true(at(x, 0, 5) == 3.0);
    assert_true(fabs(at(x, 1, 1) - cbrt(5.0)) < 1e-12);
}

static void an_unknown_symbol_is_named(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;
    ml_Linked *l;

    NEED_LLVM();
    f = parse_func(
        x, HEAD("A: T.Buffer((8,), \"float32\")") "    A[1] = "
                                                  "T.call_extern(\"no_such_function\", "
                                                  "A[2], dtype=\"float32\")\n");
    l = compile(x, f, &o);
    assert_null(ml_linked_find(l, "main_call"));
    if (!strstr(error_text(x), "no_such_function"))
        fail_msg("%s", error_text(x));
    ml_error_clear(x->cx);
    ml_linked_free(l);
    f = parse_func(x, two_loops);
    l = compile(x, f, &o);
    assert_null(ml_linked_find(l, "other_call"));
    ml_error_clear(x->cx);
    assert_non_null(ml_linked_find(l, "main_body"));
    ml_linked_free(l);
}

static void what_no_backend_has_is_told(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    ml_Target cuda = {.kind = (uint32_t)(ml_target_kind("cuda") - ml_target_kinds)};
    ml_Text t = {0};
    const ml_Func *f;

    assert_null(ml_code_find(&cuda));
    assert_null(ml_code_open(x->cx, &cuda));
    assert_non_null(strstr(error_text(x), "no code is made for the target cuda"));
    ml_error_clear(x->cx);
    assert_null(ml_backend_find("no_such_backend"));
    NEED_LLVM();
    f = parse_func(x, two_loops);
    assert_false(ml_code_text(rig.ll, x->cx, &f, 1, &o, "ptx", &t));
    assert_non_null(strstr(error_text(x), "llvm, llvm-opt, asm"));
    assert_string_equal(ml_code_saved(&(ml_Target){0}, ".s"), "asm");
    assert_null(ml_code_saved(&(ml_Target){0}, ".cu"));
    ml_text_free(&t);
}

static void several_functions_make_one_object(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *fs[2], *g;
    ml_Func copy;
    ml_Bytes obj;
    ml_Linked *l;

    NEED_LLVM();
    fs[0] = parse_func(x, two_loops);
    g = parse_func(x, HEAD("A: T.Buffer((64,), \"int8\")") "    A[0] = T.int8(5)\n");
    copy = *g;
    copy.name = "second";
    fs[1] = ml_func_from(x->cx, &copy);
    assert_true(ml_code_object(rig.ll, x->cx, fs, 2, &o, &obj));
    l = ml_code_link(rig.ll, x->cx, obj.v, obj.n);
    assert_non_null(l);
    assert_non_null(ml_linked_find(l, "main_call"));
    assert_non_null(ml_linked_find(l, "second_call"));
    ml_linked_free(l);
    free(obj.v);
}

static void broken_objects_are_refused(void **state)
{
    Fix *x = *state;
    ml_Linked *l;

    NEED_LLVM();
    l = ml_code_link(rig.ll, x->cx, "this is no object", 17);
    if (l) { /* it may be noticed only when something is looked for */
        assert_null(ml_linked_find(l, "main_call"));
        ml_linked_free(l);
    }
    assert_non_null(ml_error(x->cx));
    ml_error_clear(x->cx);
}

static void linking_many_times_keeps_each_apart_and_leaks_nothing(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    ml_Bytes obj[2];
    int rounds = getenv("ML_QUICK") ? 50 : 500;
    int32_t data[16];
    ml_Word w = {.p = data};

    NEED_LLVM();
    for (int k = 0; k < 2; k++) {
        const ml_Func *f = parse_func(
            x, ml_format(x->cx, HEAD("A: T.Buffer((8,), \"int32\")") "    A[0] = %d\n",
                         10 + k));
        assert_true(ml_code_object(rig.ll, x->cx, &f, 1, &o, &obj[k]));
    }
    for (int k = 0; k < rounds; k++) {
        ml_Linked *l[2];
        for (int j = 0; j < 2; j++) {
            l[j] = ml_code_link(rig.ll, x->cx, obj[j].v, obj[j].n);
            assert_non_null(l[j]);
        }
        for (int j = 0; j < 2; j++) {
            assert_int_equal(kernel(x, l[j], "main")(&w), 0);
            assert_int_equal(data[0], 10 + j);
        }
        ml_linked_free(l[0]);
        assert_int_equal(kernel(x, l[1], "main")(&w), 0);
        assert_int_equal(data[0], 11);
        ml_linked_free(l[1]);
    }
    free(obj[0].v);
    free(obj[1].v);
}

static void a_target_that_llvm_lacks_is_refused(void **state)
{
    Fix *x = *state;
    ml_Target t = ml_target_host();

    NEED_LLVM();
    memcpy(t.triple, "pdp11-dec-bsd", 14);
    assert_null(ml_code_open(x->cx, &t));
    assert_int_equal(ml_error(x->cx)->code, ML_E_NO_TARGET);
    ml_error_clear(x->cx);
    assert_true(strncmp(ml_code_version(rig.ll), "19.", 3) == 0);
}

static void narrower_targets_and_another_processor_get_code(void **state)
{
    static const struct {
        const char *triple, *cpu, *features, *has;
        uint32_t bits;
    } cases[] = {
        {"x86_64-pc-linux-gnu", "x86-64-v3",
         "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4."
         "2,"
         "+ssse3",
         "ymm", 256},
        {"x86_64-pc-linux-gnu", "x86-64", "+sse3", "xmm", 128},
        {"aarch64-linux-gnu", "neoverse-n1", "+neon,+dotprod,+fullfp16", "fadd", 128},
    };
    Fix *x = *state;
    ml_CodeOpts o = {0};

    NEED_LLVM();
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Target t = {.vector_bits = cases[k].bits, .registers = 16, .cores = 1};
        const ml_Func *f = parse_func(
            x,
            HEAD(
                "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), "
                "C: T.Buffer((64,), \"bfloat16\")") "    B[T.Ramp(0, 1, 64)] = A[T.Ramp(0, "
                                                    "1, 64)] + B[T.Ramp(0, 1, 64)]\n"
                                                    "    for i in T.parallel(64):\n"
                                                    "        C[i] = T.exp(C[i])\n");
        ml_Text out = {0};
        ml_Codegen *ll;
        snprintf(t.triple, sizeof t.triple, "%s", cases[k].triple);
        snprintf(t.cpu, sizeof t.cpu, "%s", cases[k].cpu);
        snprintf(t.features, sizeof t.features, "%s", cases[k].features);
        ll = ml_code_open(x->cx, &t);
        if (ll == NULL)
            fail_msg("%s", error_text(x));
        if (!ml_code_text(ll, x->cx, &f, 1, &o, "asm", &out))
            fail_msg("%s", error_text(x));
        assert_non_null(strstr(ml_text_z(&out), cases[k].has));
        assert_null(strstr(ml_text_z(&out), "zmm"));
        ml_text_free(&out);
        ml_code_close(ll);
    }
}

/* What a processor lacks is refused by name; LLVM would take the process with it. */
static void a_dot_product_of_bytes_needs_its_instruction(void **state)
{
#define V4                                                                                 \
    "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,"        \
    "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
    static const struct {
        const char *cpu, *features, *says; /* says: NULL: there is the instruction */
    } cases[] = {{"icelake-server", V4 ",+avx512vnni", NULL},
                 {"skylake-avx512", V4, "without avx512vnni"}};
#undef V4
    Fix *x = *state;
    ml_CodeOpts o = {0};

    NEED_LLVM();
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Target t = {.vector_bits = 512, .registers = 32, .masks = true, .cores = 1};
        const ml_Func *f = parse_func(
            x, HEAD("A: T.Buffer((64,), \"int8\"), B: T.Buffer((4,), \"uint8\"), "
                    "C: T.Buffer((16,), \"int32\")") "    C[0:16] = "
                                                     "T.call_llvm_pure_intrin("
                                                     "\"int32x16\", "
                                                     "\"llvm.x86.avx512.vpdpbusd.512\", "
                                                     "C[0:16], T.Broadcast(T.reinterpret("
                                                     "\"int32\", B[0:4]), 16), "
                                                     "T.reinterpret(\"int32x16\", "
                                                     "A[0:64]))\n");
        ml_Text out = {0};
        ml_Codegen *ll;

        snprintf(t.triple, sizeof t.triple, "x86_64-pc-linux-gnu");
        snprintf(t.cpu, sizeof t.cpu, "%s", cases[k].cpu);
        snprintf(t.features, sizeof t.features, "%s", cases[k].features);
        ll = ml_code_open(x->cx, &t);
        if (ll == NULL)
            fail_msg("%s", error_text(x));
        bool ok = ml_code_text(ll, x->cx, &f, 1, &o, "asm", &out);

        if (cases[k].says) {
            assert_false(ok);
            assert_int_equal(ML_E_NOT_SUPPORTED, ml_error(x->cx)->code);
            assert_non_null(strstr(error_text(x), cases[k].says));
            ml_error_clear(x->cx);
        } else {
            if (!ok)
                fail_msg("%s", error_text(x));
            assert_non_null(strstr(ml_text_z(&out), "vpdpbusd"));
        }
        ml_text_free(&out);
        ml_code_close(ll);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_of_the_program_are_in_the_assembly),
        TEST(every_pipeline_computes_the_same),
        TEST(straight_line_code_is_right_in_every_pipeline),
        TEST(a_step_from_outside_a_buffer_is_not_inbounds),
        TEST(prefetch_touches_each_line_of_the_tile_once),
        TEST(prefetches_are_spread_over_the_loops_that_say_here),
        TEST(parameters_say_what_is_known_of_them),
        TEST(contraction_happens_only_where_it_is_allowed),
        TEST(external_functions_and_intrinsics_are_called),
        TEST(an_unknown_symbol_is_named),
        TEST(what_no_backend_has_is_told),
        TEST(several_functions_make_one_object),
        TEST(broken_objects_are_refused),
        TEST(linking_many_times_keeps_each_apart_and_leaks_nothing),
        TEST(a_target_that_llvm_lacks_is_refused),
        TEST(narrower_targets_and_another_processor_get_code),
        TEST(a_dot_product_of_bytes_needs_its_instruction),
    };

    return MAIN(tests);
}
