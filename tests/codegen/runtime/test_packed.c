/*
 * test_packed - the table of lowering-and-codegen 5.3: what is refused, with which words,
 * in which order; what becomes of arguments that are accepted.
 */
#include "moonloop/codegen/runtime/runtime.h"

#include "../build.h"

#include "moonloop/core/script/script.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- a call */

enum { MAX = 6 };

typedef struct Call {
    Fix *x;
    const ml_Func *f;
    ml_Signature sig;
    ml_CallOpts opts;
    ml_PackedArg args[MAX];
    ml_DLTensor t[MAX];
    int64_t shape[MAX][4], strides[MAX][4];
    int32_t n;
} Call;

static _Alignas(64) float memory[MAX][8192];

static struct {
    int n;
    int32_t status;
    ml_Word words[16];
    size_t n_words;
} called;

static int32_t kernel(const ml_Word *w)
{
    called.n++;
    memcpy(called.words, w, called.n_words * sizeof *w);
    return called.status;
}

static const ml_Func *parse(Fix *x, const char *text)
{
    ml_ParseOpts o = {.spelling = -1};
    ml_Parsed p = ml_parse(x->cx, ml_str(text), &o);

    if (p.mod == NULL)
        fail_msg("%s", p.n_diags ? p.diags[0].message : "no module");
    return p.mod->funcs[0];
}

static void give(Call *c, uint32_t k, int32_t rank, int64_t n0, int64_t n1)
{
    c->shape[k][0] = n0;
    c->shape[k][1] = n1;
    c->t[k] = (ml_DLTensor){.data = memory[k],
                            .device = {1, 0},
                            .ndim = rank,
                            .dtype = {2, 32, 1},
                            .shape = c->shape[k]};
    c->args[k].kind = ML_PACKED_TENSOR;
    c->args[k].as.tensor = &c->t[k];
}

static void begin(Call *c, Fix *x, const char *text)
{
    *c = (Call){.x = x};
    ml_error_clear(x->cx);
    c->f = parse(x, text);
    assert_true(ml_signature_of(x->cx, c->f, &c->sig));
    c->n = (int32_t)c->f->n_params;
    called.n = 0;
    called.status = 0;
    called.n_words = c->f->n_params + c->sig.n_sizes;
}

/* Two tensors that share a size, and numbers. */
static const char plain[] =
    "@T.prim_func\n"
    "def f(a: T.handle, b: T.handle, n: T.int32, flag: T.bool, alpha: T.float32):\n"
    "    m = T.int32()\n"
    "    A = T.match_buffer(a, (n, 64), \"float32\")\n"
    "    B = T.match_buffer(b, (64, m), \"float32\")\n"
    "    for i, j in T.grid(n, 64):\n"
    "        A[i, j] = B[j, 0]\n";

static void begin_plain(Call *c, Fix *x)
{
    begin(c, x, plain);
    give(c, 0, 2, 8, 64);
    give(c, 1, 2, 64, 5);
    c->args[2] = (ml_PackedArg){ML_PACKED_INT, {.i = 8}};
    c->args[3] = (ml_PackedArg){ML_PACKED_BOOL, {.i = 1}};
    c->args[4] = (ml_PackedArg){ML_PACKED_FLOAT, {.f = 0.5}};
}

static const char *text_of(Fix *x)
{
    const ml_Error *e = ml_error(x->cx);

    return e && e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text : "";
}

static void accept(Call *c)
{
    ml_error_clear(c->x->cx);
    if (!ml_packed_call(c->x->cx, &c->sig, kernel, c->args, c->n, &c->opts))
        fail_msg("refused: %s", text_of(c->x));
    assert_int_equal(called.n, 1);
    called.n = 0;
}

static void refuse(Call *c, int kind, const char *text)
{
    ml_Word words[16];

    ml_error_clear(c->x->cx);
    assert_int_equal(ml_packed_decode(c->x->cx, &c->sig, c->args, c->n, &c->opts, words),
                     kind);
    assert_int_equal(ml_error(c->x->cx)->code, ML_E_CALL_REFUSED);
    assert_string_equal(text_of(c->x), text);
    ml_error_clear(c->x->cx);
    assert_false(ml_packed_call(c->x->cx, &c->sig, kernel, c->args, c->n, &c->opts));
    assert_string_equal(text_of(c->x), text);
    ml_error_clear(c->x->cx);
    assert_int_equal(called.n, 0);
}

#define A0    "f: argument #0 'A'"
#define B1    "f: argument #1 'B'"
#define TYPE  ML_CALL_TYPE_ERROR
#define VALUE ML_CALL_VALUE_ERROR

/* ---------------------------------------------------------------- row by row */

static void good_arguments_become_words_in_order(void **state)
{
    Call c;

    begin_plain(&c, *state);
    accept(&c);
    assert_ptr_equal(called.words[0].p, memory[0]);
    assert_ptr_equal(called.words[1].p, memory[1]);
    assert_int_equal(called.words[2].i, 8);
    assert_int_equal(called.words[3].i, 1);
    assert_true(called.words[4].f == 0.5);
    assert_int_equal(called.words[5].i, 5); /* m, of B's shape */
}

static void a_wrong_number_of_arguments_is_told_with_the_signature(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.n = 3;
    refuse(&c, TYPE,
           "f: expected 5 arguments, got 3; signature f(A: Tensor([n, 64], float32), "
           "B: Tensor([64, m], float32), n: int32, flag: bool, alpha: float32)");
    c.n = -1;
    refuse(&c, TYPE,
           "f: expected 5 arguments, got -1; signature f(A: Tensor([n, 64], float32), "
           "B: Tensor([64, m], float32), n: int32, flag: bool, alpha: float32)");
}

static void a_list_that_is_null_is_refused_unless_there_are_no_parameters(void **state)
{
    Fix *x = *state;
    Call c;
    ml_Word words[8];

    begin_plain(&c, x);
    assert_int_equal(ml_packed_decode(x->cx, &c.sig, NULL, 5, NULL, words), TYPE);
    assert_string_equal(text_of(x), "f: argument list is NULL");
    begin(&c, x, "@T.prim_func\ndef f():\n    T.evaluate(0)\n");
    assert_true(ml_packed_call(x->cx, &c.sig, kernel, NULL, 0, NULL));
    assert_int_equal(called.n, 1);
}

static void each_kind_of_argument_fits_the_parameters_that_it_should(void **state)
{
    static const struct {
        uint32_t arg;
        ml_PackedKind kind;
        const char *text; /* NULL: accepted */
    } rows[] = {
        {0, ML_PACKED_INT, A0 ": expected tensor, got int"},
        {0, ML_PACKED_NULL, A0 ": expected tensor, got null"},
        {0, ML_PACKED_POINTER, A0 ": expected tensor, got pointer"},
        {2, ML_PACKED_BOOL, NULL},
        {2, ML_PACKED_FLOAT, "f: argument #2 'n': expected int, got float"},
        {2, ML_PACKED_TENSOR, "f: argument #2 'n': expected int, got tensor"},
        {2, ML_PACKED_NULL, "f: argument #2 'n': expected int, got null"},
        {3, ML_PACKED_INT, NULL},
        {3, ML_PACKED_FLOAT, "f: argument #3 'flag': expected bool, got float"},
        {4, ML_PACKED_INT, NULL},
        {4, ML_PACKED_BOOL, NULL},
        {4, ML_PACKED_POINTER, "f: argument #4 'alpha': expected float, got pointer"},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        Call c;

        begin_plain(&c, *state);
        if (rows[k].arg == 2 && rows[k].kind == ML_PACKED_BOOL)
            c.shape[0][0] = 1;
        c.args[rows[k].arg] = (ml_PackedArg){rows[k].kind, {.i = 7}};
        if (rows[k].kind == ML_PACKED_TENSOR)
            c.args[rows[k].arg].as.tensor = &c.t[0];
        if (rows[k].text)
            refuse(&c, TYPE, rows[k].text);
        else
            accept(&c);
    }
}

static void a_bool_is_0_or_1_and_numbers_become_floats(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.args[3] = (ml_PackedArg){ML_PACKED_INT, {.i = 256}};
    c.args[4] = (ml_PackedArg){ML_PACKED_INT, {.i = -3}};
    accept(&c);
    assert_int_equal(called.words[3].i, 1);
    assert_true(called.words[4].f == -3.0);
    c.args[4] = (ml_PackedArg){ML_PACKED_BOOL, {.i = 9}};
    accept(&c);
    assert_true(called.words[4].f == 1.0);
}

static void a_pointer_parameter_takes_null_a_pointer_or_a_tensor(void **state)
{
    Fix *x = *state;
    Call c;

    begin(&c, x, "@T.prim_func\ndef f(p: T.handle, n: T.int32):\n    T.evaluate(n)\n");
    c.args[1] = (ml_PackedArg){ML_PACKED_INT, {.i = 1}};
    c.args[0] = (ml_PackedArg){ML_PACKED_NULL, {.p = memory[2]}};
    accept(&c);
    assert_null(called.words[0].p);
    c.args[0] = (ml_PackedArg){ML_PACKED_POINTER, {.p = memory[2]}};
    accept(&c);
    assert_ptr_equal(called.words[0].p, memory[2]);
    give(&c, 0, 1, 4, 0);
    c.t[0].byte_offset = 16;
    accept(&c);
    assert_ptr_equal(called.words[0].p, &memory[0][4]);
    c.args[0] = (ml_PackedArg){ML_PACKED_INT, {.i = 1}};
    refuse(&c, TYPE, "f: argument #0 'p': expected pointer, got int");
}

static void a_tensor_that_is_null_is_refused(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.args[1].as.tensor = NULL;
    refuse(&c, TYPE, B1 ": tensor is NULL");
}

static void the_rank_must_agree(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.t[0].ndim = 3;
    refuse(&c, VALUE, A0 ".ndim: expected 2, got 3");
    c.t[0].ndim = -1;
    refuse(&c, VALUE, A0 ".ndim: expected 2, got -1");
}

static void code_bits_and_lanes_of_the_dtype_must_agree(void **state)
{
    static const struct {
        ml_DLType t;
        const char *text;
    } rows[] = {
        {{2, 16, 1}, A0 ".dtype: expected float32, got float16"},
        {{0, 32, 1}, A0 ".dtype: expected float32, got int32"},
        {{1, 8, 1}, A0 ".dtype: expected float32, got uint8"},
        {{4, 16, 1}, A0 ".dtype: expected float32, got bfloat16"},
        {{6, 8, 1}, A0 ".dtype: expected float32, got bool"},
        {{2, 32, 4}, A0 ".dtype: expected float32, got float32x4"},
        {{200, 32, 1}, A0 ".dtype: expected float32, got type32"},
    };
    Call c;

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        begin_plain(&c, *state);
        c.t[0].dtype = rows[k].t;
        refuse(&c, TYPE, rows[k].text);
    }
}

static void types_of_one_bit_are_not_compared_but_wider_ones_are(void **state)
{
    Call c;

    begin(&c, *state,
          "@T.prim_func\ndef f(A: T.Buffer((4,), \"bool\")):\n"
          "    for i in range(4):\n        A[i] = T.bool(True)\n");
    give(&c, 0, 1, 4, 0);
    c.t[0].dtype = (ml_DLType){6, 8, 1};
    accept(&c);
    c.t[0].dtype = (ml_DLType){1, 1, 1};
    accept(&c);
    c.t[0].dtype = (ml_DLType){1, 8, 1};
    accept(&c);
    c.t[0].dtype = (ml_DLType){0, 64, 1};
    refuse(&c, TYPE, A0 ".dtype: expected bool, got int64");
}

static void every_dtype_has_the_number_that_others_know(void **state)
{
    static const struct {
        const char *name;
        ml_DLType want;
    } rows[] = {
        {"int8", {0, 8, 1}},
        {"uint64", {1, 64, 1}},
        {"float16", {2, 16, 1}},
        {"handle", {3, 64, 1}},
        {"bfloat16", {4, 16, 1}},
        {"bool", {6, 8, 1}},
        {"float8_e3m4", {7, 8, 1}},
        {"float8_e4m3", {8, 8, 1}},
        {"float8_e4m3fn", {10, 8, 1}},
        {"float8_e5m2", {12, 8, 1}},
        {"float8_e8m0fnu", {14, 8, 1}},
        {"float4_e2m1fn", {17, 4, 1}},
        {"float32x4", {2, 32, 4}},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Dtype t;
        ml_DLType got;

        assert_true(ml_dtype_parse(ml_str(rows[k].name), &t));
        got = ml_dl_type(t);
        if (got.code != rows[k].want.code || got.bits != rows[k].want.bits ||
            got.lanes != rows[k].want.lanes)
            fail_msg("%s: %u %u %u", rows[k].name, got.code, got.bits, got.lanes);
    }
}

static void constant_extents_must_be_equal(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.shape[1][0] = 32;
    refuse(&c, VALUE, B1 ".shape[0]: expected 64, got 32");
}

static void an_extent_that_a_number_says_must_agree_with_it(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.shape[0][0] = 9;
    refuse(&c, VALUE, A0 ".shape[0]: expected 8 (= n), got 9");
}

static void extents_below_zero_and_shapes_beyond_memory_are_refused(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.shape[1][1] = -4;
    refuse(&c, VALUE, B1 ".shape[1]: expected at least 0, got -4");
    c.shape[1][1] = INT64_MAX / 2;
    refuse(&c, VALUE, B1 ".shape: more elements than there is memory");
    c.t[1].shape = NULL;
    refuse(&c, VALUE, B1 ".shape is NULL");
}

static const char shared[] = "@T.prim_func\n"
                             "def f(a: T.handle, b: T.handle, c: T.handle):\n"
                             "    n = T.int32()\n"
                             "    m = T.int32()\n"
                             "    A = T.match_buffer(a, (n * 2, m), \"float32\")\n"
                             "    B = T.match_buffer(b, (m, n), \"float32\")\n"
                             "    C = T.match_buffer(c, (n * m + 1,), \"float32\")\n"
                             "    for i in range(n):\n"
                             "        A[i, 0] = B[0, i] + C[i]\n";

static void begin_shared(Call *c, Fix *x)
{
    begin(c, x, shared);
    give(c, 0, 2, 6, 4);
    give(c, 1, 2, 4, 3);
    give(c, 2, 1, 13, 0);
}

static void the_first_occurrence_binds_and_later_ones_must_agree(void **state)
{
    Call c;

    begin_shared(&c, *state);
    accept(&c);
    assert_int_equal(called.words[3].i, 3); /* n, m: in order of first occurrence */
    assert_int_equal(called.words[4].i, 4);
    c.shape[1][0] = 5;
    refuse(&c, VALUE, B1 ".shape[0]: expected 4 (= A.shape[1]), got 5");
}

static void compound_extents_are_compared_when_their_variables_are_known(void **state)
{
    Call c;

    begin_shared(&c, *state);
    c.shape[2][0] = 12;
    refuse(&c, VALUE, "f: argument #2 'C'.shape[0]: expected 13 (= n * m + 1), got 12");
    begin_shared(&c, *state);
    c.shape[0][0] = 7; /* A comes before B, which says n */
    refuse(&c, VALUE, A0 ".shape[0]: expected 6 (= n * 2), got 7");
    begin_shared(&c, *state);
    c.shape[0][1] = c.shape[1][0] = 1;
    c.shape[1][1] = 2000000000;
    c.shape[0][0] = 4000000000;
    c.shape[2][0] = 2000000001;
    accept(&c);
}

static void a_size_that_does_not_fit_its_variable_is_refused(void **state)
{
    Call c;

    begin_shared(&c, *state);
    c.shape[0][1] = 3000000000;
    refuse(&c, VALUE, A0 ".shape[1]: 3000000000 does not fit int32");
}

static void expressions_without_a_value_are_refused(void **state)
{
    Call c;

    begin(&c, *state,
          "@T.prim_func\n"
          "def f(a: T.handle, n: T.int64):\n"
          "    A = T.match_buffer(a, (T.int64(12) // n,), \"float32\")\n"
          "    A[0] = T.float32(0)\n");
    give(&c, 0, 1, 4, 0);
    c.args[1] = (ml_PackedArg){ML_PACKED_INT, {.i = 3}};
    accept(&c);
    c.args[1].as.i = 0;
    refuse(&c, VALUE, A0 ".shape[0]: expected T.int64(12) // n, which has no value here");
}

static void strides_may_be_absent_or_compact_where_none_are_declared(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.t[0].strides = c.strides[0];
    c.strides[0][0] = 64;
    c.strides[0][1] = 1;
    accept(&c);
    c.strides[0][0] = 80;
    refuse(&c, VALUE, A0 ".strides: expected a compact array, got [80, 1]");
    c.shape[0][0] = 1;
    c.args[2].as.i = 1;
    accept(&c); /* an extent of 1 is never stepped over */
    c.shape[0][0] = 0;
    c.args[2].as.i = 0;
    accept(&c); /* nor is anything in an empty tensor */
}

static const char strided[] =
    "@T.prim_func\n"
    "def f(a: T.handle, b: T.handle):\n"
    "    s = T.int32()\n"
    "    A = T.match_buffer(a, (4, 8), \"float32\", strides=(s, 1))\n"
    "    B = T.match_buffer(b, (4, 8), \"float32\", strides=(s, 1))\n"
    "    for i in range(4):\n"
    "        A[i, 0] = B[i, 0]\n";

static void begin_strided(Call *c, Fix *x)
{
    begin(c, x, strided);
    for (uint32_t k = 0; k < 2; k++) {
        give(c, k, 2, 4, 8);
        c->t[k].strides = c->strides[k];
        c->strides[k][0] = 20;
        c->strides[k][1] = 1;
    }
}

static void declared_strides_are_bound_like_shapes(void **state)
{
    Call c;

    begin_strided(&c, *state);
    accept(&c);
    assert_int_equal(called.words[2].i, 20);
    c.strides[1][0] = 24;
    refuse(&c, VALUE, B1 ".strides[0]: expected 20 (= A.strides[0]), got 24");
    c.strides[1][0] = 20;
    c.strides[0][1] = 2;
    refuse(&c, VALUE, A0 ".strides[1]: expected 1, got 2");
    c.t[0].strides = NULL; /* compact: 8 */
    refuse(&c, VALUE, B1 ".strides[0]: expected 8 (= A.strides[0]), got 20");
    c.t[1].strides = NULL;
    accept(&c);
    assert_int_equal(called.words[2].i, 8);
}

static void strides_of_extent_1_bind_only_what_nothing_else_binds(void **state)
{
    Call c;

    begin(&c, *state,
          "@T.prim_func\n"
          "def f(a: T.handle, b: T.handle):\n"
          "    s = T.int32()\n"
          "    n = T.int32()\n"
          "    A = T.match_buffer(a, (n, 8), \"float32\", strides=(s, 1))\n"
          "    B = T.match_buffer(b, (4, 8), \"float32\", strides=(s, 1))\n"
          "    A[0, 0] = B[0, 0]\n");
    give(&c, 0, 2, 1, 8);
    give(&c, 1, 2, 4, 8);
    c.t[0].strides = c.strides[0];
    c.strides[0][0] = 12345;
    c.strides[0][1] = 1;
    accept(&c);
    assert_int_equal(called.words[2].i, 1); /* n, s */
    assert_int_equal(called.words[3].i, 8);
}

static void a_stride_may_say_what_a_compound_extent_needs(void **state)
{
    Call c;

    begin(&c, *state,
          "@T.prim_func\n"
          "def f(a: T.handle):\n"
          "    s = T.int32()\n"
          "    A = T.match_buffer(a, (4, s - 2), \"float32\", strides=(s, 1))\n"
          "    A[0, 0] = T.float32(1)\n");
    give(&c, 0, 2, 4, 8);
    c.t[0].strides = c.strides[0];
    c.strides[0][0] = 10;
    c.strides[0][1] = 1;
    accept(&c);
    c.strides[0][0] = 11;
    refuse(&c, VALUE, A0 ".shape[1]: expected 9 (= s - 2), got 8");
}

static void the_byte_offset_is_the_declared_one_or_a_multiple(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.t[0].byte_offset = 256;
    refuse(&c, VALUE, A0 ".byte_offset: expected 0 elements of 4 bytes, got 256 bytes");
    begin(&c, *state,
          "@T.prim_func\n"
          "def f(a: T.handle):\n"
          "    o = T.int32()\n"
          "    A = T.match_buffer(a, (16,), \"float32\", elem_offset=o, "
          "offset_factor=16, align=4)\n"
          "    A[0] = T.float32(1)\n");
    give(&c, 0, 1, 16, 0);
    c.t[0].byte_offset = 128;
    accept(&c);
    assert_ptr_equal(called.words[0].p, &memory[0][32]);
    assert_int_equal(called.words[1].i, 32);
    c.t[0].byte_offset = 32;
    refuse(&c, VALUE, A0 ".byte_offset: expected a multiple of 64, got 32");
    c.t[0].byte_offset = UINT64_C(64) << 40;
    refuse(&c, VALUE, A0 ".byte_offset: 17592186044416 does not fit int32");
}

static void all_tensors_are_on_the_cpu(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.t[1].device.type = 2;
    refuse(&c, VALUE, B1 ".device: expected cpu:0, got cuda:0");
    c.t[1].device.type = 1;
    c.t[1].device.id = 3;
    refuse(&c, VALUE, B1 ".device: expected cpu:0, got cpu:3");
    c.t[1].device.type = 99;
    refuse(&c, VALUE, B1 ".device: expected cpu:0, got device 99:3");
}

static void data_is_there_unless_some_extent_is_0(void **state)
{
    Call c;

    begin_plain(&c, *state);
    c.t[0].data = NULL;
    refuse(&c, VALUE, A0 ".data is NULL");
    c.shape[0][0] = 0;
    c.args[2].as.i = 0;
    accept(&c);
}

static void addresses_are_aligned_as_declared_unless_relaxed(void **state)
{
    Call c;
    char text[200];

    begin_plain(&c, *state);
    c.t[0].data = &memory[0][1];
    snprintf(text, sizeof text, A0 ".data: misaligned, expected 64 bytes, address %#llx",
             (unsigned long long)(uintptr_t)&memory[0][1]);
    refuse(&c, VALUE, text);
    c.opts.unaligned = true;
    accept(&c);
    c.t[0].data = (char *)memory[0] + 2;
    snprintf(text, sizeof text, A0 ".data: misaligned, expected 4 bytes, address %#llx",
             (unsigned long long)(uintptr_t)memory[0] + 2);
    refuse(&c, VALUE, text);
    c.shape[0][0] = 0;
    c.args[2].as.i = 0;
    accept(&c);
}

static void integers_fit_the_width_of_their_parameter(void **state)
{
    Call c;

    begin(&c, *state,
          "@T.prim_func\n"
          "def f(n: T.int32, u: T.uint8):\n"
          "    T.evaluate(n)\n");
    c.args[0] = (ml_PackedArg){ML_PACKED_INT, {.i = 5000000000}};
    c.args[1] = (ml_PackedArg){ML_PACKED_INT, {.i = 255}};
    refuse(&c, VALUE, "f: argument #0 'n': 5000000000 does not fit int32");
    c.args[0].as.i = INT32_MIN;
    accept(&c);
    c.args[1].as.i = 256;
    refuse(&c, VALUE, "f: argument #1 'u': 256 does not fit uint8");
    c.args[1].as.i = -1;
    refuse(&c, VALUE, "f: argument #1 'u': -1 does not fit uint8");
}

static void ranges_that_overlap_a_written_one_are_refused_when_asked(void **state)
{
    Call c;

    begin_shared(&c, *state);
    c.t[1].data = &memory[0][16]; /* inside A, which is written */
    accept(&c);
    c.opts.check_alias = true;
    refuse(&c, VALUE, A0 ".data overlaps 'B', and is written");
    c.t[1].data = &memory[0][32]; /* behind A's 24 elements */
    accept(&c);
    c.t[2].data = c.t[1].data; /* both are read only */
    accept(&c);
    begin_strided(&c, *state); /* A ends at element 3 * 20 + 8 */
    c.opts.check_alias = true;
    c.t[1].data = &memory[0][64];
    refuse(&c, VALUE, A0 ".data overlaps 'B', and is written");
    c.t[1].data = &memory[0][80];
    accept(&c);
}

/* ---------------------------------------------------------------- order */

/* Every row spoiled at once, in the table's order; mended one by one from the top. */
static void the_first_row_that_fails_is_told(void **state)
{
    Call c;
    char text[200];

    begin_plain(&c, *state);
    c.opts.check_alias = true;
    c.n = 4;
    c.args[4].kind = ML_PACKED_NULL;
    c.args[0].as.tensor = NULL;
    c.t[1] = (ml_DLTensor){.data = NULL,
                           .device = {2, 0},
                           .ndim = 3,
                           .dtype = {2, 64, 1},
                           .shape = c.shape[1],
                           .strides = c.strides[1],
                           .byte_offset = 4};
    c.shape[1][0] = 63;
    c.strides[1][0] = 99;
    c.args[2].as.i = INT64_C(8) + (INT64_C(1) << 33);
    refuse(&c, TYPE,
           "f: expected 5 arguments, got 4; signature f(A: Tensor([n, 64], float32), "
           "B: Tensor([64, m], float32), n: int32, flag: bool, alpha: float32)");
    c.n = 5;
    refuse(&c, TYPE, "f: argument #4 'alpha': expected float, got null");
    c.args[4].kind = ML_PACKED_FLOAT;
    refuse(&c, TYPE, A0 ": tensor is NULL");
    c.args[0].as.tensor = &c.t[0];
    refuse(&c, VALUE, B1 ".ndim: expected 2, got 3");
    c.t[1].ndim = 2;
    refuse(&c, TYPE, B1 ".dtype: expected float32, got float64");
    c.t[1].dtype.bits = 32;
    refuse(&c, VALUE, A0 ".shape[0]: expected 8589934600 (= n), got 8");
    c.shape[0][0] = c.args[2].as.i;
    refuse(&c, VALUE, B1 ".shape[0]: expected 64, got 63");
    c.shape[1][0] = 64;
    refuse(&c, VALUE, B1 ".strides: expected a compact array, got [99, 0]");
    c.t[1].strides = NULL;
    refuse(&c, VALUE, B1 ".byte_offset: expected 0 elements of 4 bytes, got 4 bytes");
    c.t[1].byte_offset = 0;
    refuse(&c, VALUE, B1 ".device: expected cpu:0, got cuda:0");
    c.t[1].device.type = 1;
    refuse(&c, VALUE, B1 ".data is NULL");
    c.t[1].data = (char *)memory[0] + 4;
    snprintf(text, sizeof text, B1 ".data: misaligned, expected 64 bytes, address %#llx",
             (unsigned long long)(uintptr_t)memory[0] + 4);
    refuse(&c, VALUE, text);
    c.t[1].data = memory[0];
    refuse(&c, VALUE, "f: argument #2 'n': 8589934600 does not fit int32");
    c.shape[0][0] = c.args[2].as.i = 8;
    refuse(&c, VALUE, A0 ".data overlaps 'B', and is written");
    c.t[1].data = memory[1];
    accept(&c);
}

/* ---------------------------------------------------------------- failures of the call */

static const char asserting[] = "@T.prim_func\n"
                                "def f(n: T.int32):\n"
                                "    assert n > 0, \"n is positive\"\n"
                                "    assert n % 2 == 0, \"n is even\"\n"
                                "    T.evaluate(n)\n";

static void an_assertion_that_fails_is_told_by_its_text(void **state)
{
    static const char *const want[] = {"f: AssertionError: n is positive",
                                       "f: AssertionError: n is even",
                                       "f: an assertion failed"};
    Fix *x = *state;
    Call c;

    begin(&c, x, asserting);
    c.args[0] = (ml_PackedArg){ML_PACKED_INT, {.i = 2}};
    for (int32_t k = 0; k < 3; k++) {
        const char *kind = k < 2 ? ml_packed_assert(x->cx, c.f, k + 1)->error : "";

        called.status = k + 1;
        ml_error_clear(x->cx);
        assert_false(ml_packed_call(x->cx, &c.sig, kernel, c.args, 1, NULL));
        assert_int_equal(ml_error(x->cx)->code, ML_E_ASSERT_FAILED);
        if (k < 2)
            assert_string_equal(text_of(x), ml_format(x->cx, "f: %s: n is %s",
                                                      kind ? kind : "RuntimeError",
                                                      k ? "even" : "positive"));
        else
            assert_string_equal(text_of(x), want[k]);
    }
}

static void a_full_workspace_is_told_with_what_was_asked_for(void **state)
{
    Fix *x = *state;
    Call c;

    begin(&c, x, asserting);
    c.args[0] = (ml_PackedArg){ML_PACKED_INT, {.i = 2}};
    called.status = ML_CALL_NO_WORKSPACE;
    ml_workspace_set_limit(1 << 20);
    assert_null(ml_workspace_alloc(2 << 20, 64));
    assert_false(ml_packed_call(x->cx, &c.sig, kernel, c.args, 1, NULL));
    assert_int_equal(ml_error(x->cx)->code, ML_E_TOO_LARGE);
    assert_string_equal(text_of(x),
                        "f: out of workspace memory: 2097152 bytes more were asked for");
    ml_workspace_set_limit(0);
}

static void calls_that_succeed_take_no_memory_of_the_context(void **state)
{
    Fix *x = *state;
    Call c;
    size_t before;

    begin_shared(&c, x);
    accept(&c);
    before = ml_ctx_bytes(x->cx);
    for (int k = 0; k < 10000; k++)
        accept(&c);
    assert_int_equal(ml_ctx_bytes(x->cx), before);
}

/* ---------------------------------------------------------------- random tuples */

static int64_t pick(ml_Random *r, const int64_t *v, size_t n)
{
    return v[ml_random_below(r, n)];
}

static void spoil(Call *c, ml_Random *r)
{
    static const int64_t numbers[] = {0,  1,  -1, 3,         4,         6,         13,
                                      64, 65, 8,  INT64_MAX, INT64_MIN, INT32_MAX, 1 << 20};
    uint32_t k = (uint32_t)ml_random_below(r, c->f->n_params);
    ml_DLTensor *t = &c->t[k];
    int64_t v = pick(r, numbers, ML_COUNT(numbers));

    switch (ml_random_below(r, 12)) {
    case 0: c->n = (int32_t)v; break;
    case 1: c->args[k].kind = (ml_PackedKind)ml_random_below(r, ML_PACKED_TENSOR); break;
    case 2:
        if (c->args[k].kind == ML_PACKED_TENSOR)
            c->args[k].as.tensor = NULL;
        break;
    case 3: t->ndim = (int32_t)v; break;
    case 4:
        t->dtype = (ml_DLType){(uint8_t)ml_random_below(r, 20), (uint8_t)v,
                               (uint16_t)ml_random_below(r, 3)};
        break;
    case 5: c->shape[k][ml_random_below(r, 2)] = v; break;
    case 6:
        t->strides = c->strides[k];
        c->strides[k][0] = v;
        c->strides[k][1] = pick(r, numbers, ML_COUNT(numbers));
        break;
    case 7: t->byte_offset = (uint64_t)v; break;
    case 8: t->device.type = (int32_t)v; break;
    case 9: t->data = ml_random_below(r, 2) ? NULL : (char *)memory[0] + (v & 255); break;
    case 10:
        c->args[k].as.i = c->args[k].kind == ML_PACKED_TENSOR ? c->args[k].as.i : v;
        break;
    case 11: t->shape = NULL; break;
    }
}

/* An accepted tuple is what the declaration says: looked at again, by another road. */
static void is_right(const Call *c, bool symbolic)
{
    for (uint32_t k = 0; k < c->f->n_params; k++) {
        const ml_Buffer *b = c->f->params[k].buffer;
        const ml_DLTensor *t = c->args[k].as.tensor;
        bool empty = false;

        if (b == NULL)
            continue;
        assert_int_equal(t->ndim, b->rank);
        for (int r = 0; r < t->ndim; r++)
            empty |= t->shape[r] == 0;
        assert_true(empty || t->data != NULL);
        assert_true(empty || ((uintptr_t)t->data + t->byte_offset) % 64 == 0);
        assert_int_equal(t->byte_offset, 0);
        if (t->strides && !empty && t->ndim == 2) {
            assert_true(t->shape[1] == 1 || t->strides[1] == 1);
            assert_true(t->shape[0] == 1 || t->strides[0] == t->shape[1]);
        }
    }
    if (symbolic) {
        const ml_DLTensor *a = c->args[0].as.tensor, *b = c->args[1].as.tensor;
        const ml_DLTensor *d = c->args[2].as.tensor;

        assert_int_equal(a->shape[0], 2 * b->shape[1]);
        assert_int_equal(a->shape[1], b->shape[0]);
        assert_int_equal(d->shape[0], a->shape[1] * b->shape[1] + 1);
    } else {
        const ml_DLTensor *a = c->args[0].as.tensor, *b = c->args[1].as.tensor;

        assert_int_equal(a->shape[0], c->args[2].kind == ML_PACKED_BOOL
                                          ? c->args[2].as.i != 0
                                          : c->args[2].as.i);
        assert_int_equal(a->shape[1], 64);
        assert_int_equal(b->shape[0], 64);
    }
}

static void a_rejected_call_reaches_no_kernel_and_touches_no_buffer(void **state)
{
    Fix *x = *state;
    ml_Random r = ml_random("packed", 0, 5);
    int accepted = 0, refused = 0;

    for (size_t k = 0; k < MAX; k++)
        memset(memory[k], 0x3c, sizeof memory[k]);
    for (int round = 0; round < 10000; round++) {
        Fix y = {.cx = ml_ctx_new(0)};
        static Call c;
        int spoiled = (int)ml_random_below(&r, 4);
        bool symbolic = ml_random_below(&r, 2) == 0;

        if (symbolic)
            begin_shared(&c, &y);
        else
            begin_plain(&c, &y);
        for (int k = 0; k < spoiled; k++)
            spoil(&c, &r);
        c.opts.check_alias = ml_random_below(&r, 2) == 0;
        if (ml_packed_call(y.cx, &c.sig, kernel, c.args, c.n, &c.opts)) {
            accepted++;
            assert_int_equal(called.n, 1);
            is_right(&c, symbolic);
        } else {
            refused++;
            assert_int_equal(called.n, 0);
            assert_non_null(ml_error(y.cx));
            assert_int_equal(ml_error(y.cx)->code, ML_E_CALL_REFUSED);
        }
        ml_ctx_unref(y.cx);
    }
    (void)x;
    assert_true(accepted > 2000 && refused > 2000);
    for (size_t k = 0; k < MAX; k++)
        for (size_t b = 0; b < sizeof memory[k]; b++)
            assert_int_equal(((unsigned char *)memory[k])[b], 0x3c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good_arguments_become_words_in_order),
        TEST(a_wrong_number_of_arguments_is_told_with_the_signature),
        TEST(a_list_that_is_null_is_refused_unless_there_are_no_parameters),
        TEST(each_kind_of_argument_fits_the_parameters_that_it_should),
        TEST(a_bool_is_0_or_1_and_numbers_become_floats),
        TEST(a_pointer_parameter_takes_null_a_pointer_or_a_tensor),
        TEST(a_tensor_that_is_null_is_refused),
        TEST(the_rank_must_agree),
        TEST(code_bits_and_lanes_of_the_dtype_must_agree),
        TEST(types_of_one_bit_are_not_compared_but_wider_ones_are),
        TEST(every_dtype_has_the_number_that_others_know),
        TEST(constant_extents_must_be_equal),
        TEST(an_extent_that_a_number_says_must_agree_with_it),
        TEST(extents_below_zero_and_shapes_beyond_memory_are_refused),
        TEST(the_first_occurrence_binds_and_later_ones_must_agree),
        TEST(compound_extents_are_compared_when_their_variables_are_known),
        TEST(a_size_that_does_not_fit_its_variable_is_refused),
        TEST(expressions_without_a_value_are_refused),
        TEST(strides_may_be_absent_or_compact_where_none_are_declared),
        TEST(declared_strides_are_bound_like_shapes),
        TEST(strides_of_extent_1_bind_only_what_nothing_else_binds),
        TEST(a_stride_may_say_what_a_compound_extent_needs),
        TEST(the_byte_offset_is_the_declared_one_or_a_multiple),
        TEST(all_tensors_are_on_the_cpu),
        TEST(data_is_there_unless_some_extent_is_0),
        TEST(addresses_are_aligned_as_declared_unless_relaxed),
        TEST(integers_fit_the_width_of_their_parameter),
        TEST(ranges_that_overlap_a_written_one_are_refused_when_asked),
        TEST(the_first_row_that_fails_is_told),
        TEST(an_assertion_that_fails_is_told_by_its_text),
        TEST(a_full_workspace_is_told_with_what_was_asked_for),
        TEST(calls_that_succeed_take_no_memory_of_the_context),
        TEST(a_rejected_call_reaches_no_kernel_and_touches_no_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
