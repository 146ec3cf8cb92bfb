/*
 * told - a board of another process: what a job says of its search, as data, and who listens.
 *
 * Trials and rounds only grow: those that are new are told. What is short is told each time,
 * and replaces what there was. A number that is missing is not known. Source: interaction 9, 11.
 */
#include "repl/tuning/board.h"

#include <math.h>

#include "moonloop/core/base/arena.h"

/* ---------------------------------------------------------------- telling */

static double known(double v)
{
    return isfinite(v) ? v : (double)NAN;
}

static void tell_status(const ml_TuneStatus *s, ml_Data *d)
{
    ml_data_int(d, "done", s->done);
    ml_data_int(d, "total", s->total);
    ml_data_int(d, "before", s->before);
    ml_data_int(d, "generation", s->generation);
    ml_data_int(d, "best_record", s->best_record);
    ml_data_real(d, "best", s->best);
    ml_data_real(d, "elapsed", s->elapsed);
    ml_data_real(d, "eta", known(s->eta));
    ml_data_list(d, "spent");
    ml_data_real(d, NULL, s->search_seconds);
    ml_data_real(d, NULL, s->build_seconds);
    ml_data_real(d, NULL, s->run_seconds);
    ml_data_end(d);
    ml_data_list(d, "failed");
    for (size_t k = 0; k < ML_PHASES; k++)
        ml_data_int(d, NULL, s->failed[k]);
    ml_data_end(d);
}

static void tell_trials(const ml_Board *b, ml_BoardTold *told, ml_Data *d)
{
    ml_data_list(d, "trials");
    for (; told->trials < b->trials.n; told->trials++) {
        const ml_BoardTrial *t = &b->trials.v[told->trials];

        ml_data_list(d, NULL);
        ml_data_int(d, NULL, t->record);
        ml_data_real(d, NULL, t->seconds);
        ml_data_real(d, NULL, known(t->expected));
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_list(d, "rounds");
    for (; told->rounds < b->rounds.n; told->rounds++)
        ml_data_int(d, NULL, (int64_t)b->rounds.v[told->rounds]);
    ml_data_end(d);
}

static void tell_ranks(const ml_Board *b, ml_Data *d)
{
    ml_data_list(d, "ranks");
    for (size_t k = 0; k < b->n_ranks; k++) {
        ml_data_list(d, NULL);
        ml_data_int(d, NULL, b->rank[k].record);
        ml_data_real(d, NULL, b->rank[k].seconds);
        ml_data_str(d, NULL, b->rank[k].design);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_sketches(const ml_Board *b, ml_Data *d)
{
    ml_data_list(d, "sketches");
    for (size_t k = 0; k < b->sketches.n; k++) {
        const ml_BoardSketch *s = &b->sketches.v[k];

        if (!s->measured && !s->points)
            continue;
        ml_data_list(d, NULL);
        ml_data_str(d, NULL, s->name);
        ml_data_int(d, NULL, s->measured);
        ml_data_int(d, NULL, s->failed);
        ml_data_int(d, NULL, s->points);
        ml_data_real(d, NULL, known(s->best));
        ml_data_real(d, NULL, known(s->share));
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_gains(const ml_Board *b, ml_Data *d)
{
    ml_data_list(d, "gains");
    for (size_t k = 0; k < b->gains.n; k++) {
        ml_data_list(d, NULL);
        ml_data_str(d, NULL, b->gains.v[k].what);
        ml_data_real(d, NULL, b->gains.v[k].share);
        ml_data_end(d);
    }
    ml_data_end(d);
    ml_data_list(d, "faults");
    for (size_t k = 0; k < b->faults.n; k++) {
        ml_data_list(d, NULL);
        ml_data_str(d, NULL, b->faults.v[k].phase);
        ml_data_str(d, NULL, b->faults.v[k].code);
        ml_data_int(d, NULL, b->faults.v[k].n);
        ml_data_int(d, NULL, b->faults.v[k].record);
        ml_data_end(d);
    }
    ml_data_end(d);
}

void ml_board_tell(const ml_Board *b, ml_BoardTold *told, ml_Data *d)
{
    ml_data_object(d, "board");
    ml_data_bool(d, "more", told->any); /* trials go on where they were */
    ml_data_str(d, "name", b->name);
    ml_data_str(d, "target", b->target);
    ml_data_int(d, "seed", b->seed);
    ml_data_int(d, "threads", b->threads);
    ml_data_real(d, "amount", b->amount.n);
    ml_data_bool(d, "bytes", b->amount.bytes);
    ml_data_real(d, "roof", known(b->roof));
    ml_data_real(d, "start", b->start);
    ml_data_str(d, "with", b->with);
    ml_data_str(d, "model", b->model);
    ml_data_int(d, "samples", (int64_t)b->samples);
    ml_data_real(d, "held_out", known(b->held_out));
    ml_data_int(d, "points", b->points);
    ml_data_bool(d, "paused", b->paused);
    tell_status(&b->st, d);
    tell_trials(b, told, d);
    tell_ranks(b, d);
    tell_sketches(b, d);
    tell_gains(b, d);
    ml_data_end(d);
    told->any = true;
}

/* ---------------------------------------------------------------- hearing */

static double real_of(const ml_Json *j)
{
    return !j                         ? (double)NAN
           : j->kind == ML_JSON_INT   ? (double)j->as.i
           : j->kind == ML_JSON_FLOAT ? j->as.f
                                      : (double)NAN;
}

static double real_at(const ml_Json *j, const char *key)
{
    return real_of(ml_json_get(j, key));
}

/* 0 where it is not known. */
static double amount_of(const ml_Json *j)
{
    double v = real_of(j);

    return v > 0 && isfinite(v) ? v : 0;
}

static int64_t whole_of(const ml_Json *j)
{
    return j && j->kind == ML_JSON_INT ? j->as.i : 0;
}

static int64_t whole_at(const ml_Json *j, const char *key)
{
    return whole_of(ml_json_get(j, key));
}

static bool flag_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    return v && v->kind == ML_JSON_BOOL && v->as.b;
}

static const char *text_of(ml_Board *b, const ml_Json *j)
{
    const char *z = ml_json_text(j);

    return ml_strdup(b->cx, ml_str(z ? z : ""));
}

/* The old one where it is the same: it is told again and again. */
static const char *text_at(ml_Board *b, const ml_Json *j, const char *key, const char *old)
{
    const char *z = ml_json_text(ml_json_get(j, key));

    return !z || (old && ml_streq(z, old)) ? (z ? old : NULL) : ml_strdup(b->cx, ml_str(z));
}

static uint32_t count_at(const ml_Json *j, const char *key, const ml_Json **list)
{
    *list = ml_json_get(j, key);
    return *list && (*list)->kind == ML_JSON_LIST ? (*list)->n : 0;
}

static void hear_status(ml_Board *b, const ml_Json *j)
{
    const ml_Json *v;
    ml_TuneStatus s = {.done = whole_at(j, "done"),
                       .total = whole_at(j, "total"),
                       .before = whole_at(j, "before"),
                       .generation = whole_at(j, "generation"),
                       .best_record = whole_at(j, "best_record"),
                       .best = amount_of(ml_json_get(j, "best")),
                       .elapsed = amount_of(ml_json_get(j, "elapsed")),
                       .eta = real_at(j, "eta")};

    v = ml_json_get(j, "spent");
    s.search_seconds = amount_of(ml_json_item(v, 0));
    s.build_seconds = amount_of(ml_json_item(v, 1));
    s.run_seconds = amount_of(ml_json_item(v, 2));
    v = ml_json_get(j, "failed");
    for (uint32_t k = 0; k < ML_PHASES; k++)
        s.failed[k] = whole_of(ml_json_item(v, k));
    b->st = s;
}

static void hear_trials(ml_Board *b, const ml_Json *j)
{
    const ml_Json *v;
    uint32_t n = count_at(j, "trials", &v);

    for (uint32_t k = 0; k < n; k++) {
        const ml_Json *t = &v->as.list[k];

        ml_board_trial(b, &(ml_BoardTrial){.record = whole_of(ml_json_item(t, 0)),
                                           .seconds = amount_of(ml_json_item(t, 1)),
                                           .expected = amount_of(ml_json_item(t, 2))});
    }
    n = count_at(j, "rounds", &v);
    for (uint32_t k = 0; k < n; k++)
        ml_push(b->cx, &b->rounds, (size_t)whole_of(&v->as.list[k]));
}

static bool is_rank(const ml_BoardRank *r, int64_t record, double seconds)
{
    return r->record == record && fabs(r->seconds - seconds) <= 1e-9 * seconds;
}

static void hear_ranks(ml_Board *b, const ml_Json *j)
{
    const ml_Json *v;
    uint32_t n = count_at(j, "ranks", &v);
    ml_BoardRank old[ML_BOARD_RANKS];
    size_t n_old = b->n_ranks;
    bool same_best = false;

    memcpy(old, b->rank, sizeof old);
    b->n_ranks = n < ML_BOARD_RANKS ? n : ML_BOARD_RANKS;
    for (size_t k = 0; k < b->n_ranks; k++) {
        const ml_Json *r = &v->as.list[k];
        int64_t record = whole_of(ml_json_item(r, 0));
        double seconds = amount_of(ml_json_item(r, 1));
        size_t m = 0;

        while (m < n_old && !is_rank(&old[m], record, seconds))
            m++;
        if (k == 0)
            same_best = m == 0 && n_old > 0;
        b->rank[k] = m < n_old ? old[m]
                               : (ml_BoardRank){record, seconds,
                                                text_of(b, ml_json_item(r, 2)), NULL};
        if (!same_best)
            b->rank[k].against = NULL;
    }
    ml_board_compare(b);
}

static void hear_sketches(ml_Board *b, const ml_Json *j)
{
    const ml_Json *v;
    uint32_t n = count_at(j, "sketches", &v);

    for (uint32_t k = 0; k < n; k++) {
        const ml_Json *s = &v->as.list[k];
        const char *name = ml_json_text(ml_json_item(s, 0));

        if (k == b->sketches.n)
            ml_push(b->cx, &b->sketches, (ml_BoardSketch){0});
        ml_BoardSketch *to = &b->sketches.v[k];

        if (!name || !to->name || !ml_streq(name, to->name))
            to->name = text_of(b, ml_json_item(s, 0));
        to->measured = whole_of(ml_json_item(s, 1));
        to->failed = whole_of(ml_json_item(s, 2));
        to->points = whole_of(ml_json_item(s, 3));
        to->best = amount_of(ml_json_item(s, 4));
        to->share = amount_of(ml_json_item(s, 5));
    }
    b->sketches.n = n;
}

static void hear_gains(ml_Board *b, const ml_Json *j, bool learned)
{
    const ml_Json *v;
    uint32_t n = count_at(j, "gains", &v);

    if (learned)
        b->gains.n = 0;
    for (uint32_t k = (uint32_t)b->gains.n; k < n; k++)
        ml_push(b->cx, &b->gains,
                ((ml_BoardGain){text_of(b, ml_json_item(&v->as.list[k], 0)),
                                amount_of(ml_json_item(&v->as.list[k], 1))}));
    n = count_at(j, "faults", &v);
    for (uint32_t k = 0; k < n; k++) {
        const ml_Json *f = &v->as.list[k];

        if (k == b->faults.n)
            ml_push(b->cx, &b->faults,
                    ((ml_BoardFault){text_of(b, ml_json_item(f, 0)),
                                     text_of(b, ml_json_item(f, 1)), 0, 0}));
        b->faults.v[k].n = whole_of(ml_json_item(f, 2));
        b->faults.v[k].record = whole_of(ml_json_item(f, 3));
    }
}

bool ml_board_hear(ml_Board *b, const ml_Json *j)
{
    const char *name = j && j->kind == ML_JSON_OBJECT ? ml_json_text(ml_json_get(j, "name"))
                                                      : NULL,
               *target = name ? ml_json_text(ml_json_get(j, "target")) : NULL;

    if (!name || !target)
        return false;
    if (b->cx == NULL || !flag_at(j, "more")) {
        ml_board_free(b);
        ml_board_init(b, name, target, whole_at(j, "seed"),
                      (uint32_t)whole_at(j, "threads"));
    }
    size_t samples = (size_t)whole_at(j, "samples");

    b->amount = (ml_Amount){amount_of(ml_json_get(j, "amount")), flag_at(j, "bytes")};
    b->roof = real_at(j, "roof");
    b->start = amount_of(ml_json_get(j, "start"));
    b->with = text_at(b, j, "with", b->with);
    b->model = text_at(b, j, "model", b->model);
    b->held_out = real_at(j, "held_out");
    b->points = whole_at(j, "points");
    b->paused = flag_at(j, "paused");
    hear_status(b, j);
    hear_trials(b, j);
    hear_ranks(b, j);
    hear_sketches(b, j);
    hear_gains(b, j, samples != b->samples);
    b->samples = samples;
    return true;
}
