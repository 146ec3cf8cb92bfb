/* machine - moon.machine: what was measured of this machine, as a table. Source: lua-api 5.
 */
#include "moonloop/codegen/machine/machine.h"
#include "repl/bind/work/work.h"

static const char *const machine_options[] = {"calibrate", "quick", NULL};

/* moon.machine([opts]): calibrate: measured anew; quick: peaks alone suffice */
static int machine(lua_State *L)
{
    ml_Engine *e = ml_lua_engine(L);
    bool anew = false, quick = false;
    const ml_Machine *m;

    lua_settop(L, 1);
    if (bind_options(L, 1, machine_options)) {
        anew = bind_opt_bool(L, 1, "calibrate", false);
        quick = bind_opt_bool(L, 1, "quick", false);
        if (anew)
            bind_not_safe(L, "calibrate: what is known of the machine stays as it is");
    }
    ml_Ctx **box = bind_context_box(L);

    *box = bind_new_ctx(L);
    m = anew ? ml_machine_calibrate(*box, e, !quick, false)
             : ml_machine_get(*box, e, !quick);
    if (m == NULL)
        return bind_raise(L, *box);
    bind_push_facts(L, &ml_machine_fields, m);
    return 1;
}

int bind_machine_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"machine", machine}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
