/*
 * compact_buffers - allocated buffers shrink to the box of what is accessed while they
 * live, and get the strides that buffer_dim_align asks for.
 *
 * One walk collects, per buffer and dimension, the hull of all accesses: loops around the
 * allocation stay symbols, loops below it are relaxed over their ranges, conditions in
 * between narrow. A second walk subtracts the minima from indices and regions. What cannot
 * be said in terms of the place of the allocation leaves a dimension as it is.
 * Source: lowering-and-codegen 2.8.
 */
#include "moonloop/codegen/lower/compact.h"

#include "moonloop/core/run_on.h"
#include "moonloop/verify/verify.h"

static const char PASS[] = "compact_buffers";

/* ---------------------------------------------------------------- buffers */

static ml_Compact *record(ml_Compaction *c, const ml_Buffer *b)
{
    /* The map's values are this pass's own records. */
    return (ml_Compact *)(uintptr_t)ml_map_get(c->buffers, b->uid);
}

static ml_Compact *by_pointer(ml_Compaction *c, const ml_Var *data)
{
    return (ml_Compact *)(uintptr_t)ml_map_get(c->pointers, data->uid);
}

static void define(ml_Compaction *c, const ml_Buffer *b, const ml_Stmt *block)
{
    ml_Compact *r = ML_NEW(c->lo->cx, ml_Compact);

    r->buffer = b;
    r->block = block;
    r->depth = c->dom.n;
    r->n_conds = c->conds.n;
    r->hull = ML_ARRAY(c->lo->cx, ml_Interval, b->rank + 1u);
    for (size_t d = 0; d < b->rank; d++)
        r->hull[d] = ML_NOTHING;
    ml_map_set(c->lo->cx, c->buffers, b->uid, r);
    ml_map_set(c->lo->cx, c->pointers, b->data->uid, r);
}

/* Whether each variable is known where the buffer is allocated, and nothing is loaded. */
typedef struct Known {
    const ml_Compaction *c;
    const ml_Compact *r;
    bool ok;
} Known;

static bool known_there(const ml_Expr *e, void *user)
{
    Known *k = user;

    if (e->kind == ML_EXPR_LOAD || (e->flags & (ML_X_EFFECT | ML_X_READ_OP)))
        k->ok = false;
    if (e->kind == ML_EXPR_VAR) {
        if (ml_map_has(k->c->inner, e->as.var->uid))
            k->ok = false; /* bound by a statement somewhere inside */
        for (size_t j = k->r->depth; j < k->c->dom.n; j++)
            if (k->c->dom.v[j].var->uid == e->as.var->uid)
                k->ok = false;
    }
    return k->ok;
}

static const ml_Expr *sayable(const ml_Compaction *c, const ml_Compact *r, const ml_Expr *e)
{
    Known k = {c, r, true};

    if (!e)
        return NULL;
    ml_expr_visit(e, known_there, &k);
    return k.ok ? e : NULL;
}

/* What holds where the buffer is allocated. A loop inside whose extent is no number may run
 * not at all: that it does is known in it alone, and no fact about another access. */
static ml_Arith *arith_outside(ml_Compaction *c, const ml_Compact *r)
{
    bool open = false;

    for (size_t j = r->depth; j < c->dom.n; j++)
        open |= !ml_is_const_int(c->dom.v[j].extent);
    if (!open)
        return c->ar;
    ml_Arith *ar = ml_lower_arith(c->lo, c->func);

    for (size_t j = 0; j < r->depth; j++)
        if (ml_dtype_is_index(c->dom.v[j].var->type))
            ml_arith_bind_range(ar, c->dom.v[j].var, c->dom.v[j].min, c->dom.v[j].extent);
    return ar;
}

static void add(ml_Compaction *c, ml_Compact *r, size_t d, ml_Interval i)
{
    if (!i.nothing) {
        i.min = sayable(c, r, i.min);
        i.max = sayable(c, r, i.max);
    }
    if (i.nothing)
        return;
    if (r->hull[d].nothing) {
        r->hull[d] = i;
    } else if (i.min != r->hull[d].min || i.max != r->hull[d].max) {
        ml_Arith *ar = arith_outside(c, r);

        r->hull[d] = ml_interval_union(ar, r->hull[d], i);
        if (ml_gave_up(c->lo->cx, ar))
            r->hull[d] = ML_EVERYTHING;
    }
    if (ml_gave_up(c->lo->cx, c->ar))
        r->hull[d] = ML_EVERYTHING;
}

static void add_everything(ml_Compact *r)
{
    r->any = r->whole = true;
}

/* Which thread loops above the allocation share the buffer: those are relaxed too. */
static bool shared_by(const ml_Compact *r, ml_Thread t)
{
    return ml_scope_spans(r->buffer->scope, t);
}

static const ml_Expr *conditions(ml_Compaction *c, const ml_Compact *r)
{
    const ml_Expr *all = NULL;

    for (size_t k = r->n_conds; k < c->conds.n; k++)
        all = all ? ml_and(c->lo->cx, all, c->conds.v[k]) : c->conds.v[k];
    return all;
}

static void add_box(ml_Compaction *c, ml_Compact *r, const ml_Range *box)
{
    size_t rank = r->buffer->rank;
    ml_DomVec dom = {0};
    ml_Interval *out = ML_ARRAY(c->lo->cx, ml_Interval, rank + 1);

    r->any = true;
    if (r->whole)
        return;
    for (size_t k = 0; k < c->dom.n; k++)
        if (k >= r->depth || shared_by(r, c->tags.v[k]))
            ml_push(c->lo->cx, &dom, c->dom.v[k]);
    for (size_t d = 0; d < rank; d++)
        if (!ml_dtype_is_index(box[d].min->type) ||
            !ml_dtype_is_index(box[d].extent->type)) {
            add_everything(r);
            return;
        }
    (void)ml_gave_up(c->lo->cx, c->ar);
    ml_region_upper(c->ar, box, rank, dom.v, dom.n, conditions(c, r), out);
    if (ml_gave_up(c->lo->cx, c->ar)) {
        add_everything(r);
        return;
    }
    for (size_t d = 0; d < rank; d++)
        add(c, r, d, out[d]);
}

/* ---------------------------------------------------------------- the collecting walk */

static const ml_Expr *expand(ml_Compaction *c, const ml_Expr *e)
{
    return c->lets.vars && ml_map_count(c->lets.vars)
               ? ml_expr_subst(c->lo->cx, e, &c->lets)
               : e;
}

/* The innermost block says by annotation what it touches of the buffer. */
static bool said_explicitly(const ml_Compaction *c, const ml_Buffer *b, bool write)
{
    return ml_map_has(write ? c->said_writes : c->said_reads, b->uid);
}

static bool box_of_index(ml_Compaction *c, const ml_Expr *e, ml_Range *out)
{
    ml_Ctx *cx = c->lo->cx;

    e = expand(c, e);
    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    if (e->kind == ML_EXPR_RAMP && ml_is_const_int(e->args[1]) &&
        ml_dtype_is_index(e->args[0]->type)) {
        int64_t span;
        const ml_Expr *base = e->args[0];

        if (__builtin_mul_overflow(e->args[1]->as.i, (int64_t)e->type.lanes - 1, &span))
            return false;
        if (span < 0) {
            base = ml_add(cx, base, ml_int(cx, base->type, span));
            span = -span;
        }
        *out = (ml_Range){base, ml_int(cx, base->type, span + 1)};
        return !ml_gave_up(cx, c->ar);
    }
    *out = (ml_Range){e, ml_int(cx, ml_dtype_lanes(e->type, 1), 1)};
    return ml_dtype_is_index(e->type);
}

static void access_at(ml_Compaction *c, const ml_Buffer *b, const ml_Expr *const *idx,
                      size_t n, bool write)
{
    ml_Compact *r = record(c, b);
    ml_Range *box;

    if (!r) {
        r = by_pointer(c, b->data); /* through an alias */
        if (r)
            add_everything(r);
        return;
    }
    if (said_explicitly(c, b, write)) {
        r->any = true;
        return;
    }
    if (ml_run_dim(b, idx, n) < n) { /* it goes by the layout */
        r->compact = true;
        add_everything(r);
        return;
    }
    box = ML_ARRAY(c->lo->cx, ml_Range, n + 1);
    for (size_t d = 0; d < n; d++)
        if (n != b->rank || !box_of_index(c, idx[d], &box[d])) {
            add_everything(r);
            return;
        }
    add_box(c, r, box);
}

static void opaque(ml_Compaction *c, const ml_Var *data)
{
    ml_Compact *r = by_pointer(c, data);

    if (r)
        r->opaque = r->any = true;
    if (r && c->block)
        for (int list = 0; list < 2; list++) {
            uint32_t n = list ? c->block->n_writes : c->block->n_reads;
            const ml_Region *v = list ? c->block->writes : c->block->reads;

            for (uint32_t k = 0; k < n; k++)
                if (v[k].buffer->uid == r->buffer->uid)
                    return; /* the region was added with the block */
        }
    if (r)
        add_everything(r);
}

/* The comparisons that a condition consists of; what else it says is left out. */
static void push_part(ml_Compaction *c, const ml_Expr *cond, bool holds)
{
    static const uint8_t OTHER[] = {ML_EXPR_NE, ML_EXPR_EQ, ML_EXPR_GE,
                                    ML_EXPR_GT, ML_EXPR_LE, ML_EXPR_LT};
    ml_ExprKind k = (ml_ExprKind)cond->kind;

    if (ml_is_op(cond, ML_OP_LIKELY)) {
        push_part(c, cond->args[0], holds);
    } else if (k == ML_EXPR_NOT) {
        push_part(c, cond->args[0], !holds);
    } else if (k == (holds ? ML_EXPR_AND : ML_EXPR_OR)) {
        push_part(c, cond->args[0], holds);
        push_part(c, cond->args[1], holds);
    } else if (k >= ML_EXPR_LT && k <= ML_EXPR_GE &&
               ml_dtype_is_index(cond->args[0]->type) &&
               !(cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT | ML_X_READ_OP))) {
        k = holds ? k : (ml_ExprKind)OTHER[k - ML_EXPR_EQ];
        ml_push(c->lo->cx, &c->conds,
                ml_binary(c->lo->cx, k, cond->args[0], cond->args[1]));
    }
}

static void push_cond(ml_Compaction *c, const ml_Expr *cond, bool holds)
{
    push_part(c, expand(c, cond), holds);
}

static void expr(ml_Compaction *c, const ml_Expr *e)
{
    if (!(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) && e->type.code != ML_HANDLE &&
        e->kind != ML_EXPR_LET)
        return;
    if (e->kind == ML_EXPR_VAR) {
        opaque(c, e->as.var);
        return;
    }
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD) {
        opaque(c, e->args[0]->as.buffer->data);
        for (size_t k = 0; k < e->args[0]->n_args; k++)
            expr(c, e->args[0]->args[k]);
        return;
    }
    if (e->kind == ML_EXPR_LOAD)
        access_at(c, e->as.buffer, e->args, ml_load_rank(e), false);
    if (e->kind == ML_EXPR_LET) {
        expr(c, e->args[0]);
        ml_subst_var(c->lo->cx, &c->lets, e->as.var, expand(c, e->args[0]));
        expr(c, e->args[1]);
        return;
    }
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3 && e->args[0]->type.lanes == 1) {
        size_t n = c->conds.n;

        expr(c, e->args[0]);
        push_cond(c, e->args[0], true);
        expr(c, e->args[1]);
        c->conds.n = n;
        push_cond(c, e->args[0], false);
        expr(c, e->args[2]);
        c->conds.n = n;
        return;
    }
    for (size_t k = 0; k < e->n_args; k++)
        expr(c, e->args[k]);
}

static void expr_role(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && role != ML_ROLE_ATTR)
        expr(user, e);
}

static void stmt(ml_Compaction *c, const ml_Stmt *s);

static void child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    stmt(user, s);
}

/* Positions listed by explicit_read_region or explicit_write_region of the block. */
static void explicit_regions(ml_Compaction *c, const ml_Block *b, bool write)
{
    const ml_Value *list = ml_dict_get(b->annotations, write ? "explicit_write_region"
                                                             : "explicit_read_region");
    const ml_Value *one[1] = {list};
    const ml_Value *const *v = list && list->kind == ML_VAL_LIST ? list->as.list : one;
    size_t count = !list ? 0 : list->kind == ML_VAL_LIST ? list->n : 1;

    for (size_t k = 0; k < count; k++) {
        uint32_t n = write ? b->n_writes : b->n_reads;
        const ml_Region *r;

        if (v[k]->kind != ML_VAL_INT || v[k]->as.i < 0 || v[k]->as.i >= (int64_t)n)
            continue;
        r = &(write ? b->writes : b->reads)[v[k]->as.i];
        ml_map_set(c->lo->cx, write ? c->said_writes : c->said_reads, r->buffer->uid, r);
    }
}

static void add_region(ml_Compaction *c, const ml_Region *r)
{
    ml_Compact *k = record(c, r->buffer);
    ml_Range *box;

    if (!k)
        return;
    box = ML_ARRAY(c->lo->cx, ml_Range, r->buffer->rank + 1u);
    for (size_t d = 0; d < r->buffer->rank; d++)
        box[d] = (ml_Range){expand(c, r->ranges[d].min), expand(c, r->ranges[d].extent)};
    add_box(c, k, box);
}

static void add_regions(ml_Compaction *c, const ml_Region *v, uint32_t n, bool write)
{
    for (uint32_t k = 0; k < n; k++)
        if (said_explicitly(c, v[k].buffer, write) ||
            ml_map_has(c->uses_pointer, v[k].buffer->data->uid))
            add_region(c, &v[k]);
}

static void block(ml_Compaction *c, const ml_Block *b)
{
    size_t n = c->conds.n;
    ml_Map *reads = c->said_reads, *writes = c->said_writes;
    const ml_Block *outer = c->block;

    expr(c, b->predicate);
    if (!ml_is_true(b->predicate))
        push_cond(c, b->predicate, true);
    for (uint32_t k = 0; k < b->n_allocs; k++)
        define(c, b->allocs[k], &b->base);
    c->said_reads = ml_map_new(c->lo->cx);
    c->said_writes = ml_map_new(c->lo->cx);
    c->block = b;
    explicit_regions(c, b, false);
    explicit_regions(c, b, true);
    add_regions(c, b->reads, b->n_reads, false);
    add_regions(c, b->writes, b->n_writes, true);
    for (uint32_t k = 0; k < b->n_matches; k++)
        add_region(c, &b->matches[k].source);
    stmt(c, b->body);
    for (uint32_t k = 0; k < b->n_allocs; k++)
        ml_compact_shape(c, record(c, b->allocs[k]));
    c->block = outer;
    c->said_reads = reads;
    c->said_writes = writes;
    c->conds.n = n;
}

static void range(ml_Compaction *c, const ml_Var *v, const ml_Expr *min,
                  const ml_Expr *extent, ml_Thread tag)
{
    ml_push(c->lo->cx, &c->dom, ((ml_Dom){v, expand(c, min), expand(c, extent)}));
    ml_push(c->lo->cx, &c->tags, tag);
    if (ml_dtype_is_index(v->type))
        ml_arith_bind_range(c->ar, v, expand(c, min), expand(c, extent));
}

static void attr(ml_Compaction *c, const ml_Attr *a)
{
    const ml_Var *v = ml_attr_defines(a);
    const ml_Expr *extent = NULL;
    size_t n = c->dom.n;

    if (v && a->value->kind == ML_VAL_EXPR)
        extent = a->value->as.expr;
    else if (v && a->value->kind == ML_VAL_INT)
        extent = ml_int(c->lo->cx, v->type, a->value->as.i);
    if (extent)
        expr(c, extent);
    if (extent && ml_dtype_eq(extent->type, v->type))
        range(c, v, ml_int(c->lo->cx, v->type, 0), extent, a->thread);
    stmt(c, a->body);
    c->dom.n = c->tags.n = n;
}

static void stmt(ml_Compaction *c, const ml_Stmt *s)
{
    size_t n_dom = c->dom.n, n_conds = c->conds.n;
    ml_ArithMark mark = ml_arith_save(c->ar);

    if (s->kind == ML_STMT_BLOCK) {
        block(c, ml_as_block(s));
    } else if (s->kind == ML_STMT_ATTR) {
        attr(c, ml_as_attr(s));
    } else if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        ml_stmt_exprs(s, expr_role, c);
        range(c, f->var, f->min, f->extent, f->thread);
        if (f->thread_var)
            range(c, f->thread_var, f->min, f->extent, f->thread);
        stmt(c, f->body);
    } else if (s->kind == ML_STMT_IF) {
        const ml_If *i = ml_as_if(s);

        expr(c, i->cond);
        push_cond(c, i->cond, true);
        stmt(c, i->then);
        c->conds.n = n_conds;
        if (i->other) {
            push_cond(c, i->cond, false);
            stmt(c, i->other);
        }
    } else if (s->kind == ML_STMT_BIND) {
        const ml_Bind *b = ml_as_bind(s);

        expr(c, b->value);
        ml_map_set(c->lo->cx, c->inner, b->var->uid, b);
        if (ml_expr_effect(b->value) <= ML_EFFECT_PURE &&
            !(b->value->flags & ML_X_HAS_LOAD))
            ml_subst_var(c->lo->cx, &c->lets, b->var, expand(c, b->value));
    } else {
        if (s->kind == ML_STMT_STORE)
            access_at(c, ml_as_store(s)->buffer, ml_as_store(s)->indices, ml_as_store(s)->n,
                      true);
        ml_stmt_exprs(s, expr_role, c);
        ml_stmt_children(s, child, c);
    }
    c->dom.n = c->tags.n = n_dom;
    c->conds.n = n_conds;
    ml_arith_restore(c->ar, mark);
}

/* ---------------------------------------------------------------- what is used by pointer
 */

static bool pointer_in(const ml_Expr *e, void *user)
{
    ml_Compaction *c = user;

    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE)
        ml_map_set(c->lo->cx, c->uses_pointer, e->as.var->uid, e);
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 && e->args[0]->kind == ML_EXPR_LOAD)
        ml_map_set(c->lo->cx, c->uses_pointer, e->args[0]->as.buffer->data->uid, e);
    return !(e->flags & ML_X_VAR_FREE) || (e->flags & ML_X_HAS_LOAD);
}

/* ---------------------------------------------------------------- the pass */

const ml_Func *ml_pass_compact_buffers(ml_Lower *lo, const ml_Func *f)
{
    ml_Compaction c = {.lo = lo, .ar = ml_lower_arith(lo, f), .func = f};
    ml_Ctx *cx = lo->cx;

    c.buffers = ml_map_new(cx);
    c.pointers = ml_map_new(cx);
    c.inner = ml_map_new(cx);
    c.uses_pointer = ml_map_new(cx);
    c.said_reads = ml_map_new(cx);
    c.said_writes = ml_map_new(cx);
    ml_stmt_visit_exprs_below(f->body, ML_ROLES_ALL, pointer_in, &c);
    ml_compact_align(&c, f->body);
    stmt(&c, f->body);
    if (ml_map_count(c.buffers) == 0)
        return f;
    for (size_t k = 0; k < ml_map_count(c.buffers); k++) {
        const ml_Compact *r = ml_map_value_at(c.buffers, k);

        if (!r->any && ml_compact_mentioned(&c, f->body, r->buffer))
            return ml_lower_fail(lo, PASS, r->block,
                                 "%s is allocated but not accessed: regions or attributes "
                                 "still mention it; remove them",
                                 r->buffer->name);
    }
    return ml_func_with_body(cx, f, ml_compact_rewrite(&c, f->body));
}
