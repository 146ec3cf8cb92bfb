/*
 * What --json prints, on either stream, and :help facts name the same: no object has a key
 * that its table does not list, and every key that is listed is told by some line. Source:
 * interaction 2, 4.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "moonloop/codegen/code/code.h"
#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "repl/cmd/help_impl.h"
#include "repl/out/interrupt.h"
#include "repl/run/run.h"

enum { TABLES = 64, FIELDS = 64 };

typedef struct Fixture {
    ml_Session ss;
    ml_Text out, err;
    ml_Ctx *cx;
    char folder[64];
    bool seen[TABLES][FIELDS];
} Fixture;

static int begin(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    ml_Session *ss = &f->ss;

    snprintf(f->folder, sizeof f->folder, "/tmp/ml-told-XXXXXX");
    if (!mkdtemp(f->folder) || chdir(f->folder) != 0)
        return 1;
    setenv("XDG_DATA_HOME", f->folder, 1);
    setenv("XDG_CACHE_HOME", f->folder, 1);
    setenv("XDG_STATE_HOME", f->folder, 1);
    setenv("MOONLOOP_THREADS", "1", 1);
    open_session(ss, 80, ML_MODE_TYPED);
    ss->batch = ss->no_history = ss->private_ = true;
    ss->json = ss->out.json = true;
    ss->out.sink.out = &f->out;
    ss->out.sink.err = &f->err;
    f->cx = ml_ctx_new(0);
    *state = f;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;
    char cmd[100];

    ml_session_free(&f->ss);
    ml_text_free(&f->out);
    ml_text_free(&f->err);
    ml_ctx_unref(f->cx);
    if (chdir("/") != 0)
        return 1;
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", f->folder);
    int rc = system(cmd);

    free(f);
    return rc;
}

/* By the key that an object begins with, else by the command that told it. */
static const struct {
    const char *key, *table;
} BEGINS[] = {{"code", "error"},        {"note", "note"},           {"warning", "note"},
              {"progress", "progress"}, {"focus", "new focus"},     {"step", "versions"},
              {"result", "result"},     {"results", "result"},      {"command", "text"},
              {"node", "tree"},         {"primitive", "primitive"}, {"job", "jobs"}};
/* What is told within a table by another one. */
static const struct {
    const char *table, *key, *within;
} WITHIN[] = {{"time", "against", "against"}};
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
        f->seen[table][k] = true;
        for (size_t w = 0; w < ML_COUNT(WITHIN); w++)
            if (ml_streq(t->name, WITHIN[w].table) && ml_streq(row->keys[m], WITHIN[w].key))
                check_row(f, find_table(WITHIN[w].within), &row->as.list[m], line);
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
    {":memory A", NULL, false},
    {":memory C --budget 1000", NULL, false},
    {":profile --runs 2", NULL, false},
    {":roofline", NULL, false},
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
    {"moon.verify(s)", "finding", false},
};

static void what_is_told_is_listed(void **state)
{
    Fixture *f = *state;
    const ml_FieldTable *t;

    for (size_t k = 0; k < ML_COUNT(LINES); k++)
        if (type(f, LINES[k].line, LINES[k].of) == LINES[k].fails)
            fail_msg("%s %s: %s", LINES[k].line, LINES[k].fails ? "went well" : "failed",
                     ml_text_z(&f->err));
    for (size_t a = 0; (t = ml_help_facts_at(a)) != NULL; a++)
        for (size_t k = 0; k < t->n; k++)
            if (!f->seen[a][k])
                print_message("%s: %s is listed, and no line told it\n", t->name,
                              t->v[k].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_told_is_listed, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
