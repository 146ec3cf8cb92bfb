/* open - a model by the name of its kind. Source: auto-scheduler 15. */
#include "moonloop/tune/model/model.h"

#include "moonloop/core/error.h"
#include "moonloop/tune/model/xgb/xgb.h"

/* With what was learned before. A given file must be one; without the shipped one it goes,
 * too: another version of the library may not read it. */
static bool load_prior(ml_Model *m, ml_Ctx *cx, const char *prior)
{
    ml_Ctx *own;

    if (prior)
        return *prior == '\0' || ml_model_load(m, cx, prior);
    own = ml_ctx_new(0);
    if (!ml_xgb_load_shipped((ml_Xgb *)m, own))
        m->note = "this libxgboost cannot read the model that is shipped: what is learned "
                  "begins with nothing";
    ml_ctx_unref(own);
    return true;
}

/* Where the library cannot be had, the analytic model, and why. */
static ml_Model *open_xgb(ml_Ctx *cx, const ml_ModelOpts *o, uint32_t threads)
{
    const char *why;
    const ml_XgbLibrary *x = ml_xgb_library(&why);
    ml_Model *m = x ? ml_model_xgb(x, o) : ml_model_analytic(threads);

    if (x == NULL) {
        m->note = why;
    } else if (!load_prior(m, cx, o->prior)) {
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
