/* After random steps, what the index and the memory of earlier versions say of producers,
 * consumers, homes and pipelines is what walks over the whole function say. */
#include "fixture.h"

#include "moonloop/verify/verify.h"

#include <stdlib.h>

static uint32_t next(uint32_t *r)
{
    *r = *r * 1664525u + 1013904223u;
    return *r >> 8;
}

/* n stages; each reads one or two of the earlier buffers, some write one again. */
static void program(ml_Text *t, uint32_t *r, int n)
{
    ml_text_add(t, "@T.prim_func\ndef main(B0: T.Buffer((8, 8), \"float32\"), ");
    ml_text_fmt(t, "B%d: T.Buffer((8, 8), \"float32\")):\n", n);
    for (int k = 1; k < n; k++)
        ml_text_fmt(t, "    B%d = T.alloc_buffer((8, 8))\n", k);
    for (int k = 1; k <= n; k++) {
        int a = k - 1 - (k > 2 ? (int)(next(r) % 3) : 0), b = (int)(next(r) % (uint32_t)k);
        int to = k < n && k > 1 && next(r) % 8 == 0 ? k - 1 : k;

        ml_text_fmt(t,
                    "    for i, j in T.grid(8, 8):\n"
                    "        with T.block(\"%s%d\"):\n"
                    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                    "            B%d[vi, vj] = B%d[vi, vj] + B%d[vi, vj]\n",
                    next(r) % 6 ? "S" : "Same", next(r) % 6 ? k : 0, to, a, b);
    }
}

/* ---- the same questions, answered by walks (ir-and-analysis 2.2) */

static bool names(const ml_Region *v, size_t n, const ml_Buffer *b)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == b->uid)
            return true;
    return false;
}

static bool meets(const ml_Block *from, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (names(from->writes, from->n_writes, v[k].buffer))
            return true;
    return false;
}

static void same_uids(const ml_UidVec *have, const ml_UidVec *want)
{
    assert_int_equal(have->n, want->n);
    for (size_t k = 0; k < have->n; k++)
        assert_int_equal(have->v[k], want->v[k]);
}

static void push_once(ml_Ctx *cx, ml_UidVec *v, ml_Uid uid)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k] == uid)
            return;
    ml_push(cx, v, uid);
}

static void compare_edges(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_StmtVec *all,
                          size_t at)
{
    const ml_Block *b = ml_as_block(all->v[at]);
    ml_UidVec have[3] = {{0}}, want[3] = {{0}};

    ml_producers(cx, f, p, b->tag, &have[0]);
    ml_consumers(cx, f, p, b->tag, &have[1]);
    ml_raw_consumers(cx, f, p, b->tag, &have[2]);
    for (size_t k = 0; k < (size_t)b->n_reads + b->n_writes; k++) {
        const ml_Region *r = k < b->n_reads ? &b->reads[k] : &b->writes[k - b->n_reads];

        for (size_t m = 0; m < at; m++)
            if (meets(ml_as_block(all->v[m]), r, 1))
                push_once(cx, &want[0], ml_stmt_uid(all->v[m]));
    }
    for (size_t m = at + 1; m < all->n; m++) {
        const ml_Block *to = ml_as_block(all->v[m]);
        bool raw = meets(b, to->reads, to->n_reads);

        if (raw || meets(b, to->writes, to->n_writes))
            ml_push(cx, &want[1], to->tag);
        if (raw)
            ml_push(cx, &want[2], to->tag);
    }
    for (size_t k = 0; k < 3; k++)
        same_uids(&have[k], &want[k]);
}

static void compare_buffer(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *root,
                           const ml_StmtVec *all, const ml_Buffer *b)
{
    ml_UidVec have[2] = {{0}}, want[2] = {{0}};
    bool own = false;

    ml_writers(cx, f, p, root->tag, b, &have[0]);
    ml_readers(cx, f, p, root->tag, b, &have[1]);
    for (size_t m = 0; m < all->n; m++) {
        const ml_Block *k = ml_as_block(all->v[m]);

        if (names(k->writes, k->n_writes, b))
            ml_push(cx, &want[0], k->tag);
        if (names(k->reads, k->n_reads, b))
            ml_push(cx, &want[1], k->tag);
    }
    same_uids(&have[0], &want[0]);
    same_uids(&have[1], &want[1]);
    for (size_t k = 0; k < root->n_allocs; k++)
        own |= root->allocs[k]->uid == b->uid;
    assert_int_equal(ml_buffer_site(p, 0, b, NULL), own ? root->tag : 0);
    for (size_t m = 0; m < want[0].n; m++) {
        const ml_Block *w = ml_as_block(ml_index_node(p.index, want[0].v[m]));

        if (w->n_writes == 1)
            assert_int_equal(ml_is_output_block(p, w->tag, NULL), !own);
    }
}

/* Whether all accesses of the buffer lie under the loop. */
static void compare_private(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_StmtVec *all,
                            const ml_Block *b)
{
    ml_Uid loop = ml_index_parent(p.index, b->tag);
    const ml_Buffer *buf = b->writes[0].buffer;
    bool inside = ml_buffer_site(p, 0, buf, NULL) != 0;

    if (ml_index_node(p.index, loop)->kind != ML_STMT_FOR)
        return;
    for (size_t m = 0; m < all->n; m++) {
        const ml_Block *k = ml_as_block(all->v[m]);

        if (names(k->reads, k->n_reads, buf) || names(k->writes, k->n_writes, buf))
            inside &= ml_index_is_above(p.index, loop, k->tag);
    }
    assert_int_equal(ml_buffer_is_private(cx, f, p, loop, buf), inside);
}

static void compare_all(Fixture *fx)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx->s));
    ml_Program p = ml_schedule_program(fx->s);
    ml_Facts *known = ml_schedule_facts(fx->s), *fresh = ml_facts_new(cx);
    const ml_Block *root = ml_func_root(p.mod->funcs[0]);
    const char *what = NULL;
    ml_StmtVec all = {0};

    if (!ml_index_verify(cx, p, &what))
        fail_msg("%s", what);
    ml_child_blocks(cx, &root->base, &all);
    for (size_t k = 0; k < all.n; k++) {
        const ml_Block *b = ml_as_block(all.v[k]);

        compare_edges(cx, known, p, &all, k);
        compare_private(cx, known, p, &all, b);
        for (size_t m = 0; m < b->n_reads; m++)
            compare_buffer(cx, known, p, root, &all, b->reads[m].buffer);
        assert_int_equal(ml_complete_violation(cx, known, p, b->tag, NULL),
                         ml_complete_violation(cx, fresh, p, b->tag, NULL));
        assert_int_equal(ml_is_covered(cx, known, p, b->tag, false),
                         ml_is_covered(cx, fresh, p, b->tag, false));
    }
    assert_int_equal(ml_is_stage_pipeline(cx, known, p, root->tag),
                     ml_is_stage_pipeline(cx, fresh, p, root->tag));
    ml_facts_free(fresh);
    ml_ctx_unref(cx);
}

static ml_Handle any_block(Fixture *fx, uint32_t *r)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Program p = ml_schedule_program(fx->s);
    ml_StmtVec all = {0};
    ml_Handle h = {.kind = ML_H_BLOCK};

    ml_child_blocks(cx, p.mod->funcs[0]->body, &all);
    h.uid = ml_stmt_uid(all.v[next(r) % all.n]);
    ml_ctx_unref(cx);
    return h;
}

static ml_Handle loop_of(Fixture *fx, ml_Handle block)
{
    return (ml_Handle){ML_H_LOOP,
                       ml_index_parent(ml_schedule_program(fx->s).index, block.uid)};
}

/* One call, legal or not. */
static bool step(Fixture *fx, uint32_t *r)
{
    ml_Handle b = any_block(fx, r), c = any_block(fx, r), l = loop_of(fx, b),
              to = loop_of(fx, c);
    ml_Arg block = ML_ARG_HANDLE(b), loop = ML_ARG_HANDLE(l), under = ML_ARG_HANDLE(to);
    ml_Arg two[] = {loop, ML_ARG_INT(2)}, move[] = {block, under};
    ml_Arg cache[] = {block, ML_ARG_INT(0), ML_ARG_STR("local")};

    switch (next(r) % 9) {
    case 0: return ml_apply(fx->s, "split", two, 2, NULL);
    case 1:
    case 2: return ml_apply(fx->s, "compute_at", move, 2, NULL);
    case 3: return ml_apply(fx->s, "reverse_compute_at", move, 2, NULL);
    case 4: return ml_apply(fx->s, "cache_read", cache, 3, NULL);
    case 5: return ml_apply(fx->s, "cache_write", cache, 3, NULL);
    case 6: return ml_apply(fx->s, "compute_inline", &block, 1, NULL);
    case 7: return ml_apply(fx->s, "parallel", &loop, 1, NULL);
    default: return ml_schedule_undo(fx->s, 1), false;
    }
}

static void random_steps_keep_the_uses_right(void **state)
{
    int rounds = getenv("ML_QUICK") ? 6 : 40, accepted = 0;

    (void)state;
    for (int round = 0; round < rounds; round++) {
        uint32_t r = 7919u * (uint32_t)(round + 1);
        ml_Text t = {0};
        Fixture fx;

        program(&t, &r, 4 + round % 30);
        fx_text(&fx, ml_text_z(&t));
        compare_all(&fx);
        for (int k = 0; k < 25; k++) {
            if (k == 15)
                ml_schedule_compact(fx.s);
            if (!step(&fx, &r))
                continue;
            accepted++;
            compare_all(&fx);
        }
        fx_close(&fx);
        ml_text_free(&t);
    }
    assert_true(accepted > 4 * rounds);
}

/* Every version of a long line, indices made by following one another. */
static void compaction_keeps_every_index_right(void **state)
{
    uint32_t r = 5;
    ml_Text t = {0};
    Fixture fx;

    (void)state;
    program(&t, &r, 20);
    fx_text(&fx, ml_text_z(&t));
    for (int k = 0; k < 120; k++)
        step(&fx, &r);
    ml_schedule_compact(fx.s);
    for (int v = 0; v < fx.s->n_versions; v++) {
        ml_Ctx *cx = ml_ctx_new(0);
        const char *what = NULL;

        if (!ml_index_verify(cx, fx.s->v[v].p, &what))
            fail_msg("version %d: %s", v, what);
        ml_ctx_unref(cx);
    }
    fx_close(&fx);
    ml_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_keep_the_uses_right),
        cmocka_unit_test(compaction_keeps_every_index_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
