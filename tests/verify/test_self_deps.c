/* Orders of the instances of a block, against all pairs of instances: of small random
 * accesses exactly, of symbolic sizes one-sided; and which blocks run in any order. */
#include "moonloop/verify/order/self_deps.h"
#include "verify_test.h"

enum { LOOPS = 3, DIMS = 2, MAX = 4, PROGRAMS = 1500 };

static uint64_t random_state = 20;

static int below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (unsigned)n);
}

typedef struct Index { /* (c . v + at) % mod // div; mod 0: none */
    int c[LOOPS], at, mod, div;
} Index;

typedef struct Random {
    int n, extent[LOOPS], order[LOOPS];
    bool back[LOOPS];      /* by place in the new order: runs backwards */
    Index access[2][DIMS]; /* what is written, and read */
} Random;

static int index_at(const Index *x, const int *v, int n)
{
    int at = x->at;

    for (int k = 0; k < n; k++)
        at += x->c[k] * v[k];
    at = x->mod ? at % x->mod : at;
    return at / x->div;
}

static void index_text(const Index *x, int n, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "((");

    for (int k = 0; k < n; k++)
        if (x->c[k])
            at += (size_t)snprintf(out + at, size - at, "v%d * %d + ", k, x->c[k]);
    at += (size_t)snprintf(out + at, size - at, "%d)", x->at);
    at += (size_t)snprintf(out + at, size - at, x->mod ? " %% %d)" : ")", x->mod);
    if (x->div > 1)
        snprintf(out + at, size - at, " // %d", x->div);
}

static Random any_random(void)
{
    Random r = {.n = 2 + below(2)};

    for (int k = 0; k < r.n; k++) {
        r.extent[k] = 1 + below(MAX);
        r.order[k] = k;
    }
    for (int k = r.n - 1; k > 0; k--) {
        int o = below(k + 1), t = r.order[k];

        r.order[k] = r.order[o];
        r.order[o] = t;
    }
    for (int k = 0; k < r.n; k++)
        r.back[k] = below(6) == 0;
    for (int a = 0; a < 2; a++)
        for (int d = 0; d < DIMS; d++) {
            Index *x = &r.access[a][d];

            if (a == 1 && below(2)) {
                *x = r.access[0][d]; /* as it is written, or beside it */
                x->at += below(3) - 1;
                continue;
            }
            *x = (Index){.at = 12, .div = 1};
            for (int k = 0; k < r.n; k++)
                x->c[k] =
                    below(3) ? below(2) * (d == k % DIMS || below(3) == 0) : below(4) - 1;
            x->mod = below(6) == 0 ? 2 + below(3) : 0;
            x->div = below(6) == 0 ? 2 : 1;
        }
    return r;
}

static Prog program_of(const Random *r, bool symbolic)
{
    static const char *const names[LOOPS] = {"i", "j", "k"};
    char text[1200], idx[2][DIMS][120];
    size_t at = 0;

    for (int a = 0; a < 2; a++)
        for (int d = 0; d < DIMS; d++)
            index_text(&r->access[a][d], r->n, idx[a][d], sizeof idx[a][d]);
    for (int k = 0; k < r->n; k++)
        if (symbolic)
            at +=
                (size_t)snprintf(text + at, sizeof text - at, "%*sfor %s in range(n%d):\n",
                                 4 * (k + 1), "", names[k], k);
        else
            at += (size_t)snprintf(text + at, sizeof text - at, "%*sfor %s in range(%d):\n",
                                   4 * (k + 1), "", names[k], r->extent[k]);
    int in = 4 * (r->n + 1);

    at +=
        (size_t)snprintf(text + at, sizeof text - at, "%*swith T.block(\"b\"):\n", in, "");
    for (int k = 0; k < r->n; k++)
        if (symbolic)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "%*sv%d = T.axis.spatial(n%d, %s)\n", in + 4, "", k, k,
                                   names[k]);
        else
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "%*sv%d = T.axis.spatial(%d, %s)\n", in + 4, "", k,
                                   r->extent[k], names[k]);
    snprintf(text + at, sizeof text - at, "%*sS[%s, %s] = S[%s, %s] * 3 + 1\n", in + 4, "",
             idx[0][0], idx[0][1], idx[1][0], idx[1][1]);
    return prog_any(symbolic
                        ? "S: T.Buffer((64, 64), \"int32\"), n0: T.int32, n1: T.int32, "
                          "n2: T.int32"
                        : "S: T.Buffer((64, 64), \"int32\")",
                    text);
}

/* *seen: without the analysis. */
static bool keeps(const Prog *g, const Random *r, bool *seen)
{
    ml_Ctx *cx = g->cx;
    ml_StmtVec loops = {0};
    ml_Dom dom[LOOPS];
    const ml_Expr *key[LOOPS], *extents[LOOPS];
    const ml_Block *b = block_of(g, "b");

    ml_index_loops(cx, g->p.index, b->tag, &loops);
    assert_int_equal(loops.n, r->n);
    for (int k = 0; k < r->n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]), *to = ml_as_for(loops.v[r->order[k]]);

        dom[k] = (ml_Dom){f->var, f->min, f->extent};
        key[k] = ml_var(cx, to->var);
        if (r->back[k])
            key[k] = ml_sub(cx, ml_sub(cx, to->extent, ml_i32(cx, 1)), key[k]);
        extents[k] = to->extent;
    }
    *seen = ml_order_stays(b, dom, loops.n, key, loops.n);
    bool kept = ml_keeps_order(cx, g->p,
                               &(ml_NewOrder){.loops = dom,
                                              .n = loops.n,
                                              .key = key,
                                              .extents = extents,
                                              .n_key = loops.n,
                                              .blocks = &b,
                                              .n_blocks = 1});

    ml_error_clear(cx);
    return kept;
}

/* The instance with that number, in the order of the loops; false: there is none. */
static bool instance(const Random *r, int number, int *v)
{
    for (int k = r->n; k-- > 0;) {
        v[k] = number % r->extent[k];
        number /= r->extent[k];
    }
    return number == 0;
}

static bool comes_later(const Random *r, const int *p, const int *q)
{
    for (int k = 0; k < r->n; k++) {
        int a = p[r->order[k]], b = q[r->order[k]];

        if (a != b)
            return r->back[k] ? a < b : a > b;
    }
    return false;
}

static bool share(const Random *r, const int *p, const int *q)
{
    for (int pair = 0; pair < 3; pair++) { /* write and write, write and read, the other */
        bool same = true;

        for (int d = 0; d < DIMS; d++)
            same &= index_at(&r->access[pair == 2][d], p, r->n) ==
                    index_at(&r->access[pair == 1][d], q, r->n);
        if (same)
            return true;
    }
    return false;
}

static bool truly_keeps(const Random *r)
{
    int p[LOOPS], q[LOOPS];

    for (int m = 0; instance(r, m, q); m++)
        for (int k = 0; k < m; k++) {
            instance(r, k, p);
            if (share(r, p, q) && comes_later(r, p, q))
                return false;
        }
    return true;
}

static void small_programs_are_decided(void **state)
{
    int kept = 0, stay = 0;

    (void)state;
    for (int k = 0; k < PROGRAMS; k++) {
        Random r = any_random();
        Prog g = program_of(&r, false);
        bool seen, have = keeps(&g, &r, &seen), want = truly_keeps(&r);

        if (seen)
            assert_true(want);
        stay += seen;
        if (have != want) {
            ml_Text t = {0};

            ml_print_module(g.cx, &t, g.p.mod, NULL);
            fail_msg("program %d is %s, order %d %d %d\n%s", k, want ? "kept" : "changed",
                     r.order[0], r.order[1], r.order[2], ml_text_z(&t));
        }
        if (ml_any_order(g.cx, g.facts, g.p, block_of(&g, "b"), (ml_Combines){0},
                         ML_RUNS_EQUAL))
            assert_true(want);
        kept += have;
        prog_free(&g);
    }
    assert_in_range(kept, PROGRAMS / 10, PROGRAMS * 9 / 10);
    assert_in_range(stay, PROGRAMS / 20, kept);
}

static void what_is_shown_for_all_sizes_holds(void **state)
{
    int shown = 0;

    (void)state;
    for (int k = 0; k < PROGRAMS; k++) {
        Random r = any_random();
        Prog g = program_of(&r, true);
        bool seen;

        if (keeps(&g, &r, &seen) || seen) {
            shown++;
            for (int size = 0; size < 64; size++) {
                for (int m = 0, rest = size; m < r.n; m++, rest /= 4)
                    r.extent[m] = 1 + rest % 4;
                assert_true(truly_keeps(&r));
            }
        }
        prog_free(&g);
    }
    assert_in_range(shown, PROGRAMS / 20, PROGRAMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_programs_are_decided),
        cmocka_unit_test(what_is_shown_for_all_sizes_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
