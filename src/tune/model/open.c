/* open - a model by the name of its kind. Source: auto-scheduler 15. */
#include "moonloop/tune/model/model.h"

#include "moonloop/core/error.h"

ml_Model *ml_model_open(ml_Ctx *cx, const char *name, const ml_ModelOpts *opts)
{
    static const ml_ModelOpts none;
    const ml_ModelOpts *o = opts ? opts : &none;
    uint32_t threads = o->threads ? o->threads : 1;

    if (ml_streq(name, "analytic"))
        return ml_model_analytic(threads);
    if (ml_streq(name, "random"))
        return ml_model_random(o->seed);
    if (ml_streq(name, "xgb")) {
        ml_Model *m = ml_model_analytic(threads);

        m->note = "nothing is learned: this build has no model that learns";
        return m;
    }
    ml_fail(
        cx, ML_E_UNKNOWN_NAME,
        ML_TEXT(ml_format(cx, "no model is named %s: xgb, analytic and random are", name)));
    return NULL;
}
