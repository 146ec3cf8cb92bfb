/*
 * lower_match_buffer - an access of a view becomes the access of what it views; what the
 * view leaves open (element offset, strides, extents) is bound to what the source has, the
 * rest must agree provably. Outside in: the source of a nested view is then never a view.
 * Source: lowering-and-codegen 2.11.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/run_on.h"
#include "moonloop/verify/view.h"

static const char PASS[] = "lower_match_buffer";

typedef struct MatchWalk {
    ml_Lower *lo;
    ml_Arith *ar;
    ml_Map *defined; /* variables that have a value here */
    bool failed;
} MatchWalk;

/* One view at work. */
typedef struct View {
    MatchWalk *w;
    const ml_Stmt *at;
    const ml_Match *m;
    const ml_Buffer *target, *source;
    size_t lead;           /* dimensions of the source that the target lacks */
    const ml_Expr *offset; /* flat, of the region's start */
    bool is_run;           /* its elements follow each other in the source */
    ml_Subst subst;
} View;

static bool fail(View *v, const char *text)
{
    if (!v->w->failed)
        ml_lower_fail(v->w->lo, PASS, v->at, "match_buffer %s of %s: %s", v->target->name,
                      v->source->name, text);
    v->w->failed = true;
    return false;
}

static const ml_Expr *plus(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    if (a->kind == ML_EXPR_RAMP)
        return ml_ramp(cx, plus(cx, a->args[0], b), a->args[1], a->type.lanes);
    if (a->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, plus(cx, a->args[0], b), a->type.lanes);
    (void)ml_promote(cx, &a, &b);
    return ml_add(cx, a, b);
}

/* ---------------------------------------------------------------- what the view says */

static bool bind_all(View *v)
{
    ml_Ctx *cx = v->w->lo->cx;
    const ml_Buffer *t = v->target, *s = v->source;
    ml_ViewBinding bind = {.cx = cx,
                           .ar = v->w->ar,
                           .match = v->m,
                           .stride = ml_buffer_strides(v->w->ar, s, NULL),
                           .defined = v->w->defined,
                           .vars = &v->subst};
    const char *why = NULL;
    size_t gap;

    if (!ml_scope_eq(t->scope, s->scope))
        return fail(v, ml_format(cx, "it has scope %s, its source %s; they must agree",
                                 t->scope.name, s->scope.name));
    if (!ml_dtype_eq(t->type, s->type))
        return fail(v, ml_format(cx, "it has dtype %s, its source %s; they must agree",
                                 ml_dtype_name(cx, t->type), ml_dtype_name(cx, s->type)));
    if (t->align > s->align)
        ml_lower_note(v->w->lo, v->at->span,
                      "view %s asks for an alignment of %u bytes, its source %s offers %u",
                      t->name, t->align, s->name, s->align);
    if (!bind.stride || ml_gave_up(cx, v->w->ar))
        return fail(v, "the strides of its source pass the dtype of its indices");
    if (!ml_view_bind(&bind, &why))
        return fail(v, why);
    v->lead = bind.lead;
    v->offset = bind.offset;
    v->is_run = ml_view_is_run(v->w->ar, v->m, bind.stride, &gap);
    (void)ml_gave_up(cx, v->w->ar);
    return true;
}

/* ---------------------------------------------------------------- rewriting */

static const ml_Expr **source_index(View *v, const ml_Expr *const *idx)
{
    ml_Ctx *cx = v->w->lo->cx;
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, v->source->rank + 1u);

    if (!v->is_run && ml_run_dim(v->target, idx, v->target->rank) < v->target->rank)
        fail(v, "lanes of an access run on from row to row, but the rows of its source do "
                "not follow each other in memory");
    for (size_t d = 0; d < v->source->rank; d++) {
        const ml_Expr *min = v->m->source.ranges[d].min;

        out[d] = d < v->lead ? min : plus(cx, idx[d - v->lead], min);
    }
    return out;
}

static const ml_Expr *rewrite_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    View *v = user;

    if (e->kind == ML_EXPR_VAR && e->as.var->uid == v->target->data->uid) {
        const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, v->source->rank + 1u);
        const ml_Expr *first;

        if (!ml_is_int(v->target->elem_offset, 0) || ml_is_int(v->offset, 0))
            return ml_var(cx, v->source->data);
        for (size_t d = 0; d < v->source->rank; d++)
            at[d] = v->m->source.ranges[d].min;
        first = ml_load(cx, v->source, at, v->source->rank);
        return ml_call_id(cx, e->type, ML_OP_ADDRESS_OF, &first, 1);
    }
    if ((e->flags & ML_X_VAR_FREE) && !(e->flags & ML_X_HAS_LOAD))
        return e;
    if (e->kind == ML_EXPR_VAR) {
        const ml_Expr *to =
            v->subst.vars ? ml_map_get(v->subst.vars, e->as.var->uid) : NULL;

        return to ? to : e;
    }
    e = ml_expr_map_args(cx, e, rewrite_expr, user);
    if (e->kind != ML_EXPR_LOAD || e->as.buffer->uid != v->target->uid)
        return e;
    if (e->flags & ML_X_MASKED) {
        fail(v, "a predicated load; views have none");
        return e;
    }
    return ml_load(cx, v->source, source_index(v, e->args), v->source->rank);
}

static ml_Region rewrite_region(View *v, ml_Region r)
{
    ml_Ctx *cx = v->w->lo->cx;
    const ml_Buffer *s = v->source;
    ml_Range *ranges;

    if (r.buffer->uid != v->target->uid)
        return r;
    ranges = ML_ARRAY(cx, ml_Range, s->rank + 1u);
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *min = v->m->source.ranges[d].min;

        if (d < v->lead) {
            ranges[d] = (ml_Range){min, ml_int(cx, min->type, 1)};
        } else {
            ranges[d] = r.ranges[d - v->lead];
            ranges[d].min = plus(cx, ranges[d].min, min);
            if (!ml_dtype_eq(ranges[d].min->type, ranges[d].extent->type))
                ranges[d].extent = ml_cast(cx, ranges[d].min->type, ranges[d].extent);
        }
    }
    return (ml_Region){s, ranges};
}

static const ml_Region *rewrite_regions(View *v, const ml_Region *list, uint32_t n)
{
    ml_Region *out = ML_ARRAY(v->w->lo->cx, ml_Region, n + 1u);

    for (uint32_t k = 0; k < n; k++)
        out[k] = rewrite_region(v, list[k]);
    return out;
}

static const ml_Stmt *rewrite(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {rewrite, rewrite_expr, NULL, user};
    View *v = user;

    if (v->w->failed)
        return s;
    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == v->target->uid) {
        ml_Store st = *ml_as_store(s);

        if (st.mask) {
            fail(v, "a predicated store; views have none");
            return s;
        }
        st.indices = source_index(v, st.indices);
        st.n = v->source->rank;
        st.buffer = v->source;
        return ml_stmt_map(cx, ml_stmt_from(cx, &st.base), &m);
    }
    if (s->kind == ML_STMT_DECL && ml_as_alloc(s)->data &&
        ml_as_alloc(s)->data->kind == ML_EXPR_VAR &&
        ml_as_alloc(s)->data->as.var->uid == v->target->data->uid) {
        fail(v, ml_format(cx, "%s is declared over its data; match the source instead",
                          ml_as_alloc(s)->buffer->name));
        return s;
    }
    if (s->kind == ML_STMT_BLOCK) {
        ml_Block b = *ml_as_block(s);
        ml_Match *matches = ML_ARRAY(cx, ml_Match, b.n_matches + 1u);

        b.reads = rewrite_regions(v, b.reads, b.n_reads);
        b.writes = rewrite_regions(v, b.writes, b.n_writes);
        for (uint32_t k = 0; k < b.n_matches; k++) {
            matches[k] = b.matches[k];
            matches[k].source = rewrite_region(v, matches[k].source);
        }
        b.matches = matches;
        s = ml_block_from(cx, &b);
    }
    return ml_stmt_map(cx, s, &m);
}

/* ---------------------------------------------------------------- the walk */

static void define(MatchWalk *w, const ml_Var *v)
{
    ml_map_set(w->lo->cx, w->defined, v->uid, v);
}

static bool define_in(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        define(user, e->as.var);
    return !(e->flags & ML_X_VAR_FREE);
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

/* The block without its first match. */
static const ml_Stmt *without_match(ml_Ctx *cx, MatchWalk *w, const ml_Block *old)
{
    const ml_Match *m = &old->matches[0];
    View v = {w, &old->base, m, m->target, m->source.buffer, 0, NULL, false, {0}};
    ml_Block b = *old;
    const ml_Stmt *s;

    b.matches = old->matches + 1;
    b.n_matches = old->n_matches - 1;
    if (!bind_all(&v))
        return &old->base;
    s = ml_block_from(cx, &b);
    if (v.subst.vars)
        s = ml_lower_subst(cx, s, &v.subst, true);
    return rewrite(cx, s, &v);
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = lower_stmt, .user = user};
    MatchWalk *w = user;
    ml_ArithMark mark = ml_arith_save(w->ar);

    if (s->kind == ML_STMT_BIND)
        define(w, ml_as_bind(s)->var);
    if (w->failed || !s->has_block)
        return s;
    while (s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_matches > 0 && !w->failed)
        s = without_match(cx, w, ml_as_block(s));
    if (w->failed)
        return s;
    if (s->kind == ML_STMT_FOR) {
        define(w, ml_as_for(s)->var);
        if (ml_as_for(s)->thread_var)
            define(w, ml_as_for(s)->thread_var);
        if (ml_dtype_is_index(ml_as_for(s)->var->type))
            ml_arith_bind_loop(w->ar, ml_as_for(s));
    }
    if (s->kind == ML_STMT_ATTR && ml_attr_defines(ml_as_attr(s)))
        define(w, ml_attr_defines(ml_as_attr(s)));
    s = ml_stmt_map(cx, s, &m);
    ml_arith_restore(w->ar, mark);
    return s;
}

const ml_Func *ml_pass_lower_match_buffer(ml_Lower *lo, const ml_Func *f)
{
    MatchWalk w = {.lo = lo, .ar = ml_lower_arith(lo, f), .defined = ml_map_new(lo->cx)};
    const ml_Stmt *body;

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        define(&w, f->params[k].var);
        for (size_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], define_in, &w);
        for (size_t d = 0; b && d < b->n_strides; d++)
            ml_expr_visit(b->strides[d], define_in, &w);
        if (b)
            ml_expr_visit(b->elem_offset, define_in, &w);
    }
    body = lower_stmt(lo->cx, f->body, &w);
    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
