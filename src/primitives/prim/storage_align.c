/*
 * storage_align - ask that the stride of one axis of a buffer be k*factor + offset.
 *
 * Only sets the block annotation buffer_dim_align, a list of [buffer_index, axis, factor,
 * offset]; lowering lays the buffer out. Source: primitives 11, storage_align.
 */
#include "moonloop/primitives/prim.h"

#include "moonloop/verify/view.h"

enum { BLOCK, BUFFER, AXIS, FACTOR, OFFSET };

static const char KEY[] = "buffer_dim_align";

/* Four integers. */
static bool well_formed(const ml_Value *entry)
{
    if (entry->kind != ML_VAL_LIST || entry->n != 4)
        return false;
    for (size_t k = 0; k < 4; k++)
        if (entry->as.list[k]->kind != ML_VAL_INT)
            return false;
    return true;
}

static bool storage_align(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[BLOCK].uid);
    int64_t index = c->args[BUFFER].i, axis = c->args[AXIS].i;
    const ml_Buffer *buf = b->writes[index].buffer;
    bool is_match = false;

    if (c->args[FACTOR].i <= 0)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT, "factor is {0}, it must be positive",
                          ML_NUMBER("factor", (long long)c->args[FACTOR].i));
    if (axis < -(int64_t)buf->rank || axis >= (int64_t)buf->rank)
        return ml_fail_as(cx, ML_E_BAD_ARGUMENT, "axis is {0}, {1} has {2} dimensions",
                          ML_NUMBER("axis", (long long)axis), ML_BUFFER(buf),
                          ML_NUMBER("rank", (int)buf->rank));
    if (axis < 0)
        axis += buf->rank;
    if (!ml_buffer_site(c->p, c->func, buf, &is_match) || is_match)
        return ml_fail_not_allocated(c, buf, b);

    const ml_Value *old = ml_dict_get(b->annotations, KEY);

    if (old && old->kind != ML_VAL_LIST)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("the annotation buffer_dim_align is no list"), ML_BLOCK(b));
    size_t n = old ? old->n : 0, at = n;
    const ml_Value **list = ML_ARRAY(cx, const ml_Value *, n + 1);

    for (size_t k = 0; k < n; k++) {
        const ml_Value *e = old->as.list[k];

        if (!well_formed(e))
            return ml_fail_as(cx, ML_E_BAD_ARGUMENT,
                              "entry {0} of the annotation buffer_dim_align is not a list "
                              "of four integers",
                              ML_NUMBER("entry", k), ML_BLOCK(b));
        list[k] = e;
        if (e->as.list[0]->as.i == index && e->as.list[1]->as.i == axis)
            at = k;
    }
    const ml_Value *entry[4] = {ml_val_int(cx, index), ml_val_int(cx, axis),
                                ml_val_int(cx, c->args[FACTOR].i),
                                ml_val_int(cx, c->args[OFFSET].i)};
    ml_Block nb = *b;

    list[at] = ml_val_list(cx, entry, 4);
    nb.annotations =
        ml_dict_with(cx, b->annotations, KEY, ml_val_list(cx, list, at == n ? n + 1 : n));
    const ml_Stmt *was = ml_call_func(c)->body;
    const char *why = NULL, *before = NULL;

    ml_call_replace(c, b->tag, ml_block_from(cx, &nb));
    /* Views that fix the strides: nothing could be made of the two together. */
    const ml_Stmt *body = ml_call_func(c)->body;

    if (!body->has_view)
        return ml_ok_or_fail(cx);
    const ml_Block *user =
        ml_views_misfit(cx, c->p, c->func, buf, ml_align_asked(cx, body, buf), &why);

    if (!user ||
        ml_views_misfit(cx, c->p, c->func, buf, ml_align_asked(cx, was, buf), &before))
        return ml_ok_or_fail(cx);
    return ml_fail(cx, ML_E_WF_MATCH, ML_BUFFER(buf), ML_TEXT(why), ML_BLOCK(user));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that writes the buffer"),
    ML_PARAM_ATTR("buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("axis", ML_P_INT, "the dimension; negative counts from the end"),
    ML_PARAM_ATTR("factor", ML_P_INT, "the stride is a multiple of this ..."),
    ML_PARAM_ATTR("offset", ML_P_INT, "... plus this"),
};

const ml_Primitive ml_prim_storage_align = {
    ML_PRIM(storage_align, "StorageAlign"),
    .group = "storage",
    .summary = "align the stride of a buffer's axis",
    .help =
        "Asks that the stride of the axis be k*factor + offset elements, to avoid bank\n"
        "conflicts. Only an annotation; lowering lays the buffer out.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BAD_ARGUMENT,
                                     ML_E_BUFFER_NOT_ALLOCATED, ML_E_WF_MATCH, ML_E_OK},
};
