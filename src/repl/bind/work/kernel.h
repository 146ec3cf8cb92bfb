/* kernel - compiled functions as Lua objects. Source: lua-api 5. */
#ifndef ML_REPL_BIND_KERNEL_H
#define ML_REPL_BIND_KERNEL_H

#include "moonloop/codegen/kernel/kernel.h"
#include "moonloop/work/timing.h"
#include "repl/bind/work/work.h"

typedef struct BindKernel {
    ml_Built *b; /* NULL: closed */
    double flop; /* of the program that it was scheduled from */
} BindKernel;
extern const BindClass bind_kernel_class;
int bind_build_functions(lua_State *L);

/* ---- time.c: the options `shape` and `runs` */
/* Option `runs` of the table at idx; 0: not given. */
uint32_t bind_read_runs(lua_State *L, int idx);
void bind_read_sizes(lua_State *L, int idx, ml_Ctx *cx, int box, const ml_Size **out,
                     size_t *n);

#endif
