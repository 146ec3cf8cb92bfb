/*
 * What --json prints, on either stream, and :help facts name the same: no object has a key
 * that its table does not list, and every key that is listed is told by some line. Source:
 * interaction 2, 4.
 */
#include "repl/json_fixture.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "repl/cmd/help_impl.h"
#include "repl/out/interrupt.h"
#include "repl/run/run.h"

enum { TABLES = 64, FIELDS = 64 };

static bool seen[TABLES][FIELDS];

/* By the key that an object begins with, else by the command that told it. */
static const struct {
    const char *key, *table;
} BEGINS[] = {{"code", "error"},        {"note", "note"},           {"warning", "note"},
              {"progress", "progress"}, {"focus", "new focus"},     {"step", "versions"},
              {"result", "result"},     {"results", "result"},      {"command", "text"},
              {"node", "tree"},         {"primitive", "primitive"}, {"job", "jobs"},
              {"tasks", "tune_all"}};
/* What is told within a table by another one. */
static const struct {
    const char *table, *key, *within;
} WITHIN[] = {{"time", "against", "against"}, {"tune_all", "tasks", "task"}};
/* Commands that tell what another one tells. */
static const struct {
    const char *command, *table;
} ALSO[] = {{"undo", "goto"}, {"redo", "goto"}, {"stop", "jobs"}};

static size_t find_table(const char *name)
{
    const ml_FieldTable *t;

    for (size_t k = 0; (t = ml_help_facts_at(k)) != NULL; k++)
        if (ml_streq(t->name, name))
            return k;
    return SIZE_MAX;
}

static size_t table_of(const ml_Json *row, const char *line)
{
    char name[32] = "";

    for (uint32_t m = 0; m < row->n && m < 2; m++)
        for (size_t k = 0; k < ML_COUNT(BEGINS); k++)
            if (ml_streq(row->keys[m], BEGINS[k].key) &&
                !(m == 1 && *line == ':' && ml_streq(row->keys[m], "primitive") &&
                  strncmp(line, ":help", 5) != 0))
                return find_table(BEGINS[k].table);
    if (*line == ':')
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 1, " "), line + 1);
    for (size_t k = 0; k < ML_COUNT(ALSO); k++)
        if (ml_streq(name, ALSO[k].command))
            return find_table(ALSO[k].table);
    return find_table(name);
}

static void check_row(Fixture *f, size_t table, const ml_Json *row, const char *line)
{
    const ml_FieldTable *t = table == SIZE_MAX ? NULL : ml_help_facts_at(table);

    if (!t)
        fail_msg("%s tells of %s, and no table is of that", line,
                 row->n > 1 ? row->keys[1] : "nothing");
    for (uint32_t m = 0; m < row->n; m++) {
        size_t k = 0;

        if (ml_streq(row->keys[m], "schema"))
            continue;
        while (k < t->n && !ml_streq(t->v[k].name, row->keys[m]))
            k++;
        if (k == t->n && ml_streq(t->name, "progress")) /* a search: all of it besides */
            continue;
        if (k == t->n)
            fail_msg("%s: %s tells %s, which it does not list", line, t->name,
                     row->keys[m]);
        assert_true(table < TABLES && k < FIELDS);
        seen[table][k] = true;
        for (size_t w = 0; w < ML_COUNT(WITHIN); w++)
            if (ml_streq(t->name, WITHIN[w].table) &&
                ml_streq(row->keys[m], WITHIN[w].key)) {
                const ml_Json *v = &row->as.list[m];

                for (uint32_t at = 0; v->kind == ML_JSON_LIST && at < v->n; at++)
                    check_row(f, find_table(WITHIN[w].within), &v->as.list[at], line);
                if (v->kind == ML_JSON_OBJECT)
                    check_row(f, find_table(WITHIN[w].within), v, line);
            }
        bool list = row->as.list[m].kind == ML_JSON_LIST,
             object = row->as.list[m].kind == ML_JSON_OBJECT;

        if ((t->v[k].kind == ML_FIELD_LIST) != list && !ml_streq(t->name, "result"))
            fail_msg("%s: %s of %s is%s a list", line, row->keys[m], t->name,
                     list ? "" : " not");
        if ((t->v[k].kind == ML_FIELD_OBJECT) != object && !ml_streq(t->name, "result"))
            fail_msg("%s: %s of %s is%s an object", line, row->keys[m], t->name,
                     object ? "" : " not");
    }
}

static void check_text(Fixture *f, ml_Text *text, const char *line, const char *of)
{
    for (const char *p = ml_text_z(text); *p; p += strcspn(p, "\n") + 1) {
        ml_JsonError why = {0};
        const ml_Json *row = ml_json_read(f->cx, (ml_Str){p, strcspn(p, "\n")}, &why);

        if (!row || row->kind != ML_JSON_OBJECT)
            fail_msg("%s printed no object: %s", line, p);
        check_row(f, table_of(row, line), row, line);
        if (!of || !ml_streq(row->keys[1], "result"))
            continue;
        const ml_Json *v = &row->as.list[1];

        if (v->kind == ML_JSON_OBJECT)
            check_row(f, find_table(of), v, line);
        for (uint32_t k = 0; v->kind == ML_JSON_LIST && k < v->n; k++)
            check_row(f, find_table(of), &v->as.list[k], line);
    }
}

/* of: what the result of the line is a row, or a list of rows, of. */
static bool type(Fixture *f, const char *line, const char *of)
{
    ml_text_clear(&f->out);
    ml_text_clear(&f->err);
    ml_interrupt_answer();
    f->ss.quit = false;
    bool ok = ml_run(&f->ss, NULL, line);

    check_text(f, &f->out, line, of);
    check_text(f, &f->err, line, of);
    return ok;
}

#define TWO                                                                                \
    "@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((8,), "               \
    "\"float32\")):\n"                                                                     \
    "        for i in range(8):\n            with T.block(\"A\"):\n"                       \
    "                v = T.axis.spatial(8, i)\n                A[v] = T.float32(1)\n"      \
    "    @T.prim_func\n    def g(A: T.Buffer((8,), \"float32\")):\n"                       \
    "        for i in range(8):\n            with T.block(\"A\"):\n"                       \
    "                v = T.axis.spatial(8, i)\n                A[v] = T.float32(2)\n"
#define VIEW                                                                               \
    "@T.prim_func\ndef f(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8,), "             \
    "\"float32\")):"                                                                       \
    "\n    for i in range(8):\n        with T.block(\"V\"):\n            v = "             \
    "T.axis.spatial(8, i)\n            T.where(i < 6)\n            W = "                   \
    "T.match_buffer(A[v, 0:8], "                                                           \
    "(8,))\n            B[v] = W[0]\n"
#define GATHER                                                                             \
    "@T.prim_func\ndef f(P: T.Buffer((8,), \"int32\"), A: T.Buffer((64,), \"float32\"), "  \
    "C: "                                                                                  \
    "T.Buffer((8,), \"float32\")):\n    T.evaluate(P[0])\n    if A[0] < T.float32(9):\n  " \
    "      for i in "                                                                      \
    "range(8):\n"                                                                          \
    "            with T.block(\"C\"):\n                v = T.axis.spatial(8, i)\n"         \
    "                C[v] = A[P[v] * 64]\n    for i in range(8):\n"                        \
    "        with T.block(\"D\"):\n            v = T.axis.spatial(8, i)\n"                 \
    "            C[v] = C[v] + T.float32(1)\n"
#define ORDER                                                                              \
    "@T.prim_func\ndef f(S: T.Buffer((5, 5), \"int32\")):\n    for i, j in T.grid(4, "     \
    "4):\n"                                                                                \
    "        with T.block(\"S\"):\n            a, b = T.axis.remap(\"SS\", [i, j])\n"      \
    "            S[a + 1, b] = S[a, b + 1] + 1\n"

static const struct {
    const char *line, *of;
    bool fails;
} LINES[] = {
    {"s = schedule(workload.matmul(64, 64, 64))", NULL, false},
    {"1", NULL, false},
    {"1, 2", NULL, false},
    {":set threads 1", NULL, false},
    {":help split", NULL, false},
    {":shell echo a", NULL, false},
    {":set", NULL, false},
    {":time --runs 2", NULL, false},
    {"split(\"i\", {auto, 48})", NULL, false},
    {":mark tiled", NULL, false},
    {":branch wide", NULL, false},
    {"decompose_reduction(\"C\", \"k\")", NULL, false},
    {"parallel(\"i_0\")", NULL, false},
    {":time --runs 2", NULL, false},
    {":undo", NULL, false},
    {":time --runs 2 --against openblas", NULL, false},
    {":check", NULL, false},
    {":versions", NULL, false},
    {":tree", NULL, false},
    {":counts --all", NULL, false},
    {":block C_update", NULL, false},
    {":buffers", NULL, false},
    {":deps", NULL, false},
    {":ir --list", NULL, false},
    {":memory A", NULL, false},
    {":memory C --budget 1000", NULL, false},
    {":profile --runs 2", NULL, false},
    {":roofline", NULL, false},
    {":why-slow", NULL, false},
    {":machine set peak=100", NULL, false},
    {":machine", NULL, false},
    {":machine set peak=auto", NULL, false},
    {":asm", NULL, false},
    {":where i_0", NULL, false},
    {":show", NULL, false},
    {":diff", NULL, false},
    {":diff --counts", NULL, false},
    {":trace", NULL, false},
    {":trace --json", NULL, false},
    {":save one.json", NULL, false},
    {":focus", NULL, false},
    {":graph deps g.dot", NULL, false},
    {":bisect error(\"no\")", NULL, false},
    {":bisect return focus():version() < 1", NULL, true},
    {":check --background", NULL, false},
    {":jobs --wait", NULL, false},
    {":jobs", NULL, false},
    {":jobs 1", NULL, false},
    /* the limits of what is known of a timing, a nest and a machine */
    {":goto v1", NULL, false},
    {":time --runs 2", NULL, false},
    {"vectorize(\"j\")", NULL, false},
    {":time --runs 2", NULL, false},
    {":time --runs 2 --against nothing", NULL, false},
    {":profile --runs 2", NULL, false},
    {":set threads 2", NULL, false},
    {":machine", NULL, false},
    {":set threads 1", NULL, false},
    {":goto v0", NULL, false},
    {":replay one.json", NULL, false},
    {":bisect if focus():version() ~= 0 then error(\"no\") end return true", NULL, true},
    /* searches */
    {":goto v0", NULL, false},
    {":tune --trials 3 --db r.db", NULL, false},
    {":tune --trials 1 --db . --seed 2", NULL, false},
    {":tune --all --trials 6 --db r.db {s, workload.matmul(16, 16, 16), "
     "{workload = workload.matmul(8, 8, 8), weight = 2}}",
     NULL, false},
    {"db = moon.db(\"r.db\"); db:put{program = s, error = \"too-slow\", phase = \"run\"};",
     NULL, false},
    {"db:records()", "record", false},
    {":best --db r.db", NULL, false},
    {":best --by shape --db r.db", NULL, false},
    {":adopt --db r.db", NULL, false},
    {":set threads 2", NULL, false},
    {":adopt 1 --db r.db", NULL, false},
    {":set threads 1", NULL, false},
    {":db r.db", NULL, false},
    {":db export lines r.db", NULL, false},
    {":db import lines other.db", NULL, false},
    {":db merge r.db other.db", NULL, false},
    {"p = schedule(workload.matmul(256, 256, 256))", NULL, false},
    {":set threads 2", NULL, false},
    {":tune --trials 3 --db r.db", NULL, false},
    {":set threads 1", NULL, false},
    {":adopt --db r.db", NULL, true},
    {"for _, r in ipairs(db:records{program = p}) do told = moon.cmd(\"adopt\", r.id, "
     "\"--db\", \"r.db\")[1] if told.expected then break end end",
     NULL, false},
    {"told", "adopt", false},
    {"b = schedule(workload.softmax{m = 256, n = 256})", NULL, false},
    {":tune --trials 3 --db r.db", NULL, false},
    {":best --db r.db", NULL, false},
    /* checks that fail, or say little */
    {"c = schedule(workload.matmul(16, 16, 16))", NULL, false},
    {":intrinsics C accel_matmul_4x4x4", NULL, false},
    {":check --rtol 0.5", NULL, false},
    {GATHER, NULL, false},
    {":check", NULL, false},
    {":profile --runs 2", NULL, false},
    {"d = schedule(workload.matmul(64, 64, 64))", NULL, false},
    {"cache_read(\"C\", \"B\", \"global\")", NULL, false},
    {"unsafe_set_dtype(\"B_global\", 0, \"float16\")", NULL, false},
    {":check", NULL, true},
    {"e = schedule(workload.matmul(16, 16, 16))", NULL, false},
    {"annotate(\"k\", \"software_pipeline_stage\", {0, 1})", NULL, false},
    {"annotate(\"k\", \"software_pipeline_order\", {0, 1})", NULL, false},
    {":check", NULL, false},
    /* programs with what is rare */
    {TWO, NULL, false},
    {":tree", NULL, false},
    {VIEW, NULL, false},
    {":buffers", NULL, false},
    {":block V", NULL, false},
    {":tree", NULL, false},
    {ORDER, NULL, false},
    {"moon.verify(focus())", "finding", false},
    {"moon.verify(focus(), {what = \"order\"})", "finding", false},
    {"reorder(\"j\", \"i\")", NULL, true},
    /* errors */
    {"split(\"zoo\", {2, 2})", NULL, true},
    {":frobnicate", NULL, true},
    {":block zoo", NULL, true},
    {"@T.prim_func\ndef f(:\n", NULL, true},
    {"e = schedule(workload.matmul(64, 64, 64))", NULL, false},
    {"split(\"i\", {10, 5})", NULL, true},
    {"bind(\"i\", \"blockIdx.x\")", NULL, false},
    {":tree", NULL, false},
    {"parallel(\"k\")", NULL, true},
    {"cache_read(\"C\", \"zoo\", \"global\")", NULL, true},
    {"local function f() e:split(\"j\", {3, 3}) end f()", NULL, true},
};

/* What no line of a test makes sure of. */
static const struct {
    const char *table, *field, *why;
} RARE[] = {
    {"time", "against", "OpenBLAS may be missing"},
    {"against", NULL, "OpenBLAS may be missing"},
    {"profile", "counters", "the system may not permit them"},
    {"profile", "no_counters", "or it does"},
    {"machine", "frequency", "the system may not say it"},
    {"machine", "frequency_measured", "a counter may be missing"},
    {"tune", "searched_flop_rate", "only where the turns came out slower"},
    {"tune", "eta", "only before the end"},
    {"tune", "model", "only of a strategy that scores candidates"},
    {"tune", "warning", "a database that fails in the middle of a search"},
    {"tune_all", "warning", "the same"},
    {"tune_all", "eta", "only before the end"},
    {"task", "refused", "a program that cannot be tuned"},
    {"check", "problem", "a version that writes what the start does not"},
    {"history", NULL, "kept of what is typed at a terminal"},
};

static bool is_rare(const ml_FieldTable *t, const ml_Field *f)
{
    for (size_t k = 0; k < ML_COUNT(RARE); k++)
        if (ml_streq(t->name, RARE[k].table) &&
            (!RARE[k].field || ml_streq(f->name, RARE[k].field)))
            return true;
    return false;
}

static size_t print_missing(const ml_FieldTable *t, const ml_Field *f)
{
    print_message("%s: %s is listed, and no line told it\n", t->name, f->name);
    return 1;
}

static void what_is_told_is_listed(void **state)
{
    Fixture *f = *state;
    const ml_FieldTable *t;
    size_t missing = 0;

    if (!ml_backend_find("llvm")) {
        print_message("no compiler: most is not measured\n");
        skip();
    }

    for (size_t k = 0; k < ML_COUNT(LINES); k++)
        if (type(f, LINES[k].line, LINES[k].of) == LINES[k].fails)
            fail_msg("%s %s: %s", LINES[k].line, LINES[k].fails ? "went well" : "failed",
                     ml_text_z(&f->err));
    for (size_t a = 0; (t = ml_help_facts_at(a)) != NULL; a++)
        for (size_t k = 0; k < t->n; k++)
            if (!seen[a][k] && !is_rare(t, &t->v[k]))
                missing += print_missing(t, &t->v[k]);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_told_is_listed, begin, end),
    };

    setenv("MOONLOOP_THREADS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
