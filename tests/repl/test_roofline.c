/* test_roofline - the plot of roofs and versions: where things stand, and that it fits. */
#include "repl/show/roofline.h"

#include "repl/out/out.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ml_RoofPoint points[] = {
    {0, 4e-3, false, 1e-5}, {3, 1e-4, false, 1e-5}, {5, 9.6e-5, true, 1e-5}};

static ml_Roofline machine(void)
{
    return (ml_Roofline){.cpu = "cpu",
                         .type = ML_DT_F32,
                         .threads = 2,
                         .peak = 400e9,
                         .bandwidth = {800e9, 300e9, 60e9, 30e9},
                         .flop = 4e6,
                         .bytes = 2e5,
                         .points = {points, 3, 3}};
}

static void the_plot_shows_roofs_and_versions(void **state)
{
    ml_Roofline r = machine();
    ml_Text t = {0};

    (void)state;
    ml_roofline_draw(&r, 60, 14, &t);
    assert_string_equal(ml_text_z(&t),
                        "GFLOP/s\n"
                        "        │\n"
                        "        │       1111───────────────────────────────────────\n"
                        "        │  11111  2222       33333mmmm\n"
                        "    100 ┤11  22222      33333mmmmm\n"
                        "        │2222       3333 mmmm                ● v3 v5\n"
                        "        │      33333mmmmm\n"
                        "     10 ┤ 33333mmmmm\n"
                        "        │3 mmmm\n"
                        "        │mm\n"
                        "      1 ┤                                    o v0\n"
                        "        │\n"
                        "        └┴───────────────┴───────────────┴───────────────┴─\n"
                        "         0.1             1               10          FLOP/B\n");
    ml_text_free(&t);
}

static size_t widest(const char *text)
{
    size_t most = 0;

    while (*text) {
        const char *end = strchr(text, '\n');
        ml_Text line = {0};

        assert_non_null(end);
        ml_text_addn(&line, text, (size_t)(end - text));
        most = ml_columns(ml_text_z(&line)) > most ? ml_columns(ml_text_z(&line)) : most;
        ml_text_free(&line);
        text = end + 1;
    }
    return most;
}

static size_t lines(const char *text)
{
    size_t n = 0;

    while ((text = strchr(text, '\n')) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void it_fits_into_any_width_and_height(void **state)
{
    (void)state;
    for (int w = 24; w <= 140; w += 3)
        for (int h = 6; h <= 40; h += 5) {
            ml_Roofline r = machine();
            ml_Text t = {0};

            ml_roofline_draw(&r, w, h, &t);
            assert_true(widest(ml_text_z(&t)) <= (size_t)w);
            assert_int_equal(lines(ml_text_z(&t)), (size_t)h);
            ml_text_free(&t);
        }
}

static void what_is_not_known_is_left_out(void **state)
{
    ml_Roofline r = machine();
    ml_Text t = {0};

    (void)state;
    r.flop = 0;
    ml_roofline_draw(&r, 60, 14, &t);
    assert_null(strstr(ml_text_z(&t), " v"));
    assert_non_null(strstr(ml_text_z(&t), "1111"));
    ml_text_clear(&t);
    r.peak = (double)NAN;
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        r.bandwidth[l] = (double)NAN;
    ml_roofline_draw(&r, 60, 14, &t);
    assert_null(strstr(ml_text_z(&t), "1111"));
    assert_int_equal(lines(ml_text_z(&t)), 14);
    ml_text_free(&t);
}

static void very_slow_versions_lie_on_the_lower_edge(void **state)
{
    ml_RoofPoint slow[] = {{0, 1e9, false, 1}};
    ml_Roofline r = machine();
    ml_Text t = {0};

    (void)state;
    r.points.v = slow;
    r.points.n = 1;
    ml_roofline_draw(&r, 60, 14, &t);
    assert_non_null(strstr(ml_text_z(&t), "o v0\n        └"));
    ml_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plot_shows_roofs_and_versions),
        cmocka_unit_test(it_fits_into_any_width_and_height),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(very_slow_versions_lie_on_the_lower_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
