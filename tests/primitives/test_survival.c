/* What a step ends and what it keeps: handles of every loop and block before the step, and
 * which of them are gone after it (primitives 1.3 and "Handles" of each primitive). */
#include "cases.h"

#include "moonloop/primitives/call/render.h"

typedef struct Row {
    const char *file, *title; /* of a case */
    const char *gone;         /* display names, in program order; the others live on */
} Row;

static const Row rows[] = {
    {"split.case", "cuts a loop and guards what passes its end", "i"},
    {"split.case", "guards every block below", "i"},
    {"fuse.case", "fuses loops above several blocks", "i, j"},
    {"reorder.case", "leaves the loops in between where they are", ""},
    {"parallel.case", "takes the outer loop of a guarded tile", ""},
    {"bind.case", "binds a loop to a virtual thread", ""},
    {"unroll.case", "takes a thread binding away", ""},
    {"annotate.case", "attaches constants to a block and a loop", ""},
    {"unannotate.case", "removes an annotation", ""},
    {"add_unit_loop.case", "puts a loop of extent 1 around a block", ""},
    {"compute_at.case", "computes just what one iteration of the loop needs", "i"},
    {"compute_at.case", "counts names of loops over those that are made", "i, j, k"},
    {"compute_at.case", "takes the loops that become empty along", "o, i"},
    {"reverse_compute_at.case", "uses just what one iteration of the loop has produced",
     "j"},
    {"reverse_compute_at.case", "moves a consumer of two producers under one loop", "j"},
    {"compute_inline.case", "substitutes a producer into its reader", "i, j, T"},
    {"compute_inline.case", "inlines into nested blocks", "o, i, B"},
    {"reverse_compute_inline.case", "folds a consumer into its producer", "o, t, Q"},
    {"cache_read.case", "copies a buffer and lets the readers use the copy", ""},
    {"cache_read.case", "lets blocks inside blocks use the copy", ""},
    {"cache_write.case", "lets a block write a copy that is stored afterwards", ""},
    {"reindex.case", "gives what is written a buffer and copies it back", ""},
    {"reindex_cache_read.case", "copies what a block reads into a layout of its own", ""},
    {"reindex_cache_write.case", "lets a block write a layout of its own", ""},
    {"cache_inplace.case", "copies in before the block, and back after it", ""},
    {"cache_index.case", "computes repeated index arithmetic before the block", ""},
    {"annotate_buffer_access.case", "declares what a block reads", ""},
    {"unsafe_hide_buffer_access.case", "drops declared regions", ""},
    {"fuse_reduction_epilogue.case", "starts a sum from what is added afterwards",
     "i_1, j_1, E"},
    {"read_at.case", "copies what an iteration reads", ""},
    {"write_at.case", "copies back what an iteration writes", ""},
    {"decompose_reduction.case", "splits a reduction into its init and its update", ""},
    {"set_scope.case", "takes its views along", ""},
    {"storage_align.case", "asks for a stride that avoids bank conflicts", ""},
};

static Case find_case(ml_Ctx *cx, const Row *r)
{
    for (const ml_EmbeddedFile *f = ml_case_files; f->name; f++) {
        Cases cases = {0};

        if (!ml_streq(f->name, r->file))
            continue;
        cases_read(cx, f->name, f->text, &cases);
        for (size_t k = 0; k < cases.n; k++)
            if (ml_streq(cases.v[k].title, r->title))
                return cases.v[k];
    }
    fail_msg("%s has no case: %s", r->file, r->title);
    return (Case){0};
}

typedef ML_VEC(ml_Handle) Handles;

typedef struct Walk {
    Fixture *fx;
    ml_Ctx *cx;
    Handles *out;
} Walk;

static bool collect(const ml_Stmt *s, void *user)
{
    Walk *w = user;

    if (s->kind == ML_STMT_BLOCK)
        ml_push(w->cx, w->out, ((ml_Handle){ML_H_BLOCK, ml_stmt_uid(s)}));
    if (s->kind == ML_STMT_FOR && ml_node_is_named(s))
        ml_push(w->cx, w->out, ((ml_Handle){ML_H_LOOP, ml_stmt_uid(s)}));
    return true;
}

static bool below(const ml_Stmt *s, void *user)
{
    Walk *w = user;

    if (!s->has_block)
        return false;
    if (s->kind == ML_STMT_FOR)
        collect(s, w);
    if (s->kind == ML_STMT_BLOCK) {
        collect(s, w);
        ml_stmt_visit(ml_as_block(s)->body, below, w); /* not the init */
        return false;
    }
    return true;
}

/* Loops in program order, then blocks: as the rows list them. */
static void list_gone(Fixture *fx, const Handles *all, const char *const *names,
                      ml_Text *out)
{
    for (int kind = ML_H_LOOP; kind >= ML_H_BLOCK; kind--)
        for (size_t k = 0; k < all->n; k++)
            if (all->v[k].kind == kind && !ml_handle_alive(fx->s, all->v[k]))
                ml_text_fmt(out, "%s%s", out->n ? ", " : "", names[k]);
}

static void check_row(const Row *r)
{
    ml_Ctx *cx = ml_ctx_new(0);
    Case c = find_case(cx, r);
    Fixture fx;
    Handles all = {0};
    ml_Text gone = {0};

    fx_text(&fx, cases_whole(cx, c.program, c.program));
    ml_stmt_visit(ml_schedule_func(fx.s)->body, below, &(Walk){&fx, cx, &all});
    assert_true(all.n > 1);
    const char **names = ML_ARRAY(cx, const char *, all.n);

    for (size_t k = 0; k < all.n; k++)
        names[k] = ml_strdup(cx, ml_str(ml_name_of(fx.s, all.v[k].uid)));
    fx_apply(&fx, c.calls);
    list_gone(&fx, &all, names, &gone);
    if (!ml_streq(ml_text_z(&gone), r->gone))
        fail_msg("%s: %s: gone are %s, not %s", r->file, r->title, ml_text_z(&gone),
                 r->gone);

    /* What is gone is told with the step that ended it. */
    for (size_t k = 0; k < all.n; k++) {
        ml_Arg args[2] = {ML_ARG_HANDLE(all.v[k]), ML_ARG_STR("no_such_key")};
        const ml_Primitive *p = ml_primitive_find("unannotate");

        if (ml_handle_alive(fx.s, all.v[k])) {
            assert_int_equal(-1, ml_handle_ended_by(fx.s, all.v[k]));
            continue;
        }
        assert_false(ml_apply_prim(fx.s, p, args, 2, NULL));
        assert_int_equal(ML_E_EXPIRED_HANDLE, ml_schedule_error(fx.s)->code);
        assert_true(ml_handle_ended_by(fx.s, all.v[k]) > 0);
    }
    /* Undone, all are back; redone, the same are gone again. */
    assert_true(ml_schedule_undo(fx.s, ml_schedule_version(fx.s)));
    for (size_t k = 0; k < all.n; k++)
        assert_true(ml_handle_alive(fx.s, all.v[k]));
    assert_true(ml_schedule_goto(fx.s, ml_schedule_n_versions(fx.s) - 1));
    ml_text_clear(&gone);
    list_gone(&fx, &all, names, &gone);
    assert_string_equal(r->gone, ml_text_z(&gone));
    ml_text_free(&gone);
    fx_close(&fx);
    ml_ctx_unref(cx);
}

static void a_step_ends_what_it_says_and_nothing_else(void **state)
{
    (void)state;
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        check_row(&rows[k]);
}

static void a_block_that_is_decomposed_is_its_update(void **state)
{
    Fixture fx;

    (void)state;
    fx_matmul(&fx, 8, 8, 8);
    ml_Handle c = fx_handle(&fx, "C");

    fx_apply(&fx, "decompose_reduction(\"C\", \"k\")");
    assert_string_equal("C_update", ml_name_of(fx.s, c.uid));
    fx_apply(&fx, "get_child_blocks(\"k\")");
    assert_int_equal(c.uid, fx.r.v[0].uid);
    fx_close(&fx);
}

static void a_reader_that_is_rewired_is_the_same_block(void **state)
{
    Fixture fx;

    (void)state;
    fx_stages(&fx, 8, "j");
    ml_Handle c = fx_handle(&fx, "C"), j = fx_handle(&fx, "j");

    fx_apply(&fx, "cache_read(\"C\", 0, \"local\") compute_at(\"B_local\", \"j\")");
    fx_apply(&fx, "get_loops(\"C\")");
    assert_int_equal(1, fx.r.n);
    assert_int_equal(j.uid, fx.r.v[0].uid);
    fx_apply(&fx, "get_producers(\"C\")");
    assert_string_equal("B_local", ml_name_of(fx.s, fx.r.v[0].uid));
    assert_true(ml_handle_alive(fx.s, c));
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_ends_what_it_says_and_nothing_else),
        cmocka_unit_test(a_block_that_is_decomposed_is_its_update),
        cmocka_unit_test(a_reader_that_is_rewired_is_the_same_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
