/*
 * test_trace_value - every kind of value in the texts of a trace: JSON reads back to
 * itself; Lua and Python have their own words, brackets, escapes and spellings of floats.
 */
#include "fixture.h"

#include "moonloop/primitives/trace.h"

/* Written as the writer writes it, decisions last. */
static const char all_kinds[] =
    "[[\n"
    "  [\"GetBlock\", [], [\"B\", \"main\"], [\"b0\"]],\n"
    "  [\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"_\", \"l3\"]],\n"
    "  [\"SamplePerfectTile\", [\"l1\"], [4, 64], [\"v4\", \"_\", \"v5\", \"_\"]],\n"
    "  [\"Split\", [\"l1\", \"v4\", \"v5 * 2 + 1\", \"None\", 5], [], "
    "[\"l6\", \"l7\", \"l8\", \"l9\"]],\n"
    "  [\"Annotate\", [\"l7\", \"\\\"a\\\\\\\"b\\\\nc\\\\u0007\xc3\xa9\\\"\"], "
    "[\"k\\u0001\\n\"], []],\n"
    "  [\"Annotate\", [\"b0\", 2.0], [\"k\"], []],\n"
    "  [\"Annotate\", [\"b0\", \"nan\"], [\"k\"], []],\n"
    "  [\"Annotate\", [\"b0\", -1e999], [\"k\"], []],\n"
    "  [\"Annotate\", [\"b0\", -9223372036854775808], [\"k\"], []],\n"
    "  [\"Annotate\", [\"b0\", {\"f\": false, \"x y\": [1, 2.5, \"\\\"q\\\"\"]}], "
    "[\"k\"], []],\n"
    "  [\"Annotate\", [\"b0\", [1, [true, 3], []]], [\"k\"], []]], "
    "[[2, [2, 2, 4, 4]]]]";

static const char in_lua[] =
    "local b0 = sch:get_block{name = \"B\", func_name = \"main\"}\n"
    "local l1, l2, _, l3 = table.unpack(sch:get_loops{block = b0})\n"
    "local v4, _, v5, _ = table.unpack(sch:sample_perfect_tile{loop = l1, n = 4, "
    "max_innermost_factor = 64, decision = {2, 2, 4, 4}})\n"
    "local l6, l7, l8, l9 = table.unpack(sch:split{loop = l1, "
    "factors = {v4, v5 * 2 + 1, moon.auto, 5}})\n"
    "sch:annotate{block_or_loop = l7, ann_key = \"k\\001\\n\", "
    "ann_val = \"a\\\"b\\nc\\007\xc3\xa9\"}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", ann_val = 2.0}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", ann_val = (0/0)}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", ann_val = -math.huge}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", ann_val = math.mininteger}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", "
    "ann_val = {[\"f\"] = false, [\"x y\"] = {1, 2.5, \"q\"}}}\n"
    "sch:annotate{block_or_loop = b0, ann_key = \"k\", ann_val = {1, {true, 3}, {}}}\n";

static const char in_python[] =
    "# from tvm import tir\n"
    "def apply_trace(sch: tir.Schedule) -> None:\n"
    "  b0 = sch.get_block(name=\"B\", func_name=\"main\")\n"
    "  l1, l2, _, l3 = sch.get_loops(block=b0)\n"
    "  v4, _, v5, _ = sch.sample_perfect_tile(loop=l1, n=4, max_innermost_factor=64, "
    "decision=[2, 2, 4, 4])\n"
    "  l6, l7, l8, l9 = sch.split(loop=l1, factors=[v4, v5 * 2 + 1, None, 5])\n"
    "  sch.annotate(block_or_loop=l7, ann_key=\"k\\x01\\n\", "
    "ann_val=\"a\\\"b\\nc\\x07\xc3\xa9\")\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=2.0)\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=float(\"nan\"))\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=float(\"-inf\"))\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=-9223372036854775808)\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", "
    "ann_val={\"f\": False, \"x y\": [1, 2.5, \"q\"]})\n"
    "  sch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=[1, [True, 3], []])\n";

typedef void Write(ml_Ctx *cx, ml_Text *out, const ml_Trace *t);

static void write_python(ml_Ctx *cx, ml_Text *out, const ml_Trace *t)
{
    ml_trace_python(cx, out, t, false);
}

static void each_form_writes_every_kind_of_value(void **state)
{
    static const struct {
        Write *write;
        const char *text;
    } rows[] = {
        {ml_trace_json, all_kinds}, {ml_trace_lua, in_lua}, {write_python, in_python}};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;

    if (!ml_trace_from_json(cx, ml_str(all_kinds), &t))
        fail_msg("%s", ml_error(cx)->facts[0].as.text);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Text out = {0};

        rows[k].write(cx, &out, &t);
        assert_string_equal(ml_text_z(&out), rows[k].text);
        ml_text_free(&out);
    }
    ml_ctx_unref(cx);
}

static void an_index_map_is_a_function_a_lambda_or_a_text(void **state)
{
    static const struct {
        Write *write;
        const char *part;
    } rows[] = {{ml_trace_json, "\"{\\\"root\\\": 21, \\\"nodes\\\": [{\\\"type_key\\\": "},
                {ml_trace_lua,
                 "ann_val = moon.index_map(function(i, j) return j, i // 4, i % 4 "
                 "end, function(a, b, c) return b * 4 + c, a end)}"},
                {write_python, "ann_val=tvm.tir.IndexMap.from_func(lambda i, j: "
                               "(j, i // 4, i % 4,), inverse_index_map="
                               "lambda a, b, c: (b * 4 + c, a,)))"}};
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *v[5];
    const ml_Expr *e[5];

    for (size_t k = 0; k < 5; k++) {
        v[k] = ml_var_new(cx, (const char *[]){"i", "j", "a", "b", "c"}[k], ML_DT_I32);
        e[k] = ml_var(cx, v[k]);
    }
    const ml_Expr *four = ml_i32(cx, 4);
    const ml_IndexMap back = {
        .vars = v + 2,
        .n_vars = 3,
        .exprs = (const ml_Expr *[]){ml_add(cx, ml_mul(cx, e[3], four), e[4]), e[2]},
        .n_exprs = 2};
    const ml_IndexMap map = {.vars = v,
                             .n_vars = 2,
                             .exprs = (const ml_Expr *[]){e[1], ml_floordiv(cx, e[0], four),
                                                          ml_floormod(cx, e[0], four)},
                             .n_exprs = 3,
                             .inverse = &back};
    const ml_TV inputs[] = {{.kind = ML_TV_NONE}, {.kind = ML_TV_MAP, .map = &map}};
    const ml_TV key = {.kind = ML_TV_VALUE, .value = ml_val_string(cx, ml_str("k"))};
    const ml_Inst inst = {.prim = ml_primitive_of_kind("Annotate"),
                          .n_inputs = 2,
                          .inputs = inputs,
                          .n_attrs = 1,
                          .attrs = &key};
    const ml_Trace t = {1, (const ml_Inst *[]){&inst}};

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Text out = {0};

        rows[k].write(cx, &out, &t);
        if (!strstr(ml_text_z(&out), rows[k].part))
            fail_msg("%s\nis not in\n%s", rows[k].part, ml_text_z(&out));
        ml_text_free(&out);
    }
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_writes_every_kind_of_value),
        cmocka_unit_test(an_index_map_is_a_function_a_lambda_or_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
