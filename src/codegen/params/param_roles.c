/*
 * param_roles - what a function does with its parameters: outputs, precision, length of
 * reductions. Source: interaction 8 (:check).
 */
#include "moonloop/codegen/params/param_roles.h"

#include "moonloop/codegen/params/nesting.h"
#include "moonloop/codegen/params/rounding.h"
#include "moonloop/codegen/params/sources.h"

typedef struct Fact {
    const ml_Buffer *buffer;
    bool written, read, no_terms;
    double unit, reduction;
} Fact;

typedef struct Roles {
    ml_Ctx *cx;
    ml_Map *facts; /* data pointer uid -> Fact */
    ml_Map *sources;
    ml_Nesting at;
} Roles;

static Fact *fact(Roles *w, const ml_Buffer *b)
{
    Fact *f;

    b = ml_source_of(w->sources, b);
    f = (Fact *)(uintptr_t)ml_map_get(w->facts, b->data->uid);
    if (f == NULL) {
        f = ML_NEW(w->cx, Fact);
        *f = (Fact){.buffer = b, .unit = ml_unit_roundoff(b->type), .reduction = 1.0};
        ml_map_set(w->cx, w->facts, b->data->uid, f);
    }
    return f;
}

static bool init_writes(const Roles *w, const ml_Buffer *b)
{
    for (uint32_t k = 0; k < w->at.n_blocks; k++) {
        const ml_Block *blk = w->at.block[k];
        if (blk->init == NULL)
            continue;
        for (uint32_t r = 0; r < blk->n_writes; r++)
            if (ml_source_of(w->sources, blk->writes[r].buffer) == b)
                return true;
    }
    return false;
}

static bool visit_expr(const ml_Expr *e, void *user)
{
    Roles *w = user;

    if (e->kind == ML_EXPR_LOAD) {
        const ml_Buffer *b = ml_source_of(w->sources, e->as.buffer);
        Fact *f = fact(w, b);
        if (!init_writes(w, b))
            f->read = true;
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
    ml_expr_visit(e, visit_expr, user);
}

/* Loads in a value, for the chain: the worst precision and the longest reduction. */
typedef struct Chain {
    Roles *w;
    const ml_Buffer *target;
    double unit, reduction;
    bool self;
} Chain;

static bool visit_chain(const ml_Expr *e, void *user)
{
    Chain *c = user;
    double t = ml_unit_roundoff(e->type);

    if (t > c->unit)
        c->unit = t;
    if (e->kind == ML_EXPR_LOAD) {
        Fact *f = fact(c->w, e->as.buffer);
        if (f->buffer == c->target) {
            c->self = true;
            return true;
        }
        if (f->unit > c->unit)
            c->unit = f->unit;
        if (f->reduction > c->reduction)
            c->reduction = f->reduction;
    }
    return true;
}

static void visit_store(Roles *w, const ml_Store *s)
{
    Fact *f = fact(w, s->buffer);
    Chain c = {.w = w, .target = f->buffer, .unit = f->unit, .reduction = 1.0};
    double n;

    f->written = true;
    if (s->value->size > 1u << 20)
        return;
    ml_expr_visit(s->value, visit_chain, &c);
    n = c.reduction * ml_nesting_terms(&w->at, s, c.self);
    if (n > f->reduction)
        f->reduction = n;
    f->unit = c.unit;
}

static void walk(Roles *w, const ml_Stmt *s);

static void walk_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

/* A block with an init whose reduction is empty never runs, its init neither. */
static void see_no_terms(Roles *w, const ml_Block *b)
{
    bool none = false;
    int64_t size;

    for (uint32_t k = 0; b->init && k < b->n_iters; k++)
        none |= b->iters[k].kind == ML_ITER_REDUCE &&
                ml_eval_size(b->iters[k].extent, w->at.sizes, w->at.n_sizes, &size) &&
                size == 0;
    for (uint32_t k = 0; none && k < b->n_writes; k++)
        fact(w, b->writes[k].buffer)->no_terms = true;
}

static void walk(Roles *w, const ml_Stmt *s)
{
    uint32_t blocks = w->at.n_blocks, loops = w->at.n_loops;

    if (s->kind == ML_STMT_BLOCK) {
        ml_sources_add(w->cx, w->sources, ml_as_block(s));
        (void)ml_nesting_block(&w->at, ml_as_block(s));
        see_no_terms(w, ml_as_block(s));
    } else if (s->kind == ML_STMT_FOR) {
        (void)ml_nesting_loop(&w->at, ml_as_for(s));
    } else if (s->kind == ML_STMT_STORE) {
        visit_store(w, ml_as_store(s));
    } else if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data &&
               ml_as_alloc(s)->data->kind == ML_EXPR_VAR) {
        const ml_Alloc *a = ml_as_alloc(s); /* an alias: the same facts */
        const Fact *f = ml_map_get(w->facts, a->data->as.var->uid);
        if (f && f->buffer != a->buffer)
            ml_map_set(w->cx, w->sources, a->buffer->uid, f->buffer);
        return;
    }
    ml_stmt_exprs(s, visit_role, w);
    ml_stmt_children(s, walk_child, w);
    w->at.n_blocks = blocks;
    w->at.n_loops = loops;
}

void ml_param_roles(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    ml_ParamRole *roles)
{
    ml_Mark mark = ml_mark(cx);
    Roles *w = ML_NEW(cx, Roles);

    w->cx = cx;
    w->at.sizes = sizes;
    w->at.n_sizes = n_sizes;
    w->facts = ml_map_new(cx);
    w->sources = ml_map_new(cx);
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
                                  .no_terms = p->no_terms,
                                  .unit = p->unit,
                                  .reduction = p->reduction};
    }
    ml_release(cx, mark);
}
