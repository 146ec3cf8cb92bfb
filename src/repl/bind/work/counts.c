/* counts - s:counts(): what each loop of the current program does, as a list of tables.
 * Source: lua-api 4, interaction 8. */
#include "repl/bind/work/work.h"

/* counts(schedule [, func]) */
static int counts(lua_State *L)
{
    lua_settop(L, 2);
    ml_Schedule *s = bind_check_schedule(L, 1);
    BindProgram prog = bind_program(L, 1);
    const ml_Func *func =
        bind_program_func(L, &prog, lua_isnil(L, 2) ? NULL : bind_string(L, 2, "func"));
    ml_Program at = ml_schedule_program(s);
    ml_LoopRow row = {.names = ml_schedule_names(s)};
    ml_Ctx **box = bind_context_box(L);
    uint32_t pos = 0;
    ml_Counts c;

    while (at.mod->funcs[pos] != func)
        pos++;
    *box = ml_ctx_fork(ml_schedule_ctx(s));
    ml_ctx_set_limit(*box, 0);
    ml_ctx_set_cancel(*box, bind_state(L)->interrupt);
    row.cx = *box;
    if (!ml_counts(*box, at, pos, &c))
        return bind_raise_box(L, box);
    lua_createtable(L, (int)c.n, 0);
    for (size_t k = 0; k < c.n; k++) {
        row.f = &c.loops[k];
        bind_push_facts(L, &ml_loop_fields, &row);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    ml_ctx_unref(*box); /* or the next step finds its program in use */
    *box = NULL;
    return 1;
}

int bind_counts_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"counts", counts}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
