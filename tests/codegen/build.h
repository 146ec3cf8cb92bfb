/*
 * build - small programs from constructors, and running them, for the tests of src/codegen.
 * Every macro and function takes the fixture `x`, whose context is x->cx.
 */
#ifndef ML_TESTS_CODEGEN_BUILD_H
#define ML_TESTS_CODEGEN_BUILD_H

#include "moonloop/codegen/interp/interp.h"
#include "moonloop/core/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct Fix {
    ml_Ctx *cx;
    ml_RunArg args[16];
    size_t n_args;
    ml_InterpReport report;
    ml_InterpOpts opts;
} Fix;

static inline int fix_setup(void **state)
{
    static Fix fix;

    fix = (Fix){.cx = ml_ctx_new(0)};
    *state = &fix;
    return 0;
}

static inline void drop_args(Fix *x)
{
    for (size_t k = 0; k < x->n_args; k++)
        ml_tensor_free(x->args[k].tensor);
    x->n_args = 0;
}

static inline int fix_teardown(void **state)
{
    Fix *x = *state;

    drop_args(x);
    ml_ctx_unref(x->cx);
    return 0;
}

#define LIST(...)                                                                          \
    (const ml_Expr *[])                                                                    \
    {                                                                                      \
        __VA_ARGS__                                                                        \
    }
#define LEN(...)      (sizeof(LIST(__VA_ARGS__)) / sizeof(const ml_Expr *))
#define I(n)          ml_i32(x->cx, (n))
#define FL(v)         ml_float(x->cx, ML_DT_F32, (v))
#define X(v)          ml_var(x->cx, (v))
#define ADD(a, b)     ml_add(x->cx, (a), (b))
#define SUB(a, b)     ml_sub(x->cx, (a), (b))
#define MUL(a, b)     ml_mul(x->cx, (a), (b))
#define LD(b, ...)    ml_load(x->cx, (b), LIST(__VA_ARGS__), LEN(__VA_ARGS__))
#define ST(b, v, ...) ml_store(x->cx, (b), (v), LIST(__VA_ARGS__), LEN(__VA_ARGS__), NULL)
#define SEQ(...)                                                                           \
    ml_seq(x->cx, (const ml_Stmt *[]){__VA_ARGS__},                                        \
           sizeof((const ml_Stmt *[]){__VA_ARGS__}) / sizeof(const ml_Stmt *))
#define BUF(name, type, ...)                                                               \
    ml_buffer_new(x->cx, (name), (type), LIST(__VA_ARGS__), LEN(__VA_ARGS__), "global")
#define IVAR(name) ml_var_new(x->cx, (name), ML_DT_I32)

static inline const ml_Buffer *scoped(Fix *x, const char *name, ml_Dtype t, int64_t n,
                                      const char *scope)
{
    const ml_Expr *shape[] = {I(n)};

    return ml_buffer_new(x->cx, name, t, shape, 1, scope);
}

static inline const ml_Stmt *loop(Fix *x, ml_ForKind kind, const ml_Var *v,
                                  const ml_Expr *extent, const ml_Stmt *body)
{
    ml_For f = {.kind = (uint8_t)kind,
                .var = v,
                .min = ml_int(x->cx, v->type, 0),
                .extent = extent,
                .body = body};

    ML_ASSERT(kind != ML_FOR_THREAD);
    return ml_for_from(x->cx, &f);
}

static inline const ml_Stmt *thread_loop(Fix *x, const char *tag, const ml_Var *v,
                                         int64_t extent, const ml_Stmt *body)
{
    ml_For f = {.kind = ML_FOR_THREAD,
                .thread = ml_thread(tag),
                .var = v,
                .min = I(0),
                .extent = I(extent),
                .body = body};

    return ml_for_from(x->cx, &f);
}

/* ---- blocks: fields are filled in, then finished */
typedef struct Blk {
    ml_Block b;
    ml_Iter iters[4];
    ml_Region reads[4], writes[4];
    ml_Match matches[2];
    const ml_Buffer *allocs[4];
} Blk;

static inline const ml_Var *iter(Fix *x, Blk *b, const char *name, ml_IterKind kind,
                                 int64_t extent, const ml_Expr *value)
{
    const ml_Var *v = IVAR(name);

    b->iters[b->b.n_iters++] = (ml_Iter){
        .var = v, .min = I(0), .extent = I(extent), .value = value, .kind = (uint8_t)kind};
    return v;
}

/* A region given as min, extent, min, extent ... */
static inline ml_Region region(Fix *x, const ml_Buffer *buf, const ml_Expr *const *ends)
{
    ml_Range *r = ML_ARRAY(x->cx, ml_Range, buf->rank + 1u);

    for (size_t d = 0; d < buf->rank; d++)
        r[d] = (ml_Range){ends[2 * d], ends[2 * d + 1]};
    return (ml_Region){buf, r};
}
#define READS(blk, buf, ...)                                                               \
    ((blk)->reads[(blk)->b.n_reads++] = region(x, (buf), LIST(__VA_ARGS__)))
#define WRITES(blk, buf, ...)                                                              \
    ((blk)->writes[(blk)->b.n_writes++] = region(x, (buf), LIST(__VA_ARGS__)))

static inline void *keep(Fix *x, const void *p, size_t n)
{
    void *q = ml_alloc(x->cx, n + 1);

    if (n)
        memcpy(q, p, n);
    return q;
}

static inline const ml_Stmt *block(Fix *x, Blk *b, const char *name, const ml_Stmt *body)
{
    ml_Block f = b->b;

    f.tag = ml_fresh_uid(x->cx);
    f.name = name;
    f.body = body;
    if (f.predicate == NULL)
        f.predicate = ml_bool(x->cx, true);
    f.iters = keep(x, b->iters, f.n_iters * sizeof(ml_Iter));
    f.reads = keep(x, b->reads, f.n_reads * sizeof(ml_Region));
    f.writes = keep(x, b->writes, f.n_writes * sizeof(ml_Region));
    f.allocs = keep(x, b->allocs, f.n_allocs * sizeof(const ml_Buffer *));
    f.matches = keep(x, b->matches, f.n_matches * sizeof(ml_Match));
    return ml_block_from(x->cx, &f);
}

/* ---- functions */
static inline const ml_Func *func(Fix *x, const char *name, const ml_Buffer *const *bufs,
                                  size_t n, const ml_Stmt *body)
{
    ml_FuncParam *params = ML_ARRAY(x->cx, ml_FuncParam, n + 1);
    ml_Func f = {
        .name = name, .n_params = (uint32_t)n, .params = params, .ret = ML_DT_VOID};

    for (size_t k = 0; k < n; k++)
        params[k] = (ml_FuncParam){
            ml_var_new_handle(x->cx, bufs[k]->name, bufs[k]->type, "global"), bufs[k]};
    f.body = body;
    if (body->has_block &&
        !(body->kind == ML_STMT_BLOCK && ml_as_block(body)->n_iters == 0)) {
        Blk root = {.b.n_iters = 0};
        f.body = block(x, &root, "root", body);
    }
    return ml_func_from(x->cx, &f);
}
#define BUFS(...)                                                                          \
    (const ml_Buffer *[])                                                                  \
    {                                                                                      \
        __VA_ARGS__                                                                        \
    }
#define FUNC(body, ...)                                                                    \
    func(x, "main", BUFS(__VA_ARGS__),                                                     \
         sizeof(BUFS(__VA_ARGS__)) / sizeof(const ml_Buffer *), (body))

/* Tensors of constant shapes, holding 0, 1, 2 ... */
static inline void make_args(Fix *x, const ml_Func *f)
{
    drop_args(x);
    for (size_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;
        int64_t shape[8];
        x->args[k] = (ml_RunArg){0};
        if (b == NULL)
            continue;
        for (size_t d = 0; d < b->rank; d++)
            shape[d] = b->shape[d]->kind == ML_EXPR_INT ? b->shape[d]->as.i : 6;
        x->args[k].tensor = ml_tensor_new(x->cx, b->type, shape, b->rank);
        assert_non_null(x->args[k].tensor);
        ml_tensor_fill(x->args[k].tensor, ML_FILL_IOTA, "t", (uint32_t)k, 1, 0, 0);
    }
    x->n_args = f->n_params;
}

/* Runs with the arguments there are; the error's code, or ML_E_OK. */
static inline ml_ErrorCode rerun(Fix *x, const ml_Func *f)
{
    ml_ErrorCode code = ML_E_OK;

    ml_error_clear(x->cx);
    if (!ml_interpret(x->cx, NULL, f, x->args, x->n_args, &x->opts, &x->report)) {
        assert_non_null(ml_error(x->cx));
        code = ml_error(x->cx)->code;
    }
    return code;
}

static inline ml_ErrorCode run(Fix *x, const ml_Func *f)
{
    make_args(x, f);
    return rerun(x, f);
}

static inline void expect_code(Fix *x, const ml_Func *f, ml_ErrorCode want)
{
    ml_ErrorCode got = run(x, f);

    if (got != want)
        fail_msg("expected %s, got %s", ml_error_code(want), ml_error_code(got));
}

static inline double at(Fix *x, size_t arg, int64_t lane)
{
    return ml_tensor_get(x->args[arg].tensor, lane);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fix_setup, fix_teardown)

#endif
