/*
 * draw - random candidates of a sketch without a replay for each: what a tile cuts is a form
 * of the decisions before it.
 *
 * 64 candidates go through the samplings together, in their order; the forms are evaluated
 * again before each tile. Source: auto-scheduler 2, 13; primitives 5.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

#include "moonloop/primitives/rewrite/sample.h"

enum { CANDIDATES, PROBS, MAX_INNERMOST = 2, MOST_FACTORS = 64, KNOWN = 64 };

/* Factorisations that were asked for last, by extent. */
typedef struct Known {
    int64_t extent[KNOWN];
    ml_Primes primes[KNOWN];
} Known;

static const ml_Primes *primes_of(Known *k, int64_t extent)
{
    size_t at = (size_t)extent % KNOWN;

    if (k->extent[at] != extent) {
        ml_factorise(NULL, extent, &k->primes[at]);
        k->extent[at] = extent;
    }
    return &k->primes[at];
}

static void draw_tile(Known *known, uint32_t *state, int64_t extent, size_t n, int64_t most,
                      int64_t *d)
{
    int64_t scratch[2 * MOST_FACTORS + 64];
    const ml_Primes *p = primes_of(known, extent);

    do
        ml_random_tile(state, extent, p, n, scratch, d);
    while (most > 0 && d[n - 1] > most && n > 1);
}

static double number_at(const ml_TVArg *a, uint32_t k)
{
    const ml_Value *v =
        a->v->kind == ML_TV_LIST ? a->v->list[k].value : a->v->value->as.list[k];

    return v->kind == ML_VAL_FLOAT ? v->as.f : (double)v->as.i;
}

static size_t length_of(const ml_TVArg *a)
{
    return a->v->kind == ML_TV_LIST ? a->v->n : a->v->value->n;
}

static bool fits(const int64_t *d, size_t n, int64_t extent, int64_t most)
{
    int64_t all = 1;

    for (size_t k = 0; k < n; k++) {
        if (d[k] < 1 || d[k] > extent / all)
            return false;
        all *= d[k];
    }
    return all == extent && (most <= 0 || n < 2 || d[n - 1] <= most);
}

/* Which of their kind are drawn next. */
typedef struct Next {
    size_t tile, place;
} Next;

/* One sampling for all lanes. keep: what is decided and fits stays. */
static bool draw_all(ml_SketchForms *s, const ml_Inst *in, Known *known, uint32_t *state,
                     Next *next, bool keep, size_t n, int64_t *d)
{
    ml_TVArg args[ML_MAX_PARAMS];
    ml_Num most = 0;

    if (!ml_inst_args(in, args))
        return false;
    if (ml_sym_is_place(in)) {
        size_t most_in = s->places.v[next->place++];

        for (size_t l = 0; l < n; l++)
            if (!keep || d[l * s->numbers] < 0)
                d[l * s->numbers] = ml_random_int(state, 0, (int64_t)most_in + 1);
        return true;
    }
    if (ml_sym_numbers(in) == 1 && ml_streq(in->prim->name, "sample_categorical")) {
        size_t many = length_of(&args[PROBS]);
        double *weights = ML_ARRAY(s->batch, double, many + 1);

        for (uint32_t k = 0; k < many; k++)
            weights[k] = number_at(&args[PROBS], k);
        for (size_t l = 0; l < n; l++) {
            int64_t *at = &d[l * s->numbers];

            if (!keep || *at < 0 || *at >= (int64_t)many)
                *at = (int64_t)ml_random_categorical(state, weights, many);
        }
        return true;
    }
    if (in->n_outputs > MOST_FACTORS)
        return false;
    if (args[MAX_INNERMOST].n == 1 && args[MAX_INNERMOST].v->kind == ML_TV_VALUE)
        most = (ml_Num)(args[MAX_INNERMOST].v->value->as.i > 0
                            ? args[MAX_INNERMOST].v->value->as.i
                            : 0);
    size_t tile = next->tile++;

    ml_form_run(&s->cut, n, s->x, s->cut_room);
    for (size_t l = 0; l < n; l++) {
        double extent = s->cut_room[(size_t)s->cut.out[tile] * ML_LANES + l];

        if (!(extent >= 1 && extent <= 9e15))
            return false;
        if (!keep ||
            !fits(d + l * s->numbers, in->n_outputs, (int64_t)extent, (int64_t)most))
            draw_tile(known, state, (int64_t)extent, in->n_outputs, (int64_t)most,
                      d + l * s->numbers);
    }
    return true;
}

/* Up to 64 candidates. */
static bool draw_block(ml_SketchForms *s, Known *known, uint32_t *state, bool keep,
                       size_t n, int64_t *d)
{
    uint32_t at = 0;
    Next next = {0, 0};

    memset(s->x, 0, (size_t)s->numbers * ML_LANES * sizeof *s->x);
    for (size_t k = 0; k < s->t.n; k++) {
        const ml_Inst *in = s->t.insts[k];
        uint32_t numbers = ml_sym_numbers(in);

        if (numbers == 0)
            continue;
        if (!draw_all(s, in, known, state, &next, keep, n, d + at))
            return false;
        for (uint32_t m = at; m < at + numbers; m++)
            for (size_t l = 0; l < n; l++)
                s->x[m * ML_LANES + l] = (double)d[l * s->numbers + m];
        at += numbers;
    }
    return true;
}

/* The forms of the extents are known from one candidate on. */
static bool prepare(ml_SketchForms *s, uint32_t *state)
{
    int64_t *d = ML_ARRAY(s->batch, int64_t, s->numbers + 1);
    double *x = ML_ARRAY(s->batch, double, s->numbers + 1);
    size_t tiles = 0, places = 0;

    for (size_t k = 0; k < s->t.n; k++) {
        tiles += ml_streq(s->t.insts[k]->prim->name, "sample_perfect_tile");
        places += ml_sym_is_place(s->t.insts[k]);
    }
    for (int k = 0; k < 8 && !s->several && (s->extents.n < tiles || s->places.n < places);
         k++)
        if (ml_sym_real_draw(s->start, &s->t, ml_random_step(state), d)) {
            for (uint32_t m = 0; m < s->numbers; m++)
                x[m] = (double)d[m];
            ml_sym_explore(s, x);
        }
    if (s->several || s->extents.n != tiles || s->places.n != places)
        return false;
    if (s->cut_room == NULL) {
        if (!ml_form_compile(s->cx, &s->f, s->extents.v, tiles, &s->cut))
            return false;
        s->cut_room = ML_ARRAY(s->cx, double, ml_form_room(&s->cut) + 8);
        ml_form_ready(&s->cut, s->cut_room);
    }
    return true;
}

/* How many were drawn by forms. */
static size_t draw_blocks(ml_SketchForms *s, uint32_t *state, bool keep, size_t n,
                          int64_t *d)
{
    size_t done = 0;
    Known *known;
    bool ok;

    ml_ctx_unref(s->batch);
    s->batch = ml_ctx_new(0);
    known = ML_NEW(s->batch, Known);
    ok = prepare(s, state);
    while (ok && done < n) {
        size_t m = n - done < ML_LANES ? n - done : ML_LANES;

        ok = draw_block(s, known, state, keep, m, d + done * s->numbers);
        done += ok ? m : 0;
    }
    return done;
}

size_t ml_sketch_forms_draw(ml_SketchForms *s, uint32_t *state, size_t n, int64_t *d)
{
    size_t done = draw_blocks(s, state, false, n, d);

    for (size_t k = 0; k < 2 * n && done < n; k++)
        done +=
            ml_sym_real_draw(s->start, &s->t, ml_random_step(state), d + done * s->numbers);
    return done;
}

bool ml_sketch_forms_complete(ml_SketchForms *s, uint32_t *state, size_t n, int64_t *d)
{
    return draw_blocks(s, state, true, n, d) == n;
}
