/*
 * param_roles - what a function does with its parameters: outputs, precision, length of
 * reductions, integers that are indices. Source: interaction 8 (:check).
 */
#include "codegen/check.h"

#include <math.h>

typedef struct Fact {
    const ml_Buffer *buffer;
    bool written, read;
    double rtol, reduction;
    int64_t index_limit;
} Fact;

typedef struct Roles {
    ml_Ctx *cx;
    const ml_Size *sizes;
    size_t n_sizes;
    ml_Map *facts; /* data pointer uid -> Fact */
    ml_Map *alias; /* match target uid -> source buffer */
    const ml_Block *block[512];
    uint32_t n_blocks, loops_above[512];
    const ml_For *loop[512];
    uint32_t n_loops;
} Roles;

/* Relative tolerance of a float type; 0 for others. */
static double tolerance(ml_Dtype t)
{
    if (t.code == ML_FLOAT)
        return t.bits == 64 ? 1e-12 : t.bits == 32 ? 1e-5 : 1e-2;
    if (t.code == ML_BFLOAT)
        return 3e-2;
    return ml_dtype_is_float(t) ? 0.25 : 0.0;
}

static const ml_Buffer *source_of(const Roles *w, const ml_Buffer *b)
{
    const ml_Buffer *s;

    while ((s = ml_map_get(w->alias, b->uid)) != NULL)
        b = s;
    return b;
}

static Fact *fact(Roles *w, const ml_Buffer *b)
{
    Fact *f;

    b = source_of(w, b);
    f = (Fact *)(uintptr_t)ml_map_get(w->facts, b->data->uid);
    if (f == NULL) {
        f = ML_NEW(w->cx, Fact);
        *f = (Fact){.buffer = b, .rtol = tolerance(b->type), .reduction = 1.0};
        ml_map_set(w->cx, w->facts, b->data->uid, f);
    }
    return f;
}

static bool init_writes(const Roles *w, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < w->n_blocks; k++) {
        const ml_Block *blk = w->block[k];
        if (blk->init == NULL)
            continue;
        for (uint32_t r = 0; r < blk->n_writes; r++)
            if (source_of(w, blk->writes[r].buffer) == b)
                return true;
    }
    return false;
}

static bool visit_index(const ml_Expr *e, void *user)
{
    Roles *w = user;

    if (e->kind == ML_EXPR_LOAD && !ml_dtype_is_float(e->type)) {
        Fact *f = fact(w, e->as.buffer);
        f->index_limit = 1; /* part of a larger expression: only 0 is safe */
    }
    return true;
}

static void index_use(Roles *w, const ml_Expr *index, const ml_Expr *extent)
{
    int64_t n = 1;
    Fact *f;

    while (index->kind == ML_EXPR_CAST)
        index = index->args[0];
    if (index->kind != ML_EXPR_LOAD) {
        ml_expr_visit(index, visit_index, w);
        return;
    }
    if (ml_dtype_is_float(index->type))
        return;
    if (extent && (!ml_eval_size(extent, w->sizes, w->n_sizes, &n) || n < 1))
        n = 1;
    if (extent == NULL)
        n = 8; /* a loop bound */
    f = fact(w, index->as.buffer);
    if (f->index_limit == 0 || n < f->index_limit)
        f->index_limit = n;
}

static bool visit(const ml_Expr *e, void *user)
{
    Roles *w = user;

    if (e->kind == ML_EXPR_LOAD) {
        const ml_Buffer *b = source_of(w, e->as.buffer);
        Fact *f = fact(w, b);
        if (!init_writes(w, b))
            f->read = true;
        for (size_t k = 0; k < ml_load_rank(e); k++)
            index_use(w, e->args[k], e->as.buffer->shape[k]);
    }
    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE) {
        Fact *f = (Fact *)(uintptr_t)ml_map_get(w->facts, e->as.var->uid);
        if (f)
            f->read = f->written = true; /* its address is taken */
    }
    return true;
}

static void visit_role(const ml_Expr *e, ml_Role role, void *user)
{
    if (role == ML_ROLE_REGION || role == ML_ROLE_ATTR || e->size > 1u << 20)
        return; /* the last: no such program is run */
    if (role == ML_ROLE_BOUND)
        index_use(user, e, NULL);
    ml_expr_visit(e, visit, user);
}

/* Loads in a value, for the chain: the worst precision and the longest reduction. */
typedef struct Chain {
    Roles *w;
    const ml_Buffer *target;
    double rtol, reduction;
    bool self;
} Chain;

static bool visit_chain(const ml_Expr *e, void *user)
{
    Chain *c = user;
    double t = tolerance(e->type);

    if (t > c->rtol)
        c->rtol = t;
    if (e->kind == ML_EXPR_LOAD) {
        Fact *f = fact(c->w, e->as.buffer);
        if (f->buffer == c->target) {
            c->self = true;
            return true;
        }
        if (f->rtol > c->rtol)
            c->rtol = f->rtol;
        if (f->reduction > c->reduction)
            c->reduction = f->reduction;
    }
    return true;
}

static double domain(const Roles *w, const ml_Expr *extent)
{
    int64_t n;

    return ml_eval_size(extent, w->sizes, w->n_sizes, &n) && n > 1 ? (double)n : 1.0;
}

/* The number of terms that a store adds up in one element: the reduce iterators around it,
 * and the loops inside the innermost block with iterators that its place does not name. */
static double terms(const Roles *w, const ml_Store *s, bool self)
{
    uint32_t base = 0;
    double n = 1.0;

    for (uint32_t b = 0; b < w->n_blocks; b++) {
        if (w->block[b]->n_iters > 0)
            base = w->loops_above[b];
        for (uint32_t k = 0; k < w->block[b]->n_iters; k++)
            if (w->block[b]->iters[k].kind == ML_ITER_REDUCE)
                n *= domain(w, w->block[b]->iters[k].extent);
    }
    for (uint32_t l = base; self && l < w->n_loops; l++) {
        bool used = false;
        for (uint32_t d = 0; d < s->n; d++)
            used = used || ml_expr_uses_var(s->indices[d], w->loop[l]->var);
        if (!used)
            n *= domain(w, w->loop[l]->extent);
    }
    return n;
}

static void visit_store(Roles *w, const ml_Store *s)
{
    Fact *f = fact(w, s->buffer);
    Chain c = {.w = w, .target = f->buffer, .rtol = f->rtol, .reduction = 1.0};
    double n;

    f->written = true;
    for (uint32_t k = 0; k < s->n; k++)
        if (s->indices[k]->size <= 1u << 20)
            index_use(w, s->indices[k], s->buffer->shape[k]);
    if (s->value->size > 1u << 20)
        return;
    ml_expr_visit(s->value, visit_chain, &c);
    n = c.reduction * terms(w, s, c.self);
    if (n > f->reduction)
        f->reduction = n;
    f->rtol = c.rtol;
}

static void walk(Roles *w, const ml_Stmt *s);

static void walk_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

static void walk(Roles *w, const ml_Stmt *s)
{
    uint32_t blocks = w->n_blocks, loops = w->n_loops;

    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);
        for (uint32_t k = 0; k < b->n_matches; k++)
            ml_map_set(w->cx, w->alias, b->matches[k].target->uid,
                       b->matches[k].source.buffer);
        if (w->n_blocks < ML_COUNT(w->block)) {
            w->loops_above[w->n_blocks] = w->n_loops;
            w->block[w->n_blocks++] = b;
        }
    } else if (s->kind == ML_STMT_FOR && w->n_loops < ML_COUNT(w->loop)) {
        w->loop[w->n_loops++] = ml_as_for(s);
    } else if (s->kind == ML_STMT_STORE) {
        visit_store(w, ml_as_store(s));
    } else if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data &&
               ml_as_alloc(s)->data->kind == ML_EXPR_VAR) {
        const ml_Alloc *a = ml_as_alloc(s); /* an alias: the same facts */
        const Fact *f = ml_map_get(w->facts, a->data->as.var->uid);
        if (f && f->buffer != a->buffer)
            ml_map_set(w->cx, w->alias, a->buffer->uid, f->buffer);
        return;
    }
    ml_stmt_exprs(s, visit_role, w);
    ml_stmt_children(s, walk_child, w);
    w->n_blocks = blocks;
    w->n_loops = loops;
}

void ml_param_roles(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    ml_ParamRole *roles)
{
    ml_Mark mark = ml_mark(cx);
    Roles *w = ML_NEW(cx, Roles);

    w->cx = cx;
    w->sizes = sizes;
    w->n_sizes = n_sizes;
    w->facts = ml_map_new(cx);
    w->alias = ml_map_new(cx);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            (void)fact(w, f->params[k].buffer);
    walk(w, f->body);
    for (uint32_t k = 0; k < f->n_params; k++) {
        const Fact *p;
        roles[k] = (ml_ParamRole){.reduction = 1.0};
        if (f->params[k].buffer == NULL)
            continue;
        p = fact(w, f->params[k].buffer);
        roles[k] = (ml_ParamRole){.written = p->written,
                                  .output = p->written && !p->read,
                                  .rtol = p->rtol,
                                  .reduction = p->reduction,
                                  .index_limit = p->index_limit};
    }
    ml_release(cx, mark);
}
