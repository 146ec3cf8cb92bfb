/*
 * async_copy - the copies that annotated pipelines let go on in the background, and whether
 * each is one run of elements, which is what an engine for copies can be told.
 *
 * A copy is a nest of loops and blocks around one store of one load into another buffer.
 * What else a stage does is no copy and is not told of. Source: auto-scheduler 7.9.
 */
#include "moonloop/verify/verify.h"

#include "moonloop/core/walk.h"

static const char STAGES[] = "software_pipeline_stage";
static const char ASYNC[] = "software_pipeline_async_stages";

typedef struct Find {
    ml_Ctx *cx;
    const ml_Func *func;
    ml_AsyncCopyVec *out;
} Find;

/* The nest without its blocks, *guarded: one of them or a condition may leave elements out;
 * NULL: there is more than a nest. */
static const ml_Stmt *without_blocks(ml_Ctx *cx, const ml_Stmt *s, bool *guarded)
{
    const ml_Stmt *in;

    if (s->kind == ML_STMT_IF && !ml_as_if(s)->other) {
        *guarded = true;
        return without_blocks(cx, ml_as_if(s)->then, guarded);
    }
    if (s->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(s);

        in = without_blocks(cx, f.body, guarded);
        if (!in)
            return NULL;
        f.body = in;
        return ml_for_from(cx, &f);
    }
    if (s->kind != ML_STMT_BLOCK)
        return s->kind == ML_STMT_STORE ? s : NULL;
    const ml_Block *b = ml_as_block(s);
    ml_Subst sub = {0};

    if (b->init || b->n_matches)
        return NULL;
    *guarded |= !ml_is_true(b->predicate);
    in = without_blocks(cx, b->body, guarded);
    for (uint32_t k = 0; in && k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    return in && sub.vars ? ml_stmt_subst(cx, in, &sub) : in;
}

static void look(Find *f, const ml_For *loop, const ml_Stmt *s)
{
    bool guarded = false;
    const ml_Stmt *nest = without_blocks(f->cx, s, &guarded), *in = nest;
    ml_Memcpy run;
    const char *why = NULL;

    while (in && in->kind == ML_STMT_FOR)
        in = ml_as_for(in)->body;
    if (!in || ml_as_store(in)->value->kind != ML_EXPR_LOAD)
        return;
    const ml_Store *st = ml_as_store(in);

    if (guarded)
        why = "a guard leaves elements out";
    else if (ml_is_memcpy(f->cx, f->func, nest, &run, &why))
        why = NULL;
    ml_push(f->cx, f->out, ((ml_AsyncCopy){loop, st->value->as.buffer, st->buffer, why}));
}

static bool number_at(const ml_Value *list, size_t k, int64_t *out)
{
    const ml_Value *e =
        list && list->kind == ML_VAL_LIST && k < list->n ? list->as.list[k] : NULL;

    if (e && e->kind == ML_VAL_EXPR && ml_is_const_int(e->as.expr))
        *out = e->as.expr->as.i;
    else if (e && e->kind == ML_VAL_INT)
        *out = e->as.i;
    else
        return false;
    return true;
}

static bool in_background(const ml_Value *async, int64_t stage)
{
    int64_t one;

    for (size_t k = 0; number_at(async, k, &one); k++)
        if (one == stage)
            return true;
    return false;
}

static bool find_loop(const ml_Stmt *s, void *user)
{
    Find *f = user;

    if (s->kind != ML_STMT_FOR)
        return true;
    const ml_For *loop = ml_as_for(s);
    const ml_Value *async = ml_dict_get(loop->annotations, ASYNC);
    const ml_Value *stages = async ? ml_dict_get(loop->annotations, STAGES) : NULL;
    const ml_Stmt *body = loop->body;

    if (body->kind == ML_STMT_BLOCK && ml_as_block(body)->body->kind == ML_STMT_SEQ)
        body = ml_as_block(body)->body;
    size_t n = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->n : 1;

    for (size_t k = 0; stages && k < n; k++) {
        int64_t stage;

        if (number_at(stages, k, &stage) && in_background(async, stage))
            look(f, loop, body->kind == ML_STMT_SEQ ? ml_as_seq(body)->stmts[k] : body);
    }
    return true;
}

void ml_async_copies(ml_Ctx *cx, const ml_Func *f, ml_AsyncCopyVec *out)
{
    Find find = {cx, f, out};

    ml_stmt_visit(f->body, find_loop, &find);
}
