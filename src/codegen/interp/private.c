/*
 * private - facts about memory that are found before compiling: of which parallel loops an
 * iteration has its own copy, whether it is written under one, its smallest lane.
 *
 * "Buffer used only under that loop" (DESIGN 4): the parallel loops around all uses of an
 * allocated buffer (aliases over its pointer included) are a common prefix of their stacks.
 * A buffer of scope global is shared by the whole grid, so its prefix ends above the
 * outermost blockIdx loop (lowering-and-codegen 2.4).
 */
#include "moonloop/codegen/interp/code.h"
#include "moonloop/core/walk.h"

typedef struct Common {
    const ml_Stmt *stack[ML_MAX_PAR];
    uint32_t depth; /* common prefix; meaningless until used */
    bool used, allocated, written, global;
    size_t unit;
    struct Common *same; /* an alias stands for this record */
} Common;

typedef struct PrivateWalk {
    ml_Gen *g;
    const ml_Stmt *stack[ML_MAX_PAR];
    bool grid[ML_MAX_PAR]; /* blockIdx */
    uint32_t depth;
    uint32_t threads; /* loops over threads that run side by side: no levels */
} PrivateWalk;

static Common *record(PrivateWalk *w, ml_Uid data)
{
    Common *c = ml_owned(ml_map_get(w->g->common, data));

    if (c == NULL) {
        c = ML_NEW(w->g->cx, Common);
        ml_map_set(w->g->cx, w->g->common, data, c);
    }
    while (c->same)
        c = c->same;
    return c;
}

static Common *of_buffer(PrivateWalk *w, const ml_Buffer *b)
{
    Common *c = record(w, b->data->uid);
    size_t lane = ml_lane_bytes(b->type);

    if (lane && (c->unit == 0 || lane < c->unit))
        c->unit = lane;
    return c;
}

static void use_memory(PrivateWalk *w, Common *c, bool write)
{
    uint32_t depth = w->depth, k = 0;

    if (c->global)
        for (depth = 0; depth < w->depth && !w->grid[depth]; depth++)
            ;
    if (write && w->depth + w->threads > 0)
        c->written = true;
    if (!c->used) {
        c->used = true;
        memcpy(c->stack, w->stack, sizeof c->stack);
        c->depth = depth;
        return;
    }
    while (k < depth && k < c->depth && c->stack[k] == w->stack[k])
        k++;
    c->depth = k;
}

static void use(PrivateWalk *w, const ml_Buffer *b, bool write)
{
    Common *c = of_buffer(w, b);

    c->global = c->global || b->scope.rank == ML_SCOPE_GLOBAL;
    use_memory(w, c, write);
}

static void walk_expr(PrivateWalk *w, const ml_Expr *e)
{
    if (e == NULL || e->size > ML_MAX_TREE || (e->n_args == 0 && e->kind != ML_EXPR_LOAD))
        return;
    if (e->kind == ML_EXPR_CALL) /* a pointer that is passed on: written, for all we know */
        for (size_t k = 0; k < e->n_args; k++)
            if (e->args[k]->kind == ML_EXPR_VAR && e->args[k]->type.code == ML_HANDLE)
                use_memory(w, record(w, e->args[k]->as.var->uid), true);
    if (e->kind == ML_EXPR_LOAD)
        use(w, e->as.buffer, false);
    else if (!(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        return;
    for (size_t k = 0; k < e->n_args; k++)
        walk_expr(w, e->args[k]);
}

static void walk_role(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && role != ML_ROLE_ATTR)
        walk_expr(user, e);
}

static void walk_stmt(PrivateWalk *w, const ml_Stmt *s);

static void walk_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk_stmt(user, s);
}

static void walk_block(PrivateWalk *w, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_allocs; k++)
        of_buffer(w, b->allocs[k])->allocated = true;
    for (uint32_t k = 0; k < b->n_matches; k++) { /* the target is its source */
        Common *src = of_buffer(w, b->matches[k].source.buffer);
        Common *dst = record(w, b->matches[k].target->data->uid);
        if (dst != src && !dst->used)
            dst->same = src;
    }
}

static bool is_of_threads(const PrivateWalk *w, const ml_Stmt *s)
{
    uint8_t axis = s->kind == ML_STMT_FOR    ? ml_as_for(s)->thread.axis
                   : s->kind == ML_STMT_ATTR ? ml_as_attr(s)->thread.axis
                                             : ML_AXIS_NONE;

    return w->g->side_by_side && axis == ML_AXIS_THREAD;
}

static void walk_stmt(PrivateWalk *w, const ml_Stmt *s)
{
    bool par = false, grid = false, threads = is_of_threads(w, s);

    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);
        par = f->kind == ML_FOR_PARALLEL || f->kind == ML_FOR_VECTORIZED ||
              f->kind == ML_FOR_THREAD;
        grid = f->thread.axis == ML_AXIS_BLOCK;
    } else if (s->kind == ML_STMT_ATTR) {
        const ml_Attr *a = ml_as_attr(s);
        par = ml_attr_defines(a) != NULL;
        for (uint32_t k = 0; k < w->depth && par; k++) /* the same thread again */
            if (w->stack[k]->kind == ML_STMT_ATTR &&
                ml_as_attr(w->stack[k])->node->as.var == a->node->as.var)
                par = false;
        grid = par && a->thread.axis == ML_AXIS_BLOCK;
    } else if (s->kind == ML_STMT_STORE) {
        use(w, ml_as_store(s)->buffer, true);
    } else if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL) {
        const ml_Alloc *a = ml_as_alloc(s);
        if (a->data && a->data->kind == ML_EXPR_VAR) {
            Common *src = record(w, a->data->as.var->uid);
            Common *dst = of_buffer(w, a->buffer);
            if (dst != src) {
                if (src->unit == 0 || dst->unit < src->unit)
                    src->unit = dst->unit;
                dst->same = src;
            }
        } else {
            of_buffer(w, a->buffer)->allocated = true;
        }
    } else if (s->kind == ML_STMT_BLOCK) {
        walk_block(w, ml_as_block(s));
    }
    ml_stmt_exprs(s, walk_role, w);
    if (threads) {
        w->threads++;
        ml_stmt_children(s, walk_child, w);
        w->threads--;
    } else if (par && w->depth < ML_MAX_PAR) {
        w->stack[w->depth] = s;
        w->grid[w->depth++] = grid;
        ml_stmt_children(s, walk_child, w);
        w->depth--;
    } else {
        ml_stmt_children(s, walk_child, w);
    }
}

void ml_gen_private(ml_Gen *g, const ml_Func *f)
{
    PrivateWalk w = {.g = g, .depth = g->par_depth, .threads = g->kernel != NULL};

    for (uint32_t k = 0; k < g->par_depth; k++) /* a called function */
        w.stack[k] = g->par[k]->stmt;
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            (void)of_buffer(&w, f->params[k].buffer);
    walk_stmt(&w, f->body);
}

static const Common *found(ml_Gen *g, const ml_Buffer *b)
{
    const Common *c = ml_map_get(g->common, b->data->uid);

    while (c && c->same)
        c = c->same;
    return c;
}

uint32_t ml_gen_private_levels(ml_Gen *g, const ml_Buffer *b)
{
    const Common *c = found(g, b);

    return c && c->allocated && c->used ? (1u << c->depth) - 1 : 0;
}

bool ml_gen_written_in_parallel(ml_Gen *g, const ml_Buffer *b)
{
    const Common *c = found(g, b);

    return c && c->written;
}

size_t ml_gen_unit(ml_Gen *g, const ml_Buffer *b)
{
    const Common *c = found(g, b);
    size_t lane = ml_lane_bytes(b->type);

    return c && c->unit && c->unit < lane ? c->unit : lane;
}
