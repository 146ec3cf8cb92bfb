/* The index of loops and blocks, carried through replacements. */
#include "core_test.h"
#include "moonloop/core/index/index.h"
#include "program.h"

static int setup(void **state)
{
    *state = ml_ctx_new(0);
    return 0;
}

static int teardown(void **state)
{
    ml_ctx_unref(*state);
    return 0;
}

static ml_Program program_of(ml_Ctx *cx, const ml_Func *f)
{
    const ml_Module *m = ml_module_new(cx, &f, 1, NULL);

    return (ml_Program){m, ml_index_build(cx, m)};
}

static const ml_Seq *stages(ml_Program p)
{
    return ml_as_seq(ml_as_block(p.mod->funcs[0]->body)->body);
}

static void verify(ml_Ctx *cx, ml_Program p)
{
    const char *what = NULL;

    if (!ml_index_verify(cx, p, &what))
        fail_msg("%s", what);
}

static void parents_scopes_and_common_ancestors(void **state)
{
    ml_Ctx *cx = *state;
    ml_Program p = program_of(cx, two_stages(cx, 8));
    ml_Uid root = ml_stmt_uid(p.mod->funcs[0]->body);
    ml_Uid i = ml_stmt_uid(stages(p)->stmts[0]), j = ml_stmt_uid(stages(p)->stmts[1]);
    ml_Uid b = ml_stmt_uid(ml_as_for(stages(p)->stmts[0])->body);
    ml_StmtVec found = {0};

    verify(cx, p);
    assert_int_equal(ml_index_parent(p.index, b), i);
    assert_int_equal(ml_index_parent(p.index, i), root);
    assert_int_equal(ml_index_parent(p.index, root), 0);
    assert_int_equal(ml_index_scope(p.index, b), root);
    assert_int_equal(ml_index_lca(p.index, b, j), root);
    assert_int_equal(ml_index_lca(p.index, b, i), i);
    assert_int_equal(ml_index_lca(p.index, b, 1u << 30), 0);
    assert_true(ml_index_is_above(p.index, root, b));
    assert_false(ml_index_is_above(p.index, b, b));
    assert_null(ml_index_node(p.index, 0));
    assert_null(ml_index_node(p.index, UINT32_MAX));
    ml_index_loops(cx, p.index, b, &found);
    assert_int_equal(found.n, 1);
    assert_ptr_equal(found.v[0], stages(p)->stmts[0]);
    found.n = 0;
    ml_all_blocks(cx, p.mod->funcs[0]->body, &found);
    assert_int_equal(found.n, 2);
}

static void an_if_on_the_way_is_reported(void **state)
{
    ml_Ctx *cx = *state;
    ml_Program p = program_of(cx, two_stages(cx, 8));
    ml_Uid root = ml_stmt_uid(p.mod->funcs[0]->body);
    ml_For loop = *ml_as_for(stages(p)->stmts[0]);
    ml_Uid b = ml_stmt_uid(loop.body);

    assert_null(ml_between(p.index, root, b));
    loop.body = ml_if(cx, ml_bool(cx, true), loop.body, NULL);
    p = ml_program_replace(cx, p, loop.var->uid, ml_for_from(cx, &loop), NULL);
    verify(cx, p);
    assert_ptr_equal(ml_between(p.index, root, b), loop.body);
}

static void untouched_siblings_stay_the_same_pointers(void **state)
{
    ml_Ctx *cx = *state;
    ml_Program p = program_of(cx, two_stages(cx, 8)), q;
    const ml_Stmt *first = stages(p)->stmts[0], *second = stages(p)->stmts[1];
    ml_For loop = *ml_as_for(second);
    ml_UidVec ended = {0};

    loop.kind = ML_FOR_UNROLLED;
    q = ml_program_replace(cx, p, loop.var->uid, ml_for_from(cx, &loop), &ended);
    verify(cx, q);
    verify(cx, p);
    assert_ptr_equal(stages(q)->stmts[0], first);
    assert_ptr_equal(stages(p)->stmts[1], second);
    assert_ptr_equal(ml_as_for(stages(q)->stmts[1])->body, ml_as_for(second)->body);
    assert_int_equal(ended.n, 0);
}

static void what_is_gone_has_ended(void **state)
{
    ml_Ctx *cx = *state;
    ml_Program p = program_of(cx, two_stages(cx, 8)), q;
    const ml_For *loop = ml_as_for(stages(p)->stmts[0]);
    ml_UidVec ended = {0};

    q = ml_program_replace(cx, p, loop->var->uid, loop->body,
                           &ended); /* the loop is peeled */
    verify(cx, q);
    assert_int_equal(ended.n, 1);
    assert_int_equal(ended.v[0], loop->var->uid);
    ended.n = 0;
    q = ml_program_replace(cx, q, ml_stmt_uid(loop->body), NULL, &ended);
    verify(cx, q);
    assert_int_equal(ended.n, 1);
    assert_int_equal(ended.v[0], ml_stmt_uid(loop->body));
    ended.n = 0;
    q = ml_program_replace(cx, q, ml_stmt_uid(ml_as_block(q.mod->funcs[0]->body)->body),
                           NULL, &ended);
    verify(cx, q);
    assert_int_equal(ended.n, 2);
    assert_true(ml_is_noop(ml_as_block(q.mod->funcs[0]->body)->body));
    q = ml_program_replace(cx, q, ml_stmt_uid(q.mod->funcs[0]->body), NULL, NULL);
    verify(cx, q);
    assert_true(ml_is_noop(q.mod->funcs[0]->body));
}

static void the_only_statement_of_a_branch_can_go(void **state)
{
    ml_Ctx *cx = *state;
    ml_Program p = program_of(cx, two_stages(cx, 8)), q;
    const ml_Stmt *a = stages(p)->stmts[0], *b = stages(p)->stmts[1];
    const ml_If *f;

    p = ml_program_replace_body(cx, p, 0, ml_if(cx, ml_bool(cx, true), a, b), NULL);
    verify(cx, p);
    q = ml_program_replace(cx, p, ml_stmt_uid(a), NULL, NULL);
    f = ml_as_if(q.mod->funcs[0]->body);
    assert_true(ml_is_noop(f->then));
    assert_ptr_equal(f->other, b);
    q = ml_program_replace(cx, p, ml_stmt_uid(b), NULL, NULL);
    assert_null(ml_as_if(q.mod->funcs[0]->body)->other);
    assert_null(ml_as_if(ml_stmt_replace(cx, p.mod->funcs[0]->body, b, NULL))->other);
    verify(cx, q);
}

/* ---- random replacements against a freshly built index */

typedef struct Pick {
    Rng *rng;
    uint32_t n;
    ml_Uid uid;
} Pick;

static void pick(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Pick *p = user;

    (void)node;
    if (rng_below(p->rng, ++p->n) == 0)
        p->uid = uid;
}

static ml_Uid random_node(Rng *rng, ml_Program p)
{
    Pick k = {.rng = rng};

    ml_index_each(p.index, pick, &k);
    return k.uid;
}

static void count(ml_Uid uid, const ml_Stmt *node, void *user)
{
    (void)uid;
    (void)node;
    ++*(size_t *)user;
}

static const ml_Stmt *wrapped(ml_Ctx *cx, const ml_Stmt *st)
{
    return ml_serial(cx, new_i32(cx, "w"), ml_i32(cx, 0), ml_i32(cx, 1), st);
}

/* The block with another signature, name, or other buffers of its own. */
static const ml_Stmt *resigned(ml_Ctx *cx, Rng *rng, const ml_Block *b,
                               const ml_Buffer *const *bufs, size_t n_bufs)
{
    static const char *const names[] = {"P", "Q", "R", ""};
    ml_Block nb = *b;
    size_t n = rng_below(rng, 4), m = rng_below(rng, 3), a = rng_below(rng, 5);
    ml_Region *reads = ML_ARRAY(cx, ml_Region, n + 1), *writes = reads;
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b->n_allocs + 1);

    switch (rng_below(rng, 3)) {
    case 0:
        for (size_t k = 0; k < n; k++)
            reads[k] = *point_region(cx, bufs[rng_below(rng, n_bufs)], ml_i32(cx, 0));
        nb.n_reads = (uint32_t)n;
        nb.reads = reads;
        writes = ML_ARRAY(cx, ml_Region, m + 1);
        for (size_t k = 0; k < m; k++)
            writes[k] = *point_region(cx, bufs[rng_below(rng, n_bufs)], ml_i32(cx, 0));
        nb.n_writes = (uint32_t)m;
        nb.writes = writes;
        break;
    case 1: nb.name = names[rng_below(rng, ML_COUNT(names))]; break;
    default: /* one more buffer, or all but one */
        nb.n_allocs = 0;
        for (size_t k = 0; k < b->n_allocs; k++)
            if (k != a)
                allocs[nb.n_allocs++] = b->allocs[k];
        if (nb.n_allocs == b->n_allocs)
            allocs[nb.n_allocs++] = vector_of(cx, "own", 4);
        nb.allocs = allocs;
    }
    return ml_block_from(cx, &nb);
}

/* Some statement for the place of `node`: parts of it moved, dropped, doubled, wrapped. */
static const ml_Stmt *random_replacement(ml_Ctx *cx, Rng *rng, const ml_Stmt *node,
                                         const ml_Buffer *const *bufs, size_t n_bufs)
{
    const ml_Stmt *body = ml_node_body(node), *list[4];
    ml_For loop;
    ml_Block block;

    if (node->kind == ML_STMT_BLOCK && rng_below(rng, 2))
        return resigned(cx, rng, ml_as_block(node), bufs, n_bufs);
    switch (rng_below(rng, 9)) {
    case 0: return NULL;
    case 1: return body;
    case 2: return wrapped(cx, node);
    case 3: return ml_if(cx, ml_bool(cx, true), node, ml_stmt_copy_fresh(cx, node, NULL));
    case 4:
        list[0] = ml_stmt_copy_fresh(cx, node, NULL);
        list[1] = node;
        return ml_seq(cx, list, 2);
    case 5:
        list[0] = node;
        list[1] = ml_stmt_copy_fresh(cx, body, NULL);
        list[2] = ml_break(cx);
        return ml_seq(cx, list, 3);
    case 6: /* the children reversed and some wrapped */
        if (body->kind == ML_STMT_SEQ) {
            const ml_Stmt *some[8];
            size_t n = ml_as_seq(body)->n < 8 ? ml_as_seq(body)->n : 8;

            for (size_t k = 0; k < n; k++) {
                some[k] = ml_as_seq(body)->stmts[n - 1 - k];
                if (rng_below(rng, 2))
                    some[k] = wrapped(cx, some[k]);
            }
            body = ml_seq(cx, some, n);
        } else {
            body = wrapped(cx, body);
        }
        break;
    case 7: body = ml_while(cx, ml_bool(cx, true), body); break;
    default: return ml_stmt_copy_fresh(cx, node, NULL);
    }
    if (node->kind == ML_STMT_FOR) {
        loop = *ml_as_for(node);
        loop.body = body;
        return ml_for_from(cx, &loop);
    }
    block = *ml_as_block(node);
    block.body = body;
    return ml_block_from(cx, &block);
}

/* ---- what the index says of uses, names and order, against a walk over the function */

static bool signs(const ml_Block *b, const ml_Buffer *buf)
{
    for (size_t k = 0; k < b->n_reads; k++)
        if (b->reads[k].buffer->uid == buf->uid)
            return true;
    for (size_t k = 0; k < b->n_writes; k++)
        if (b->writes[k].buffer->uid == buf->uid)
            return true;
    return false;
}

static void blocks_of(ml_Ctx *cx, ml_Program p, ml_StmtVec *out)
{
    const ml_Stmt *body = p.mod->funcs[0]->body;

    if (body->kind == ML_STMT_BLOCK)
        ml_push(cx, out, body);
    ml_all_blocks(cx, body, out);
}

static void compare_uses(ml_Ctx *cx, ml_Program p, const ml_Buffer *const *bufs, size_t n)
{
    ml_StmtVec all = {0};

    blocks_of(cx, p, &all);
    for (size_t k = 0; k < n; k++) {
        ml_Tags users = ml_index_users(p.index, bufs[k]);
        size_t count_users = 0;

        for (size_t m = 0; m < all.n; m++) {
            bool listed = false;

            for (size_t u = 0; u < users.n; u++)
                listed |= users.v[u] == ml_stmt_uid(all.v[m]);
            assert_int_equal(listed, signs(ml_as_block(all.v[m]), bufs[k]));
            count_users += listed;
        }
        assert_int_equal(count_users, users.n);
    }
    for (size_t m = 0; m < all.n; m++) {
        const ml_Block *b = ml_as_block(all.v[m]);
        size_t same = 0;

        for (size_t k = 0; k < all.n; k++)
            same += ml_streq(ml_as_block(all.v[k])->name, b->name);
        assert_int_equal(ml_index_named(p.index, 0, b->name, NULL), same);
        for (size_t k = 0; k < b->n_allocs; k++) {
            ml_Tags homes = ml_index_homes(p.index, b->allocs[k]);
            bool found = false;

            for (size_t u = 0; u < homes.n; u++)
                found |= homes.v[u] == b->tag;
            assert_true(found);
        }
    }
    for (size_t m = 0; m + 1 < all.n; m++) { /* the walk is in textual order */
        ml_Uid a = ml_stmt_uid(all.v[m]), b = ml_stmt_uid(all.v[m + 1]);

        if (!ml_index_lca(p.index, a, b) || ml_index_is_above(p.index, a, b))
            continue;
        assert_true(ml_index_before(p.index, a, b));
        assert_false(ml_index_before(p.index, b, a));
    }
}

static void random_replacements_keep_the_index_right(void **state)
{
    ml_Ctx *cx = *state;
    Rng rng = {20240601};

    for (int round = 0; round < 60; round++) {
        ml_Program p = program_of(cx, two_stages(cx, 8)), before;
        const ml_Program first = p;
        const ml_Func *f = p.mod->funcs[0];
        const ml_Buffer *bufs[] = {f->params[0].buffer, f->params[1].buffer,
                                   vector_of(cx, "T", 8), vector_of(cx, "U", 8)};

        for (int step = 0; step < 25; step++) {
            size_t n = 0, m = 0;
            ml_UidVec ended = {0};
            ml_Uid uid = random_node(&rng, p);

            ml_index_each(p.index, count, &n);
            if (n == 0 || n > 150 || p.mod->funcs[0]->body->depth > 60)
                break;
            before = p;
            p = ml_program_replace(cx, p, uid,
                                   random_replacement(cx, &rng, ml_index_node(p.index, uid),
                                                      bufs, ML_COUNT(bufs)),
                                   &ended);
            verify(cx, p);
            verify(cx, before);
            compare_uses(cx, p, bufs, ML_COUNT(bufs));
            verify(cx, (ml_Program){p.mod, ml_index_follow(cx, first, p.mod)});
            verify(cx, (ml_Program){first.mod, ml_index_follow(cx, p, first.mod)});
            ml_index_each(before.index, count, &m);
            assert_int_equal(n, m);
            for (size_t k = 0; k < ended.n; k++) {
                assert_non_null(ml_index_node(before.index, ended.v[k]));
                assert_null(ml_index_node(p.index, ended.v[k]));
                m--;
            }
            for (ml_Uid u = 1; u < ml_ctx_next_uid(cx) && m > 0; u++)
                if (ml_index_node(before.index, u) && ml_index_node(p.index, u))
                    m--;
            assert_int_equal(m, 0);
        }
    }
}

/* Bytes that one small step takes in a function of n stages. */
static size_t bytes_of_a_step(size_t n)
{
    ml_Ctx *cx = ml_ctx_new(0), *fork;
    const ml_Buffer *a = vector_of(cx, "A", 8), *b = vector_of(cx, "B", 8);
    const ml_Buffer *bufs[] = {a, b};
    const ml_Stmt **loops = ML_ARRAY(cx, const ml_Stmt *, n);
    ml_Program p;
    ml_For loop;
    size_t bytes;

    for (size_t k = 0; k < n; k++)
        loops[k] = add_one_loop(cx, "i", b, a, 8);
    p = program_of(cx, func_of(cx, "main", bufs, 2, ml_seq(cx, loops, n)));
    loop = *ml_as_for(stages(p)->stmts[n / 2]);
    loop.kind = ML_FOR_PARALLEL;
    fork = ml_ctx_fork(cx);
    ml_alloc(fork, 1);
    bytes = ml_ctx_bytes(fork);
    for (int k = 0; k < 100; k++)
        p = ml_program_replace(fork, p, loop.var->uid, ml_for_from(fork, &loop), NULL);
    verify(fork, p);
    bytes = ml_ctx_bytes(fork) - bytes;
    ml_ctx_unref(fork);
    ml_ctx_unref(cx);
    return bytes / 100;
}

static void a_step_copies_few_pages_however_large_the_program(void **state)
{
    (void)state;
    assert_true(bytes_of_a_step(10) < 12000);
    assert_true(bytes_of_a_step(1000) < 12000 + 1000 * sizeof(void *) + 4000);
}

/* A buffer with many users: lists longer than a cell, shared and changed. */
static void a_widely_read_buffer_lists_every_reader_once(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Buffer *a = vector_of(cx, "A", 8), *b = vector_of(cx, "B", 8);
    const ml_Buffer *bufs[] = {a, b};
    enum { N = 40 };
    const ml_Stmt *loops[N];
    ml_Program p, versions[N];

    for (size_t k = 0; k < N; k++)
        loops[k] = add_one_loop(cx, "i", b, a, 8);
    p = program_of(cx, func_of(cx, "main", bufs, 2, ml_seq(cx, loops, N)));
    assert_int_equal(ml_index_users(p.index, a).n, N);
    for (size_t k = 0; k < N; k++) {
        versions[k] = p;
        p = ml_program_replace(cx, p, ml_stmt_uid(loops[(k * 7) % N]), NULL, NULL);
        compare_uses(cx, p, bufs, 2);
    }
    assert_int_equal(ml_index_users(p.index, a).n, 0);
    for (size_t k = 0; k < N; k++) {
        verify(cx, versions[k]);
        assert_int_equal(ml_index_users(versions[k].index, b).n, N - k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(parents_scopes_and_common_ancestors),
        T(an_if_on_the_way_is_reported),
        T(untouched_siblings_stay_the_same_pointers),
        T(what_is_gone_has_ended),
        T(the_only_statement_of_a_branch_can_go),
        T(random_replacements_keep_the_index_right),
        T(a_widely_read_buffer_lists_every_reader_once),
        T(a_step_copies_few_pages_however_large_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
