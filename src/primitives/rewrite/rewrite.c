/*
 * rewrite - helpers that several primitives share: binding simplification, predicates,
 * leaf removal, allocation lists, and the checks that stand at their beginning.
 * Source: primitives 2.4.
 */
#include "moonloop/primitives/prim.h"

/* ---- the call */

const ml_For *ml_call_loop(const ml_Call *c, ml_Uid uid)
{
    return ml_as_for(ml_index_node(c->p.index, uid));
}

const ml_Block *ml_call_block(const ml_Call *c, ml_Uid uid)
{
    return ml_as_block(ml_index_node(c->p.index, uid));
}

const ml_Func *ml_call_func(const ml_Call *c)
{
    return c->p.mod->funcs[c->func];
}

void ml_call_replace(ml_Call *c, ml_Uid uid, const ml_Stmt *with)
{
    if (with && with == ml_index_node(c->p.index, uid))
        return;
    c->p = ml_program_replace(c->cx, c->p, uid, with, &c->ended);
    c->changed = true;
}

void ml_call_return_handles(ml_Call *c, const ml_Handle *h, size_t n, bool is_list)
{
    ml_Results *r = &c->results;

    r->n = n;
    r->is_list = is_list;
    for (size_t k = 0; k < n && k < ML_MAX_RESULTS; k++)
        r->v[k] = h[k];
    r->more = NULL;
    if (n > ML_MAX_RESULTS) {
        ml_Handle *all = ML_ARRAY(c->cx, ml_Handle, n);

        memcpy(all, h, n * sizeof *h);
        r->more = all;
    }
}

void ml_call_return_loop(ml_Call *c, const ml_Stmt *loop)
{
    ml_call_return_handles(c, &(ml_Handle){ML_H_LOOP, ml_stmt_uid(loop)}, 1, false);
}

void ml_call_return_block(ml_Call *c, ml_Uid tag)
{
    ml_call_return_handles(c, &(ml_Handle){ML_H_BLOCK, tag}, 1, false);
}

void ml_call_return_loops(ml_Call *c, const ml_Stmt *const *loops, size_t n)
{
    ml_Handle *h = ML_ARRAY(c->cx, ml_Handle, n);

    for (size_t k = 0; k < n; k++)
        h[k] = (ml_Handle){ML_H_LOOP, ml_stmt_uid(loops[k])};
    ml_call_return_handles(c, h, n, true);
}

/* ---- binding simplification */

typedef struct Simplify {
    ml_Call *c;
    ml_Arith *ar;
    ml_DomVec dom;
    const ml_Expr *value; /* of the statement at hand */
    bool preserve_unit;
} Simplify;

/*
 * A loop's variable occurs several times in what stands for a fused one, and each of them
 * is replaced by a sum when that is split again: over a chain of steps an expression would
 * double with each. What has grown past GROWN nodes is simplified; smaller ones, which
 * people read, stay as the steps have made them.
 */
enum { GROWN = 64 };

static const ml_Expr *shrink(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Simplify *sm = user;
    const ml_Expr *to;

    (void)cx;
    if (e->size <= GROWN || (e->flags & ML_X_EFFECT))
        return e;
    to = e == sm->value ? ml_simplify_value(sm->ar, e) : ml_simplify(sm->ar, e);
    return to->size < e->size && ml_dtype_eq(to->type, e->type) ? to : e;
}

static const ml_Stmt *simplify_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *simplify_block(Simplify *sm, const ml_Block *b)
{
    ml_Ctx *cx = sm->c->cx;
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters);
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, b->n_iters);
    bool changed = false;

    b = ml_block_map_head(cx, b, shrink, sm);
    ml_Block nb = *b;

    for (size_t k = 0; k < b->n_iters; k++)
        values[k] = b->iters[k].value;
    ml_iter_simplify(sm->ar, values, b->n_iters, sm->dom.v, sm->dom.n, b->predicate,
                     ML_SURJECTIVE, sm->preserve_unit, false, out);
    for (size_t k = 0; k < b->n_iters; k++)
        changed |= out[k] != values[k];
    if (!changed)
        return &b->base;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters);

    memcpy(iters, b->iters, b->n_iters * sizeof *iters);
    for (size_t k = 0; k < b->n_iters; k++)
        iters[k].value = out[k];
    nb.iters = iters;
    return ml_block_from(cx, &nb);
}

static const ml_Stmt *simplify_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Simplify *sm = user;

    sm->value = ml_stmt_value(s);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        if (b->n_iters > 0)
            return simplify_block(sm, b);
        /* An opaque block is looked through; its init holds no schedulable block. */
        const ml_Stmt *head = ml_stmt_map(cx, s, &(ml_Mapper){.expr = shrink, .user = sm});
        ml_Block nb = *ml_as_block(head);

        nb.body = simplify_stmt(cx, b->body, user);
        return nb.body == b->body ? head : ml_block_from(cx, &nb);
    }
    if (s->kind == ML_STMT_FOR) {
        s = ml_stmt_map(cx, s, &(ml_Mapper){.expr = shrink, .user = sm});
        ml_For f = *ml_as_for(s);
        size_t n = sm->dom.n;

        /* That it has iterations holds inside of it, not for its own extent. */
        ml_ArithMark mark = ml_arith_save(sm->ar);

        ml_push(cx, &sm->dom, ((ml_Dom){f.var, f.min, f.extent}));
        ml_arith_bind_loop(sm->ar, ml_as_for(s));
        f.body = simplify_stmt(cx, f.body, user);
        ml_arith_restore(sm->ar, mark);
        sm->dom.n = n;
        return f.body == ml_as_for(s)->body ? s : ml_for_from(cx, &f);
    }
    return ml_stmt_map(cx, s, &(ml_Mapper){simplify_stmt, shrink, NULL, sm});
}

/* Loops above `at`, through opaque blocks, outermost first. */
static void loops_above(ml_Call *c, ml_Uid at, ml_DomVec *out)
{
    ML_VEC(const ml_For *) up = {0};

    for (ml_Uid u = ml_index_parent(c->p.index, at); u;
         u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *n = ml_index_node(c->p.index, u);

        if (n->kind == ML_STMT_FOR)
            ml_push(c->cx, &up, ml_as_for(n));
        else if (ml_as_block(n)->n_iters > 0)
            break;
    }
    for (size_t k = up.n; k-- > 0;)
        ml_push(c->cx, out, ((ml_Dom){up.v[k]->var, up.v[k]->min, up.v[k]->extent}));
}

const ml_Stmt *ml_simplify_bindings(ml_Call *c, ml_Uid at, const ml_Stmt *st,
                                    bool preserve_unit_iters)
{
    Simplify sm = {.c = c, .preserve_unit = preserve_unit_iters};

    sm.ar = ml_arith_at(c->cx, c->p, at);
    loops_above(c, at, &sm.dom);
    return simplify_stmt(c->cx, st, &sm);
}

/* ---- predicates */

bool ml_takes_guard(const ml_Stmt *s)
{
    return !s->has_block && (s->kind == ML_STMT_STORE || s->kind == ML_STMT_FOR ||
                             s->kind == ML_STMT_IF || s->kind == ML_STMT_WHILE ||
                             s->kind == ML_STMT_EVALUATE || s->kind == ML_STMT_ASSERT);
}

static const ml_Stmt *append_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Expr *p = user;

    if (ml_takes_guard(s))
        return ml_stmt_at(cx, ml_if(cx, p, s, NULL), s->span);
    if (s->kind == ML_STMT_BLOCK) {
        ml_Block b = *ml_as_block(s);

        b.predicate = ml_and(cx, b.predicate, p);
        return ml_block_from(cx, &b);
    }
    return ml_stmt_map(cx, s, &(ml_Mapper){.stmt = append_stmt, .user = user});
}

const ml_Stmt *ml_append_predicate(ml_Ctx *cx, const ml_Stmt *st, const ml_Expr *p)
{
    if (ml_is_true(p))
        return st;
    union {
        const ml_Expr *in;
        void *out;
    } u = {.in = p};
    return append_stmt(cx, st, u.out);
}

/* ---- regions */

const ml_Block *ml_block_map_head(ml_Ctx *cx, const ml_Block *b, ml_ExprFn *fn, void *user)
{
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1u);
    ml_Block nb = *b;
    bool changed;

    nb.predicate = fn(cx, b->predicate, user);
    changed = nb.predicate != b->predicate;
    for (size_t k = 0; k < b->n_iters; k++) {
        iters[k] = b->iters[k];
        iters[k].min = fn(cx, b->iters[k].min, user);
        iters[k].extent = fn(cx, b->iters[k].extent, user);
        iters[k].value = fn(cx, b->iters[k].value, user);
        changed |= iters[k].min != b->iters[k].min ||
                   iters[k].extent != b->iters[k].extent ||
                   iters[k].value != b->iters[k].value;
    }
    if (!changed)
        return b;
    nb.iters = iters;
    return ml_as_block(ml_block_from(cx, &nb));
}

ml_Region ml_region_map_loads(ml_Ctx *cx, ml_Region r, ml_ExprFn *fn, void *user)
{
    ml_Range *ranges = NULL;

    for (size_t d = 0; d < r.buffer->rank; d++) {
        ml_Range is = r.ranges[d];

        if (!((is.min->flags | is.extent->flags) & ML_X_HAS_LOAD))
            continue;
        if (!ranges) {
            ranges = ML_ARRAY(cx, ml_Range, r.buffer->rank);
            memcpy(ranges, r.ranges, r.buffer->rank * sizeof *ranges);
        }
        ranges[d] = (ml_Range){fn(cx, is.min, user), fn(cx, is.extent, user)};
    }
    return ranges ? (ml_Region){r.buffer, ranges} : r;
}

/* ---- leaf removal */

static const ml_Stmt *with_body(ml_Ctx *cx, const ml_Stmt *node, const ml_Stmt *body)
{
    if (node->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(node);

        f.body = body;
        return ml_for_from(cx, &f);
    }
    ml_Block b = *ml_as_block(node);

    b.body = body;
    return ml_block_from(cx, &b);
}

bool ml_leaf_removal(ml_Call *c, ml_Uid block, ml_Removal *out)
{
    const ml_Index *ix = c->p.index;
    ml_Uid child = block;

    for (ml_Uid up = ml_index_parent(ix, block); up; up = ml_index_parent(ix, up)) {
        const ml_Stmt *node = ml_index_node(ix, up);
        const ml_Stmt *body = ml_node_body(node);
        const ml_Stmt *below = ml_index_node(ix, child);

        if (body->kind == ML_STMT_SEQ) {
            const ml_Seq *seq = ml_as_seq(body);

            for (size_t k = 0; k < seq->n; k++)
                if (seq->stmts[k] == below) {
                    out->uid = up;
                    out->with = with_body(c->cx, node, ml_seq_with(c->cx, seq, k, NULL));
                    return true;
                }
        }
        if (body != below) {
            const ml_Stmt *cross = ml_between(ix, up, child);

            if (cross)
                return ml_fail_crossing(c, cross, ml_index_node(ix, block), node);
        }
        if (node->kind == ML_STMT_BLOCK)
            break;
        child = up;
    }
    return ml_fail(c->cx, ML_E_ONLY_LEAF, ML_BLOCK_UID(block));
}

/* ---- allocations */

const ml_Block *ml_block_add_alloc(ml_Ctx *cx, const ml_Block *root, const ml_Buffer *b)
{
    ml_Block nb = *root;
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, root->n_allocs + 1);

    for (size_t k = 0; k < root->n_allocs; k++)
        allocs[k] = root->allocs[k];
    allocs[nb.n_allocs++] = b;
    nb.allocs = allocs;
    return ml_as_block(ml_block_from(cx, &nb));
}

const ml_Block *ml_block_drop_alloc(ml_Ctx *cx, const ml_Block *root, const ml_Buffer *b)
{
    ml_Block nb = *root;
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, root->n_allocs + 1);

    nb.n_allocs = 0;
    for (size_t k = 0; k < root->n_allocs; k++)
        if (root->allocs[k]->uid != b->uid)
            allocs[nb.n_allocs++] = root->allocs[k];
    if (nb.n_allocs == root->n_allocs)
        return root;
    nb.allocs = allocs;
    return ml_as_block(ml_block_from(cx, &nb));
}

/* ---- checks */

bool ml_check_not_root(ml_Call *c, ml_Uid block)
{
    if (ml_index_parent(c->p.index, block) == 0)
        return ml_fail(c->cx, ML_E_ROOT_BLOCK, ML_BLOCK_UID(block));
    return true;
}

bool ml_check_scope(ml_Call *c, const char *scope)
{
    return ml_scope(scope).rank != ML_SCOPE_UNKNOWN ||
           ml_fail(c->cx, ML_E_BAD_STORAGE_SCOPE, ML_TEXT(scope));
}

bool ml_check_schedulable(ml_Call *c, ml_Uid scope, ml_Uid node)
{
    const ml_Stmt *cross = ml_between(c->p.index, scope, node);

    return !cross || ml_fail_crossing(c, cross, ml_index_node(c->p.index, node),
                                      ml_index_node(c->p.index, scope));
}

bool ml_check_plain_loop(ml_Call *c, const ml_For *loop)
{
    ml_Ctx *cx = c->cx;

    if (loop->kind == ML_FOR_THREAD)
        return ml_fail_as(cx, ML_E_LOOP_ANNOTATED, "loop {0} has a thread binding, {1}",
                          ML_LOOP(loop), ML_TEXT(loop->thread.name));
    if (ml_dict_count(loop->annotations) > 0)
        return ml_fail_as(cx, ML_E_LOOP_ANNOTATED, "loop {0} has the annotation {1}",
                          ML_LOOP(loop), ML_TEXT(loop->annotations->keys[0]));
    if (loop->step && !ml_is_int(loop->step, 1))
        return ml_fail(cx, ML_E_LOOP_STEP, ML_LOOP(loop), ML_EXPRESSION(loop->step));
    return true;
}

void ml_call_note(ml_Call *c, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_push(c->cx, &c->notes, ml_strdup(c->cx, (ml_Str){ml_text_z(&t), t.n}));
    ml_text_free(&t);
}
