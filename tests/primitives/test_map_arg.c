/*
 * test_map_arg - index maps as arguments: objects of any context and texts, what is
 * refused, how they are recorded, replayed and written. A primitive of the test's own takes
 * one.
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/args.h"
#include "moonloop/primitives/trace.h"

static const ml_IndexMap *seen; /* by the primitive, last */

static bool relabel(ml_Call *c)
{
    seen = c->args[1].map;
    ml_call_replace(c, c->args[0].uid,
                    c->args[0].node); /* the same program, a new version */
    return true;
}

static const ml_Param PARAMS[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block"),
    ML_PARAM("index_map", ML_P_MAP, "from its iters to others"),
};
static const ml_ErrorCode ERRORS[] = {ML_E_OK};
static const ml_Primitive RELABEL = {
    .name = "relabel",
    .kind = "Relabel",
    .group = "test",
    .summary = "",
    .help = "",
    .params = PARAMS,
    .n_params = ML_COUNT(PARAMS),
    .apply = relabel,
    .errors = ERRORS,
};

static bool call(Fixture *fx, ml_Arg map)
{
    ml_Arg args[] = {ML_ARG_HANDLE(fx_handle(fx, "C")), map};

    seen = NULL;
    return ml_apply_prim(fx->s, &RELABEL, args, 2, NULL);
}

static const ml_Stmt *around(ml_Ctx *cx, const ml_IndexMap *m)
{
    ml_Attr a = {.node = ml_val_map(cx, m), .key = "k", .value = ml_val_int(cx, 0)};

    a.body = ml_evaluate(cx, ml_i32(cx, 1));
    return ml_attr_from(cx, &a);
}

static bool same_map(ml_Ctx *cx, const ml_IndexMap *m, const char *text)
{
    ml_Parsed diags;
    const ml_IndexMap *want = ml_parse_index_map(cx, ml_str(text), ML_DT_I32, &diags);

    assert_non_null(want);
    return ml_equal_stmt(cx, around(cx, want), around(cx, m), NULL, NULL);
}

/* (i, j, k) -> (j, i // 4, k + i % 4) in a context of its own, its numbers from 1. */
static const ml_IndexMap *make(ml_Ctx *cx)
{
    ml_IndexMap *m = ML_NEW(cx, ml_IndexMap);
    const ml_Var **v = ML_ARRAY(cx, const ml_Var *, 3);
    const ml_Expr **e = ML_ARRAY(cx, const ml_Expr *, 3), *four = ml_i32(cx, 4);

    for (size_t k = 0; k < 3; k++)
        v[k] = ml_var_new(cx, (const char *[]){"i", "j", "k"}[k], ML_DT_I32);
    e[0] = ml_var(cx, v[1]);
    e[1] = ml_floordiv(cx, ml_var(cx, v[0]), four);
    e[2] = ml_add(cx, ml_var(cx, v[2]), ml_floormod(cx, ml_var(cx, v[0]), four));
    *m = (ml_IndexMap){.vars = v, .n_vars = 3, .exprs = e, .n_exprs = 3};
    return m;
}

static const char TEXT[] = "lambda i, j, k: (j, i // 4, k + i % 4)";

static void an_object_of_another_context_and_a_text_are_the_same_map(void **state)
{
    Fixture fx;
    ml_Ctx *own = ml_ctx_new(0);

    (void)state;
    fx_matmul(&fx, 16, 16, 16);
    assert_true(call(&fx, (ml_Arg){.kind = ML_A_MAP, .as.map = make(own)}));
    ml_ctx_unref(own); /* nothing of it is needed any longer */
    assert_non_null(seen);
    assert_true(same_map(fx.s->space->cx, seen, TEXT));
    /* its variables are none of the program's, whatever their numbers were */
    for (uint32_t k = 0; k < seen->n_vars; k++)
        assert_null(ml_index_node(fx.s->v[0].p.index, seen->vars[k]->uid));
    assert_true(call(&fx, ML_ARG_STR(TEXT)));
    assert_true(same_map(fx.s->space->cx, seen, TEXT));
    assert_true(call(&fx, ML_ARG_STR("T.index_map(lambda a: (a // 8, a % 8), "
                                     "inverse_index_map=lambda b, c: (b * 8 + c,))")));
    assert_non_null(seen->inverse);
    assert_int_equal(seen->inverse->n_vars, 2);
    fx_close(&fx);
}

static void what_is_no_index_map_is_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"lambda i", "is no index map"},
        {"7", "an index map is a lambda"},
        {"lambda i: (i, n)", "is no index map"},
        {"lambda i: (T.float32(1) * i,)", "is no integer"},
        {"", "is no index map"},
    };
    Fixture fx;
    ml_Ctx *own = ml_ctx_new(0);

    (void)state;
    fx_matmul(&fx, 16, 16, 16);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        assert_false(call(&fx, ML_ARG_STR(rows[k].text)));
        if (!strstr(fx_message(&fx), rows[k].part))
            fail_msg("%s: %s", rows[k].text, fx_message(&fx));
        assert_null(seen);
        assert_int_equal(fx.s->n_versions, 1);
    }
    assert_false(call(&fx, ML_ARG_INT(3)));
    assert_non_null(strstr(fx_message(&fx), "index_map: an index map is needed"));
    assert_false(call(&fx, (ml_Arg){.kind = ML_A_MAP}));
    /* over another variable than its own, though that has the number of one here */
    ml_IndexMap m = *make(own);

    m.n_vars = 2;
    assert_false(call(&fx, (ml_Arg){.kind = ML_A_MAP, .as.map = &m}));
    assert_non_null(strstr(fx_message(&fx), "uses k, which is not one of its variables"));
    ml_ctx_unref(own);
    fx_close(&fx);
}

typedef void Write(ml_Ctx *cx, ml_Text *out, const ml_Trace *t);

static void write_python(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    ml_trace_python(cx, out, t, false);
}

static void a_call_is_recorded_replayed_and_written(void **state)
{
    static const struct {
        Write *write;
        const char *part;
    } rows[] = {
        {ml_trace_lua, "sch:relabel{block = b0, index_map = function(i, j, k) return j, "
                       "i // 4, k + i % 4 end}"},
        {write_python, "sch.relabel(block=b0, index_map=lambda i, j, k: (j, i // 4, "
                       "k + i % 4,))"},
        {ml_trace_json, "[\"Relabel\", [\"b0\", \"{\\\"root\\\": 13, \\\"nodes\\\": "
                        "[{\\\"type_key\\\": \\\"\\\"}, "},
    };
    Fixture fx, other;
    ml_Ctx *cx = ml_ctx_new(0);
    size_t done;

    (void)state;
    fx_matmul(&fx, 16, 16, 16);
    assert_true(call(&fx, (ml_Arg){.kind = ML_A_MAP, .as.map = make(cx)}));
    ml_Trace t = ml_schedule_trace(fx.s, cx);

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Text out = {0};

        rows[k].write(cx, &out, &t);
        if (!strstr(ml_text_z(&out), rows[k].part))
            fail_msg("%s\nis not in\n%s", rows[k].part, ml_text_z(&out));
        ml_text_free(&out);
    }
    fx_matmul(&other, 16, 16, 16);
    fx_apply(&other, "split(\"i\", {4, 4})"); /* other numbers in use */
    seen = NULL;
    assert_true(ml_trace_apply(other.s, &t, false, NULL, NULL, &done));
    assert_non_null(seen);
    assert_true(same_map(other.s->space->cx, seen, TEXT));
    fx_close(&other);
    fx_close(&fx);
    ml_ctx_unref(cx);
}

static void what_lua_cannot_say_is_written_as_text(void **state)
{
    static const struct {
        const char *map, *lua;
    } rows[] = {
        {"lambda i: (i * 2 - 1,)", "function(i) return i * 2 - 1 end"},
        {"lambda i: ()", "function(i) return  end"},
        {"lambda i: (8 - i, 3)", "function(i) return 8 - i, 3 end"},
        {"lambda i: (T.min(i, 4),)",
         "moon.index_map(\"T.index_map(lambda i: (T.min(i, 4),)"},
        {"T.index_map(lambda i: (i // 8, i % 8), inverse_index_map=lambda a, b: (a * 8 + "
         "b,), index_dtype=\"int32\")",
         "moon.index_map(function(i) return i // 8, i % 8 end, function(a, b) return "
         "a * 8 + b end)"},
        {"lambda end, i: (i, end)", "moon.index_map(\"T.index_map(lambda end, i: (i, end)"},
    };
    ml_Ctx *cx = ml_ctx_new(0);

    (void)state;
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Parsed diags;
        const ml_IndexMap *m =
            ml_parse_index_map(cx, ml_str(rows[k].map), ML_DT_I32, &diags);
        ml_Text out = {0};

        assert_non_null(m);
        ml_map_lua(cx, &out, m);
        if (strncmp(ml_text_z(&out), rows[k].lua, strlen(rows[k].lua)) != 0)
            fail_msg("%s: %s", rows[k].map, ml_text_z(&out));
        ml_text_free(&out);
    }
    ml_ctx_unref(cx);
}

static void json_reads_a_map_back(void **state)
{
    static const char text[] =
        "[[\n  [\"GetBlock\", [], [\"B\", \"main\"], [\"b0\"]],\n"
        "  [\"Annotate\", [\"b0\", \"T.index_map(lambda i, j: (j, i // 4), "
        "index_dtype=\\\"int32\\\")\"], [\"k\"], []]], []]";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;

    (void)state;
    assert_true(ml_trace_from_json(cx, ml_str(text), &t));
    assert_int_equal(t.insts[1]->inputs[1].kind, ML_TV_MAP);
    assert_true(same_map(cx, t.insts[1]->inputs[1].map, "lambda a, b: (b, a // 4)"));
    assert_false(ml_trace_from_json(
        cx, ml_str("[[[\"Annotate\", [1, \"T.index_map(lambda i\"], [\"k\"], []]], []]"),
        &t));
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_of_another_context_and_a_text_are_the_same_map),
        cmocka_unit_test(what_is_no_index_map_is_refused),
        cmocka_unit_test(a_call_is_recorded_replayed_and_written),
        cmocka_unit_test(what_lua_cannot_say_is_written_as_text),
        cmocka_unit_test(json_reads_a_map_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
