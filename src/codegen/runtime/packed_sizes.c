/*
 * packed_sizes - shapes, strides and offsets of tensors against those declared.
 *
 * The first place at which a variable stands alone says its value; all others must agree.
 * An expression is compared as soon as its variables are known, at the latest after the
 * offsets. Source: lowering-and-codegen 5.3.
 */
#include "moonloop/codegen/runtime/packed_impl.h"

#include "moonloop/core/script/script.h"

/* ---------------------------------------------------------------- values */

const ml_PackedKnown *ml_packed_known(const ml_Decode *d, ml_Uid uid)
{
    for (size_t k = 0; k < d->known.n; k++)
        if (d->known.v[k].uid == uid)
            return &d->known.v[k];
    return NULL;
}

typedef enum Value {
    FOUND,
    UNKNOWN, /* it has a variable without a value */
    NONE,    /* it overflows, divides by zero, or is no such expression */
} Value;

static bool divides(int64_t a, int64_t b)
{
    return b != 0 && !(a == INT64_MIN && b == -1);
}

static Value of_two(ml_ExprKind kind, int64_t a, int64_t b, int64_t *out)
{
    bool ok = false;

    if (kind == ML_EXPR_ADD)
        ok = !__builtin_add_overflow(a, b, out);
    else if (kind == ML_EXPR_SUB)
        ok = !__builtin_sub_overflow(a, b, out);
    else if (kind == ML_EXPR_MUL)
        ok = !__builtin_mul_overflow(a, b, out);
    else if (kind == ML_EXPR_FLOORDIV && (ok = divides(a, b)))
        *out = ml_floordiv_i64(a, b);
    else if (kind == ML_EXPR_FLOORMOD && (ok = divides(a, b)))
        *out = ml_floormod_i64(a, b);
    else if (kind == ML_EXPR_DIV && (ok = divides(a, b)))
        *out = a / b;
    else if (kind == ML_EXPR_MOD && (ok = divides(a, b)))
        *out = a % b;
    else if (kind == ML_EXPR_MIN && (ok = true))
        *out = a < b ? a : b;
    else if (kind == ML_EXPR_MAX && (ok = true))
        *out = a > b ? a : b;
    return ok ? FOUND : NONE;
}

static Value value_of(const ml_Decode *d, const ml_Expr *e, int64_t *out)
{
    const ml_PackedKnown *k;
    int64_t a, b;
    Value va, vb;

    if (e->kind == ML_EXPR_INT) {
        *out = e->as.i;
        return FOUND;
    }
    if (e->kind == ML_EXPR_VAR) {
        k = ml_packed_known(d, e->as.var->uid);
        if (k)
            *out = k->value;
        return k ? FOUND : UNKNOWN;
    }
    if (e->kind == ML_EXPR_CAST && ml_dtype_is_int(e->type)) {
        va = value_of(d, e->args[0], out);
        return va == FOUND && !ml_dtype_fits(e->type, *out) ? NONE : va;
    }
    if (e->n_args != 2)
        return NONE;
    va = value_of(d, e->args[0], &a);
    vb = value_of(d, e->args[1], &b);
    if (va != FOUND || vb != FOUND)
        return va == NONE || vb == NONE ? NONE : UNKNOWN;
    return of_two((ml_ExprKind)e->kind, a, b, out);
}

/* ---------------------------------------------------------------- places */

static const char *part_text(const ml_Decode *d, ml_PackedPlace at)
{
    switch (at.part) {
    case ML_PART_SCALAR: return "";
    case ML_PART_SHAPE: return ml_format(d->cx, ".shape[%u]", at.dim);
    case ML_PART_STRIDE: return ml_format(d->cx, ".strides[%u]", at.dim);
    case ML_PART_OFFSET: return ".byte_offset";
    }
    return "";
}

static const char *source_text(const ml_Decode *d, ml_PackedPlace from)
{
    return ml_format(d->cx, "%s%s%s", ml_packed_param(&d->f->params[from.arg]),
                     part_text(d, from), from.part == ML_PART_OFFSET ? " in elements" : "");
}

static const char *expr_text(const ml_Decode *d, const ml_Expr *e)
{
    ml_Text t = {0};
    const char *z;

    ml_print_expr(d->cx, &t, e, NULL);
    z = ml_strdup(d->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static bool define(ml_Decode *d, ml_PackedPlace at, const ml_Var *v, int64_t got)
{
    ml_PackedKnown k = {v->uid, got, at};

    if (!ml_dtype_fits(v->type, got))
        return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, at.arg,
                                ml_format(d->cx, "%s: %lld does not fit %s",
                                          part_text(d, at), (long long)got,
                                          ml_dtype_name(d->cx, v->type)));
    ml_push(d->cx, &d->known, k);
    return true;
}

static bool disagree(ml_Decode *d, ml_PackedPlace at, const ml_Expr *e, int64_t want,
                     int64_t got)
{
    const char *why = "";

    if (e->kind == ML_EXPR_VAR)
        why = ml_format(d->cx, " (= %s)",
                        source_text(d, ml_packed_known(d, e->as.var->uid)->from));
    else if (e->kind != ML_EXPR_INT)
        why = ml_format(d->cx, " (= %s)", expr_text(d, e));
    return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, at.arg,
                            ml_format(d->cx, "%s: expected %lld%s, got %lld",
                                      part_text(d, at), (long long)want, why,
                                      (long long)got));
}

/* Defines, compares or puts off. */
static bool match(ml_Decode *d, ml_PackedPlace at, const ml_Expr *e, int64_t got)
{
    ml_PackedLater later = {at, e, got};
    int64_t want = 0;

    if (e->kind == ML_EXPR_VAR && !ml_packed_known(d, e->as.var->uid))
        return define(d, at, e->as.var, got);
    switch (value_of(d, e, &want)) {
    case FOUND: return want == got || disagree(d, at, e, want, got);
    case UNKNOWN: ml_push(d->cx, &d->later, later); return true;
    case NONE: break;
    }
    return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, at.arg,
                            ml_format(d->cx, "%s: expected %s, which has no value here",
                                      part_text(d, at), expr_text(d, e)));
}

/* What was put off, where its variables are known by now. */
static bool match_later(ml_Decode *d)
{
    size_t n = d->later.n, left = 0;

    for (size_t k = 0; k < n; k++) {
        ml_PackedLater l = d->later.v[k];

        d->later.n = left; /* match puts it off again at this place, or not at all */
        if (!match(d, l.at, l.e, l.got))
            return false;
        left = d->later.n;
    }
    return true;
}

/* ---------------------------------------------------------------- shapes */

static bool sane_shape(ml_Decode *d, uint32_t k)
{
    const ml_DLTensor *t = ml_packed_tensor(d, k);
    int64_t n = (int64_t)ml_dtype_bytes(d->f->params[k].buffer->type);

    if (t->ndim > 0 && t->shape == NULL)
        return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k, ".shape is NULL");
    for (int32_t r = 0; r < t->ndim; r++)
        if (t->shape[r] < 0)
            return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k,
                                    ml_format(d->cx,
                                              ".shape[%d]: expected at least 0, got %lld",
                                              r, (long long)t->shape[r]));
    for (int32_t r = 0; r < t->ndim && !ml_packed_empty(t); r++)
        if (__builtin_mul_overflow(n, t->shape[r], &n))
            return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k,
                                    ".shape: more elements than there is memory");
    return true;
}

bool ml_packed_sizes(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) { /* numbers say what symbols are */
        const ml_Var *v = d->f->params[k].var;

        if (!d->f->params[k].buffer && ml_dtype_is_int(v->type)) {
            ml_PackedKnown n = {v->uid, ml_packed_int(&d->args[k]), {ML_PART_SCALAR, k, 0}};

            ml_push(d->cx, &d->known, n);
        }
    }
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);
        const ml_Buffer *b = d->f->params[k].buffer;

        if (t && !sane_shape(d, k))
            return false;
        for (uint16_t r = 0; t && b && r < b->rank; r++)
            if (!match(d, (ml_PackedPlace){ML_PART_SHAPE, k, r}, b->shape[r], t->shape[r]))
                return false;
    }
    return match_later(d);
}

/* ---------------------------------------------------------------- strides */

/* Of a compact array; what overflows belongs to an empty one, where it does not matter. */
static int64_t compact_stride(const ml_DLTensor *t, int32_t dim)
{
    int64_t n = 1;

    for (int32_t r = dim + 1; r < t->ndim; r++)
        if (__builtin_mul_overflow(n, t->shape[r], &n))
            return 0;
    return n;
}

static bool is_compact(const ml_DLTensor *t)
{
    for (int32_t r = 0; r < t->ndim; r++)
        if (t->shape[r] != 1 && t->strides[r] != compact_stride(t, r))
            return false;
    return true;
}

static bool not_compact(ml_Decode *d, uint32_t k)
{
    const ml_DLTensor *t = ml_packed_tensor(d, k);
    ml_Text got = {0};

    for (int32_t r = 0; r < t->ndim; r++)
        ml_text_fmt(&got, "%s%lld", r ? ", " : "", (long long)t->strides[r]);
    ml_packed_refuse(
        d, ML_CALL_VALUE_ERROR, k,
        ml_format(d->cx, ".strides: expected a compact array, got [%s]", ml_text_z(&got)));
    ml_text_free(&got);
    return false;
}

/* Strides that no element is reached by: they bind a variable that nothing else binds, and
 * fail nothing. */
static bool idle(const ml_DLTensor *t, uint16_t r)
{
    return t->shape[r] == 1 || ml_packed_empty(t);
}

static bool match_strides(ml_Decode *d, uint32_t k, bool idle_ones)
{
    const ml_DLTensor *t = ml_packed_tensor(d, k);
    const ml_Buffer *b = d->f->params[k].buffer;

    for (uint16_t r = 0; r < b->n_strides; r++) {
        const ml_Expr *e = b->strides[r];
        bool unbound = e->kind == ML_EXPR_VAR && !ml_packed_known(d, e->as.var->uid);

        if (idle(t, r) != idle_ones || (idle_ones && !unbound))
            continue;
        if (!match(d, (ml_PackedPlace){ML_PART_STRIDE, k, r}, e,
                   t->strides ? t->strides[r] : compact_stride(t, r)))
            return false;
    }
    return true;
}

bool ml_packed_strides(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        if (t == NULL)
            continue;
        if (d->f->params[k].buffer->n_strides == 0 && t->strides && !is_compact(t) &&
            !ml_packed_empty(t))
            return not_compact(d, k);
        if (!match_strides(d, k, false))
            return false;
    }
    for (uint32_t k = 0; k < d->f->n_params; k++)
        if (ml_packed_tensor(d, k) && !match_strides(d, k, true))
            return false;
    return match_later(d);
}

/* ---------------------------------------------------------------- offsets */

static bool match_offset(ml_Decode *d, uint32_t k, const ml_DLTensor *t, const ml_Buffer *b)
{
    uint64_t size = ml_dtype_bytes(b->type),
             factor = b->offset_factor > 0 ? b->offset_factor : 1;
    ml_PackedPlace at = {ML_PART_OFFSET, k, 0};
    int64_t want;

    size = size ? size : 1;
    if (b->elem_offset->kind == ML_EXPR_VAR &&
        !ml_packed_known(d, b->elem_offset->as.var->uid)) {
        if (t->byte_offset % (size * factor) != 0)
            return ml_packed_refuse(
                d, ML_CALL_VALUE_ERROR, k,
                ml_format(d->cx, ".byte_offset: expected a multiple of %llu, got %llu",
                          (unsigned long long)(size * factor),
                          (unsigned long long)t->byte_offset));
        return define(d, at, b->elem_offset->as.var,
                      (int64_t)(t->byte_offset / size & INT64_MAX));
    }
    if (value_of(d, b->elem_offset, &want) == FOUND && want >= 0 &&
        (uint64_t)want <= UINT64_MAX / size && (uint64_t)want * size == t->byte_offset)
        return true;
    return ml_packed_refuse(
        d, ML_CALL_VALUE_ERROR, k,
        ml_format(d->cx,
                  ".byte_offset: expected %s elements of %llu bytes, got "
                  "%llu bytes",
                  expr_text(d, b->elem_offset), (unsigned long long)size,
                  (unsigned long long)t->byte_offset));
}

bool ml_packed_offsets(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        if (t && !match_offset(d, k, t, d->f->params[k].buffer))
            return false;
    }
    if (!match_later(d))
        return false;
    if (d->later.n == 0)
        return true;
    return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, d->later.v[0].at.arg,
                            ml_format(d->cx, "%s: no argument says what %s is",
                                      part_text(d, d->later.v[0].at),
                                      expr_text(d, d->later.v[0].e)));
}
