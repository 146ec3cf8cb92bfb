/*
 * relaid - arguments of a parameter whose layout a schedule changed, moved to the new
 * layout and back. Elements go through the index map one by one; places that no element has
 * hold what the step pads with. Source: primitives 11, transform_layout; interaction 8.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/arith/points.h"

#include <stdlib.h>

enum { MAX_RANK = 16 };

/* Where each old element goes: called with lanes of both. */
typedef struct Mover {
    ml_Ctx *cx;
    const ml_CheckOpts *opts;
    const ml_Moved *m;
    const ml_Tensor *old, *fresh;
    ml_Point at;
} Mover;

static bool symbol(const ml_Expr *e, void *user)
{
    Mover *w = user;

    for (size_t k = 0; e->kind == ML_EXPR_VAR && k < w->opts->n_sizes; k++)
        if (ml_streq(w->opts->sizes[k].name, e->as.var->hint))
            ml_point_set(&w->at, e->as.var, w->opts->sizes[k].value);
    return true;
}

static void find_symbols(Mover *w)
{
    for (uint32_t k = 0; k < w->m->map->n_exprs; k++)
        ml_expr_visit(w->m->map->exprs[k], symbol, w);
}

/* The place of the new element; -1: there is none. */
static int64_t place_of(Mover *w)
{
    int64_t place = 0;

    for (uint32_t d = 0; d < w->fresh->rank; d++) {
        int64_t x = ml_value_at(&w->at, w->m->map->exprs[d]);

        if (w->at.unknown || x < 0 || x >= w->fresh->shape[d])
            return -1;
        place = place * w->fresh->shape[d] + x;
    }
    return place;
}

static bool next_index(const ml_Tensor *t, int64_t *index)
{
    for (uint32_t d = t->rank; d-- > 0;) {
        if (++index[d] < t->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static bool bad_map(Mover *w)
{
    return ml_fail(w->cx, ML_E_BAD_RUN_ARGUMENT,
                   ML_TEXT(ml_format(w->cx,
                                     "the layout of parameter %u cannot be followed for "
                                     "these sizes",
                                     w->m->param)));
}

/* places[n of old]: of each element in row-major order. */
static bool all_places(Mover *w, int64_t *places)
{
    int64_t index[MAX_RANK] = {0};

    if (w->old->rank > MAX_RANK || w->m->map->n_vars != w->old->rank ||
        w->m->map->n_exprs != w->fresh->rank)
        return bad_map(w);
    find_symbols(w);
    for (int64_t k = 0; k < w->old->n; k++) {
        for (uint32_t d = 0; d < w->old->rank; d++)
            ml_point_set(&w->at, w->m->map->vars[d], index[d]);
        places[k] = place_of(w);
        if (places[k] < 0)
            return bad_map(w);
        next_index(w->old, index);
    }
    return true;
}

static void copy_element(ml_Tensor *to, int64_t a, const ml_Tensor *from, int64_t b)
{
    size_t lanes = to->n > 0 ? (size_t)(to->n_lanes / to->n) : 0, bytes = lanes * to->lane;

    memcpy((uint8_t *)to->data + (size_t)a * bytes,
           (const uint8_t *)from->data + (size_t)b * bytes, bytes);
    if (to->defined && from->defined)
        memcpy(to->defined + (size_t)a * lanes, from->defined + (size_t)b * lanes, lanes);
}

/* ---- padding */

static void set_element(ml_Tensor *t, int64_t k, const ml_Expr *e)
{
    int64_t lanes = t->n_lanes / t->n;

    for (int64_t l = 0; l < lanes; l++)
        if (e->kind == ML_EXPR_FLOAT)
            ml_tensor_set(t, k * lanes + l, e->as.f);
        else if (e->kind == ML_EXPR_INT)
            ml_tensor_set_int(t, k * lanes + l, e->as.i);
}

static const ml_Expr *pad_at(Mover *w, const int64_t *index)
{
    const ml_IndexMap *p = w->m->pad_map;
    ml_Arith *ar = ml_arith_new(w->cx);
    ml_Subst sub = {0};

    for (uint32_t d = 0; d < p->n_vars && d < w->fresh->rank; d++)
        ml_subst_var(w->cx, &sub, p->vars[d], ml_int(w->cx, p->vars[d]->type, index[d]));
    return ml_simplify(ar, ml_expr_subst(w->cx, p->exprs[0], &sub));
}

static void pad(Mover *w, ml_Tensor *fresh, const uint8_t *taken)
{
    const ml_Value *v = w->m->pad;
    int64_t index[MAX_RANK] = {0};

    for (int64_t k = 0; k < fresh->n; k++, next_index(fresh, index)) {
        ml_Mark mark = ml_mark(w->cx);

        if (taken[k])
            continue;
        if (w->m->pad_map && fresh->rank <= MAX_RANK)
            set_element(fresh, k, pad_at(w, index));
        else if (v && v->kind == ML_VAL_FLOAT)
            set_element(fresh, k, ml_float(w->cx, fresh->type, v->as.f));
        else if (v)
            set_element(fresh, k, ml_int(w->cx, fresh->type, v->as.i));
        ml_release(w->cx, mark);
    }
}

/* ---- one step, and all of them */

static ml_Tensor *empty_moved(ml_Ctx *cx, const ml_CheckOpts *opts, const ml_Moved *m,
                              const ml_Tensor *old)
{
    uint32_t rank = m->map->n_exprs;
    int64_t *shape = ML_ARRAY(cx, int64_t, rank + 1u);

    for (uint32_t d = 0; d < rank; d++)
        if (!ml_eval_size(m->shape[d], opts->sizes, opts->n_sizes, &shape[d])) {
            ml_fail(cx, ML_E_BAD_RUN_ARGUMENT,
                    ML_TEXT(ml_format(cx,
                                      "a dimension of parameter %u is symbolic: give "
                                      "its size",
                                      m->param)),
                    ML_EXPRESSION(m->shape[d]));
            return NULL;
        }
    return ml_tensor_new(cx, old->type, shape, rank);
}

static ml_Tensor *step(ml_Ctx *cx, const ml_CheckOpts *opts, const ml_Moved *m,
                       const ml_Tensor *old)
{
    ml_Tensor *fresh = empty_moved(cx, opts, m, old);
    Mover w = {.cx = cx, .opts = opts, .m = m, .old = old, .fresh = fresh};
    int64_t *places = calloc((size_t)old->n + 1u, sizeof *places);
    uint8_t *taken = fresh ? calloc((size_t)fresh->n + 1u, 1) : NULL;
    bool ok = fresh && places && taken && all_places(&w, places) &&
              (!old->defined || ml_tensor_track(cx, fresh, 1));

    for (int64_t k = 0; k < old->n && ok; k++) {
        copy_element(fresh, places[k], old, k);
        taken[places[k]] = 1;
    }
    if (ok)
        pad(&w, fresh, taken);
    free(places);
    free(taken);
    if (!ok) {
        ml_tensor_free(fresh);
        return NULL;
    }
    return fresh;
}

bool ml_layout_is_moved(const ml_CheckOpts *opts, uint32_t k)
{
    for (size_t m = 0; opts && m < opts->n_moved; m++)
        if (opts->moved[m].param == k)
            return true;
    return false;
}

static ml_Tensor *layout_moved(ml_Ctx *cx, const ml_CheckOpts *opts, uint32_t k,
                               const ml_Tensor *t)
{
    ml_Tensor *at = ml_tensor_copy(cx, t);

    for (size_t m = 0; at && m < opts->n_moved; m++) {
        if (opts->moved[m].param != k)
            continue;
        ml_Tensor *next = step(cx, opts, &opts->moved[m], at);

        ml_tensor_free(at);
        at = next;
    }
    return at;
}

/* Elements numbered in the old layout and moved along say where each of them is now. */
static ml_Tensor *layout_back(ml_Ctx *cx, const ml_CheckOpts *opts, uint32_t k,
                              const ml_Tensor *like, const ml_Tensor *moved)
{
    ml_Tensor *number = ml_tensor_new(cx, ML_DT_I64, like->shape, like->rank);
    ml_Tensor *out = ml_tensor_copy(cx, like), *there = NULL;
    ml_CheckOpts bare = *opts;
    ml_Moved *steps = ML_ARRAY(cx, ml_Moved, opts->n_moved + 1u);
    bool ok =
        number && out && (!moved->defined || out->defined || ml_tensor_track(cx, out, 1));

    for (size_t m = 0; m < opts->n_moved; m++) { /* padding is number -1 */
        steps[m] = opts->moved[m];
        steps[m].pad = ml_val_int(cx, -1);
        steps[m].pad_map = NULL;
    }
    bare.moved = steps;
    for (int64_t e = 0; ok && e < number->n; e++)
        ml_tensor_set_int(number, e, e);
    if (ok)
        there = layout_moved(cx, &bare, k, number);
    for (int64_t e = 0; there && e < there->n; e++) {
        int64_t home = ml_tensor_get_int(there, e);

        if (home >= 0)
            copy_element(out, home, moved, e);
    }
    ml_tensor_free(number);
    ml_tensor_free(there);
    if (!there) {
        ml_tensor_free(out);
        return NULL;
    }
    return out;
}

/* A copy, in which the elements of an output count as not written. */
static ml_Tensor *copy_argument(ml_Ctx *cx, const ml_CheckOpts *moved, bool output,
                                uint32_t k, const ml_Tensor *t)
{
    ml_Tensor *c = ml_tensor_copy(cx, t), *to;

    if (c && output && !c->defined && !ml_tensor_track(cx, c, 0)) {
        ml_tensor_free(c);
        return NULL;
    }
    if (c == NULL || !moved || !ml_layout_is_moved(moved, k))
        return c;
    to = layout_moved(cx, moved, k, c);
    ml_tensor_free(c);
    return to;
}

bool ml_inputs_copy(ml_Ctx *cx, const ml_CheckOpts *moved, const ml_ParamRole *roles,
                    const ml_RunArg *initial, uint32_t n, ml_RunArg *to)
{
    for (uint32_t k = 0; k < n; k++) {
        const ml_Tensor *t = initial[k].tensor;

        to[k] = initial[k];
        if (t == NULL)
            continue;
        to[k].tensor = copy_argument(cx, moved, roles && roles[k].output, k, t);
        if (to[k].tensor == NULL)
            return false;
    }
    return true;
}

bool ml_outputs_back(ml_Ctx *cx, const ml_CheckOpts *opts, const ml_ParamRole *roles,
                     const ml_RunArg *like, uint32_t n, ml_RunArg *got)
{
    for (uint32_t k = 0; k < n; k++) {
        ml_Tensor *t = got[k].tensor;

        if (t == NULL || !roles[k].written || !ml_layout_is_moved(opts, k))
            continue;
        got[k].tensor = layout_back(cx, opts, k, like[k].tensor, t);
        ml_tensor_free(t);
        if (got[k].tensor == NULL)
            return false;
    }
    return true;
}
