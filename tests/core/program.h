/* program - building small programs from constructors for the tests of src/core. Lists are
 * copied where the constructors keep pointers. */
#ifndef ML_TESTS_CORE_PROGRAM_H
#define ML_TESTS_CORE_PROGRAM_H

#include "moonloop/core/walk.h"

static inline const ml_Expr *i32v(ml_Ctx *cx, const ml_Var *v)
{
    return ml_var(cx, v);
}

static inline const ml_Var *new_i32(ml_Ctx *cx, const char *hint)
{
    return ml_var_new(cx, hint, ML_DT_I32);
}

/* A float32 vector of n elements. */
static inline const ml_Buffer *vector_of(ml_Ctx *cx, const char *name, int64_t n)
{
    const ml_Expr *shape[] = {ml_i32(cx, n)};

    return ml_buffer_new(cx, name, ML_DT_F32, shape, 1, NULL);
}

static inline ml_Region *point_region(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *at)
{
    ml_Range *range = ML_NEW(cx, ml_Range);
    ml_Region *r = ML_NEW(cx, ml_Region);

    *range = (ml_Range){at, ml_i32(cx, 1)};
    *r = (ml_Region){b, range};
    return r;
}

/* with block(name): v = spatial(extent, value); to[v] = from[v] + 1 */
static inline const ml_Stmt *add_one(ml_Ctx *cx, const char *name, const ml_Buffer *to,
                                     const ml_Buffer *from, int64_t extent,
                                     const ml_Expr *value)
{
    ml_Iter *it = ML_NEW(cx, ml_Iter);
    const ml_Var *v = new_i32(cx, "v");
    const ml_Expr *at = ml_var(cx, v);
    const ml_Expr *sum =
        ml_add(cx, ml_load(cx, from, &at, 1), ml_float(cx, ML_DT_F32, 1.0));

    *it = (ml_Iter){
        .var = v, .min = ml_i32(cx, 0), .extent = ml_i32(cx, extent), .value = value};
    return ml_block_from(cx, &(ml_Block){.tag = ml_fresh_uid(cx),
                                         .name = name,
                                         .predicate = ml_bool(cx, true),
                                         .n_iters = 1,
                                         .iters = it,
                                         .n_reads = 1,
                                         .reads = point_region(cx, from, at),
                                         .n_writes = 1,
                                         .writes = point_region(cx, to, at),
                                         .body = ml_store(cx, to, sum, &at, 1, NULL)});
}

/* for hint in range(extent): add_one(...) */
static inline const ml_Stmt *add_one_loop(ml_Ctx *cx, const char *hint, const ml_Buffer *to,
                                          const ml_Buffer *from, int64_t extent)
{
    const ml_Var *i = new_i32(cx, hint);

    return ml_serial(cx, i, ml_i32(cx, 0), ml_i32(cx, extent),
                     add_one(cx, hint, to, from, extent, ml_var(cx, i)));
}

/* A function with a root block around body. */
static inline const ml_Func *func_of(ml_Ctx *cx, const char *name,
                                     const ml_Buffer *const *bufs, size_t n,
                                     const ml_Stmt *body)
{
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        params[k] = (ml_FuncParam){ml_var_new(cx, bufs[k]->name, ML_DT_HANDLE), bufs[k]};
    body = ml_block_from(cx, &(ml_Block){.tag = ml_fresh_uid(cx),
                                         .name = "root",
                                         .predicate = ml_bool(cx, true),
                                         .body = body});
    return ml_func_from(cx, &(ml_Func){.name = name,
                                       .n_params = (uint32_t)n,
                                       .params = params,
                                       .body = body,
                                       .ret = ML_DT_VOID});
}

/* B = A + 1; C = B + 1, each in a loop of its own. */
static inline const ml_Func *two_stages(ml_Ctx *cx, int64_t extent)
{
    const ml_Buffer *bufs[] = {vector_of(cx, "A", extent), vector_of(cx, "B", extent),
                               vector_of(cx, "C", extent)};
    const ml_Stmt *loops[] = {add_one_loop(cx, "i", bufs[1], bufs[0], extent),
                              add_one_loop(cx, "j", bufs[2], bufs[1], extent)};

    return func_of(cx, "main", bufs, 3, ml_seq(cx, loops, 2));
}

#endif
