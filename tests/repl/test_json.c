/*
 * --json: whatever a command prints, on either stream, is JSON objects, one a line; what it
 * tells is what moon.cmd gives; errors and steps have their fields. Source: interaction 2,
 * 4.
 */
#include "repl/json_fixture.h"

#include <sys/stat.h>

#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "repl/command/command.h"
#include "repl/out/interrupt.h"
#include "repl/run/run.h"

/* Runs a line; what was printed is in f->out and f->err. */
static bool type(Fixture *f, const char *line)
{
    ml_text_clear(&f->out);
    ml_text_clear(&f->err);
    ml_interrupt_answer();
    f->ss.quit = false;
    return ml_run(&f->ss, NULL, line);
}

/* Each line of the text is an object; how many there are. */
static size_t objects(Fixture *f, const char *line, ml_Text *text)
{
    const char *p = ml_text_z(text);
    size_t lines = 0;

    for (; *p; lines++) {
        size_t n = strcspn(p, "\n");
        ml_JsonError why = {0};
        const ml_Json *j = ml_json_read(f->cx, (ml_Str){p, n}, &why);

        if (!j)
            fail_msg("%s printed no JSON (%s at %u): %.*s", line, why.what, why.col, (int)n,
                     p);
        if (j->kind != ML_JSON_OBJECT)
            fail_msg("%s printed no object: %.*s", line, (int)n, p);
        if (p[n] != '\n')
            fail_msg("%s ended without a newline: %s", line, p);
        p += n + 1;
    }
    return lines;
}

/* The k-th object of what the line printed. */
static const ml_Json *object(Fixture *f, ml_Text *text, size_t k)
{
    const char *p = ml_text_z(text);
    ml_JsonError why = {0};

    for (; k > 0; k--)
        p = strchr(p, '\n') + 1;
    const ml_Json *j = ml_json_read(f->cx, (ml_Str){p, strcspn(p, "\n")}, &why);

    assert_non_null(j);
    return j;
}

static const char *text_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    if (!v || v->kind != ML_JSON_STRING)
        fail_msg("no text %s", key);
    return v->as.s;
}

static int64_t number_at(const ml_Json *j, const char *key)
{
    const ml_Json *v = ml_json_get(j, key);

    if (!v || v->kind != ML_JSON_INT)
        fail_msg("no number %s", key);
    return v->as.i;
}

/* Words with which a command has something to tell; without any others: none. */
static const struct {
    const char *name, *line;
} WORDS[] = {
    {"help", ":help split"},
    {"apropos", ":apropos bound"},
    {"open", ":open saved.json"},
    {"save", ":save saved.json"},
    {"source", ":source lines.txt"},
    {"shell", ":shell echo \"a\\\"b\""},
    {"history", ":history 3"},
    {"block", ":block C"},
    {"where", ":where i_0"},
    {"goto", ":goto v1"},
    {"mark", ":mark here"},
    {"branch", ":branch there"},
    {"before", ":before 1 split(\"j\", {auto, 4})"},
    {"drop", ":drop 1"},
    {"edit", ":edit 1 split(\"i\", {auto, 2})"},
    {"replay", ":replay saved.json"},
    {"graph", ":graph deps g.dot"},
    {"explain", ":explain factors-too-small"},
    {"time", ":time --runs 2"},
    {"tune", ":tune --trials 2 --db r.db"},
    {"best", ":best --db r.db"},
    {"adopt", ":adopt --db r.db"},
    {"db", ":db r.db"},
    {"memory", ":memory A"},
    {"machine", ":machine set peak=100"},
    {"record", ":record r.txt"},
    {"view", NULL}, /* takes the terminal */
    {"dashboard", ":dashboard off"},
};

static const char *line_for(const char *name, char *room, size_t n)
{
    for (size_t k = 0; k < ML_COUNT(WORDS); k++)
        if (ml_streq(WORDS[k].name, name))
            return WORDS[k].line;
    snprintf(room, n, ":%s", name);
    return room;
}

static void every_command_prints_objects(void **state)
{
    Fixture *f = *state;
    size_t told = 0;

    assert_true(type(f, "s = schedule(workload.matmul(16, 16, 16))"));
    assert_true(type(f, "split(\"i\", {auto, 4})"));
    assert_true(type(f, ":save saved.json"));
    FILE *lines = fopen("lines.txt", "w");

    assert_non_null(lines);
    fputs(":set echo\n1 + 1\n", lines);
    fclose(lines);
    for (size_t k = 0; k < ml_n_commands; k++) {
        char room[64];
        const char *line = line_for(ml_commands[k].name, room, sizeof room);
        int version = f->ss.focus ? ml_schedule_version(f->ss.focus) : 0;

        if (!line)
            continue;
        bool ok = type(f, line);
        size_t n = objects(f, line, &f->out), errors = objects(f, line, &f->err);

        if (ok && n == 0)
            fail_msg("%s told nothing", line);
        if (!ok && errors == 0)
            fail_msg("%s failed without a word", line);
        told += ok;
        if (!ml_commands[k].run)
            assert_false(ok);
        /* The same once more on a version with a step, whatever the command did. */
        if (f->ss.focus && ml_schedule_version(f->ss.focus) != version)
            assert_true(type(f, ":goto v1"));
    }
    assert_true(told > 30);
}

static void commands_tell_rows(void **state)
{
    Fixture *f = *state;

    assert_true(type(f, "s = schedule(workload.matmul(64, 64, 64))"));
    assert_string_equal(text_at(object(f, &f->err, 0), "focus"), "matmul");
    assert_true(type(f, ":buffers"));
    assert_int_equal(objects(f, ":buffers", &f->out), 3);
    assert_string_equal(text_at(object(f, &f->out, 1), "buffer"), "B");
    assert_int_equal(number_at(object(f, &f->out, 1), "bytes"), 16384);
    assert_true(type(f, ":check"));
    assert_string_equal(text_at(object(f, &f->out, 0), "verdict"), "ok");
    assert_int_equal(number_at(object(f, &f->out, 0), "elements"), 4096);
    assert_true(type(f, ":deps"));
    assert_string_equal(text_at(object(f, &f->out, 0), "command"), "deps");
    assert_true(type(f, "decompose_reduction(\"C\", \"k\")"));
    assert_true(type(f, ":deps"));
    assert_int_equal(objects(f, ":deps", &f->out), 2);
    assert_string_equal(text_at(object(f, &f->out, 0), "kind"), "RAW");
    assert_string_equal(text_at(object(f, &f->out, 0), "from"), "C_init");
    assert_string_equal(text_at(object(f, &f->out, 1), "kind"), "WAW");
    assert_true(type(f, ":undo"));
    assert_int_equal(number_at(object(f, &f->out, 0), "from"), 1);
    assert_int_equal(number_at(object(f, &f->out, 0), "version"), 0);
}

static void steps_tell_their_version(void **state)
{
    Fixture *f = *state;

    assert_true(type(f, "s = schedule(workload.matmul(64, 64, 64))"));
    assert_true(type(f, "split(\"i\", {auto, 48}); parallel(\"i_0\")"));
    assert_int_equal(objects(f, "split", &f->out), 2);
    const ml_Json *step = object(f, &f->out, 0);

    assert_int_equal(number_at(step, "step"), 1);
    assert_int_equal(number_at(step, "version"), 1);
    assert_string_equal(text_at(step, "primitive"), "split");
    assert_int_equal(ml_json_get(step, "notes")->n, 0);
    assert_int_equal(number_at(object(f, &f->out, 1), "step"), 2);
    assert_true(type(f, "split(\"i_0\", {auto, 2})"));
    assert_int_equal(ml_json_get(object(f, &f->out, 0), "notes")->n, 1); /* a lost kind */
}

static void errors_tell_code_place_and_ways_out(void **state)
{
    Fixture *f = *state;

    assert_true(type(f, "s = schedule(workload.matmul(1024, 1024, 1024))"));
    assert_false(type(f, "split(\"i\", {10, 100})"));
    assert_int_equal(f->out.n, 0);
    assert_int_equal(objects(f, "split", &f->err), 1);
    const ml_Json *e = object(f, &f->err, 0), *place = ml_json_get(e, "place");

    assert_string_equal(text_at(e, "code"), "factors-too-small");
    assert_string_equal(text_at(e, "primitive"), "split");
    assert_string_equal(text_at(place, "label"), "loop i");
    assert_int_equal(number_at(place, "line"), 3);
    assert_int_equal(number_at(ml_json_get(e, "numbers"), "product"), 1000);
    assert_true(ml_json_get(e, "suggestions")->n > 0);
    assert_string_equal(text_at(&ml_json_get(e, "suggestions")->as.list[0], "call"),
                        "split(\"i\", {auto, 100})");
    /* Lua's own, a text that cannot be read, an unknown command. */
    assert_false(type(f, "nonsense(1)"));
    assert_string_equal(text_at(object(f, &f->err, 0), "code"), "unknown-name");
    assert_false(type(f, "@T.prim_func\ndef f(:\n"));
    objects(f, "parse", &f->err);
    assert_non_null(ml_json_get(object(f, &f->err, 0), "code"));
    assert_false(type(f, ":frobnicate"));
    assert_string_equal(text_at(object(f, &f->err, 0), "code"), "unknown-name");
    assert_int_equal(objects(f, ":frobnicate", &f->out), 0);
}

static void results_are_json_whatever_they_are(void **state)
{
    Fixture *f = *state;

    assert_true(type(f, "{1, 2.5, \"a\\\"\\n\\xff\", true, {x = {}, y = 1/0}}"));
    assert_string_equal(
        ml_text_z(&f->out),
        "{\"schema\":3,\"result\":[1,2.5,\"a\\\"\\n\xef\xbf\xbd\",true,{\"x\":[],\"y\":"
        "1e999}]}\n");
    objects(f, "a list", &f->out);
    assert_true(type(f, "local t = {n = 1} t.t = t t[1] = 0 t[3] = print return t, nil"));
    assert_int_equal(objects(f, "a cycle", &f->out), 1);
    assert_non_null(ml_json_get(object(f, &f->out, 0), "results"));
    assert_true(type(f, "nil"));
    assert_int_equal(f->out.n, 0);
    assert_true(type(f, "local t = {} for k = 1, 100 do t = {t} end return t"));
    objects(f, "a deep one", &f->out);
}

static void lua_gets_what_commands_tell(void **state)
{
    Fixture *f = *state;

    assert_true(type(f, "s = schedule(workload.matmul(64, 64, 64))"));
    assert_true(type(f, "c = moon.cmd(\"check\", \"--seed\", 3)"));
    assert_int_equal(f->out.n, 0); /* given, not printed */
    assert_true(type(f, "c.ok, c[1].seed, c[1].verdict, #c"));
    assert_string_equal(ml_text_z(&f->out),
                        "{\"schema\":3,\"results\":[true,3,\"ok\",1]}\n");
    assert_true(type(f, "b = moon.cmd(\"block\", \"C\") return b.block, b.iters[3].kind"));
    assert_string_equal(ml_text_z(&f->out),
                        "{\"schema\":3,\"results\":[\"C\",\"reduce\"]}\n");
    assert_true(type(f, "moon.cmd(\"set\", \"echo\").text"));
    assert_non_null(strstr(ml_text_z(&f->out), "{\"schema\":3,\"result\":\"echo "));
    assert_true(type(f, "moon.cmd(\"nothing\").ok"));
    assert_string_equal(ml_text_z(&f->out), "{\"schema\":3,\"result\":false}\n");
}

static void a_file_gets_what_a_command_tells(void **state)
{
    Fixture *f = *state;
    char text[200] = "";

    assert_true(type(f, ":set echo > told.json"));
    assert_int_equal(f->out.n, 0);
    FILE *in = fopen("told.json", "r");

    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    fclose(in);
    assert_memory_equal(text, "{\"schema\":3,\"name\":\"echo\",\"value\":\"diff\"", 40);
}

static void data_that_nobody_wants_costs_nothing(void **state)
{
    Fixture *f = *state;

    f->ss.json = f->ss.out.json = false;
    assert_true(type(f, "s = schedule(workload.matmul(64, 64, 64))"));
    assert_true(type(f, ":buffers"));
    assert_null(f->ss.data);
    assert_memory_equal(ml_text_z(&f->out), "buffer ", 7);
    f->ss.json = f->ss.out.json = true;
}

static void rows_nest_and_leave_out_what_is_not_known(void **state)
{
    ml_Data d = {.n = 0};

    ml_data_row(&d);
    ml_data_str(&d, "a", NULL);
    ml_data_real(&d, "b", 0.0 / 0.0);
    ml_data_list(&d, "c");
    ml_data_str(&d, NULL, NULL);
    ml_data_int(&d, NULL, -1);
    ml_data_object(&d, NULL);
    ml_data_end(&d);
    ml_data_row(&d); /* ends what is open */
    ml_data_json(&d, "d", "[1,\n2]");
    assert_string_equal(ml_data_lines(&d), "{\"c\":[null,-1,{}]}\n{\"d\":[1,2]}\n");
    ml_data_free(&d);
    ml_data_row(NULL);
    ml_data_int(NULL, "x", 1);
    ml_data_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_command_prints_objects, begin, end),
        cmocka_unit_test_setup_teardown(commands_tell_rows, begin, end),
        cmocka_unit_test_setup_teardown(steps_tell_their_version, begin, end),
        cmocka_unit_test_setup_teardown(errors_tell_code_place_and_ways_out, begin, end),
        cmocka_unit_test_setup_teardown(results_are_json_whatever_they_are, begin, end),
        cmocka_unit_test_setup_teardown(lua_gets_what_commands_tell, begin, end),
        cmocka_unit_test_setup_teardown(a_file_gets_what_a_command_tells, begin, end),
        cmocka_unit_test_setup_teardown(data_that_nobody_wants_costs_nothing, begin, end),
        cmocka_unit_test(rows_nest_and_leave_out_what_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
