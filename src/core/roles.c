/* roles - every expression directly in a statement with what it is there, and the questions
 * about uses built on it. The order is documented at ml_stmt_exprs and relied on by whoever
 * numbers expressions of a statement. */
#include "moonloop/core/walk.h"

typedef struct Roles {
    ml_RoleFn *fn;
    void *user;
} Roles;

static void say(const Roles *r, const ml_Expr *e, ml_Role role)
{
    if (e)
        r->fn(e, role, r->user);
}

static void say_list(const Roles *r, const ml_Expr *const *list, size_t n, ml_Role role)
{
    for (size_t k = 0; k < n; k++)
        say(r, list[k], role);
}

static void say_region(const Roles *r, const ml_Region *region)
{
    for (size_t k = 0; k < region->buffer->rank; k++) {
        say(r, region->ranges[k].min, ML_ROLE_REGION);
        say(r, region->ranges[k].extent, ML_ROLE_REGION);
    }
}

static void say_buffer(const Roles *r, const ml_Buffer *b)
{
    say_list(r, b->shape, b->rank, ML_ROLE_SHAPE);
    say_list(r, b->strides, b->n_strides, ML_ROLE_SHAPE);
    say(r, b->elem_offset, ML_ROLE_SHAPE);
}

static void say_map(const Roles *r, const ml_IndexMap *m)
{
    for (; m; m = m->inverse)
        say_list(r, m->exprs, m->n_exprs, ML_ROLE_ATTR);
}

/* Expressions inside a constant; variables and buffers named by it are no expressions. */
static void say_value(const Roles *r, const ml_Value *v)
{
    if (!v)
        return;
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_LIST:
    case ML_VAL_DICT:
        for (size_t k = 0; k < v->n; k++)
            say_value(r, v->as.list[k]);
        break;
    case ML_VAL_EXPR: say(r, v->as.expr, ML_ROLE_ATTR); break;
    case ML_VAL_MAP: say_map(r, v->as.map); break;
    case ML_VAL_REDUCER:
        say_list(r, v->as.reducer->results, v->as.reducer->n, ML_ROLE_ATTR);
        say_list(r, v->as.reducer->identities, v->as.reducer->n, ML_ROLE_ATTR);
        break;
    case ML_VAL_NONE:
    case ML_VAL_BOOL:
    case ML_VAL_INT:
    case ML_VAL_FLOAT:
    case ML_VAL_STRING:
    case ML_VAL_TARGET:
    case ML_VAL_BUFFER:
    case ML_VAL_VAR: break;
    }
}

static void say_block(const Roles *r, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++) {
        say(r, b->iters[k].min, ML_ROLE_DOMAIN);
        say(r, b->iters[k].extent, ML_ROLE_DOMAIN);
        say(r, b->iters[k].value, ML_ROLE_BINDING);
    }
    say(r, b->predicate, ML_ROLE_COND);
    for (size_t k = 0; k < b->n_reads; k++)
        say_region(r, &b->reads[k]);
    for (size_t k = 0; k < b->n_writes; k++)
        say_region(r, &b->writes[k]);
    for (size_t k = 0; k < b->n_allocs; k++)
        say_buffer(r, b->allocs[k]);
    for (size_t k = 0; k < b->n_matches; k++)
        say_region(r, &b->matches[k].source);
    for (size_t k = 0; k < b->n_matches; k++)
        say_buffer(r, b->matches[k].target);
    say_value(r, b->annotations);
}

void ml_stmt_exprs(const ml_Stmt *st, ml_RoleFn *fn, void *user)
{
    const Roles r = {fn, user};

    switch ((ml_StmtKind)st->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)st;                                   \
        (void)at;
#define ML_F_EXPR(f, role)     say(&r, at->f, ML_ROLE_##role);
#define ML_F_EXPRS(f, n, role) say_list(&r, at->f, at->n, ML_ROLE_##role);
#define ML_F_VALUE(f)          say_value(&r, at->f);
#define ML_F_NODE(f)           say_value(&r, at->f);
#define ML_F_BUFFER(f)         say_buffer(&r, at->f);
#define ML_F_BLOCK             say_block(&r, at);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
}

static void keep_value(const ml_Expr *e, ml_Role role, void *user)
{
    const ml_Expr **value = user;

    if (role == ML_ROLE_VALUE)
        *value = e;
}

const ml_Expr *ml_stmt_value(const ml_Stmt *st)
{
    const ml_Expr *value = NULL;

    ml_stmt_exprs(st, keep_value, &value);
    return value;
}

/* ---- uses */

typedef struct Uses {
    const ml_Var *var;
    const ml_Buffer *buffer;
    bool found;
} Uses;

static void uses_in_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Uses *u = user;

    (void)role;
    if (!u->found)
        u->found = u->var ? ml_expr_uses_var(e, u->var) : ml_expr_uses_buffer(e, u->buffer);
}

static bool is_buffer(const Uses *u, const ml_Buffer *b)
{
    return u->buffer && u->buffer->uid == b->uid;
}

/* Variables and buffers that a constant names. */
static bool uses_in_value(const Uses *u, const ml_Value *v)
{
    if (!v)
        return false;
    if (v->kind == ML_VAL_VAR)
        return v->as.var->uid == (u->var ? u->var->uid : u->buffer->data->uid);
    if (v->kind == ML_VAL_BUFFER)
        return is_buffer(u, v->as.buffer);
    if (v->kind != ML_VAL_LIST && v->kind != ML_VAL_DICT)
        return false;
    for (size_t k = 0; k < v->n; k++)
        if (uses_in_value(u, v->as.list[k]))
            return true;
    return false;
}

static bool uses_in_regions(const Uses *u, const ml_Region *list, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is_buffer(u, list[k].buffer))
            return true;
    return false;
}

static bool uses_in_block(const Uses *u, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_matches; k++)
        if (is_buffer(u, b->matches[k].source.buffer))
            return true;
    return uses_in_regions(u, b->reads, b->n_reads) ||
           uses_in_regions(u, b->writes, b->n_writes) || uses_in_value(u, b->annotations);
}

/* What ml_stmt_exprs does not give: buffers and variables directly in the node. */
static bool uses_directly(const Uses *u, const ml_Stmt *st)
{
    bool found = false;

    switch ((ml_StmtKind)st->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)st;                                   \
        (void)at;
#define ML_F_USES(f)  found |= is_buffer(u, at->f);
#define ML_F_VALUE(f) found |= uses_in_value(u, at->f);
#define ML_F_NODE(f)  found |= !ml_attr_defines(at) && uses_in_value(u, at->f);
#define ML_F_BLOCK    found |= uses_in_block(u, at);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
    return found;
}

static bool uses_visit(const ml_Stmt *st, void *user)
{
    Uses *u = user;

    if (!u->found)
        u->found = uses_directly(u, st);
    if (!u->found)
        ml_stmt_exprs(st, uses_in_expr, u);
    return !u->found;
}

bool ml_stmt_uses_var(const ml_Stmt *st, const ml_Var *v)
{
    Uses u = {.var = v};

    ml_stmt_visit(st, uses_visit, &u);
    return u.found;
}

bool ml_stmt_uses_buffer(const ml_Stmt *st, const ml_Buffer *b)
{
    Uses u = {.buffer = b};

    ml_stmt_visit(st, uses_visit, &u);
    return u.found;
}

bool ml_region_is_point(const ml_Region *r)
{
    for (size_t d = 0; d < r->buffer->rank; d++)
        if (!ml_is_int(r->ranges[d].extent, 1))
            return false;
    return true;
}

bool ml_same_ranges(const ml_Range *a, const ml_Range *b, size_t n)
{
    for (size_t d = 0; d < n; d++)
        if (a[d].min != b[d].min || a[d].extent != b[d].extent)
            return false;
    return true;
}

bool ml_same_region(const ml_Region *a, const ml_Region *b)
{
    return a->buffer->uid == b->buffer->uid &&
           ml_same_ranges(a->ranges, b->ranges, a->buffer->rank);
}

bool ml_region_uses_var(const ml_Region *r, const ml_Var *v)
{
    for (size_t k = 0; k < r->buffer->rank; k++)
        if (ml_expr_uses_var(r->ranges[k].min, v) ||
            ml_expr_uses_var(r->ranges[k].extent, v))
            return true;
    return false;
}

typedef struct Inside {
    unsigned roles;
    ml_ExprVisitFn *fn;
    void *user;
} Inside;

static void visit_inside(const ml_Expr *e, ml_Role role, void *user)
{
    const Inside *in = user;

    if (in->roles >> role & 1u)
        ml_expr_visit(e, in->fn, in->user);
}

static bool visit_direct(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, visit_inside, user);
    return true;
}

void ml_stmt_visit_exprs(const ml_Stmt *st, unsigned roles, ml_ExprVisitFn *fn, void *user)
{
    visit_direct(st, &(Inside){roles, fn, user});
}

void ml_stmt_visit_exprs_below(const ml_Stmt *st, unsigned roles, ml_ExprVisitFn *fn,
                               void *user)
{
    ml_stmt_visit(st, visit_direct, &(Inside){roles, fn, user});
}
