/*
 * train - the ensemble is boosted on what was measured.
 *
 * One matrix is quantised for all members; a bootstrap sample is a weight for each sample, a
 * held-out one has none. Margins come from the library's cache on top of the analytic score,
 * the gradients are ours, and boosting stops when the held-out tenth is ordered worse. Source: auto-scheduler 15.
 */
#include "moonloop/tune/model/xgb/xgb.h"

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/error.h"
#include "moonloop/tune/model/xgb/objective.h"

#include <math.h>

enum {
    FIRST = 96,     /* samples before anything is learned: of 64 of one task what is learned
                         orders the rest worse than the prior does */
    ROUNDS = 60,    /* at most, of a training: of few samples a part of their number, */
    FEW_ROUNDS = 2, /* and not less than this */
    DEPTH = 6,      /* of trees; of few samples less: they learn by heart */
    MORE_ROUNDS = 10, /* of one that goes on */
    PATIENCE = 15,    /* rounds that order the held-out samples worse */
    HOLD_OUT = 400,   /* samples from which on a tenth is held out */
    CLASSIFY = 8,     /* samples of either kind that a classifier needs */
    VALIDITY_ROUNDS = 20,
    AGAIN = 5, /* 1/5 more samples than at the last whole training: the next one */
};

/* Of a-peak@32: a tenth of the samples tells it no finer. */
#define NO_WORSE 0.03

typedef struct Training {
    const ml_XgbLibrary *x;
    ml_Ctx *cx;
    const ml_XgbData *d;
    ml_XgbLabels labels;
    const float *base; /* what the trees add to, by sample */
    uint64_t seed;
    bool rank;
    void *matrix;
    size_t n_rows;
    bool *held; /* by sample */
    uint32_t n_held;
    float *sum, *weight, *grad, *hess, *row_grad, *row_hess;
} Training;

void ml_xgb_trees_free(const ml_XgbLibrary *x, ml_XgbTrees *t)
{
    for (size_t k = 0; k < ML_XGB_ALL; k++)
        if (t->of[k])
            x->free(t->of[k]);
    *t = (ml_XgbTrees){0};
}

/* ---------------------------------------------------------------- boosters */

static bool boost(Training *t, void *booster, uint32_t round)
{
    const ml_XgbLibrary *x = t->x;
    ml_Mark mark = ml_mark(t->cx);
    int status;

    ml_packed_rows(t->d->begin, t->d->n, t->grad, t->hess, t->row_grad, t->row_hess);
    if (x->boost)
        status = x->boost(booster, t->matrix, (int)round,
                          ml_xgb_array(t->cx, t->row_grad, t->n_rows, 1),
                          ml_xgb_array(t->cx, t->row_hess, t->n_rows, 1));
    else
        status = x->boost_old(booster, t->matrix, t->row_grad, t->row_hess, t->n_rows);
    ml_release(t->cx, mark);
    return ml_xgb_ok(x, t->cx, status);
}

/* The sums of all samples so far, and of base (may be NULL). */
static bool sums(Training *t, void *booster, const float *base)
{
    const uint64_t *shape;
    const float *margin;
    uint64_t dims;

    if (!ml_xgb_ok(
            t->x, t->cx,
            t->x->predict_matrix(booster, t->matrix,
                                 "{\"type\":1,\"training\":true,\"iteration_begin\":0,"
                                 "\"iteration_end\":0,\"strict_shape\":false}",
                                 &shape, &dims, &margin)))
        return false;
    ml_packed_sums(t->d->begin, t->d->n, margin, t->sum);
    for (size_t k = 0; base && k < t->d->n; k++)
        t->sum[k] += base[k];
    return true;
}

/* A new booster, or, from given, one that goes on from its trees. */
static void *booster_from(Training *t, void *given, uint32_t member)
{
    const ml_XgbLibrary *x = t->x;
    const char *bytes;
    uint64_t n;
    void *b = NULL;

    if (!ml_xgb_ok(x, t->cx, x->create(&t->matrix, 1, &b)))
        return NULL;
    if ((!given ||
         (ml_xgb_ok(x, t->cx, x->save(given, "{\"format\":\"ubj\"}", &n, &bytes)) &&
          ml_xgb_ok(x, t->cx, x->load(b, bytes, n)))) &&
        ml_xgb_set_up(x, t->cx, b, member))
        return b;
    x->free(b);
    return NULL;
}

static bool keep_rounds(Training *t, void **booster, uint32_t n)
{
    void *to = NULL;

    if (!ml_xgb_ok(t->x, t->cx, t->x->slice(*booster, 0, (int)n, 1, &to)))
        return false;
    t->x->free(*booster);
    *booster = to;
    return ml_xgb_set_up(t->x, t->cx, to, 0);
}

/* ---------------------------------------------------------------- the held-out tenth */

static void hold_out(Training *t)
{
    ml_Random r = ml_random("moonloop.model.held", 0, t->seed);

    t->held = ML_ARRAY(t->cx, bool, t->d->n + 1);
    for (size_t k = 0; k < t->d->n && t->d->n >= HOLD_OUT; k++) {
        t->held[k] = ml_random_below(&r, 10) == 0;
        t->n_held += t->held[k];
    }
}

/* How well the held-out samples are ordered: the average over groups. */
static double held_peak(Training *t)
{
    ml_Mark mark = ml_mark(t->cx);
    float *score = ML_ARRAY(t->cx, float, t->n_held + 1);
    float *truth = ML_ARRAY(t->cx, float, t->n_held + 1);
    double sum = 0;
    uint32_t groups = 0;

    for (uint32_t g = 0; g < t->labels.n_groups; g++) {
        size_t n = 0;

        for (uint32_t k = t->labels.first[g]; k < t->labels.first[g + 1]; k++) {
            uint32_t s = t->labels.member[k];

            if (!t->held[s])
                continue;
            score[n] = t->sum[s];
            truth[n++] = t->labels.y[s];
        }
        if (n > 0) {
            sum += ml_a_peak(score, truth, n);
            groups++;
        }
    }
    ml_release(t->cx, mark);
    return groups ? sum / groups : (double)NAN;
}

/* ---------------------------------------------------------------- members */

/* How often a bootstrap sample of so many holds each of them. */
static void draw_bootstrap(Training *t, uint32_t member)
{
    ml_Random r = ml_random("moonloop.model.bootstrap", member, t->seed);

    memset(t->weight, 0, t->d->n * sizeof *t->weight);
    for (size_t k = 0; k < t->d->n; k++)
        t->weight[ml_random_below(&r, t->d->n)]++;
    for (size_t k = 0; k < t->d->n; k++)
        if (t->held[k])
            t->weight[k] = 0;
}

/* *rounds: how many there are to be, at most; those that there were before are counted. The
 * first member says when to stop. *peak: how well the held-out samples were ordered. */
static bool train_member(Training *t, void **booster, uint32_t member, uint32_t begin,
                         uint32_t *rounds, double *peak)
{
    bool watch = member == 0 && t->n_held > 0;
    uint32_t best_round = begin, round = begin;
    double best = -1;

    draw_bootstrap(t, member);
    for (; round < *rounds; round++) {
        if (!ml_poll_cancel(t->cx) || !sums(t, *booster, t->base))
            return false;
        if (watch && round > begin) {
            double now = held_peak(t);

            best = now > best ? now : best;
            if (now >= best - NO_WORSE)
                best_round = round;
            else if (round - best_round >= PATIENCE)
                break;
        }
        if (t->rank)
            ml_loss_pairs(&t->labels, t->d->n, t->sum, t->weight, t->seed + member, round,
                          t->grad, t->hess);
        else
            ml_loss_log(&t->labels, t->d->n, t->sum, t->weight, t->grad, t->hess);
        if (!boost(t, *booster, round))
            return false;
    }
    if (!watch || best < 0)
        return true;
    *peak = best;
    *rounds = best_round;
    return best_round == round || keep_rounds(t, booster, best_round);
}

static bool train_validity(Training *t, ml_XgbTrees *out)
{
    size_t failed = t->d->failed;

    if (failed < CLASSIFY || t->d->n - failed < CLASSIFY)
        return true;
    out->of[ML_XGB_MEMBERS] = booster_from(t, NULL, ML_XGB_MEMBERS);
    for (uint32_t k = 0; out->of[ML_XGB_MEMBERS] && k < VALIDITY_ROUNDS; k++) {
        if (!sums(t, out->of[ML_XGB_MEMBERS], NULL))
            return false;
        ml_loss_validity(t->d->n, t->sum, t->labels.y, t->grad, t->hess);
        if (!boost(t, out->of[ML_XGB_MEMBERS], k))
            return false;
    }
    return out->of[ML_XGB_MEMBERS] != NULL;
}

static uint32_t clamp(size_t v, uint32_t least, uint32_t most)
{
    return v < least ? least : v > most ? most : (uint32_t)v;
}

static bool set_depth(Training *t, void *booster)
{
    uint32_t bits = 0;

    while (t->d->n >> bits > 1)
        bits++;
    return ml_xgb_ok(
        t->x, t->cx,
        t->x->set(
            booster, "max_depth",
            ml_format(t->cx, "%u", (unsigned)clamp(bits > 3 ? bits - 3 : 0, 2, DEPTH))));
}

static bool train_all(Training *t, ml_Xgb *m, bool more, ml_XgbTrees *out)
{
    const ml_XgbTrees *from = more && m->trees.of[0] ? &m->trees : &m->prior;
    uint32_t rounds =
        from->rounds + (more ? MORE_ROUNDS : clamp(t->d->n / 24, FEW_ROUNDS, ROUNDS));
    double peak = (double)NAN;

    for (uint32_t k = 0; k < ML_XGB_MEMBERS; k++) {
        out->of[k] = booster_from(t, from->of[k], k);
        if (!out->of[k] || !set_depth(t, out->of[k]) ||
            !train_member(t, &out->of[k], k, from->rounds, &rounds, &peak))
            return false;
    }
    out->rounds = rounds;
    m->model.stats.held_out = peak;
    return train_validity(t, out);
}

/* New trees in `out` from all of the data: from the prior on, or, more rounds, from m's
 * trees. false: cx's error, out is empty. */
static bool train(ml_Xgb *m, ml_Ctx *cx, bool more, ml_XgbTrees *out)
{
    const ml_XgbData *d = &m->data;
    Training t = {.x = m->x,
                  .cx = cx,
                  .d = d,
                  .seed = m->seed,
                  .rank = m->rank,
                  .n_rows = d->begin[d->n]};
    const ml_Samples s = {d->n, d->columns, d->rows, d->begin};

    *out = (ml_XgbTrees){0};
    if (!ml_xgb_base(m, cx, &s, &t.base))
        return false;
    ml_xgb_labels(d, cx, &t.labels);
    hold_out(&t);
    t.sum = ML_ARRAY(cx, float, d->n + 1);
    t.weight = ML_ARRAY(cx, float, d->n + 1);
    t.grad = ML_ARRAY(cx, float, d->n + 1);
    t.hess = ML_ARRAY(cx, float, d->n + 1);
    t.row_grad = ML_ARRAY(cx, float, t.n_rows + 1);
    t.row_hess = ML_ARRAY(cx, float, t.n_rows + 1);
    if (!ml_xgb_ok(m->x, cx,
                   m->x->matrix_dense(ml_xgb_array(cx, d->rows, t.n_rows, d->columns),
                                      "{\"missing\":NaN,\"nthread\":1}", &t.matrix)))
        return false;
    bool ok = train_all(&t, m, more, out);

    if (!ok)
        ml_xgb_trees_free(m->x, out);
    m->x->matrix_free(t.matrix);
    return ok;
}

/* ---------------------------------------------------------------- what is new */

/* How well the new samples were foretold, before they are learned. */
static bool judge_batch(ml_Xgb *m, ml_Ctx *cx, size_t before)
{
    const ml_XgbData *d = &m->data;
    ml_ModelStats *st = &m->model.stats;
    size_t n = d->n - before;
    float *score = ML_ARRAY(cx, float, n + 1);
    const ml_Samples s = {n, d->columns, d->rows, d->begin + before};
    const float *base;
    double sum = 0, squares = 0;
    size_t ran = 0;
    ml_XgbLabels l;

    st->batch_peak = st->batch_error = (double)NAN;
    if (ml_xgb_trees(m) == NULL || n == 0)
        return true;
    if (!ml_xgb_predict(m->x, cx, ml_xgb_trees(m), &s, score, NULL, NULL) ||
        !ml_xgb_base(m, cx, &s, &base))
        return false;
    ml_xgb_labels(d, cx, &l);
    for (size_t k = 0; k < n; k++) {
        double off;

        score[k] += base[k];
        off = (double)score[k] - (double)l.log2_y[before + k];
        if (d->seconds[before + k] <= 0)
            continue;
        sum += off;
        squares += off * off;
        ran++;
    }
    st->batch_peak = ml_a_peak(score, l.y + before, n);
    if (ran > 0)
        st->batch_error = sqrt(fmax(squares / (double)ran - pow(sum / (double)ran, 2), 0));
    return true;
}

static bool due(const ml_Xgb *m, bool *more)
{
    size_t n = m->data.n;

    if (m->data.failed == n || n < FIRST)
        return false;
    *more = m->full > 0 && n - m->full < m->full / AGAIN;
    return n > m->last;
}

static bool learn(ml_Xgb *m, ml_Ctx *cx, const ml_Learned *l)
{
    size_t before = m->data.n;
    double begin = ml_clock();
    bool more = false;
    ml_XgbTrees now;

    if (m->columns && l->x.n && m->columns != l->x.columns)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(cx,
                                         "samples have %u features; the model has learned "
                                         "from %u",
                                         (unsigned)l->x.columns, (unsigned)m->columns)));
    if (!ml_xgb_data_add(&m->data, cx, l))
        return false;
    /* of a full store the oldest are gone: all that is there counts as new */
    before = before < m->data.n ? before : 0;
    if (!judge_batch(m, cx, before)) {
        ml_xgb_data_cut(&m->data, before);
        return false;
    }
    m->model.stats.samples = m->data.n;
    m->model.stats.failed = m->data.failed;
    if (!due(m, &more))
        return true;
    if (!train(m, cx, more, &now)) {
        ml_xgb_data_cut(&m->data, before);
        return false;
    }
    ml_xgb_trees_free(m->x, &m->trees);
    m->trees = now;
    m->columns = m->data.columns;
    m->last = m->data.n;
    m->full = more ? m->full : m->data.n;
    m->model.stats.trained = m->data.n;
    m->model.stats.rounds = now.rounds;
    m->model.stats.seconds = ml_clock() - begin;
    return true;
}

bool ml_xgb_learn(ml_Model *model, ml_Ctx *cx, const ml_Learned *l)
{
    ml_Ctx *own = ml_ctx_new(0);

    ml_ctx_limits_of(own, cx);
    bool ok = learn((ml_Xgb *)model, own, l);

    if (!ok)
        ml_error_move(cx, own);
    ml_ctx_unref(own);
    return ok;
}
