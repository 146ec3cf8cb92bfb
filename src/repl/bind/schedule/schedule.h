/* schedule - schedules as Lua objects: handles, primitives, versions, traces. Source: lua-api 3.
 */
#ifndef ML_REPL_BIND_SCHEDULE_SCHEDULE_H
#define ML_REPL_BIND_SCHEDULE_SCHEDULE_H

#include "repl/bind/ir/ir.h"

extern const BindClass bind_schedule_class, bind_handle_class, bind_hexpr_class,
    bind_trace_class, bind_auto_class;

/* The schedule at that index, not counted; NULL: it is no schedule. */
ml_Schedule *ml_lua_to_schedule(lua_State *L, int idx);
void ml_lua_push_schedule(lua_State *L, ML_TAKES ml_Schedule *s);
/* A handle's name, schedule and kind; false: it is no handle. */
bool ml_lua_to_handle(lua_State *L, int idx, ml_Schedule **s, ml_Handle *h);
typedef struct BindSchedule {
    ml_Schedule *s;
} BindSchedule;
typedef struct BindHandle {
    ml_Handle h;
} BindHandle; /* uservalue 1: the schedule */
typedef struct BindHexpr {
    uint8_t op; /* an ml_ExprKind */
} BindHexpr;    /* uservalues 1, 2: operands; 3: the schedule */
ml_Schedule *bind_check_schedule(lua_State *L, int idx);
void bind_push_handle(lua_State *L, int sched, ml_Handle h);
/* The results of a call on the schedule at `sched`, as Lua sees them; number of values. */
/* Pushes an empty list for n handles; reading its element 0 raises. */
void bind_new_handles(lua_State *L, size_t n);
int bind_push_results(lua_State *L, int sched, const ml_Results *r);
/* Whether a handle made by `from` may be used with s. */
bool bind_same_family(ml_Schedule *from, ml_Schedule *s);
/* Version number or mark at idx. */
int bind_version(lua_State *L, int idx, ml_Schedule *s);
void bind_push_trace(lua_State *L, int sched);
int bind_trace_new(lua_State *L);
void bind_schedule_primitives(lua_State *L); /* adds them to the table on top */
/* The primitive on top, or call that is not recorded, becomes one that knows the schedule
 * at `object`; its name stands above that. */
void bind_method_of(lua_State *L, int object);
void bind_schedule_versions(lua_State *L); /* methods of the version tree, likewise */
void bind_schedule_calls(lua_State *L);    /* what no trace records, likewise */
struct ml_ScheduleCall;
void bind_push_schedule_call(lua_State *L, const struct ml_ScheduleCall *c);

int bind_tile_with_intrinsic(lua_State *L); /* schedule:tile_with_intrinsic */

/* ---- functions of moon, added to the table on top */
int bind_schedule_functions(lua_State *L);
int bind_info_functions(lua_State *L);
int bind_map_functions(lua_State *L);

#endif
