/* fuzz_json - no saved schedule and no trace crashes the reader, and what it accepts can be
 * printed, written, read again and replayed: fuzz_json N SEED changes real ones N times by
 * bytes and by structure, fuzz_json FILE... reads files. Source: style 10, primitives 12.3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moonloop/core/json/json.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/trace.h"

enum { MAX_TEXT = 1 << 18, MAX_SEEDS = 16 };

static const char program[] =
    "@T.prim_func\n"
    "def main(A: T.Buffer((16, 16), \"float32\"), D: T.Buffer((16,), \"float32\")):\n"
    "    B = T.alloc_buffer((16, 16), \"float32\")\n"
    "    C = T.alloc_buffer((16,), \"float32\")\n"
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block(\"B\"):\n"
    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
    "            B[vi, vj] = A[vi, vj] * T.float32(2)\n"
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
    "            with T.init():\n"
    "                C[vi] = T.float32(0)\n"
    "            C[vi] = C[vi] + B[vi, vj]\n"
    "    for i in range(16):\n"
    "        with T.block(\"D\"):\n"
    "            vi = T.axis.spatial(16, i)\n"
    "            D[vi] = C[vi] + T.float32(1)\n";

typedef struct Seeds {
    char *text[MAX_SEEDS];
    size_t len[MAX_SEEDS], n;
} Seeds;

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static size_t below(uint64_t *s, size_t n)
{
    return n ? (size_t)(next(s) % n) : 0;
}

static void broken(const char *what, const char *text)
{
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static ml_Schedule *open_program(ml_Ctx **cx)
{
    const ml_Error *e;

    *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(*cx, ml_str(program), NULL);
    ml_Schedule *s = p.mod ? ml_schedule_new(*cx, p.mod, NULL, &e) : NULL;

    if (!s)
        broken("the program is refused", program);
    return s;
}

/* ---- what is looked at */

static void print_all(ml_Ctx *cx, const ml_Trace *t, const char *text)
{
    ml_Text a = {0}, b = {0};
    ml_Trace again;
    ml_Ctx *tmp = ml_ctx_new(0);

    ml_trace_lua(cx, &a, t);
    ml_trace_python(cx, &a, t, false);
    ml_trace_python(cx, &a, t, true);
    a.n = 0;
    ml_trace_json(cx, &a, t);
    if (!ml_trace_from_json(tmp, (ml_Str){ml_text_z(&a), a.n}, &again)) {
        fprintf(stderr, "%s\n", ml_error_code(ml_error(tmp)->code));
        broken("what was written is not read", text);
    }
    ml_trace_json(tmp, &b, &again);
    if (a.n != b.n || memcmp(a.p, b.p, a.n) != 0)
        broken("writing is not a fixed point", text);
    ml_text_free(&a);
    ml_text_free(&b);
    ml_ctx_unref(tmp);
}

static void replay(const ml_Trace *t, const char *text)
{
    ml_Ctx *cx;
    ml_Schedule *s = open_program(&cx);
    size_t done = 0;

    if (!ml_trace_apply(s, t, false, NULL, NULL, &done)) {
        ml_Failure *f = ml_failure_take(s);
        ml_RenderOpts o = {.no_suggestions = true};
        ml_Text out = {0};

        if (!f)
            broken("a replay failed without a reason", text);
        ml_failure_render(f, &out, &o);
        if (out.n < 10 || done > t->n)
            broken("a failed replay does not explain itself", text);
        ml_text_free(&out);
        ml_failure_free(f);
    }
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
}

static bool one(const char *text, size_t n)
{
    ml_Ctx *cx = ml_ctx_new((size_t)256 << 20);
    ml_Saved saved;
    bool ok = ml_saved_read(cx, (ml_Str){text, n}, &saved);

    if (!ok && !ml_error(cx))
        broken("refused without a reason", text);
    if (ok) {
        ml_Trace t = saved.trace;

        print_all(cx, &t, text);
        t = ml_trace_simplified(cx, &t, true);
        print_all(cx, &t, text);
        replay(&saved.trace, text);
        if (saved.program) {
            ml_Ctx *own = ml_ctx_new((size_t)256 << 20);

            ml_parse(own, ml_str(saved.program), NULL);
            ml_ctx_unref(own);
        }
    }
    ml_ctx_unref(cx);
    return ok;
}

/* ---- real ones */

static void add_seed(Seeds *s, const ml_Text *t)
{
    s->text[s->n] = malloc(MAX_TEXT);
    if (!s->text[s->n] || t->n >= MAX_TEXT)
        abort();
    memcpy(s->text[s->n], t->p, t->n);
    s->len[s->n++] = t->n;
}

static void call(ml_Schedule *s, const char *name, const ml_Arg *args, size_t n,
                 ml_Results *out)
{
    if (!ml_apply(s, name, args, n, out)) {
        fprintf(stderr, "%s: %s\n", name, ml_error_code(ml_schedule_error(s)->code));
        abort();
    }
}

#define CALL(name, ...)                                                                    \
    call(s, (name), (ml_Arg[]){__VA_ARGS__},                                               \
         sizeof((ml_Arg[]){__VA_ARGS__}) / sizeof(ml_Arg), &r)

static void make_seeds(Seeds *seeds)
{
    ml_Ctx *cx, *tmp = ml_ctx_new(0);
    ml_Schedule *s = open_program(&cx);
    ml_Results r;
    ml_Text t = {0};
    ml_Trace trace;
    ml_Arg factors[2] = {ML_ARG_AUTO, ML_ARG_AUTO};

    CALL("get_block", ML_ARG_STR("C"));
    ml_Handle c = r.v[0];

    CALL("get_loops", ML_ARG_HANDLE(c));
    ml_Handle i = r.v[0], j = r.v[1];

    CALL("sample_perfect_tile", ML_ARG_HANDLE(i), ML_ARG_INT(2));
    factors[0] = ML_ARG_HANDLE(r.v[0]);
    CALL("split", ML_ARG_HANDLE(i), ML_ARG_LIST(factors, 2));
    CALL("annotate", ML_ARG_HANDLE(c), ML_ARG_STR("key \"\\\n\xc3\xa9"),
         ML_ARG_LIST(factors, 1));
    CALL("unroll", ML_ARG_HANDLE(j));
    CALL("compute_inline", ML_ARG_STR("B"));
    CALL("cache_write", ML_ARG_STR("D"), ML_ARG_INT(0), ML_ARG_STR("local"));
    CALL("decompose_reduction", ML_ARG_HANDLE(c), ML_ARG_HANDLE(j));
    trace = ml_schedule_trace(s, tmp);
    ml_trace_json(tmp, &t, &trace);
    add_seed(seeds, &t);
    t.n = 0;
    ml_saved_write(s, &t);
    add_seed(seeds, &t);
    ml_schedule_goto(s, 1);
    t.n = 0;
    ml_saved_write(s, &t);
    add_seed(seeds, &t);
    ml_text_free(&t);
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    ml_ctx_unref(tmp);
}

/* ---- changes */

/* The end of the JSON value that begins at p[at]; n: it does not end. */
static size_t value_end(const char *p, size_t n, size_t at)
{
    int depth = 0;
    bool text = false;

    for (size_t k = at; k < n; k++) {
        if (text) {
            k += p[k] == '\\';
            text = k >= n || p[k] != '"';
        } else if (p[k] == '"')
            text = true;
        else if (p[k] == '[' || p[k] == '{')
            depth++;
        else if (p[k] == ']' || p[k] == '}')
            depth--;
        if (!text && depth < 0)
            return k;
        if (!text && depth == 0 && (k + 1 == n || strchr(",]} \n:", p[k + 1])))
            return k + 1;
    }
    return n;
}

/* A place where a value begins: after [ , : and blanks. */
static size_t value_start(const char *p, size_t n, uint64_t *s)
{
    for (size_t tries = 0, k = below(s, n); tries < n; tries++, k = (k + 1) % n)
        if (strchr("[,:", p[k]) && p[k]) {
            for (k++; k < n && (p[k] == ' ' || p[k] == '\n'); k++)
                ;
            return k;
        }
    return 0;
}

static size_t replace(char *p, size_t n, size_t at, size_t end, const char *with,
                      size_t len)
{
    if (n - (end - at) + len + 1 >= MAX_TEXT)
        return n;
    memmove(p + at + len, p + end, n - end);
    memcpy(p + at, with, len);
    return n - (end - at) + len;
}

static size_t change(char *p, size_t n, uint64_t *s)
{
    static const char *const VALUES[] = {"null",
                                         "true",
                                         "0",
                                         "-1",
                                         "1",
                                         "2",
                                         "7",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "1e999",
                                         "-0.0",
                                         "1.5",
                                         "\"\"",
                                         "\"b0\"",
                                         "\"l1\"",
                                         "\"v0\"",
                                         "\"v99999999999\"",
                                         "\"_\"",
                                         "\"Split\"",
                                         "\"GetBlock\"",
                                         "\"v0 * 2\"",
                                         "\"v0 // v0\"",
                                         "\"v0 // 0\"",
                                         "\"global\"",
                                         "\"\\u0000\"",
                                         "\"\\ud800\"",
                                         "[]",
                                         "{}",
                                         "[[]]",
                                         "[null, null]",
                                         "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]",
                                         "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
                                         "{\"a\": 1, \"a\": 2}",
                                         "{\"key\": [1, {\"b\": null}]}"};
    char kept[4096];
    size_t at, end, len, from;

    if (n == 0)
        return 0;
    at = below(s, n);
    switch (below(s, 8)) {
    case 0: p[at] ^= (char)(1 << below(s, 8)); return n;
    case 1: p[at] = (char)below(s, 256); return n;
    case 2: return replace(p, n, at, at + below(s, n - at < 20 ? n - at : 20), "", 0);
    case 3: /* a value instead of another */
    case 4: {
        const char *v = VALUES[below(s, sizeof VALUES / sizeof *VALUES)];

        at = value_start(p, n, s);
        return replace(p, n, at, value_end(p, n, at), v, strlen(v));
    }
    case 5: /* a value goes, with the comma behind it */
        at = value_start(p, n, s);
        end = value_end(p, n, at);
        return replace(p, n, at, end + (end < n && p[end] == ','), "", 0);
    case 6:  /* one value is put where another was, */
    default: /* or before it */
        from = value_start(p, n, s);
        len = value_end(p, n, from) - from;
        if (len + 2 > sizeof kept)
            return n;
        memcpy(kept, p + from, len);
        at = value_start(p, n, s);
        end = value_end(p, n, at);
        if (below(s, 2)) {
            kept[len++] = ',';
            end = at;
        }
        return replace(p, n, at, end, kept, len);
    }
}

static int run(long count, unsigned long long seed)
{
    Seeds seeds = {0};
    char *text = malloc(MAX_TEXT + 1);
    long accepted = 0;

    if (!text)
        return 1;
    make_seeds(&seeds);
    for (size_t k = 0; k < seeds.n; k++)
        if (!one(seeds.text[k], seeds.len[k]))
            broken("a real one is refused", seeds.text[k]);
    for (long k = 0; k < count; k++) {
        uint64_t s = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)k * 7919 + 1;
        size_t which, n;

        for (int warm = 0; warm < 4; warm++)
            next(&s);
        which = below(&s, seeds.n);
        n = seeds.len[which];
        memcpy(text, seeds.text[which], n);
        for (size_t times = 1 + below(&s, 3); times > 0; times--)
            n = change(text, n, &s);
        text[n] = 0;
        if (getenv("ML_LOUD"))
            fprintf(stderr, "%ld: %s\n", k, text);
        accepted += one(text, n);
    }
    printf("fuzz_json: %ld texts, %ld accepted, seed %llu\n", count, accepted, seed);
    for (size_t k = 0; k < seeds.n; k++)
        free(seeds.text[k]);
    free(text);
    return 0;
}

static int read_files(char **path, int n)
{
    char *text = malloc(MAX_TEXT + 1);

    for (int k = 0; text && k < n; k++) {
        FILE *f = fopen(path[k], "rb");
        size_t len = f ? fread(text, 1, MAX_TEXT, f) : 0;

        if (f)
            fclose(f);
        text[len] = 0;
        printf("%s: %s\n", path[k], one(text, len) ? "accepted" : "refused");
    }
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long n = argc > 1 ? strtol(argv[1], &end, 10) : 1000;

    if (argc > 1 && *end)
        return read_files(argv + 1, argc - 1);
    return run(n, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
}
