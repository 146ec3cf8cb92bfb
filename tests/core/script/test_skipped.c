/* test_skipped - what a file defines in statements that are passed over has no value: its
 * use is an error at its place, and what does not use it is read as ever. */
#include "../core_test.h"

#include <stdio.h>
#include <string.h>

#include "moonloop/core/script/script.h"

/* A function that uses v in its signature, behind a line of the file. */
#define USES                                                                               \
    "@T.prim_func\ndef f(A: T.Buffer((16, v), \"float32\"), B: T.Buffer((16,), "           \
    "\"float32\")):\n    B[0] = A[0, 0]\n"

static ml_Parsed read(ml_Ctx *cx, const char *text)
{
    return ml_parse(cx, ml_str(text), &(ml_ParseOpts){.spelling = -1, .file_mode = true});
}

static const ml_Diag *first_error(const ml_Parsed *p)
{
    for (size_t k = 0; k < p->n_diags; k++)
        if (!p->diags[k].warning)
            return &p->diags[k];
    return NULL;
}

static void a_skipped_definition_is_an_error_where_it_is_used(void **state)
{
    static const struct {
        const char *text, *why; /* a line that begins with `>` is the one that is named */
    } CASES[] = {
        {">v = Foo(\"v\")\n" USES, "undefined name `Foo`"},
        {">v = undefined\n" USES, "undefined name `undefined`"},
        {"import numpy as np\n>v = np.int64(3)\n" USES, "`int64` is not known here"},
        {"v = 16\n>v = Foo()\n" USES, "undefined name `Foo`"},
        {"v = 16\n>v += 1\n" USES, "not part of a script"},
        {"v = 16\n>v, w = Foo()\n" USES, "undefined name `Foo`"},
        {"v = 16\n>w = v = Foo()\n" USES, "undefined name `Foo`"},
        {"v = 16\n>if v > 3:\n    v = 4\n" USES, "not part of a script"},
        {"v = 16\n>if v > 3: v = 4\n" USES, "not part of a script"},
        {">for v in range(3):\n    pass\n" USES, "not part of a script"},
        {">with open(\"x\") as v:\n    pass\n" USES, "not part of a script"},
        {"v = 16\n>del v\n" USES, "not part of a script"},
        {"v = 16\ntry:\n    w = 3\n>except E:\n    v = 3\n" USES, NULL},
        {">def v():\n    return 3\n" USES, "not part of a script"},
        {">class v:\n    pass\n" USES, "not part of a script"},
        {"v = 16\n>print(v := 4)\n" USES, "not supported"},
        {"u = Foo(1)\n>v = u + 1\n" USES, "`u` has no value"},
        {"v = 2\ns = [4, v]\n>s.append(3)\n@T.prim_func\ndef f(A: T.Buffer(s, \"int8\")):\n"
         "    pass\n",
         "not part of a script"},
        {"s = [4, 2]\n>s[0] = 3\n@T.prim_func\ndef f(A: T.Buffer(s, \"int8\")):\n    "
         "pass\n",
         "cannot assign to this"},
        {">n = Foo(\"n\")\n@T.prim_func\ndef f(A: T.Buffer((\"n\",), \"int8\")):\n    "
         "pass\n",
         "undefined name `Foo`"},
        {">m = Foo()\n@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")):\n    m(A)\n",
         "undefined name `Foo`"},
        {">D = Foo()\n@T.prim_func\ndef f(A: T.Buffer((4,), D)):\n    pass\n", NULL},
        {">S = Foo()\n@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")):\n"
         "    with T.block(S):\n        A[0] = A[1]\n",
         NULL},
        {">r = Foo()\n@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")) -> r:\n    pass\n",
         NULL},
        {">a = Foo()\n@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")):\n"
         "    T.func_attr({\"k\": a})\n",
         NULL},
        {">a = Foo()\n@T.prim_func(private=a)\ndef f(A: T.Buffer((4,), \"int8\")):\n    "
         "pass\n",
         NULL},
        {">a = Foo()\n@T.prim_func(s_tir=a)\ndef f(A: T.Buffer((4,), \"int8\")):\n    "
         "pass\n",
         NULL},
    };

    (void)state;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        char text[1024];
        const char *mark = strchr(CASES[k].text, '>');
        uint32_t line = 1;
        const ml_Diag *d;
        ml_Parsed p;

        snprintf(text, sizeof text, "%.*s%s", (int)(mark - CASES[k].text), CASES[k].text,
                 mark + 1);
        for (const char *z = CASES[k].text; z < mark; z++)
            line += *z == '\n';
        p = read(cx, text);
        d = first_error(&p);
        if (p.mod || !d)
            fail_msg("no error for\n%s", text);
        if (strcmp(d->code, "E301") != 0 || d->span.line <= line || d->n_notes == 0 ||
            d->notes[0].span.line != line ||
            (CASES[k].why && !strstr(d->notes[0].text, CASES[k].why)))
            fail_msg("%s in line %u: %s (%s) for\n%s", d->code, (unsigned)d->span.line,
                     d->message, d->n_notes ? d->notes[0].text : "", text);
        ml_ctx_unref(cx);
    }
}

static void what_does_not_use_it_is_read(void **state)
{
    static const char *const TEXTS[] = {
        "v = Foo()\nv = 16\n" USES,
        "w = v = 16\n" USES,
        "v = 16\nprint(v)\n" USES,
        "v = 16\nshape = [v]\nprint(shape)\nv = shape[0]\n" USES,
        "v = 16\ndef g():\n    v = 3\n    return v\n" USES,
        "v = 16\nclass C:\n    v = 3\n" USES,
        ("try:\n    import tvm\n    from tvm.script import tir as T\nexcept ImportError:\n"
         "    pass\nv = 16\n" USES),
        "v = 16\nif __name__ == \"__main__\":\n    main(v)\n" USES,
        "v = 16\nother.v = 3\nother[v] = 3\n" USES,
        "v = 16\nw: Foo[v] = Bar()\n" USES,
    };

    (void)state;
    for (size_t k = 0; k < sizeof TEXTS / sizeof *TEXTS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed p = read(cx, TEXTS[k]);

        if (!p.mod)
            fail_msg("%s for\n%s", first_error(&p)->message, TEXTS[k]);
        assert_int_equal(p.mod->funcs[0]->n_params, 2);
        ml_ctx_unref(cx);
    }
}

/* Each name once in each function, however often it stands there. */
static void a_use_is_told_once_in_a_function(void **state)
{
    static const char TEXT[] =
        "v, w = Foo()\n@T.prim_func\n"
        "def f(A: T.Buffer((v,), \"int8\"), B: T.Buffer((w, v), \"int8\")):\n"
        "    T.evaluate(v)\n"
        "@T.prim_func\ndef g(A: T.Buffer((v,), \"int8\")):\n    T.evaluate(v)\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = read(cx, TEXT);

    (void)state;
    assert_null(p.mod);
    assert_int_equal(p.n_errors, 3);
    ml_ctx_unref(cx);
}

/* Without its decorator a program would vanish among the other Python. */
static void a_program_without_its_decorator_is_an_error(void **state)
{
    static const char OTHER[] = "@T.prim_func\ndef g(n: T.int32):\n    T.evaluate(n)\n";
    static const char *const TEXTS[] = {
        "def f(A: T.Buffer((4,), \"int8\")):\n    A[0] = A[1]\n",
        "def f(n: T.int32):\n    T.evaluate(n)\n",
        "class M:\n    @T.prim_func\n    def f(n: T.int32):\n        T.evaluate(n)\n",
        ("@other\n@I.ir_module\nclass M:\n    @T.prim_func\n    def f(n: T.int32):\n"
         "        T.evaluate(n)\n"),
        "@TT.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof TEXTS / sizeof *TEXTS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        char text[512];
        ml_Parsed p;

        snprintf(text, sizeof text, "%s\n%s", OTHER, TEXTS[k]);
        p = read(cx, text);
        if (p.mod || !first_error(&p) || first_error(&p)->span.line < 5)
            fail_msg("no error for\n%s", text);
        ml_ctx_unref(cx);
    }
}

/* Inside a function nothing is read as something else: each of these has lost a statement.
 */
static void a_value_that_is_none_is_an_error(void **state)
{
    static const char *const BODIES[] = {
        "    with T.attr(0, \"k\", 1) as x:\n        A[0] = x\n",
        "    x = T.attr(0, \"k\", 1)\n    A[0] = x\n",
        "    T.ret(0, more=1)\n",
        "    T.evaluate(A.access_ptr(\"r\", mask=1))\n",
        "    for i in T.serial(4, anotations={}):\n        A[i] = T.int8(0)\n",
        "    A[0] = T.ptx_mmma(\"int8\", 1)\n",
        "    x = T.int2(1)\n    A[0] = A[1]\n",
        "    if A:\n        A[0] = A[1]\n",
        "    A[0] = A[1] if T.exp else A[2]\n",
        "    for i in range(4, z=1):\n        A[i] = A[i]\n",
        "    for i in T.grid(4, z=1):\n        A[i] = A[i]\n",
        "    for i in T.thread_binding(4, \"threadIdx.x\", z=1):\n        A[i] = A[i]\n",
        "    with T.block(\"b\", z=1):\n        A[0] = A[1]\n",
        "    with T.block(\"b\"):\n        T.reads(A[0], z=1)\n        A[0] = A[1]\n",
        "    with T.block(\"b\"):\n        T.where(True, z=1)\n        A[0] = A[1]\n",
        "    with T.block(\"b\"):\n        T.block_attr({}, z=1)\n        A[0] = A[1]\n",
        ("    with T.block(\"b\"):\n        with T.init(z=1):\n            A[0] = "
         "T.int8(0)\n"
         "        A[0] = A[1]\n"),
        ("    for i in range(4):\n        with T.block(\"b\"):\n"
         "            v = T.axis.spatial(4, i, z=1)\n            A[v] = A[v]\n"),
        ("    for i in range(4):\n        with T.block(\"b\"):\n"
         "            v = T.axis.remap(\"S\", [i], z=1)\n            A[v] = A[v]\n"),
        "    T.func_attr({}, z=1)\n    A[0] = A[1]\n",
        "    A[0] = T.max(A[1], A[2], z=1)\n",
        "    A[0] = T.Select(True, A[1], A[2], z=1)\n",
        "    A[0] = T.if_then_else(True, A[1], A[2], z=1)\n",
        "    A[0] = T.cast(A[1], \"int8\", z=1)\n",
        "    A[0] = A[1].astype(\"int8\", z=1)\n",
        "    A[0] = A.vload([0], z=1)\n",
        "    A.vstore([0], A[1], z=1)\n",
        "    A[0] = T.int8(3, z=1)\n",
        "    A[0] = T.min_value(\"int8\", z=1)\n",
        "    A[0] = T.abs(A[1], z=1)\n",
        "    A[0] = T.floordiv(A[1], A[2], z=1)\n",
        "    A[0] = T.reinterpret(\"int8\", A[1], z=1)\n",
        "    A[0] = T.meta_var(3, z=1)\n",
        "    A[T.Ramp(0, 1, 4, z=1)] = T.Broadcast(A[0], 4)\n",
        "    A[0:4] = T.Broadcast(A[0], 4, z=1)\n",
        "    T.evaluate(T.address_of(A[0], z=1))\n",
        "    T.evaluate(A[0], z=1)\n",
        "    T.call_extern(\"int32\", \"f\", z=1)\n",
        "    T.tvm_storage_sync(\"shared\", z=1)\n",
        "    x = T.bind(A[0], z=1)\n    A[1] = x\n",
        "    T.attr(0, \"k\", 1, z=1)\n    A[0] = A[1]\n",
        "    tx = T.env_thread(\"threadIdx.x\", z=1)\n    A[0] = A[1]\n",
        "    T.launch_thread(\"threadIdx.x\", 4, z=1)\n    A[0] = A[1]\n",
        "    B = T.alloc_buffer((4,), z=1)\n    A[0] = A[1]\n",
        "    B = T.decl_buffer((4,), data=A.data, z=1)\n    A[0] = A[1]\n",
        "    T.Assert(A[0] == A[1], \"m\", z=1)\n    A[0] = A[1]\n",
        "    T.attr(0, \"k\", T.index_map(lambda i: i, z=1))\n    A[0] = A[1]\n",
        "    T.attr(0, \"k\", T.comm_reducer(lambda x, y: x, [0], z=1))\n    A[0] = A[1]\n",
        "    T.attr(0, \"k\", T.target(\"c\", z=1))\n    A[0] = A[1]\n",
        "    T.attr(0, \"k\", T.Range(0, 4, z=1))\n    A[0] = A[1]\n",
        "    while A[0] < A[1]:\n        T.break_loop(z=1)\n",
        "    A[0] = T.Shuffle([A[0:4]], [0], z=1)\n",
        "    A[0] = T.Let(A[0], where={}, z=1)\n",
        "    x = len([1, 2], z=1)\n    A[0] = A[1]\n",
        "    C = A.view(2, 2, z=1)\n    A[0] = A[1]\n",
        "    T.cuda.cta_sync(z=1)\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof BODIES / sizeof *BODIES; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        char text[512];
        ml_Parsed p;

        snprintf(text, sizeof text, "@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")):\n%s",
                 BODIES[k]);
        p = ml_parse(cx, ml_str(text), NULL);
        if (p.mod || !first_error(&p))
            fail_msg("no error for\n%s", text);
        ml_ctx_unref(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_definition_is_an_error_where_it_is_used),
        cmocka_unit_test(what_does_not_use_it_is_read),
        cmocka_unit_test(a_use_is_told_once_in_a_function),
        cmocka_unit_test(a_program_without_its_decorator_is_an_error),
        cmocka_unit_test(a_value_that_is_none_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
