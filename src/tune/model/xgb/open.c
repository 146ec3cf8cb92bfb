/* open - a model by the name of its kind. Source: auto-scheduler 15. */
#include "moonloop/tune/model/model.h"

#include "moonloop/core/error.h"
#include "moonloop/tune/model/xgb/xgb.h"

/* Where the library cannot be had, the analytic model, and why. */
static ml_Model *open_xgb(ml_Ctx *cx, const ml_ModelOpts *o, uint32_t threads)
{
    const char *why;
    const ml_XgbLibrary *x = ml_xgb_library(&why);
    ml_Model *m = x ? ml_model_xgb(x, o) : ml_model_analytic(threads);

    if (x == NULL) {
        m->note = why;
    } else if (o->prior && *o->prior && !ml_model_load(m, cx, o->prior)) {
        ml_model_close(m);
        return NULL;
    }
    return m;
}

ml_Model *ml_model_open(ml_Ctx *cx, const char *name, const ml_ModelOpts *opts)
{
    static const ml_ModelOpts none;
    const ml_ModelOpts *o = opts ? opts : &none;
    uint32_t threads = o->threads ? o->threads : 1;

    if (ml_streq(name, "analytic"))
        return ml_model_analytic(threads);
    if (ml_streq(name, "random"))
        return ml_model_random(o->seed);
    if (ml_streq(name, "xgb"))
        return open_xgb(cx, o, threads);
    ml_fail(
        cx, ML_E_UNKNOWN_NAME,
        ML_TEXT(ml_format(cx, "no model is named %s: xgb, analytic and random are", name)));
    return NULL;
}
