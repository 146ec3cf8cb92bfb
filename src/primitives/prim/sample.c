/*
 * sample - sample_categorical, sample_perfect_tile, sample_partitioned_tile, and the
 * random draws under them.
 *
 * The mapping from draws to values is part of the interface: equal seeds give equal
 * decisions everywhere. Source: primitives 4 (random numbers), 5.
 */
#include "moonloop/primitives/rewrite/sample.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { MODULUS = 2147483647, MAX_FACTORS = 1024, LARGE_PRIME = 65536 };

/* ---- draws */

uint32_t ml_random_step(uint32_t *state)
{
    *state = (uint32_t)((uint64_t)*state * 48271 % MODULUS);
    return *state;
}

int64_t ml_random_int(uint32_t *state, int64_t lo, int64_t hi)
{
    int64_t r = hi - lo, q, x;

    ML_ASSERT(r >= 1 && r <= MODULUS - 1);
    if (r == 1)
        return lo;
    q = (MODULUS - 1) / r;
    do
        x = ml_random_step(state);
    while (x >= q * r);
    return lo + x / q;
}

size_t ml_random_categorical(uint32_t *state, const double *weights, size_t n)
{
    double total = 0, sum = 0, big = 2147483647.0;

    if (n == 1)
        return 0;
    double x1 = ml_random_step(state);
    double x2 = ml_random_step(state);
    double p = (x1 + x2 * big) / (big * big);

    for (size_t k = 0; k < n; k++)
        total += weights[k];
    for (size_t k = 0; k + 1 < n; k++) {
        sum += weights[k] / total;
        if (sum >= p)
            return k;
    }
    return n - 1;
}

/* k distinct of 0..n-1 into out; pool has room for n. */
static void random_subset(uint32_t *state, int64_t n, int64_t k, int64_t *pool,
                          int64_t *out)
{
    if (k == 1) {
        out[0] = ml_random_int(state, 0, n);
        return;
    }
    if (k == 2) {
        out[0] = ml_random_int(state, 0, n);
        out[1] = ml_random_int(state, 0, n - 1);
        if (out[1] >= out[0])
            out[1]++;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        pool[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t j = ml_random_int(state, i, n), t = pool[i];

        pool[i] = pool[j];
        pool[j] = t;
        out[i] = pool[i];
    }
}

static int64_t power(int64_t p, int64_t e)
{
    int64_t r = 1;

    while (e-- > 0)
        r *= p;
    return r;
}

static void sort(int64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
            int64_t t = v[k];

            v[k] = v[k - 1];
            v[k - 1] = t;
        }
}

/* The e factors p, spread over the n positions; all compositions are equally likely. */
static void spread_prime(uint32_t *state, int64_t p, int64_t e, size_t n, int64_t *scratch,
                         int64_t *out)
{
    if (n == 2) {
        if (e == 1 && p >= LARGE_PRIME) {
            out[ml_random_int(state, 0, 2)] *= p;
            return;
        }
        int64_t a = ml_random_int(state, 0, e + 1);

        out[0] *= power(p, a);
        out[1] *= power(p, e - a);
        return;
    }
    if (e == 1) {
        out[ml_random_int(state, 0, (int64_t)n)] *= p;
        return;
    }
    int64_t total = e + (int64_t)n - 1, *bars = scratch, last = -1;

    random_subset(state, total, (int64_t)n - 1, scratch + n, bars);
    sort(bars, n - 1);
    bars[n - 1] = total;
    for (size_t k = 0; k < n; k++) {
        out[k] *= power(p, bars[k] - last - 1);
        last = bars[k];
    }
}

static void add_prime(ml_Primes *f, int64_t *rest, int64_t p)
{
    int64_t e = 0;

    for (; *rest % p == 0; *rest /= p)
        e++;
    if (e > 0) {
        f->p[f->n] = p;
        f->e[f->n++] = e;
    }
}

bool ml_factorise(ml_Ctx *cx, int64_t v, ml_Primes *out)
{
    *out = (ml_Primes){0};
    add_prime(out, &v, 2);
    for (int64_t p = 3; p <= v / p; p += 2) {
        if (cx && (p & 0xffff) == 1 && !ml_tick(cx))
            return false;
        if (v % p == 0)
            add_prime(out, &v, p);
    }
    if (v > 1)
        add_prime(out, &v, v);
    return true;
}

void ml_random_tile(uint32_t *state, int64_t extent, const ml_Primes *primes, size_t n,
                    int64_t *scratch, int64_t *out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = 1;
    if (n == 1) {
        out[0] = extent;
        return;
    }
    for (int k = 0; k < primes->n; k++)
        spread_prime(state, primes->p[k], primes->e[k], n, scratch, out);
}

/* ---- sample_categorical */

enum { CANDIDATES, PROBS, CATEGORICAL_DECISION };

static bool sample_categorical(ml_Call *c)
{
    const ml_Value *cand = c->args[CANDIDATES].value, *probs = c->args[PROBS].value;
    int64_t pick;

    if (cand->n == 0)
        return ml_bad_argument(c->cx, "candidates: at least one is needed");
    if (probs->n != cand->n)
        return ml_bad_argument(c->cx, "probs: %u numbers for %u candidates", probs->n,
                               cand->n);
    if (c->decision) {
        if (c->decision->kind != ML_VAL_INT)
            return ml_bad_argument(c->cx, "decision: the index of a candidate is needed");
        pick = c->decision->as.i;
        if (pick < 0 || pick >= cand->n)
            return ml_bad_argument(c->cx, "decision: index %lld is outside [0, %u)",
                                   (long long)pick, cand->n);
    } else {
        double *w = ML_ARRAY(c->cx, double, cand->n), total = 0;

        for (uint32_t k = 0; k < cand->n; k++) {
            w[k] = probs->as.list[k]->as.f;
            if (!(w[k] >= 0) || w[k] > 1e300)
                return ml_bad_argument(c->cx,
                                       "probs: number %u is %g; weights are not negative",
                                       k + 1, ml_plain_nan(w[k]));
            total += w[k];
        }
        if (!(total > 0))
            return ml_bad_argument(c->cx, "probs: all weights are 0");
        pick = (int64_t)ml_random_categorical(&c->sched->random, w, cand->n);
    }
    ml_Handle h = ml_symbol_new(c->sched, cand->as.list[pick]->as.i);

    c->decision = ml_val_int(c->cx, pick);
    ml_call_return_handles(c, &h, 1, false);
    return true;
}

static const ml_Param categorical_params[] = {
    ML_PARAM_ATTR("candidates", ML_P_INTS, "the integers to choose from"),
    ML_PARAM_ATTR("probs", ML_P_FLOATS, "a weight for each"),
    {.name = "decision",
     .kind = ML_P_DECISION,
     .optional = true,
     .doc = "index of the choice"},
};

const ml_Primitive ml_prim_sample_categorical = {
    ML_PRIM(sample_categorical, "SampleCategorical"),
    .group = "sampling",
    .summary = "choose one of several integers at random",
    .help = "The choice is stored in the trace as its index and used again in a replay.",
    ML_PARAMS(categorical_params),
    .result = ML_R_EXPR,
    .pure = true,
    .has_decision = true,
    .no_version = true,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_OK},
};

/* ---- sample_perfect_tile */

enum { LOOP, N, MAX_INNERMOST, TILE_DECISION };

static bool return_tile(ml_Call *c, const int64_t *tile, size_t n, bool dynamic)
{
    const ml_Value **list = ML_ARRAY(c->cx, const ml_Value *, n);
    ml_Handle *h = ML_ARRAY(c->cx, ml_Handle, n);

    for (size_t k = 0; k < n; k++) {
        list[k] = ml_val_int(c->cx, tile[k]);
        h[k] = dynamic && k == 0 ? (ml_Handle){ML_H_NONE, 0}
                                 : ml_symbol_new(c->sched, tile[k]);
    }
    c->decision = ml_val_list(c->cx, list, n);
    ml_call_return_handles(c, h, n, true);
    return true;
}

/* From the innermost factor outwards: what does not divide takes all that is left. */
static bool repair(ml_Call *c, int64_t extent, size_t n, int64_t *tile)
{
    const ml_Value *d = c->decision;

    if (d->kind != ML_VAL_LIST || d->n != n)
        return ml_bad_argument(c->cx, "decision: a list of %zu integers is needed", n);
    for (size_t k = n; k-- > 0;) {
        if (d->as.list[k]->kind != ML_VAL_INT)
            return ml_bad_argument(c->cx, "decision: a list of %zu integers is needed", n);
        tile[k] = d->as.list[k]->as.i;
        if (k == 0 || tile[k] <= 0 || extent % tile[k] != 0)
            tile[k] = extent;
        extent /= tile[k];
    }
    return true;
}

static bool draw_tile(ml_Call *c, int64_t extent, size_t n, int64_t limit, int64_t *tile)
{
    int64_t *scratch = ML_ARRAY(c->cx, int64_t, 2 * n + 64);
    ml_Primes primes;

    if (!ml_factorise(c->cx, extent, &primes))
        return false;
    do {
        if (!ml_tick(c->cx))
            return false;
        ml_random_tile(&c->sched->random, extent, &primes, n, scratch, tile);
    } while (limit != -1 && tile[n - 1] > limit);
    return true;
}

static bool check_n(ml_Call *c, int64_t n)
{
    if (n >= 1 && n <= MAX_FACTORS)
        return true;
    return ml_bad_argument(c->cx, "n is %lld; it must be in [1, %d]", (long long)n,
                           MAX_FACTORS);
}

static bool check_extent(ml_Call *c, int64_t extent)
{
    if (extent >= 1)
        return true;
    return ml_bad_argument(c->cx, "loop: its extent is %lld; it must be positive",
                           (long long)extent);
}

/* auto, 1, ..., 1 */
static bool return_auto(ml_Call *c, size_t n)
{
    int64_t *tile = ML_ARRAY(c->cx, int64_t, n);

    for (size_t k = 0; k < n; k++)
        tile[k] = k == 0 ? -1 : 1;
    return return_tile(c, tile, n, true);
}

static bool sample_perfect_tile(ml_Call *c)
{
    const ml_For *loop = ml_call_loop(c, c->args[LOOP].uid);
    int64_t n = c->args[N].i, limit = c->args[MAX_INNERMOST].i;

    if (!check_n(c, n))
        return false;
    if (limit != -1 && limit < 1)
        return ml_bad_argument(
            c->cx, "max_innermost_factor is %lld; it must be positive, or -1 for none",
            (long long)limit);
    int64_t *tile = ML_ARRAY(c->cx, int64_t, (size_t)n);

    if (!ml_is_const_int(loop->extent))
        return return_auto(c, (size_t)n);
    int64_t extent = loop->extent->as.i;

    if (!check_extent(c, extent))
        return false;
    if (c->decision) {
        if (!repair(c, extent, (size_t)n, tile))
            return false;
    } else {
        if (limit != -1 && n < 2)
            return ml_bad_argument(c->cx,
                                   "n is 1; with max_innermost_factor at least 2 factors "
                                   "are needed");
        if (!draw_tile(c, extent, (size_t)n, limit, tile))
            return false;
    }
    return return_tile(c, tile, (size_t)n, false);
}

static const ml_Param tile_params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop whose extent is to be cut"),
    ML_PARAM_ATTR("n", ML_P_INT, "number of factors"),
    ML_PARAM_INT("max_innermost_factor", 16, "upper limit of the last factor; -1: none"),
    {.name = "decision", .kind = ML_P_DECISION, .optional = true, .doc = "the factors"},
};

const ml_Primitive ml_prim_sample_perfect_tile = {
    ML_PRIM(sample_perfect_tile, "SamplePerfectTile"),
    .group = "sampling",
    .summary = "choose factors whose product is the extent of a loop",
    .help =
        "Uniform over all ordered lists of n positive factors whose last is within the\n"
        "limit. The factors are stored in the trace and used again in a replay.",
    ML_PARAMS(tile_params),
    .result = ML_R_EXPRS,
    .pure = true,
    .has_decision = true,
    .no_version = true,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_OK},
};

/* ---- sample_partitioned_tile */

enum { PART_LOOP, PART_N, PARTITION_POS, INNERPART_FACTOR };

static int64_t inner_product(const int64_t *tile, int64_t from, int64_t n)
{
    int64_t product = 1;

    while (from < n)
        product *= tile[from++];
    return product;
}

/* The given factors where they divide, with an inner part that the factor divides: else
 * the plainest tile that has it. */
static bool repair_partitioned(ml_Call *c, int64_t extent, int64_t n, int64_t pos,
                               int64_t factor, int64_t *tile)
{
    const ml_Value *d = c->decision;
    int64_t rest = 1;

    /* The product modulo the factor: of any integers, it must not overflow. */
    for (int64_t k = pos; d->kind == ML_VAL_LIST && d->n == n && k < n; k++)
        if (d->as.list[k]->kind == ML_VAL_INT) {
            __int128 wide = (__int128)rest * (d->as.list[k]->as.i % factor);

            rest = (int64_t)(wide % factor);
        }
    if (!repair(c, extent, (size_t)n, tile))
        return false;
    if (rest % factor == 0 && inner_product(tile, pos, n) % factor == 0)
        return true;
    for (int64_t k = 0; k < n; k++)
        tile[k] = k == 0 ? extent / factor : 1;
    tile[pos] *= factor;
    return true;
}

static bool draw_partitioned(ml_Call *c, int64_t extent, int64_t n, int64_t pos,
                             int64_t factor, int64_t *tile)
{
    if (pos == 0 && factor == 1)
        return draw_tile(c, extent, (size_t)n, -1, tile);
    int64_t *scratch = ML_ARRAY(c->cx, int64_t, 2 * (size_t)n + 64);
    ml_Primes primes;

    if (!ml_factorise(c->cx, extent, &primes))
        return false;
    do {
        if (!ml_tick(c->cx))
            return false;
        ml_random_tile(&c->sched->random, extent, &primes, (size_t)n, scratch, tile);
    } while (inner_product(tile, pos, n) % factor != 0);
    return true;
}

static bool sample_partitioned_tile(ml_Call *c)
{
    const ml_For *loop = ml_call_loop(c, c->args[PART_LOOP].uid);
    int64_t n = c->args[PART_N].i, pos = c->args[PARTITION_POS].i;
    int64_t factor = c->args[INNERPART_FACTOR].i;

    if (!check_n(c, n))
        return false;
    if (pos < 0 || pos >= n)
        return ml_bad_argument(c->cx, "partition_pos is %lld; it must be in [0, %lld)",
                               (long long)pos, (long long)n);
    if (factor < 1)
        return ml_bad_argument(c->cx, "innerpart_factor is %lld; it must be positive",
                               (long long)factor);
    if (n < 2 && factor > 1)
        return ml_bad_argument(c->cx, "n is 1; with innerpart_factor at least 2 factors "
                                      "are needed");
    int64_t *tile = ML_ARRAY(c->cx, int64_t, (size_t)n);

    if (!ml_is_const_int(loop->extent))
        return return_auto(c, (size_t)n);
    int64_t extent = loop->extent->as.i;

    if (!check_extent(c, extent))
        return false;
    if (extent % factor != 0) {
        ml_call_note(c,
                     "extent %lld is no multiple of innerpart_factor %lld: nothing to "
                     "choose",
                     (long long)extent, (long long)factor);
        return return_auto(c, (size_t)n);
    }
    if (c->decision ? !repair_partitioned(c, extent, n, pos, factor, tile)
                    : !draw_partitioned(c, extent, n, pos, factor, tile))
        return false;
    return return_tile(c, tile, (size_t)n, false);
}

static const ml_Param partitioned_params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop whose extent is to be cut"),
    ML_PARAM_ATTR("n", ML_P_INT, "number of factors"),
    ML_PARAM_INT("partition_pos", 0, "position of the first factor of the inner part"),
    ML_PARAM_INT("innerpart_factor", 1,
                 "what the product of the inner part is a multiple of"),
    {.name = "decision", .kind = ML_P_DECISION, .optional = true, .doc = "the factors"},
};

const ml_Primitive ml_prim_sample_partitioned_tile = {
    ML_PRIM(sample_partitioned_tile, "SamplePartitionedTile"),
    .group = "sampling",
    .summary = "choose factors of a loop whose inner part is a multiple",
    .help =
        "As sample_perfect_tile, without a limit of the last factor: the product of the\n"
        "factors from partition_pos on is a multiple of innerpart_factor. An extent that\n"
        "is none gives auto, 1, ..., 1.",
    ML_PARAMS(partitioned_params),
    .result = ML_R_EXPRS,
    .pure = true,
    .has_decision = true,
    .no_version = true,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_OK},
};
