/*
 * inputs - arguments for checking and timing a function: the generators of workloads 9 by
 * the roles of its parameters. Integers that serve as indices stay inside what they index.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/params/index_values.h"
#include "moonloop/codegen/tensor/extremes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COPIES = 4, SMALL = 64 << 20 };

static bool shape_of(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts, uint32_t k,
                     int64_t *shape)
{
    const ml_Buffer *b = f->params[k].buffer;

    if (!ml_sizes_given(cx, f, opts->sizes, opts->n_sizes, false))
        return false;
    for (size_t d = 0; d < b->rank; d++)
        if (!ml_eval_size(b->shape[d], opts->sizes, opts->n_sizes, &shape[d]))
            return ml_fail(
                cx, ML_E_BAD_RUN_ARGUMENT,
                ML_TEXT(ml_format(cx, "dimension %zu of %s is no number", d, b->name)),
                ML_EXPRESSION(b->shape[d]));
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void sort_lanes(ml_Ctx *cx, ml_Tensor *t)
{
    int64_t *v = ML_ARRAY(cx, int64_t, (size_t)t->n_lanes + 1u);

    for (int64_t k = 0; k < t->n_lanes; k++)
        v[k] = ml_tensor_get_int(t, k);
    qsort(v, (size_t)t->n_lanes, sizeof *v, compare_numbers);
    for (int64_t k = 0; k < t->n_lanes; k++)
        ml_tensor_set_int(t, k, v[k]);
}

/* One of the values from lo to hi. Of a wide range every other one is small: what a
 * condition keeps inside a buffer is rarely met by chance. */
static int64_t index_value(ml_Fill how, const ml_IndexValues *v, int64_t at, ml_Random *r)
{
    enum { SMALL_VALUES = 16, WIDE = 1024 };
    int64_t n = v->hi - v->lo + 1, k = (int64_t)ml_random_below(r, (uint64_t)n);
    bool ends = how == ML_FILL_ADVERSARIAL;

    if (how == ML_FILL_ZEROS)
        return v->lo <= 0 && v->hi >= 0 ? 0 : v->lo;
    if (how == ML_FILL_IOTA)
        return v->lo + at % n;
    if (ends && ml_random_below(r, 2))
        return ml_random_below(r, 2) ? v->lo : v->hi;
    if (n > WIDE && ml_random_below(r, 2))
        return (v->lo > 0              ? v->lo
                : v->hi < SMALL_VALUES ? v->hi - SMALL_VALUES + 1
                                       : 0) +
               k % SMALL_VALUES;
    return v->lo + k;
}

static void fill_input(ml_Ctx *cx, const ml_CheckOpts *opts, const ml_IndexValues *v,
                       uint32_t k, ml_Tensor *t, const char *id, uint64_t seed)
{
    ml_Random r;

    if (!v->index) {
        ml_tensor_fill(t, opts->inputs, id, k, seed, 0, 0);
        return;
    }
    r = ml_random(id, k, seed);
    for (int64_t l = 0; l < t->n_lanes; l++)
        ml_tensor_set_int(t, l, index_value(opts->inputs, v, l, &r));
    if (v->ascending)
        sort_lanes(cx, t);
}

/* A number for a scalar parameter: its size by name, else a small random one. */
static ml_RunArg scalar(const ml_CheckOpts *opts, const ml_IndexValues *own,
                        const ml_Var *v, uint32_t k, const char *id, uint64_t seed)
{
    ml_Random r = ml_random(id, k, seed);
    ml_RunArg a = {.i = (int64_t)ml_random_below(&r, v->type.code == ML_BOOL ? 2 : 8)};

    a.f = ldexp((double)(ml_random_next(&r) >> 40), -23) - 1.0;
    if (own->index)
        a.i = own->lo + a.i % (own->hi - own->lo + 1);
    for (size_t s = 0; s < opts->n_sizes; s++)
        if (v->hint && ml_streq(v->hint, opts->sizes[s].name)) {
            a.i = opts->sizes[s].value;
            a.f = (double)a.i;
        }
    return a;
}

/* Bytes that the system can still give, by its own account; 0: it does not say. */
static uint64_t memory_left(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    char line[128];

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) /* NOLINT(cert-err34-c) */
            break;
    if (f)
        fclose(f);
    return (uint64_t)kib * 1024;
}

/* Arguments exist up to four times: here, shared, private to a run, and warm. */
static bool room_for(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts)
{
    double bytes = 0;
    uint64_t left;

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        double n = b ? (double)ml_dtype_bytes(b->type) : 0;
        int64_t extent;

        for (uint16_t d = 0; b && d < b->rank; d++)
            if (ml_eval_size(b->shape[d], opts->sizes, opts->n_sizes, &extent))
                n *= (double)extent;
        bytes += n;
    }
    left = bytes > SMALL ? memory_left() : 0;
    if (left == 0 || COPIES * bytes < (double)left)
        return true;
    return ml_fail(cx, ML_E_TOO_LARGE,
                   ML_TEXT(ml_format(cx,
                                     "the arguments take %.1f GB and are needed %d times; "
                                     "%.1f GB of memory are left",
                                     bytes * 1e-9, COPIES, (double)left * 1e-9)));
}

static const ml_IndexValues *values_of(ml_Ctx *cx, const ml_Func *f,
                                       const ml_CheckOpts *opts)
{
    ml_IndexValues *v = ML_ARRAY(cx, ml_IndexValues, f->n_params + 1u);

    ml_index_values(cx, f, opts->sizes, opts->n_sizes, v);
    return v;
}

const char *ml_inputs_blind(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts)
{
    const ml_IndexValues *v = values_of(cx, f, opts);
    ml_Text t = {0};
    const char *z;

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b && v[k].index && v[k].lo == v[k].hi)
            ml_text_fmt(&t, "%s%s is %lld throughout%s", t.n ? "; " : "", b->name,
                        (long long)v[k].lo,
                        v[k].fits
                            ? ", as no other value keeps every index inside"
                            : ", as no values are known that keep every index inside");
    }
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

bool ml_inputs_make(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                    const ml_ParamRole *roles, ml_RunArg *args)
{
    const char *id = opts->id ? opts->id : f->name;
    uint64_t seed = opts->seed ? opts->seed : 1;
    const ml_IndexValues *values = values_of(cx, f, opts);

    if (!room_for(cx, f, opts))
        return false;
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        int64_t *shape;
        ml_Tensor *t;

        if (b == NULL) {
            args[k] = scalar(opts, &values[k], f->params[k].var, k, id, seed);
            continue;
        }
        shape = ML_ARRAY(cx, int64_t, b->rank + 1u);
        if (!shape_of(cx, f, opts, k, shape))
            return false;
        t = args[k].tensor = ml_tensor_new(cx, b->type, shape, b->rank);
        if (t == NULL)
            return false;
        if (roles[k].output)
            ml_tensor_fill(t, ML_FILL_POISON, id, k, seed, 0, 0);
        else {
            fill_input(cx, opts, &values[k], k, t, id, seed);
            if (opts->extremes && opts->inputs == ML_FILL_RANDOM) {
                ml_Random r = ml_random(id, f->n_params + k, seed);

                ml_extremes_put(f, t, &r);
            }
        }
    }
    return true;
}

void ml_inputs_free(ml_RunArg *args, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        ml_tensor_free(args[k].tensor);
}
