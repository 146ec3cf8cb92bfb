/*
 * lua_cases - runs FOLDER/NAME.lua: each file returns a list of {sentence, function}; every
 * function is one test. The state is the one that the prompt and stock Lua get, without a
 * host. Returns how many failed.
 */
#ifndef ML_TESTS_LUA_CASES_H
#define ML_TESTS_LUA_CASES_H

int lua_cases_run(const char *folder);

#endif
