/* host_json - values of Lua as JSON, and JSON as values of Lua. Source: interaction 2, 4.
 */
#ifndef ML_REPL_HOST_JSON_H
#define ML_REPL_HOST_JSON_H

#include <lua.h>

#include "moonloop/core/json/json.h"

/* Appends the value: tables with names become objects, their names sorted; sequences (and
 * empty tables) lists; objects what tostring gives, which may raise; functions, what is
 * nested too deep and tables inside themselves null. */
void ml_host_json_add(lua_State *L, int idx, ml_Text *out);
/* Pushes it; null is nil, in a list false. */
void ml_host_json_push(lua_State *L, const ml_Json *j);
/* Sets the fields of an object in the table on top. */
void ml_host_json_fields(lua_State *L, const ml_Json *object);

#endif
