/*
 * canon - one walk for equality and hash (script 13): a program becomes a sequence of words
 * in which every variable and buffer is the ordinal of its definition.
 *
 * Names never appear. Lists are preceded by their length and texts spelled out, so that the
 * sequence decides equality, not merely a hash of it. A large expression met again is
 * written as its number: expressions are hash-consed, so the same parts repeat in both of
 * two equal programs, and a DAG costs its size, not that of its tree. With ordinals on both
 * sides the map between the variables is one-to-one by construction, and identity is never
 * a shortcut.
 */
#include "moonloop/core/compare/canon.h"

#include "moonloop/core/compare/canon_impl.h"
#include "moonloop/core/walk.h"

#include <inttypes.h>

enum { BACKREF_FROM = 64 }; /* size from which an expression met again is a number */

/* First words of what could be confused otherwise. */
enum { W_NULL = 1, W_ORDINAL, W_FREE, W_DEFINED, W_BACKREF, W_EXPR, W_POINT, W_RANGE };

ml_Canon ml_canon_begin(ml_Ctx *cx, const ml_EqualOpts *opts)
{
    ml_Canon c = {.cx = cx};

    if (opts)
        c.opts = *opts;
    c.ordinals = ml_map_new(cx);
    c.seen = ml_map_new(cx);
    c.bound = ml_map_new(cx);
    return c;
}

/* ---- words */

static const char *path_text(ml_Canon *c, const ml_CanonPath *p)
{
    const char *up, *dot;

    if (!p)
        return "";
    up = path_text(c, p->up);
    dot = *up && (*p->what || p->name) ? "." : "";
    if (p->name)
        return ml_format(c->cx, "%s%s%s%s%s", up, dot, p->what, *p->what ? " " : "",
                         p->name);
    if (p->index >= 0)
        return ml_format(c->cx, "%s%s%s[%" PRId64 "]", up, dot, p->what, p->index);
    return ml_format(c->cx, "%s%s%s", up, dot, p->what);
}

static const char *dtype_word(ml_Canon *c, ml_Dtype t)
{
    return ml_dtype_name(c->cx, t);
}

static const char *expr_text(ml_Canon *c, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_INT:
        if (ml_dtype_is_bool(e->type))
            return e->as.i ? "True" : "False";
        return ml_format(c->cx, "%" PRId64, e->as.i);
    case ML_EXPR_FLOAT: return ml_format(c->cx, "%.17g", e->as.f);
    case ML_EXPR_STRING: return ml_format(c->cx, "\"%s\"", e->as.s);
    case ML_EXPR_VAR: return e->as.var->hint;
    case ML_EXPR_LOAD: return ml_format(c->cx, "%s[...]", e->as.buffer->name);
    case ML_EXPR_CALL: return ml_format(c->cx, "%s(...)", e->as.op->name);
    }
    return ml_expr_kind_name((ml_ExprKind)e->kind);
}

static const char *shown_text(ml_Canon *c, ml_Show show, const void *p)
{
    switch (show) {
    case ML_SHOW_NUMBER: return ml_format(c->cx, "%" PRId64, *(const int64_t *)p);
    case ML_SHOW_TEXT: return p ? p : "none";
    case ML_SHOW_DTYPE: return dtype_word(c, *(const ml_Dtype *)p);
    case ML_SHOW_DOUBLE: return ml_format(c->cx, "%.17g", *(const double *)p);
    case ML_SHOW_EXPR: return p ? expr_text(c, p) : "none";
    }
    return "";
}

/* What the innermost named step of the path is called. */
static const char *step_label(const ml_CanonPath *p)
{
    while (p && !*p->what)
        p = p->up;
    if (!p)
        return "program";
    return ml_streq(p->what, "args") ? "operand" : p->what;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    word *= UINT64_C(0x87C37B91114253D5);
    word = (word << 31) | (word >> 33);
    h ^= word * UINT64_C(0x4CF5AD432745937F);
    h = (h << 27) | (h >> 37);
    return h * 5 + UINT64_C(0x52DCE729);
}

/* One word. `label` and `shown` say what it is, for the reason of a difference; a NULL
 * label takes the last step of the path. */
void ml_canon_put(ml_Canon *c, uint64_t word, const char *label, ml_Show show,
                  const void *p)
{
    if (c->stopped)
        return;
    if (c->reporting && c->n == c->stop_at) {
        c->stopped = true;
        c->path = path_text(c, c->top);
        c->label = label ? label : step_label(c->top);
        c->shown = shown_text(c, show, p);
        c->where = c->stmt;
        return;
    }
    if (c->compare && (c->n >= c->compare->n || c->compare->v[c->n] != word)) {
        c->stopped = true;
        return;
    }
    if (c->hashing)
        c->hash = mix(c->hash, word);
    if (c->keep)
        ml_push(c->cx, c->keep, word);
    c->n++;
}

void ml_canon_put_number(ml_Canon *c, int64_t v, const char *label)
{
    ml_canon_put(c, (uint64_t)v, label, ML_SHOW_NUMBER, &v);
}

void ml_canon_put_text(ml_Canon *c, const char *z, const char *label)
{
    size_t n = z ? strlen(z) : 0;

    ml_canon_put(c, z ? n : UINT64_MAX, label, ML_SHOW_TEXT, z);
    for (size_t k = 0; k < n; k += 8) {
        uint64_t word = 0;

        for (size_t j = k; j < n && j < k + 8; j++)
            word = (word << 8) | (unsigned char)z[j];
        ml_canon_put(c, word, label, ML_SHOW_TEXT, z);
    }
}

static uint64_t dtype_bits(ml_Dtype t)
{
    return ((uint64_t)t.code << 24) | ((uint64_t)t.bits << 16) | t.lanes;
}

void ml_canon_put_dtype(ml_Canon *c, ml_Dtype t, const char *label)
{
    ml_canon_put(c, dtype_bits(t), label, ML_SHOW_DTYPE, &t);
}

/* All NaNs are one; +0 and -0 differ. */
static void put_double(ml_Canon *c, double v)
{
    uint64_t bits = UINT64_C(0x7FF8000000000000);

    if (v == v)
        memcpy(&bits, &v, sizeof(bits));
    ml_canon_put(c, bits, NULL, ML_SHOW_DOUBLE, &v);
}

/* ---- variables */

static uintptr_t ordinal(const ml_Canon *c, ml_Uid uid)
{
    return (uintptr_t)ml_map_get(c->ordinals, uid);
}

static void number(ml_Canon *c, ml_Uid uid)
{
    ml_map_set(c->cx, c->ordinals, uid,
               (const void *)(uintptr_t)(ml_map_count(c->ordinals) + 1));
}

static void put_ordinal(ml_Canon *c, ml_Uid uid, const char *hint)
{
    ml_canon_put(c, W_ORDINAL, NULL, ML_SHOW_TEXT, hint);
    ml_canon_put(c, ordinal(c, uid), NULL, ML_SHOW_TEXT, hint);
}

static void put_var_type(ml_Canon *c, const ml_Var *v)
{
    ml_canon_put_dtype(c, v->type, "dtype");
    ml_canon_put_dtype(c, v->elem, "dtype of what the handle points to");
    ml_canon_put_text(c, v->scope, "scope of the handle");
}

/* A definition position. Data pointers say nothing of their own: their buffer does. */
void ml_canon_define_var(ml_Canon *c, const ml_Var *v, bool is_data)
{
    if (ordinal(c, v->uid)) {
        put_ordinal(c, v->uid, v->hint);
        return;
    }
    ml_canon_put(c, W_DEFINED, NULL, ML_SHOW_TEXT, v->hint);
    number(c, v->uid);
    if (!is_data)
        put_var_type(c, v);
}

static void use_var(ml_Canon *c, const ml_Var *v)
{
    if (ordinal(c, v->uid)) {
        put_ordinal(c, v->uid, v->hint);
    } else if (c->opts.map_free) {
        ml_canon_define_var(c, v, false);
    } else {
        ml_canon_put(c, W_FREE, NULL, ML_SHOW_TEXT, v->hint);
        ml_canon_put(c, v->uid, NULL, ML_SHOW_TEXT, v->hint);
    }
}

void ml_canon_put_expr(ml_Canon *c, const ml_Expr *e, const char *what, int64_t index)
{
    ML_CANON_AT(c, what, NULL, index);
    if (e)
        ml_canon_expr(c, e);
    else
        ml_canon_put(c, W_NULL, NULL, ML_SHOW_EXPR, NULL);
    ML_CANON_LEAVE(c);
}

void ml_canon_put_exprs(ml_Canon *c, const ml_Expr *const *list, size_t n, const char *what)
{
    ml_canon_put_number(c, (int64_t)n, what);
    for (size_t k = 0; k < n; k++)
        ml_canon_put_expr(c, list[k], what, (int64_t)k);
}

/* ---- buffers */

static bool define_inner(const ml_Expr *e, void *user)
{
    ml_Canon *c = user;

    if (e->kind == ML_EXPR_VAR && !ordinal(c, e->as.var->uid))
        ml_canon_define_var(c, e->as.var, false);
    if (e->size < BACKREF_FROM)
        return true;
    if (ml_map_has(c->bound, e->id))
        return false;
    ml_map_set(c->cx, c->bound, e->id, e);
    return true;
}

static void define_in(ml_Canon *c, const ml_Expr *const *list, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ml_expr_visit(list[k], define_inner, c);
}

/* A buffer at its definition; binds: the variables of its shape, strides and offset that
 * are not known yet are defined by it (parameters and match targets). */
void ml_canon_define_buffer(ml_Canon *c, const ml_Buffer *b, bool binds)
{
    ML_CANON_AT(c, "buffer", b->name, -1);
    if (ordinal(c, b->uid)) {
        put_ordinal(c, b->uid, b->name);
        ML_CANON_LEAVE(c);
        return;
    }
    ml_canon_put(c, W_DEFINED, NULL, ML_SHOW_TEXT, b->name);
    number(c, b->uid);
    ml_canon_define_var(c, b->data, true);
    if (binds) {
        define_in(c, b->shape, b->rank);
        define_in(c, b->strides, b->n_strides);
        define_in(c, &b->elem_offset, 1);
    }
    ml_canon_put_dtype(c, b->type, "dtype");
    ml_canon_put_exprs(c, b->shape, b->rank, "shape");
    ml_canon_put_exprs(c, b->strides, b->n_strides, "strides");
    ml_canon_put_expr(c, b->elem_offset, "elem_offset", -1);
    ml_canon_put_text(c, b->scope.name, "scope");
    ml_canon_put_number(c, b->align, "align");
    ml_canon_put_number(c, b->offset_factor, "offset_factor");
    ml_canon_put_number(c, b->auto_broadcast, "buffer_type");
    ml_canon_put_number(c, b->n_separators, "axis_separators");
    for (size_t k = 0; k < b->n_separators; k++)
        ml_canon_put_number(c, b->separators[k], "axis_separators");
    ML_CANON_LEAVE(c);
}

/* In a fragment a buffer may be met before any definition: the use defines it. */
void ml_canon_use_buffer(ml_Canon *c, const ml_Buffer *b)
{
    ml_canon_define_buffer(c, b, false);
}

/* ---- expressions */

static void put_payload(ml_Canon *c, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_INT: ml_canon_put(c, (uint64_t)e->as.i, NULL, ML_SHOW_EXPR, e); break;
    case ML_EXPR_FLOAT: put_double(c, e->as.f); break;
    case ML_EXPR_STRING: ml_canon_put_text(c, e->as.s, NULL); break;
    case ML_EXPR_VAR: use_var(c, e->as.var); break;
    case ML_EXPR_LOAD:
        ml_canon_use_buffer(c, e->as.buffer);
        ml_canon_put_number(c, (e->flags & ML_X_MASKED) != 0, "mask");
        break;
    case ML_EXPR_SHUFFLE: ml_canon_put_number(c, e->as.i, "number of vectors"); break;
    case ML_EXPR_CALL: ml_canon_put_text(c, e->as.op->name, "call"); break;
    }
}

void ml_canon_expr(ml_Canon *c, const ml_Expr *e)
{
    uintptr_t known;

    if (c->stopped)
        return;
    if (e->size >= BACKREF_FROM) {
        known = (uintptr_t)ml_map_get(c->seen, e->id);
        if (known) {
            ml_canon_put(c, W_BACKREF, NULL, ML_SHOW_EXPR, e);
            ml_canon_put(c, known, NULL, ML_SHOW_EXPR, e);
            return;
        }
    }
    ml_canon_put(c, W_EXPR + ((uint64_t)e->kind << 8), NULL, ML_SHOW_EXPR, e);
    ml_canon_put_dtype(c, e->type, "dtype");
    put_payload(c, e);
    ml_canon_put_number(c, e->n_args, "number of operands");
    for (size_t k = 0; k < e->n_args; k++) {
        if (e->kind == ML_EXPR_LET && k == 1)
            ml_canon_define_var(c, e->as.var, false);
        ml_canon_put_expr(c, e->args[k], "args", (int64_t)k);
    }
    if (e->size >= BACKREF_FROM)
        ml_map_set(c->cx, c->seen, e->id,
                   (const void *)(uintptr_t)(ml_map_count(c->seen) + 1));
}

static void put_ranges(ml_Canon *c, const ml_Range *ranges, size_t n)
{
    ml_canon_put_number(c, (int64_t)n, "rank");
    for (size_t k = 0; k < n; k++) {
        bool point = ml_is_int(ranges[k].extent, 1);

        ml_canon_put(c, point ? W_POINT : W_RANGE, "region", ML_SHOW_TEXT,
                     point ? "point" : "range");
        ml_canon_put_expr(c, ranges[k].min, "min", (int64_t)k);
        if (!point)
            ml_canon_put_expr(c, ranges[k].extent, "extent", (int64_t)k);
    }
}

void ml_canon_put_region(ml_Canon *c, const ml_Region *r)
{
    ml_canon_use_buffer(c, r->buffer);
    put_ranges(c, r->ranges, r->buffer->rank);
}

void ml_canon_put_regions(ml_Canon *c, const ml_Region *list, size_t n, const char *what)
{
    ml_canon_put_number(c, (int64_t)n, what);
    for (size_t k = 0; k < n; k++) {
        ML_CANON_AT(c, what, NULL, (int64_t)k);
        ml_canon_put_region(c, &list[k]);
        ML_CANON_LEAVE(c);
    }
}

/* ---- constants */

static void put_lambda(ml_Canon *c, const ml_Var *const *vars, size_t n)
{
    ml_canon_put_number(c, (int64_t)n, "number of parameters");
    for (size_t k = 0; k < n; k++)
        ml_canon_define_var(c, vars[k], false);
}

static void put_map(ml_Canon *c, const ml_IndexMap *m)
{
    ml_canon_put_number(c, m != NULL, "inverse");
    if (!m)
        return;
    put_lambda(c, m->vars, m->n_vars);
    ml_canon_put_exprs(c, m->exprs, m->n_exprs, "exprs");
    put_map(c, m->inverse);
}

/* A dict without the key `skip` (NULL: all); no dict is the empty one. */
void ml_canon_put_dict(ml_Canon *c, const ml_Value *dict, const char *skip,
                       const char *what)
{
    size_t n = dict ? dict->n : 0, kept = 0;

    for (size_t k = 0; k < n; k++)
        kept += !skip || !ml_streq(dict->keys[k], skip);
    ml_canon_put_number(c, (int64_t)kept, what);
    for (size_t k = 0; k < n; k++) {
        if (skip && ml_streq(dict->keys[k], skip))
            continue;
        ML_CANON_AT(c, what, dict->keys[k], -1);
        ml_canon_put_text(c, dict->keys[k], "key");
        ml_canon_put_value(c, dict->as.list[k]);
        ML_CANON_LEAVE(c);
    }
}

void ml_canon_put_kind(ml_Canon *c, ml_ValueKind kind)
{
    static const char *const names[] = {
        [ML_VAL_NONE] = "None",       [ML_VAL_BOOL] = "a bool",
        [ML_VAL_INT] = "an integer",  [ML_VAL_FLOAT] = "a float",
        [ML_VAL_STRING] = "a str",    [ML_VAL_LIST] = "a list",
        [ML_VAL_DICT] = "a dict",     [ML_VAL_EXPR] = "an expr",
        [ML_VAL_BUFFER] = "a buffer", [ML_VAL_VAR] = "a var",
        [ML_VAL_MAP] = "a map",       [ML_VAL_REDUCER] = "a reducer",
        [ML_VAL_TARGET] = "a target",
    };

    ml_canon_put(c, (uint64_t)kind, NULL, ML_SHOW_TEXT, names[kind]);
}

/* An expression that is a scalar literal counts as the plain constant. */
static void put_expr_value(ml_Canon *c, const ml_Expr *e)
{
    if (e->type.lanes == 1 && e->kind == ML_EXPR_INT) {
        ml_canon_put_kind(c, ml_dtype_is_bool(e->type) ? ML_VAL_BOOL : ML_VAL_INT);
        ml_canon_put_number(c, e->as.i, NULL);
    } else if (e->type.lanes == 1 && e->kind == ML_EXPR_FLOAT) {
        ml_canon_put_kind(c, ML_VAL_FLOAT);
        put_double(c, e->as.f);
    } else if (e->kind == ML_EXPR_STRING) {
        ml_canon_put_kind(c, ML_VAL_STRING);
        ml_canon_put_text(c, e->as.s, NULL);
    } else if (e->kind == ML_EXPR_VAR) {
        ml_canon_put_kind(c, ML_VAL_VAR);
        use_var(c, e->as.var);
    } else {
        ml_canon_put_kind(c, ML_VAL_EXPR);
        ml_canon_expr(c, e);
    }
}

static void put_reducer(ml_Canon *c, const ml_Reducer *r)
{
    put_lambda(c, r->lhs, r->n);
    put_lambda(c, r->rhs, r->n);
    ml_canon_put_exprs(c, r->results, r->n, "results");
    ml_canon_put_exprs(c, r->identities, r->n, "identities");
}

void ml_canon_put_value(ml_Canon *c, const ml_Value *v)
{
    if (!v) {
        ml_canon_put_kind(c, ML_VAL_NONE);
        return;
    }
    if (v->kind == ML_VAL_EXPR) {
        put_expr_value(c, v->as.expr);
        return;
    }
    ml_canon_put_kind(c, (ml_ValueKind)v->kind);
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE:
    case ML_VAL_EXPR: break;
    case ML_VAL_BOOL:
    case ML_VAL_INT: ml_canon_put_number(c, v->as.i, NULL); break;
    case ML_VAL_FLOAT: put_double(c, v->as.f); break;
    case ML_VAL_STRING: ml_canon_put_text(c, v->as.s, NULL); break;
    case ML_VAL_TARGET:
    case ML_VAL_LIST:
        ml_canon_put_number(c, v->n, "length");
        for (size_t k = 0; k < v->n; k++) {
            ML_CANON_AT(c, "", NULL, (int64_t)k);
            ml_canon_put_value(c, v->as.list[k]);
            ML_CANON_LEAVE(c);
        }
        break;
    case ML_VAL_DICT: ml_canon_put_dict(c, v, NULL, "key"); break;
    case ML_VAL_BUFFER: ml_canon_use_buffer(c, v->as.buffer); break;
    case ML_VAL_VAR: use_var(c, v->as.var); break;
    case ML_VAL_MAP: put_map(c, v->as.map); break;
    case ML_VAL_REDUCER: put_reducer(c, v->as.reducer); break;
    }
}
