/*
 * access - loads and stores of scalars and vectors.
 *
 * Lanes that lie side by side are one access, others a gather or scatter. Masked lanes are
 * not touched and read as 0. A scatter writes in the order of the lanes; of a store all is
 * read before anything is written. Source: lowering-and-codegen 7.3, 10.2.
 */
#include "moonloop/codegen/c/emit.h"

enum { MAX_AFFINE = 4096 }; /* nodes of a vector index, as a tree */

typedef struct Access {
    const ml_Buffer *b;
    ml_Dtype lane;
    const ml_Expr *flat; /* of lane 0, in elements; NULL: by `at` */
    int64_t extra;       /* lanes further */
    int64_t step;        /* lanes from lane to lane: 0 or 1 */
    const char *at;      /* lane numbers, a vector of `index` */
    ml_Dtype index;
} Access;

/* ---------------------------------------------------------------- pointers */

static const char *data_of(ml_Cp *g, const ml_Var *v)
{
    const char *z = ml_map_get(g->data, v->uid);

    if (z == NULL && !g->failed)
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "the memory of `%s` is not known here",
                   v->hint ? v->hint : "data");
    return z ? z : "0";
}

/* Whether the pointer is to lanes of the buffer: it may be used as an array. */
static bool same_lane(const ml_Cp *g, const ml_Buffer *b)
{
    const ml_Dtype *t = ml_map_get(g->elems, b->data->uid);

    return t && t->code == b->type.code && t->bits == b->type.bits;
}

static const char *lane_index(ml_Cp *g, const ml_Buffer *b, const ml_Expr *flat,
                              int64_t extra)
{
    ml_CpText i = ml_cp_index(g, flat);

    if (b->type.lanes > 1)
        i = ml_cp_text(g, ML_CP_MUL, "%s * %u", ml_cp_in(g, i, ML_CP_MUL), b->type.lanes);
    if (extra)
        i = ml_cp_text(g, ML_CP_ADD, "%s + %lld", ml_cp_in(g, i, ML_CP_ADD),
                       (long long)extra);
    return i.z;
}

static const char *address_of(ml_Cp *g, const ml_Buffer *b, const ml_Expr *flat,
                              int64_t extra)
{
    const char *p = data_of(g, b->data), *i = lane_index(g, b, flat, extra);

    if (same_lane(g, b))
        return ml_streq(i, "0") ? p : ml_format(g->cx, "&%s[%s]", p, i);
    return ml_format(g->cx, "(char *)%s + (%s) * %zu", p, i, ml_lane_bytes(b->type));
}

/* tvm_access_ptr(type, data, offset, extent, how): data + offset elements of the type. */
static ml_CpText access_ptr(ml_Cp *g, const ml_Expr *e)
{
    ml_Dtype t = e->args[0]->type;

    if (e->n_args != 5 || !ml_is_op(e->args[0], ML_OP_TYPE_ANNOTATION) ||
        e->args[1]->type.code != ML_HANDLE || !ml_cp_dtype_ok(g, t)) {
        ml_cp_unsupported(g, "such a tvm_access_ptr in C");
        return (ml_CpText){"0", ML_CP_ATOM};
    }
    return ml_cp_text(g, ML_CP_ADD, "(char *)%s + %s * %zu",
                      ml_cp_in(g, ml_cp_pointer(g, e->args[1]), ML_CP_UNARY),
                      ml_cp_in(g, ml_cp_index(g, e->args[2]), ML_CP_MUL),
                      ml_lane_bytes(t) * t.lanes);
}

ml_CpText ml_cp_pointer(ml_Cp *g, const ml_Expr *e)
{
    const ml_Expr *l = e->n_args == 1 ? e->args[0] : NULL, *flat;

    if (e->kind == ML_EXPR_VAR)
        return (ml_CpText){data_of(g, e->as.var), ML_CP_ATOM};
    if (ml_is_op(e, ML_OP_ACCESS_PTR))
        return access_ptr(g, e);
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && l && l->kind == ML_EXPR_LOAD &&
        ml_load_rank(l) == 1) {
        flat = l->args[0];
        while (flat->type.lanes > 1 &&
               (flat->kind == ML_EXPR_RAMP || flat->kind == ML_EXPR_BROADCAST))
            flat = flat->args[0];
        if (flat->type.lanes == 1)
            return ml_cp_text(g, ML_CP_LOOSE, "%s", address_of(g, l->as.buffer, flat, 0));
    }
    if (e->kind == ML_EXPR_CALL)
        return ml_cp_call(g, e, 0, 0);
    ml_cp_unsupported(g, "such a pointer in C");
    return (ml_CpText){"0", ML_CP_ATOM};
}

/* ---------------------------------------------------------------- where the lanes are */

/* A vector of integers as base + lane * stride (scalars of its element type). */
static bool affine(ml_Cp *g, const ml_Expr *e, const ml_Expr **base, const ml_Expr **stride)
{
    const ml_Expr *b[2], *s[2];

    if (e->size > MAX_AFFINE)
        return false;
    switch ((int)e->kind) {
    case ML_EXPR_RAMP: *base = e->args[0], *stride = e->args[1]; return true;
    case ML_EXPR_BROADCAST:
        *base = e->args[0];
        *stride = ml_int(g->cx, e->args[0]->type, 0);
        return true;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
        if (!affine(g, e->args[0], &b[0], &s[0]) || !affine(g, e->args[1], &b[1], &s[1]))
            return false;
        if (e->kind == ML_EXPR_MUL && !ml_is_int(s[0], 0) && !ml_is_int(s[1], 0))
            return false;
        *base = ml_binary(g->cx, (ml_ExprKind)e->kind, b[0], b[1]);
        *stride = e->kind != ML_EXPR_MUL
                      ? ml_binary(g->cx, (ml_ExprKind)e->kind, s[0], s[1])
                  : ml_is_int(s[1], 0) ? ml_mul(g->cx, s[0], b[1])
                                       : ml_mul(g->cx, b[0], s[1]);
        return true;
    default: return false;
    }
}

/* The numbers of the lanes of elements that are vectors themselves, one by one. */
static const char *spread(ml_Cp *g, const ml_Buffer *b, const ml_Expr *flat, unsigned lane0,
                          unsigned n)
{
    unsigned el = b->type.lanes;
    ml_Text list = {0};
    const char *z;

    for (unsigned k = lane0; k < lane0 + n; k++) {
        ml_CpText v = ml_cp_value(g, flat, k / el, 1);
        ml_text_fmt(&list, "%s(int64_t)ML_AT(%s, 0) * %u + %u", k > lane0 ? ", " : "",
                    ml_cp_keep(g, ml_cp_type(g, flat->type, 1), v.z), el, k % el);
    }
    z = ml_format(g->cx, "((%s)ML_LIST(%s))", ml_cp_type(g, ML_DT_I64, n),
                  ml_text_z(&list));
    ml_text_free(&list);
    return z;
}

static bool locate(ml_Cp *g, Access *a, const ml_Buffer *b, const ml_Expr *const *idx,
                   size_t n_idx, unsigned lane0, unsigned n)
{
    const ml_Expr *flat = n_idx == 1 ? idx[0] : NULL, *base, *step;
    bool before = g->checked;
    ml_CpText at;

    if (flat == NULL)
        ml_cp_fail(g, ML_E_CODEGEN_FAILED, "an access of %s that is not flat", b->name);
    if (g->failed || !ml_cp_dtype_ok(g, b->type))
        return false;
    *a = (Access){.b = b, .lane = ml_dtype_lanes(b->type, 1), .extra = lane0, .step = 1};
    a->flat = flat;
    if (flat->type.lanes <= 1)
        return true;
    if (b->type.lanes == 1 && affine(g, flat, &base, &step) && step->kind == ML_EXPR_INT &&
        (step->as.i == 0 || step->as.i == 1)) {
        a->flat = base;
        a->step = step->as.i;
        a->extra = step->as.i * lane0;
        return true;
    }
    a->flat = NULL;
    g->checked = true;
    if (b->type.lanes > 1) {
        a->index = ML_DT_I64;
        a->at = spread(g, b, flat, lane0, n);
    } else {
        a->index = ml_dtype_lanes(flat->type, 1);
        at = ml_cp_value(g, flat, lane0, n);
        if (!ml_dtype_is_index(a->index))
            at = ml_cp_cast(g, a->index, ML_DT_I64, n, at);
        a->index = ml_dtype_is_index(a->index) ? a->index : ML_DT_I64;
        a->at = at.z;
    }
    g->checked = before;
    return !g->failed;
}

/* ---------------------------------------------------------------- loads */

/* The mask of an access and the lanes wanted around it; NULL: all. */
static const char *lanes_on(ml_Cp *g, const ml_Expr *mask, unsigned lane0, unsigned n)
{
    bool before = g->checked;
    const char *m, *around = n ? ml_cp_mask(g, lane0, n) : g->mask;

    if (mask == NULL)
        return around;
    g->checked = !(mask->flags & ML_X_HAS_LOAD) || before;
    m = ml_cp_arg(g, mask, lane0, n);
    g->checked = before;
    if (around && n)
        m = ml_format(g->cx, "%s(%s, %s)", ml_cp_op(g, "and", ML_DT(ML_UINT, 8), n), m,
                      around);
    return m;
}

static ml_CpText load_scalar(ml_Cp *g, const Access *a)
{
    const char *p, *i;

    if (!same_lane(g, a->b))
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s)", ml_cp_cell(g, "get", a->lane),
                          address_of(g, a->b, a->flat, a->extra));
    p = data_of(g, a->b->data);
    i = lane_index(g, a->b, a->flat, a->extra);
    if (a->lane.code == ML_BOOL)
        return ml_cp_text(g, ML_CP_LOOSE, "%s[%s] != 0", p, i);
    if (ml_cp_is_half(a->lane))
        return ml_cp_text(g, ML_CP_ATOM, "%s(&%s[%s])", ml_cp_cell(g, "get", a->lane), p,
                          i);
    return ml_cp_text(g, ML_CP_ATOM, "%s[%s]", p, i);
}

ml_CpText ml_cp_load(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    bool masked = (e->flags & ML_X_MASKED) != 0;
    const ml_Expr *mask = masked ? e->args[e->n_args - 1] : NULL;
    const char *on = lanes_on(g, mask, lane0, n);
    ml_CpText v;
    Access a;

    if (!locate(g, &a, e->as.buffer, e->args, ml_load_rank(e), lane0, n))
        return (ml_CpText){"0", ML_CP_ATOM};
    if (n == 0) {
        v = load_scalar(g, &a);
        return on ? ml_cp_text(g, ML_CP_LOOSE, "(%s) ? %s : 0", on,
                               ml_cp_in(g, v, ML_CP_ADD))
                  : v;
    }
    if (a.flat == NULL)
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s%s%s)",
                          ml_cp_access(g, on ? "gather_if" : "gather", a.lane, n, a.index),
                          data_of(g, a.b->data), a.at, on ? ", " : "", on ? on : "");
    if (a.step == 0 && !on)
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s)", ml_cp_splat(g, a.lane, n),
                          load_scalar(g, &a).z);
    if (a.step == 0)
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s, ((%s)ML_LIST(0)), %s)",
                          ml_cp_access(g, "gather_if", a.lane, n, ML_DT_I64),
                          address_of(g, a.b, a.flat, a.extra), ml_cp_type(g, ML_DT_I64, n),
                          on);
    return ml_cp_text(g, ML_CP_ATOM, "%s(%s%s%s)",
                      ml_cp_access(g, on ? "load_if" : "load", a.lane, n, ML_DT_I64),
                      address_of(g, a.b, a.flat, a.extra), on ? ", " : "", on ? on : "");
}

/* ---------------------------------------------------------------- stores */

static void store_scalar(ml_Cp *g, const ml_Store *s)
{
    const char *v = ml_cp_value(g, s->value, 0, 0).z, *if_z = "";
    Access a;

    if (s->mask)
        if_z = ml_format(g->cx, "if (%s)\n%*s", ml_cp_condition(g, s->mask).z,
                         (int)(4 * g->depth + 4), "");
    if (!locate(g, &a, s->buffer, s->indices, s->n, 0, 0))
        return;
    if (!same_lane(g, s->buffer) || ml_cp_is_half(a.lane))
        ml_cp_line(g, "%s%s(%s, %s);", if_z, ml_cp_cell(g, "put", a.lane),
                   address_of(g, a.b, a.flat, a.extra), v);
    else
        ml_cp_line(g, "%s%s[%s] = %s;", if_z, data_of(g, s->buffer->data),
                   lane_index(g, a.b, a.flat, a.extra), v);
}

static void store_lanes(ml_Cp *g, const ml_Store *s, unsigned lane0, unsigned n,
                        const char *v, const char *on)
{
    Access a;

    if (!locate(g, &a, s->buffer, s->indices, s->n, lane0, n))
        return;
    if (a.flat && a.step == 0) { /* the last lane that is on stays */
        a.at = ml_format(g->cx, "((%s)ML_LIST(0))", ml_cp_type(g, ML_DT_I64, n));
        ml_cp_line(g, "%s(%s, %s, %s%s%s);",
                   ml_cp_access(g, on ? "scatter_if" : "scatter", a.lane, n, ML_DT_I64),
                   address_of(g, a.b, a.flat, a.extra), a.at, v, on ? ", " : "",
                   on ? on : "");
    } else if (a.flat) {
        ml_cp_line(g, "%s(%s, %s%s%s);",
                   ml_cp_access(g, on ? "store_if" : "store", a.lane, n, ML_DT_I64),
                   address_of(g, a.b, a.flat, a.extra), v, on ? ", " : "", on ? on : "");
    } else {
        ml_cp_line(g, "%s(%s, %s, %s%s%s);",
                   ml_cp_access(g, on ? "scatter_if" : "scatter", a.lane, n, a.index),
                   data_of(g, a.b->data), a.at, v, on ? ", " : "", on ? on : "");
    }
}

void ml_cp_store(ml_Cp *g, const ml_Store *s)
{
    unsigned lanes = s->value->type.lanes, n;
    const char **v, **m;

    if (ml_is_op(s->value, ML_OP_UNDEF) || !ml_cp_dtype_ok(g, s->value->type) ||
        !ml_cp_dtype_ok(g, s->buffer->type))
        return;
    if (lanes <= 1) {
        store_scalar(g, s);
        return;
    }
    v = ML_ARRAY(g->cx, const char *, lanes);
    m = ML_ARRAY(g->cx, const char *, lanes);
    for (unsigned at = 0; at < lanes; at += n) {
        n = ml_cp_chunk(s->value, at, lanes);
        v[at] = ml_cp_value(g, s->value, at, n).z;
        m[at] = s->mask ? lanes_on(g, s->mask, at, n) : NULL;
        if (n == lanes)
            continue;
        v[at] = ml_cp_keep(g, ml_cp_type(g, s->value->type, n), v[at]);
        if (m[at])
            m[at] = ml_cp_keep(g, ml_cp_type(g, ML_DT_BOOL, n), m[at]);
    }
    for (unsigned at = 0; at < lanes && !g->failed; at += n) {
        n = ml_cp_chunk(s->value, at, lanes);
        store_lanes(g, s, at, n, v[at], m[at]);
    }
}
