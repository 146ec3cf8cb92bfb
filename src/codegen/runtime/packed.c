/*
 * packed - a caller's arguments are checked against the signature and become words.
 *
 * Each row of the table of lowering-and-codegen 5.3 is one function that looks at all
 * arguments; the rows are tried in order and the first failure is told. Nothing is written
 * before all have passed.
 */
#include "moonloop/codegen/runtime/packed_impl.h"

#include "moonloop/codegen/params/param_roles.h"
#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/script/script.h"

ml_DLType ml_dl_type(ml_Dtype t)
{
    ml_DLType d = {.code = 3, .bits = t.bits, .lanes = t.lanes};

    switch ((ml_Code)t.code) {
    case ML_BOOL: d.code = 6, d.bits = 8; break;
    case ML_INT: d.code = 0; break;
    case ML_UINT: d.code = 1; break;
    case ML_FLOAT: d.code = 2; break;
    case ML_BFLOAT: d.code = 4; break;
    case ML_F8_E3M4: d.code = 7; break;
    case ML_F8_E4M3: d.code = 8; break;
    case ML_F8_E4M3B11FNUZ: d.code = 9; break;
    case ML_F8_E4M3FN: d.code = 10; break;
    case ML_F8_E4M3FNUZ: d.code = 11; break;
    case ML_F8_E5M2: d.code = 12; break;
    case ML_F8_E5M2FNUZ: d.code = 13; break;
    case ML_F8_E8M0FNU: d.code = 14; break;
    case ML_F6_E2M3FN: d.code = 15; break;
    case ML_F6_E3M2FN: d.code = 16; break;
    case ML_F4_E2M1FN: d.code = 17; break;
    case ML_HANDLE:
    case ML_VOID: break;
    }
    return d;
}

/* ---------------------------------------------------------------- messages */

const char *ml_packed_param(const ml_FuncParam *p)
{
    return p->buffer ? p->buffer->name : p->var->hint ? p->var->hint : "v";
}

static const char *print_signature(const ml_Decode *d)
{
    ml_Text t = {0};
    const char *z;

    ml_text_fmt(&t, "%s(", d->f->name);
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_FuncParam *p = &d->f->params[k];

        ml_text_fmt(&t, "%s%s: ", k ? ", " : "", ml_packed_param(p));
        if (p->buffer) {
            ml_text_add(&t, "Tensor([");
            for (uint16_t r = 0; r < p->buffer->rank; r++) {
                if (r)
                    ml_text_add(&t, ", ");
                ml_print_expr(d->cx, &t, p->buffer->shape[r], NULL);
            }
            ml_text_add(&t, "], ");
            ml_dtype_print(&t, p->buffer->type);
            ml_text_char(&t, ')');
        } else {
            ml_dtype_print(&t, p->var->type);
        }
    }
    ml_text_char(&t, ')');
    z = ml_strdup(d->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static bool refuse(ml_Decode *d, int kind, const char *text)
{
    d->kind = kind;
    return ml_fail(d->cx, ML_E_CALL_REFUSED, ML_TEXT(text));
}

bool ml_packed_refuse(ml_Decode *d, int kind, uint32_t arg, const char *part)
{
    return refuse(d, kind,
                  ml_format(d->cx, "%s: argument #%u '%s'%s", d->f->name, arg,
                            ml_packed_param(&d->f->params[arg]), part));
}

static const char *kind_name(ml_PackedKind k)
{
    switch (k) {
    case ML_PACKED_NULL: return "null";
    case ML_PACKED_INT: return "int";
    case ML_PACKED_FLOAT: return "float";
    case ML_PACKED_BOOL: return "bool";
    case ML_PACKED_POINTER: return "pointer";
    case ML_PACKED_TENSOR: return "tensor";
    }
    return "?";
}

/* ---------------------------------------------------------------- counts and kinds */

static bool check_count(ml_Decode *d)
{
    if ((uint32_t)d->n != d->f->n_params || d->n < 0)
        return refuse(d, ML_CALL_TYPE_ERROR,
                      ml_format(d->cx, "%s: expected %u arguments, got %d; signature %s",
                                d->f->name, d->f->n_params, d->n, print_signature(d)));
    if (d->args == NULL && d->f->n_params > 0)
        return refuse(d, ML_CALL_TYPE_ERROR,
                      ml_format(d->cx, "%s: argument list is NULL", d->f->name));
    return true;
}

static const char *expected_kind(const ml_FuncParam *p)
{
    if (p->buffer)
        return "tensor";
    if (ml_dtype_is_bool(p->var->type))
        return "bool";
    if (p->var->type.code == ML_HANDLE)
        return "pointer";
    return ml_dtype_is_float(p->var->type) ? "float" : "int";
}

static bool kind_fits(const ml_FuncParam *p, ml_PackedKind k)
{
    if (p->buffer)
        return k == ML_PACKED_TENSOR;
    if (p->var->type.code == ML_HANDLE)
        return k == ML_PACKED_POINTER || k == ML_PACKED_TENSOR || k == ML_PACKED_NULL;
    if (ml_dtype_is_float(p->var->type))
        return k == ML_PACKED_FLOAT || k == ML_PACKED_INT || k == ML_PACKED_BOOL;
    return k == ML_PACKED_INT || k == ML_PACKED_BOOL;
}

static bool check_kinds(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++)
        if (!kind_fits(&d->f->params[k], d->args[k].kind))
            return ml_packed_refuse(d, ML_CALL_TYPE_ERROR, k,
                                    ml_format(d->cx, ": expected %s, got %s",
                                              expected_kind(&d->f->params[k]),
                                              kind_name(d->args[k].kind)));
    return true;
}

const ml_DLTensor *ml_packed_tensor(const ml_Decode *d, uint32_t k)
{
    return d->f->params[k].buffer ? d->args[k].as.tensor : NULL;
}

bool ml_packed_empty(const ml_DLTensor *t)
{
    for (int32_t r = 0; r < t->ndim; r++)
        if (t->shape[r] == 0)
            return true;
    return false;
}

static bool check_tensors(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++)
        if (d->f->params[k].buffer && d->args[k].as.tensor == NULL)
            return ml_packed_refuse(d, ML_CALL_TYPE_ERROR, k, ": tensor is NULL");
    return true;
}

static bool check_ranks(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        if (t && t->ndim != d->f->params[k].buffer->rank)
            return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k,
                                    ml_format(d->cx, ".ndim: expected %u, got %d",
                                              d->f->params[k].buffer->rank, t->ndim));
    }
    return true;
}

static const char *dl_name(ml_Ctx *cx, ml_DLType t)
{
    static const char *const names[] = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
    const char *base = t.code < ML_COUNT(names) ? names[t.code] : "type";

    if (t.code == 6)
        return "bool";
    if (t.lanes > 1)
        return ml_format(cx, "%s%ux%u", base, t.bits, t.lanes);
    return ml_format(cx, "%s%u", base, t.bits);
}

static bool check_dtypes(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);
        ml_Dtype want;
        ml_DLType dl;

        if (t == NULL)
            continue;
        want = d->f->params[k].buffer->type;
        dl = ml_dl_type(want);
        if (want.bits < 8 && !(ml_dtype_is_bool(want) && t->dtype.bits > 8))
            continue; /* of 1 and 4 bits: there is no agreed description */
        if (t->dtype.code != dl.code || t->dtype.bits != dl.bits ||
            t->dtype.lanes != dl.lanes)
            return ml_packed_refuse(d, ML_CALL_TYPE_ERROR, k,
                                    ml_format(d->cx, ".dtype: expected %s, got %s",
                                              ml_dtype_name(d->cx, want),
                                              dl_name(d->cx, t->dtype)));
    }
    return true;
}

/* ---------------------------------------------------------------- places in memory */

static const char *device_name(ml_Ctx *cx, int32_t type, int32_t id)
{
    return ml_format(cx, "%s:%d",
                     type == 1   ? "cpu"
                     : type == 2 ? "cuda"
                                 : ml_format(cx, "device %d", type),
                     id);
}

static bool check_devices(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        if (t && (t->device.type != 1 || t->device.id != 0))
            return ml_packed_refuse(
                d, ML_CALL_VALUE_ERROR, k,
                ml_format(d->cx, ".device: expected cpu:0, got %s",
                          device_name(d->cx, t->device.type, t->device.id)));
    }
    return true;
}

static bool check_data(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        if (t && t->data == NULL && !ml_packed_empty(t))
            return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k, ".data is NULL");
    }
    return true;
}

static bool check_alignment(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);
        const ml_Buffer *b = d->f->params[k].buffer;
        uintptr_t at, align;

        if (t == NULL || ml_packed_empty(t))
            continue;
        at = (uintptr_t)t->data + t->byte_offset;
        align = d->opts->unaligned ? ml_lane_bytes(b->type) : b->align;
        if (align > 1 && at % align != 0)
            return ml_packed_refuse(
                d, ML_CALL_VALUE_ERROR, k,
                ml_format(d->cx, ".data: misaligned, expected %zu bytes, address %#llx",
                          (size_t)align, (unsigned long long)at));
    }
    return true;
}

/* ---------------------------------------------------------------- scalars, aliasing */

static bool check_scalars(ml_Decode *d)
{
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_Var *v = d->f->params[k].var;

        if (d->f->params[k].buffer || !ml_dtype_is_int(v->type) ||
            d->args[k].kind != ML_PACKED_INT)
            continue;
        if (!ml_dtype_fits(v->type, d->args[k].as.i))
            return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k,
                                    ml_format(d->cx, ": %lld does not fit %s",
                                              (long long)d->args[k].as.i,
                                              ml_dtype_name(d->cx, v->type)));
    }
    return true;
}

typedef struct Range { /* bytes from, to - 1 */
    uintptr_t from, to;
} Range;

/* The bytes that a tensor takes, holes included; all of memory when that overflows. */
static Range range_of(const ml_DLTensor *t)
{
    uintptr_t at = (uintptr_t)t->data + t->byte_offset;
    int64_t low = 0, high = 0, stride = 1, size = (t->dtype.bits * t->dtype.lanes + 7) / 8;
    bool lost = false;

    if (ml_packed_empty(t))
        return (Range){at, at};
    for (int32_t r = t->ndim - 1; r >= 0; r--) {
        int64_t reach;

        lost |= __builtin_mul_overflow(t->shape[r] - 1, t->strides ? t->strides[r] : stride,
                                       &reach);
        lost |=
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
        lost |= __builtin_mul_overflow(stride, t->shape[r], &stride);
    }
    lost |= __builtin_mul_overflow(low, size, &low);
    lost |=
        __builtin_add_overflow(high, 1, &high) || __builtin_mul_overflow(high, size, &high);
    if (lost)
        return (Range){0, UINTPTR_MAX};
    return (Range){at + (uintptr_t)low, at + (uintptr_t)high};
}

static bool check_alias(ml_Decode *d)
{
    ml_ParamRole *roles;

    if (!d->opts->check_alias)
        return true;
    roles = ML_ARRAY(d->cx, ml_ParamRole, d->f->n_params + 1u);
    ml_param_roles(d->cx, d->f, NULL, 0, roles);
    for (uint32_t k = 0; k < d->f->n_params; k++) {
        const ml_DLTensor *t = ml_packed_tensor(d, k);

        for (uint32_t j = 0; t && roles[k].written && j < d->f->n_params; j++) {
            const ml_DLTensor *u = j == k ? NULL : ml_packed_tensor(d, j);
            Range a = range_of(t), b;

            if (u == NULL)
                continue;
            b = range_of(u);
            if (a.from < b.to && b.from < a.to)
                return ml_packed_refuse(d, ML_CALL_VALUE_ERROR, k,
                                        ml_format(d->cx,
                                                  ".data overlaps '%s', and is written",
                                                  ml_packed_param(&d->f->params[j])));
        }
    }
    return true;
}

/* ---------------------------------------------------------------- all of it */

int64_t ml_packed_int(const ml_PackedArg *a)
{
    return a->kind == ML_PACKED_BOOL ? a->as.i != 0 : a->as.i;
}

static void *address(const ml_DLTensor *t)
{
    return t ? (void *)((uintptr_t)t->data + t->byte_offset) : NULL;
}

static ml_Word word_of(const ml_FuncParam *p, const ml_PackedArg *a)
{
    ml_Dtype t = p->var->type;

    if (p->buffer || (t.code == ML_HANDLE && a->kind == ML_PACKED_TENSOR))
        return (ml_Word){.p = address(a->as.tensor)};
    if (t.code == ML_HANDLE)
        return (ml_Word){.p = a->kind == ML_PACKED_NULL ? NULL : a->as.p};
    if (ml_dtype_is_float(t))
        return (ml_Word){.f = a->kind == ML_PACKED_FLOAT ? a->as.f
                                                         : (double)ml_packed_int(a)};
    return (ml_Word){.i = ml_dtype_is_bool(t) ? a->as.i != 0 : ml_packed_int(a)};
}

/* Every size has a value by now: ml_signature_of found a place where it stands alone. */
static bool write_words(ml_Decode *d, ml_Word *words)
{
    uint32_t n = d->f->n_params;

    for (uint32_t k = 0; k < d->sig->n_sizes; k++) {
        const ml_PackedKnown *v = ml_packed_known(d, d->sig->sizes[k]->uid);

        if (v == NULL)
            return refuse(d, ML_CALL_VALUE_ERROR,
                          ml_format(d->cx, "%s: no argument says what %s is", d->f->name,
                                    d->sig->sizes[k]->hint ? d->sig->sizes[k]->hint : "v"));
        words[n + k].i = v->value;
    }
    for (uint32_t k = 0; k < n; k++)
        words[k] = word_of(&d->f->params[k], &d->args[k]);
    return true;
}

int ml_packed_decode(ml_Ctx *cx, const ml_Signature *sig, const ml_PackedArg *args,
                     int32_t n_args, const ml_CallOpts *opts, ml_Word *words)
{
    static bool (*const rows[])(ml_Decode *) = {
        check_count,     check_kinds,       check_tensors,     check_ranks,   check_dtypes,
        ml_packed_sizes, ml_packed_strides, ml_packed_offsets, check_devices, check_data,
        check_alignment, check_scalars,     check_alias,
    };
    const ml_CallOpts none = {0};
    ml_Decode d = {.cx = cx,
                   .sig = sig,
                   .f = sig->func,
                   .args = args,
                   .n = n_args,
                   .opts = opts ? opts : &none};

    for (size_t k = 0; k < ML_COUNT(rows); k++)
        if (!rows[k](&d))
            return d.kind;
    return write_words(&d, words) ? 0 : d.kind;
}

/* ---------------------------------------------------------------- failures of a call */

typedef struct Find {
    ml_Ctx *cx;
    int32_t number;
    ML_VEC(const ml_Assert *) seen;
} Find;

/* Numbered as the backend does: in order, copies of one count once. */
static bool see_assert(const ml_Stmt *s, void *user)
{
    Find *f = user;
    const ml_Assert *a = s->kind == ML_STMT_ASSERT ? ml_as_assert(s) : NULL;

    for (size_t k = 0; a && k < f->seen.n; k++)
        if (f->seen.v[k]->parts == a->parts && f->seen.v[k]->error == a->error &&
            f->seen.v[k]->base.span == a->base.span)
            a = NULL;
    if (a)
        ml_push(f->cx, &f->seen, a);
    return true;
}

const ml_Assert *ml_packed_assert(ml_Ctx *cx, const ml_Func *body, int32_t number)
{
    Find f = {.cx = cx};

    ml_stmt_visit(body->body, see_assert, &f);
    return number > 0 && (size_t)number <= f.seen.n ? f.seen.v[number - 1] : NULL;
}

const char *ml_packed_assert_text(ml_Ctx *cx, const ml_Assert *a)
{
    ml_Text t = {0};
    const char *z;

    if (a == NULL)
        return "an assertion failed";
    ml_text_fmt(&t, "%s: ", a->error ? a->error : "RuntimeError");
    for (uint32_t k = 0; k < a->n_parts; k++)
        ml_text_add(&t, a->parts[k]);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static bool call_failed(ml_Ctx *cx, const ml_Signature *sig, const ml_CallOpts *opts,
                        int32_t status)
{
    const ml_Func *body = opts && opts->body ? opts->body : sig->func;

    if (status == ML_CALL_NO_WORKSPACE)
        return ml_fail(cx, ML_E_TOO_LARGE,
                       ML_TEXT(ml_format(cx,
                                         "%s: out of workspace memory: %llu bytes more "
                                         "were asked for",
                                         sig->func->name,
                                         (unsigned long long)ml_workspace_refused())));
    return ml_fail(
        cx, ML_E_ASSERT_FAILED,
        ML_TEXT(ml_format(cx, "%s: %s", sig->func->name,
                          ml_packed_assert_text(cx, ml_packed_assert(cx, body, status)))));
}

bool ml_packed_call(ml_Ctx *cx, const ml_Signature *sig, ml_KernelFn *fn,
                    const ml_PackedArg *args, int32_t n_args, const ml_CallOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Word *words = ML_ARRAY(cx, ml_Word, sig->func->n_params + sig->n_sizes + 1u);
    int32_t status;

    if (ml_packed_decode(cx, sig, args, n_args, opts, words) != 0)
        return false;
    status = fn(words);
    if (status != 0)
        return call_failed(cx, sig, opts, status);
    ml_release(cx, mark);
    return true;
}
