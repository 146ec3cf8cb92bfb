/*
 * test_transform_layout - parameters in another layout: the program run on tensors whose
 * elements were moved by hand gives what the old one gives; and what the padding of a
 * written parameter holds. Layouts of what a program allocates are tried by the cases and
 * the random test.
 */
#include "fixture.h"

#include "moonloop/codegen/interp/interp.h"

enum { MAX_RANK = 4, MAX_ARGS = 4 };

/* How a test moves the elements of one parameter. */
typedef struct Moved {
    uint32_t param;
    void (*map)(const int64_t *from, int64_t *to);
} Moved;

static ml_Tensor *tensor_of(ml_Ctx *cx, const ml_Buffer *b)
{
    int64_t shape[MAX_RANK] = {0};

    for (uint32_t d = 0; d < b->rank; d++) {
        assert_int_equal(b->shape[d]->kind, ML_EXPR_INT);
        shape[d] = b->shape[d]->as.i;
    }
    ml_Tensor *t = ml_tensor_new(cx, b->type, shape, b->rank);

    assert_non_null(t);
    return t;
}

static int64_t place(const ml_Tensor *t, const int64_t *idx)
{
    int64_t at = 0;

    for (uint32_t d = 0; d < t->rank; d++) {
        assert_true(idx[d] >= 0 && idx[d] < t->shape[d]);
        at = at * t->shape[d] + idx[d];
    }
    return at;
}

/* Calls fn for each element of the old layout with its place in the new one. */
static void each(const ml_Tensor *old, ml_Tensor *now, const Moved *m,
                 void (*fn)(const ml_Tensor *, int64_t, ml_Tensor *, int64_t))
{
    for (int64_t e = 0; e < old->n; e++) {
        int64_t from[MAX_RANK] = {0}, to[MAX_RANK] = {0}, rest = e;

        for (uint32_t d = old->rank; d-- > 0;) {
            from[d] = rest % old->shape[d];
            rest /= old->shape[d];
        }
        m->map(from, to);
        fn(old, e, now, place(now, to));
    }
}

static void put(const ml_Tensor *old, int64_t e, ml_Tensor *now, int64_t at)
{
    ml_tensor_set(now, at, ml_tensor_get(old, e));
}

static void same(const ml_Tensor *old, int64_t e, ml_Tensor *now, int64_t at)
{
    assert_true(ml_tensor_get(now, at) == ml_tensor_get(old, e));
}

static void run(Fixture *fx, const ml_Module *mod, const ml_RunArg *args, uint32_t n)
{
    const ml_InterpOpts opts = {0};
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx->s));
    ml_InterpReport report;

    if (!ml_interpret(cx, mod, mod->funcs[0], args, n, &opts, &report))
        fail_msg("%s", ml_error_code(ml_error(cx)->code));
    ml_ctx_unref(cx);
}

/* Both versions on the same values; args[k] of the new one are left in `now`. */
static void compare(Fixture *fx, const Moved *moved, size_t n_moved, ml_Tensor **now)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx->s));
    const ml_Module *was = ml_version_program(fx->s, 0).mod;
    const ml_Module *is = ml_schedule_program(fx->s).mod;
    uint32_t n = was->funcs[0]->n_params;
    ml_RunArg a[MAX_ARGS] = {0}, b[MAX_ARGS] = {0};

    assert_true(n <= MAX_ARGS && is->funcs[0]->n_params == n);
    for (uint32_t k = 0; k < n; k++) {
        const Moved *m = NULL;

        a[k].tensor = tensor_of(cx, was->funcs[0]->params[k].buffer);
        now[k] = b[k].tensor = tensor_of(cx, is->funcs[0]->params[k].buffer);
        ml_tensor_fill(a[k].tensor, ML_FILL_IOTA, "layout", k, 1, 0, 1);
        for (size_t j = 0; j < n_moved; j++)
            if (moved[j].param == k)
                m = &moved[j];
        if (m)
            each(a[k].tensor, b[k].tensor, m, put);
        else
            for (int64_t e = 0; e < a[k].tensor->n; e++)
                put(a[k].tensor, e, b[k].tensor, e);
    }
    run(fx, was, a, n);
    run(fx, is, b, n);
    for (uint32_t k = 0; k < n; k++) {
        const Moved *m = NULL;

        for (size_t j = 0; j < n_moved; j++)
            if (moved[j].param == k)
                m = &moved[j];
        if (m)
            each(a[k].tensor, b[k].tensor, m, same);
        else
            for (int64_t e = 0; e < a[k].tensor->n; e++)
                same(a[k].tensor, e, b[k].tensor, e);
        ml_tensor_free(a[k].tensor);
    }
    ml_ctx_unref(cx);
}

static void free_all(ml_Tensor **now, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ml_tensor_free(now[k]);
}

static void tiled(const int64_t *from, int64_t *to)
{
    to[0] = from[0] / 4;
    to[1] = from[1];
    to[2] = from[0] % 4;
}

static void pairs(const int64_t *from, int64_t *to)
{
    to[0] = from[0] / 4;
    to[1] = from[0] % 4;
}

/* TVM rewrites the block's immediate scope only (primitives 14). */
static void a_parameter_is_moved_in_the_whole_function(void **state)
{
    Fixture fx;
    ml_Tensor *now[MAX_ARGS];
    const Moved m = {0, tiled};

    (void)state;
    fx_text(&fx, "@T.prim_func\n"
                 "def main(A: T.Buffer((8, 6), \"float32\"), B: T.Buffer((8, 6), "
                 "\"float32\"), C: T.Buffer((8, 6), \"float32\")):\n"
                 "    for o in range(2):\n"
                 "        with T.block(\"O\"):\n"
                 "            vo = T.axis.spatial(2, o)\n"
                 "            for i, j in T.grid(4, 6):\n"
                 "                with T.block(\"B\"):\n"
                 "                    vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                 "                    B[vo * 4 + vi, vj] = A[vo * 4 + vi, vj] + "
                 "T.float32(1)\n"
                 "    for i, j in T.grid(8, 6):\n"
                 "        with T.block(\"C\"):\n"
                 "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                 "            C[vi, vj] = A[7 - vi, vj] * T.float32(2)\n");
    fx_apply(&fx, "transform_layout(\"B\", {\"read\", 0}, \"lambda i, j: (i // 4, j, i % "
                  "4)\")");
    compare(&fx, &m, 1, now);
    free_all(now, 3);
    fx_close(&fx);
}

static const char COPY[] = "@T.prim_func\n"
                           "def main(A: T.Buffer((14,), \"float32\"), B: T.Buffer((14,), "
                           "\"float32\")):\n"
                           "    for i in range(14):\n"
                           "        with T.block(\"B\"):\n"
                           "            v = T.axis.spatial(14, i)\n"
                           "            B[v] = A[v] + T.float32(1)\n";

static void a_parameter_that_is_written_gets_its_padding(void **state)
{
    static const char *const before[] = {"", "split(\"i\", {auto, 5}) "};
    const Moved m = {1, pairs};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(before); k++) { /* in the nest, and behind it */
        ml_Tensor *now[MAX_ARGS];
        Fixture fx;

        fx_text(&fx, COPY);
        fx_apply(&fx, before[k]);
        fx_apply(&fx, "transform_layout(\"B\", \"B\", \"lambda i: (i // 4, i % 4)\", 7.0)");
        compare(&fx, &m, 1, now);
        assert_int_equal(now[1]->n, 16);
        assert_true(ml_tensor_get(now[1], 14) == 7.0 && ml_tensor_get(now[1], 15) == 7.0);
        free_all(now, 2);
        fx_close(&fx);
    }
}

static void of_a_parameter_that_is_only_read_the_padding_is_promised(void **state)
{
    const Moved m = {0, pairs};
    ml_Tensor *now[MAX_ARGS];
    Fixture fx;
    size_t n;

    (void)state;
    fx_text(&fx, COPY);
    fx_apply(&fx, "transform_layout(\"B\", {\"read\", 0}, \"lambda i: (i // 4, i % 4)\", "
                  "7.0)");
    n = ml_index_named(ml_schedule_program(fx.s).index, 0, "buffer_A_assumptions", NULL);
    assert_int_equal(n, 1);
    compare(&fx, &m, 1, now);
    free_all(now, 2);
    fx_close(&fx);
}

static void sizes_may_be_told_by_the_new_shape(void **state)
{
    Fixture fx;

    (void)state;
    fx_text(&fx, "@T.prim_func\n"
                 "def main(a: T.handle, c: T.handle):\n"
                 "    n = T.int32()\n"
                 "    A = T.match_buffer(a, (n, 8))\n"
                 "    C = T.match_buffer(c, (8,))\n"
                 "    for i in range(8):\n"
                 "        with T.block(\"C\"):\n"
                 "            v = T.axis.spatial(8, i)\n"
                 "            C[v] = T.if_then_else(0 < n, A[0, v], T.float32(0))\n");
    fx_apply(&fx, "transform_layout(\"C\", {\"read\", 0}, \"lambda i, j: (i * 8 + j,)\")");
    fx_refuses(
        &fx, ML_E_NOT_SUPPORTED,
        "transform_layout(\"C\", {\"read\", 0}, \"lambda i: (i // 3, i % 3)\", 0.0)");
    fx_apply(&fx, "transform_layout(\"C\", {\"read\", 0}, \"lambda i: (i // 8, i % 8)\")");
    fx_close(&fx);
}

static void unproved_maps_and_dropped_values_are_noted(void **state)
{
    Fixture fx;

    (void)state;
    fx_text(&fx, COPY);
    fx_apply(&fx, "transform_layout{block = \"B\", buffer = \"B\", index_map = \"lambda i: "
                  "(i // 4, i % 4)\", pad_value = 0.0, assume_injective_transform = true}");
    const char *const *notes;

    assert_int_equal(ml_schedule_notes(fx.s, &notes), 3);
    fx_close(&fx);
}

/* A map as an object of any context: its buffers are none of the program's. */
static void a_pad_value_reads_no_buffer(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Expr *shape[1] = {ml_i32(cx, 4)};
    const ml_Buffer *other = ml_buffer_new(cx, "other", ML_DT_F32, shape, 1, "global");
    const ml_Var *vars[2] = {ml_var_new(cx, "i", ML_DT_I32),
                             ml_var_new(cx, "j", ML_DT_I32)};
    const ml_Expr *idx[1] = {ml_var(cx, vars[0])};
    const ml_Expr *value[1] = {ml_load(cx, other, idx, 1)};
    const ml_IndexMap m = {.vars = vars, .exprs = value, .n_vars = 2, .n_exprs = 1};
    const ml_Arg pair[2] = {ML_ARG_STR("write"), ML_ARG_INT(0)};
    const ml_Arg args[5] = {ML_ARG_STR("B"),
                            ML_ARG_LIST(pair, 2),
                            ML_ARG_STR("lambda i: (i // 4, i % 4)"),
                            {.kind = ML_A_MAP, .as.map = &m},
                            ML_ARG_ABSENT};
    Fixture fx;

    (void)state;
    fx_text(&fx, COPY);
    assert_false(
        ml_apply_prim(fx.s, ml_primitive_find("transform_layout"), args, 5, &fx.r));
    assert_int_equal(ml_schedule_error(fx.s)->code, ML_E_PAD_FOREIGN_LOAD);
    fx_close(&fx);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_is_moved_in_the_whole_function),
        cmocka_unit_test(a_parameter_that_is_written_gets_its_padding),
        cmocka_unit_test(of_a_parameter_that_is_only_read_the_padding_is_promised),
        cmocka_unit_test(sizes_may_be_told_by_the_new_shape),
        cmocka_unit_test(a_pad_value_reads_no_buffer),
        cmocka_unit_test(unproved_maps_and_dropped_values_are_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
