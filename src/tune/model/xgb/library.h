/*
 * library - libxgboost, opened when a model that learns is asked for.
 *
 * The declarations are ours: nothing of XGBoost is needed to build. Source: the C API of
 * XGBoost 1.7 to 3.x, auto-scheduler 15.
 */
#ifndef ML_TUNE_MODEL_XGB_LIBRARY_H
#define ML_TUNE_MODEL_XGB_LIBRARY_H

#include "moonloop/core/ctx.h"

typedef struct ml_XgbLibrary {
    const char *path; /* that it was opened by */
    int version[3];
    void (*get_version)(int *, int *, int *);
    const char *(*last_error)(void); /* of this thread */
    /* The others return 0, or -1 with last_error. Arrays are given as JSON that names their
     * address. */
    int (*matrix_dense)(const char *array, const char *config, void **out);
    int (*matrix_free)(void *matrix);
    int (*create)(void *const matrices[], uint64_t n, void **out);
    int (*free)(void *booster);
    int (*set)(void *booster, const char *name, const char *value);
    int (*boost)(void *booster, void *matrix, int round, const char *grad,
                 const char *hess); /* NULL: it is older than 2.1 */
    int (*boost_old)(void *booster, void *matrix, float *grad, float *hess, uint64_t n);
    int (*rounds)(void *booster, int *out);
    int (*slice)(void *booster, int begin, int end, int step, void **out);
    int (*predict_matrix)(void *booster, void *matrix, const char *config,
                          const uint64_t **shape, uint64_t *dims, const float **out);
    int (*predict_dense)(void *booster, const char *array, const char *config, void *matrix,
                         const uint64_t **shape, uint64_t *dims, const float **out);
    int (*save)(void *booster, const char *config, uint64_t *n, const char **out);
    int (*load)(void *booster, const void *bytes, uint64_t n);
    int (*gain)(void *booster, const char *config, uint64_t *n_features,
                const char ***features, uint64_t *dims, const uint64_t **shape,
                const float **scores);
    int (*most_threads)(void); /* of the OpenMP that it is built on; NULL: of none */
    void (*set_threads)(int n);
} ml_XgbLibrary;

/* Of the file that MOONLOOP_XGBOOST names, else of the system; opened once a process.
 * NULL: *why (as long as the process) says what is missing. */
const ml_XgbLibrary *ml_xgb_library(const char **why);
/* Of this file, in out. NULL, or what is wrong with it, in cx. */
const char *ml_xgb_library_open(ml_Ctx *cx, const char *path, ml_XgbLibrary *out);

/* Whether a call went well; else cx's error, with the library's first line. */
bool ml_xgb_ok(const ml_XgbLibrary *x, ml_Ctx *cx, int status);

/* A row-major array of float32 as the library reads it, in cx. */
const char *ml_xgb_array(ml_Ctx *cx, const float *v, size_t rows, size_t columns);

#endif
