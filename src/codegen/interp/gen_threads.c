/*
 * gen_threads - threads that run side by side: one piece of code for all threads of a
 * block, which they leave at barriers.
 *
 * The loops over threadIdx.x, y and z are those of unify_threads: one directly inside the
 * other, around everything that a block does. A buffer of a thread's own scope is one
 * memory per thread, of a warp's one per warp; who it belongs to is decided by its scope,
 * not by the loops around it, as on a GPU. Source: lowering-and-codegen 11.
 */
#include "moonloop/codegen/interp/code.h"
#include "moonloop/core/walk.h"

static bool find_barrier(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= ml_is_op(e, ML_OP_STORAGE_SYNC);
    return !*found && (e->flags & ML_X_HAS_CALL);
}

static bool see_barrier(const ml_Stmt *s, void *user)
{
    bool *found = user;

    if (s->kind == ML_STMT_EVALUATE)
        ml_stmt_visit_exprs(s, ML_ROLES_ALL, find_barrier, found);
    return !*found;
}

bool ml_has_barrier(const ml_Stmt *s)
{
    bool found = false;

    ml_stmt_visit(s, see_barrier, &found);
    return found;
}

/* ---- loops over threads */

typedef struct Launch { /* a loop or an attribute */
    const ml_Var *var, *alias;
    const ml_Expr *extent;
    const ml_Stmt *body;
    uint8_t dim;
} Launch;

static bool read_launch(ml_Gen *g, const ml_Stmt *s, Launch *l)
{
    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        *l = (Launch){f->var, f->thread_var, f->extent, f->body, f->thread.dim};
        return f->thread.axis == ML_AXIS_THREAD && f->thread.dim <= ML_DIM_Z;
    }
    if (s->kind != ML_STMT_ATTR || !ml_attr_defines(ml_as_attr(s)))
        return false;
    const ml_Attr *a = ml_as_attr(s);
    const ml_Value *v = a->value;

    if (a->thread.axis != ML_AXIS_THREAD || a->thread.dim > ML_DIM_Z || !v)
        return false;
    *l = (Launch){a->node->as.var, NULL, NULL, a->body, a->thread.dim};
    l->extent = v->kind == ML_VAL_INT    ? ml_i32(g->cx, v->as.i)
                : v->kind == ML_VAL_EXPR ? v->as.expr
                                         : NULL;
    return l->extent != NULL;
}

static void name_thread(ml_Gen *g, const Launch *l, uint32_t reg)
{
    uint32_t depends = l->dim == ML_DIM_X ? ML_OF_LANE : 0;

    ml_gen_set_var(g, l->var, reg, depends);
    if (l->alias)
        ml_gen_set_var(g, l->alias, reg, depends);
}

/* The same thread again, or an axis that its kernel has not. */
static void inner(ml_Gen *g, const Launch *l)
{
    const ml_Kernel *k = g->kernel;

    if (!k->var[l->dim]) {
        ml_gen_unsupported(g, "a loop over threads inside of what other threads do; "
                              "unify_threads brings them together");
        return;
    }
    ml_gen_emit(g, ML_I_SAME, 0, 0, ml_gen_checked(g, l->extent), k->extent[l->dim],
                ml_gen_trap(g, ML_E_NOT_SUPPORTED,
                            "two loops over one thread with different extents"));
    name_thread(g, l, k->reg[l->dim]);
    ml_gen_stmt(g, l->body);
}

/* Who of the threads has each memory; those of one thread or warp are g->owned. */
static void share_out(ml_Gen *g, ml_Kernel *k)
{
    k->own = (uint32_t)g->owned.n;
    for (size_t i = 0; i < g->memories.n; i++) {
        ml_Memory *m = g->memories.v[i];
        int8_t rank = m->buffer->scope.rank;

        if (!m->owned || rank == ML_SCOPE_GLOBAL || rank == ML_SCOPE_SHARED)
            continue;
        m->of = rank == ML_SCOPE_WARP || ml_scope_is_fragment(m->buffer->scope)
                    ? ML_OF_WARP
                    : ML_OF_THREAD;
        ml_push(g->cx, &g->owned, m);
    }
    k->n_own = (uint32_t)g->owned.n - k->own;
}

bool ml_gen_threads(ml_Gen *g, const ml_Stmt *s)
{
    ml_Label *behind = ml_gen_label(g), *end = ml_gen_label(g);
    ml_LoopScope *scope[3];
    const ml_LoopScope *loops = g->loops;
    ml_LoopLabels *labels = g->labels;
    size_t mark, n = 0;
    uint32_t at, site;
    ml_Kernel *k;
    Launch l;

    if (!g->side_by_side || !read_launch(g, s, &l))
        return false;
    if (g->kernel) {
        inner(g, &l);
        return true;
    }
    k = ML_NEW(g->cx, ml_Kernel);
    k->stmt = s;
    k->lane = ml_gen_reg(g);
    mark = ml_gen_memo_mark(g);
    site = g->site;
    do { /* loops that are one inside the other */
        if (k->var[l.dim])
            break;
        k->var[l.dim] = l.var;
        k->extent[l.dim] = ml_gen_checked(g, l.extent);
        k->is_warp |= l.dim == ML_DIM_X && ml_is_int(l.extent, ML_WARP);
        k->reg[l.dim] = ml_gen_reg(g);
        name_thread(g, &l, k->reg[l.dim]);
        scope[n] = ML_NEW(g->cx, ml_LoopScope);
        *scope[n] = (ml_LoopScope){g->loops, l.var, s, k->reg[l.dim]};
        g->loops = scope[n++];
        s = l.body;
    } while (n < 3 && read_launch(g, s, &l));
    ml_push(g->cx, &g->kernels, k);
    at = ml_gen_emit(g, ML_I_THREADS, 0, 0, (int64_t)g->kernels.n - 1, 0, 0);
    ml_push(g->cx, &behind->uses, at);
    k->body = (uint32_t)g->code.n;
    g->kernel = k;
    g->threads_end = end;
    g->labels = NULL; /* no thread leaves a loop around */
    ml_gen_stmt(g, s);
    ml_gen_place(g, end);
    ml_gen_emit(g, ML_I_THREADS_END, 0, 0, 0, 0, 0);
    ml_gen_place(g, behind);
    ml_gen_memo_release(g, mark);
    share_out(g, k);
    g->kernel = NULL;
    g->labels = labels;
    g->loops = loops;
    g->site = site;
    return true;
}

/* ---- where they wait */

void ml_gen_barrier(ml_Gen *g, const ml_Expr *call)
{
    const ml_Expr *p = call->n_args > 0 ? call->args[0] : NULL;
    const char *of = p && p->kind == ML_EXPR_STRING ? p->as.s : "";

    if (!g->kernel) /* thread loops run one iteration after the other */
        return;
    if (ml_streq(of, "warp"))
        ml_gen_emit(g, ML_I_BARRIER, 1, 0, 0, 0, 0);
    else if (strncmp(of, "shared", 6) == 0)
        ml_gen_emit(g, ML_I_BARRIER, 0, 0, 0, 0, 0);
    else
        ml_gen_unsupported(g, ml_format(g->cx, "a barrier for \"%s\"", of));
}

void ml_gen_warp_meet(ml_Gen *g)
{
    if (g->kernel)
        ml_gen_emit(g, ML_I_BARRIER, 1, 0, 0, 0, 0);
}

void ml_gen_warp_begin(ml_Gen *g, ml_Label *behind)
{
    if (!g->kernel)
        return;
    ml_gen_warp_meet(g);
    ml_gen_jump(g, ML_I_JNZ, g->kernel->lane, behind);
}

void ml_gen_warp_end(ml_Gen *g, ml_Label *behind)
{
    if (!g->kernel)
        return;
    ml_gen_place(g, behind);
    ml_gen_warp_meet(g);
}
