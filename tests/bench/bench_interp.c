/*
 * bench_interp - speed of the reference interpreter: a blocked matmul with all checks, once
 * with serial loops and once with a parallel outer loop, in nanoseconds per iteration.
 */
#include "moonloop/codegen/interp/interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const ml_Func *matmul(ml_Ctx *cx, int64_t n, ml_ForKind outer, ml_Dtype t)
{
    const ml_Expr *ext = ml_i32(cx, n), *zero = ml_i32(cx, 0);
    const ml_Expr *shape[2] = {ext, ext};
    const ml_Buffer *buf[3];
    const ml_Var *loop[3], *var[3];
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, 3);
    ml_Region *regions = ML_ARRAY(cx, ml_Region, 3);
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 3);
    static const char *const names[3] = {"A", "B", "C"}, *const loops[3] = {"i", "j", "k"};
    static const char *const vs[3] = {"vi", "vj", "vk"};
    static const int use[3][2] = {{0, 2}, {2, 1}, {0, 1}}; /* A[i, k], B[k, j], C[i, j] */
    const ml_Expr *load[3], *idx[3][2];
    const ml_Stmt *s;

    for (int k = 0; k < 3; k++) {
        buf[k] = ml_buffer_new(cx, names[k], t, shape, 2, "global");
        loop[k] = ml_var_new(cx, loops[k], ML_DT_I32);
        var[k] = ml_var_new(cx, vs[k], ML_DT_I32);
        params[k] = (ml_FuncParam){ml_var_new_handle(cx, names[k], t, "global"), buf[k]};
        iters[k] = (ml_Iter){.var = var[k],
                             .min = zero,
                             .extent = ext,
                             .value = ml_var(cx, loop[k]),
                             .kind = k == 2 ? ML_ITER_REDUCE : ML_ITER_SPATIAL};
    }
    for (int k = 0; k < 3; k++) {
        ml_Range *r = ML_ARRAY(cx, ml_Range, 2);
        for (int d = 0; d < 2; d++) {
            idx[k][d] = ml_var(cx, var[use[k][d]]);
            r[d] = (ml_Range){idx[k][d], ml_i32(cx, 1)};
        }
        regions[k] = (ml_Region){buf[k], r};
        load[k] = ml_load(cx, buf[k], idx[k], 2);
    }
    ml_Block b = {.tag = ml_fresh_uid(cx),
                  .name = "C",
                  .predicate = ml_bool(cx, true),
                  .n_iters = 3,
                  .n_reads = 2,
                  .n_writes = 1,
                  .iters = iters,
                  .reads = regions,
                  .writes = regions + 2,
                  .init = ml_store(cx, buf[2], ml_const(cx, t, 0), idx[2], 2, NULL),
                  .body = ml_store(cx, buf[2],
                                   ml_add(cx, load[2], ml_mul(cx, load[0], load[1])),
                                   idx[2], 2, NULL)};
    s = ml_block_from(cx, &b);
    for (int k = 3; k-- > 0;) {
        ml_For f = {.kind = k == 0 ? (uint8_t)outer : (uint8_t)ML_FOR_SERIAL,
                    .var = loop[k],
                    .min = zero,
                    .extent = ext,
                    .body = s};
        s = ml_for_from(cx, &f);
    }
    ml_Block root = {
        .tag = ml_fresh_uid(cx), .name = "root", .predicate = ml_bool(cx, true), .body = s};
    ml_Func fn = {.name = "main",
                  .n_params = 3,
                  .params = params,
                  .body = ml_block_from(cx, &root),
                  .ret = ML_DT_VOID};
    return ml_func_from(cx, &fn);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(int64_t n, ml_ForKind kind, ml_Dtype t)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Func *f = matmul(cx, n, kind, t);
    ml_RunArg args[3] = {{0}};
    int64_t shape[2] = {n, n};
    ml_InterpReport rep;
    double start;
    bool ok;

    for (int k = 0; k < 3; k++) {
        args[k].tensor = ml_tensor_new(cx, t, shape, 2);
        ml_tensor_fill(args[k].tensor, ML_FILL_RANDOM, "bench", (uint32_t)k, 1, 0, 0);
    }
    start = now();
    ok = ml_interpret(cx, NULL, f, args, 3, NULL, &rep);
    start = now() - start;
    printf("%-10s %-8s matmul %lld: %s, %.3f s, %.1f ns per innermost iteration\n",
           ml_for_kind_name(kind), ml_dtype_name(cx, t), (long long)n,
           ok ? "ok" : ml_error_code(ml_error(cx)->code), start,
           1e9 * start / (double)(n * n * n));
    for (int k = 0; k < 3; k++)
        ml_tensor_free(args[k].tensor);
    ml_ctx_unref(cx);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? strtol(argv[1], NULL, 10) : 215;

    measure(4, ML_FOR_SERIAL, ML_DT_F32); /* mostly the compilation */
    measure(n, ML_FOR_SERIAL, ML_DT_F32);
    measure(n, ML_FOR_PARALLEL, ML_DT_F32);
    measure(n, ML_FOR_SERIAL, ML_DT(ML_INT, 8));
    measure(n / 2, ML_FOR_SERIAL, ML_DT(ML_FLOAT, 16));
    measure(n / 2, ML_FOR_SERIAL, ML_DT(ML_BFLOAT, 16));
    return 0;
}
