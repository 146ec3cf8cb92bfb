/* Keys that grow as the loops run, against all pairs of iterations of small loops; and what
 * counts where an instance runs several times. */
#include "moonloop/verify/order/self_deps.h"
#include "verify_test.h"

enum { LOOPS = 3, KEYS = 3, MAX = 4, PROGRAMS = 4000 };

static uint64_t random_state = 7;

static int below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (unsigned)n);
}

typedef struct Part { /* of a key: (w . v + at) // div; v are the values of the loops */
    int w[LOOPS], at, div;
} Part;

typedef struct Case {
    int extent[LOOPS], min[LOOPS], slope; /* the second loop starts at slope * the first */
    int n_key;
    Part key[KEYS];
} Case;

static Case any_case(void)
{
    Case c = {.n_key = 1 + below(KEYS), .slope = below(8) == 0};

    for (int k = 0; k < LOOPS; k++) {
        c.extent[k] = 1 + below(MAX);
        c.min[k] = below(3) - 1;
    }
    for (int m = 0; m < c.n_key; m++) {
        Part *p = &c.key[m];

        *p = (Part){.at = below(3), .div = below(8) ? 1 : 2};
        for (int k = 0; k < LOOPS; k++)
            p->w[k] = k < m ? below(4) == 0 : below(3) ? below(2) * (k == m) : below(8) - 1;
    }
    return c;
}

static int value_of(const Part *p, const int *v)
{
    int sum = p->at + 64; /* no negative number is divided */

    for (int k = 0; k < LOOPS; k++)
        sum += p->w[k] * v[k];
    return sum / p->div;
}

static bool seen_to_grow(ml_Ctx *cx, const Case *c)
{
    ml_Dom dom[LOOPS];
    const ml_Expr *key[KEYS];

    for (int k = 0; k < LOOPS; k++) {
        dom[k] = (ml_Dom){ml_var_new(cx, "i", ML_DT_I32), ml_i32(cx, c->min[k]),
                          ml_i32(cx, c->extent[k])};
        if (k == 1 && c->slope)
            dom[k].min = ml_add(cx, dom[k].min, ml_var(cx, dom[0].var));
    }
    for (int m = 0; m < c->n_key; m++) {
        const Part *p = &c->key[m];

        key[m] = ml_i32(cx, p->at + 64);
        for (int k = 0; k < LOOPS; k++)
            if (p->w[k])
                key[m] = ml_add(cx, key[m],
                                ml_mul(cx, ml_var(cx, dom[k].var), ml_i32(cx, p->w[k])));
        if (p->div > 1)
            key[m] = ml_floordiv(cx, key[m], ml_i32(cx, p->div));
    }
    return ml_key_grows(dom, LOOPS, key, (size_t)c->n_key);
}

static void iteration(const Case *c, int number, int *v)
{
    for (int k = LOOPS; k-- > 0; number /= c->extent[k])
        v[k] = c->min[k] + number % c->extent[k];
    v[1] += c->slope * v[0];
}

static bool truly_grows(const Case *c)
{
    int n = c->extent[0] * c->extent[1] * c->extent[2], p[LOOPS], q[LOOPS];

    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            int order = 0;

            iteration(c, a, p);
            iteration(c, b, q);
            for (int m = 0; m < c->n_key && order == 0; m++)
                order = value_of(&c->key[m], q) - value_of(&c->key[m], p);
            if (order < 0)
                return false;
        }
    return true;
}

static void what_grows_grows_for_all_pairs(void **state)
{
    int seen = 0, missed = 0;

    (void)state;
    for (int k = 0; k < PROGRAMS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        Case c = any_case();
        bool have = seen_to_grow(cx, &c), want = truly_grows(&c);

        if (have && !want)
            fail_msg("key %d falls somewhere", k);
        seen += have;
        missed += want && !have;
        ml_ctx_unref(cx);
    }
    assert_in_range(seen, PROGRAMS / 10, PROGRAMS);
    assert_in_range(missed, 0, seen);
}

static void tiles_grow(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *i = ml_var_new(cx, "i", ML_DT_I32), *j = ml_var_new(cx, "j", ML_DT_I32);
    const ml_Expr *at =
        ml_add(cx, ml_mul(cx, ml_var(cx, i), ml_i32(cx, 16)), ml_var(cx, j));
    ml_Dom dom[2] = {{i, ml_i32(cx, 0), ml_i32(cx, 9)}, {j, ml_i32(cx, 0), ml_i32(cx, 16)}};

    (void)state;
    assert_true(ml_key_grows(dom, 2, &at, 1));
    dom[1].extent = ml_i32(cx, 17); /* 0 * 16 + 16 comes before 1 * 16 + 0, and is equal */
    assert_false(ml_key_grows(dom, 2, &at, 1));
    ml_ctx_unref(cx);
}

/* A copy of what is fed keeps the last run of each instance; a value that several instances
 * store is one value only while nothing writes it. */
static void runs_of_one_instance_count(void **state)
{
    static const char copy[] = "    for t, i in T.grid(2, 8):\n"
                               "        with T.block(\"b\"):\n"
                               "            v = T.axis.spatial(8, i)\n"
                               "            B[v] = A[v]\n",
                      value[] = "    for t, i in T.grid(2, 8):\n"
                                "        with T.block(\"b\"):\n"
                                "            u, v = T.axis.remap(\"SS\", [t, i])\n"
                                "            B[v] = A[v]\n";
    static const bool want[2][3] = {{true, true, false}, {true, false, false}};

    (void)state;
    for (int k = 0; k < 2; k++) {
        Prog g = prog_any("A: T.Buffer((8,), \"int32\"), B: T.Buffer((8,), \"int32\")",
                          k ? value : copy);

        for (int runs = 0; runs < 3; runs++)
            assert_int_equal(ml_any_order(g.cx, g.facts, g.p, block_of(&g, "b"),
                                          (ml_Combines){0}, (ml_Runs)runs),
                             want[k][runs]);
        prog_free(&g);
    }
}

/* What an index that sums two loops up tells of them, against all pairs of iterations. */
static void told_loops_agree(void **state)
{
    int marked = 0;

    (void)state;
    for (int k = 0; k < 600; k++) {
        int n[2] = {1 + below(5), 1 + below(5)}, w[2] = {below(7) - 1, below(7) - 1};
        char text[400];
        ml_StmtVec loops = {0};
        ml_Dom dom[2];
        bool told[2];

        snprintf(text, sizeof text,
                 "    for i, j in T.grid(%d, %d):\n"
                 "        with T.block(\"b\"):\n"
                 "            v = T.axis.spatial(99, i * %d + j * %d + 12)\n"
                 "            B[v] = A[v]\n",
                 n[0], n[1], w[0], w[1]);
        Prog g =
            prog_any("A: T.Buffer((99,), \"int32\"), B: T.Buffer((99,), \"int32\")", text);
        const ml_Block *b = block_of(&g, "b");

        ml_index_loops(g.cx, g.p.index, b->tag, &loops);
        for (int m = 0; m < 2; m++) {
            const ml_For *f = ml_as_for(loops.v[m]);

            dom[m] = (ml_Dom){f->var, f->min, f->extent};
        }
        ml_loops_told(b, dom, 2, true, told);
        for (int x = 0; x < n[0] * n[1]; x++)
            for (int y = 0; y < n[0] * n[1]; y++) {
                int p[2] = {x / n[1], x % n[1]}, q[2] = {y / n[1], y % n[1]};

                if (p[0] * w[0] + p[1] * w[1] != q[0] * w[0] + q[1] * w[1])
                    continue;
                for (int m = 0; m < 2; m++)
                    assert_true(!told[m] || p[m] == q[m]);
            }
        marked += told[0] + told[1];
        prog_free(&g);
    }
    assert_in_range(marked, 200, 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_grows_grows_for_all_pairs),
        cmocka_unit_test(tiles_grow),
        cmocka_unit_test(told_loops_agree),
        cmocka_unit_test(runs_of_one_instance_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
