/* facts - what follows from the trials of a search (board.h). Source: interaction 11. */
#include "repl/tuning/board.h"

#include <math.h>
#include <stdlib.h>

#include "moonloop/core/base/arena.h"

void ml_board_init(ml_Board *b, const char *name, const char *target, int64_t seed,
                   uint32_t threads)
{
    *b = (ml_Board){.cx = ml_ctx_new(0), .roof = (double)NAN, .held_out = (double)NAN};
    ml_ctx_set_limit(b->cx, 0);
    b->name = ml_strdup(b->cx, ml_str(name));
    b->target = ml_strdup(b->cx, ml_str(target));
    b->seed = seed;
    b->threads = threads;
}

void ml_board_free(ml_Board *b)
{
    if (b->cx)
        ml_ctx_unref(b->cx);
    *b = (ml_Board){0};
}

void ml_board_trial(ml_Board *b, const ml_BoardTrial *t)
{
    ml_push(b->cx, &b->trials, *t);
}

void ml_board_status(ml_Board *b, const ml_TuneStatus *s)
{
    if (s->generation > b->st.generation)
        ml_push(b->cx, &b->rounds, b->trials.n);
    b->st = *s;
}

double ml_board_best(const ml_Board *b, size_t n)
{
    double best = 0;

    for (size_t k = 0; k < n && k < b->trials.n; k++) {
        double s = b->trials.v[k].seconds;

        if (s > 0 && (best == 0 || s < best))
            best = s;
    }
    return best;
}

double ml_board_last_gain(const ml_Board *b)
{
    size_t n = b->rounds.n, end = b->trials.n;
    double before, after;

    while (n > 0 && b->rounds.v[n - 1] >= end) /* one that has measured nothing yet */
        n--;
    before = n > 0 ? ml_board_best(b, b->rounds.v[n - 1]) : 0;
    after = ml_board_best(b, end);
    return before > 0 && after > 0 ? before / after - 1 : (double)NAN;
}

int64_t ml_board_failures(const ml_Board *b)
{
    int64_t n = 0;

    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        n += b->st.failed[k];
    return n;
}

/* ---- predicted against measured */

typedef struct Pair {
    double expected, seconds, rank;
} Pair;

/* The last trials that something was expected of; how many. */
static size_t find_pairs(const ml_Board *b, Pair *out, size_t most)
{
    size_t n = 0;

    for (size_t k = b->trials.n; k-- > 0 && n < most;) {
        const ml_BoardTrial *t = &b->trials.v[k];

        if (t->expected > 0 && t->seconds > 0)
            out[n++] = (Pair){t->expected, t->seconds, 0};
    }
    return n;
}

static int by_expected(const void *a, const void *b)
{
    double x = ((const Pair *)a)->expected, y = ((const Pair *)b)->expected;

    return (x > y) - (x < y);
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const Pair *)a)->seconds, y = ((const Pair *)b)->seconds;

    return (x > y) - (x < y);
}

/* The mean rank of those equal to the k-th. */
static double mean_rank(const Pair *v, size_t n, size_t k,
                        int (*by)(const void *, const void *))
{
    size_t from = k, to = k;

    while (from > 0 && by(&v[from - 1], &v[k]) == 0)
        from--;
    while (to + 1 < n && by(&v[to + 1], &v[k]) == 0)
        to++;
    return (double)(from + to) / 2;
}

double ml_board_correlation(const ml_Board *b)
{
    enum { MOST = 256, LEAST = 4 };
    Pair v[MOST];
    size_t n = find_pairs(b, v, MOST);
    double mean = ((double)n - 1) / 2, xy = 0, xx = 0, yy = 0;

    if (n < LEAST)
        return (double)NAN;
    qsort(v, n, sizeof *v, by_expected);
    for (size_t k = 0; k < n; k++)
        v[k].rank = mean_rank(v, n, k, by_expected);
    qsort(v, n, sizeof *v, by_seconds);
    for (size_t k = 0; k < n; k++) {
        double x = v[k].rank - mean, y = mean_rank(v, n, k, by_seconds) - mean;

        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

double ml_board_regret(const ml_Board *b)
{
    enum { MOST = 32, LEAST = 4 };
    Pair v[MOST];
    size_t n = find_pairs(b, v, MOST);
    double first, best;

    if (n < LEAST)
        return (double)NAN;
    qsort(v, n, sizeof *v, by_expected);
    first = best = v[0].seconds;
    for (size_t k = 1; k < n; k++)
        best = fmin(best, v[k].seconds);
    return first / best - 1;
}

/* ---- designs in words */

typedef struct Part { /* of a design: `j=4×4×16` with a name, `parallel(i_0)` without */
    const char *p;
    size_t n, name;
} Part;
typedef ML_VEC(Part) Parts;

/* Commas outside of brackets stand between them. */
static void find_parts(ml_Ctx *cx, const char *p, Parts *out)
{
    while (*p) {
        Part part = {.p = p};
        int depth = 0;

        for (; p[part.n] && (depth > 0 || p[part.n] != ','); part.n++) {
            char c = p[part.n];

            depth +=
                (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
            if (c == '=' && depth == 0 && part.name == 0)
                part.name = part.n;
        }
        if (part.n)
            ml_push(cx, out, part);
        p += part.n;
        p += strspn(p, ", ");
    }
}

static const Part *find_same(const Parts *in, const Part *like, bool name)
{
    size_t n = name ? like->name : like->n;

    for (size_t k = 0; k < in->n; k++) {
        const Part *a = &in->v[k];

        if ((name ? a->name : a->n) == n && memcmp(a->p, like->p, n) == 0)
            return a;
    }
    return NULL;
}

static void add_between(ml_Text *out)
{
    if (out->n)
        ml_text_add(out, ", ");
}

void ml_board_against(const char *design, const char *best, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    Parts of = {0}, in = {0};
    ml_Text t = {0};

    find_parts(cx, design, &of);
    find_parts(cx, best, &in);
    for (size_t k = 0; k < of.n; k++) {
        const Part *p = &of.v[k], *other = p->name ? find_same(&in, p, true) : NULL;

        if (find_same(&in, p, false))
            continue;
        add_between(&t);
        if (other)
            ml_text_fmt(&t, "%.*s %.*s instead of %.*s", (int)p->name, p->p,
                        (int)(p->n - p->name - 1), p->p + p->name + 1,
                        (int)(other->n - other->name - 1), other->p + other->name + 1);
        else
            ml_text_fmt(&t, "with %.*s", (int)p->n, p->p);
    }
    for (size_t k = 0; k < in.n; k++) {
        const Part *p = &in.v[k];

        if (find_same(&of, p, p->name > 0))
            continue;
        add_between(&t);
        ml_text_fmt(&t, "without %.*s", (int)p->n, p->p);
    }
    ml_text_add(out, ml_text_z(&t));
    ml_text_free(&t);
    ml_ctx_unref(cx);
}
