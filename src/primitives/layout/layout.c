/*
 * layout - every access of a buffer moved through an index map.
 *
 * A new index is map(old indices), simplified under the loops and iters around it. Regions
 * of one element move the same way, others are inferred again from the new body. A view
 * moves when the dimensions it shows are the trailing ones and stay as they are; what is
 * done through another one is done to the buffer itself, and the view goes. The map is
 * exact for all integers, so that guarded accesses beside the buffer stay guarded ones.
 * Source: primitives 11, transform_layout.
 */
#include "moonloop/primitives/layout/layout.h"

/* ---- the walk */

typedef struct Move {
    ml_Call *c;
    ml_Arith *ar;
    const ml_Relayout *to;
    ml_DomVec dom;          /* loops and iters around, outermost first */
    const ml_Block *at;     /* innermost block */
    const ml_Block *opaque; /* where the buffer is used otherwise than by its indices */
    bool is_opaque, vector, dropped;
    bool inside; /* a loop whose nest uses the buffer */
} Move;

static bool is_old(const Move *m, const ml_Buffer *b)
{
    return b->uid == m->to->old->uid;
}

static void found_opaque(Move *m)
{
    if (!m->is_opaque)
        m->opaque = m->at;
    m->is_opaque = true;
}

static bool is_plain(const ml_Expr *e)
{
    return e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_INT;
}

/* map(idx), as simple as the loops and iters around allow. */
static const ml_Expr **map_indices(Move *m, const ml_Expr *const *idx, size_t n)
{
    ml_Ctx *cx = m->c->cx;
    size_t n_out = m->to->map->n_exprs;
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, n_out + 1);
    const ml_Expr **tidy = ML_ARRAY(cx, const ml_Expr *, n_out + 1);
    bool plain = true;

    for (size_t d = 0; d < n; d++)
        m->vector |= idx[d]->type.lanes != 1;
    if (m->vector)
        return out;
    ml_index_map_apply(m->ar, m->to->map, idx, out);
    for (size_t k = 0; k < n_out; k++)
        plain &= is_plain(out[k]);
    if (plain || m->dom.n == 0)
        return out;
    ml_iter_simplify(m->ar, out, n_out, m->dom.v, m->dom.n, ml_bool(cx, true),
                     ML_SURJECTIVE, true, true, tidy);
    for (size_t k = 0; k < n_out; k++) {
        const ml_Expr *e = ml_simplify(m->ar, tidy[k]);

        if (e->size < out[k]->size)
            out[k] = e;
    }
    return out;
}

static const ml_Expr *move_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Move *m = user;

    if (e->kind == ML_EXPR_VAR && e->as.var->uid == m->to->old->data->uid)
        found_opaque(m);
    if (!(e->flags & ML_X_HAS_LOAD) && !(e->bloom & ml_uid_bloom(m->to->old->data->uid)))
        return e;
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD && is_old(m, e->args[0]->as.buffer))
        found_opaque(m);
    const ml_Expr *r = ml_expr_map_args(cx, e, move_expr, user);

    if (r->kind != ML_EXPR_LOAD || !is_old(m, r->as.buffer))
        return r;
    size_t n = ml_load_rank(r);
    const ml_Expr **idx = map_indices(m, r->args, n);

    if (m->vector)
        return r;
    return n < r->n_args
               ? ml_load_masked(cx, m->to->fresh, idx, m->to->map->n_exprs, r->args[n])
               : ml_load(cx, m->to->fresh, idx, m->to->map->n_exprs);
}

static const ml_Stmt *move_store(Move *m, const ml_Stmt *s)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Store *st = ml_as_store(s);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, st->n + 1);
    const ml_Expr *value = move_expr(cx, st->value, m);
    const ml_Expr *mask = st->mask ? move_expr(cx, st->mask, m) : NULL;
    bool old = is_old(m, st->buffer);
    bool changed = old || value != st->value || mask != st->mask;

    for (size_t d = 0; d < st->n; d++) {
        idx[d] = move_expr(cx, st->indices[d], m);
        changed |= idx[d] != st->indices[d];
    }
    if (!changed)
        return s;
    const ml_Expr **at = old ? map_indices(m, idx, st->n) : idx;

    if (m->vector)
        return s;
    return ml_stmt_at(cx,
                      ml_store(cx, old ? m->to->fresh : st->buffer, value, at,
                               old ? m->to->map->n_exprs : st->n, mask),
                      s->span);
}

/* ---- regions */

static ml_Region point_region(Move *m, const ml_Region *r)
{
    ml_Ctx *cx = m->c->cx;
    size_t n = m->to->map->n_exprs;
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, r->buffer->rank + 1u);
    ml_Range *out = ML_ARRAY(cx, ml_Range, n + 1);

    for (size_t d = 0; d < r->buffer->rank; d++)
        idx[d] = r->ranges[d].min;
    const ml_Expr **at = map_indices(m, idx, r->buffer->rank);

    for (size_t k = 0; k < n && !m->vector; k++)
        out[k] = (ml_Range){at[k], ml_int(cx, at[k]->type, 1)};
    return (ml_Region){m->to->fresh, out};
}

/* The smallest box that holds the image of the region, inside the shape. */
static ml_Region image_region(Move *m, const ml_Region *r)
{
    ml_Ctx *cx = m->c->cx;
    const ml_IndexMap *map = m->to->map;
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, map->n_vars + 1u);
    ml_Range *out = ML_ARRAY(cx, ml_Range, map->n_exprs + 1u);

    for (size_t d = 0; d < map->n_vars; d++) {
        ml_Dtype t = map->vars[d]->type;

        dom[d] = (ml_Dom){map->vars[d], ml_cast(cx, t, r->ranges[d].min),
                          ml_cast(cx, t, r->ranges[d].extent)};
    }
    for (size_t k = 0; k < map->n_exprs; k++) {
        const ml_Expr *n = m->to->fresh->shape[k], *zero = ml_int(cx, n->type, 0);
        ml_Interval all = ml_interval_range(m->ar, zero, n);
        ml_Interval set = ml_relax(m->ar, map->exprs[k], dom, map->n_vars);

        out[k] = ml_interval_cover(m->ar, ml_interval_intersect(m->ar, set, all),
                                   (ml_Range){zero, n});
    }
    return (ml_Region){m->to->fresh, out};
}

static bool names_old(const Move *m, const ml_Region *v, size_t n, bool *wide)
{
    bool any = false;

    for (size_t k = 0; k < n; k++)
        if (is_old(m, v[k].buffer)) {
            any = true;
            *wide |= !ml_region_is_point(&v[k]);
        }
    return any;
}

static const ml_Region *move_regions(Move *m, const ml_Region *v, size_t n,
                                     const ml_Region *inferred, size_t n_inferred)
{
    ml_Region *out = ML_ARRAY(m->c->cx, ml_Region, n + 1);

    for (size_t k = 0; k < n; k++) {
        const ml_Region *r = ml_region_of(inferred, n_inferred, m->to->fresh);

        out[k] = !is_old(m, v[k].buffer) ? ml_region_map_loads(m->c->cx, v[k], move_expr, m)
                 : ml_region_is_point(&v[k]) ? point_region(m, &v[k])
                 : r                         ? *r
                                             : image_region(m, &v[k]);
    }
    return out;
}

/* ---- views */

static const ml_Stmt *move_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

/* The dimensions that a view shows are the last ones and the map leaves them alone: then
 * their strides stay the same. */
static bool view_stays(const Move *m, const ml_Match *view)
{
    const ml_IndexMap *map = m->to->map;
    const ml_Region *r = &view->source;
    size_t rank = r->buffer->rank, first = 0, n;

    if (view->target->rank > map->n_exprs)
        return false;

    while (first < rank && ml_is_int(r->ranges[first].extent, 1))
        first++;
    n = rank - first;
    if (n > map->n_exprs)
        return false;
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = map->exprs[map->n_exprs - 1 - k];
        const ml_Var *v = map->vars[rank - 1 - k];

        if (e->kind != ML_EXPR_VAR || e->as.var->uid != v->uid)
            return false;
        if (m->to->fresh->shape[map->n_exprs - 1 - k] != m->to->old->shape[rank - 1 - k])
            return false;
    }
    for (size_t k = 0; k + n < map->n_exprs; k++) /* the others do not depend on them */
        for (size_t d = first; d < rank; d++)
            if (ml_expr_uses_var(map->exprs[k], map->vars[d]))
                return false;
    return true;
}

static ml_Region move_view(Move *m, const ml_Match *view)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Region *r = &view->source;
    size_t rank = r->buffer->rank, n_out = m->to->map->n_exprs, n;

    if (!view_stays(m, view)) {
        found_opaque(m);
        return *r;
    }
    ml_Region to = point_region(m, r);
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, n_out + 1);

    memcpy(ranges, to.ranges, n_out * sizeof *ranges);
    for (n = rank; n > 0 && ml_is_int(r->ranges[rank - n].extent, 1); n--) /* as above */
        ;
    for (size_t k = 0; k < n; k++) {
        ml_Range *at = &ranges[n_out - 1 - k];

        at->extent = ml_cast(cx, at->min->type, r->ranges[rank - 1 - k].extent);
    }
    return (ml_Region){to.buffer, ranges};
}

static bool is_symbol(const ml_Func *f, const ml_Var *v)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (f->params[k].var->uid == v->uid)
            return true;
        for (size_t d = 0; b && d < b->rank; d++)
            if (ml_expr_uses_var(b->shape[d], v))
                return true;
    }
    return false;
}

/* Whether e is a variable that the match gives its value, and the block uses it. */
static bool tells_used(const Move *m, const ml_Block *b, const ml_Expr *e)
{
    return e && e->kind == ML_EXPR_VAR && !is_symbol(ml_call_func(m->c), e->as.var) &&
           (ml_stmt_uses_var(b->body, e->as.var) ||
            (b->init && ml_stmt_uses_var(b->init, e->as.var)));
}

/* From the indices of a view to those of its source; NULL: not known. */
static const ml_IndexMap *map_of_view(Move *m, const ml_Block *b, const ml_Match *view)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Buffer *t = view->target, *s = view->source.buffer;
    ml_Dtype type = ml_buffer_index_dtype(s);
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, t->rank + 1u);
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, s->rank + 1u);
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);

    for (size_t k = 0; k < t->n_strides; k++)
        if (tells_used(m, b, t->strides[k]))
            return NULL;
    for (size_t k = 0; k < t->rank; k++) {
        if (t->shape[k] != view->source.ranges[s->rank - t->rank + k].extent &&
            tells_used(m, b, t->shape[k]))
            return NULL;
        vars[k] = ml_var_new(cx, "x", type);
    }
    if (tells_used(m, b, t->elem_offset) || t->auto_broadcast)
        return NULL;
    for (size_t d = 0; d < s->rank; d++) {
        exprs[d] = ml_cast(cx, type, view->source.ranges[d].min);
        if (d + t->rank >= s->rank)
            exprs[d] = ml_add(cx, exprs[d], ml_var(cx, vars[d + t->rank - s->rank]));
    }
    *out = (ml_IndexMap){vars, exprs, t->rank, s->rank, NULL};
    return out;
}

/* What the block does through the view it does to the source itself. */
static bool dissolve(Move *m, ml_Block *b, const ml_Match *view)
{
    const ml_IndexMap *map = map_of_view(m, b, view);
    ml_Relayout to = {.old = view->target, .fresh = view->source.buffer, .map = map};
    Move in = {.c = m->c, .ar = m->ar, .to = &to, .dom = m->dom, .at = m->at};

    if (!map)
        return false;
    b->body = move_stmt(m->c->cx, b->body, &in);
    if (b->init)
        b->init = move_stmt(m->c->cx, b->init, &in);
    m->vector |= in.vector;
    return !in.is_opaque;
}

/* The views of the block, moved; those that cannot be are dissolved in it. */
static void move_matches(Move *m, ml_Block *b)
{
    ml_Match *out = ML_ARRAY(m->c->cx, ml_Match, b->n_matches + 1u);
    uint32_t n = 0, n_moved = 0;

    for (size_t k = 0; k < b->n_matches; k++) {
        bool old = is_old(m, b->matches[k].source.buffer);

        if (old && !view_stays(m, &b->matches[k]) && dissolve(m, b, &b->matches[k])) {
            n_moved++;
            continue;
        }
        out[n] = b->matches[k];
        if (old)
            out[n].source = move_view(m, &b->matches[k]);
        n_moved += old;
        n++;
    }
    if (n_moved == 0)
        return;
    b->matches = out;
    b->n_matches = n;
}

/* ---- blocks */

/* The annotation of storage_align counts the axes of the old layout. */
static const ml_Value *drop_alignment(Move *m, const ml_Block *b)
{
    static const char KEY[] = "buffer_dim_align";
    const ml_Value *old = ml_dict_get(b->annotations, KEY);
    size_t n = 0;

    if (!old || old->kind != ML_VAL_LIST || m->to->same_axes)
        return b->annotations;
    const ml_Value **list = ML_ARRAY(m->c->cx, const ml_Value *, old->n + 1);

    for (size_t k = 0; k < old->n; k++) {
        const ml_Value *e = old->as.list[k];
        bool entry = e->kind == ML_VAL_LIST && e->n == 4 &&
                     e->as.list[0]->kind == ML_VAL_INT && e->as.list[0]->as.i >= 0 &&
                     e->as.list[0]->as.i < b->n_writes;

        if (!entry || !is_old(m, b->writes[e->as.list[0]->as.i].buffer))
            list[n++] = e;
    }
    if (n == old->n)
        return b->annotations;
    m->dropped = true;
    return n ? ml_dict_with(m->c->cx, b->annotations, KEY, ml_val_list(m->c->cx, list, n))
             : ml_dict_without(m->c->cx, b->annotations, KEY);
}

static const ml_Stmt *move_block(Move *m, const ml_Block *b)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Block *at = m->at;
    size_t n_dom = m->dom.n;
    ml_Access got = {0};
    bool wide = false;
    ml_Block nb = *b;

    for (size_t k = 0; k < b->n_iters; k++) /* bindings see the loops outside only */
        if (move_expr(cx, b->iters[k].value, m) != b->iters[k].value)
            found_opaque(m);
    if (move_expr(cx, b->predicate, m) != b->predicate)
        nb.predicate = move_expr(cx, b->predicate, m);
    m->at = b;
    /* That a domain or a loop is not empty holds inside of it. */
    ml_ArithMark mark = ml_arith_save(m->ar);

    ml_arith_bind_within(m->ar, b);
    for (size_t k = 0; k < b->n_iters; k++)
        ml_push(cx, &m->dom,
                ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    if (b->n_matches)
        move_matches(m, &nb);
    nb.body = move_stmt(cx, nb.body, m);
    if (nb.init)
        nb.init = move_stmt(cx, nb.init, m);
    bool reads = names_old(m, b->reads, b->n_reads, &wide);
    bool writes = names_old(m, b->writes, b->n_writes, &wide);

    if (wide && !m->is_opaque && !m->vector)
        ml_block_access(cx, ml_call_func(m->c), ml_as_block(ml_block_from(cx, &nb)), &got);
    if (reads)
        nb.reads = move_regions(m, b->reads, b->n_reads, got.reads.v, got.reads.n);
    if (writes) {
        nb.writes = move_regions(m, b->writes, b->n_writes, got.writes.v, got.writes.n);
        nb.annotations = drop_alignment(m, b);
    }
    ml_arith_restore(m->ar, mark);
    m->at = at;
    m->dom.n = n_dom;
    if (nb.body == b->body && nb.init == b->init && !reads && !writes &&
        nb.matches == b->matches && nb.predicate == b->predicate)
        return &b->base;
    return ml_block_from(cx, &nb);
}

static const ml_Stmt *move_attr(Move *m, const ml_Stmt *s)
{
    ml_Attr a = *ml_as_attr(s);

    if (a.node && a.node->kind == ML_VAL_BUFFER && is_old(m, a.node->as.buffer))
        a.node = ml_val_buffer(m->c->cx, m->to->fresh);
    a.body = move_stmt(m->c->cx, a.body, m);
    return a.node == ml_as_attr(s)->node && a.body == ml_as_attr(s)->body
               ? s
               : ml_attr_from(m->c->cx, &a);
}

static const ml_Stmt *move_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Move *m = user;
    const ml_Mapper deep = {.stmt = move_stmt, .expr = move_expr, .user = m};
    size_t n_dom = m->dom.n;
    bool inside = m->inside;

    if (s->kind == ML_STMT_FOR && !inside) {
        if (!ml_stmt_uses_buffer(s, m->to->old))
            return s;
        m->inside = true;
    }
    if (s->kind == ML_STMT_BLOCK)
        return move_block(m, ml_as_block(s));
    if (s->kind == ML_STMT_STORE)
        return move_store(m, s);
    if (s->kind == ML_STMT_ATTR)
        return move_attr(m, s);
    const ml_For *f = s->kind == ML_STMT_FOR ? ml_as_for(s) : NULL;

    if (f)
        ml_push(cx, &m->dom, ((ml_Dom){f->var, f->min, f->extent}));
    const ml_Stmt *r = f ? ml_arith_map_loop(m->ar, f, &deep) : ml_stmt_map(cx, s, &deep);

    m->dom.n = n_dom;
    m->inside = inside;
    return r;
}

bool ml_relayout(ml_Call *c, ml_Arith *ar, const ml_Relayout *to, const ml_Stmt *st,
                 const ml_Stmt **out, bool *dropped)
{
    Move m = {.c = c, .ar = ar, .to = to};

    *out = move_stmt(c->cx, st, &m);
    *dropped = m.dropped;
    if (m.is_opaque && m.opaque)
        return ml_fail_opaque(c, to->old, m.opaque);
    if (m.is_opaque || m.vector)
        return ml_fail_as_(c->cx, ML_E_NOT_SUPPORTED,
                           m.vector
                               ? "{0} is accessed by vectors"
                               : "{0} is accessed through its pointer, outside of blocks",
                           ML_BUFFER(to->old), ML_FACT_END);
    return true;
}

/* ---- where a buffer lives */

bool ml_buffer_home(ml_Call *c, const ml_Block *user, const ml_Buffer *buf,
                    ml_BufferHome *out)
{
    const ml_Func *f = ml_call_func(c);
    bool is_match = false;
    ml_Uid site = ml_buffer_site(c->p, c->func, buf, &is_match);

    *out = (ml_BufferHome){site, -1};
    if (is_match)
        return ml_fail(c->cx, ML_E_BUFFER_IS_VIEW, ML_BUFFER(buf), ML_BLOCK(user));
    if (site)
        return true;
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->uid == buf->uid)
            out->param = (int)k;
    if (out->param < 0 || !ml_func_root(f))
        return ml_fail_not_allocated(c, buf, user);
    out->scope = ml_func_root(f)->tag;
    return true;
}

static bool install_param(ml_Call *c, int param, const ml_Buffer *fresh)
{
    ml_Ctx *cx = c->cx;
    ml_Func f = *ml_call_func(c);
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, f.n_params + 1u);

    memcpy(params, f.params, f.n_params * sizeof *params);
    params[param].buffer = fresh;
    f.params = params;
    ml_Program p = {ml_module_with(cx, c->p.mod, ml_func_from(cx, &f)), NULL};

    p.index = ml_index_follow(cx, c->p, p.mod);
    c->p = p;
    c->changed = true;
    return ml_ok_or_fail(cx);
}

bool ml_layout_install(ml_Call *c, const ml_BufferHome *home, const ml_Buffer *old,
                       const ml_Buffer *fresh, const ml_Stmt *st)
{
    ml_Ctx *cx = c->cx;
    ml_Block nb = *ml_as_block(st);

    if (home->param < 0) {
        const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, nb.n_allocs + 1u);

        for (size_t k = 0; k < nb.n_allocs; k++)
            allocs[k] = nb.allocs[k]->uid == old->uid ? fresh : nb.allocs[k];
        nb.allocs = allocs;
        st = ml_block_from(cx, &nb);
    }
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, home->scope, st);
    return home->param < 0 || install_param(c, home->param, fresh);
}
