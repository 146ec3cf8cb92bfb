/* bind - the Lua side of moonloop: opening it in a state, and all that its wings declare. */
#ifndef ML_REPL_BIND_BIND_H
#define ML_REPL_BIND_BIND_H

#include "repl/bind/schedule/schedule.h"

/* Leaves `moon` on the stack; the same table each time in one state; writes no global. */
int luaopen_moonloop(lua_State *L);
/* The same, and package.loaded.moonloop is set. */
void ml_lua_open(lua_State *L);

#endif
