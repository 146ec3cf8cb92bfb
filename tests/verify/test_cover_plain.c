/*
 * test_cover_plain - the int64 path of region cover against enumeration and against the
 * prover: it never claims what is not written, the prover shows all that it shows, and of
 * tiles it decides most.
 *
 * The prover is asked alone by putting the program under a thread loop of one iteration,
 * at which the int64 path gives up and which changes no truth.
 */
#include "../core/core_test.h"
#include "moonloop/verify/facts.h"
#include "verify/verify_test.h"

#include <inttypes.h>

enum { RANK = 2, SIZE = 12, INNER = 3, OUTER = 2 };

typedef struct Index { /* base + sum of outer[k] * vo_k + inner[k] * v_k, `width` from there
                        */
    int64_t base, width, outer[OUTER], inner[INNER];
} Index;

typedef struct Side { /* a block under loops lo ... lo + extent - 1 */
    size_t n;
    int64_t lo[INNER], extent[INNER];
    int64_t second;   /* v0 is bound to i0 + second * i1 */
    int shape[OUTER]; /* vo_k is bound to o_k, o_k // 2 or o_k % 2 */
    Index dim[RANK];
    int64_t digit[RANK]; /* m > 0: two dimensions hold dim // m and, last, dim % m */
} Side;

static int64_t below(Rng *rng, int64_t n)
{
    return rng_below(rng, (uint32_t)n);
}

/* Tiles that fill a range: the step of each loop is what the loops inside it fill. */
static void some_tiles(Rng *rng, Side *s)
{
    size_t order[INNER] = {0, 1, 2};

    s->n = 1 + (size_t)below(rng, INNER);
    for (size_t k = 0; k < s->n; k++) {
        size_t m = k + (size_t)below(rng, (int64_t)(s->n - k)), t = order[k];

        order[k] = order[m];
        order[m] = t;
        s->lo[k] = below(rng, 4) == 0 ? below(rng, 4) - 1 : 0;
        s->extent[k] = 1 + below(rng, 4);
    }
    int64_t run[RANK];

    for (size_t d = 0; d < RANK; d++)
        run[d] = s->dim[d].width = 1 + (below(rng, 3) == 0 ? below(rng, SIZE) : 0);
    for (size_t k = 0; k < s->n; k++) {
        size_t d = (size_t)below(rng, RANK), m = order[k];
        int64_t step = run[d] - (below(rng, 4) == 0 ? below(rng, run[d]) : 0);

        if (below(rng, 4) == 0) { /* downwards */
            s->dim[d].inner[m] = -step;
            s->dim[d].base += step * (s->extent[m] - 1 + 2 * s->lo[m]);
        } else {
            s->dim[d].inner[m] = step;
        }
        s->dim[d].base -= step * s->lo[m];
        run[d] += step * (s->extent[m] - 1);
    }
}

/* What a tile may get wrong: a wider step, a loop in two dimensions, a shifted start. */
static void disturb(Rng *rng, Side *s)
{
    Index *x = &s->dim[below(rng, RANK)];
    size_t m = (size_t)below(rng, (int64_t)s->n);

    switch (below(rng, 5)) {
    case 0: x->inner[m] += below(rng, 5) - 2; break;
    case 1: x->base += below(rng, 5) - 2; break;
    case 2: x->width += below(rng, 3); break;
    case 3: x->outer[below(rng, OUTER)] += 1; break;
    case 4: s->second = s->n > 1 ? below(rng, 4) : 0; break;
    }
}

static int64_t at(const Side *s, size_t d, const int64_t *outer, const int64_t *inner)
{
    const Index *x = &s->dim[d];
    int64_t sum = x->base;

    for (size_t k = 0; k < OUTER; k++) {
        int64_t v = s->shape[k] == 0   ? outer[k]
                    : s->shape[k] == 1 ? outer[k] / 2
                                       : outer[k] % 2;

        sum += x->outer[k] * v;
    }
    for (size_t k = 0; k < s->n; k++)
        sum += x->inner[k] * (inner[k] + (k == 0 && s->n > 1 ? s->second * inner[1] : 0));
    return sum;
}

/* The elements of the buffer that the block touches in one iteration of the outer loops. */
static void elements(const Side *s, const int64_t *outer, bool (*out)[SIZE])
{
    int64_t i[INNER] = {s->lo[0], s->lo[1], s->lo[2]};
    size_t k;

    memset(out, 0, SIZE * sizeof out[0]);
    do {
        int64_t x = at(s, 0, outer, i), y = at(s, 1, outer, i);

        for (int64_t a = x; a < x + s->dim[0].width; a++)
            for (int64_t b = y; b < y + s->dim[1].width; b++)
                if (a >= 0 && a < SIZE && b >= 0 && b < SIZE)
                    out[a][b] = true;
        for (k = 0; k < s->n; k++) {
            if (++i[k] < s->lo[k] + s->extent[k])
                break;
            i[k] = s->lo[k];
        }
    } while (k < s->n);
}

static bool truth(const Side *from, const Side *to, const int64_t *trips)
{
    bool written[SIZE][SIZE], read[SIZE][SIZE];
    int64_t o[OUTER];

    for (o[0] = 0; o[0] < trips[0]; o[0]++)
        for (o[1] = 0; o[1] < trips[1]; o[1]++) {
            elements(from, o, written);
            elements(to, o, read);
            for (size_t a = 0; a < SIZE; a++)
                for (size_t b = 0; b < SIZE; b++)
                    if (read[a][b] && !written[a][b])
                        return false;
        }
    return true;
}

static void add_index(ml_Text *t, const Side *s, size_t d, int64_t add)
{
    const Index *x = &s->dim[d];

    for (size_t k = 0; k < OUTER; k++)
        if (x->outer[k])
            ml_text_fmt(t, "w%zu * %" PRId64 " + ", k, x->outer[k]);
    for (size_t k = 0; k < s->n; k++)
        if (x->inner[k])
            ml_text_fmt(t, "v%zu * %" PRId64 " + ", k, x->inner[k]);
    ml_text_fmt(t, "%" PRId64, x->base + add);
}

static void indent(ml_Text *t, size_t depth)
{
    ml_text_repeat(t, ' ', 4 * depth);
}

enum { REGION, POINT, ELEMENT };

static void add_region(ml_Text *t, const Side *s, int what)
{
    ml_text_add(t, "b[");
    for (size_t d = 0; d < RANK; d++) {
        ml_text_add(t, d ? ", " : "");
        if (s->digit[d]) {
            ml_text_add(t, "(");
            add_index(t, s, d, 0);
            ml_text_fmt(t, ") // %" PRId64, s->digit[d]);
            continue;
        }
        add_index(t, s, d, 0);
        if (what == ELEMENT)
            ml_text_fmt(t, " + e%zu", d);
        if (what != REGION)
            continue;
        ml_text_add(t, " : ");
        add_index(t, s, d, s->dim[d].width);
    }
    for (size_t d = 0; d < RANK; d++)
        if (s->digit[d]) {
            ml_text_add(t, ", (");
            add_index(t, s, d, 0);
            ml_text_fmt(t, ") %% %" PRId64, s->digit[d]);
        }
    ml_text_add(t, "]");
}

static void add_side(ml_Text *t, const Side *s, bool writes, size_t depth)
{
    static const char *const shapes[] = {"", " // 2", " % 2"};
    char bound[32];

    for (size_t k = 0; k < s->n; k++) {
        indent(t, depth++);
        ml_text_fmt(t, "for i%zu in range(%" PRId64 ", %" PRId64 "):\n", k, s->lo[k],
                    s->lo[k] + s->extent[k]);
    }
    indent(t, depth++);
    ml_text_fmt(t, "with T.block(\"%s\"):\n", writes ? "W" : "R");
    for (size_t k = 0; k < OUTER; k++) {
        indent(t, depth);
        ml_text_fmt(t, "w%zu = T.axis.spatial(64, o%zu%s)\n", k, k, shapes[s->shape[k]]);
    }
    for (size_t k = 0; k < s->n; k++) {
        snprintf(bound, sizeof bound, " + i1 * %" PRId64, s->second);
        indent(t, depth);
        ml_text_fmt(t, "v%zu = T.axis.spatial((-64, 64), i%zu%s)\n", k, k,
                    k == 0 && s->n > 1 && s->second ? bound : "");
    }
    indent(t, depth);
    ml_text_add(t, "T.reads(");
    if (!writes)
        add_region(t, s, REGION);
    ml_text_add(t, ")\n");
    indent(t, depth);
    ml_text_add(t, "T.writes(");
    if (writes)
        add_region(t, s, REGION);
    else
        ml_text_add(t, "C[0]");
    ml_text_add(t, ")\n");
    if (writes) { /* all of the region */
        indent(t, depth++);
        ml_text_fmt(t, "for e0, e1 in T.grid(%" PRId64 ", %" PRId64 "):\n",
                    s->digit[0] ? 1 : s->dim[0].width, s->digit[1] ? 1 : s->dim[1].width);
    }
    indent(t, depth);
    ml_text_add(t, writes ? "" : "C[0] = ");
    add_region(t, s, writes ? ELEMENT : POINT);
    ml_text_add(t, writes ? " = T.float32(1)\n" : "\n");
}

static const char *program(ml_Ctx *cx, const Side *from, const Side *to,
                           const int64_t *trips, bool thread)
{
    ml_Text t = {0};
    size_t depth = 1;

    ml_text_add(&t, "    b = T.alloc_buffer((");
    for (size_t d = 0; d < RANK; d++)
        ml_text_fmt(&t, "%" PRId64 ", ", from->digit[d] ? SIZE / from->digit[d] : SIZE);
    for (size_t d = 0; d < RANK; d++)
        if (from->digit[d])
            ml_text_fmt(&t, "%" PRId64 ", ", from->digit[d]);
    ml_text_add(&t, "))\n");
    if (thread) {
        indent(&t, depth++);
        ml_text_add(&t, "for t in T.thread_binding(1, thread=\"blockIdx.x\"):\n");
    }
    for (size_t k = 0; k < OUTER; k++) {
        indent(&t, depth++);
        ml_text_fmt(&t, "for o%zu in range(%" PRId64 "):\n", k, trips[k]);
    }
    add_side(&t, from, true, depth);
    add_side(&t, to, false, depth);
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}

static bool plainly(const Prog *g)
{
    const ml_Block *w = block_of(g, "W"), *r = block_of(g, "R");

    return ml_covers_plainly(g->p, ml_index_lca(g->p.index, w->tag, r->tag), w,
                             &w->writes[0], r, &r->reads[0]);
}

static bool covered(const Prog *g)
{
    return ml_is_covered(g->cx, g->facts, g->p, block_uid(g, "R"), false);
}

/* Each loop moves one dimension, upwards, by just what the loops inside it fill. */
static bool exact_tiles(const Side *s)
{
    bool moved[INNER] = {false};

    for (size_t d = 0; d < RANK; d++) {
        int64_t run = s->dim[d].width;
        size_t left = 0;

        for (size_t k = 0; k < s->n; k++) {
            if (s->extent[k] == 1 || s->dim[d].inner[k] == 0)
                continue;
            if (moved[k])
                return false;
            moved[k] = true;
            left++;
        }
        for (bool more = true; more;) {
            more = false;
            for (size_t k = 0; k < s->n && !more; k++)
                if (s->extent[k] > 1 && s->dim[d].inner[k] == run) {
                    run *= s->extent[k];
                    left--;
                    more = true;
                }
        }
        if (left > 0)
            return false;
    }
    return s->second == 0;
}

static void what_numbers_show_is_true_and_shown_by_the_prover(void **state)
{
    static const int64_t digits[] = {2, 3, 4, 6};
    uint64_t n = getenv("ML_QUICK") ? 600 : 6000, n_plain = 0, n_true = 0, n_prover = 0,
             n_exact = 0, n_digits = 0;

    for (uint64_t seed = 1; seed <= n; seed++) {
        Rng rng = {seed};
        Side from = {.n = 0}, to = {.n = 0};
        int64_t trips[OUTER] = {1 + below(&rng, 3), 1 + below(&rng, 3)};
        ml_Ctx *cx = ml_ctx_new(0);

        some_tiles(&rng, &from);
        if (below(&rng, 2) == 0)
            to = from;
        else
            some_tiles(&rng, &to);
        for (size_t k = 0; k < OUTER; k++) {
            from.shape[k] = to.shape[k] = (int)below(&rng, 3);
            for (size_t d = 0; d < RANK; d++)
                from.dim[d].outer[k] = to.dim[d].outer[k] =
                    below(&rng, 2) ? 0 : below(&rng, 6) - 2;
        }
        for (int64_t k = below(&rng, 3); k > 0; k--)
            disturb(&rng, below(&rng, 2) ? &from : &to);
        for (size_t d = 0; d < RANK; d++)
            if (below(&rng, 3) == 0 && from.dim[d].width == 1 && to.dim[d].width == 1)
                from.digit[d] = to.digit[d] = digits[below(&rng, ML_COUNT(digits))];

        const char *text = program(cx, &from, &to, trips, false);
        const char *threaded = program(cx, &from, &to, trips, true);
        Prog g = prog_any("C: T.Buffer((1,), \"float32\")", text);
        Prog h = prog_any("C: T.Buffer((1,), \"float32\")", threaded);
        bool is = truth(&from, &to, trips), plain = plainly(&g), prover = covered(&h);

        if (plain && !is)
            fail_msg("seed %" PRIu64 ": numbers claim cover\n%s", seed, text);
        if (prover && !is)
            fail_msg("seed %" PRIu64 ": the prover claims cover\n%s", seed, text);
        if (plain && !prover && exact_tiles(&from) && !from.digit[0] && !from.digit[1])
            fail_msg("seed %" PRIu64 ": the prover does not show it\n%s", seed, text);
        if (plain != (covered(&g) && plain))
            fail_msg("seed %" PRIu64 ": numbers are not asked\n%s", seed, text);
        assert_false(plainly(&h)); /* thread loops are the prover's */
        n_true += is;
        n_plain += plain;
        n_prover += prover;
        n_exact += plain && exact_tiles(&from);
        n_digits += plain && (from.digit[0] || from.digit[1]);
        prog_free(&g);
        prog_free(&h);
        ml_ctx_unref(cx);
    }
    print_message("covered %" PRIu64 " of %" PRIu64 ": shown by numbers %" PRIu64
                  " (%" PRIu64 " exact tiles, %" PRIu64 " digits), by the prover %" PRIu64
                  "\n",
                  n_true, n, n_plain, n_exact, n_digits, n_prover);
    assert_true(n_digits * 8 > n_plain);
    assert_true(n_true > n / 5 && n - n_true > n / 5);
    assert_true(n_plain * 2 > n_true && n_exact * 2 > n_plain);
}

/* ---- one reason each */

typedef struct Row {
    const char *what;
    const char *loops, *axes, *writes; /* of block W, on b of 64 elements */
    bool plainly;
} Row;

/* W, and R that reads b[0 : 64] under no loop. */
static Prog row_program(const Row *r, const char *reads)
{
    ml_Text t = {0};

    ml_text_add(&t, "    b = T.alloc_buffer((64,))\n");
    ml_text_fmt(&t,
                "    for %s:\n        with T.block(\"W\"):\n            %s\n"
                "            T.reads()\n            T.writes(b[%s])\n"
                "            T.evaluate(0)\n",
                r->loops, r->axes, r->writes);
    ml_text_fmt(&t,
                "    with T.block(\"R\"):\n        T.reads(b[%s])\n        "
                "T.writes()\n        T.evaluate(0)\n",
                reads);
    Prog g = prog_any("N: T.int32", ml_text_z(&t));

    ml_text_free(&t);
    return g;
}

static void each_reason_to_decline_is_met(void **state)
{
    static const Row rows[] = {
        {"one loop", "i in range(64)", "v = T.axis.spatial(64, i)", "v", true},
        {"two loops", "i, j in T.grid(8, 8)", "v, w = T.axis.remap(\"SS\", [i, j])",
         "v * 8 + w", true},
        {"the loops the other way", "i, j in T.grid(8, 8)",
         "v, w = T.axis.remap(\"SS\", [i, j])", "w * 8 + v", true},
        {"downwards", "i in range(64)", "v = T.axis.spatial(64, i)", "63 - v", true},
        {"from the end of the range", "i in range(8, 72)", "v = T.axis.spatial((8, 72), i)",
         "v - 8", true},
        {"a sum in the binding", "i, j in T.grid(16, 4)",
         "v = T.axis.spatial(64, i * 4 + j)", "v", true},
        {"runs", "i in range(16)", "v = T.axis.spatial(16, i)", "v * 4 : v * 4 + 4", true},
        {"runs that overlap", "i in range(32)", "v = T.axis.spatial(32, i)",
         "v * 2 : v * 2 + 4", true},
        {"beyond both ends", "i in range(80)", "v = T.axis.spatial(80, i)", "v - 8", true},
        {"one element short", "i in range(63)", "v = T.axis.spatial(63, i)", "v", false},
        {"a gap", "i in range(64)", "v = T.axis.spatial(64, i)", "v * 2", false},
        {"a gap between runs", "i in range(16)", "v = T.axis.spatial(16, i)",
         "v * 5 : v * 5 + 4", false},
        {"no iteration", "i in range(0)", "v = T.axis.spatial(1, i)", "0 : 64", false},
        {"a predicate", "i in range(64)",
         "v = T.axis.spatial(64, i)\n            T.where(i < 64 - N)", "v", false},
        {"a symbolic extent", "i in range(N)", "v = T.axis.spatial(N, i)", "v", false},
        {"a thread loop", "i in T.thread_binding(64, thread=\"threadIdx.x\")",
         "v = T.axis.spatial(64, i)", "v", false},
        {"no linear index", "i in range(64)", "v = T.axis.spatial(64, i)",
         "v // 1 % 64 % 64", false},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        Prog g = row_program(&rows[k], "0 : 64");

        if (plainly(&g) != rows[k].plainly)
            fail_msg("%s: %s", rows[k].what, rows[k].plainly ? "declined" : "claimed");
        prog_free(&g);
    }
}

/* W in front of R, both whole statements of a function with b: (16, 4). */
static void digits_of_one_index_are_one_dimension(void **state)
{
    static const struct {
        const char *what, *write_loops, *write, *read_loops, *read;
        bool plainly;
    } rows[] = {
        {"digits on both sides", "i in range(64)", "v // 4, v % 4", "i in range(60)",
         "(v + 4) // 4, (v + 4) % 4", true},
        {"a box of what is whole", "i in range(64)", "v // 4, v % 4", "i in range(16)",
         "v, 0:4", true},
        {"one element short", "i in range(59)", "v // 4, v % 4", "i in range(60)",
         "v // 4, v % 4", false},
        {"from below the start", "i in range(40)", "(v - 4) // 4, (v - 4) % 4",
         "i in range(36)", "v // 4, v % 4", true},
        {"read up to a later element", "i in range(40)", "(v - 4) // 4, (v - 4) % 4",
         "i in range(37)", "v // 4, v % 4", false},
        {"a gap", "i in range(31)", "v * 2 // 4, v * 2 % 4", "i in range(8)",
         "v // 4, v % 4", false},
        {"digits of two indices", "i in range(64)", "v // 4, (v + 1) % 4", "i in range(64)",
         "v // 4, v % 4", false},
        {"other digits", "i in range(32)", "v // 4, v % 4", "i in range(8)",
         "v // 2, v % 2", false},
        {"digits read of boxes", "i in range(12)", "v, 0:4", "i in range(48)",
         "v // 4, v % 4", true},
        {"digits read beyond boxes", "i in range(12)", "v, 0:4", "i in range(49)",
         "v // 4, v % 4", false},
        {"the digits the other way", "i in range(16)", "v % 16, v // 16 * 0",
         "i in range(1)", "v, 0", false},
        {"a loop in both", "i in range(16)", "v, v % 4", "i in range(16)", "v, v % 4",
         false},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Text t = {0};

        ml_text_fmt(&t,
                    "    b = T.alloc_buffer((16, 4))\n"
                    "    for %s:\n        with T.block(\"W\"):\n"
                    "            v = T.axis.spatial(64, i)\n            T.reads()\n"
                    "            T.writes(b[%s])\n            T.evaluate(0)\n"
                    "    for %s:\n        with T.block(\"R\"):\n"
                    "            v = T.axis.spatial(64, i)\n            T.reads(b[%s])\n"
                    "            T.writes()\n            T.evaluate(0)\n",
                    rows[k].write_loops, rows[k].write, rows[k].read_loops, rows[k].read);
        Prog g = prog_any("N: T.int32", ml_text_z(&t));

        if (plainly(&g) != rows[k].plainly)
            fail_msg("%s: %s", rows[k].what, rows[k].plainly ? "declined" : "claimed");
        prog_free(&g);
        ml_text_free(&t);
    }
}

/* o runs once, so that both sides mean the same element. */
static void loops_that_run_once_are_numbers(void **state)
{
    Prog g = prog_any("N: T.int32", "    b = T.alloc_buffer((8, 64))\n"
                                    "    for o in range(3, 4):\n"
                                    "        for i in range(64):\n"
                                    "            with T.block(\"W\"):\n"
                                    "                u = T.axis.spatial(8, o)\n"
                                    "                v = T.axis.spatial(64, i)\n"
                                    "                b[u, v] = T.float32(0)\n"
                                    "        for i in range(64):\n"
                                    "            with T.block(\"R\"):\n"
                                    "                v = T.axis.spatial(64, i)\n"
                                    "                T.reads(b[3, v])\n"
                                    "                T.writes()\n"
                                    "                T.evaluate(0)\n");

    assert_true(plainly(&g));
    prog_free(&g);
}

static void sums_beyond_int64_are_declined(void **state)
{
    static const Row rows[] = {
        {"the end of the range", "i in T.serial(T.int64(5))",
         "v = T.axis.spatial(T.int64(5), i)",
         "v * T.int64(4611686018427387904) : "
         "v * T.int64(4611686018427387904) + T.int64(4611686018427387904)",
         false},
        {"its start", "i in T.serial(T.int64(4), T.int64(6))",
         "v = T.axis.spatial((T.int64(4), T.int64(6)), i)",
         "v * T.int64(4611686018427387904) : "
         "v * T.int64(4611686018427387904) + T.int64(4611686018427387904)",
         false},
        {"a step without its opposite", "i in T.serial(T.int64(2))",
         "v = T.axis.spatial(T.int64(2), i)",
         "v * T.int64(-9223372036854775808) : "
         "v * T.int64(-9223372036854775808) + T.int64(64)",
         false},
        {"the run", "i in T.serial(T.int64(9223372036854775807))",
         "v = T.axis.spatial(T.int64(9223372036854775807), i)",
         "v - T.int64(2) : v + T.int64(1)", false},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        Prog g = row_program(&rows[k], "T.int64(0) : T.int64(64)");

        if (plainly(&g))
            fail_msg("%s: claimed", rows[k].what);
        prog_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_numbers_show_is_true_and_shown_by_the_prover),
        cmocka_unit_test(each_reason_to_decline_is_met),
        cmocka_unit_test(digits_of_one_index_are_one_dimension),
        cmocka_unit_test(loops_that_run_once_are_numbers),
        cmocka_unit_test(sums_beyond_int64_are_declined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
