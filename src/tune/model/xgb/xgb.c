/*
 * xgb - gradient-boosted trees that learn the order of a task's candidates while they are
 * measured, by libxgboost.
 *
 * The analytic model scores, and trees add what it misses as soon as they learn it.
 * Everything is done on one thread,
 * so that the same samples give the same trees on every machine with the same library.
 * Source: auto-scheduler 15.
 */
#include "moonloop/tune/model/xgb/xgb.h"

#include <math.h>
#include <stdlib.h>

bool ml_xgb_set_up(const ml_XgbLibrary *x, ml_Ctx *cx, void *booster, uint32_t seed)
{
    static const char *const params[][2] = {
        {"nthread", "1"},
        {"verbosity", "0"},
        {"tree_method", "hist"},
        {"objective", "reg:squarederror"},
        {"base_score", "0"},

        {"eta", "0.2"},
        {"gamma", "0.001"},
        {"min_child_weight", "0"},
        {"lambda", "1"},
        {"max_bin", "64"},
    };

    for (size_t k = 0; k < ML_COUNT(params); k++)
        if (!ml_xgb_ok(x, cx, x->set(booster, params[k][0], params[k][1])))
            return false;
    return ml_xgb_ok(x, cx, x->set(booster, "seed", ml_format(cx, "%u", 43 + seed)));
}

static void close_xgb(ml_Model *model)
{
    ml_Xgb *m = (ml_Xgb *)model;

    ml_xgb_trees_free(m->x, &m->trees);
    ml_xgb_trees_free(m->x, &m->prior);
    ml_xgb_data_free(&m->data);
    ml_model_close(m->warm);
    free(m->made);
    free(m);
}

ml_Model *ml_model_xgb(const ml_XgbLibrary *x, const ml_ModelOpts *o)
{
    static const ml_ModelKind kind = {.name = "xgb",
                                      .score = ml_xgb_score,
                                      .train = ml_xgb_learn,
                                      .save = ml_xgb_save,
                                      .load = ml_xgb_load,
                                      .importance = ml_xgb_gain,
                                      .close = close_xgb};
    ml_Xgb *m = calloc(1, sizeof *m);

    if (m == NULL)
        ml_out_of_memory();
    m->model = (ml_Model){.kind = &kind,
                          .stats = {.held_out = (double)NAN,
                                    .batch_peak = (double)NAN,
                                    .batch_error = (double)NAN}};
    m->x = x;
    m->seed = o->seed;
    m->rank = o->rank;
    m->warm = ml_model_analytic(o->threads ? o->threads : 1);
    return &m->model;
}
