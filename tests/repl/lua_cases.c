/* lua_cases - see lua_cases.h. */
#include "lua_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "repl/bind/bind.h"

enum { MAX_TESTS = 1000 };

typedef struct Case {
    lua_State *L;
    int ref; /* of the function */
    char name[200];
} Case;

static Case cases[MAX_TESTS];
static size_t n_cases;

static int traceback(lua_State *L)
{
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

static void run_case(void **state)
{
    Case *c = *state;
    lua_State *L = c->L;

    lua_settop(L, 0);
    lua_pushcfunction(L, traceback);
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->ref);
    if (lua_pcall(L, 0, 0, 1) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    lua_settop(L, 0);
}

/* Adds the tests of one file. */
static void load_file(lua_State *L, const char *path, const char *stem)
{
    lua_settop(L, 0);
    lua_pushcfunction(L, traceback);
    if (luaL_loadfile(L, path) != LUA_OK || lua_pcall(L, 0, 1, 1) != LUA_OK) {
        fprintf(stderr, "%s: %s\n", path, lua_tostring(L, -1));
        exit(1);
    }
    for (lua_Integer k = 1; lua_rawgeti(L, 2, k) == LUA_TTABLE; k++) {
        if (n_cases == MAX_TESTS) {
            fprintf(stderr, "%s: more than %d tests in all\n", path, MAX_TESTS);
            exit(1);
        }
        Case *c = &cases[n_cases++];

        c->L = L;
        lua_rawgeti(L, 3, 1);
        snprintf(c->name, sizeof c->name, "%s: %s", stem, lua_tostring(L, -1));
        lua_rawgeti(L, 3, 2);
        c->ref = luaL_ref(L, LUA_REGISTRYINDEX);
        lua_settop(L, 2);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int lua_cases_run(const char *folder)
{
    static struct CMUnitTest tests[MAX_TESTS];
    char *names[100];
    size_t n_names = 0;
    DIR *dir = opendir(folder);
    lua_State *L = luaL_newstate();

    if (!dir || !L) {
        fprintf(stderr, "%s cannot be read\n", folder);
        return 1;
    }
    luaL_openlibs(L);
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    for (struct dirent *e; (e = readdir(dir)) != NULL && n_names < 100;) {
        size_t n = strlen(e->d_name);

        if (n > 4 && strcmp(e->d_name + n - 4, ".lua") == 0)
            names[n_names++] = strdup(e->d_name);
    }
    closedir(dir);
    qsort(names, n_names, sizeof names[0], by_name);
    for (size_t k = 0; k < n_names; k++) {
        char path[400];

        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        names[k][strlen(names[k]) - 4] = '\0';
        load_file(L, path, names[k]);
        free(names[k]);
    }
    for (size_t k = 0; k < n_cases; k++)
        tests[k] = (struct CMUnitTest){
            .name = cases[k].name, .test_func = run_case, .initial_state = &cases[k]};
    int failed = n_cases ? _cmocka_run_group_tests("lua", tests, n_cases, NULL, NULL) : 1;

    lua_close(L);
    return failed;
}
