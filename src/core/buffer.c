/*
 * buffer - making buffers: an identity plus an immutable description.
 *
 * Two buffers with equal descriptions are still different buffers. The defaults (scope
 * global, alignment 64, offset 0, offset factor 1) are filled in here, so that no reader
 * has to know them. Source: ir-and-analysis 1.4.
 */
#include "moonloop/core/stmt.h"

enum { ML_DEFAULT_ALIGN = 64 };

ml_Dtype ml_buffer_index_dtype(const ml_Buffer *b)
{
    return b->rank ? b->shape[0]->type : ML_DT_I32;
}

const ml_Buffer *ml_buffer_from(ml_Ctx *cx, const ml_Buffer *fields, bool fresh)
{
    ml_Buffer *b = ml_alloc(cx, sizeof(*b));

    *b = *fields;
    b->uid = ml_fresh_uid(cx);
    if (!b->name)
        b->name = "buffer";
    if (!b->scope.name)
        b->scope = ml_scope("global");
    if (b->align == 0)
        b->align = ML_DEFAULT_ALIGN;
    if (b->offset_factor == 0)
        b->offset_factor = 1;
    if (!b->elem_offset)
        b->elem_offset = ml_int(cx, ml_buffer_index_dtype(b), 0);
    ML_ASSERT(b->n_strides == 0 || b->n_strides == b->rank);
    if (fresh || !b->data)
        b->data = ml_var_new_handle(cx, b->name, b->type, b->scope.name);
    return b;
}

const ml_Buffer *ml_buffer_new(ml_Ctx *cx, const char *name, ml_Dtype type,
                               const ml_Expr *const *shape, size_t rank, const char *scope)
{
    const ml_Expr **copy = ML_ARRAY(cx, const ml_Expr *, rank ? rank : 1);
    ml_Buffer b = {.type = type, .rank = (uint16_t)rank};

    ML_ASSERT(rank <= UINT16_MAX);
    if (rank)
        memcpy(copy, shape, rank * sizeof(*copy));
    b.shape = copy;
    b.name = name ? ml_strdup(cx, ml_str(name)) : NULL;
    b.scope = ml_scope(scope);
    if (!b.scope.plain)
        b.scope.name = ml_strdup(cx, ml_str(scope));
    return ml_buffer_from(cx, &b, true);
}

int64_t ml_buffer_const_size(const ml_Buffer *b)
{
    bool overflow = false, empty = false;
    int64_t n = 1;

    for (size_t k = 0; k < b->rank; k++) {
        const ml_Expr *e = b->shape[k];

        if (!ml_is_const_int(e) || e->as.i < 0)
            return -1;
        empty |= e->as.i == 0;
        overflow |= __builtin_mul_overflow(n, e->as.i, &n);
    }
    if (empty)
        return 0;
    return overflow ? -1 : n;
}
