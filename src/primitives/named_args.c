/*
 * named_args - arguments by position and by name lined up with a primitive's parameters.
 *
 * Also where other spellings of parameters are understood (primitives 13). One place for
 * the Lua binding, saved scripts and the calls of cases and suggestions.
 */
#include "primitives/args.h"

#include "core/script/report.h"

static const struct {
    const char *prim, *other, *name;
} spellings[] = {
    {"bind", "thread", "thread_axis"},      {"blockize", "loop", "target"},
    {"tensorize", "loop", "block_or_loop"}, {"tensorize", "intrin", "tensor_intrin"},
    {"annotate", "loop", "block_or_loop"},  {"annotate", "key", "ann_key"},
    {"annotate", "value", "ann_val"},
};

static size_t find_param(const ml_Primitive *prim, const char *name)
{
    for (size_t k = 0; k < ML_COUNT(spellings); k++)
        if (ml_streq(spellings[k].prim, prim->name) && ml_streq(spellings[k].other, name))
            name = spellings[k].name;
    for (size_t k = 0; k < prim->n_params; k++)
        if (ml_streq(prim->params[k].name, name))
            return k;
    return prim->n_params;
}

static bool unknown(ml_Ctx *cx, const ml_Primitive *prim, const char *name)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));
    ml_Text t = {0};

    for (size_t k = 0; k < prim->n_params; k++)
        ml_nearest_try(&near, ml_str(prim->params[k].name));
    if (near.best.n > 0)
        ml_text_fmt(&t, "; did you mean %.*s?", (int)near.best.n, near.best.p);
    ml_bad_argument(cx, "%s has no parameter %s%s", prim->name, name, ml_text_z(&t));
    ml_text_free(&t);
    return false;
}

/* split(loop, factor = f) is {auto, f}, split(loop, nparts = n) is {n, auto}. */
static bool old_split(ml_Ctx *cx, const ml_Primitive *prim, const char *key,
                      const ml_Arg *v, ml_Arg *out)
{
    bool factor = ml_streq(key, "factor"), nparts = ml_streq(key, "nparts");

    if (!ml_streq(prim->name, "split") || !(factor || nparts))
        return false;
    ml_Arg *list = ML_ARRAY(cx, ml_Arg, 2);

    list[factor ? 1 : 0] = *v;
    list[factor ? 0 : 1] = ML_ARG_AUTO;
    *out = ML_ARG_LIST(list, 2);
    return true;
}

bool ml_args_by_name(ml_Ctx *cx, const ml_Primitive *prim, const ml_Arg *pos, size_t n_pos,
                     const char *const *keys, const ml_Arg *values, size_t n_named,
                     ml_Arg *out)
{
    size_t at = 0;

    for (size_t k = 0; k < prim->n_params; k++) {
        out[k] = ML_ARG_ABSENT;
        if (at >= n_pos)
            continue;
        if (prim->params[k].kind == ML_P_LOOPS &&
            (pos[at].kind == ML_A_HANDLE || pos[at].kind == ML_A_STRING)) {
            size_t from = at;

            while (at < n_pos &&
                   (pos[at].kind == ML_A_HANDLE || pos[at].kind == ML_A_STRING))
                at++;
            out[k] = ML_ARG_LIST(&pos[from], at - from);
        } else
            out[k] = pos[at++];
    }
    if (at < n_pos)
        return ml_bad_argument(cx, "%s takes at most %zu arguments, got %zu", prim->name,
                               prim->n_params, n_pos);
    for (size_t k = 0; k < n_named; k++) {
        size_t p = find_param(prim, keys[k]);
        ml_Arg list;

        if (p == prim->n_params && old_split(cx, prim, keys[k], &values[k], &list)) {
            out[find_param(prim, "factors")] = list;
            continue;
        }
        if (p == prim->n_params)
            return unknown(cx, prim, keys[k]);
        if (out[p].kind != ML_A_ABSENT)
            return ml_bad_argument(cx, "%s: %s is given twice", prim->name, keys[k]);
        out[p] = values[k];
    }
    return true;
}
