/*
 * test_model_xgb - the learned model through model.h, on samples whose times are known
 * functions of their features; once for each libxgboost that is there, each in a process of
 * its own: two of them in one would share symbols.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/base/file.h"
#include "moonloop/core/error.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/model/model.h"
#include "moonloop/tune/model/xgb/library.h"
#include "moonloop/tune/model/xgb/objective.h"

enum { COLUMNS = 24, MOST = 1024 };

/* Samples of one or two rows; the sum of column 3 makes them fast, of column 5 slow, what
 * has a great column 7 fails. Groups differ in their scale of time. */
typedef struct Set {
    size_t n;
    float rows[2 * MOST * COLUMNS];
    uint32_t begin[MOST + 1];
    uint64_t group[MOST];
    double seconds[MOST];
    float truth[MOST];
} Set;

static Set *draw(uint32_t which, size_t n, bool failures)
{
    Set *s = calloc(1, sizeof *s);
    ml_Random r = ml_random("test.model", which, 1);

    assert_non_null(s);
    s->n = n;
    for (size_t k = 0; k < n; k++) {
        uint32_t rows = 1 + (uint32_t)ml_random_below(&r, 2);
        double cost = 0, bad = 0;

        s->begin[k + 1] = s->begin[k] + rows;
        for (uint32_t at = s->begin[k]; at < s->begin[k + 1]; at++) {
            float *row = s->rows + (size_t)at * COLUMNS;

            for (size_t c = 0; c < COLUMNS; c++)
                row[c] = (float)ml_random_below(&r, 1000) / 100;
            cost += exp2((double)(row[5] - row[3]) / 2) / rows;
            bad = (double)row[7] > bad ? (double)row[7] : bad;
        }
        s->group[k] = k % 3 + 1;
        s->truth[k] = (float)(1 / cost);
        s->seconds[k] = failures && bad > 7 ? 0 : cost * (double)s->group[k] * 1e-3;
    }
    return s;
}

static ml_Learned learned(const Set *s)
{
    return (ml_Learned){
        .x = {s->n, COLUMNS, s->rows, s->begin}, .group = s->group, .seconds = s->seconds};
}

static bool score_all(ml_Model *m, ml_Ctx *cx, const Set *s, double *out)
{
    const ml_Learned l = learned(s);

    return ml_model_score(m, cx, &l.x, out);
}

static ml_Model *open_model(ml_Ctx *cx)
{
    ml_Model *m = ml_model_open(cx, "xgb", &(ml_ModelOpts){.seed = 3, .prior = ""});

    assert_non_null(m);
    assert_null(m->note);
    assert_string_equal(m->kind->name, "xgb");
    return m;
}

/* How many of the pairs of s are in the right order. */
static double in_order(ml_Model *m, ml_Ctx *cx, const Set *s)
{
    double *score = malloc(s->n * sizeof *score);
    size_t right = 0, all = 0;

    assert_true(score_all(m, cx, s, score));
    for (size_t a = 0; a < s->n; a++)
        for (size_t b = a + 1; b < s->n; b++, all++)
            right += (score[a] > score[b]) == (s->truth[a] > s->truth[b]);
    free(score);
    return (double)right / (double)all;
}

static void order_is_learned(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 600, false), *b = draw(2, 300, false);
    const ml_Learned l = learned(a);

    (void)state;
    assert_true(ml_model_train(m, cx, &l));
    assert_int_equal(m->stats.samples, 600);
    assert_int_equal(m->stats.trained, 600);
    assert_true(m->stats.rounds > 5);
    assert_true(m->stats.held_out > 0.8 && m->stats.held_out <= 1);
    assert_true(in_order(m, cx, b) > 0.8);
    ml_model_close(m);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

/* Batch after batch, as a search gives them; the trees go on, or are made anew. */
static void batches_are_learned(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 512, false), *b = draw(2, 300, false);
    double first = 0;

    (void)state;
    for (size_t k = 0; k < a->n; k += 32) {
        const ml_Learned l = {.x = {32, COLUMNS, a->rows, a->begin + k},
                              .group = a->group + k,
                              .seconds = a->seconds + k};

        assert_true(ml_model_train(m, cx, &l));
        assert_int_equal(m->stats.trained, k + 32 < 96 ? 0 : k + 32);
        assert_true(k <= 64 ? isnan(m->stats.batch_peak) : m->stats.batch_peak > 0);
        first = k == 64 ? in_order(m, cx, b) : first;
    }
    assert_true(in_order(m, cx, b) > first + 0.03);
    ml_model_close(m);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

static void same_samples_same_scores(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m[2];
    Set *a = draw(1, 500, true), *b = draw(2, 100, false);
    double score[2][100];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const ml_Learned l = learned(a);

        m[k] = open_model(cx);
        assert_true(ml_model_train(m[k], cx, &l));
        assert_true(score_all(m[k], cx, b, score[k]));
        ml_model_close(m[k]);
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

static void failures_score_low(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 1000, true), *b = draw(2, 400, true);
    const ml_Learned l = learned(a);
    double score[400], ran = 0, failed = 0;
    size_t n_failed = 0;

    (void)state;
    assert_true(ml_model_train(m, cx, &l));
    assert_true(m->stats.failed > 100);
    assert_true(score_all(m, cx, b, score));
    for (size_t k = 0; k < 400; k++) {
        bool is = b->seconds[k] <= 0;

        *(is ? &failed : &ran) += score[k];
        n_failed += is;
    }
    assert_true(failed / (double)n_failed < ran / (double)(400 - n_failed));
    ml_model_close(m);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

static void importance_names_what_decides(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 600, false);
    const ml_Learned l = learned(a);
    const ml_Gain *gain;
    double all = 0;
    size_t n;

    (void)state;
    assert_true(ml_model_importance(m, cx, &gain, &n));
    assert_int_equal(n, 0);
    assert_true(ml_model_train(m, cx, &l));
    assert_true(ml_model_importance(m, cx, &gain, &n));
    for (size_t k = 0; k < n; k++) {
        assert_true(k == 0 || gain[k].share <= gain[k - 1].share);
        all += gain[k].share;
    }
    assert_true(fabs(all - 1) < 1e-6);
    /* columns 3 and 5 are of operations on floats */
    assert_string_equal(gain[0].what, "arithmetic");
    assert_true(gain[0].share > 0.5);
    ml_model_close(m);
    free(a);
    ml_ctx_unref(cx);
}

/* ---------------------------------------------------------------- files */

static void refuse(ml_Ctx *cx, ml_Model *m, const char *path, const char *bytes, size_t n,
                   const char *why)
{
    assert_true(ml_file_write(path, bytes, n));
    assert_false(ml_model_load(m, cx, path));
    assert_int_equal(ml_error(cx)->code, ML_E_BAD_FILE);
    if (!strstr(ml_error(cx)->facts[0].as.text, why))
        fail_msg("\"%s\" does not say \"%s\"", ml_error(cx)->facts[0].as.text, why);
    ml_error_clear(cx);
}

/* Where a word first stands. */
static char *find(ml_Text *t, const char *word)
{
    size_t n = strlen(word), k = 0;

    while (k + n <= t->n && memcmp(t->p + k, word, n) != 0)
        k++;
    assert_true(k + n <= t->n);
    return t->p + k;
}

static void models_are_kept(void **state)
{
    char path[] = "/tmp/ml_model_XXXXXX";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx), *back = open_model(cx);
    Set *a = draw(1, 500, true), *b = draw(2, 100, false);
    const ml_Learned l = learned(a);
    double score[2][100];
    ml_Text whole = {0}, t = {0};

    (void)state;
    close(mkstemp(path));
    assert_false(ml_model_save(m, cx, path)); /* nothing to save */
    ml_error_clear(cx);
    assert_true(ml_model_train(m, cx, &l));
    m->made = "here, today";
    assert_true(ml_model_save(m, cx, path));
    assert_true(ml_model_load(back, cx, path));
    assert_string_equal(back->made, "here, today");
    assert_int_equal(back->stats.rounds, m->stats.rounds);
    /* the loaded one has no samples and is as curious as can be: so is a third */
    assert_true(score_all(back, cx, b, score[0]));
    assert_true(ml_model_save(back, cx, path));
    assert_true(ml_model_load(back, cx, path));
    assert_true(score_all(back, cx, b, score[1]));
    assert_memory_equal(score[0], score[1], sizeof score[0]);

    assert_true(ml_file_read(path, &whole));
    static const size_t cuts[] = {0, 1, 20, 60, 200, 1000};

    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++)
        refuse(cx, back, path, whole.p, cuts[k], k < 3 ? "is no model" : "is cut off");
    refuse(cx, back, path, whole.p, whole.n - 1, "is cut off");
    refuse(cx, back, path, "{\"learner\":{}}", 14, "is no model of moonloop");
    ml_text_addn(&t, whole.p, whole.n);
    t.p[t.n / 2] ^= 4;
    refuse(cx, back, path, t.p, t.n, "is damaged");
    t.p[t.n / 2] ^= 4;
    find(&t, "features")[16] = 77;
    refuse(cx, back, path, t.p, t.n, "was trained on version 77 of the features");
    memcpy(find(&t, "xgb"), "mlp", 3);
    refuse(cx, back, path, t.p, t.n, "is a model of another kind: mlp");
    assert_false(ml_model_load(back, cx, "/nowhere/model"));
    assert_int_equal(ml_error(cx)->code, ML_E_NO_FILE);
    ml_error_clear(cx);
    assert_true(score_all(back, cx, b, score[1])); /* as it was */
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    assert_false(ml_model_save(m, cx, "/nowhere/model"));
    ml_error_clear(cx);

    m->made = NULL;
    unlink(path);
    ml_text_free(&whole);
    ml_text_free(&t);
    ml_model_close(m);
    ml_model_close(back);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

/* What was learned elsewhere orders at once, and is learned on. */
static void a_prior_is_where_it_begins(void **state)
{
    char path[] = "/tmp/ml_model_XXXXXX";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 600, false), *b = draw(2, 300, false), *few = draw(5, 96, false);
    const ml_Learned l = learned(a), l_few = learned(few);

    (void)state;
    close(mkstemp(path));
    assert_true(ml_model_train(m, cx, &l));
    assert_true(ml_model_save(m, cx, path));
    ml_model_close(m);
    m = ml_model_open(cx, "xgb", &(ml_ModelOpts){.prior = path});
    assert_non_null(m);
    assert_true(in_order(m, cx, b) > 0.8);
    assert_true(ml_model_train(m, cx, &l_few));
    assert_int_equal(m->stats.trained, 96);
    assert_true(m->stats.batch_peak > 0.5);
    assert_true(in_order(m, cx, b) > 0.77); /* 96 alone would not do */
    ml_model_close(m);
    assert_true(ml_file_write(path, "no", 2));
    assert_null(ml_model_open(cx, "xgb", &(ml_ModelOpts){.prior = path}));
    assert_int_equal(ml_error(cx)->code, ML_E_BAD_FILE);
    unlink(path);
    free(a);
    free(b);
    free(few);
    ml_ctx_unref(cx);
}

/* Every library reads the model that is compiled in. */
static void the_shipped_model_is_read(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = ml_model_open(cx, "xgb", &(ml_ModelOpts){.threads = 2});
    const ml_Gain *gain;
    size_t n;

    (void)state;
    assert_non_null(m);
    if (m->note)
        fail_msg("%s", m->note);
    assert_true(m->stats.rounds > 0);
    assert_non_null(strstr(m->made, "records"));
    assert_true(ml_model_importance(m, cx, &gain, &n));
    assert_true(n > 5 && gain[0].share > 0.01 && *gain[0].what);
    ml_model_close(m);
    ml_ctx_unref(cx);
}

/* ---------------------------------------------------------------- bad input */

static void bad_samples_do_no_harm(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 300, false), *b = draw(2, 50, false);
    ml_Learned l = learned(a);
    double score[50], before[50];
    static const double none[MOST];

    (void)state;
    l.x.n = 0;
    assert_true(ml_model_train(m, cx, &l)); /* nothing */
    assert_true(ml_model_score(m, cx, &l.x, score));
    l = learned(a);
    l.seconds = none;
    assert_true(ml_model_train(m, cx, &l)); /* all failed: nothing to learn */
    assert_int_equal(m->stats.failed, 300);
    assert_int_equal(m->stats.trained, 0);
    for (size_t k = 0; k < 20; k++) /* the times of rows that are none */
        a->rows[(size_t)a->begin[k] * COLUMNS + k] = k % 2 ? NAN : INFINITY;
    l = learned(a);
    assert_true(ml_model_train(m, cx, &l));
    assert_int_equal(m->stats.samples, 580);
    assert_int_equal(m->stats.trained, 580);

    assert_true(score_all(m, cx, b, before));
    b->rows[(size_t)b->begin[7] * COLUMNS + 2] = NAN;
    b->rows[(size_t)b->begin[9] * COLUMNS + 3] = -INFINITY;
    assert_true(score_all(m, cx, b, score));
    for (size_t k = 0; k < 50; k++) {
        assert_true(isfinite(score[k]));
        if (k != 7 && k != 9)
            assert_true(score[k] > score[7] && score[k] > score[9]);
    }

    l = learned(b);
    l.x.columns = COLUMNS - 1; /* of another version */
    assert_false(ml_model_train(m, cx, &l));
    assert_int_equal(ml_error(cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(cx);
    assert_false(ml_model_score(m, cx, &l.x, score));
    assert_int_equal(ml_error(cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(cx);
    assert_int_equal(m->stats.samples, 580);
    ml_model_close(m);
    free(a);
    free(b);
    ml_ctx_unref(cx);
}

static void an_interrupt_leaves_the_model(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = open_model(cx);
    Set *a = draw(1, 300, false);
    const ml_Learned l = learned(a);
    volatile int stop = 1;

    (void)state;
    ml_ctx_set_cancel(cx, &stop);
    assert_false(ml_model_train(m, cx, &l));
    assert_int_equal(ml_error(cx)->code, ML_E_INTERRUPTED);
    assert_int_equal(m->stats.trained, 0);
    stop = 0;
    ml_error_clear(cx);
    assert_true(ml_model_train(m, cx, &l));
    assert_int_equal(m->stats.samples, 300);
    ml_model_close(m);
    free(a);
    ml_ctx_unref(cx);
}

/* ---------------------------------------------------------------- without the library */

typedef double LossFn(const ml_XgbLabels *l, size_t n, const float *sum, const float *w,
                      float *g, float *h);
static double pairs(const ml_XgbLabels *l, size_t n, const float *sum, const float *w,
                    float *g, float *h)
{
    return ml_loss_pairs(l, n, sum, w, 5, 2, g, h);
}
static double validity(const ml_XgbLabels *l, size_t n, const float *sum, const float *w,
                       float *g, float *h)
{
    (void)w;
    return ml_loss_validity(n, sum, l->y, g, h);
}

/* Gradient and curvature are those of the loss. */
static void gradients_are_differences(void **state)
{
    static LossFn *const losses[] = {ml_loss_log, pairs, validity};
    enum { N = 40 };
    ml_Ctx *cx = ml_ctx_new(0);
    Set *a = draw(1, N, true);
    ml_XgbData d = {.columns = COLUMNS};
    const ml_Learned l = learned(a);
    float sum[N], w[N], g[N], h[N], up[N], down[N], unused[N];
    ml_XgbLabels labels;

    (void)state;
    assert_true(ml_xgb_data_add(&d, cx, &l));
    ml_xgb_labels(&d, cx, &labels);
    assert_int_equal(labels.n_groups, 3);
    for (size_t k = 0; k < N; k++) {
        sum[k] = (float)(k * 7 % 11) / 5 - 1;
        w[k] = (float)(k % 3);
    }
    for (size_t f = 0; f < sizeof losses / sizeof *losses; f++) {
        losses[f](&labels, N, sum, w, g, h);
        for (size_t k = 0; k < N; k++) {
            const float e = 1.0F / 64, was = sum[k];

            sum[k] = was + e;
            double more = losses[f](&labels, N, sum, w, up, unused);

            sum[k] = was - e;
            double less = losses[f](&labels, N, sum, w, down, unused);

            sum[k] = was;
            assert_true(fabs((more - less) / 2 / (double)e - (double)g[k]) < 1e-3);
            assert_true(fabs((double)(up[k] - down[k]) / 2 / (double)e - (double)h[k]) <
                        1e-3);
            assert_true(h[k] >= 0);
        }
    }
    ml_xgb_data_free(&d);
    free(a);
    ml_ctx_unref(cx);
}

static void labels_are_of_their_group(void **state)
{
    static const float rows[6];
    static const uint32_t begin[] = {0, 1, 2, 3, 4, 5, 6};
    static const uint64_t group[] = {9, 4, 9, 4, 9, 7};
    static const double seconds[] = {2, 1, 1, 4, 0, 0};
    const ml_Learned l = {{6, 1, rows, begin}, group, seconds};
    static const float y[] = {0.5, 1, 1, 0.25, 0, 0}, log2_y[] = {-1, 0, 0, -2, -6, -6};
    static const uint32_t member[] = {0, 2, 4, 1, 3, 5}, first[] = {0, 3, 5, 6};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_XgbData d = {.columns = 1};
    ml_XgbLabels out;

    (void)state;
    assert_true(ml_xgb_data_add(&d, cx, &l));
    ml_xgb_labels(&d, cx, &out);
    assert_memory_equal(out.y, y, sizeof y);
    assert_memory_equal(out.log2_y, log2_y, sizeof log2_y);
    assert_memory_equal(out.member, member, sizeof member);
    assert_memory_equal(out.first, first, sizeof first);
    ml_xgb_data_free(&d);
    ml_ctx_unref(cx);
}

static void a_peak_is_an_average_of_the_best(void **state)
{
    static const float score[] = {1, 3, 2}, truth[] = {1, 0.5F, 0.25F}, none[3];

    (void)state;
    /* 0.5 twice, then all of it */
    assert_true(fabs(ml_a_peak(score, truth, 3) - (0.5 * 2 + 30) / 32) < 1e-9);
    assert_true(fabs(ml_a_peak(truth, truth, 3) - 1) < 1e-9);
    assert_true(fabs(ml_a_peak(score, none, 3) - 1) < 1e-9);
}

static void libraries_that_are_none_are_refused(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_XgbLibrary x;
    const char *why = ml_xgb_library_open(cx, "libm.so.6", &x);

    (void)state;
    assert_string_equal(why, "libm.so.6 has no XGBoostVersion: libxgboost from 1.7 on has");
    assert_non_null(strstr(ml_xgb_library_open(cx, "/nowhere.so", &x), "/nowhere.so"));
    ml_ctx_unref(cx);
}

/* Where the library is missing the analytic model is there, and says why. */
static void without_the_library_it_is_analytic(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *m = ml_model_open(cx, "xgb", NULL);

    (void)state;
    assert_non_null(m);
    assert_string_equal(m->kind->name, "analytic");
    assert_non_null(strstr(m->note, "/nowhere.so"));
    ml_model_close(m);
    ml_ctx_unref(cx);
}

/* ---------------------------------------------------------------- libraries */

static int of_library(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_learned),
        cmocka_unit_test(batches_are_learned),
        cmocka_unit_test(same_samples_same_scores),
        cmocka_unit_test(failures_score_low),
        cmocka_unit_test(importance_names_what_decides),
        cmocka_unit_test(models_are_kept),
        cmocka_unit_test(a_prior_is_where_it_begins),
        cmocka_unit_test(the_shipped_model_is_read),
        cmocka_unit_test(bad_samples_do_no_harm),
        cmocka_unit_test(an_interrupt_leaves_the_model),
    };

    return cmocka_run_group_tests_name("with the library", tests, NULL, NULL);
}

static int without(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_library_it_is_analytic)};

    return cmocka_run_group_tests_name("without the library", tests, NULL, NULL);
}

/* The test once more in a process that opens this library. */
static int run_with(const char *self, const char *library, const char *what)
{
    pid_t pid;
    int status = 1;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setenv("MOONLOOP_XGBOOST", library, 1);
        execl(self, self, what, (char *)NULL);
        _exit(127);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static char pypi[4096];

static void the_library_of_the_system(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_XgbLibrary x;
    const char *why = ml_xgb_library_open(cx, "libxgboost.so.0", &x);

    *(bool *)*state = why == NULL;
    if (why)
        printf("skip: %s\n", why);
    ml_ctx_unref(cx);
    if (!*(bool *)*state)
        skip();
}

static void the_library_of_pypi(void **state)
{
    const char *rivals = getenv("RIVALS_FOLDER");
    glob_t found;

    (void)state;
    snprintf(pypi, sizeof pypi, "%s/lib/python3*/site-packages/xgboost/lib/libxgboost.so",
             rivals && *rivals ? rivals : "build/rivals");
    if (glob(pypi, 0, NULL, &found) == 0) {
        snprintf(pypi, sizeof pypi, "%s", found.gl_pathv[0]);
        globfree(&found);
        return;
    }
    printf("skip: %s is not there: make rivals RIVALS=xgboost\n", pypi);
    *pypi = '\0';
    skip();
}

int main(int argc, char **argv)
{
    static bool of_system;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(labels_are_of_their_group),
        cmocka_unit_test(a_peak_is_an_average_of_the_best),
        cmocka_unit_test(libraries_that_are_none_are_refused),
        cmocka_unit_test_prestate(the_library_of_the_system, &of_system),
        cmocka_unit_test(the_library_of_pypi),
    };
    int failed;

    if (argc > 1)
        return strcmp(argv[1], "without") == 0 ? without() : of_library();
    failed = cmocka_run_group_tests_name("no library", tests, NULL, NULL);
    failed |= run_with(argv[0], "/nowhere.so", "without");
    if (of_system)
        failed |= run_with(argv[0], "libxgboost.so.0", "with");
    if (*pypi)
        failed |= run_with(argv[0], pypi, "with");
    return failed;
}
