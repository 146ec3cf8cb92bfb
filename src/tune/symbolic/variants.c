/*
 * variants - the paths of questions that a sketch's replay takes, each with its forms as a
 * program, and many candidates at once.
 *
 *        question 0: is 512 % (16 * x) = 0?          Questions are a tree; at its leaves are
 *         yes /            \ no                      variants. All questions of a sketch are
 *      variant 0        question 1 ...               one program, run on 64 candidates; then
 *                                                    each goes down the tree by its answers.
 *
 * A candidate that comes to no leaf is replayed symbolically and makes one. The first
 * candidates of a variant are replayed really too, and their rows compared: a variant that
 * does not agree is replayed from then on. Source: auto-scheduler 13.
 */
#include "moonloop/tune/symbolic/symbolic_impl.h"

enum { NOTHING = -1, CHECKS = 2, TRUST_FROM = 8, CHECK_EVERY = 8 };

ml_SketchForms *ml_sketch_forms_new(ml_Schedule *start, const ml_Trace *trace,
                                    const ml_FeatureTarget *target,
                                    const ml_FormLimits *limits)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_SketchForms *s = ML_NEW(cx, ml_SketchForms);

    s->cx = cx;
    s->batch = ml_ctx_new(0);
    s->start = start;
    s->t = *trace;
    s->target = *target;
    s->limits = *limits;
    s->checks = CHECKS;
    for (size_t k = 0; k < trace->n; k++)
        s->numbers += ml_sym_numbers(trace->insts[k]);
    ml_forms_init(&s->f, cx);
    s->x = ML_ARRAY(cx, double, (size_t)(s->numbers + 1) * ML_LANES);
    s->real_rows = ML_ARRAY(cx, double, (size_t)ML_MAX_ROWS *ML_FEATURES);
    return s;
}

void ml_sketch_forms_free(ml_SketchForms *s)
{
    if (s == NULL)
        return;
    ml_ctx_unref(s->batch);
    ml_ctx_unref(s->cx);
}

uint32_t ml_sketch_forms_numbers(const ml_SketchForms *s)
{
    return s->numbers;
}

const ml_FormStats *ml_sketch_forms_stats(const ml_SketchForms *s)
{
    return &s->st;
}

void ml_sketch_forms_check(ml_SketchForms *s, size_t times)
{
    s->checks = times;
}

void ml_sketch_forms_trust(ml_SketchForms *s)
{
    s->trusts = true;
}

void ml_sketch_forms_spare(ml_SketchForms *s, size_t *replays)
{
    s->spare = replays;
}

bool ml_sketch_forms_post(ml_SketchForms *s, const ml_FormPost *post)
{
    for (size_t k = 0; k < post->n; k++)
        if (!ml_sym_has_post(post->names[k]))
            return false;
    s->post = *post;
    return true;
}

int ml_sketch_real_rows(ml_SketchForms *s, const int64_t *d, double *rows)
{
    return ml_sym_real_rows(s, d, rows);
}

/* ---------------------------------------------------------------- a new variant */

/* 1 where a candidate passes no limit. */
static ml_Num within(ml_SketchForms *s, const ml_FeatureRows *r)
{
    enum { BYTES = 157 };
    ml_Forms *f = &s->f;
    ml_Num ok = ml_form_const(f, 1);
    const struct {
        double limit;
        int at;
    } most[] = {{ml_slog(s->limits.body), ML_X_BODY},
                {s->limits.pressure, ML_X_PRESSURE},
                {ml_slog(s->limits.bytes), BYTES}};

    for (size_t k = 0; k < r->n; k++)
        for (size_t m = 0; m < ML_COUNT(most); m++)
            if (most[m].limit > 0)
                ok = ml_form_mul(
                    f, ok,
                    ml_form_le(f, r->row[k][most[m].at], ml_form_const(f, most[m].limit)));
    return ok;
}

static void compile_variant(ml_SketchForms *s, const ml_FeatureRows *r, Variant *v)
{
    ml_Num *out = ML_ARRAY(s->cx, ml_Num, r->n * ML_FEATURES + 1);

    for (size_t k = 0; k < r->n; k++)
        memcpy(out + k * ML_FEATURES, r->row[k], ML_FEATURES * sizeof *out);
    out[r->n * ML_FEATURES] = within(s, r);
    v->n_rows = r->n;
    v->real = !ml_form_compile(s->cx, &s->f, out, r->n * ML_FEATURES + 1, &v->p);
}

static uint32_t question_of(ml_SketchForms *s, ml_Num q)
{
    for (size_t k = 0; k < s->questions.n; k++)
        if (s->questions.v[k] == q)
            return (uint32_t)k;
    ml_push(s->cx, &s->questions, q);
    s->stale = true;
    return (uint32_t)s->questions.n - 1;
}

/* The leaf of the path; made when there is none: *made. */
static size_t leaf_of(ml_SketchForms *s, bool *made)
{
    int32_t *to = &s->first;
    bool *there = &s->any;

    *made = false;
    for (size_t k = 0; k < s->f.path.n; k++) {
        const ml_FormAnswer *a = &s->f.path.v[k];

        if (!*there) {
            uint32_t q = question_of(s, a->question);

            *to = (int32_t)s->tree.n;
            *there = true;
            ml_push(s->cx, &s->tree, ((Branch){.question = q}));
        }
        Branch *b = &s->tree.v[*to];

        to = &b->to[a->yes];
        there = &b->there[a->yes];
    }
    if (!*there) {
        *there = true;
        *to = ~(int32_t)s->variants.n;
        ml_push(s->cx, &s->variants, ((Variant){0}));
        *made = true;
    }
    return (size_t) ~*to;
}

/* What tiles cut is the same form in all variants, or draws cannot go by it. */
static void learn_extents(ml_SketchForms *s, const Sym *sym)
{
    bool first = s->extents.n == 0;

    for (size_t k = 0; k < sym->tiles.n; k++) {
        if (first)
            ml_push(s->cx, &s->extents, sym->tiles.v[k].extent);
        s->several |= k >= s->extents.n || s->extents.v[k] != sym->tiles.v[k].extent;
    }
    s->several |= s->extents.n != sym->tiles.n;
    for (size_t k = 0; k < sym->places.n; k++)
        if (k == s->places.n)
            ml_push(s->cx, &s->places, sym->places.v[k]);
        else if (sym->places.v[k] > s->places.v[k])
            s->places.v[k] = sym->places.v[k];
}

size_t ml_sym_explore(ml_SketchForms *s, const double *x)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Schedule *fork = NULL;
    Sym sym;
    ml_FeatureRows r = {0};
    bool made, ok;

    ml_forms_at(&s->f, x);
    ok = ml_sym_replay(&sym, cx, &s->f, s->start, &s->t, &s->post, &fork) &&
         ml_features(&sym.n, &s->target, &r);
    if (!ok && s->st.why == NULL)
        s->st.why = sym.why ? sym.why : "features: too many rows or loops";

    size_t k = leaf_of(s, &made);

    learn_extents(s, &sym);
    if (made) {
        s->variants.v[k].real = true;
        if (ok)
            compile_variant(s, &r, &s->variants.v[k]);
        s->st.variants++;
        s->st.replayed += s->variants.v[k].real;
    }
    ml_schedule_unref(fork);
    ml_ctx_unref(cx);
    return k;
}

/* ---------------------------------------------------------------- believing it */

static void fill_inputs(ml_SketchForms *s, const int64_t *const *d, size_t n)
{
    for (uint32_t k = 0; k < s->numbers; k++)
        for (size_t l = 0; l < ML_LANES; l++)
            s->x[k * ML_LANES + l] = (double)d[l < n ? l : n - 1][k];
}

/* Registers with the constants of a variant: variants share them. */
static double *ready(ml_SketchForms *s, const Variant *v)
{
    size_t need = ml_form_room(&v->p);

    if (need > s->room_for) {
        s->room = ML_ARRAY(s->cx, double, 2 * need);
        s->room_for = 2 * need;
    }
    ml_form_ready(&v->p, s->room);
    return s->room;
}

static void compare(ml_SketchForms *s, Variant *v, const int64_t *d, int n_real)
{
    const double *room = ready(s, v);

    fill_inputs(s, &d, 1);
    ml_form_run(&v->p, 1, s->x, s->room);
    v->checked++;
    if (n_real != (int)v->n_rows) {
        s->st.why = ml_format(s->cx, "%zu rows, not %d", v->n_rows, n_real);
        v->real = true;
    }
    for (size_t k = 0; !v->real && k < v->n_rows * ML_FEATURES; k++) {
        double have = room[(size_t)v->p.out[k] * ML_LANES], want = s->real_rows[k];

        if (fabs(have - want) <= 1e-9 * (1 + fabs(want)))
            continue;
        s->st.why = ml_format(s->cx, "feature %zu of row %zu is %g by its form, really %g",
                              k % ML_FEATURES, k / ML_FEATURES, have, want);
        v->real = true;
    }
    s->st.mismatches += v->real;
    s->st.replayed += v->real;
    s->agreed += !v->real && v->checked == 1;
}

/* ---------------------------------------------------------------- many candidates */

typedef struct Batch {
    const int64_t *d;
    size_t n;
    int32_t *variant; /* of each; NOTHING: its rows are real */
    size_t *n_rows;
    bool *valid, *left;
    float **real; /* rows of those */
} Batch;

static void answer(ml_SketchForms *s, const Batch *b, size_t from, size_t n)
{
    const int64_t *d[ML_LANES];

    if (s->stale || s->ask_room == NULL) {
        ml_form_compile(s->cx, &s->f, s->questions.v, s->questions.n, &s->ask);
        s->ask_room = ML_ARRAY(s->cx, double, ml_form_room(&s->ask) + 8);
        ml_form_ready(&s->ask, s->ask_room);
        s->stale = false;
    }
    for (size_t l = 0; l < n; l++)
        d[l] = b->d + (from + l) * s->numbers;
    fill_inputs(s, d, n);
    ml_form_run(&s->ask, n, s->x, s->ask_room);
}

/* Down the tree by the answers of a lane; NOTHING: no leaf there yet. */
static int32_t walk(const ml_SketchForms *s, size_t lane)
{
    int32_t to = s->first;

    if (!s->any)
        return NOTHING;
    while (to >= 0) {
        const Branch *b = &s->tree.v[to];
        bool yes = s->ask_room[(size_t)s->ask.out[b->question] * ML_LANES + lane] != 0;

        if (!b->there[yes])
            return NOTHING;
        to = b->to[yes];
    }
    return ~to;
}

/* Whether its forms count. Once enough variants of a sketch were compared and all agreed, one of
 * several is, until one does not. */
static bool is_believed(const ml_SketchForms *s, size_t variant)
{
    const Variant *v = &s->variants.v[variant];

    return !v->real && (v->checked >= s->checks ||
                        (s->trusts && s->agreed >= TRUST_FROM && s->st.mismatches == 0 &&
                         variant % CHECK_EVERY != 0));
}

static void keep_real(ml_SketchForms *s, Batch *b, size_t k, int n)
{
    size_t all = n > 0 ? (size_t)n * ML_FEATURES : 0;

    b->valid[k] = n >= 0;
    b->n_rows[k] = n > 0 ? (size_t)n : 0;
    b->variant[k] = NOTHING;
    b->real[k] = ML_ARRAY(s->batch, float, all + 1);
    for (size_t m = 0; m < all; m++)
        b->real[k][m] = (float)s->real_rows[m];
    s->st.by_replay++;
    s->st.illegal += n < 0;
}

/* Whether the candidate may be replayed; else it is left. */
static bool may_replay(ml_SketchForms *s, Batch *b, size_t k)
{
    if (s->spare == NULL)
        return true;
    b->left[k] = *s->spare == 0;
    *s->spare -= !b->left[k];
    if (b->left[k])
        b->variant[k] = NOTHING;
    return !b->left[k];
}

static void settle(ml_SketchForms *s, Batch *b, size_t k, size_t variant)
{
    Variant *v = &s->variants.v[variant];
    const int64_t *d = b->d + k * s->numbers;

    if (is_believed(s, variant)) {
        b->variant[k] = (int32_t)variant;
        b->n_rows[k] = v->n_rows;
        return;
    }
    int n = ml_sketch_real_rows(s, d, s->real_rows);

    if (!v->real && n >= 0)
        compare(s, v, d, n);
    keep_real(s, b, k, n);
}

static void classify(ml_SketchForms *s, Batch *b)
{
    double *x = ML_ARRAY(s->batch, double, s->numbers + 1);

    for (size_t from = 0; from < b->n; from += ML_LANES) {
        size_t n = b->n - from < ML_LANES ? b->n - from : ML_LANES;

        answer(s, b, from, n);
        for (size_t l = 0; l < n; l++) {
            int32_t v = walk(s, l);

            bool forms = v != NOTHING && is_believed(s, (size_t)v);

            if (!forms && !may_replay(s, b, from + l))
                continue;
            if (v == NOTHING) {
                double begin = ml_clock();

                for (uint32_t k = 0; k < s->numbers; k++)
                    x[k] = (double)b->d[(from + l) * s->numbers + k];
                v = (int32_t)ml_sym_explore(s, x);
                answer(s, b, from, n);
                s->st.check_seconds += ml_clock() - begin;
            }
            if (!is_believed(s, (size_t)v)) {
                double begin = ml_clock();

                settle(s, b, from + l, (size_t)v);
                answer(s, b, from, n); /* comparing used the inputs */
                s->st.check_seconds += ml_clock() - begin;
            } else
                settle(s, b, from + l, (size_t)v);
        }
    }
}

/* Candidates of one variant, 64 at a time. */
static void run_variant(ml_SketchForms *s, Batch *b, Variant *v, const uint32_t *list,
                        size_t n, const uint32_t *begin, float *rows)
{
    const int64_t *d[ML_LANES];
    size_t width = v->n_rows * ML_FEATURES;
    double *room = ready(s, v);

    for (size_t from = 0; from < n; from += ML_LANES) {
        size_t m = n - from < ML_LANES ? n - from : ML_LANES;
        const double *ok = room + (size_t)v->p.out[width] * ML_LANES;

        for (size_t l = 0; l < m; l++)
            d[l] = b->d + (size_t)list[from + l] * s->numbers;
        fill_inputs(s, d, m);
        ml_form_run(&v->p, m, s->x, room);
        for (size_t l = 0; l < m; l++) {
            float *to = rows + (size_t)begin[list[from + l]] * ML_FEATURES;

            for (size_t k = 0; k < width; k++)
                to[k] = (float)room[(size_t)v->p.out[k] * ML_LANES + l];
            b->valid[list[from + l]] = ok[l] != 0;
            s->st.beyond += ok[l] == 0;
        }
        s->st.by_forms += (int64_t)m;
    }
}

static void run_all(ml_SketchForms *s, Batch *b, const uint32_t *begin, float *rows)
{
    uint32_t *first = ML_ARRAY(s->batch, uint32_t, s->variants.n + 2);
    uint32_t *list = ML_ARRAY(s->batch, uint32_t, b->n + 1);

    for (size_t k = 0; k < b->n; k++)
        if (b->variant[k] != NOTHING)
            first[b->variant[k] + 1]++;
    for (size_t k = 1; k <= s->variants.n; k++)
        first[k] += first[k - 1];
    for (size_t k = 0; k < b->n; k++) {
        if (b->variant[k] != NOTHING)
            list[first[b->variant[k]]++] = (uint32_t)k;
        else if (b->n_rows[k])
            memcpy(rows + (size_t)begin[k] * ML_FEATURES, b->real[k],
                   b->n_rows[k] * ML_FEATURES * sizeof *rows);
    }
    for (size_t v = 0, from = 0; v < s->variants.n; from = first[v++])
        if (first[v] > from)
            run_variant(s, b, &s->variants.v[v], list + from, first[v] - from, begin, rows);
}

void ml_sketch_forms_rows(ml_SketchForms *s, const int64_t *d, size_t n, ml_FormBatch *out)
{
    Batch b = {.d = d, .n = n};

    ml_ctx_unref(s->batch);
    s->batch = ml_ctx_new(0);
    b.variant = ML_ARRAY(s->batch, int32_t, n + 1);
    b.n_rows = ML_ARRAY(s->batch, size_t, n + 1);
    b.valid = ML_ARRAY(s->batch, bool, n + 1);
    b.left = ML_ARRAY(s->batch, bool, n + 1);
    b.real = ML_ARRAY(s->batch, float *, n + 1);
    classify(s, &b);

    uint32_t *begin = ML_ARRAY(s->batch, uint32_t, n + 1);

    for (size_t k = 0; k < n; k++)
        begin[k + 1] = begin[k] + (uint32_t)b.n_rows[k];
    float *rows = ml_alloc(s->batch, (size_t)begin[n] * ML_FEATURES * sizeof *rows + 16);

    run_all(s, &b, begin, rows);
    *out = (ml_FormBatch){n, rows, begin, b.valid, b.left};
}
