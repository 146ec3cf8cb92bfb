/* library - finds libxgboost and its functions. */
#include "moonloop/tune/model/xgb/library.h"

#include "moonloop/core/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const files[] = {"libxgboost.so.0", "libxgboost.so"};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static ml_XgbLibrary found;
static char failed[512];

const char *ml_xgb_library_open(ml_Ctx *cx, const char *path, ml_XgbLibrary *out)
{
    const struct {
        const char *name;
        void *fn;
        bool optional;
    } need[] = {
        {"XGBoostVersion", &out->get_version, false},
        {"XGBGetLastError", &out->last_error, false},
        {"XGDMatrixCreateFromDense", &out->matrix_dense, false},
        {"XGDMatrixFree", &out->matrix_free, false},
        {"XGBoosterCreate", &out->create, false},
        {"XGBoosterFree", &out->free, false},
        {"XGBoosterSetParam", &out->set, false},
        {"XGBoosterTrainOneIter", &out->boost, true},
        {"XGBoosterBoostOneIter", &out->boost_old, true},
        {"XGBoosterBoostedRounds", &out->rounds, false},
        {"XGBoosterSlice", &out->slice, false},
        {"XGBoosterPredictFromDMatrix", &out->predict_matrix, false},
        {"XGBoosterPredictFromDense", &out->predict_dense, false},
        {"XGBoosterSaveModelToBuffer", &out->save, false},
        {"XGBoosterLoadModelFromBuffer", &out->load, false},
        {"XGBoosterFeatureScore", &out->gain, false},
        {"omp_get_max_threads", &out->most_threads, true},
        {"omp_set_num_threads", &out->set_threads, true},
    };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    *out = (ml_XgbLibrary){.path = path};
    if (lib == NULL)
        return ml_format(cx, "%s", dlerror());
    for (size_t k = 0; k < ML_COUNT(need); k++) {
        void *at = dlsym(lib, need[k].name);

        memcpy(need[k].fn, &at, sizeof at);
        if (at == NULL && !need[k].optional) {
            dlclose(lib);
            return ml_format(cx, "%s has no %s: libxgboost from 1.7 on has", path,
                             need[k].name);
        }
    }
    if (out->boost == NULL && out->boost_old == NULL) {
        dlclose(lib);
        return ml_format(cx,
                         "%s has neither XGBoosterTrainOneIter nor "
                         "XGBoosterBoostOneIter",
                         path);
    }
    out->get_version(&out->version[0], &out->version[1], &out->version[2]);
    return NULL;
}

static void open_it(void)
{
    const char *given = getenv("MOONLOOP_XGBOOST"), *why = NULL;
    ml_Ctx *cx = ml_ctx_new(0);

    if (given && *given) {
        why = ml_xgb_library_open(cx, given, &found);
    } else {
        for (size_t k = 0; k < ML_COUNT(files); k++)
            if ((why = ml_xgb_library_open(cx, files[k], &found)) == NULL)
                break;
        if (why)
            why =
                "libxgboost is not installed (Debian: libxgboost0; MOONLOOP_XGBOOST names "
                "another file)";
    }
    if (why)
        snprintf(failed, sizeof failed, "%s", why);
    ml_ctx_unref(cx);
}

const ml_XgbLibrary *ml_xgb_library(const char **why)
{
    pthread_once(&once, open_it);
    *why = failed;
    return *failed ? NULL : &found;
}

bool ml_xgb_ok(const ml_XgbLibrary *x, ml_Ctx *cx, int status)
{
    if (status == 0)
        return true;
    const char *text = x->last_error();
    /* a message is followed by a trace of addresses, and may begin with the time */
    const char *from = *text == '[' && strstr(text, "] ") ? strstr(text, "] ") + 2 : text;
    size_t n = strcspn(from, "\n");

    return ml_fail(cx, ML_E_NOT_SUPPORTED,
                   ML_TEXT(ml_format(cx, "libxgboost: %.*s", (int)n, from)));
}

const char *ml_xgb_array(ml_Ctx *cx, const float *v, size_t rows, size_t columns)
{
    return ml_format(cx,
                     "{\"data\":[%llu,true],\"shape\":[%zu,%zu],\"typestr\":\"<f4\","
                     "\"version\":3}",
                     (unsigned long long)(uintptr_t)v, rows, columns);
}
