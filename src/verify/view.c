/* view - see view.h. What a view leaves open is bound to what the source has, the rest must
 * agree provably. */
#include "moonloop/verify/view.h"

#include "moonloop/core/walk.h"
#include "moonloop/verify/facts.h"

/* ---- storage_align */

bool ml_align_entry(const ml_Value *e, size_t n, size_t *position, size_t *dim,
                    ml_Align *out)
{
    if (e->kind != ML_VAL_LIST || e->n != 4)
        return false;
    for (size_t k = 0; k < 4; k++)
        if (e->as.list[k]->kind != ML_VAL_INT)
            return false;

    int64_t at = e->as.list[0]->as.i, d = e->as.list[1]->as.i, f = e->as.list[2]->as.i;

    if (at < 0 || at >= (int64_t)n || d < 0 || f <= 0)
        return false;
    *position = (size_t)at;
    *dim = (size_t)d;
    *out = (ml_Align){f, ml_floormod_i64(e->as.list[3]->as.i, f)};
    return true;
}

typedef struct Asked {
    ml_Ctx *cx;
    const ml_Buffer *buffer;
    ml_Align *align;
} Asked;

static bool collect(const ml_Stmt *s, void *user)
{
    Asked *a = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);
    const ml_Value *list = ml_dict_get(b->annotations, "buffer_dim_align");

    for (size_t k = 0; list && list->kind == ML_VAL_LIST && k < list->n; k++) {
        size_t at, dim;
        ml_Align one;

        if (!ml_align_entry(list->as.list[k], b->n_writes, &at, &dim, &one) ||
            b->writes[at].buffer->uid != a->buffer->uid || dim >= a->buffer->rank)
            continue;
        if (!a->align)
            a->align = ML_ARRAY(a->cx, ml_Align, a->buffer->rank);
        a->align[dim] = one;
    }
    return s->has_block;
}

const ml_Align *ml_align_asked(ml_Ctx *cx, const ml_Stmt *s, const ml_Buffer *b)
{
    Asked a = {cx, b, NULL};

    ml_stmt_visit(s, collect, &a);
    return a.align;
}

static const ml_Expr *up_to(ml_Arith *ar, const ml_Expr *s, ml_Align a)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *f, *by;

    if (a.factor == 0)
        return s;
    f = ml_int(cx, s->type, a.factor);
    by = ml_sub(cx, ml_int(cx, s->type, a.factor + a.offset), ml_floormod(cx, s, f));
    return ml_simplify(ar, ml_add(cx, s, ml_floormod(cx, by, f)));
}

static const ml_Expr *times(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return ml_promote(cx, &a, &b) ? ml_mul(cx, a, b) : NULL;
}

const ml_Expr *const *ml_buffer_strides(ml_Arith *ar, const ml_Buffer *b,
                                        const ml_Align *align)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    const ml_Expr *s = ml_int(cx, ml_buffer_index_dtype(b), 1);

    if (!align && b->n_strides == b->rank && b->rank > 0)
        return b->strides;
    for (size_t d = b->rank; d-- > 0;) {
        s = align ? up_to(ar, s, align[d]) : s;
        out[d] = s;
        s = times(cx, s, b->shape[d]);
        if (!s)
            return NULL;
        if (!ml_is_const_int(s))
            s = ml_simplify(ar, s);
    }
    return out;
}

/* ---- binding */

/* Whether an analysis passed the limits of a dtype or of nesting: its answer is none. */
static bool gave_up(ml_ViewBinding *v)
{
    if (!ml_ctx_overflowed(v->cx) && !ml_ctx_too_deep(v->cx))
        return false;
    ml_ctx_clear_marks(v->cx);
    ml_arith_forget(v->ar);
    return true;
}

static bool same(ml_ViewBinding *v, const ml_Expr *a, const ml_Expr *b)
{
    bool equal;

    if (a == b)
        return true;
    if (!ml_promote(v->cx, &a, &b))
        return false;
    equal = a == b || ml_prove_equal(v->ar, a, b);
    return !gave_up(v) && equal;
}

#define NO_DIM SIZE_MAX

/* have: what the view declares; value: what the source gives; what (and of which dimension)
 * they are is said where they differ. */
static bool bind(ml_ViewBinding *v, const ml_Expr *have, const ml_Expr *value,
                 const char *what, size_t dim, const char **why)
{
    const ml_Expr *before;

    if (have->kind == ML_EXPR_VAR &&
        !(v->defined && ml_map_has(v->defined, have->as.var->uid))) {
        before = v->vars->vars ? ml_map_get(v->vars->vars, have->as.var->uid) : NULL;
        if (!before) {
            ml_subst_var(v->cx, v->vars, have->as.var, ml_cast(v->cx, have->type, value));
            return true;
        }
        have = before;
    } else if (v->vars->vars) {
        have = ml_expr_subst(v->cx, have, v->vars);
    }
    if (same(v, have, value))
        return true;
    if (dim != NO_DIM)
        what = ml_format(v->cx, "%s %zu", what, dim);
    *why = ml_format(v->cx,
                     "%s is %s, the source gives %s; they must be provably equal (leave "
                     "it open with a variable)",
                     what, ml_expr_text(v->cx, have), ml_expr_text(v->cx, value));
    return false;
}

static void find_offset(ml_ViewBinding *v)
{
    const ml_Buffer *s = v->match->source.buffer;

    v->offset = s->elem_offset;
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *step = times(v->cx, v->match->source.ranges[d].min, v->stride[d]);

        if (step && ml_promote(v->cx, &v->offset, &step))
            v->offset = ml_add(v->cx, v->offset, step);
    }
    if (!v->asks)
        v->offset = ml_simplify(v->ar, v->offset);
}

static bool bind_offset(ml_ViewBinding *v, const char **why)
{
    ml_Ctx *cx = v->cx;
    const ml_Buffer *t = v->match->target, *s = v->match->source.buffer;
    const ml_Expr *rest;
    bool fits;

    if (ml_is_int(t->elem_offset, 0)) {
        if (ml_is_int(s->elem_offset, 0))
            return true;
        *why = ml_format(cx,
                         "it has element offset 0, its source has %s; give it "
                         "offset_factor=1",
                         ml_expr_text(cx, s->elem_offset));
        return false;
    }
    if (!bind(v, t->elem_offset, v->offset, "the element offset", NO_DIM, why))
        return false;
    if (t->offset_factor <= 1)
        return true;
    rest = ml_floormod(cx, v->offset, ml_int(cx, v->offset->type, t->offset_factor));
    fits = ml_prove_equal(v->ar, rest, ml_int(cx, rest->type, 0));
    (void)gave_up(v);
    if (!fits)
        *why = ml_format(cx,
                         "cannot show that the element offset %s is a multiple of "
                         "offset_factor %u",
                         ml_expr_text(cx, v->offset), t->offset_factor);
    return fits;
}

bool ml_view_bind(ml_ViewBinding *v, const char **why)
{
    ml_Ctx *cx = v->cx;
    const ml_Buffer *t = v->match->target, *s = v->match->source.buffer;
    const ml_Range *at = v->match->source.ranges;

    if (t->rank > s->rank) {
        *why = "it has more dimensions than its source";
        return false;
    }
    v->lead = (size_t)s->rank - t->rank;
    find_offset(v);
    if (!bind_offset(v, why))
        return false;
    for (size_t d = 0; d < t->n_strides; d++)
        if (!bind(v, t->strides[d], v->stride[v->lead + d], "stride", d, why))
            return false;
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Expr *extent = at[d].extent;

        if (d < v->lead && !same(v, extent, ml_int(cx, extent->type, 1))) {
            *why = ml_format(cx, "the leading extent %s of its source is not provably 1",
                             ml_expr_text(cx, extent));
            return false;
        }
        if (d >= v->lead &&
            !bind(v, t->shape[d - v->lead], extent, "extent", d - v->lead, why))
            return false;
    }
    return true;
}

bool ml_view_is_run(ml_Arith *ar, const ml_Match *m, const ml_Expr *const *stride,
                    size_t *gap)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Buffer *buf = m->source.buffer;
    const ml_Expr *run = ml_int(cx, ml_buffer_index_dtype(buf), 1);

    for (size_t d = buf->rank; d-- > 0;) {
        const ml_Expr *n = m->source.ranges[d].extent, *have = stride[d];

        if (ml_is_int(n, 1))
            continue;
        *gap = d;
        if (!ml_promote(cx, &have, &run) ||
            (have != run && !ml_prove_equal(ar, have, run)) || !ml_promote(cx, &run, &n))
            return false;
        run = ml_simplify(ar, ml_mul(cx, run, n));
    }
    return true;
}

/* ---- all views of a buffer */

typedef struct Seen { /* a view, or the buffer itself */
    const ml_Buffer *buffer;
    const ml_Expr *const *stride;
} Seen;

typedef struct Views {
    ml_Ctx *cx;
    ml_Program p;
    ML_VEC(Seen) seen;
} Views;

static const ml_Expr *const *strides_of(const Views *v, const ml_Buffer *b)
{
    for (size_t k = 0; k < v->seen.n; k++)
        if (v->seen.v[k].buffer->uid == b->uid)
            return v->seen.v[k].stride;
    return NULL;
}

/* The strides of a view whose open variables are bound. */
static const ml_Expr *const *view_strides(ml_Arith *ar, const ml_Buffer *t, ml_Subst *vars)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, t->rank + 1u);

    if (!t->n_strides)
        return ml_buffer_strides(ar, t, NULL);
    for (size_t d = 0; d < t->rank; d++)
        out[d] = vars->vars ? ml_expr_subst(cx, t->strides[d], vars) : t->strides[d];
    return out;
}

static bool fits(Views *v, ml_Arith *ar, const ml_Match *m, ml_Subst *vars,
                 const char **why)
{
    ml_ViewBinding bind = {.cx = v->cx,
                           .ar = ar,
                           .match = m,
                           .stride = strides_of(v, m->source.buffer),
                           .vars = vars,
                           .asks = true};
    size_t gap;

    if (!bind.stride)
        return true;
    if (!ml_view_bind(&bind, why))
        return false;
    if (!m->target->n_strides && !ml_view_is_run(ar, m, bind.stride, &gap)) {
        *why = ml_format(v->cx, "its rows do not follow each other in dimension %zu", gap);
        return false;
    }
    ml_push(v->cx, &v->seen, ((Seen){m->target, view_strides(ar, m->target, vars)}));
    return true;
}

const ml_Block *ml_views_misfit(ml_Ctx *cx, ml_Program p, uint32_t func, const ml_Buffer *b,
                                const ml_Align *align, const char **why)
{
    Views v = {.cx = cx, .p = p};
    ml_StmtVec blocks = {0};
    const ml_Stmt *body = p.mod->funcs[func]->body;
    ml_Subst vars = {0};

    if (body->kind == ML_STMT_BLOCK)
        ml_push(cx, &blocks, body);
    ml_all_blocks(cx, body, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *at = ml_as_block(blocks.v[k]);
        ml_Arith *ar = NULL;

        for (size_t m = 0; m < at->n_matches; m++) {
            if (!ar) {
                ar = ml_arith_at(cx, p, at->tag);
                ml_arith_bind_iters(ar, at);
            }
            if (v.seen.n == 0)
                ml_push(cx, &v.seen, ((Seen){b, ml_buffer_strides(ar, b, align)}));
            if (!fits(&v, ar, &at->matches[m], &vars, why))
                return at;
        }
    }
    return NULL;
}
