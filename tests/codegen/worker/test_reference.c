/*
 * test_reference - a quick version of a start that takes long stands for it where samples of
 * the start vouch for it, and only there. Source: lowering-and-codegen 12.11.
 */
#include "moonloop/codegen/measure/reference.h"
#include "moonloop/core/script/script.h"

#include "work.h"

#include <math.h>

/* A product of 512: 2^27 iterations. %d: terms of each sum that it has. */
#define PRODUCT                                                                            \
    "@T.prim_func\n"                                                                       \
    "def main(A: T.Buffer((1, 512, 512), \"float32\"), "                                   \
    "B: T.Buffer((1, 512, 512), \"float32\"), C: T.Buffer((1, 512, 512), \"float32\")):\n" \
    "    for b, i, k, j in T.grid(1, 512, %d, 512):\n"                                     \
    "        with T.block(\"C\"):\n"                                                       \
    "            vb, vi, vk, vj = T.axis.remap(\"SSRS\", [b, i, k, j])\n"                  \
    "            with T.init():\n"                                                         \
    "                C[vb, vi, vj] = T.float32(0)\n"                                       \
    "            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]\n"

static ml_Work product(Fix *x, int terms)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(ml_format(x->cx, PRODUCT, terms)), NULL);

    if (p.mod == NULL)
        fail_msg("%s", p.diags[0].message);
    return (ml_Work){.mod = p.mod, .func = p.mod->funcs[0]};
}

/* What the reference has at an element, with a quick version of so many terms (0: none);
 * *agrees: whether samples said so. */
static double element(Fix *x, int terms, bool *agrees)
{
    const ml_CheckOpts o = {.inputs = ML_FILL_RANDOM};
    const ml_Target host = ml_target_host();
    const ml_Work start = product(x, 512), quick = product(x, terms ? terms : 512);
    const ml_StartRun by = {
        .worker = worker(x), .target = &host, .quick = terms ? &quick : NULL};
    ml_ParamRole roles[3];
    ml_RunArg initial[3] = {0};
    ml_Reference *r;
    double v;

    ml_param_roles(x->cx, start.func, NULL, 0, roles);
    assert_true(ml_inputs_make(x->cx, start.func, &o, roles, initial));
    r = ml_reference_make(x->cx, &start, &o, roles, initial, &by);
    if (r == NULL)
        fail_msg("%s", error_text(x));
    v = ml_tensor_get(r->v[2].tensor, 512 * 511 + 77);
    *agrees = r->bounds[2].agrees;
    ml_reference_free(r);
    ml_inputs_free(initial, 3);
    return v;
}

static void a_quick_version_counts_where_samples_agree(void **state)
{
    Fix *x = *state;
    bool agrees;
    double right, quick, wrong;

    NEED_WORKER();
    right = element(x, 0, &agrees);
    assert_true(agrees);
    quick = element(x, 512, &agrees);
    assert_true(agrees && fabs(quick - right) < 1e-3);
    wrong = element(x, 511, &agrees); /* a term is missing: the start was run itself */
    assert_true(agrees && fabs(wrong - right) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quick_version_counts_where_samples_agree, fix_up,
                                        fix_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
