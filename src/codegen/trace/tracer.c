/*
 * tracer - compiles a function to traced register code, tells what is in it, and runs it.
 *
 * How many touches there will be is the product of the extents around each access. When
 * that is more than the budget, the nests share it: small ones run wholly, of the others
 * the outermost loops run their first iterations only (a parallel loop only when nothing
 * else is left, so that every thread is seen).
 */
#include "moonloop/codegen/trace/tracer.h"

#include "moonloop/codegen/interp/code.h"
#include "moonloop/core/walk.h"

typedef struct ml_TracerRun {
    ml_Ctx *outer;
    ml_Gen *g;
    const ml_Func *func;
    ml_RunArg *args;
    ml_LoopStarts loops; /* the FOR of each */
    ml_TracedLoop *table;
    double *cost;           /* per loop: touches below it */
    const uint32_t *number; /* per access of g: its number here */
    const ml_TracerSink *sink;
    ml_Run run;
} ml_TracerRun;

/* ---------------------------------------------------------------- tables */

static const ml_LoopScope *scope_at(const ml_Gen *g, uint32_t pc)
{
    return g->sites.v[g->site_of.v[pc]].loops;
}

static int64_t extent_of(const ml_Stmt *s, const ml_TracerOpts *o)
{
    int64_t n, step = 1;

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);
        if (!ml_eval_size(f->extent, o->sizes, o->n_sizes, &n))
            return -1;
        if (f->step && !ml_eval_size(f->step, o->sizes, o->n_sizes, &step))
            return -1;
        return n <= 0 || step < 1 ? 0 : (n - 1) / step + 1;
    }
    if (s->kind == ML_STMT_ATTR) {
        const ml_Value *v = ml_as_attr(s)->value;
        if (v && v->kind == ML_VAL_INT)
            return v->as.i;
        if (v && v->kind == ML_VAL_EXPR &&
            ml_eval_size(v->as.expr, o->sizes, o->n_sizes, &n))
            return n;
    }
    return -1;
}

/* Loops by the register of their variable. */
static int32_t *find_loops(ml_Tracer *t, const ml_TracerOpts *o)
{
    ml_TracerRun *r = t->r;
    const ml_Gen *g = r->g;
    int32_t *by_reg = ML_ARRAY(t->cx, int32_t, g->regs.n + 1);

    t->n_loops = (uint32_t)r->loops.n;
    r->table = ML_ARRAY(t->cx, ml_TracedLoop, r->loops.n + 1);
    t->loops = r->table;
    for (uint32_t k = 0; k < t->n_loops; k++) {
        uint32_t pc = r->loops.v[k];
        const ml_LoopScope *up = scope_at(g, pc);
        const ml_Stmt *s = g->sites.v[g->site_of.v[pc]].stmt;
        ml_TracedLoop *l = &r->table[k];

        *l = (ml_TracedLoop){.stmt = s, .up = up ? by_reg[up->reg] : -1, .cap = -1};
        if (l->up >= 0)
            l->depth = (uint16_t)(r->table[l->up].depth + 1);
        l->kind = s->kind == ML_STMT_FOR ? ml_as_for(s)->kind : ML_FOR_THREAD;
        l->var = s->kind == ML_STMT_FOR ? ml_as_for(s)->var : ml_as_attr(s)->node->as.var;
        l->extent = extent_of(s, o);
        by_reg[g->code.v[pc].d] = (int32_t)k;
    }
    return by_reg;
}

static uint32_t memory_number(const ml_Gen *g, const ml_Memory *mem)
{
    uint32_t k = 0;

    while (g->memories.v[k] != mem)
        k++;
    return k;
}

static void find_accesses(ml_Tracer *t, const int32_t *by_reg)
{
    const ml_Gen *g = t->r->g;
    uint32_t *number = ML_ARRAY(t->cx, uint32_t, g->accesses.n + 1);
    ML_VEC(ml_TracedAccess) list = {0};

    for (uint32_t pc = 0; pc < g->code.n; pc++) {
        const ml_Ins *i = &g->code.v[pc];
        const ml_LoopScope *l = scope_at(g, pc);
        const ml_View *v;

        if (i->op != ML_I_TOUCH)
            continue;
        v = g->accesses.v[i->a]->view;
        number[i->a] = (uint32_t)list.n;
        ml_push(t->cx, &list,
                ((ml_TracedAccess){.buffer = v->buffer,
                                   .memory = memory_number(g, v->mem),
                                   .bytes = (uint32_t)v->lane_bytes,
                                   .loop = l ? by_reg[l->reg] : -1,
                                   .store = i->x != 0,
                                   .stmt = g->sites.v[g->site_of.v[pc]].stmt}));
    }
    t->r->number = number;
    t->accesses = list.v;
    t->n_accesses = (uint32_t)list.n;
}

static void find_memories(ml_Tracer *t)
{
    const ml_Gen *g = t->r->g;
    ml_TracedMemory *m = ML_ARRAY(t->cx, ml_TracedMemory, g->memories.n + 1);

    t->n_memories = (uint32_t)g->memories.n;
    for (uint32_t k = 0; k < t->n_memories; k++)
        m[k] = (ml_TracedMemory){.buffer = g->memories.v[k]->buffer,
                                 .param = !g->memories.v[k]->owned,
                                 .values = g->memories.v[k]->values};
    t->memories = m;
}

/* ---------------------------------------------------------------- the budget */

/* Statements of inits: they run where the loops of the reduction begin. */
typedef struct Init {
    const ml_Stmt *stmt;
    const ml_Block *block;
} Init;
typedef struct Inits {
    ml_Ctx *cx;
    const ml_Block *block; /* whose init is visited; NULL: none */
    ML_VEC(Init) v;
} Inits;

static bool see_init(const ml_Stmt *s, void *user)
{
    Inits *in = user;

    if (s->kind == ML_STMT_STORE)
        ml_push(in->cx, &in->v, ((Init){s, in->block}));
    return true;
}

static bool see_block(const ml_Stmt *s, void *user)
{
    Inits *in = user;

    if (s->kind == ML_STMT_BLOCK && ml_as_block(s)->init) {
        in->block = ml_as_block(s);
        ml_stmt_visit(in->block->init, see_init, in);
    }
    return true;
}

/* Whether the statement of an init runs in the first iteration of that loop only. */
static bool runs_once(const Inits *in, const ml_Stmt *s, const ml_Var *loop)
{
    for (size_t k = 0; k < in->v.n; k++) {
        const ml_Block *b = in->v.v[k].block;

        if (in->v.v[k].stmt != s)
            continue;
        for (uint32_t i = 0; i < b->n_iters; i++)
            if (b->iters[i].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(b->iters[i].value, loop))
                return true;
    }
    return false;
}

/* Touches below each loop (cost may be NULL); the sum of all. */
static double add_costs(const ml_Tracer *t, double *cost)
{
    Inits in = {.cx = t->cx};
    double all = 0;

    ml_stmt_visit(t->r->func->body, see_block, &in);
    for (uint32_t k = 0; k < t->n_accesses; k++) {
        const ml_TracedAccess *a = &t->accesses[k];
        double n = 1;

        for (int32_t l = a->loop; l >= 0; l = t->loops[l].up) {
            const ml_TracedLoop *loop = &t->loops[l];
            if (loop->extent >= 0 && !runs_once(&in, a->stmt, loop->var))
                n *= (double)(loop->cap >= 0 ? loop->cap : loop->extent);
        }
        all += n;
        for (int32_t l = a->loop; l >= 0 && cost; l = t->loops[l].up)
            cost[l] += n;
    }
    return all;
}

static bool has_inner(const ml_Tracer *t, uint32_t loop)
{
    for (uint32_t k = loop + 1; k < t->n_loops; k++)
        if (t->loops[k].up == (int32_t)loop && t->r->cost[k] > 0)
            return true;
    return false;
}

/* Of the touches below the loop only that part is to be walked. */
static void cut(ml_Tracer *t, uint32_t loop, double part)
{
    ml_TracedLoop *l = &t->r->table[loop];

    if (l->extent > 1 && (l->kind != ML_FOR_PARALLEL || !has_inner(t, loop))) {
        double n = part * (double)l->extent;
        int64_t cap = n < 1 ? 1 : (int64_t)n;

        if (cap < l->extent && cap <= INT32_MAX) {
            l->cap = cap;
            t->cut = true;
            t->r->g->code.v[t->r->loops.v[loop] + 1].a = (int32_t)cap;
            part = n / (double)cap;
        }
    }
    if (part > 0.67)
        return;
    for (uint32_t k = loop + 1; k < t->n_loops; k++)
        if (t->loops[k].up == (int32_t)loop)
            cut(t, k, part);
}

static void share_budget(ml_Tracer *t, double budget)
{
    bool *whole = ML_ARRAY(t->cx, bool, t->n_loops + 1), again = true;
    double share = budget;
    uint32_t open = 0;

    if (t->expected <= budget)
        return;
    for (uint32_t k = 0; k < t->n_loops; k++)
        open += t->loops[k].up < 0;
    while (again && open > 0) {
        again = false;
        share = budget / open;
        for (uint32_t k = 0; k < t->n_loops && !again; k++)
            if (t->loops[k].up < 0 && !whole[k] && t->r->cost[k] <= share) {
                whole[k] = again = true;
                budget -= t->r->cost[k];
                open--;
            }
    }
    for (uint32_t k = 0; k < t->n_loops; k++)
        if (t->loops[k].up < 0 && !whole[k])
            cut(t, k, share / t->r->cost[k]);
}

/* ---------------------------------------------------------------- begin, run, end */

static bool make_args(ml_Tracer *t, const ml_Func *f, const ml_TracerOpts *o)
{
    ml_CheckOpts c = {.inputs = ML_FILL_RANDOM,
                      .seed = o->seed,
                      .sizes = o->sizes,
                      .n_sizes = o->n_sizes};
    ml_ParamRole *roles = ML_ARRAY(t->cx, ml_ParamRole, f->n_params + 1);

    t->r->args = ML_ARRAY(t->cx, ml_RunArg, f->n_params + 1);
    ml_param_roles(t->cx, f, o->sizes, o->n_sizes, roles);
    return ml_inputs_make(t->cx, f, &c, roles, t->r->args);
}

ml_Tracer *ml_tracer_begin(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                           const ml_TracerOpts *opts)
{
    ml_Ctx *fork = ml_ctx_fork(cx);
    ml_InterpOpts io = {.skip = ML_SKIP_RACES | ML_SKIP_REGIONS | ML_SKIP_UNDEFINED};
    ml_Tracer *t = ML_NEW(fork, ml_Tracer);

    if (opts->values)
        io.skip = ML_SKIP_REGIONS; /* which would load the indices again */
    t->cx = fork;
    t->r = ML_NEW(fork, ml_TracerRun);
    t->r->outer = cx;
    t->r->func = f;
    t->r->g = ml_gen_new(fork, m, &io);
    if (make_args(t, f, opts) && ml_gen_func(t->r->g, f, t->r->args, f->n_params) &&
        ml_gen_slice(t->r->g, opts->values, &t->r->loops) && ml_ok_or_fail(fork)) {
        find_accesses(t, find_loops(t, opts));
        find_memories(t);
        t->r->cost = ML_ARRAY(fork, double, t->n_loops + 1);
        t->expected = add_costs(t, t->r->cost);
        share_budget(t, (double)(opts->budget ? opts->budget : ML_TRACE_BUDGET));
        t->planned = add_costs(t, NULL);
        return t;
    }
    ml_tracer_end(t);
    return NULL;
}

static bool on_touch(void *user, uint32_t access, uint64_t byte)
{
    const ml_TracerRun *r = user;

    return r->sink->touch(r->sink->user, r->number[access], byte);
}

static bool on_iteration(void *user, uint32_t loop, int64_t value)
{
    const ml_TracerRun *r = user;

    return r->sink->iteration(r->sink->user, loop, value);
}

bool ml_tracer_run(ml_Tracer *t, const ml_TracerSink *sink)
{
    ml_TracerRun *r = t->r;
    const ml_Gen *g = r->g;
    ml_RunHooks hooks = {on_touch, on_iteration, r};
    ml_Text at = {0};
    bool ok = true;

    r->sink = sink;
    r->run = (ml_Run){.g = r->g, .hooks = &hooks};
    r->run.r = ML_ARRAY(t->cx, ml_Cell, g->regs.n + 1);
    memcpy(r->run.r, g->regs.v, g->regs.n * sizeof *r->run.r);
    for (size_t k = 0; k < g->memories.n && ok; k++) {
        ml_Memory *m = g->memories.v[k];
        if (m->owned || !m->written_in_parallel || g->max_par == 0)
            continue;
        m->cap = m->bytes;
        ok = ml_run_shadow(&r->run, m) ||
             ml_fail(t->cx, ML_E_TOO_LARGE,
                     ML_TEXT("the maps of the run do not fit its memory"));
    }
    if (ok && !ml_run_code(&r->run)) {
        ok = false;
        ml_fault_report(t->cx, &r->run, NULL, &at);
    }
    ml_text_free(&at);
    return ok;
}

uint64_t ml_tracer_bytes(const ml_Tracer *t, uint32_t memory)
{
    return t->r->g->memories.v[memory]->bytes;
}

void ml_tracer_bounds(const ml_Tracer *t, uint32_t loop, int64_t *min, int64_t *extent,
                      int64_t *step)
{
    const ml_Ins *i = &t->r->g->code.v[t->r->loops.v[loop]];
    const ml_Cell *regs = t->r->run.r;

    *min = regs[i->a].i;
    *extent = regs[i->b].i;
    *step = regs[i->d + 2].i;
}

void ml_tracer_end(ml_Tracer *t)
{
    ml_Ctx *fork = t->cx, *outer = t->r->outer;

    if (t->r->run.g)
        ml_run_free(&t->r->run);
    if (t->r->args)
        ml_inputs_free(t->r->args, t->r->func->n_params);
    if (ml_error(fork))
        ml_error_move(outer, fork);
    ml_ctx_unref(fork);
}
