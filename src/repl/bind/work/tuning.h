/* tuning - records and searches between Lua and the host. Source: lua-api 6. */
#ifndef ML_REPL_BIND_TUNING_H
#define ML_REPL_BIND_TUNING_H

#include "moonloop/tune/task/task.h"
#include "repl/bind/work/work.h"

extern const BindClass bind_db_class, bind_tuner_class, bind_tasks_class;

/* The search at that index; NULL: another thing, or it is over. */
ml_Tuner *ml_lua_to_tuner(lua_State *L, int idx);
/* The same, and the search is the caller's from now on. */
ML_GIVES ml_Tuner *ml_lua_take_tuner(lua_State *L, int idx);
/* The tasks at that index; NULL: another thing, or they are over. */
ml_Tasks *ml_lua_to_tasks(lua_State *L, int idx);
/* The open database at that index; NULL: another thing, or it is closed. */
ml_Db *ml_lua_to_db(lua_State *L, int idx);
/* The same; anything else raises an error. */
ml_Db *ml_lua_check_db(lua_State *L, int idx);
/* A new object on the stack, which closes what the caller puts there. */
ml_Db **ml_lua_new_db(lua_State *L);
int bind_db_functions(lua_State *L);
int bind_tune_functions(lua_State *L);
int bind_tasks_functions(lua_State *L);
int bind_rule_functions(lua_State *L);
int bind_view_functions(lua_State *L);
int bind_limit_functions(lua_State *L);
int bind_specialize_functions(lua_State *L);
/* Pushes the record of that number as a table, or nothing where there is none: how many values. */
int bind_push_record(lua_State *L, ml_Db *db, int64_t id);

#endif
