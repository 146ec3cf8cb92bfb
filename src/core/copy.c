/*
 * copy - duplicating a statement under fresh identities.
 *
 * A loop or block identity occurs at most once in a version, so whoever duplicates gives
 * the copy fresh ones. First all definitions in the subtree get their new node (variables,
 * then buffers, whose shapes may use the variables), then one rewriting pass renames
 * definitions and uses together. Source: DESIGN section 3, style 4.
 */
#include "moonloop/core/rename.h"

typedef ML_VEC(const ml_Buffer *) BufferVec;

typedef struct Copy {
    ml_Ctx *cx;
    const ml_Stmt *root;
    ml_Map *renamed; /* old uid -> new node */
    ml_Map *seen;    /* ids of large expressions searched for LETs */
    ml_Subst s;
    BufferVec buffers; /* defined inside, in textual order */
    ml_Rename run;
} Copy;

static void fresh_var(Copy *c, const ml_Var *v)
{
    const ml_Var *to;

    if (!v || ml_map_has(c->renamed, v->uid))
        return;
    to = ml_var_fresh(c->cx, v);
    ml_map_set(c->cx, c->renamed, v->uid, to);
    ml_subst_var(c->cx, &c->s, v, ml_var(c->cx, to));
}

/* ---- first pass: what is defined inside */

static bool collect_let(const ml_Expr *e, void *user)
{
    enum { WORTH_REMEMBERING = 64 };
    Copy *c = user;

    if (e->size >= WORTH_REMEMBERING) {
        if (ml_map_has(c->seen, e->id))
            return false;
        ml_map_set(c->cx, c->seen, e->id, e);
    }
    if (e->kind == ML_EXPR_LET)
        fresh_var(c, e->as.var);
    return true;
}

/* Data pointers get a fresh variable with their buffer, unless something in the subtree
 * defines them already (an alias) or the statement merely gives a pointer another shape. */
static void collect_buffer(Copy *c, const ml_Buffer *b, bool own_data)
{
    ml_push(c->cx, &c->buffers, b);
    if (own_data)
        fresh_var(c, b->data);
}

static void collect_block(Copy *c, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++)
        fresh_var(c, b->iters[k].var);
    for (size_t k = 0; k < b->n_allocs; k++)
        collect_buffer(c, b->allocs[k], true);
    for (size_t k = 0; k < b->n_matches; k++)
        collect_buffer(c, b->matches[k].target, true);
}

static bool collect(const ml_Stmt *st, void *user)
{
    Copy *c = user;

    switch ((ml_StmtKind)st->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)st;                                   \
        (void)at;
#define ML_F_VAR(f)    fresh_var(c, at->f);
#define ML_F_BUFFER(f) collect_buffer(c, at->f, st->kind != ML_STMT_DECL);
#define ML_F_NODE(f)   fresh_var(c, ml_attr_defines(at));
#define ML_F_BLOCK     collect_block(c, at);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
    ml_stmt_visit_exprs(st, ML_ROLES_ALL, collect_let, c);
    return true;
}

/* ---- variables that a match binds: bare strides and offset of its target */

typedef struct Outside {
    const ml_Block *block;
    const ml_Var *var;
    bool used;
} Outside;

static void outside_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Outside *o = user;

    (void)role;
    o->used |= ml_expr_uses_var(e, o->var);
}

static bool outside_visit(const ml_Stmt *st, void *user)
{
    Outside *o = user;

    if (st == &o->block->base)
        return false;
    ml_stmt_exprs(st, outside_expr, o);
    return !o->used;
}

/* Whether v is used by the block only inside its body and its targets: then the match
 * defines it. Elsewhere in the subtree it would be a use of an outer variable. */
static bool bound_by_match(const Copy *c, const ml_Block *b, const ml_Var *v)
{
    Outside o = {.block = b, .var = v};

    ml_stmt_visit(c->root, outside_visit, &o);
    for (size_t k = 0; k < b->n_iters && !o.used; k++)
        o.used = ml_expr_uses_var(b->iters[k].value, v) ||
                 ml_expr_uses_var(b->iters[k].min, v) ||
                 ml_expr_uses_var(b->iters[k].extent, v);
    for (size_t k = 0; k < b->n_reads && !o.used; k++)
        o.used = ml_region_uses_var(&b->reads[k], v);
    for (size_t k = 0; k < b->n_writes && !o.used; k++)
        o.used = ml_region_uses_var(&b->writes[k], v);
    for (size_t k = 0; k < b->n_matches && !o.used; k++)
        o.used = ml_region_uses_var(&b->matches[k].source, v);
    return !o.used && !ml_expr_uses_var(b->predicate, v);
}

static void collect_bound(Copy *c, const ml_Block *b, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR && !ml_map_has(c->renamed, e->as.var->uid) &&
        bound_by_match(c, b, e->as.var))
        fresh_var(c, e->as.var);
}

static bool collect_matches(const ml_Stmt *st, void *user)
{
    const ml_Block *b;

    if (st->kind != ML_STMT_BLOCK)
        return st->has_block;
    b = ml_as_block(st);
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Buffer *t = b->matches[k].target;

        for (size_t d = 0; d < t->n_strides; d++)
            collect_bound(user, b, t->strides[d]);
        collect_bound(user, b, t->elem_offset);
    }
    return true;
}

/* ---- buffers */

static const ml_Expr *const *rename_list(Copy *c, const ml_Expr *const *list, size_t n)
{
    const ml_Expr **copy = ML_ARRAY(c->cx, const ml_Expr *, n ? n : 1);

    for (size_t k = 0; k < n; k++)
        copy[k] = ml_rename_expr(c->cx, list[k], &c->run);
    return copy;
}

static void fresh_buffer(Copy *c, const ml_Buffer *old)
{
    const ml_Var *data = ml_map_get(c->renamed, old->data->uid);
    const ml_Buffer *made;
    ml_Buffer b = *old;

    if (ml_map_has(c->renamed, old->uid))
        return;
    b.shape = rename_list(c, old->shape, old->rank);
    b.strides = rename_list(c, old->strides, old->n_strides);
    b.elem_offset = ml_rename_expr(c->cx, old->elem_offset, &c->run);
    b.data = data ? data : old->data;
    made = ml_buffer_from(c->cx, &b, false);
    ml_map_set(c->cx, c->renamed, old->uid, made);
    ml_subst_buffer(c->cx, &c->s, old, made);
}

/* ---- second pass */

static const ml_Var *new_var(const Copy *c, const ml_Var *v)
{
    return v ? ml_map_get(c->renamed, v->uid) : NULL;
}

static const ml_Stmt *copy_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user);

static const ml_Expr *copy_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    return ml_rename_expr(cx, e, &((Copy *)user)->run);
}

static const ml_Buffer *copy_buffer(ml_Ctx *cx, const ml_Buffer *b, bool def, void *user)
{
    return ml_rename_buffer(cx, b, def, &((Copy *)user)->run);
}

static const ml_Stmt *copy_block(Copy *c, const ml_Block *old, const ml_Mapper *m)
{
    ml_Iter *iters = ML_ARRAY(c->cx, ml_Iter, old->n_iters ? old->n_iters : 1);
    const ml_Stmt *out;
    ml_Block b = *old;

    for (size_t k = 0; k < old->n_iters; k++) {
        iters[k] = old->iters[k];
        iters[k].var = new_var(c, old->iters[k].var);
    }
    b.iters = iters;
    b.tag = ml_fresh_uid(c->cx);
    ml_map_set(c->cx, c->renamed, old->tag, (const void *)(uintptr_t)b.tag);
    out = ml_stmt_map(c->cx, &b.base, m);
    return out == &b.base ? ml_block_from(c->cx, &b) : out;
}

/* The statement with its own definitions renamed, mapped; the renamed node lives on the
 * stack until then. */
static const ml_Stmt *copy_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {copy_stmt, copy_expr, copy_buffer, user};
    const Copy *c = user;
    const ml_Stmt *out;
    bool defines = false;
    ml_AnyStmt to;

    switch ((ml_StmtKind)st->kind) {
/* NOLINTBEGIN(bugprone-macro-parentheses): a type takes none */
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        type *at = (type *)(void *)&to;                                                    \
        *at = *(const type *)(const void *)st;
/* NOLINTEND(bugprone-macro-parentheses) */
#define ML_F_VAR(f)                                                                        \
    at->f = new_var(c, at->f);                                                             \
    defines = true;
#define ML_F_NODE(f)                                                                       \
    if (ml_attr_defines(at)) {                                                             \
        at->f = ml_val_var(cx, new_var(c, ml_attr_defines(at)));                           \
        defines = true;                                                                    \
    }
#define ML_F_BLOCK return copy_block(user, at, &m);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
    out = ml_stmt_map(cx, defines ? &to.base : st, &m);
    return out == &to.base ? ml_stmt_from(cx, out) : out;
}

const ml_Stmt *ml_stmt_copy_fresh(ml_Ctx *cx, const ml_Stmt *st, ml_Map *renamed)
{
    Copy c = {.cx = cx, .root = st};

    c.renamed = ml_map_new(cx);
    c.seen = ml_map_new(cx);
    ml_stmt_visit(st, collect, &c);
    ml_stmt_visit(st, collect_matches, &c);
    c.run = ml_rename_begin(&c.s, true);
    for (size_t k = 0; k < c.buffers.n; k++)
        fresh_buffer(&c, c.buffers.v[k]);
    c.run = ml_rename_begin(&c.s, true);
    st = copy_stmt(cx, st, &c);
    for (size_t k = 0; renamed && k < ml_map_count(c.renamed); k++)
        ml_map_set(cx, renamed, ml_map_key_at(c.renamed, k), ml_map_value_at(c.renamed, k));
    return st;
}
