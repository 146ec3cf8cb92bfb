/*
 * private - whether a buffer lives under one loop alone, so that each iteration may have
 * its own.
 *
 * The same as asking whether the lowest node above all accesses (lca.c) is the loop or
 * below it, but found from the signatures on the way, without walking into other nests: a
 * step on a function of a thousand blocks asks this. Source: ir-and-analysis 6.2, DESIGN 4.
 */
#include "moonloop/verify/facts.h"

/* -DML_CHECK_INDEX: what signatures say is compared with what a walk finds. */
#ifdef ML_CHECK_INDEX
enum { CHECK_INDEX = 1 };
#else
enum { CHECK_INDEX = 0 };
#endif

typedef struct Outside {
    ml_Program p;
    const ml_For *loop;
    const ml_Buffer *buf;
    bool touched;
} Outside;

static void look_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Outside *o = user;

    if (role != ML_ROLE_REGION && !o->touched && ml_expr_uses_buffer(e, o->buf))
        o->touched = true;
}

static void look(const ml_Stmt *s, bool in_init, void *user)
{
    Outside *o = user;

    if (o->touched || s == &o->loop->base)
        return;
    ml_stmt_exprs(s, look_expr, o);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);
        bool above = ml_index_is_above(o->p.index, b->tag, o->loop->var->uid);

        for (size_t k = 0; k < b->n_matches; k++)
            if (b->matches[k].source.buffer->uid == o->buf->uid)
                o->touched = true;
        if (!above || in_init) { /* what it does is what its signature says */
            o->touched |= ml_read_of(b, o->buf) || ml_write_of(b, o->buf);
            return;
        }
    }
    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == o->buf->uid)
        o->touched = true;
    ml_stmt_children(s, look, o);
}

/* ---- by signatures alone */

/* A load, or the pointer of a buffer. */
static bool names_buffer(const ml_Expr *e, void *user)
{
    const uint32_t below = ML_X_HAS_LOAD | ML_X_HAS_CALL;
    bool *found = user;

    *found |= e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_CALL ||
              (e->kind == ML_EXPR_VAR && !ml_dtype_is_int(e->type));
    return !*found && (!(e->flags & ML_X_VAR_FREE) || (e->flags & below));
}

/* Whether the block's own signature names all that it has views of. */
static bool views_are_signed(const ml_Block *b)
{
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Buffer *of = b->matches[k].source.buffer;

        if (!ml_read_of(b, of) && !ml_write_of(b, of))
            return false;
    }
    return true;
}

/* *user becomes true when a buffer may be used outside of the child blocks at or below s,
 * or by one of them otherwise than its signature says. */
static void find_unsigned(const ml_Stmt *s, bool in_init, void *user)
{
    bool *found = user;

    (void)in_init;
    if (*found)
        return;
    ml_stmt_visit_exprs(s, ML_ROLES_BUT_REGION, names_buffer, found);
    switch (s->kind) {
    case ML_STMT_BLOCK: *found |= !views_are_signed(ml_as_block(s)); return;
    case ML_STMT_SEQ:
    case ML_STMT_FOR:
    case ML_STMT_WHILE:
    case ML_STMT_IF: ml_stmt_children(s, find_unsigned, found); return;
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE: return;
    }
    *found = true;
}

/* A later version is asked about its new statements only. */
bool ml_is_signed(ml_Facts *f, const ml_Block *scope)
{
    const ml_Stmt *was = ml_last_shown(f, ML_SHOWN_SIGNED, scope->tag);
    size_t n, n_was, head = 0, tail = 0;
    const ml_Stmt *const *v = ml_statements(&scope->body, &n);
    bool found = false;

    if (was == scope->body)
        return true;
    if (was) {
        const ml_Stmt *const *old = ml_statements(&was, &n_was);

        ml_common_ends(old, n_was, v, n, &head, &tail);
    }
    for (size_t k = head; k < n - tail; k++)
        find_unsigned(v[k], false, &found);
    if (!found)
        ml_set_shown(f, ML_SHOWN_SIGNED, scope->tag, scope->body);
    return !found;
}

/* Whether a child block of the scope that is not below the loop uses the buffer. */
static bool signed_outside(ml_Program p, ml_Uid scope, ml_Uid loop, const ml_Buffer *b)
{
    ml_Tags t = ml_index_users(p.index, b);

    for (size_t k = 0; k < t.n; k++)
        if (ml_index_scope(p.index, t.v[k]) == scope &&
            !ml_index_is_above(p.index, loop, t.v[k]))
            return true;
    return false;
}

/* A block below the loop writes the buffer and accumulates or orders over the loop: the
 * iterations share it. */
static bool shared_by_design(ml_Ctx *cx, ml_Program p, const ml_For *loop,
                             const ml_Buffer *buf)
{
    ml_StmtVec blocks = {0};
    ml_GoesOn g;

    ml_child_blocks(cx, &loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        if (!ml_write_of(b, buf))
            continue;
        if (ml_goes_on_over(cx, p, b, loop->var->uid, &g))
            return true;
        for (size_t m = 0; m < b->n_iters; m++)
            if (b->iters[m].kind != ML_ITER_SPATIAL &&
                ml_expr_uses_var(b->iters[m].value, loop->var))
                return true;
    }
    return false;
}

bool ml_buffer_is_private(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                          const ml_Buffer *b)
{
    Outside o = {.p = p, .loop = ml_as_for(ml_index_node(p.index, loop)), .buf = b};
    ml_Uid site = ml_buffer_site(p, ml_index_func(p.index, loop), b, NULL);

    if (!site || shared_by_design(cx, p, o.loop, b))
        return false;
    /* Global memory is one for all blocks of a grid. */
    if (b->scope.rank <= ML_SCOPE_GLOBAL)
        for (ml_Uid u = loop; u; u = ml_index_parent(p.index, u)) {
            const ml_Stmt *n = ml_index_node(p.index, u);

            if (n->kind == ML_STMT_FOR && ml_thread_rank(ml_as_for(n)->thread) == 0)
                return false;
        }
    if (ml_index_is_above(p.index, loop, site))
        return true;
    if (!ml_index_is_above(p.index, site, loop))
        return false;
    const ml_Block *home = ml_as_block(ml_index_node(p.index, site));

    if (ml_index_scope(p.index, loop) == site && !home->init && ml_is_signed(f, home)) {
        bool outside = signed_outside(p, site, loop, b);

        if (CHECK_INDEX) {
            look(home->body, false, &o);
            ML_ASSERT(o.touched == outside);
        }
        return !outside;
    }
    look(home->body, false, &o);
    if (home->init)
        look(home->init, true, &o);
    return !o.touched;
}

ml_Uid ml_writes_for_later(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop, ml_Uid block,
                           const ml_Buffer *b)
{
    ml_UidVec writers = {0};
    ml_Uid later = 0;

    ml_writers(cx, f, p, ml_index_scope(p.index, block), b, &writers);
    for (size_t k = 0; k < writers.n; k++) {
        if (writers.v[k] == block || !ml_index_is_above(p.index, loop, writers.v[k]))
            continue;
        if (ml_index_before(p.index, writers.v[k], block))
            return 0;
        later = later ? later : writers.v[k];
    }
    return later;
}
