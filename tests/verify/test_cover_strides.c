/*
 * Region cover of writers with gaps, against enumeration: a claim is never wrong, and of
 * blocks that write arithmetic progressions nothing is missed.
 */
#include "../core/core_test.h"
#include "verify/verify_test.h"

#include <inttypes.h>

enum { MAX_WRITERS = 3, SIZE = 64 };

/* One access of `b[o*outer + index + c]`, `width` elements from there. */
typedef struct Part {
    int64_t outer, step, start, extent, width;
    int64_t group;  /* > 1: index is (i // group) * step + i % group, else i * step */
    int64_t run_to; /* > 0: where i < run_to */
} Part;

static int64_t below(Rng *rng, int64_t n)
{
    return rng_below(rng, (uint32_t)n);
}

static Part some_part(Rng *rng, bool outer, bool odd)
{
    static const int64_t steps[] = {1, 2, 2, 2, 3, 4, 4, 6};
    Part p = {.step = steps[below(rng, ML_COUNT(steps))], .width = 1};

    p.start = below(rng, p.step + 2);
    p.extent = 1 + below(rng, 12);
    if (below(rng, 4) == 0)
        p.width = 1 + below(rng, p.step);
    if (odd && below(rng, 3) == 0) {
        p.group = 2;
        p.step = 4;
        p.extent = 2 * (1 + below(rng, 5));
    }
    if (odd && below(rng, 4) == 0)
        p.run_to = 1 + below(rng, p.extent);
    p.outer = outer ? 1 + below(rng, 16) : 0;
    return p;
}

static void index_text(ml_Text *t, const Part *p, int64_t add)
{
    if (p->outer)
        ml_text_fmt(t, "vo * %" PRId64 " + ", p->outer);
    if (p->group > 1)
        ml_text_fmt(t, "v // %" PRId64 " * %" PRId64 " + v %% %" PRId64, p->group, p->step,
                    p->group);
    else
        ml_text_fmt(t, "v * %" PRId64, p->step);
    ml_text_fmt(t, " + %" PRId64, p->start + add);
}

static void part_text(ml_Text *t, const Part *p, const char *name, bool writes, bool outer)
{
    const char *in = outer ? "    " : "";

    ml_text_fmt(t, "    %sfor i in range(%" PRId64 "):\n", in, p->extent);
    ml_text_fmt(t, "        %swith T.block(\"%s\"):\n", in, name);
    if (outer)
        ml_text_fmt(t, "            %svo = T.axis.spatial(8, o)\n", in);
    ml_text_fmt(t, "            %sv = T.axis.spatial(%" PRId64 ", i)\n", in, p->extent);
    if (p->run_to)
        ml_text_fmt(t, "            %sT.where(i < %" PRId64 ")\n", in, p->run_to);
    ml_text_fmt(t, "            %sT.reads(%s", in, writes ? "" : "b[");
    for (int64_t end = 0; !writes && end < 2; end++) {
        index_text(t, p, end * p->width);
        ml_text_add(t, end ? "]" : " : ");
    }
    ml_text_fmt(t, ")\n            %sT.writes(%s", in, writes ? "b[" : "C[v]");
    for (int64_t end = 0; writes && end < 2; end++) {
        index_text(t, p, end * p->width);
        ml_text_add(t, end ? "]" : " : ");
    }
    ml_text_add(t, ")\n");
    if (writes) {
        ml_text_fmt(t, "            %sfor e in range(%d):\n                %sb[", in,
                    (int)p->width, in);
        index_text(t, p, 0);
        ml_text_add(t, " + e] = T.float32(1)\n");
    } else {
        ml_text_fmt(t, "            %sC[v] = T.float32(1)\n", in);
    }
}

/* What it touches in iteration o of the outer loop; true: something beyond the buffer. */
static uint64_t elements(const Part *p, int64_t o)
{
    uint64_t bits = 0;
    int64_t n = p->run_to ? p->run_to : p->extent;

    for (int64_t i = 0; i < n; i++) {
        int64_t x = p->group > 1 ? i / p->group * p->step + i % p->group : i * p->step;

        for (int64_t t = 0; t < p->width; t++) {
            int64_t at = o * p->outer + x + p->start + t;

            if (at < SIZE)
                bits |= UINT64_C(1) << at;
        }
    }
    return bits;
}

typedef struct Counts {
    uint64_t covered, holes, missed;
} Counts;

static void compare(uint64_t seed, bool odd, Counts *counts)
{
    Rng rng = {seed};
    bool outer = below(&rng, 2) != 0, truth = true;
    size_t n = 1 + (size_t)below(&rng, MAX_WRITERS);
    Part parts[MAX_WRITERS + 1];
    ml_Text text = {0};

    for (size_t k = 0; k <= n; k++) {
        parts[k] = some_part(&rng, outer, odd);
        if (outer && (below(&rng, 4) != 0 || !odd))
            parts[k].outer = parts[0].outer;
        /* Most of the time the reader asks for what one of them writes, or for all. */
        if (k == n && below(&rng, 3) != 0) {
            parts[k].step = parts[0].step;
            parts[k].group = parts[0].group;
            parts[k].start = parts[0].start;
            if (below(&rng, 2) != 0) {
                parts[k].step = 1;
                parts[k].group = 0;
                parts[k].start = 1 + below(&rng, 3);
            }
        }
        if (k > 0 && k < n && below(&rng, 2) != 0) {
            parts[k] = parts[0];
            parts[k].start = below(&rng, parts[0].step + 1);
            parts[k].extent += below(&rng, 3) * (parts[k].group > 1 ? 2 : 1);
        }
    }
    if (outer)
        ml_text_add(&text, "    for o in range(4):\n");
    for (size_t k = 0; k <= n; k++) {
        const char *names[] = {"w0", "w1", "w2"};

        part_text(&text, &parts[k], k < n ? names[k] : "R", k < n, outer);
    }
    for (int64_t o = 0; o < (outer ? 4 : 1); o++) {
        uint64_t written = 0;

        for (size_t k = 0; k < n; k++)
            written |= elements(&parts[k], o);
        truth &= (elements(&parts[n], o) & ~written) == 0;
    }
    ml_Text whole = {0};

    ml_text_add(&whole, "    b = T.alloc_buffer((64,))\n");
    ml_text_add(&whole, ml_text_z(&text));
    Prog g = prog_any("C: T.Buffer((64,), \"float32\")", ml_text_z(&whole));
    bool said = ml_is_covered(g.cx, g.facts, g.p, block_uid(&g, "R"), false);

    if (said && !truth)
        fail_msg("seed %" PRIu64 " claims cover:\n%s", seed, ml_text_z(&whole));
    if (getenv("ML_SHOW") && truth && !said)
        print_message("seed %" PRIu64 " not shown:\n%s", seed, ml_text_z(&whole));
    counts->covered += truth && said;
    counts->missed += truth && !said;
    counts->holes += !truth;
    ml_text_free(&whole);
    ml_text_free(&text);
    prog_free(&g);
}

static uint64_t rounds(uint64_t n)
{
    return getenv("ML_QUICK") ? n / 10 : n;
}

static void progressions_are_decided_as_by_enumeration(void **state)
{
    Counts c = {0};
    uint64_t n = rounds(6000);

    (void)state;
    for (uint64_t seed = 1; seed <= n; seed++)
        compare(seed, false, &c);
    print_message("covered %" PRIu64 ", not %" PRIu64 ", missed %" PRIu64 "\n", c.covered,
                  c.holes, c.missed);
    assert_true(c.covered > n / 10 && c.holes > n / 10);
    assert_true(c.missed == 0);
}

static void groups_and_predicates_are_never_claimed_wrongly(void **state)
{
    Counts c = {0};
    uint64_t n = rounds(4000);

    (void)state;
    for (uint64_t seed = 1; seed <= n; seed++)
        compare(seed, true, &c);
    print_message("covered %" PRIu64 ", not %" PRIu64 ", missed %" PRIu64 "\n", c.covered,
                  c.holes, c.missed);
    assert_true(c.covered > n / 10 && c.holes > n / 10);
    assert_true(c.missed * 6 < c.covered); /* ranges of groups that overlap */
}

/* ---- two dimensions, thread loops, and what must stay refused */

static bool covers(const char *body)
{
    Prog g = prog_any("C: T.Buffer((64, 64), \"float32\")", body);
    bool said = ml_is_covered(g.cx, g.facts, g.p, block_uid(&g, "R"), false);

    prog_free(&g);
    return said;
}

static void four_quarters_of_a_checkerboard_cover_it(void **state)
{
    static const char part[] = "    for i, j in T.grid(16, 16):\n"
                               "        with T.block(\"w%d%d\"):\n"
                               "            x, y = T.axis.remap(\"SS\", [i, j])\n"
                               "            b[x * 2 + %d, y * 2 + %d] = T.float32(1)\n";
    static const char reader[] = "    for i, j in T.grid(32, 32):\n"
                                 "        with T.block(\"R\"):\n"
                                 "            x, y = T.axis.remap(\"SS\", [i, j])\n"
                                 "            C[x, y] = b[x, y]\n";

    (void)state;
    for (int n = 3; n <= 4; n++) {
        ml_Text t = {0};

        ml_text_add(&t, "    b = T.alloc_buffer((32, 32))\n");
        for (int k = 0; k < n; k++)
            ml_text_fmt(&t, part, k / 2, k % 2, k / 2, k % 2);
        ml_text_add(&t, reader);
        assert_true(covers(ml_text_z(&t)) == (n == 4));
        ml_text_free(&t);
    }
}

static void every_thread_writes_a_strided_element_of_shared_memory(void **state)
{
    static const char text[] =
        "    b = T.alloc_buffer((64,), scope=\"%s\")\n"
        "    for t in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
        "        with T.block(\"W\"):\n"
        "            v = T.axis.spatial(32, t)\n"
        "            b[v * 2] = T.float32(1)\n"
        "        with T.block(\"R\"):\n"
        "            v = T.axis.spatial(32, t)\n"
        "            C[v, 0] = b[%s]\n";
    const char *const cases[][2] = {{"shared", "62 - v * 2"},
                                    {"local", "v * 2"},
                                    {"local", "62 - v * 2"},
                                    {"shared", "v"}};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Text t = {0};

        ml_text_fmt(&t, text, cases[k][0], cases[k][1]);
        assert_true(covers(ml_text_z(&t)) == (k < 2));
        ml_text_free(&t);
    }
}

static void a_symbolic_number_of_strided_elements_is_covered(void **state)
{
    static const char text[] = "    n = T.int32()\n"
                               "    A = T.match_buffer(a, (n,))\n"
                               "    D = T.match_buffer(d, (n,))\n"
                               "    b = T.alloc_buffer((n * 2,))\n"
                               "    for i in range(n):\n"
                               "        with T.block(\"W\"):\n"
                               "            v = T.axis.spatial(n, i)\n"
                               "            b[v * 2 + 1] = A[v]\n"
                               "    for i in range(n):\n"
                               "        with T.block(\"R\"):\n"
                               "            v = T.axis.spatial(n, i)\n"
                               "            D[v] = b[v * 2 + %d]\n";

    (void)state;
    for (int k = 0; k < 2; k++) {
        ml_Text t = {0};

        ml_text_fmt(&t, text, k);
        Prog g = prog_any("a: T.handle, d: T.handle", ml_text_z(&t));

        assert_true(ml_is_covered(g.cx, g.facts, g.p, block_uid(&g, "R"), false) ==
                    (k == 1));
        prog_free(&g);
        ml_text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progressions_are_decided_as_by_enumeration),
        cmocka_unit_test(groups_and_predicates_are_never_claimed_wrongly),
        cmocka_unit_test(four_quarters_of_a_checkerboard_cover_it),
        cmocka_unit_test(every_thread_writes_a_strided_element_of_shared_memory),
        cmocka_unit_test(a_symbolic_number_of_strided_elements_is_covered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
