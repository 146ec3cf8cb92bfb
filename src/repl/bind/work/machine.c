/* machine - moon.machine: what was measured of this machine, as a table. Source: lua-api 5.
 */
#include "codegen/machine/machine.h"
#include "repl/bind/work/work.h"

#include <math.h>

static const char *const machine_options[] = {"calibrate", "quick", NULL};

static void set_known(lua_State *L, const char *key, double v)
{
    if (!isnan(v))
        bind_set_number(L, key, v);
}

/* {one = , all = , nominal = } in GFLOP/s by type; what was not measured is absent. */
static void push_peaks(lua_State *L, const ml_Machine *m)
{
    lua_createtable(L, 0, ML_MACHINE_KINDS);
    for (int k = 0; k < ML_MACHINE_KINDS; k++) {
        double nominal = ml_machine_nominal(m, (ml_MachineKind)k, m->threads);

        if (isnan(m->peak[k][0]) && isnan(nominal))
            continue;
        lua_createtable(L, 0, 3);
        set_known(L, "one", m->peak[k][0] * 1e-9);
        set_known(L, "all", m->peak[k][1] * 1e-9);
        set_known(L, "nominal", nominal * 1e-9);
        lua_setfield(L, -2, ml_machine_kind_name((ml_MachineKind)k));
    }
}

/* Level, pattern, {one = , all = } in GB/s. */
static void push_bandwidths(lua_State *L, const ml_Machine *m)
{
    lua_createtable(L, 0, ML_MACHINE_LEVELS);
    for (int l = 0; l < ML_MACHINE_LEVELS; l++) {
        lua_createtable(L, 0, ML_TRAFFICS);
        for (int t = 0; t < ML_TRAFFICS; t++) {
            if (isnan(m->bandwidth[l][t][0]))
                continue;
            lua_createtable(L, 0, 2);
            set_known(L, "one", m->bandwidth[l][t][0] * 1e-9);
            set_known(L, "all", m->bandwidth[l][t][1] * 1e-9);
            lua_setfield(L, -2, ml_traffic_name((ml_Traffic)t));
        }
        lua_setfield(L, -2, ml_machine_level_name((ml_MachineLevel)l));
    }
}

static void push_machine(lua_State *L, const ml_Machine *m)
{
    lua_createtable(L, 0, 16);
    bind_set_string(L, "cpu", m->cpu);
    bind_set_string(L, "level", ml_target_level(&m->target));
    bind_set_string(L, "features", m->target.features);
    bind_set_int(L, "vector_bits", m->target.vector_bits);
    bind_set_int(L, "cores", m->target.cores);
    bind_set_int(L, "threads", m->threads);
    if (m->clock > 0)
        bind_set_number(L, "clock", m->clock * 1e-9);
    set_known(L, "clock_measured", m->clock_measured * 1e-9);
    set_known(L, "flop_per_cycle", m->flop_per_cycle);
    lua_createtable(L, 0, ML_MACHINE_MEMORY);
    for (int l = 0; l < ML_MACHINE_MEMORY; l++)
        if (m->cache[l])
            bind_set_int(L, ml_machine_level_name((ml_MachineLevel)l),
                         (int64_t)m->cache[l]);
    lua_setfield(L, -2, "caches");
    push_peaks(L, m);
    lua_setfield(L, -2, "peak");
    if (m->peak_set > 0)
        bind_set_number(L, "peak_set", m->peak_set * 1e-9);
    if (!m->full)
        return;
    push_bandwidths(L, m);
    lua_setfield(L, -2, "bandwidth");
    set_known(L, "call", m->call);
    set_known(L, "fork_join", m->fork_join);
}

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
    push_machine(L, m);
    return 1;
}

int bind_machine_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"machine", machine}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
