/*
 * test_guarded - compiled code between guard pages: tails of every length, strides of every
 * number of lanes, conditions on memory. Source: lowering-and-codegen 13 (4).
 */
#define _GNU_SOURCE
#include "run_llvm.h"

#include "moonloop/codegen/lower/lower.h"

#include <sys/mman.h>

#define HEAD "@T.prim_func\ndef main("

enum { PAGE = 4096 };

typedef struct Guarded { /* memory for one argument between two pages without access */
    uint8_t *base;
    size_t bytes;
    uint8_t *data;
} Guarded;

/* At the end of its page, or at the begin. */
static Guarded guarded(const ml_Tensor *t, bool end)
{
    Guarded g = {.bytes = (t->bytes + PAGE - 1) / PAGE * PAGE};

    g.base = mmap(NULL, g.bytes + 2 * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    assert_true(g.base != MAP_FAILED);
    assert_int_equal(mprotect(g.base + PAGE, g.bytes, PROT_READ | PROT_WRITE), 0);
    memset(g.base + PAGE, 0xc5, g.bytes);
    g.data = g.base + PAGE + (end ? g.bytes - t->bytes : 0);
    memcpy(g.data, t->data, t->bytes);
    return g;
}

static void take_back(Guarded g, ml_Tensor *t)
{
    const uint8_t *page = g.base + PAGE;

    for (size_t k = 0; k < g.bytes; k++)
        if ((page + k < g.data || page + k >= g.data + t->bytes) && page[k] != 0xc5)
            fail_msg("a byte beside a buffer was written");
    memcpy(t->data, g.data, t->bytes);
    munmap(g.base, g.bytes + 2 * (size_t)PAGE);
}

static const ml_Func *lower(Fix *x, const ml_Func *f)
{
    ml_Target t = ml_target_host();
    ml_Lower lo = {.cx = x->cx, .opts = ml_lower_defaults(&t)};
    const ml_Func *body = ml_lower(&lo, f, NULL, NULL, NULL);

    if (body == NULL)
        fail_msg("%s", error_text(x));
    return body;
}

static void call_guarded(Fix *x, ml_KernelFn *fn, bool end)
{
    Guarded g[8];
    ml_Word words[8];

    for (size_t k = 0; k < x->n_args; k++) {
        if (x->args[k].tensor) {
            g[k] = guarded(x->args[k].tensor, end);
            words[k].p = g[k].data;
        } else {
            words[k].i = x->args[k].i;
        }
    }
    assert_int_equal(fn(words), 0);
    for (size_t k = 0; k < x->n_args; k++)
        if (x->args[k].tensor)
            take_back(g[k], x->args[k].tensor);
}

/* The program as the interpreter runs it, and compiled with its data at both ends of a
 * page; its numbers are n. */
static void same_guarded(Fix *x, const char *text, int64_t n)
{
    const ml_Func *f = parse_func(x, text), *body = lower(x, f);
    ml_CodeOpts o = {.no_contract = true, .unaligned = true};
    ml_Linked *l = compile(x, body, &o);
    ml_KernelFn *fn = kernel(x, l, f->name);
    ml_Tensor *want[8] = {NULL};

    for (int end = 0; end < 2; end++) {
        make_args(x, f);
        for (size_t k = 0; k < x->n_args; k++)
            if (!x->args[k].tensor)
                x->args[k].i = n;
        assert_int_equal(rerun(x, f), ML_E_OK);
        for (size_t k = 0; k < x->n_args; k++)
            if (x->args[k].tensor) {
                want[k] = ml_tensor_copy(x->cx, x->args[k].tensor);
                ml_tensor_fill(x->args[k].tensor, ML_FILL_IOTA, "t", (uint32_t)k, 1, 0, 0);
            }
        call_guarded(x, fn, end != 0);
        for (size_t k = 0; k < x->n_args; k++) {
            if (want[k] && memcmp(want[k]->data, x->args[k].tensor->data, want[k]->bytes))
                fail_msg("argument %zu differs in\n%s", k, text);
            ml_tensor_free(want[k]);
        }
    }
    ml_linked_free(l);
}

static void tails_of_every_length_stay_inside(void **state)
{
    Fix *x = *state;

    NEED_LLVM();
    for (int lanes = 4; lanes <= 16; lanes *= 2)
        for (int n = lanes; n < 2 * lanes; n++) {
            ml_Text t = {0};

            ml_text_fmt(&t,
                        HEAD
                        "A: T.Buffer((%d,), \"float32\"), D: T.Buffer((%d,), "
                        "\"float32\"), E: T.Buffer((%d,), \"int8\")):\n"
                        "    for i in range(2):\n"
                        "        for v in T.vectorized(%d):\n"
                        "            if T.likely(i * %d + v < %d):\n"
                        "                D[i * %d + v] = A[i * %d + v] * T.float32(3)\n"
                        "                E[i * %d + v] = T.Cast(\"int8\", A[%d - (i * "
                        "%d + v)])\n",
                        n, n, n, lanes, lanes, n, lanes, lanes, lanes, n - 1, lanes);
            same_guarded(x, ml_text_z(&t), 0);
            ml_text_free(&t);
        }
}

static void strided_loads_end_at_their_last_lane(void **state)
{
    Fix *x = *state;

    NEED_LLVM();
    for (int stride = 2; stride <= 4; stride++)
        for (int lanes = 2; lanes <= 9; lanes++) {
            ml_Text t = {0};

            ml_text_fmt(&t,
                        HEAD "A: T.Buffer((%d,), \"int32\"), D: T.Buffer((%d,), "
                             "\"int32\")):\n"
                             "    for v in T.vectorized(%d):\n"
                             "        D[v] = A[v * %d]\n",
                        (lanes - 1) * stride + 1, lanes, lanes, stride);
            same_guarded(x, ml_text_z(&t), 0);
            ml_text_free(&t);
        }
}

static void a_mask_read_from_memory_is_the_same_for_all_of_a_branch(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((19,), \"int32\"), D: T.Buffer((38,), \"int32\"), n: T.int32):\n"
             "    for v in T.vectorized(19):\n"
             "        if D[v] < n:\n"
             "            D[v] = D[v] + 100\n"
             "            D[v + 19] = 64 // (A[v] + 1)\n"
             "        else:\n"
             "            D[v] = 2\n"
             "            if A[v] % 2 == 0:\n"
             "                D[v] = A[v] // n\n";
    Fix *x = *state;

    NEED_LLVM();
    for (int n = 1; n < 20; n += 6)
        same_guarded(x, program, n);
}

static void padding_does_not_read_outside(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((13,), \"float64\"), D: T.Buffer((16,), \"float64\")):\n"
             "    for v in T.vectorized(16):\n"
             "        D[v] = T.if_then_else(1 <= v and v < 14, A[v - 1], T.float64(7))\n";
    Fix *x = *state;

    NEED_LLVM();
    same_guarded(x, program, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tails_of_every_length_stay_inside),
        TEST(strided_loads_end_at_their_last_lane),
        TEST(a_mask_read_from_memory_is_the_same_for_all_of_a_branch),
        TEST(padding_does_not_read_outside),
    };

    return MAIN(tests);
}
