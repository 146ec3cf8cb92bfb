/* test_misspell - every text of the corpus with each of its names misspelt and each of its
 * lines taken out gives an error with a place, or a program that has lost nothing. */
#include "../core/core_test.h"
#include "../core/script/corpus.h"
#include "misspell.h"

typedef struct Tally {
    size_t of[MS_LOST + 1], shown;
} Tally;

static void each_edit(const char *name, ml_Str text, const ml_ParseOpts *o, unsigned how,
                      size_t step, Tally *t)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, text, o);
    MsEdits edits = {0};

    assert_non_null(p.mod);
    ms_edits(cx, text, &edits);
    for (size_t k = how % step; k < edits.n; k += step) {
        ml_Text why = {0};
        ml_Mark mark = ml_mark(cx);
        const MsEdit *e = &edits.v[k];
        ml_Str edited = ms_apply(cx, text, e, how);
        MsVerdict v = ms_judge(p.mod, edited, e, o, &why);

        t->of[v]++;
        if (v == MS_LOST && t->shown++ < 60) {
            size_t at = e->at, end = e->at;

            while (at > 0 && edited.p[at - 1] != '\n')
                at--;
            while (end < edited.n && edited.p[end] != '\n')
                end++;
            print_error("%s: %.*s\n    %s\n", name, (int)(end - at), edited.p + at,
                        ml_text_z(&why));
        }
        ml_text_free(&why);
        ml_release(cx, mark);
    }
    ml_ctx_unref(cx);
}

static void nothing_is_lost_in_a_misspelt_corpus(void **state)
{
    Tally t = {0};
    char name[512], *text;
    size_t step = getenv("ML_QUICK") ? 7 : 1;

    (void)state;
    for (int archaic = 0; archaic < 2; archaic++) {
        ml_ParseOpts o = {.spelling = -1, .file_mode = true, .archaic = archaic};

        for (size_t k = 0; (text = corpus_file_in(archaic ? "archaic" : ".", k, name));
             k++) {
            for (unsigned how = 0; how < 3; how++)
                each_edit(name, ml_str(text), &o, how, step, &t);
            free(text);
        }
    }
    print_message("%zu refused, %zu equal, %zu others, %zu lost\n", t.of[MS_REFUSED],
                  t.of[MS_EQUAL], t.of[MS_OTHER], t.of[MS_LOST]);
    assert_true(t.of[MS_REFUSED] > 1000);
    assert_int_equal(t.of[MS_LOST], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_in_a_misspelt_corpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
