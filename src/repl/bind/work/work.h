/* work - what is done with programs, from Lua: running, checking, timing, counting, tuning.
 * Source: lua-api 4 to 6. */
#ifndef ML_REPL_BIND_WORK_WORK_H
#define ML_REPL_BIND_WORK_WORK_H

#include "repl/bind/schedule/schedule.h"

/* ---- functions of moon, added to the table on top */
int bind_check_functions(lua_State *L);
int bind_time_functions(lua_State *L);
int bind_counts_functions(lua_State *L);
int bind_machine_functions(lua_State *L);
int bind_reference_functions(lua_State *L);
int bind_reference_rows(lua_State *L);

#endif
