/*
 * Facts are told once: what --json prints and what Lua gets have the same names and values,
 * field by field of every table, and a name of before is answered by the name of now.
 * Source: interaction 2, 4.
 */
#include "repl/fixture.h"

#include <math.h>
#include <string.h>

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/machine/machine.h"
#include "moonloop/codegen/measure/check.h"
#include "moonloop/tune/tune.h"
#include "moonloop/work/roofs.h"
#include "repl/bind/bind.h"
#include "repl/cmd/help_impl.h"
#include "repl/command/command.h"
#include "repl/host/json.h"

enum { TRIALS = 200, ROOM = 1 << 16 };

static uint64_t seed = 1;

static uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % n;
}

static double draw_real(void)
{
    const double odd[] = {(double)NAN, 0, -0.0, 1, 0.1, 1e300, 5e-324, 123456789.125};

    return draw(3) ? odd[draw(ML_COUNT(odd))] : (double)draw(1000000) / 7;
}

static const char *draw_text(void)
{
    static const char *const texts[] = {NULL, "", "a", "[[],[]]", "C[3, 0]", "×1.5 \"\n\\"};

    return texts[draw(ML_COUNT(texts))];
}

/* A value for each member of the table; what is computed follows from them. */
static void fill(const ml_FieldTable *t, char *s)
{
    for (size_t k = 0; k < t->n; k++) {
        const ml_Field *f = &t->v[k];
        void *at = s + f->at;

        if (f->get)
            continue;
        switch (f->kind) {
        case ML_FIELD_BOOL: *(bool *)at = draw(2) == 1; break;
        case ML_FIELD_INT: *(int *)at = (int)draw(9) - 2; break;
        case ML_FIELD_UNSIGNED: *(unsigned *)at = (unsigned)draw(UINT32_MAX); break;
        case ML_FIELD_LONG: *(long *)at = (long)draw(INT32_MAX) - 2; break;
        case ML_FIELD_SIZE: *(size_t *)at = draw(INT32_MAX); break;
        case ML_FIELD_REAL: *(double *)at = draw_real(); break;
        case ML_FIELD_TEXT: {
            const char *z = draw_text();

            memcpy(at, &z, sizeof z);
            break;
        }
        case ML_FIELD_SIZES:
        case ML_FIELD_LIST:
        case ML_FIELD_OBJECT: break;
        }
    }
}

/* Of the tables on top of the stack: as many names, and the same values. */
static const char SAME[] =
    "local a, b = ...\n"
    "local function same(a, b, at)\n"
    "    if type(a) == 'table' and type(b) == 'table' then\n"
    "        for k, v in next, a do same(v, rawget(b, k), at .. '.' .. k) end\n"
    "        for k in next, b do assert(rawget(a, k) ~= nil, at .. '.' .. k .. ' is new') "
    "end\n"
    "    elseif type(a) == 'string' and a:sub(1, 1) == '[' then\n" /* JSON within JSON */
    "    else assert(a == b and math.type(a) == math.type(b), at .. ': ' .. tostring(a) .. "
    "' is not ' .. tostring(b)) end\n"
    "end\n"
    "same(a, b, '')\n";

static void compare(lua_State *L, const ml_FieldTable *t, const void *s)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Data d = {.n = 0};
    ml_JsonError why = {0};

    ml_data_row(&d);
    ml_data_fields(&d, t, s);
    const ml_Json *j = ml_json_read(cx, ml_str(ml_data_lines(&d)), &why);

    if (!j)
        fail_msg("%s: %s in %s", t->name, why.what, ml_data_lines(&d));
    assert_int_equal(luaL_loadstring(L, SAME), LUA_OK);
    bind_push_facts(L, t, s);
    ml_host_json_push(L, j);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK)
        fail_msg("%s%s in %s", t->name, lua_tostring(L, -1), ml_data_lines(&d));
    ml_data_free(&d);
    ml_ctx_unref(cx);
}

static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();

    assert_non_null(L);
    luaL_openlibs(L);
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    return L;
}

static void json_and_lua_say_the_same(void **state)
{
    static const ml_FieldTable *const flat[] = {
        &ml_timing_fields, &ml_rival_fields,  &ml_check_fields,   &ml_record_fields,
        &ml_best_fields,   &ml_search_fields, &ml_roofline_fields};
    lua_State *L = open_state();
    char *s = calloc(1, ROOM);
    ml_Machine m;

    (void)state;
    assert_non_null(s);
    for (size_t k = 0; k < ML_COUNT(flat) * TRIALS; k++) {
        const ml_FieldTable *t = flat[k % ML_COUNT(flat)];

        memset(s, 0, ROOM);
        fill(t, s);
        compare(L, t, s);
    }
    ml_machine_host(4, &m);
    compare(L, &ml_machine_fields, &m);
    m.full = true;
    m.peak[0][0] = m.peak[0][1] = m.bandwidth[1][0][0] = m.call = 1e9;
    compare(L, &ml_machine_fields, &m);
    free(s);
    lua_close(L);
}

static bool has_field(const ml_FieldTable *t, const char *name, size_t n)
{
    for (size_t k = 0; k < t->n; k++)
        if (strlen(t->v[k].name) == n && strncmp(t->v[k].name, name, n) == 0)
            return true;
    return false;
}

static void names_are_one_and_units_without_prefix(void **state)
{
    (void)state;
    const ml_FieldTable *t;

    for (size_t k = 0; (t = ml_help_facts_at(k)) != NULL; k++) {
        for (size_t n = 0; n < t->n; n++) {
            const ml_Field *f = &t->v[n];

            assert_true(*f->help && strlen(f->name) < 22);
            assert_null(strstr(f->name, "gflops"));
            for (size_t m = 0; m < n; m++)
                assert_string_not_equal(f->name, t->v[m].name);
        }
        for (const ml_FieldWas *w = t->was; w->old; w++) {
            size_t n = strcspn(w->now, " ,.");

            assert_false(has_field(t, w->old, strlen(w->old)));
            if (!has_field(t, w->now, n) && strncmp(w->now, "searched_flop_rate", n) != 0)
                fail_msg("%s: %s is told to be %s, which is none", t->name, w->old, w->now);
        }
    }
}

/* The same name in two tables has one unit. */
static void a_name_has_one_unit(void **state)
{
    (void)state;
    const ml_FieldTable *t, *u;

    for (size_t a = 0; (t = ml_help_facts_at(a)) != NULL; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t k = 0; u = ml_help_facts_at(b), k < t->n; k++)
                for (size_t n = 0; n < u->n; n++) {
                    const ml_Field *f = &t->v[k], *g = &u->v[n];

                    if (strcmp(f->name, g->name) == 0 && f->unit != g->unit)
                        fail_msg("%s: %s in %s, %s in %s", f->name, ml_field_unit(f->unit),
                                 t->name, ml_field_unit(g->unit), u->name);
                }
}

static void an_old_name_is_answered(void **state)
{
    lua_State *L = open_state();
    const ml_Timing t = {.schedule = "s"};

    (void)state;
    bind_push_facts(L, &ml_timing_fields, &t);
    lua_setglobal(L, "t");
    if (luaL_dostring(L,
                      "assert(t.schedule == 's' and t.nonsense == nil and not t.against)\n"
                      "local ok, e = pcall(function() return t.share end)\n"
                      "assert(not ok and e.code == 'unknown-name')\n"
                      "assert(e.message == 'share is now share_of_peak, 0 to 1', "
                      "e.message)\n"
                      "t.share = 1 assert(t.share == 1)") != LUA_OK)
        fail_msg("%s", luaL_tolstring(L, -1, NULL));
    lua_close(L);
}

/* Commands beside the functions of the same purpose. */
static void commands_and_functions_agree(void **state)
{
    ml_Session *ss = *state;

    run_line(ss, "parallel(\"i\")");
    run_line(ss, "local function same(a, b, at)\n"
                 "    if type(a) ~= 'table' then assert(a == b, at) return end\n"
                 "    for k, v in next, a do same(v, rawget(b, k), at .. '.' .. k) end\n"
                 "    for k in next, b do assert(rawget(a, k) ~= nil, at .. '.' .. k) end\n"
                 "end\n"
                 "local function rows(name, list, ...)\n"
                 "    local told = moon.cmd(name, ...)\n"
                 "    assert(told.ok and #told == #list and #list > 0, name)\n"
                 "    for k = 1, #list do same(told[k], list[k], name) end\n"
                 "    return told\n"
                 "end\n"
                 "rows('counts', s:counts(), '--all')\n"
                 "rows('versions', s:versions())\n"
                 "rows('block', {s:info('C')}, 'C')\n"
                 "rows('machine', {moon.machine()})\n"
                 "local c = moon.check(s, {seed = moon.get('seed')})\n"
                 "rows('check', {c.functions.main})\n"
                 "local t = rows('counts', s:counts(), '--all')\n"
                 "local ok, e = pcall(function() return t[1].flops end)\n"
                 "assert(not ok and e.message == 'flops is now flop', e.message)\n"
                 "local function was(f, now)\n"
                 "    local ok, e = pcall(f)\n"
                 "    assert(not ok and e.code == 'unknown-name' and "
                 "e.message:find(now, 1, true), tostring(e))\n"
                 "end\n"
                 "local m = moon.cmd('memory', 'A')\n"
                 "was(function() return m.accesses[1].reuse end, 'accesses.distances')\n"
                 "was(function() return m.reuse end, 'distances')\n"
                 "assert(m.accesses[1].nonsense == nil)\n"
                 "was(function() return c.functions.main.outputs end, 'n_outputs')\n"
                 "was(function() return c.bounds end, 'output_bounds')\n"
                 "was(function() return s:versions()[1].branch end, 'branches, a list')");
}

/* What a command tells is what :help facts lists under its name. */
static void commands_tell_what_help_lists(void **state)
{
    static const char *const lines[] = {
        "time --runs 2", "check",   "counts --all",       "versions", "block C_update",
        "buffers",       "deps",    "memory A",           "roofline", "profile --runs 2",
        "asm",           "machine", "why-slow --estimate"};
    ml_Session *ss = *state;

    run_line(ss, "decompose_reduction(\"C\", \"k\")");
    for (size_t k = 0; k < ML_COUNT(lines); k++) {
        size_t n = strcspn(lines[k], " ");
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Data d = {.n = 0};
        ml_JsonError why = {0};

        if (!ml_command_words(ss, lines[k], NULL, 0, &d)) {
            if (ml_backend_find("llvm"))
                fail_msg(":%s went wrong", lines[k]);
            ml_data_free(&d);
            ml_ctx_unref(cx);
            continue; /* nothing is compiled here */
        }
        assert_non_null(d.of);
        assert_true(strlen(d.of->name) == n && strncmp(d.of->name, lines[k], n) == 0);
        for (const char *p = ml_data_lines(&d); *p; p += strcspn(p, "\n") + 1) {
            const ml_Json *j = ml_json_read(cx, (ml_Str){p, strcspn(p, "\n")}, &why);

            assert_non_null(j);
            for (uint32_t m = 0; m < j->n; m++)
                if (!has_field(d.of, j->keys[m], strlen(j->keys[m])))
                    fail_msg(":%s tells %s, which no table lists", lines[k], j->keys[m]);
        }
        ml_data_free(&d);
        ml_ctx_unref(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_and_lua_say_the_same),
        cmocka_unit_test(names_are_one_and_units_without_prefix),
        cmocka_unit_test(a_name_has_one_unit),
        cmocka_unit_test(an_old_name_is_answered),
        FIXTURE(commands_and_functions_agree),
        FIXTURE(commands_tell_what_help_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
