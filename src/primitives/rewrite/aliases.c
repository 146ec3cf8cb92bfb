/*
 * aliases - two buffers over one memory.
 *
 * The text may declare a buffer over the pointer of another one. Dependences are told by
 * buffers: what one of them writes and the other one reads is not seen. A step that goes by
 * them is refused where it works on such memory. A block without blocks in it is taken by
 * its signature, and a match_buffer view for its source: there one name stands for all.
 */
#include "moonloop/primitives/prim.h"

#include "moonloop/primitives/schedule/schedule_impl.h"

typedef struct Memory {
    const ml_Buffer *first, *other; /* other: NULL, or another name of it */
    const ml_Stmt *at[2];           /* the blocks that use it so */
    bool written;
} Memory;

typedef struct AliasWalk {
    ml_Ctx *cx;
    const ml_Stmt *root, *block; /* the root of the function; the block the walk is in */
    ml_Map *same;       /* uid of a pointer -> ml_Var * of one to the same memory */
    ml_Map *views;      /* uid of a view -> its source */
    ml_Map *memory;     /* uid of a pointer -> Memory */
    const ml_Var *into; /* the pointer that is being defined, or NULL */
    bool asks;          /* nothing is noted any more, but looked for: */
    const Memory *found;
} AliasWalk;

static const ml_Var *pointer_of(const AliasWalk *w, const ml_Var *v)
{
    const ml_Var *next;

    while ((next = ml_map_get(w->same, v->uid)))
        v = next;
    return v;
}

static void join(AliasWalk *w, const ml_Var *a, const ml_Var *b)
{
    a = pointer_of(w, a);
    b = pointer_of(w, b);
    if (a != b)
        ml_map_set(w->cx, w->same, a->uid, b);
}

static void touch_pointer(AliasWalk *w, const ml_Var *v, const ml_Buffer *b, bool writes)
{
    ml_Uid at = pointer_of(w, v)->uid;
    Memory *m = (void *)(uintptr_t)ml_map_get(w->memory, at);

    if (w->asks) {
        if (m && m->other && m->written)
            w->found = m;
        return;
    }
    if (!m)
        ml_map_set(w->cx, w->memory, at, m = ML_NEW(w->cx, Memory));
    m->written |= writes;
    if (b && !m->first) {
        m->first = b;
        m->at[0] = w->block;
    } else if (b && !m->other && b != m->first) {
        m->other = b;
        m->at[1] = w->block;
    }
}

static void touch(AliasWalk *w, const ml_Buffer *b, bool writes)
{
    const ml_Buffer *source;

    while ((source = ml_map_get(w->views, b->uid)))
        b = source;
    touch_pointer(w, b->data, b, writes);
}

/* A pointer that is passed on may be written through. */
static bool see_expr(const ml_Expr *e, void *user)
{
    AliasWalk *w = user;
    bool is_pointer = e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE;

    if (w->into && (is_pointer || e->kind == ML_EXPR_LOAD))
        join(w, w->into, is_pointer ? e->as.var : e->as.buffer->data);
    else if (is_pointer)
        touch_pointer(w, e->as.var, NULL, true);
    else if (e->kind == ML_EXPR_LOAD)
        touch(w, e->as.buffer, false);
    else if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->args[0]->kind == ML_EXPR_LOAD)
        touch(w, e->args[0]->as.buffer, true);
    return true;
}

static void see_regions(AliasWalk *w, const ml_Region *v, size_t n, bool writes)
{
    for (size_t k = 0; k < n; k++)
        touch(w, v[k].buffer, writes);
}

static void walk(const ml_Stmt *s, bool in_init, void *user)
{
    AliasWalk *w = user;
    const ml_Stmt *above = w->block;

    (void)in_init;
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        w->block = s;
        for (size_t k = 0; k < b->n_matches; k++) {
            ml_map_set(w->cx, w->views, b->matches[k].target->uid,
                       b->matches[k].source.buffer);
            join(w, b->matches[k].target->data, b->matches[k].source.buffer->data);
        }
        see_regions(w, b->reads, b->n_reads, false);
        see_regions(w, b->writes, b->n_writes, true);
        if (s != w->root && s->n_blocks == 1) {
            w->block = above;
            return;
        }
    } else if (s->kind == ML_STMT_STORE) {
        touch(w, ml_as_store(s)->buffer, true);
    } else if (s->kind == ML_STMT_DECL) {
        w->into = ml_as_alloc(s)->buffer->data;
    } else if (s->kind == ML_STMT_BIND && ml_as_bind(s)->var->type.code == ML_HANDLE) {
        w->into = ml_as_bind(s)->var;
    }
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, see_expr, w);
    w->into = NULL;
    ml_stmt_children(s, walk, w);
    w->block = above;
}

static bool find_declaration(const ml_Stmt *s, void *user)
{
    *(bool *)user |= s->kind == ML_STMT_DECL;
    return !*(bool *)user;
}

bool ml_has_aliases(const ml_Module *m)
{
    bool found = false;

    for (uint32_t k = 0; k < m->n && !found; k++)
        ml_stmt_visit(m->funcs[k]->body, find_declaration, &found);
    return found;
}

bool ml_check_one_name(ml_Call *c, ml_Uid node)
{
    if (!c->sched->aliased || !ml_call_asks(c, ML_SOUND))
        return true;
    ml_Ctx *cx = c->cx;
    const ml_Func *f = c->p.mod->funcs[ml_index_func(c->p.index, node)];
    AliasWalk w = {.cx = cx,
                   .root = f->body,
                   .same = ml_map_new(cx),
                   .views = ml_map_new(cx),
                   .memory = ml_map_new(cx)};
    const ml_Stmt *st = ml_index_node(c->p.index, node);

    walk(f->body, false, &w);
    w.memory = ml_map_new(cx); /* again, now that all pointers are known */
    walk(f->body, false, &w);
    w.asks = true;
    walk(st, false, &w);
    if (!w.found)
        return true;
    const Memory *m = w.found;
    const ml_Block *a = ml_as_block(m->at[0] ? m->at[0] : f->body);
    const ml_Block *b = ml_as_block(m->at[1] ? m->at[1] : f->body);

    if (a == b)
        return ml_fail_as(cx, ML_E_NAMES_OVERLAP,
                          "block {0} uses {1} and {2}, two buffers over one memory that is "
                          "written: what one leaves for the other cannot be told; use one "
                          "buffer for both",
                          ML_BLOCK(a), ML_BUFFER(m->first), ML_BUFFER(m->other));
    return ml_fail(cx, ML_E_NAMES_OVERLAP, ML_BLOCK(a), ML_BUFFER(m->first), ML_BLOCK(b),
                   ML_BUFFER(m->other));
}
