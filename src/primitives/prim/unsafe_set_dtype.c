/*
 * unsafe_set_dtype - another element type for a buffer that a block writes.
 *
 * What is stored is cast to the new type, what is loaded back to the old one, in views too:
 * the program stays well-typed, its values may change. Source: primitives 11,
 * unsafe_set_dtype.
 */
#include "moonloop/primitives/rewrite/retype.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, BUFFER, DTYPE };

static bool unsafe_set_dtype(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[BLOCK].uid);
    const ml_Buffer *buf = b->writes[c->args[BUFFER].i].buffer;
    const char *name = c->args[DTYPE].s;
    ml_Dtype t;

    if (!ml_dtype_parse(ml_str(name), &t) || t.lanes != 1 ||
        !(ml_dtype_is_int(t) || ml_dtype_is_float(t) || ml_dtype_eq(t, ML_DT_BOOL)))
        return ml_bad_argument(cx, "dtype: \"%s\" is no type of elements", name);
    if (ml_dtype_eq(t, buf->type))
        return true;
    ml_Uid site = ml_retype_site(c, buf, b);
    ml_Retype r;

    if (!site)
        return false;
    (void)ml_retype_begin(&r, cx, buf, t, NULL, NULL);
    if (!ml_retype_install(c, &r, site, buf, b))
        return false;
    ml_call_note(c, "this primitive may change results; :check compares with v0");
    return true;
}

/* B_global float32 → float16 */
static void describe(const ml_Call *c, ml_Program before, ml_Text *out)
{
    const ml_Stmt *was = ml_index_node(before.index, c->args[BLOCK].uid),
                  *now = ml_index_node(c->p.index, c->args[BLOCK].uid);

    if (!was || !now)
        return;
    const ml_Buffer *a = ml_as_block(was)->writes[c->args[BUFFER].i].buffer,
                    *b = ml_as_block(now)->writes[c->args[BUFFER].i].buffer;

    ml_text_fmt(out, "%s %s", ml_name_of(c->sched, b->uid), ml_dtype_name(c->cx, a->type));
    if (!ml_dtype_eq(a->type, b->type))
        ml_text_fmt(out, " → %s", ml_dtype_name(c->cx, b->type));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that writes the buffer"),
    ML_PARAM_ATTR("buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("dtype", ML_P_STRING, "the new type of its elements"),
};

const ml_Primitive ml_prim_unsafe_set_dtype = {
    ML_PRIM(unsafe_set_dtype, "UnsafeSetDType"),
    .group = "storage",
    .summary = "give a buffer another element type, whatever becomes of the values",
    .help = "Stores cast to the new type, loads back to the old one. Values may change.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .describe = describe,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BAD_ARGUMENT,
                                     ML_E_BUFFER_NOT_ALLOCATED, ML_E_NOT_SUPPORTED,
                                     ML_E_OPAQUE_ACCESS, ML_E_OK},
};
