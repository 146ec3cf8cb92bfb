/*
 * loop_kind - parallel, vectorize, unroll and bind: how the iterations of a loop run.
 *
 * The first three of parallel, vectorize, bind need compact dataflow under the loop, and
 * every iter bound to it spatial (threadIdx: or reduce). Source: primitives 6.
 */
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"

enum { LOOP, THREAD };

/* Every iter whose value mentions the loop, in every block below it, inits excluded. */
static bool check_iters(ml_Call *c, const ml_For *loop, const char *what, ml_Thread t)
{
    ml_StmtVec blocks = {0};

    ml_all_blocks(c->cx, &loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; m < b->n_iters; m++) {
            const ml_Iter *it = &b->iters[m];

            if (!ml_expr_uses_var(it->value, loop->var) || it->kind == ML_ITER_SPATIAL)
                continue;
            if (it->kind == ML_ITER_REDUCE && t.axis == ML_AXIS_THREAD)
                continue;
            return ml_fail(c->cx, ML_E_ITER_NOT_PARALLEL, ML_LOOP(loop), ML_TEXT(what),
                           ML_ITER(b, m), ML_BLOCK(b),
                           ML_TEXT(it->kind == ML_ITER_REDUCE
                                       ? "reduction"
                                       : ml_iter_kind_name((ml_IterKind)it->kind)));
        }
    }
    return true;
}

static void readers_below(ml_Call *c, const ml_For *loop, ml_UidVec *out)
{
    ml_StmtVec blocks = {0};

    ml_all_blocks(c->cx, &loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        ml_thread_readers(c, ml_stmt_uid(blocks.v[k]), out);
}

/* Sets the kind; everything else of the loop stays. */
static bool set_kind(ml_Call *c, ml_ForKind kind, const char *what, ml_Thread t)
{
    ml_Ctx *cx = c->cx;
    const ml_For *loop = ml_call_loop(c, c->args[LOOP].uid);
    bool concurrent = kind != ML_FOR_UNROLLED && !ML_FAULT(PARALLEL_CHECKS);

    if (concurrent && !ML_PROVE(c, ML_SOUND,
                                check_iters(c, loop, what, t) &&
                                    ml_check_reads_in_blocks(c, &loop->base, NULL)))
        return false;

    bool ask = kind == ML_FOR_THREAD && ml_call_asks(c, ML_STRICT);
    ml_UidVec readers = {0};
    ml_For f = *loop;

    if (ask) {
        readers_below(c, loop, &readers);
        ml_keep_unbroken(c, &readers);
    }
    f.kind = (uint8_t)kind;
    f.thread = t;
    f.thread_var = NULL;
    if (loop->kind == ML_FOR_THREAD)
        ml_call_note(c, "loop %s was bound to %s", ml_shown(c->cx, loop->var),
                     loop->thread.name);
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, loop->var->uid, ml_for_from(cx, &f));
    if (!concurrent)
        return true;
    ml_call_subject(c, ML_LOOP_OF, loop->var->uid, NULL);
    if (ask)
        ml_call_subject(c, ML_THREAD_OF, loop->var->uid, NULL);
    ml_call_subjects(c, ML_READER_OF, &readers, NULL);
    if (ask && t.axis == ML_AXIS_BLOCK)
        ml_call_subjects_below(c, ML_BLOCK_OF, loop->var->uid);
    return true;
}

/* Asked of the result: under blockIdx a global buffer is shared, also by the iterations of
 * loops further inside. */
static const ml_Post posts[] = {
    {ML_STRICT, ML_LOOP_OF, ml_check_compact, NULL},
    {ML_STRICT, ML_THREAD_OF, ml_check_launchable, NULL},
    {ML_STRICT, ML_READER_OF, ml_check_thread_reader, NULL},
    {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {0},
};

static bool parallel(ml_Call *c)
{
    return set_kind(c, ML_FOR_PARALLEL, "parallel", (ml_Thread){0});
}

static bool vectorize(ml_Call *c)
{
    return set_kind(c, ML_FOR_VECTORIZED, "vectorized", (ml_Thread){0});
}

static bool unroll(ml_Call *c)
{
    return set_kind(c, ML_FOR_UNROLLED, "unrolled", (ml_Thread){0});
}

static bool bind(ml_Call *c)
{
    ml_Thread t = ml_thread(c->args[THREAD].s);

    if (ml_thread_rank(t) < 0)
        return ml_fail_as(c->cx, ML_E_BAD_ARGUMENT,
                          "thread_axis: \"{0}\" is no thread axis; \"blockIdx.x\", "
                          "\"threadIdx.x\" and \"vthread.x\" are, and their y and z",
                          ML_TEXT(t.name));
    if (t.dim == ML_DIM_BARE) {
        ml_call_note(c, "\"vthread\" alone is an old spelling of \"vthread.x\"");
        t = ml_thread("vthread.x");
    }
    t.name = ml_strdup(c->cx, ml_str(t.name));
    return set_kind(c, ML_FOR_THREAD, ml_format(c->cx, "bound to %s", t.name), t);
}

static bool is_spatial(const ml_Block *b, const ml_Var *loop)
{
    for (size_t m = 0; m < b->n_iters; m++)
        if (b->iters[m].kind != ML_ITER_SPATIAL &&
            ml_expr_uses_var(b->iters[m].value, loop))
            return false;
    return true;
}

/* A copy in global memory that all threads would write: each block of threads (or thread)
 * may have its own. */
static void suggest_scope(ml_Schedule *s, const ml_Given *args, ml_Tries *t)
{
    ml_Program p = ml_schedule_program(s);
    ml_StmtVec blocks = {0};
    const ml_Stmt *loop = ml_index_node(p.index, args[LOOP].uid);

    if (!loop || loop->kind != ML_STMT_FOR || !args[THREAD].s)
        return;
    ml_child_blocks(ml_schedule_ctx(s), loop, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);
        const ml_Block *home = ml_as_block(
            ml_index_node(p.index, ml_index_scope(p.index, ml_stmt_uid(blocks.v[k]))));

        for (size_t m = 0; m < b->n_writes; m++) {
            const ml_Buffer *buf = b->writes[m].buffer;
            bool own = false;

            for (size_t a = 0; a < home->n_allocs; a++)
                own |= home->allocs[a]->uid == buf->uid;
            if (!own || buf->scope.rank != ML_SCOPE_GLOBAL)
                continue;
            for (int thread = 0; thread < 2; thread++)
                ml_try(t,
                       thread ? "each thread has its own"
                              : "each block of threads has its own",
                       "set_scope(\"%s\", %zu, \"%s\") bind(\"%s\", \"%s\")",
                       ml_name_of(s, b->tag), m, thread ? "local" : "shared",
                       ml_name_of(s, args[LOOP].uid), args[THREAD].s);
        }
    }
}

/* What threads left in memory of theirs stays in global memory. */
static void suggest_global(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                           ml_Tries *t)
{
    ml_StmtVec blocks = {0};
    const ml_Buffer *buf = NULL;

    for (size_t k = 0; k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_BUFFER)
            buf = e->facts[k].as.buffer;
    if (!buf || buf->scope.rank == ML_SCOPE_GLOBAL)
        return;
    ml_all_blocks(ml_schedule_ctx(s), ml_schedule_func(s)->body, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; m < b->n_writes; m++)
            if (b->writes[m].buffer->uid == buf->uid) {
                ml_try(t, "global memory outlives a kernel",
                       "set_scope(\"%s\", %zu, \"global\") bind(\"%s\", \"%s\")",
                       ml_name_of(s, b->tag), m, ml_name_of(s, args[LOOP].uid),
                       args[THREAD].s);
                return;
            }
    }
}

/* Ways out: a loop of the same block that would do. */
static void suggest_loop_kind(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                              ml_Tries *t)
{
    ml_Program p = ml_schedule_program(s);
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_StmtVec loops = {0};
    ml_Uid block = 0;

    if (!e->primitive)
        return;
    for (size_t k = 0; k < e->n_facts; k++)
        if (e->facts[k].kind == ML_FACT_BLOCK)
            block = e->facts[k].as.uid;
    if (e->code == ML_E_BAD_ARGUMENT && ml_streq(e->primitive, "bind")) {
        ml_try(t, NULL, "bind(\"%s\", \"threadIdx.x\")", ml_name_of(s, args[LOOP].uid));
        return;
    }
    if (ml_streq(e->primitive, "bind") && e->code != ML_E_NOT_COMPACT_DATAFLOW) {
        suggest_scope(s, args, t);
        suggest_global(s, args, e, t);
    }
    if (!block || !ml_index_node(p.index, block))
        return;
    ml_index_loops(cx, p.index, block, &loops);
    if (ml_streq(e->primitive, "bind") && args[THREAD].s &&
        ml_thread(args[THREAD].s).axis != ML_AXIS_THREAD)
        ml_try(t,
               e->code == ML_E_ITER_NOT_PARALLEL ? "threads cooperate in the reduction"
                                                 : NULL,
               "bind(\"%s\", \"threadIdx.x\")", ml_name_of(s, args[LOOP].uid));
    /* One loop: the outermost that drives no reduction, of lanes the innermost. */
    bool inner = ml_streq(e->primitive, "vectorize");

    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[inner ? loops.n - 1 - k : k]);

        if (f->var->uid == args[LOOP].uid || f->kind != ML_FOR_SERIAL ||
            !is_spatial(ml_as_block(ml_index_node(p.index, block)), f->var))
            continue;
        if (ml_streq(e->primitive, "bind"))
            ml_try(t, NULL, "bind(\"%s\", \"%s\")", ml_name_of(s, f->var->uid),
                   args[THREAD].s);
        else
            ml_try(t, NULL, "%s(\"%s\")", e->primitive, ml_name_of(s, f->var->uid));
        return;
    }
}

/* A reduction may be bound, but to cooperating threads only. */
static const char *bind_rule(const ml_Error *e)
{
    if (e->code == ML_E_ITER_NOT_PARALLEL && e->n_facts > 4 &&
        e->facts[4].kind == ML_FACT_TEXT && ml_streq(e->facts[4].as.text, "reduction"))
        return "a reduction loop may be bound to \"threadIdx.x\", \"threadIdx.y\" or "
               "\"threadIdx.z\" only (threads that cooperate)";
    return NULL;
}

static const ml_Param params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop"),
    ML_PARAM_ATTR("thread_axis", ML_P_THREAD,
                  "blockIdx.x|y|z, threadIdx.x|y|z, vthread.x|y|z"),
};

#define ERRORS(...)                                                                        \
    (const ml_ErrorCode[])                                                                 \
    {                                                                                      \
        ML_E_ITER_NOT_PARALLEL, ML_E_NOT_COMPACT_DATAFLOW, ML_E_WOULD_RACE, __VA_ARGS__    \
    }

const ml_Primitive ml_prim_parallel = {
    ML_PRIM(parallel, "Parallel"),
    .group = "loop kinds",
    .summary = "run the iterations of a loop on several cores",
    .help =
        "Every block under the loop is complete or a reduction within it, and every iter\n"
        "bound to the loop is spatial.",
    .params = params,
    .n_params = 1,
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_loop_kind,
    .errors = ERRORS(ML_E_OUTSIDE_BLOCKS, ML_E_NAMES_OVERLAP, ML_E_OK),
};

const ml_Primitive ml_prim_vectorize = {
    ML_PRIM(vectorize, "Vectorize"),
    .group = "loop kinds",
    .summary = "run the iterations of a loop as lanes of a vector",
    .help = "The same conditions as parallel. Of an extent that is not constant code\n"
            "generation makes whole vectors and a serial rest.",
    .params = params,
    .n_params = 1,
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_loop_kind,
    .errors = ERRORS(ML_E_OK),
};

const ml_Primitive ml_prim_unroll = {
    ML_PRIM(unroll, "Unroll"),
    .group = "loop kinds",
    .summary = "copy the body of a loop for each iteration",
    .help =
        "Always legal. A loop whose extent is not constant, or that would give more than\n"
        "65536 statements, stays a loop in the code.",
    .params = params,
    .n_params = 1,
    .result = ML_R_NONE,
    .errors = (const ml_ErrorCode[]){ML_E_OK},
    .one_order = true,
};

const ml_Primitive ml_prim_bind = {
    ML_PRIM(bind, "Bind"),
    .group = "loop kinds",
    .summary = "let GPU threads run the iterations of a loop",
    .help =
        "The same conditions as parallel; an iter bound to threadIdx.x, .y or .z may "
        "also be\n"
        "a reduce iter: the threads then cooperate. Memory that is not global carries\n"
        "nothing from one block of threads to another. Binding again replaces the axis.",
    .params = params,
    .n_params = 2,
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_loop_kind,
    .rule = bind_rule,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_ITER_NOT_PARALLEL,
                                     ML_E_NOT_COMPACT_DATAFLOW, ML_E_WOULD_RACE,
                                     ML_E_NOT_SHARED, ML_E_NOT_REGION_COVERED,
                                     ML_E_THREAD_NESTED, ML_E_LAUNCH_LIMIT, ML_E_OK},
};
