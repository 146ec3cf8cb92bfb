/* test_space - a moment of the design spaces of all workloads as machine code between guard
 * pages (fuzz_space runs more of it), and that what such a run looks for is seen. */
#include "compiled.h"
#include "runner.h"
#include "space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static bool have_compiler(void)
{
    const char *why;

    if (fz_compiler(&why))
        return true;
    print_message("skip: nothing can be compiled: %s\n", why);
    return false;
}

/* Reads B[at] of eight numbers; the kind of failure with the data there. */
static const char *read_at(int at, FzPlace place, char told[200])
{
    const FzCode code = {.opt = ML_OPT_LIGHT,
                         .threads = 1,
                         .bits = 128,
                         .place = FZ_AT_END,
                         .contract = true};
    char text[300];
    int64_t shape[1] = {8};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_RunArg args[2] = {{.tensor = ml_tensor_new(cx, ML_DT_F32, shape, 1)},
                         {.tensor = ml_tensor_new(cx, ML_DT_F32, shape, 1)}};
    FzCompile c = {.cx = cx, .text = text, .code = &code, .args = args, .n_args = 2};
    const char *kind;

    snprintf(text, sizeof text,
             "@T.prim_func\n"
             "def main(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
             "    A[0] = B[%d]\n",
             at);
    kind = fz_object(&c);
    if (kind == NULL)
        kind = fz_call(&c, place);
    snprintf(told, 200, "%s", ml_text_z(&c.detail));
    ml_text_free(&c.detail);
    free(c.object.v);
    ml_tensor_free(args[0].tensor);
    ml_tensor_free(args[1].tensor);
    ml_ctx_unref(cx);
    return kind;
}

static void a_read_beside_a_tensor_faults_on_either_side(void **state)
{
    char told[200];

    if (!have_compiler())
        skip();
    assert_null(read_at(0, FZ_AT_BEGIN, told));
    assert_null(read_at(7, FZ_AT_END, told));
    assert_string_equal(read_at(-1, FZ_AT_BEGIN, told), "compiled-crash");
    assert_non_null(strstr(told, "byte -4 of B"));
    assert_string_equal(read_at(8, FZ_AT_END, told), "compiled-crash");
    assert_non_null(strstr(told, "byte 32 of B"));
}

static void tensors_of_all_sizes_have_places_of_their_own(void **state)
{
    size_t room;

    if (!have_compiler())
        skip();
    for (size_t bytes = 1; bytes <= FZ_ROOM; bytes *= 2)
        for (uint32_t k = 0; k < FZ_SLOTS; k++) {
            uint8_t *slot = fz_slot(k, bytes, &room);

            assert_true(room >= bytes);
            memset(slot, (int)k, room);
        }
    for (size_t bytes = 1; bytes <= FZ_ROOM; bytes *= 2)
        for (uint32_t k = 0; k < FZ_SLOTS; k++) {
            const uint8_t *slot = fz_slot(k, bytes, &room);

            assert_true(slot[0] == k && slot[room - 1] == k);
        }
}

static void run_some(uint64_t seed, int64_t n, int each)
{
    const char *why;
    FzSpace *s = fz_space_open(NULL, &why);
    int64_t candidates = 0, programs = 0;

    assert_non_null(s);
    for (int64_t k = 0; k < n; k++) {
        static FzSpaceResult r;
        ml_Text out = {0};

        fz_space_run(s, seed, k, 0, each, &r, &out);
        if (r.failed)
            fail_msg("%s", ml_text_z(&out));
        ml_text_free(&out);
        candidates += r.candidates;
        programs++;
    }
    print_message("%lld candidates of %lld programs\n", (long long)candidates,
                  (long long)programs);
    assert_true(candidates > 0);
    fz_space_close(s);
}

static void candidates_of_all_workloads_compute_what_they_should(void **state)
{
    if (!have_compiler())
        skip();
    run_some(7, fz_quick(480), 2);
}

/* The draft of each operator in several sizes. */
static void drafts_of_all_workloads_compute_what_they_should(void **state)
{
    if (!have_compiler())
        skip();
    run_some(8, fz_quick(600), 1);
}

static int close_compiler(void **state)
{
    fz_compiler_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_beside_a_tensor_faults_on_either_side),
        cmocka_unit_test(tensors_of_all_sizes_have_places_of_their_own),
        cmocka_unit_test(candidates_of_all_workloads_compute_what_they_should),
        cmocka_unit_test(drafts_of_all_workloads_compute_what_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, close_compiler);
}
