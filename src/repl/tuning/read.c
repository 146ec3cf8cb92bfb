/* read - a board from a tuner of this process. Source: interaction 11. */
#include <math.h>
#include <stdlib.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/tune/model/model.h"
#include "moonloop/work/records.h"
#include "repl/tuning/board.h"

enum { MOST_GAINS = 8 };

static void add_fault(ml_Board *b, const ml_Record *r)
{
    const char *phase = r->phase ? r->phase : "run", *code = r->error ? r->error : "failed";

    for (size_t k = 0; k < b->faults.n; k++)
        if (ml_streq(b->faults.v[k].phase, phase) && ml_streq(b->faults.v[k].code, code)) {
            b->faults.v[k].n++;
            b->faults.v[k].record = r->id;
            return;
        }
    ml_push(b->cx, &b->faults,
            ((ml_BoardFault){ml_strdup(b->cx, ml_str(phase)),
                             ml_strdup(b->cx, ml_str(code)), 1, r->id}));
}

/* The place of a record of so many seconds among the fastest. */
static size_t rank_of(const ml_Board *b, double seconds)
{
    size_t k = b->n_ranks;

    while (k > 0 && b->rank[k - 1].seconds > seconds)
        k--;
    return k;
}

static void add_rank(ml_Board *b, const ml_Record *r, ml_Schedule *s)
{
    double seconds = ml_record_seconds(r);
    size_t at = rank_of(b, seconds), n = b->n_ranks;
    ml_Text t = {0};

    if (!(seconds > 0) || !isfinite(seconds) || at >= ML_BOARD_RANKS)
        return;
    n = n < ML_BOARD_RANKS ? n : ML_BOARD_RANKS - 1;
    memmove(&b->rank[at + 1], &b->rank[at], (n - at) * sizeof b->rank[0]);
    ml_record_design(s, r, &t);
    b->rank[at] =
        (ml_BoardRank){r->id, seconds, ml_strdup(b->cx, ml_str(ml_text_z(&t))), NULL};
    b->n_ranks = n + 1;
    for (size_t k = 0; at == 0 && k < b->n_ranks; k++)
        b->rank[k].against = NULL; /* of another */
    ml_text_free(&t);
}

void ml_board_compare(ml_Board *b)
{
    ml_Text t = {0};

    for (size_t k = 0; k < b->n_ranks; k++) {
        if (b->rank[k].against)
            continue;
        ml_text_clear(&t);
        if (k > 0)
            ml_board_against(b->rank[k].design, b->rank[0].design, &t);
        b->rank[k].against = ml_strdup(b->cx, ml_str(ml_text_z(&t)));
    }
    ml_text_free(&t);
}

static int by_seconds(const void *a, const void *b)
{
    double x = ml_record_seconds(*(ml_Record *const *)a),
           y = ml_record_seconds(*(ml_Record *const *)b);

    return (x > y) - (x < y);
}

static void add_trial(ml_Board *b, const ml_Record *r, double expected)
{
    ml_board_trial(b, &(ml_BoardTrial){.expected = expected,
                                       .seconds = r->n_run ? ml_record_best(r) : 0,
                                       .record = r->id});
    if (!r->n_run)
        add_fault(b, r);
}

/* The last n of the key of `like`, in the order they came; those from its own on are of this
 * search, where it is not the best of before. */
static void add_before(ml_Board *b, ml_Tuner *t, const ml_Record *like, int64_t end,
                       ml_Schedule *s)
{
    const ml_DbQuery q = {.workload = like->workload,
                          .target = like->target,
                          .space = like->space,
                          .seed = like->seed,
                          .threads = like->threads};
    size_t n, k = 0, left = (size_t)b->st.before;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Record *v, **best;

    if (ml_db_records(ml_tuner_db(t), cx, &q, &v, &n)) {
        while (n > 0 && v[n - 1].id >= end)
            n--;
        k = n > left ? n - left : 0;
        best = ML_ARRAY(cx, ml_Record *, n + 1);
        left = 0;
        for (; k < n; k++) {
            add_trial(b, &v[k], 0);
            if (v[k].n_run)
                best[left++] = &v[k];
        }
        qsort(best, left, sizeof(ml_Record *), by_seconds);
        for (k = 0; k < left && k < ML_BOARD_RANKS; k++)
            add_rank(b, best[k], s);
    }
    ml_ctx_unref(cx);
}

/* What there was before this search: its first record has the same key, or the best does. */
static void read_before(ml_Board *b, ml_Tuner *t, const ml_Record *first, ml_Schedule *s)
{
    const ml_DbQuery q = {.record = b->st.best_record, .any_seed = true};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Record *v;
    size_t n;

    if (first)
        add_before(b, t, first, first->id, s);
    else if (q.record && ml_db_records(ml_tuner_db(t), cx, &q, &v, &n) && n > 0)
        add_before(b, t, v, INT64_MAX, s);
    ml_ctx_unref(cx);
}

static void read_sketches(ml_Board *b, ml_Tuner *t)
{
    const ml_TuneSketch *v;
    size_t n = ml_tuner_sketches(t, &v);

    for (size_t k = 0; k < n; k++) {
        if (k == b->sketches.n)
            ml_push(b->cx, &b->sketches,
                    ((ml_BoardSketch){.name = ml_strdup(b->cx, ml_str(v[k].name))}));
        ml_BoardSketch *to = &b->sketches.v[k];

        to->measured = v[k].measured;
        to->failed = v[k].failed;
        to->points = v[k].points;
        to->best = v[k].best;
        to->share = v[k].share;
    }
}

/* What it has found to matter is looked up when it has learned anew. */
static void read_model(ml_Board *b, ml_Tuner *t)
{
    ml_Model *m = ml_tuner_model(t);
    const ml_Gain *v = NULL;
    size_t n = 0;

    b->model = b->st.model;
    if (m == NULL || m->stats.trained == b->samples)
        return;
    b->samples = m->stats.trained;
    b->held_out = m->stats.held_out;
    ml_Ctx *cx = ml_ctx_new(0);

    if (ml_model_importance(m, cx, &v, &n)) {
        b->gains.n = 0;
        for (size_t k = 0; k < n && k < MOST_GAINS; k++)
            ml_push(b->cx, &b->gains,
                    ((ml_BoardGain){ml_strdup(b->cx, ml_str(v[k].what)), v[k].share}));
    }
    ml_ctx_unref(cx);
}

void ml_board_read(ml_Board *b, ml_Tuner *t, ml_Schedule *s)
{
    const ml_Record *const *v;
    const ml_TuneTrial *trial;
    size_t n = ml_tuner_records(t, &v), n_trials = ml_tuner_trials(t, &trial), before;

    ml_board_status(b, ml_tuner_status(t));
    if (!b->began) {
        b->began = true;
        (void)ml_schedule_names(s); /* before designs are told by them */
        if (b->st.before > 0)
            read_before(b, t, n > 0 ? v[0] : NULL, s);
        b->before = b->trials.n;
    }
    before = b->trials.n - b->before;
    for (size_t k = before; k < n; k++) {
        (void)ml_schedule_names(s);
        add_trial(b, v[k], k < n_trials ? trial[k].expected : 0);
        if (v[k]->n_run)
            add_rank(b, v[k], s);
    }
    ml_board_compare(b);
    b->with = b->st.with;
    b->points = b->st.points;
    read_sketches(b, t);
    read_model(b, t);
}
