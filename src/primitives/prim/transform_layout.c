/*
 * transform_layout - another physical layout of a buffer, everywhere it is used.
 *
 * The map takes the indices of an element to its indices in the new layout; it must give
 * each element a place of its own, which its inverse shows. What the new layout has beside
 * the old elements is padding: see layout_pad.c. A map that is only assumed to be injective
 * is tried on every element of a small shape. Source: primitives 11, transform_layout.
 */
#include "moonloop/primitives/layout/layout.h"
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, BUFFER, MAP, PAD, ASSUME };

typedef struct Layout {
    ml_Call *c;
    const ml_Block *block;
    const ml_Buffer *buf;
    ml_BufferHome home;
    ml_Arith *ar;
    ml_Padding pad;
    bool padded;
    int32_t *marks; /* axis separators that the map asks for */
    size_t n_marks;
} Layout;

/* ---- the pad value */

static const char *kind_of(ml_Ctx *cx, const ml_Value *v)
{
    return v->kind == ML_VAL_BOOL  ? "a boolean"
           : v->kind == ML_VAL_INT ? ml_format(cx, "the integer %lld", (long long)v->as.i)
                                   : "a float";
}

static bool pad_number(Layout *l, const ml_Value *v)
{
    ml_Ctx *cx = l->c->cx;
    ml_Dtype t = l->buf->type;
    bool fits = t.lanes == 1;

    if (v->kind == ML_VAL_FLOAT)
        fits &= ml_dtype_is_float(t);
    else if (v->kind == ML_VAL_BOOL)
        fits &= ml_dtype_eq(t, ML_DT_BOOL);
    else
        fits &=
            ml_dtype_is_int(t) && !ml_dtype_eq(t, ML_DT_BOOL) && ml_dtype_fits(t, v->as.i);
    if (!fits)
        return ml_fail(cx, ML_E_PAD_DTYPE, ML_TEXT(kind_of(cx, v)), ML_BUFFER(l->buf),
                       ML_DTYPE(t));
    l->pad.value =
        v->kind == ML_VAL_FLOAT ? ml_float(cx, t, v->as.f) : ml_int(cx, t, v->as.i);
    return true;
}

typedef struct Named {
    Layout *l;
    bool failed;
} Named;

static const ml_Expr *no_load(Named *w, const ml_Expr *e, const char *why)
{
    w->failed = true;
    ml_fail_as(w->l->c->cx, ML_E_BAD_ARGUMENT, "pad_value: {0}", ML_TEXT(why),
               ML_BUFFER(w->l->buf));
    return e;
}

/* An element that is known by the buffer's name becomes a load at its old indices. */
static const ml_Expr *load_named(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Named *w = user;
    const ml_Buffer *buf = w->l->buf;

    if (!ml_is_op(e, ML_OP_NAMED_LOAD) || w->failed)
        return e->flags & ML_X_HAS_CALL ? ml_expr_map_args(cx, e, load_named, user) : e;
    if (e->n_args == 0 || e->args[0]->kind != ML_EXPR_STRING)
        return no_load(w, e, "a load names its buffer first");
    if (!ml_streq(e->args[0]->as.s, buf->name)) {
        w->failed = true;
        ml_fail(cx, ML_E_PAD_FOREIGN_LOAD, ML_TEXT(e->args[0]->as.s), ML_BUFFER(buf));
        return e;
    }
    if (e->n_args != buf->rank + 1u)
        return no_load(w, e,
                       ml_format(cx, "%s has %u dimensions, got %u indices",
                                 ml_shown(cx, buf), (unsigned)buf->rank, e->n_args - 1u));
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, e->n_args);

    for (size_t k = 1; k < e->n_args; k++) {
        idx[k - 1] = e->args[k];
        if (!ml_dtype_is_index(e->args[k]->type) || (e->args[k]->flags & ML_X_HAS_CALL))
            return no_load(w, e, "an index is no arithmetic of the new indices");
        idx[k - 1] = ml_cast(cx, ml_buffer_index_dtype(buf), e->args[k]);
    }
    const ml_Expr *load = ml_load(cx, buf, idx, buf->rank);

    if (e != w->l->c->args[PAD].map->exprs[0] && !ml_dtype_eq(load->type, e->type)) {
        w->failed = true;
        ml_fail_as(cx, ML_E_PAD_DTYPE, "pad_value is of {2}, buffer {0} holds {1}",
                   ML_BUFFER(buf), ML_DTYPE(buf->type), ML_DTYPE(e->type));
        return e;
    }
    return load;
}

static bool check_pad(Layout *l, const ml_IndexMap *map)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Given *g = &l->c->args[PAD];

    if (g->value)
        return pad_number(l, g->value);
    if (!g->map)
        return true;
    if (g->map->n_vars != map->n_exprs || g->map->n_exprs != 1)
        return ml_fail(cx, ML_E_PAD_ARITY, ML_NUMBER("indices", g->map->n_vars),
                       ML_NUMBER("values", g->map->n_exprs),
                       ML_NUMBER("dimensions", map->n_exprs));
    Named w = {l, false};
    const ml_Expr *value = load_named(cx, g->map->exprs[0], &w);

    if (w.failed)
        return false;
    if (!ml_dtype_eq(value->type, l->buf->type))
        return ml_fail_as(cx, ML_E_PAD_DTYPE, "pad_value is of {2}, buffer {0} holds {1}",
                          ML_BUFFER(l->buf), ML_DTYPE(l->buf->type), ML_DTYPE(value->type));
    ml_IndexMap *own = ML_NEW(cx, ml_IndexMap);
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, 1);

    exprs[0] = value;
    *own = *g->map;
    own->exprs = exprs;
    l->pad.map = own;
    l->pad.loads = (value->flags & ML_X_HAS_LOAD) != 0;
    return true;
}

/* ---- what stands outside of the function, or in its signature */

typedef struct Callers {
    const char *op; /* "@name" */
    bool found;
} Callers;

static bool calls_op(const ml_Expr *e, void *user)
{
    Callers *w = user;

    w->found |= e->kind == ML_EXPR_CALL && ml_streq(e->as.op->name, w->op);
    return !w->found && (e->flags & ML_X_HAS_CALL);
}

static bool calls_below(const ml_Stmt *s, void *user)
{
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, calls_op, user);
    return !((Callers *)user)->found;
}

static bool check_callers(Layout *l)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Module *mod = l->c->p.mod;
    const ml_Func *f = ml_call_func(l->c);
    Callers w = {ml_format(cx, "@%s", f->name), false};

    for (uint32_t k = 0; k < mod->n; k++) {
        ml_stmt_visit(mod->funcs[k]->body, calls_below, &w);
        if (w.found)
            return ml_fail_as(cx, ML_E_USED_ELSEWHERE,
                              "function {0} calls {1} with {2} in the layout that it has",
                              ML_TEXT(mod->funcs[k]->name), ML_TEXT(f->name),
                              ML_BUFFER(l->buf));
    }
    return true;
}

static bool is_symbolic(const ml_Expr *const *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (v[k]->kind != ML_EXPR_INT)
            return true;
    return false;
}

/* The size that a dimension of this length tells: of n, n * 2, n + 1; NULL: none. */
static const ml_Var *told_by(const ml_Expr *e)
{
    while (e->n_args == 2 &&
           (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB || e->kind == ML_EXPR_MUL)) {
        if (e->args[1]->kind != ML_EXPR_INT && e->args[0]->kind != ML_EXPR_INT)
            return NULL;
        e = e->args[e->args[0]->kind == ML_EXPR_INT ? 1 : 0];
    }
    return e->kind == ML_EXPR_VAR ? e->as.var : NULL;
}

static bool shape_tells(const ml_Expr *const *shape, size_t n, const ml_Var *v)
{
    for (size_t k = 0; k < n; k++) {
        const ml_Var *u = told_by(shape[k]);

        if (u && u->uid == v->uid)
            return true;
    }
    return false;
}

/* Sizes that the shape of a parameter tells are told by its new shape, or another one. */
static bool check_sizes(Layout *l, const ml_Expr *const *shape, size_t n)
{
    ml_Ctx *cx = l->c->cx;
    const ml_Func *f = ml_call_func(l->c);

    for (size_t d = 0; l->home.param >= 0 && d < l->buf->rank; d++) {
        const ml_Var *v = told_by(l->buf->shape[d]);
        bool told = !v || shape_tells(shape, n, v);

        for (uint32_t k = 0; k < f->n_params && !told; k++) {
            const ml_Buffer *b = f->params[k].buffer;

            told = b ? b->uid != l->buf->uid && shape_tells(b->shape, b->rank, v)
                     : f->params[k].var->uid == v->uid;
        }
        if (!told)
            return ml_fail_as(
                cx, ML_E_NOT_SUPPORTED,
                "{0}, which the shape of {1} tells, could not be told from its new shape",
                ML_VARIABLE(v), ML_BUFFER(l->buf));
    }
    return true;
}

/* ---- the map */

/* The map without axis separators, and where they stood: before which result. */
static bool take_marks(Layout *l, const ml_IndexMap **map)
{
    ml_Ctx *cx = l->c->cx;
    const ml_IndexMap *m = *map;
    const ml_Expr **exprs = ML_ARRAY(cx, const ml_Expr *, m->n_exprs + 1u);
    ml_IndexMap *out = ML_NEW(cx, ml_IndexMap);
    uint32_t n = 0;

    l->marks = ML_ARRAY(cx, int32_t, m->n_exprs + 1u);
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        if (!ml_is_op(m->exprs[k], ML_OP_AXIS_SEPARATOR)) {
            exprs[n++] = m->exprs[k];
            continue;
        }
        if (l->n_marks > 0 && l->marks[l->n_marks - 1] == (int32_t)n)
            return ml_fail(
                cx, ML_E_BAD_ARGUMENT,
                ML_TEXT("two axis separators of the index_map follow each other"),
                ML_BUFFER(l->buf));
        l->marks[l->n_marks++] = (int32_t)n;
    }
    if (l->n_marks == 0)
        return true;
    *out = *m;
    out->exprs = exprs;
    out->n_exprs = n;
    *map = out;
    return true;
}

static bool is_identity(const ml_IndexMap *m)
{
    for (uint32_t k = 0; k < m->n_exprs; k++)
        if (m->n_vars != m->n_exprs || m->exprs[k]->kind != ML_EXPR_VAR ||
            m->exprs[k]->as.var->uid != m->vars[k]->uid)
            return false;
    return m->n_exprs > 0;
}

static bool check_map(Layout *l, const ml_IndexMap *m, const ml_Expr **shape)
{
    ml_Call *c = l->c;
    ml_Ctx *cx = c->cx;
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, m->n_vars + 1u);
    const ml_Expr **old = ML_ARRAY(cx, const ml_Expr *, m->n_vars + 1u);
    bool assumed = c->args[ASSUME].b;
    ml_IterFail fail = ML_ITER_FAIL_NONE;
    const ml_Expr *where = NULL;

    for (uint32_t k = 0; k < m->n_vars; k++) {
        ml_Dtype t = m->vars[k]->type;

        old[k] = ml_cast(cx, t, l->buf->shape[k]);
        ranges[k] = (ml_Range){ml_int(cx, t, 0), old[k]};
        ml_arith_bind_range(l->ar, m->vars[k], ranges[k].min, old[k]);
    }
    if (!assumed) {
        l->pad.inverse = ml_index_map_inverse_padded(l->ar, m, ranges, &where, &fail);
        if (!l->pad.inverse)
            return ml_fail(cx, ML_E_MAP_NOT_INVERTIBLE, ML_BUFFER(l->buf),
                           ML_TEXT(ml_iter_fail_text(fail)));
    }
    if (!ml_index_map_shape(l->ar, m, old, shape))
        return ml_fail(cx, ML_E_MAP_NOT_INVERTIBLE, ML_BUFFER(l->buf),
                       ML_TEXT("the new indices do not start at 0"));
    for (uint32_t k = 0; k < m->n_exprs; k++) {
        shape[k] = ml_cast(cx, m->exprs[k]->type, shape[k]);
        if (!m->inverse && !assumed)
            ml_arith_bind_range(l->ar, l->pad.inverse->vars[k],
                                ml_int(cx, shape[k]->type, 0), shape[k]);
    }
    if (assumed || m->inverse) {
        const char *clash = ml_map_try(cx, m, old, shape, false);

        return !clash ||
               ml_fail(cx, ML_E_MAP_NOT_INVERTIBLE, ML_BUFFER(l->buf), ML_TEXT(clash));
    }
    l->pad.where = ml_simplify(l->ar, where);
    if (l->pad.where->size >= where->size)
        l->pad.where = where;
    if (ml_is_false(l->pad.where) || ml_prove(l->ar, ml_not(cx, l->pad.where)))
        return true;
    l->padded = true;
    if (!l->pad.value && !l->pad.map)
        return ml_fail(cx, ML_E_INTRODUCES_PADDING, ML_BUFFER(l->buf),
                       ML_EXPRESSION(l->pad.where));
    return true;
}

/* ---- */

static const ml_Buffer *with_shape(ml_Ctx *cx, const ml_Buffer *buf,
                                   const ml_Expr *const *shape, uint32_t rank)
{
    ml_Buffer nb = *buf;

    nb.shape = shape;
    nb.rank = (uint16_t)rank;
    nb.strides = NULL;
    nb.n_strides = 0;
    nb.separators = NULL;
    nb.n_separators = 0;
    nb.auto_broadcast = false;
    nb.is_scalar = false;
    return ml_buffer_from(cx, &nb, false);
}

static bool check_buffer(Layout *l)
{
    ml_Call *c = l->c;

    if (!ml_buffer_home(c, l->block, l->buf, &l->home))
        return false;
    if (is_symbolic(l->buf->strides, l->buf->n_strides) || l->buf->auto_broadcast)
        return ml_fail_as(c->cx, ML_E_NOT_SUPPORTED,
                          "the strides of {0} are told by its caller", ML_BUFFER(l->buf));
    return l->home.param < 0 || check_callers(l);
}

static void name_writers(ml_Call *c, const ml_Buffer *buf)
{
    ml_StmtVec blocks = {0};

    if (ml_call_asks(c, ML_SOUND))
        ml_all_blocks(c->cx, ml_call_func(c)->body, &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        if (ml_write_of(ml_as_block(blocks.v[k]), buf))
            ml_call_subject(c, ML_PRODUCER_OF, ml_stmt_uid(blocks.v[k]), NULL);
}

static bool transform_layout(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *g = c->args;
    Layout l = {.c = c, .block = ml_call_block(c, g[BLOCK].uid)};
    const ml_Region *r = g[BUFFER].b ? l.block->writes : l.block->reads;
    const ml_IndexMap *given = g[MAP].map;
    bool dropped = false;

    l.buf = r[g[BUFFER].i].buffer;
    if (given->n_vars != l.buf->rank)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                          "index_map takes {0} indices, {1} has {2} dimensions",
                          ML_NUMBER("indices", given->n_vars), ML_BUFFER(l.buf),
                          ML_NUMBER("rank", (unsigned)l.buf->rank));
    if (!take_marks(&l, &given) || !check_buffer(&l) || !check_pad(&l, given))
        return false;
    l.ar = ml_arith_at(cx, c->p, l.home.scope);
    const ml_IndexMap *map = ml_map_typed(l.ar, given, ml_buffer_index_dtype(l.buf));
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, map->n_exprs + 1u);

    if (!check_map(&l, map, shape) || !check_sizes(&l, shape, map->n_exprs))
        return false;
    if (is_identity(map) && !l.buf->n_strides)
        return ml_ok_or_fail(cx) &&
               (l.n_marks == 0 || ml_separate(c, &l.home, l.buf, l.marks, l.n_marks));
    const ml_Stmt *st = ml_index_node(c->p.index, l.home.scope);
    ml_Relayout to = {
        .old = l.buf, .fresh = with_shape(cx, l.buf, shape, map->n_exprs), .map = map};

    l.pad.own = l.home.param < 0;
    if (l.padded && !ml_layout_pad(c, &to, &l.pad, ml_as_block(st), &st))
        return false;
    if (!ml_relayout(c, l.ar, &to, st, &st, &dropped) ||
        !ml_layout_install(c, &l.home, l.buf, to.fresh, st) ||
        !ml_separate(c, &l.home, to.fresh, l.marks, l.n_marks))
        return false;
    if (l.padded)
        name_writers(c, to.fresh);
    if (g[ASSUME].b && (g[PAD].value || g[PAD].map))
        ml_call_note(c, "the map is assumed to leave no padding: pad_value is not used");
    if (g[ASSUME].b || map->inverse)
        ml_call_note(c, "that each element of %s has a place of its own is taken on trust",
                     ml_shown(c->cx, l.buf));
    if (dropped)
        ml_call_note(c, "the alignment of the old axes of %s went", ml_shown(c->cx, l.buf));
    if (l.home.param >= 0)
        ml_call_note(c, "callers must pass %s in the new layout", ml_shown(c->cx, l.buf));
    return true;
}

static void suggest_transform_layout(ml_Schedule *s, const ml_Given *args,
                                     const ml_Error *e, ml_Tries *t)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[BLOCK].uid);
    ml_Text map = {0}, quoted = {0};

    if (!node || node->kind != ML_STMT_BLOCK || !args[MAP].map || !args[BUFFER].given)
        return;
    if (e->code != ML_E_INTRODUCES_PADDING && e->code != ML_E_PAD_DTYPE)
        return;
    const ml_Block *b = ml_as_block(node);
    ml_Dtype type = (args[BUFFER].b ? b->writes : b->reads)[args[BUFFER].i].buffer->type;

    ml_print_value(ml_schedule_ctx(s), &map, ml_val_map(ml_schedule_ctx(s), args[MAP].map),
                   NULL);
    ml_text_quote(&quoted, ml_text_z(&map));
    ml_try(t, "pads with zeros", "transform_layout(\"%s\", {\"%s\", %lld}, %s, %s)",
           ml_name_of(s, b->tag), args[BUFFER].b ? "write" : "read",
           (long long)args[BUFFER].i, ml_text_z(&quoted),
           ml_dtype_is_float(type) ? "0.0" : "0");
    ml_text_free(&map);
    ml_text_free(&quoted);
}

static const ml_Post posts[] = {
    /* Who writes the padding, too, writes more than the blocks around it said. */
    {ML_SOUND, ML_PRODUCER_OF, ml_check_stays_declared, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that uses the buffer"),
    ML_PARAM_ATTR("buffer", ML_P_BUFFER, "which of the buffers that it uses"),
    {.name = "index_map",
     .kind = ML_P_MAP,
     .marks = true,
     .doc = "from the indices of an element to its new ones"},
    {.name = "pad_value",
     .kind = ML_P_PAD,
     .optional = true,
     .attr = true,
     .doc = "what stands where no old element is"},
    ML_PARAM_FLAG("assume_injective_transform", false,
                  "take it on trust that elements keep apart"),
};

const ml_Primitive ml_prim_transform_layout = {
    ML_PRIM(transform_layout, "TransformLayout"),
    .group = "layout",
    .summary = "change the layout of a buffer everywhere",
    .help =
        "The buffer gets the shape that the map gives its indices, and every access "
        "goes\n"
        "through the map. A map that leaves places without an element needs a pad_value.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .suggest = suggest_transform_layout,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_BUFFER_INDEX, ML_E_BUFFER_NOT_FOUND, ML_E_BAD_ARGUMENT,
            ML_E_BUFFER_IS_VIEW, ML_E_BUFFER_NOT_ALLOCATED, ML_E_PAD_ARITY, ML_E_PAD_DTYPE,
            ML_E_PAD_FOREIGN_LOAD, ML_E_MAP_NOT_INVERTIBLE, ML_E_INTRODUCES_PADDING,
            ML_E_OPAQUE_ACCESS, ML_E_INDEX_OVERFLOW, ML_E_NOT_SUPPORTED, ML_E_COVER_LOST,
            ML_E_REGION_UNDECLARED, ML_E_READS_BEYOND, ML_E_USED_ELSEWHERE, ML_E_OK},
};
