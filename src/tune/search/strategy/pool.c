/* pool - candidates that are thought of, and what is expected of them. */
#include "moonloop/tune/search/strategy/pool.h"

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/error.h"

#include <math.h>
#include <stdlib.h>

/* Measurements from which on the model is trained with them: until then those near by tell more,
 * and at once. */
enum { TRAIN_FROM = 128 };
enum { PAIR = ML_X_RESERVED - ML_FEATURES_BASE }; /* numbers of one row that count here */
#define FAILED 2.0 /* a failure counts as so many powers of two slower than the slowest */
#define FLOOR  0.05

/* ---------------------------------------------------------------- made and freed */

static void make_pool(Pool *p, ml_Tuner *t)
{
    *p = (Pool){
        .t = t, .cx = ml_ctx_new(0), .batch = ml_ctx_new(0), .best = (double)INFINITY};
    p->forms = ML_ARRAY(t->keep, ml_SketchForms *, t->most_sketches + 1);
    p->share = ML_ARRAY(t->keep, double, t->most_sketches + 1);
    for (size_t k = 0; k < t->n_sketches; k++)
        p->share[k] = 1.0 / (double)t->n_sketches;
    p->draft = ml_model_analytic(t->threads);
    p->model = t->model;
}

static void free_pool(Pool *p)
{
    for (size_t k = 0; k < p->t->most_sketches; k++)
        ml_sketch_forms_free(p->forms[k]);
    ml_model_close(p->draft);
    ml_ctx_unref(p->batch);
    ml_ctx_unref(p->cx);
    free(p->refused.v);
}

typedef struct Behind { /* what is done behind the decisions of a sketch */
    const ml_Tuner *t;
    size_t space;
} Behind;

static bool run_post(ml_Schedule *s, void *user)
{
    const Behind *b = user;

    return b->t->post.fn(s, b->space, b->t->post.user);
}

/* Forms go on through what is known to be done behind the decisions. */
static void add_post(Pool *p, uint32_t sketch)
{
    const Sketch *sk = &p->t->sketches[sketch];
    Behind *b = ML_NEW(p->t->keep, Behind);

    *b = (Behind){p->t, sk->space};
    if (p->t->post.fn && sk->posts)
        (void)ml_sketch_forms_post(p->forms[sketch],
                                   &(ml_FormPost){sk->posts, sk->n_posts, run_post, b});
}

static ml_SketchForms *forms_of(Pool *p, uint32_t sketch)
{
    static const ml_FormLimits
        none; /* what is legal is not refused, but expected to be slow */
    uint64_t cache[ML_MACHINE_MEMORY] = {0};

    if (p->forms[sketch] == NULL) {
        ml_machine_caches(cache);
        const ml_FeatureTarget target =
            ml_feature_target(&p->t->target, p->t->threads, cache);

        p->forms[sketch] =
            ml_sketch_forms_new(p->t->start, &p->t->sketches[sketch].trace, &target, &none);
        ml_sketch_forms_check(p->forms[sketch], 1);
        ml_sketch_forms_trust(p->forms[sketch]);
        ml_sketch_forms_spare(p->forms[sketch], &p->replays);
        add_post(p, sketch);
    }
    return p->forms[sketch];
}

/* ---------------------------------------------------------------- points */

/* What of the rows tells programs apart: the extended features of the two with most work. */
static const float *numbers_of(Pool *p, const float *rows, uint32_t n)
{
    float *x = ML_ARRAY(p->cx, float, ML_NEAR_FEATURES);
    uint32_t most[2] = {0, 0};

    for (uint32_t k = 1; k < n; k++) {
        const float *row = rows + (size_t)k * ML_FEATURES;

        if (row[ML_X_VECTOR_OPS] > rows[(size_t)most[0] * ML_FEATURES + ML_X_VECTOR_OPS]) {
            most[1] = most[0];
            most[0] = k;
        } else if (most[1] == most[0] ||
                   row[ML_X_VECTOR_OPS] >
                       rows[(size_t)most[1] * ML_FEATURES + ML_X_VECTOR_OPS])
            most[1] = k;
    }
    _Static_assert(2 * PAIR <= ML_NEAR_FEATURES, "two rows");
    for (uint32_t k = 0; n > 0 && k < 2; k++)
        memcpy(x + (size_t)k * PAIR,
               rows + (size_t)most[k] * ML_FEATURES + ML_FEATURES_BASE, PAIR * sizeof *x);
    return x;
}

static Point *find(const Pool *p, uint64_t key)
{
    for (size_t k = 0; k < p->points.n; k++)
        if (p->points.v[k]->key == key)
            return p->points.v[k];
    return NULL;
}

const Point *ml_pool_find(const Pool *p, const Candidate *c)
{
    return find(p, ml_candidate_key(p->t, c));
}

/* The rows of points, one after the other. */
static const float *pack_rows(Pool *p, Point *const *v, const uint32_t *begin, size_t n)
{
    float *rows = ml_alloc(p->batch, (size_t)begin[n] * ML_FEATURES * sizeof *rows + 16);

    for (size_t k = 0; k < n; k++)
        if (v[k]->n_rows)
            memcpy(rows + (size_t)begin[k] * ML_FEATURES, v[k]->rows,
                   (size_t)v[k]->n_rows * ML_FEATURES * sizeof *rows);
    return rows;
}

/* The model, or, while it has learned nothing, the one that need not. */
static ml_Model *choose_model(const Pool *p)
{
    bool knows = p->model->stats.rounds > 0 || p->model->kind->train == NULL;

    return knows ? p->model : p->draft;
}

/* Scores as log2 of seconds, but for a constant. */
static void put_bases(Pool *p, Point *const *v, size_t n)
{
    uint32_t *begin = ML_ARRAY(p->batch, uint32_t, n + 1);
    double *score = ML_ARRAY(p->batch, double, n + 1);

    for (size_t k = 0; k < n; k++)
        begin[k + 1] = begin[k] + v[k]->n_rows;
    const ml_Samples s = {n, ML_FEATURES, pack_rows(p, v, begin, n), begin};

    if (!ml_model_score(choose_model(p), p->batch, &s, score))
        ml_error_clear(p->batch);
    for (size_t k = 0; k < n; k++)
        v[k]->p.base = -score[k];
}

static void expect(Pool *p, Point *const *v, size_t n)
{
    double *room = ML_ARRAY(p->batch, double, 2 * ML_NEAR_MOST);

    for (size_t k = 0; k < n; k++)
        ml_near_tell(&p->near, &v[k]->p, room, &v[k]->mean, &v[k]->sd);
}

/* Points of vectors that are none yet; into v. */
static size_t make_points(Pool *p, uint32_t sketch, const int64_t *d, size_t n, Point **v)
{
    ml_SketchForms *f = forms_of(p, sketch);
    size_t numbers = p->t->sketches[sketch].n_numbers, made = 0;
    ml_FormBatch b;

    if (ml_sketch_forms_numbers(f) != numbers)
        return 0;
    ml_sketch_forms_rows(f, d, n, &b);
    for (size_t k = 0; k < n; k++) {
        uint32_t n_rows = b.begin[k + 1] - b.begin[k];
        size_t bytes = (size_t)n_rows * ML_FEATURES * sizeof *b.rows;

        if (b.left[k])
            continue;
        if (!b.valid[k]) {
            ml_seen_add(&p->refused,
                        ml_candidate_key(p->t, &(Candidate){sketch, d + k * numbers, 0}));
            continue;
        }
        Point *q = ML_NEW(p->cx, Point);
        int64_t *own = ML_ARRAY(p->cx, int64_t, numbers + 1);
        float *rows = ml_alloc(p->cx, bytes + 16);

        memcpy(own, d + k * numbers, numbers * sizeof *own);
        if (bytes)
            memcpy(rows, b.rows + (size_t)b.begin[k] * ML_FEATURES, bytes);
        *q = (Point){.p = {.sketch = sketch, .d = own, .x = numbers_of(p, rows, n_rows)},
                     .n_rows = n_rows,
                     .rows = rows,
                     .seconds = -1};
        q->key = ml_candidate_key(p->t, &(Candidate){.sketch = sketch, .d = own});
        q->taken = ml_seen_has(&p->t->points, q->key);
        v[made++] = q;
        ml_push(p->cx, &p->points, q);
    }
    put_bases(p, v, made);
    return made;
}

size_t ml_pool_add(Pool *p, uint32_t sketch, const int64_t *d, size_t n)
{
    size_t numbers = p->t->sketches[sketch].n_numbers, fresh = 0;
    int64_t *those = ML_ARRAY(p->batch, int64_t, n * numbers + 1);
    uint64_t *keys = ML_ARRAY(p->batch, uint64_t, n + 1);
    Point **v = ML_ARRAY(p->batch, Point *, n + 1);

    for (size_t k = 0; k < n; k++) {
        const Candidate c = {.sketch = sketch, .d = d + k * numbers};
        uint64_t key = ml_candidate_key(p->t, &c);
        bool known = key == 0 || ml_seen_has(&p->refused, key) || find(p, key) != NULL;

        for (size_t m = 0; m < fresh && !known; m++)
            known = keys[m] == key;
        if (known)
            continue;
        memcpy(those + fresh * numbers, c.d, numbers * sizeof *those);
        keys[fresh++] = key;
    }
    fresh = make_points(p, sketch, those, fresh, v);
    expect(p, v, fresh);
    return fresh;
}

size_t ml_pool_draw(Pool *p, ml_Random *r, uint32_t sketch, size_t n)
{
    size_t numbers = p->t->sketches[sketch].n_numbers;
    int64_t *d = ML_ARRAY(p->batch, int64_t, n * numbers + 1);
    uint32_t state = (uint32_t)ml_random_below(r, 2147483646) + 1;

    n = ml_sketch_forms_draw(forms_of(p, sketch), &state, n, d);
    return ml_pool_add(p, sketch, d, n);
}

size_t ml_pool_mutate(Pool *p, ml_Random *r, const Point *from, size_t n)
{
    const Candidate c = {.sketch = from->p.sketch, .d = from->p.d};
    size_t fresh = 0;

    for (size_t k = 0; k < n && p->t->mutate.fn; k++) {
        Candidate child;

        if (ml_candidate_mutate(p->t, r, &c, &child))
            fresh += ml_pool_add(p, child.sketch, child.d, 1);
    }
    return fresh;
}

void ml_pool_complete(Pool *p, ml_Random *r, uint32_t sketch, int64_t *d, size_t n)
{
    uint32_t state = (uint32_t)ml_random_below(r, 2147483646) + 1;

    (void)ml_sketch_forms_complete(forms_of(p, sketch), &state, n, d);
}

bool ml_pool_is_slow(const Pool *p, uint32_t sketch)
{
    const ml_FormStats *st =
        p->forms[sketch] ? ml_sketch_forms_stats(p->forms[sketch]) : NULL;

    return st && st->replayed > 0 && st->by_replay > st->by_forms;
}

static int by_seconds(const void *a, const void *b)
{
    const Point *x = *(Point *const *)a, *y = *(Point *const *)b;
    double sx = x->seconds > 0 ? x->seconds : (double)INFINITY;
    double sy = y->seconds > 0 ? y->seconds : (double)INFINITY;

    return (sx > sy) - (sx < sy);
}

/* The fastest and the latest n of what was measured, in the order of measuring but for those that
 * are not the latest; v has room for all. */
static size_t fastest_and_latest(const Pool *p, size_t n, Point **v)
{
    size_t all = p->measured.n, late = n / 2, early = all - late;

    if (all > 0)
        memcpy(v, p->measured.v, all * sizeof *v);
    if (all <= n)
        return all;
    qsort(v, early, sizeof *v, by_seconds);
    memmove(v + n - late, v + early, late * sizeof *v);
    return n;
}

/* What stays, what may, and what is of no use any more. */
static int class_of(const Point *q)
{
    return q->keep ? 0 : q->taken ? 2 : 1;
}

static int by_worth(const void *a, const void *b)
{
    const Point *x = *(Point *const *)a, *y = *(Point *const *)b;
    int cx = class_of(x), cy = class_of(y);

    return cx != cy ? cx - cy : ml_point_by_mean(a, b);
}

static Point *copy_point(ml_Ctx *to, const Point *from, size_t numbers)
{
    Point *q = ML_NEW(to, Point);
    size_t bytes = (size_t)from->n_rows * ML_FEATURES * sizeof *from->rows;
    int64_t *d = ML_ARRAY(to, int64_t, numbers + 1);
    float *rows = ml_alloc(to, bytes + 16), *x = ML_ARRAY(to, float, ML_NEAR_FEATURES);

    *q = *from;
    memcpy(d, from->p.d, numbers * sizeof *d);
    if (bytes)
        memcpy(rows, from->rows, bytes);
    memcpy(x, from->p.x, ML_NEAR_FEATURES * sizeof *x);
    q->p.d = d;
    q->rows = rows;
    q->p.x = x;
    return q;
}

static void prune(Pool *p)
{
    Point **old = p->points.v, **v = ML_ARRAY(p->batch, Point *, p->measured.n + 1);
    Point **measured = p->measured.v;
    size_t n = 0, n_measured = p->measured.n;

    if (p->points.n <= ML_POOL_MOST)
        return;
    for (size_t k = fastest_and_latest(p, ML_POOL_MEASURED, v); k-- > 0;)
        v[k]->keep = true;
    for (size_t k = 0; k < p->points.n; k++)
        old[k]->keep |= old[k]->under_way;
    qsort(old, p->points.n, sizeof *old, by_worth);

    ml_Ctx *to = ml_ctx_new(0);
    size_t all = p->points.n;

    memset(&p->points, 0, sizeof p->points);
    memset(&p->measured, 0, sizeof p->measured);
    for (; n < all && (old[n]->keep || (n < ML_POOL_MOST / 2 && !old[n]->taken)); n++) {
        Point *q = copy_point(to, old[n], p->t->sketches[old[n]->p.sketch].n_numbers);

        q->keep = false;
        old[n]->to = q;
        ml_push(to, &p->points, q);
    }
    for (size_t k = 0; k < n_measured; k++)
        if (measured[k]->to)
            ml_push(to, &p->measured, measured[k]->to);
    ml_ctx_unref(p->cx);
    p->cx = to;
}

/* ---------------------------------------------------------------- measurements */

static void take_news(Pool *p)
{
    for (size_t k = 0; k < p->news.n; k++) {
        const Candidate *c = &p->news.v[k];
        Point *q = find(p, ml_candidate_key(p->t, c));

        if (q == NULL) { /* what was measured is always known */
            size_t left = p->replays;

            p->replays = 1;
            size_t made = make_points(p, c->sketch, c->d, 1, &q);

            p->replays = left;
            if (made == 0)
                continue;
        }
        q->taken = true;
        q->under_way = false;
        if (q->seconds < 0)
            ml_push(p->cx, &p->measured, q);
        q->seconds = p->news_seconds.v[k];
        if (q->seconds > 0)
            p->best = fmin(p->best, log2(q->seconds));
    }
    p->news.n = p->news_seconds.n = 0;
}

/* What the model has not seen. */
static void train(Pool *p)
{
    uint32_t *begin = ML_ARRAY(p->batch, uint32_t, p->measured.n + 1);
    uint64_t *group = ML_ARRAY(p->batch, uint64_t, p->measured.n + 1);
    double *seconds = ML_ARRAY(p->batch, double, p->measured.n + 1);
    Point **v = ML_ARRAY(p->batch, Point *, p->measured.n + 1);
    size_t n = 0;

    if (p->measured.n < TRAIN_FROM)
        return;
    for (size_t k = 0; k < p->measured.n; k++) {
        Point *q = p->measured.v[k];

        if (q->learned)
            continue;
        q->learned = true;
        begin[n + 1] = begin[n] + q->n_rows;
        group[n] = (uint64_t)p->t->workload;
        seconds[n] = q->seconds;
        v[n++] = q;
    }
    if (n == 0)
        return;
    const ml_Learned l = {.x = {n, ML_FEATURES, pack_rows(p, v, begin, n), begin},
                          .group = group,
                          .seconds = seconds};

    if (!ml_model_train(p->model, p->batch, &l))
        ml_error_clear(p->batch); /* it is as it was */
}

/* The fastest and the latest are what is looked at; failures are slower than the slowest. */
static void fit(Pool *p)
{
    Point **v = ML_ARRAY(p->batch, Point *, p->measured.n + 1);
    size_t n = fastest_and_latest(p, ML_NEAR_MOST, v);
    const NearPoint *at[ML_NEAR_MOST];
    double y[ML_NEAR_MOST], worst = p->best;

    for (size_t k = 0; k < n; k++)
        if (v[k]->seconds > 0)
            worst = fmax(worst, log2(v[k]->seconds));
    for (size_t k = 0; k < n; k++) {
        at[k] = &v[k]->p;
        y[k] = v[k]->seconds > 0 ? log2(v[k]->seconds)
               : isfinite(worst) ? worst + FAILED
                                 : 0;
    }
    ml_near_fit(&p->near, p->batch, p->t->sketches, at, y, n);
}

/* By the best that is expected of each sketch: a factor of two is a share of a fourth. */
static void share_out(Pool *p)
{
    size_t n = p->t->n_sketches;
    double least = (double)INFINITY, all = 0, floor = fmin(FLOOR, 0.5 / (double)n);
    double *best = ML_ARRAY(p->batch, double, n + 1);

    for (size_t k = 0; k < n; k++)
        best[k] = (double)INFINITY;
    for (size_t k = 0; k < p->points.n; k++) {
        const Point *q = p->points.v[k];

        best[q->p.sketch] = fmin(best[q->p.sketch], q->mean - 0.5 * q->sd);
    }
    for (size_t k = 0; k < n; k++)
        least = fmin(least, best[k]);
    for (size_t k = 0; k < n; k++) {
        p->share[k] = isfinite(best[k]) ? exp2(-2 * (best[k] - least)) : 1;
        all += p->share[k];
    }
    for (size_t k = 0; k < n; k++)
        p->share[k] = floor + (1 - floor * (double)n) * p->share[k] / all;
}

void ml_pool_learn(Pool *p)
{
    p->replays = p->points.n == 0 ? 4 * (size_t)ML_POOL_REPLAYS : ML_POOL_REPLAYS;
    ml_ctx_unref(p->batch);
    p->batch = ml_ctx_new(0);
    prune(p);
    take_news(p);

    uint32_t before = p->model->stats.rounds;

    train(p);
    if (p->model->stats.rounds != before)
        put_bases(p, p->points.v, p->points.n);
    fit(p);
    expect(p, p->points.v, p->points.n);
    if (p->points.n > 0)
        share_out(p);
}

static void show(const Pool *p, ml_TuneStatus *st, ml_TuneSketch *v)
{
    st->model = choose_model(p)->kind->name;
    st->points = (int64_t)p->points.n;
    st->by_forms = st->by_replay = 0;
    for (size_t k = 0; k < p->t->n_sketches; k++) {
        const ml_FormStats *f = p->forms[k] ? ml_sketch_forms_stats(p->forms[k]) : NULL;

        v[k].points = 0;
        v[k].expected = 0;
        v[k].share = p->share[k];
        st->by_forms += f ? f->by_forms : 0;
        st->by_replay += f ? f->by_replay : 0;
    }
    for (size_t k = 0; k < p->points.n; k++) {
        const Point *q = p->points.v[k];
        ml_TuneSketch *sk = &v[q->p.sketch];

        sk->points++;
        if (isfinite(p->best) && (sk->expected <= 0 || exp2(q->mean) < sk->expected))
            sk->expected = exp2(q->mean);
    }
}

/* ---------------------------------------------------------------- strategies with a pool */

static Strategy *start(ml_Tuner *t)
{
    Thinker *h = ML_NEW(t->keep, Thinker);

    h->s.t = t;
    make_pool(&h->pool, t);
    return &h->s;
}

static void notify(Strategy *s, const Candidate *c, double seconds)
{
    Pool *p = &((Thinker *)s)->pool;

    ml_push(p->t->keep, &p->news, *c);
    ml_push(p->t->keep, &p->news_seconds, seconds);
}

static void show_pool(Strategy *s, ml_TuneStatus *st, ml_TuneSketch *v)
{
    show(&((Thinker *)s)->pool, st, v);
}

static void end(Strategy *s)
{
    free_pool(&((Thinker *)s)->pool);
}

const StrategyKin ml_thinkers = {
    .scores = true, .start = start, .notify = notify, .show = show_pool, .end = end};

int ml_thinker_batch(Thinker *h, size_t got)
{
    h->empty = got > 0 ? 0 : h->empty + 1;
    return h->empty == ML_EMPTY_BATCHES ? ML_STRATEGY_END : (int)got;
}

int ml_thinker_best(Thinker *h, ml_Random *r, size_t n, Made *out)
{
    size_t got = ml_pool_best(&h->pool, n, out);

    return ml_thinker_batch(h, got > 0 ? got : ml_pool_any(&h->pool, r, n, out));
}
