/* calls - the calls on a schedule that no trace records, with what help says of them. */
#ifndef ML_REPL_BIND_CALLS_H
#define ML_REPL_BIND_CALLS_H

#include <stddef.h>

typedef struct ml_ScheduleCall {
    const char *name, *args, *summary, *help;
    const char *example; /* Lua: prints what it shows; s is a small schedule */
} ml_ScheduleCall;

extern const ml_ScheduleCall ml_schedule_calls[];
extern const size_t ml_n_schedule_calls;
const ml_ScheduleCall *ml_schedule_call_find(const char *name); /* NULL: no such call */

#endif
