/*
 * test_asm_view - loops are found by jumps, however the compiler laid out their blocks, and
 * views that are to be compared know no lines and no numbers of labels.
 */
#include "repl/show/asm_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static ml_Ctx *cx;
static ml_Text view;
static ml_AsmSummary sum;

static int set_up(void **state)
{
    (void)state;
    cx = ml_ctx_new(0);
    view = (ml_Text){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ml_text_free(&view);
    ml_ctx_unref(cx);
    return 0;
}

static bool look(const char *text, ml_AsmOpts o)
{
    ml_text_clear(&view);
    return ml_asm_view(cx, text, &o, &view, &sum);
}

/* What stands between the heads "hottest inner loop" and "all of ...". */
static void hot_is(const char *lines)
{
    const char *from = strstr(ml_text_z(&view), "hottest inner loop\n");
    const char *to = strstr(ml_text_z(&view), "all of ");

    assert_non_null(from);
    assert_non_null(to);
    from = strchr(from, '\n') + 1;
    if ((size_t)(to - from) != strlen(lines) || strncmp(from, lines, strlen(lines)) != 0)
        fail_msg("%.*s", (int)(to - from), from);
}

/* The inner loop {B, C, E} is entered at C, and its latch stands before the outer's. */
static const char rotated[] = "\t.text\n"
                              "f:\n"
                              "\t.loc 1 2 1\n"
                              "\txorl %eax, %eax\n"
                              "\tjmp .LBB0_1\n"
                              ".LBB0_4:\n"
                              "\t.loc 1 3 1\n"
                              "\taddq $1, %rax\n"
                              "\tcmpq $9, %rax\n"
                              "\tje .LBB0_5\n"
                              ".LBB0_1:\n"
                              "\t.loc 1 3 1\n"
                              "\tmovq $0, %rbx\n"
                              "\tjmp .LBB0_3\n"
                              ".LBB0_2:\n"
                              "\t.loc 1 5 1\n"
                              "\tvfmadd231ps %zmm0, %zmm1, %zmm2\n"
                              "\tcmpq $7, %rbx\n"
                              "\tje .LBB0_4\n"
                              ".LBB0_3:\n"
                              "\t.loc 1 4 1\n"
                              "\taddq $1, %rbx\n"
                              "\tjmp .LBB0_2\n"
                              ".LBB0_5:\n"
                              "\tretq\n";

static void an_inner_loop_is_found_in_any_layout(void **state)
{
    (void)state;
    assert_true(look(rotated, (ml_AsmOpts){0}));
    hot_is("     | .LBB0_2:\n"
           "   5 |     vfmadd231ps %zmm0, %zmm1, %zmm2\n"
           "   5 |     cmpq $7, %rbx\n"
           "   5 |     je .LBB0_4\n"
           "     | .LBB0_3:\n"
           "   4 |     addq $1, %rbx\n"
           "   4 |     jmp .LBB0_2\n");
    assert_int_equal(sum.instructions, 5);
    assert_int_equal(sum.fmas, 1);
    assert_int_equal(sum.vector_bits, 512);
    assert_true(sum.is_loop);
}

/* The exit of the loop is laid out in the middle of it. */
static void other_code_between_its_blocks_is_no_part_of_a_loop(void **state)
{
    (void)state;
    assert_true(look("f:\n"
                     "\t.loc 1 2 1\n"
                     "\tmovq $9, %rax\n"
                     ".LA:\n"
                     "\tdecq %rax\n"
                     "\tjne .LC\n"
                     ".LB:\n"
                     "\tvfmadd231ps %ymm0, %ymm1, %ymm2\n"
                     "\tretq\n"
                     ".LC:\n"
                     "\tvfmadd231ps %xmm0, %xmm1, %xmm2\n"
                     "\tjmp .LA\n",
                     (ml_AsmOpts){0}));
    hot_is("     | .LA:\n"
           "   2 |     decq %rax\n"
           "   2 |     jne .LC\n"
           "     | .LC:\n"
           "   2 |     vfmadd231ps %xmm0, %xmm1, %xmm2\n"
           "   2 |     jmp .LA\n");
    assert_int_equal(sum.instructions, 4);
    assert_int_equal(sum.vector_bits, 128);
}

static void a_jump_back_that_closes_no_loop_is_none(void **state)
{
    (void)state;
    /* B stands before A, and is come to by a jump backwards, once */
    assert_true(look("f:\n"
                     "\t.loc 1 2 1\n"
                     "\tjmp .LA\n"
                     ".LB:\n"
                     "\tnop\n"
                     "\tretq\n"
                     ".LA:\n"
                     "\tnop\n"
                     "\tjmp .LB\n",
                     (ml_AsmOpts){0}));
    assert_null(strstr(ml_text_z(&view), "hottest"));
    assert_false(sum.is_loop);
    assert_int_equal(sum.instructions, 5);
}

static void arm_jumps_close_loops_too(void **state)
{
    (void)state;
    assert_true(look("f:\n"
                     "\t.loc 1 2 1\n"
                     ".LA:\n"
                     "\tfmla v0.4s, v1.4s, v2.4s\n"
                     "\tsubs x8, x8, 1\n"
                     "\tcbz x9, .LC\n"
                     "\tb .LA\n"
                     ".LC:\n"
                     "\tret\n",
                     (ml_AsmOpts){0}));
    assert_true(sum.is_loop);
    assert_int_equal(sum.instructions, 4);
    assert_int_equal(sum.fmas, 1);
}

static void broken_text_is_no_loop(void **state)
{
    (void)state;
    assert_false(look("", (ml_AsmOpts){0}));
    assert_true(look("\tjmp .LNOWHERE\n\tjne\n\tjmp\nf:\n\tjmp *%rax\n.L1:\n.L1:\n",
                     (ml_AsmOpts){0}));
    assert_false(sum.is_loop);
    assert_true(look("f:\n.L1:\n\tjmp .L1\n\tjmp .L1\n", (ml_AsmOpts){0}));
    assert_true(sum.is_loop);
}

static void lines_choose_the_loop(void **state)
{
    static const char two[] = "f:\n"
                              "\t.loc 1 3 1\n"
                              ".LA:\n"
                              "\taddq $1, %rax\n"
                              "\tjne .LA\n"
                              "\t.loc 1 7 1\n"
                              ".LB:\n"
                              "\tvfmadd231ps %zmm0, %zmm1, %zmm2\n"
                              "\tjne .LB\n"
                              "\tretq\n";

    (void)state;
    assert_true(look(two, (ml_AsmOpts){0}));
    assert_int_equal(sum.fmas, 1);
    assert_true(look(two, (ml_AsmOpts){.from = 2, .to = 4}));
    assert_int_equal(sum.fmas, 0);
    assert_true(sum.is_loop);
    assert_null(strstr(ml_text_z(&view), "fmadd"));
    assert_false(look(two, (ml_AsmOpts){.from = 20, .to = 21}));
}

static void plain_views_have_no_lines_and_labels_by_order(void **state)
{
    ml_Text first;

    (void)state;
    assert_true(look("f:\n\t.loc 1 3 1\n.LBB7_4:\n\tnop\n\tjne .LBB7_4\n\tjmp .LBB7_9\n"
                     ".LBB7_9:\n\tleaq .LCPI0_1(%rip), %rax\n",
                     (ml_AsmOpts){.plain = true}));
    first = view;
    view = (ml_Text){0};
    assert_true(look("f:\n\t.loc 1 8 1\n.LBB0_1:\n\tnop\n\tjne .LBB0_1\n\tjmp .LBB0_2\n"
                     ".LBB0_2:\n\tleaq .LCPI3_0(%rip), %rax\n",
                     (ml_AsmOpts){.plain = true}));
    assert_string_equal(ml_text_z(&first), ml_text_z(&view));
    assert_non_null(strstr(ml_text_z(&view), ".L1:\n    nop\n    jne .L1\n"));
    assert_non_null(strstr(ml_text_z(&view), "leaq .L3(%rip), %rax\n"));
    ml_text_free(&first);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_inner_loop_is_found_in_any_layout),
        T(other_code_between_its_blocks_is_no_part_of_a_loop),
        T(a_jump_back_that_closes_no_loop_is_none),
        T(arm_jumps_close_loops_too),
        T(broken_text_is_no_loop),
        T(lines_choose_the_loop),
        T(plain_views_have_no_lines_and_labels_by_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
