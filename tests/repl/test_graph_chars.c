/*
 * Graphs in characters: boxes of a layer side by side, lines that go past what is between,
 * arrows, labels where lines begin. Source: interaction 12.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "repl/graph/graph.h"

static void expect(const char *plain, bool arrows, bool ascii, const char *want)
{
    ml_Text out = {0}, why = {0};

    assert_true(ml_graph_chars(plain, arrows, ascii, &out, &why));
    assert_string_equal(ml_text_z(&out), want);
    assert_int_equal(why.n, 0);
    ml_text_free(&out);
    ml_text_free(&why);
}

static void a_chain_is_boxes_one_below_the_other(void **state)
{
    (void)state;
    expect("graph 1 1 4\n"
           "node a 0.5 3 0.9 0.5 \"i [4]\" solid box black white\n"
           "node b 0.5 2 0.9 0.5 \"C\\nvi: spatial 4\" rounded box black white\n"
           "edge a b 4 0.5 2.8 0.5 2.6 0.5 2.4 0.5 2.2 solid black\n"
           "stop\n",
           false, false,
           "    ┌───────┐\n"
           "    │ i [4] │\n"
           "    └───┬───┘\n"
           "        │\n"
           "        │\n"
           "┌───────┴───────┐\n"
           "│       C       │\n"
           "│ vi: spatial 4 │\n"
           "└───────────────┘\n");
}

/* a to b to c, and a to c past b; two labels of one begin, one of them of another kind. */
static const char PAST[] = "graph 1 1 4\n"
                           "node a 1 3 0.9 0.5 A solid box black white\n"
                           "node b 0.5 2 0.9 0.5 BB solid box black white\n"
                           "node c 1 1 0.9 0.5 C solid box black white\n"
                           "edge a b 2 1 3 0.5 2 x 0.7 2.5 solid black\n"
                           "edge a b 2 1 3 0.5 2 \"y (WAR)\" 0.7 2.5 dotted black\n"
                           "edge b c 2 0.5 2 1 1 x 0.7 1.5 solid black\n"
                           "edge a c 3 1 3 0.6 2 1 1 x 1.2 2.5 solid black\n"
                           "stop\n";

static void lines_go_past_what_is_between_and_labels_stand_where_they_begin(void **state)
{
    (void)state;
    expect(PAST, true, false,
           "    ┌───┐\n"
           "    │ A │\n"
           "    └─┬─┘\n"
           "      │ x, y (WAR)\n"
           "   ┌──┴┐\n"
           "   ▾   │\n"
           "┌──┴─┐ │\n"
           "│ BB │ │\n"
           "└──┬─┘ │\n"
           "   │ x │\n"
           "   └──┬┘\n"
           "      ▾\n"
           "    ┌─┴─┐\n"
           "    │ C │\n"
           "    └───┘\n");
}

static void without_unicode_it_is_plus_and_minus(void **state)
{
    (void)state;
    expect("node a 1 3 0.9 0.5 A solid box black white\n"
           "node b 1 2 0.9 0.5 B solid box black white\n"
           "edge a b 2 1 3 1 2 \" x (WAW)\" 1 2.5 dashed black\n",
           true, true,
           "+---+\n"
           "| A |\n"
           "+-+-+\n"
           "  | x (WAW)\n"
           "  |\n"
           "  v\n"
           "+-+-+\n"
           "| B |\n"
           "+---+\n");
}

static void nonsense_is_drawn_as_far_as_it_can_be_read(void **state)
{
    static const char *const WHAT[] = {
        "",
        "node",
        "node \"",
        "edge a b 2 1 1 1 1 solid black\n",
        "node a nan inf 1 1 \"x\\",
        "node a 1e300 -1e300 1 1 x solid\n",
        "node a 1 1 1 1 x solid\nnode b 1e9 1 1 1 x solid\nedge a b 1 0 0 s black\n",
        "node a 1 1 1 1 x solid\nnode b 1 2 1 1 x solid\nedge a b 99999 1 1\n",
        "node a 1 1 1 1 x solid\nnode b 1 2 1 1 x solid\nedge a b 3 1 1 solid black\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof WHAT / sizeof *WHAT; k++) {
        ml_Text out = {0}, why = {0};

        if (!ml_graph_chars(WHAT[k], true, false, &out, &why))
            assert_non_null(strstr(ml_text_z(&why), "columns"));
        ml_text_free(&out);
        ml_text_free(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_boxes_one_below_the_other),
        cmocka_unit_test(lines_go_past_what_is_between_and_labels_stand_where_they_begin),
        cmocka_unit_test(without_unicode_it_is_plus_and_minus),
        cmocka_unit_test(nonsense_is_drawn_as_far_as_it_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
