/*
 * bench_model - how well a model orders programs of an operator that it has not seen.
 *
 *   bench_model DATABASE [--json]        what its records say of every kind of model
 *   bench_model DATABASE --train FILE    a model of all of them into FILE, with where it is from
 *
 * The records are random candidates of some operators' shapes. For every operator a model is
 * trained on the records of the others and orders those of each of its shapes: a-peak@32,
 * beside the analytic score and a random order. Between shapes: trained on one shape of an
 * operator alone, tested on the other. Times are of the processor. Source: auto-scheduler 15.
 */
#include "harness.h"

#include "moonloop/codegen/target/target.h"
#include "moonloop/core/error.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/lesson/lesson.h"
#include "moonloop/tune/model/xgb/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    LEAST = 64,     /* records that a shape needs to be ordered */
    TRAINED = 2000, /* samples of the timed training */
    ORDERS = 32,    /* random ones, averaged */
    MOST_GROUPS = 256,
};

/* Operators are named by what stands before the dash. */
static bool same_operator(const char *a, const char *b)
{
    size_t n = strcspn(a, "-");

    return n == strcspn(b, "-") && memcmp(a, b, n) == 0;
}

static ml_Model *open_model(ml_Ctx *cx, const char *kind)
{
    const ml_ModelOpts o = {.threads = 2, .seed = 1, .prior = ""};
    ml_Model *m = ml_model_open(cx, kind, &o);

    if (m == NULL || m->note)
        die(m ? m->note : "the model", ml_error(cx));
    return m;
}

/* Of a shape's samples. */
static double peak_of(ml_Ctx *cx, ml_Model *m, const ml_Lesson *l, size_t g)
{
    ml_Mark mark = ml_mark(cx);
    bool *wanted = ML_ARRAY(cx, bool, l->n_groups);
    size_t n;

    wanted[g] = true;
    const ml_Learned part = ml_lesson_part(cx, l, wanted);

    n = part.x.n;
    double *score = ML_ARRAY(cx, double, n + 1), sum = 0;
    float *s = ML_ARRAY(cx, float, n + 1), *truth = ML_ARRAY(cx, float, n + 1);
    int times = ml_streq(m->kind->name, "random") ? ORDERS : 1;

    for (size_t k = 0; k < n; k++)
        truth[k] = part.seconds[k] > 0 ? (float)(l->group[g].best / part.seconds[k]) : 0;
    for (int t = 0; t < times; t++) {
        if (!ml_model_score(m, cx, &part.x, score))
            die("score", ml_error(cx));
        for (size_t k = 0; k < n; k++)
            s[k] = (float)score[k];
        sum += ml_a_peak(s, truth, n);
    }
    ml_release(cx, mark);
    return sum / times;
}

/* A model that has learned from the shapes that are wanted. */
static ml_Model *trained(ml_Ctx *cx, const ml_Lesson *l, const bool *wanted)
{
    ml_Model *m = open_model(cx, "xgb");
    const ml_Learned part = ml_lesson_part(cx, l, wanted);

    if (!ml_model_train(m, cx, &part))
        die("train", ml_error(cx));
    return m;
}

/* ---------------------------------------------------------------- one operator left out */

static void leave_out(ml_Ctx *cx, const ml_Lesson *l)
{
    ml_Model *analytic = open_model(cx, "analytic"), *drawn = open_model(cx, "random");
    bool done[MOST_GROUPS] = {false};
    double sum[3] = {0};
    int n = 0;

    if (!report.json)
        printf("a-peak@32 of an operator's shapes, trained on the others\n"
               "%-8s %-12s %8s %8s %8s %8s\n",
               "", "space", "samples", "xgb", "analytic", "random");
    for (size_t g = 0; g < l->n_groups; g++) {
        ml_Ctx *own = ml_ctx_new(0);
        bool *others = ML_ARRAY(own, bool, l->n_groups);
        ml_Model *m;

        for (size_t k = 0; k < l->n_groups; k++)
            others[k] = !same_operator(l->group[k].name, l->group[g].name);
        m = done[g] ? NULL : trained(own, l, others);
        for (size_t k = g; k < l->n_groups && m; k++) {
            if (others[k] || l->group[k].n < LEAST || l->group[k].best == 0)
                continue;
            const double v[3] = {peak_of(own, m, l, k), peak_of(own, analytic, l, k),
                                 peak_of(own, drawn, l, k)};

            printf(report.json ? "{\"shape\": \"%s\", \"space\": \"%s\", \"samples\": %zu, "
                                 "\"xgb\": %.4f, "
                                 "\"analytic\": %.4f, \"random\": %.4f}\n"
                               : "%-8s %-12s %8zu %8.3f %8.3f %8.3f\n",
                   l->group[k].name, l->group[k].space, l->group[k].n, v[0], v[1], v[2]);
            for (size_t i = 0; i < 3; i++)
                sum[i] += v[i];
            n++;
        }
        for (size_t k = 0; k < l->n_groups; k++)
            done[k] = done[k] || !others[k];
        ml_model_close(m);
        ml_ctx_unref(own);
    }
    ml_model_close(analytic);
    ml_model_close(drawn);
    figure("a-peak@32 of an operator that was left out: xgb", sum[0] / n, 0.85, "", true);
    figure("the same: analytic", sum[1] / n, 0, "", true);
    figure("the same: a random order", sum[2] / n, 0, "", true);
}

/* ---------------------------------------------------------------- from shape to shape */

static void transfer(ml_Ctx *cx, const ml_Lesson *l)
{
    ml_Model *analytic = open_model(cx, "analytic");
    double sum[2] = {0};
    int n = 0;

    for (size_t a = 0; a < l->n_groups; a++)
        for (size_t b = 0; b < l->n_groups; b++) {
            ml_Ctx *own;
            bool *wanted;

            if (a == b || ml_streq(l->group[a].name, l->group[b].name) ||
                !ml_streq(l->group[a].space, l->group[b].space) ||
                !same_operator(l->group[a].name, l->group[b].name) ||
                l->group[a].n < LEAST || l->group[b].n < LEAST)
                continue;
            own = ml_ctx_new(0);
            wanted = ML_ARRAY(own, bool, l->n_groups);
            wanted[a] = true;
            ml_Model *m = trained(own, l, wanted);

            sum[0] += peak_of(own, m, l, b);
            sum[1] += peak_of(own, analytic, l, b);
            n++;
            ml_model_close(m);
            ml_ctx_unref(own);
        }
    ml_model_close(analytic);
    if (n == 0)
        return;
    figure("a-peak@32 of a shape, trained on another of its operator alone", sum[0] / n,
           0.85, "", true);
    figure("the same: analytic", sum[1] / n, 0, "", true);
}

/* ---------------------------------------------------------------- while a task is measured */

/* The samples of a shape from one on, or before it. */
static ml_Learned some_of(const ml_Learned *l, size_t from, size_t to)
{
    return (ml_Learned){.x = {to - from, l->x.columns, l->x.rows, l->x.begin + from},
                        .group = l->group + from,
                        .seconds = l->seconds + from};
}

static double peak_after(ml_Ctx *cx, ml_Model *m, const ml_Learned *part, size_t n,
                         bool learn)
{
    const ml_Learned rest = some_of(part, n, part->x.n), first = some_of(part, 0, n);
    double *score = ML_ARRAY(cx, double, rest.x.n + 1);
    float *s = ML_ARRAY(cx, float, rest.x.n + 1), *t = ML_ARRAY(cx, float, rest.x.n + 1);

    if ((learn && !ml_model_train(m, cx, &first)) || !ml_model_score(m, cx, &rest.x, score))
        die("train", ml_error(cx));
    for (size_t k = 0; k < rest.x.n; k++) {
        s[k] = (float)score[k];
        t[k] = rest.seconds[k] > 0 ? (float)(1 / rest.seconds[k]) : 0;
    }
    return ml_a_peak(s, t, rest.x.n);
}

/* The rest of a shape's samples are ordered when some were measured: by the analytic score, by
 * what learned from these alone, by a model of the other operators, and by what learned from
 * it on. */
static void on_line(ml_Ctx *cx, const ml_Lesson *l)
{
    static const size_t after[] = {32, 64, 128};
    static const char *const how[] = {"analytic", "learned cold", "prior alone",
                                      "learned from the prior on"};
    enum { HOW = ML_COUNT(how) };
    char path[] = "/tmp/bench_model_XXXXXX";
    double sum[ML_COUNT(after)][HOW] = {{0}};
    int n = 0;

    close(mkstemp(path));
    for (size_t g = 0; g < l->n_groups; g++) {
        ml_Ctx *own = ml_ctx_new(0);
        bool *others = ML_ARRAY(own, bool, l->n_groups);
        bool *this_one = ML_ARRAY(own, bool, l->n_groups);

        for (size_t k = 0; k < l->n_groups; k++)
            others[k] = !same_operator(l->group[k].name, l->group[g].name);
        this_one[g] = true;
        const ml_Learned part = ml_lesson_part(own, l, this_one);
        ml_Model *m = part.x.n >= 3 * LEAST ? trained(own, l, others) : NULL;

        if (m && !ml_model_save(m, own, path))
            die(path, ml_error(own));
        ml_model_close(m);
        for (size_t k = 0; m && k < HOW * ML_COUNT(after); k++) {
            const ml_ModelOpts o = {.threads = 2, .prior = k % HOW >= 2 ? path : ""};
            ml_Model *x = ml_model_open(own, "xgb", &o);

            if (x == NULL)
                die(path, ml_error(own));
            sum[k / HOW][k % HOW] += peak_after(own, x, &part, after[k / HOW], k % 2);
            ml_model_close(x);
        }
        n += m != NULL;
        ml_ctx_unref(own);
    }
    unlink(path);
    for (size_t k = 0; n && k < HOW * ML_COUNT(after); k++)
        figure(ml_format(cx, "a-peak@32 of the rest after %zu samples: %s", after[k / HOW],
                         how[k % HOW]),
               sum[k / HOW][k % HOW] / n, k % 2 ? 0.85 : 0, "", true);
}

/* ---------------------------------------------------------------- speed */

static void speed(ml_Ctx *cx, const ml_Lesson *l)
{
    ml_Learned some = l->l;
    double spent[5], begin;
    ml_Model *m = NULL;
    size_t rows = 0;

    some.x.n = some.x.n < TRAINED ? some.x.n : TRAINED;
    for (size_t k = 0; k < ML_COUNT(spent); k++) {
        ml_model_close(m);
        m = open_model(cx, "xgb");
        begin = now();
        if (!ml_model_train(m, cx, &some))
            die("train", ml_error(cx));
        spent[k] = now() - begin;
    }
    figure(some.x.n < TRAINED ? "training on all samples, fewer than 2000"
                              : "training on 2000 samples",
           quantile(spent, ML_COUNT(spent), 0.5), 0.3, "s", false);

    double *score = ML_ARRAY(cx, double, l->l.x.n + 1);

    begin = now();
    do {
        if (!ml_model_score(m, cx, &l->l.x, score))
            die("score", ml_error(cx));
        rows += l->l.x.begin[l->l.x.n];
    } while (now() - begin < 1);
    figure("prediction", (double)rows / (now() - begin), 200000, "rows/s", true);
    ml_model_close(m);
}

/* Where it is from: machine, day, libraries, samples of each program. */
static const char *provenance(ml_Ctx *cx, const ml_Lesson *l)
{
    ml_Text t = {0}, target = {0};
    const ml_Target host = ml_target_host();
    time_t today = time(NULL);
    struct tm day;
    char text[32];
    const char *out;

    ml_target_json(&host, &target);
    strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&today, &day));
    ml_text_fmt(&t, "%s, %s, features %d, %zu records:", text, ml_text_z(&target),
                ML_FEATURES_VERSION, l->l.x.n);
    for (size_t k = 0; k < l->n_groups; k++)
        ml_text_fmt(&t, " %s (%s) %zu", l->group[k].name, l->group[k].space, l->group[k].n);
    out = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    ml_text_free(&target);
    return out;
}

static void train(ml_Ctx *cx, const ml_Lesson *l, const char *path)
{
    ml_Model *m = open_model(cx, "xgb");

    if (!ml_model_train(m, cx, &l->l))
        die("train", ml_error(cx));
    m->made = provenance(cx, l);
    if (!ml_model_save(m, cx, path))
        die(path, ml_error(cx));
    printf("%s: %s\n%zu samples, %u rounds, a-peak@32 of the held-out tenth %.3f\n", path,
           m->made, m->stats.trained, (unsigned)m->stats.rounds, m->stats.held_out);
    m->made = NULL;
    ml_model_close(m);
}

int main(int argc, char **argv)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Db *db = argc > 1 ? ml_db_open_existing(cx, argv[1]) : NULL;
    ml_Lesson l;

    report.json = argc > 2 && strcmp(argv[2], "--json") == 0;
    if (db == NULL || !ml_lesson_read(cx, db, &l))
        die(argc > 1 ? argv[1] : "give a database", ml_error(cx));
    if (l.l.x.n == 0 || l.n_groups > MOST_GROUPS)
        die("the database has no records to learn from", NULL);
    if (l.skipped)
        fprintf(stderr, "%zu records could not be replayed\n", l.skipped);
    if (argc > 3 && strcmp(argv[2], "--train") == 0) {
        train(cx, &l, argv[3]);
    } else {
        leave_out(cx, &l);
        transfer(cx, &l);
        on_line(cx, &l);
        speed(cx, &l);
    }
    ml_db_close(db);
    ml_ctx_unref(cx);
    return report.missed > 0;
}
