/*
 * fixture - see fixture.h
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>

static const ml_Buffer *matrix(ml_Ctx *cx, const char *name, int64_t n, int64_t m)
{
    const ml_Expr *shape[] = {ml_i32(cx, n), ml_i32(cx, m)};

    return ml_buffer_new(cx, name, ML_DT_F32, shape, m ? 2 : 1, "global");
}

static void point(ml_Ctx *cx, ml_Region *r, const ml_Buffer *b, const ml_Expr *const *idx)
{
    ml_Range *range = ML_ARRAY(cx, ml_Range, b->rank);

    for (size_t k = 0; k < b->rank; k++)
        range[k] = (ml_Range){idx[k], ml_i32(cx, 1)};
    *r = (ml_Region){b, range};
}

static const ml_Module *module_of(ml_Ctx *cx, const char *name,
                                  const ml_Buffer *const *params, size_t n,
                                  const ml_Buffer *const *allocs, size_t n_allocs,
                                  const ml_Stmt *body)
{
    ml_FuncParam *p = ML_ARRAY(cx, ml_FuncParam, n);
    const ml_Buffer **kept = ML_ARRAY(cx, const ml_Buffer *, n_allocs + 1);

    for (size_t k = 0; k < n; k++)
        p[k] = (ml_FuncParam){ml_var_new(cx, params[k]->name, ML_DT_HANDLE), params[k]};
    for (size_t k = 0; k < n_allocs; k++)
        kept[k] = allocs[k];
    ml_Block root = {
        .tag = ml_fresh_uid(cx), .name = "root", .predicate = ml_bool(cx, true)};

    root.n_allocs = (uint32_t)n_allocs;
    root.allocs = kept;
    root.body = body;
    const char *keys[] = {"global_symbol"};
    const ml_Value *values[] = {ml_val_string(cx, ml_str(name))};
    const ml_Func *f =
        ml_func_from(cx, &(ml_Func){.name = name,
                                    .n_params = (uint32_t)n,
                                    .params = p,
                                    .body = ml_block_from(cx, &root),
                                    .attrs = ml_val_dict(cx, keys, values, 1),
                                    .ret = ML_DT_VOID});

    return ml_module_new(cx, &f, 1, NULL);
}

const ml_Module *fx_matmul_module(ml_Ctx *cx, int64_t n, int64_t m, int64_t k)
{
    static const char *const loop_names[] = {"i", "j", "k"}, *const iter_names[] = {
                                                                 "vi", "vj", "vk"};
    int64_t extents[] = {n, m, k};
    const ml_Buffer *bufs[] = {matrix(cx, "A", n, k), matrix(cx, "B", k, m),
                               matrix(cx, "C", n, m)};
    const ml_Var *loops[3];
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, 3);
    const ml_Expr *v[3];

    for (size_t d = 0; d < 3; d++) {
        loops[d] = ml_var_new(cx, loop_names[d], ML_DT_I32);
        iters[d] = (ml_Iter){.var = ml_var_new(cx, iter_names[d], ML_DT_I32),
                             .min = ml_i32(cx, 0),
                             .extent = ml_i32(cx, extents[d]),
                             .value = ml_var(cx, loops[d]),
                             .kind = d == 2 ? ML_ITER_REDUCE : ML_ITER_SPATIAL};
        v[d] = ml_var(cx, iters[d].var);
    }
    const ml_Expr *ia[] = {v[0], v[2]}, *ib[] = {v[2], v[1]}, *ic[] = {v[0], v[1]};
    ml_Region *reads = ML_ARRAY(cx, ml_Region, 2), *writes = ML_ARRAY(cx, ml_Region, 1);

    point(cx, &reads[0], bufs[0], ia);
    point(cx, &reads[1], bufs[1], ib);
    point(cx, &writes[0], bufs[2], ic);
    ml_Block b = {.tag = ml_fresh_uid(cx), .name = "C", .predicate = ml_bool(cx, true)};

    b.n_iters = 3;
    b.iters = iters;
    b.n_reads = 2;
    b.reads = reads;
    b.n_writes = 1;
    b.writes = writes;
    b.init = ml_store(cx, bufs[2], ml_float(cx, ML_DT_F32, 0), ic, 2, NULL);
    b.body = ml_store(
        cx, bufs[2],
        ml_add(cx, ml_load(cx, bufs[2], ic, 2),
               ml_mul(cx, ml_load(cx, bufs[0], ia, 2), ml_load(cx, bufs[1], ib, 2))),
        ic, 2, NULL);
    const ml_Stmt *st = ml_block_from(cx, &b);

    for (size_t d = 3; d-- > 0;)
        st = ml_serial(cx, loops[d], ml_i32(cx, 0), ml_i32(cx, extents[d]), st);
    return module_of(cx, "matmul", bufs, 3, NULL, 0, st);
}

static const ml_Stmt *stage(ml_Ctx *cx, const char *loop_name, const ml_Buffer *to,
                            const ml_Buffer *from, int64_t n)
{
    const ml_Var *loop = ml_var_new(cx, loop_name, ML_DT_I32),
                 *v = ml_var_new(cx, "v", ML_DT_I32);
    const ml_Expr *idx[] = {ml_var(cx, v)};
    ml_Iter *it = ML_NEW(cx, ml_Iter);
    ml_Region *reads = ML_NEW(cx, ml_Region), *writes = ML_NEW(cx, ml_Region);
    ml_Block b = {
        .tag = ml_fresh_uid(cx), .name = to->name, .predicate = ml_bool(cx, true)};

    *it = (ml_Iter){
        .var = v, .min = ml_i32(cx, 0), .extent = ml_i32(cx, n), .value = ml_var(cx, loop)};
    point(cx, reads, from, idx);
    point(cx, writes, to, idx);
    b.n_iters = b.n_reads = b.n_writes = 1;
    b.iters = it;
    b.reads = reads;
    b.writes = writes;
    b.body =
        ml_store(cx, to, ml_add(cx, ml_load(cx, from, idx, 1), ml_float(cx, ML_DT_F32, 1)),
                 idx, 1, NULL);
    return ml_serial(cx, loop, ml_i32(cx, 0), ml_i32(cx, n), ml_block_from(cx, &b));
}

const ml_Module *fx_stages_module(ml_Ctx *cx, int64_t n, const char *second)
{
    const ml_Buffer *a = matrix(cx, "A", n, 0), *b = matrix(cx, "B", n, 0),
                    *c = matrix(cx, "C", n, 0);
    const ml_Buffer *params[] = {a, c};
    const ml_Stmt *both[] = {stage(cx, "i", b, a, n), stage(cx, second, c, b, n)};

    return module_of(cx, "main", params, 2, &b, 1, ml_seq(cx, both, 2));
}

void fx_open(Fixture *fx, ml_Ctx *cx, const ml_Module *m, const ml_ScheduleOpts *opts)
{
    const ml_Error *e = NULL;

    *fx = (Fixture){.module_cx = cx, .tmp = ml_ctx_new(0)};
    fx->s = ml_schedule_new(cx, m, opts, &e);
    if (!fx->s)
        fail_msg("the schedule was refused: %s", ml_error_code(e->code));
}

void fx_matmul(Fixture *fx, int64_t n, int64_t m, int64_t k)
{
    ml_Ctx *cx = ml_ctx_new(0);

    fx_open(fx, cx, fx_matmul_module(cx, n, m, k), NULL);
}

void fx_stages(Fixture *fx, int64_t n, const char *second)
{
    ml_Ctx *cx = ml_ctx_new(0);

    fx_open(fx, cx, fx_stages_module(cx, n, second), NULL);
}

void fx_text(Fixture *fx, const char *text)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    if (!p.mod)
        fail_msg("%s: %s", p.diags[0].code, p.diags[0].message);
    fx_open(fx, cx, p.mod, NULL);
}

void fx_close(Fixture *fx)
{
    ml_schedule_unref(fx->s);
    ml_ctx_unref(fx->tmp);
    ml_ctx_unref(fx->module_cx);
}

bool fx_try(Fixture *fx, const char *calls)
{
    ml_CallTexts c = {0};

    ml_ctx_reset(fx->tmp);
    if (!ml_parse_calls(fx->tmp, ml_str(calls), &c))
        fail_msg("%s: %s", calls, ml_error(fx->tmp)->facts[0].as.text);
    for (size_t k = 0; k < c.n; k++)
        if (!ml_apply_prim(fx->s, c.v[k].prim, c.v[k].args, c.v[k].n, &fx->r))
            return false;
    return true;
}

const char *fx_message(Fixture *fx)
{
    ml_Failure *f = ml_failure_take(fx->s);
    const char *z;

    ml_ctx_reset(fx->tmp);
    z = ml_strdup(fx->tmp, ml_str(f ? ml_failure_message(f) : "no error"));
    ml_failure_free(f);
    return z;
}

void fx_apply(Fixture *fx, const char *calls)
{
    if (!fx_try(fx, calls))
        fail_msg("%s: %s [%s]", calls, fx_message(fx),
                 ml_error_code(ml_schedule_error(fx->s)->code));
}

void fx_refuses(Fixture *fx, ml_ErrorCode code, const char *call)
{
    ml_State before = ml_schedule_state(fx->s);
    int n = ml_schedule_n_versions(fx->s);
    ml_Program p = ml_schedule_program(fx->s);

    if (fx_try(fx, call))
        fail_msg("%s was accepted", call);
    if (ml_schedule_error(fx->s)->code != code)
        fail_msg("%s: %s, not %s: %s", call, ml_error_code(ml_schedule_error(fx->s)->code),
                 ml_error_code(code), fx_message(fx));
    ml_State after = ml_schedule_state(fx->s);

    assert_int_equal(before.version, after.version);
    assert_ptr_equal(before.trace, after.trace);
    assert_int_equal(before.random, after.random);
    assert_int_equal(n, ml_schedule_n_versions(fx->s));
    assert_ptr_equal(p.mod, ml_schedule_program(fx->s).mod);
    assert_ptr_equal(p.index, ml_schedule_program(fx->s).index);
}

ml_Handle fx_handle(Fixture *fx, const char *name)
{
    ml_Handle h = {0};

    if (!ml_resolve(fx->s, name, ML_H_NONE, &h))
        fail_msg("%s does not resolve: %s", name, fx_message(fx));
    return h;
}
