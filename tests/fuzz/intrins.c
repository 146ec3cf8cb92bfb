/* intrins - the tensor intrinsics of the random test: copies and sums of a few elements,
 * for each dtype, size and storage scopes that occur often. Made once. */
#include "step.h"

#include "moonloop/core/script/script.h"

#include <stdio.h>
#include <stdlib.h>

static void copy_text(ml_Text *t, const char *type, int n, const char *from, const char *to)
{
    for (int impl = 0; impl < 2; impl++) {
        ml_text_fmt(
            t,
            "@T.prim_func\n"
            "def %s(a: T.handle, b: T.handle):\n"
            "    A = T.match_buffer(a, (%d,), \"%s\", offset_factor=1, scope=\"%s\")\n"
            "    B = T.match_buffer(b, (%d,), \"%s\", offset_factor=1, scope=\"%s\")\n"
            "    with T.block(\"root\"):\n"
            "        T.reads(A[0:%d])\n"
            "        T.writes(B[0:%d])\n",
            impl ? "impl" : "desc", n, type, from, n, type, to, n, n);
        if (impl && n > 1)
            ml_text_fmt(t, "        B[0:%d] = A[0:%d]\n", n, n);
        else if (impl)
            ml_text_add(t, "        B[0] = A[0]\n");
        else
            ml_text_fmt(t,
                        "        for i in range(%d):\n"
                        "            with T.block(\"B\"):\n"
                        "                v = T.axis.spatial(%d, i)\n"
                        "                B[v] = A[v]\n",
                        n, n);
    }
}

/* The implementation clears the result first, as the description does not: they differ
 * where the result is an operand, too. */
static void sum_text(ml_Text *t, const char *type, int n)
{
    static const char names[] = "abc";
    char zero[32];

    snprintf(zero, sizeof zero, "T.%s(0)", type);
    for (int impl = 0; impl < 2; impl++) {
        ml_text_fmt(t, "@T.prim_func\ndef %s(a: T.handle, b: T.handle, c: T.handle):\n",
                    impl ? "impl" : "desc");
        for (int k = 0; k < 3; k++)
            ml_text_fmt(t, "    %c = T.match_buffer(%c, (%d,), \"%s\", offset_factor=1)\n",
                        names[k] - 'a' + 'A', names[k], n, type);
        ml_text_fmt(t,
                    "    with T.block(\"root\"):\n"
                    "        T.reads(A[0:%d], B[0:%d])\n"
                    "        T.writes(C[0:%d])\n",
                    n, n, n);
        for (int clear = impl; clear >= 0; clear--)
            ml_text_fmt(t,
                        "        for i in range(%d):\n"
                        "            with T.block(\"C%d\"):\n"
                        "                v = T.axis.spatial(%d, i)\n"
                        "                C[v] = %s\n",
                        n, clear, n, clear ? zero : "A[v] + B[v]");
    }
}

static void add(struct ml_Intrins *known, ml_Ctx *cx, const char *name, ml_Text *t)
{
    ml_Parsed p = ml_parse(cx, (ml_Str){t->p, t->n}, NULL);

    if (!p.mod || !ml_intrin_register(cx, known, name, ml_module_find(p.mod, "desc"),
                                      ml_module_find(p.mod, "impl"), false))
        abort();
    ml_text_free(t);
}

struct ml_Intrins *fz_intrins(void)
{
    static const char *const types[] = {"int32",   "float32", "float64",
                                        "float16", "int8",    "int64"};
    static const char *const scopes[] = {"global", "shared", "local"};
    static ml_Intrins *known;

    if (known)
        return known;
    known = ml_intrins_new();
    for (size_t k = 0; k < ML_COUNT(types) * 9 * 4; k++) {
        const char *type = types[k / 36], *from = scopes[k % 3], *to = scopes[k / 3 % 3];
        int n = 1 + (int)(k / 9 % 4);
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};

        copy_text(&t, type, n, from, to);
        add(known, cx, ml_format(cx, "copy_%s_%d_%s_%s", type, n, from, to), &t);
        ml_ctx_unref(cx);
    }
    for (size_t k = 0; k < ML_COUNT(types) * 4; k++) {
        int n = 1 + (int)(k % 4);
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};

        sum_text(&t, types[k / 4], n);
        add(known, cx, ml_format(cx, "sum_%s_%d", types[k / 4], n), &t);
        ml_ctx_unref(cx);
    }
    return known;
}
