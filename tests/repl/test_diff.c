/*
 * What steps show: the same whether the programs were printed before or not, and whether
 * what two versions share is told to the diff or found by it. Source: interaction 5.
 */
#include "repl/fixture.h"

#include "moonloop/core/base/arena.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"

static uint32_t seed = 1;

static size_t any(size_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* ---- lines */

enum { MOST = 24 };

static size_t random_lines(ml_Text *t, size_t *v)
{
    size_t n = any(MOST);

    for (size_t k = 0; k < n; k++) {
        v[k] = any(4);
        ml_text_repeat(t, ' ', any(3));
        ml_text_fmt(t, "line %zu\n", v[k]);
    }
    return n;
}

/* The rows add up to both texts, in order, whatever was told to be equal. */
static void check_rows(const char *shown, const size_t *a, size_t na, const size_t *b,
                       size_t nb)
{
    size_t i = 0, j = 0;

    for (const char *p = shown; *p; p = strchr(p, '\n') + 1) {
        char sign = p[8];
        size_t v = (size_t)(strchr(p, 'l')[5] - '0');

        if (sign != '+')
            assert_true(i < na && a[i++] == v);
        if (sign != '-')
            assert_true(j < nb && b[j++] == v);
    }
    assert_true(i == na && j == nb);
}

static void rows_make_both_texts(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        ml_Text a = {0}, b = {0}, out = {0};
        size_t va[MOST], vb[MOST], na = random_lines(&a, va), nb = random_lines(&b, vb);
        ml_DiffSame same[3];
        ml_DiffOpts o = {.context = MOST * 2, .same = same};
        char sign[MOST];
        size_t new = 0;

        ml_text_add(&b, "  line 9\n"); /* something has changed */
        vb[nb++] = 9;
        for (size_t i = 0, j = 0; o.n_same < ML_COUNT(same); o.n_same++) {
            i += any(4);
            j += any(4);
            size_t n = 1 + any(3);

            if (i + n > na || j + n > nb)
                break;
            same[o.n_same] = (ml_DiffSame){i, j, n};
            i += n;
            j += n;
        }
        ml_DiffStats st = ml_diff_text(&out, ml_text_z(&a), ml_text_z(&b), &o);

        assert_int_equal(st.removed + st.same, na);
        assert_int_equal(st.added + st.same, nb);
        /* The head of the first lines is no context: then they are not shown. */
        if (st.shown == st.removed + st.added + st.same)
            check_rows(ml_text_z(&out), va, na, vb, nb);
        st = ml_diff_signs(ml_text_z(&a), ml_text_z(&b), sign);
        for (size_t k = 0; k < nb; k++) {
            assert_non_null(strchr("+- ", sign[k]));
            new += sign[k] == '+';
        }
        assert_int_equal(sign[nb - 1], '+');
        assert_int_equal(st.added, new);
        assert_int_equal(st.removed + st.same, na);
        ml_text_free(&a);
        ml_text_free(&b);
        ml_text_free(&out);
    }
}

/* ---- steps */

static const char *const LINES[] = {
    "split('i', {auto, 4})",
    "split('j', {auto, 8}) reorder('i', 'k')",
    ":undo",
    ":redo",
    "cache_write('C', 0, 'local')",
    "cache_read('C', 'A', 'shared')",
    "s:reverse_compute_at(blocks()[#blocks()], loops('C')[1])",
    "s:compute_at(blocks()[1], loops('C')[2])",
    "fuse(loops('C')[1], loops('C')[2])",
    "vectorize(loops('C')[3])",
    "decompose_reduction('C', 'k')",
    ":diff",
    ":diff 0 1",
    ":goto 0",
    ":goto 1",
    ":set regions always",
    ":set regions auto",
    ":undo 2",
    "t = schedule(workload.softmax(4, 8))",
    ":focus 1",
    "compute_inline(blocks()[1])",
};

/* `0.05 ms` is ` ms` whatever it was. */
static void drop_times(ml_Text *t)
{
    ml_Text out = {0};
    const char *p = ml_text_z(t), *end;

    for (; (end = strstr(p, " ms\n")) != NULL; p = end + 3) {
        const char *number = end;

        while (number > p && number[-1] != ' ')
            number--;
        ml_text_addn(&out, p, (size_t)(number - p));
    }
    ml_text_add(&out, p);
    ml_text_free(t);
    *t = out;
}

/* Kept programs and shared lines change nothing that is shown. */
static void what_is_kept_changes_nothing(void **state)
{
    ml_Session kept, anew;
    ml_Text a = {0}, b = {0};
    size_t went_well = 0;

    (void)state;
    open_session(&kept, 100, ML_MODE_TYPED);
    open_session(&anew, 100, ML_MODE_TYPED);
    kept.out.sink.out = kept.out.sink.err = &a;
    anew.out.sink.out = anew.out.sink.err = &b;
    run_line(&kept, MATMUL_LINE);
    run_line(&anew, MATMUL_LINE);
    for (int round = 0; round < 400; round++) {
        const char *line = LINES[any(ML_COUNT(LINES))];

        ml_program_forget(&anew);
        ml_text_clear(&a);
        ml_text_clear(&b);
        bool ok = ml_run(&kept, NULL, line);

        assert_int_equal(ok, ml_run(&anew, NULL, line));
        went_well += ok;
        drop_times(&a);
        drop_times(&b);
        assert_string_equal(ml_text_z(&a), ml_text_z(&b));
    }
    assert_true(went_well > 100);
    ml_session_free(&kept);
    ml_session_free(&anew);
    ml_text_free(&a);
    ml_text_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_make_both_texts),
        cmocka_unit_test(what_is_kept_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
