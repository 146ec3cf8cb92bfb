/*
 * named_args - arguments by position and by name lined up with a primitive's parameters.
 *
 * Also where other spellings of parameters are understood (primitives 13). One place for
 * the Lua binding, saved scripts and the calls of cases and suggestions.
 */
#include "moonloop/primitives/call/args.h"

#include "moonloop/core/script/report.h"

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

/* The parameter that says side and position of a buffer; n_params: none. */
static size_t buffer_param(const ml_Primitive *prim)
{
    size_t k = 0;

    while (k < prim->n_params && prim->params[k].kind != ML_P_BUFFER)
        k++;
    return k;
}

static bool is_side(const ml_Arg *a)
{
    return a->kind == ML_A_BOOL || a->kind == ML_A_INT ||
           (a->kind == ML_A_STRING &&
            (ml_streq(a->as.s, "read") || ml_streq(a->as.s, "write")));
}

/* Of a buffer among those that a block reads or writes: a number, a name, an object. */
static bool is_position(const ml_Arg *a)
{
    return a->kind == ML_A_INT || a->kind == ML_A_FLOAT || a->kind == ML_A_STRING ||
           a->kind == ML_A_BUFFER;
}

static ml_Arg buffer_pair(ml_Ctx *cx, const ml_Arg *index, const ml_Arg *side)
{
    ml_Arg *list = ML_ARRAY(cx, ml_Arg, 2);

    list[0] = side->kind == ML_A_BOOL ? ML_ARG_INT(side->as.b) : *side;
    list[1] = *index;
    return ML_ARG_LIST(list, 2);
}

/* buffer_index = i, buffer_index_type = "read" (is_write_index = false) is buffer =
 * {"read", i}. */
static bool old_buffer(ml_Ctx *cx, const ml_Primitive *prim, const char *const *keys,
                       const ml_Arg *values, size_t n, ml_Arg *out)
{
    const ml_Arg *index = NULL, *side = NULL;

    for (size_t k = 0; k < n; k++)
        if (ml_streq(keys[k], "buffer_index"))
            index = &values[k];
        else if (ml_streq(keys[k], "buffer_index_type") || ml_streq(keys[k], "buf_type") ||
                 ml_streq(keys[k], "is_write_index"))
            side = &values[k];
    if (buffer_param(prim) == prim->n_params || !index || !side)
        return false;
    *out = buffer_pair(cx, index, side);
    return true;
}

static bool is_old_buffer_key(const char *key)
{
    return ml_streq(key, "buffer_index") || ml_streq(key, "buffer_index_type") ||
           ml_streq(key, "buf_type") || ml_streq(key, "is_write_index");
}

bool ml_args_by_name(ml_Ctx *cx, const ml_Primitive *prim, const ml_Arg *pos, size_t n_pos,
                     const char *const *keys, const ml_Arg *values, size_t n_named,
                     ml_Arg *out)
{
    size_t at = 0;
    ml_Arg pair;

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
        } else if (prim->params[k].kind == ML_P_BUFFER && is_position(&pos[at]) &&
                   at + 1 < n_pos &&
                   (is_side(&pos[at + 1]) ||
                    (n_pos > prim->n_params && pos[at + 1].kind == ML_A_STRING))) {
            out[k] = buffer_pair(cx, &pos[at], &pos[at + 1]);
            at += 2;
        } else
            out[k] = pos[at++];
    }
    if (at < n_pos)
        return ml_too_many(cx, prim, at, n_pos, &pos[at]);
    bool old = old_buffer(cx, prim, keys, values, n_named, &pair);

    if (old)
        out[buffer_param(prim)] = pair;
    for (size_t k = 0; k < n_named; k++) {
        if (old && is_old_buffer_key(keys[k]))
            continue;
        size_t p = find_param(prim, keys[k]);
        ml_Arg list;

        if (p == prim->n_params && old_split(cx, prim, keys[k], &values[k], &list)) {
            p = find_param(prim, "factors");
            if (out[p].kind != ML_A_ABSENT)
                return ml_bad_argument(cx, "%s: factors are given twice", prim->name);
            out[p] = list;
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
