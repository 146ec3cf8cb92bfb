/* A scope that was shown to be a stage pipeline, and versions of it in which a few blocks
 * read or write something else: what is worked out from the change alone is what is worked
 * out from nothing. */
#include "verify/verify_test.h"

enum { STAGES = 12 };

static uint32_t next(uint32_t *r)
{
    *r = *r * 1664525u + 1013904223u;
    return *r >> 8;
}

static Prog chain(void)
{
    char body[8192] = "";
    size_t n = 0;

    for (int k = 1; k < STAGES; k++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "    B%d = T.alloc_buffer((64,))\n", k);
    for (int k = 1; k <= STAGES; k++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "    for i in range(64):\n"
                              "        with T.block(\"S%d\"):\n"
                              "            v = T.axis.spatial(64, i)\n"
                              "            B%d[v] = B%d[v] + T.float32(1)\n",
                              k, k, k - 1);
    return prog_any("B0: T.Buffer((64,), \"float32\"), B12: T.Buffer((64,), \"float32\")",
                    body);
}

static ml_Region *one_region(Prog *g, const ml_Region *like, const ml_Buffer *b, bool half)
{
    ml_Region *r = ML_NEW(g->cx, ml_Region);
    ml_Range *range = ML_NEW(g->cx, ml_Range);

    *range = like->ranges[0];
    if (half)
        range->min = ml_floordiv(g->cx, range->min, ml_i32(g->cx, 2));
    *r = (ml_Region){b, range};
    return r;
}

/* The block with its read or its write moved to another buffer or another place. */
static ml_Program changed(Prog *g, uint32_t *r, ml_Uid uid)
{
    char name[16];
    ml_Block b = *ml_as_block(ml_index_node(g->p.index, uid));
    bool half = next(r) % 5 == 0;

    snprintf(name, sizeof name, "B%u", next(r) % (STAGES + 1));
    if (next(r) % 2)
        b.reads = one_region(g, b.reads, buffer_of(g, name), half);
    else
        b.writes =
            one_region(g, b.writes, half ? b.writes->buffer : buffer_of(g, name), half);
    return ml_program_replace(g->cx, g->p, uid, ml_block_from(g->cx, &b), NULL);
}

static void a_change_is_judged_as_the_whole_is(void **state)
{
    int yes = 0, no = 0;
    uint32_t r = 11;

    (void)state;
    for (int round = 0; round < 60; round++) {
        Prog g = chain();
        ml_Uid root = ml_func_root(g.p.mod->funcs[0])->tag;

        assert_true(ml_is_stage_pipeline(g.cx, g.facts, g.p, root));
        for (int k = 0; k < 30; k++) {
            char name[16];
            ml_Program was = g.p;
            ml_Facts *fresh = ml_facts_new(g.cx);

            for (uint32_t m = 0; m <= next(&r) % 2; m++) {
                snprintf(name, sizeof name, "S%u", 1 + next(&r) % STAGES);
                g.p = changed(&g, &r, block_uid(&g, name));
            }
            bool by_change = ml_is_stage_pipeline(g.cx, g.facts, g.p, root);

            assert_int_equal(by_change, ml_is_stage_pipeline(g.cx, fresh, g.p, root));
            ml_facts_free(fresh);
            by_change ? yes++ : no++;
            if (!by_change)
                g.p = was;
        }
        prog_free(&g);
    }
    assert_true(yes > 100 && no > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_judged_as_the_whole_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
