/*
 * gen_func - parameters, symbolic sizes and calls.
 *
 * Sizes are defined by the shapes of the arguments, left to right over all of them: a
 * variable's first occurrence defines it, later ones and compound expressions must be
 * equal. A called function is compiled in place, its buffers over the caller's memory.
 * Source: lowering-and-codegen 5.3.
 */
#include "moonloop/codegen/interp/code.h"

static bool bad(ml_Gen *g, const char *text)
{
    g->failed = true;
    return ml_fail(g->cx, ML_E_BAD_RUN_ARGUMENT, ML_TEXT(text));
}

static bool scalar_argument(ml_Gen *g, const ml_Var *v, const ml_RunArg *a)
{
    if (v->type.lanes != 1 || ml_lane_bytes(v->type) == 0)
        return true; /* a pointer without a buffer: any use of it fails by itself */
    if (ml_dtype_is_float(v->type)) {
        ml_gen_set_var(
            g, v, ml_gen_float(g, ml_round_to(g, ml_gen_rounding(g, v->type), a->f)), 0);
        return true;
    }
    if (ml_dtype_wrap(v->type, a->i) != a->i)
        return bad(g, ml_format(g->cx, "`%s`: %lld does not fit %s", v->hint,
                                (long long)a->i, ml_dtype_name(g->cx, v->type)));
    ml_gen_set_var(g, v, ml_gen_int(g, a->i), 0);
    return true;
}

/* Defines the size variables that are dimensions of b. */
static bool define_sizes(ml_Gen *g, const ml_Buffer *b, const ml_Tensor *t)
{
    int64_t stride = 1;

    if (t == NULL)
        return bad(g, ml_format(g->cx, "`%s` is a buffer and needs a tensor", b->name));
    if (!ml_dtype_eq(t->type, b->type))
        return bad(g,
                   ml_format(g->cx, "`%s`: expected %s, got %s", b->name,
                             ml_dtype_name(g->cx, b->type), ml_dtype_name(g->cx, t->type)));
    if (t->rank != b->rank)
        return bad(g, ml_format(g->cx, "`%s`: expected %u dimensions, got %u", b->name,
                                b->rank, t->rank));
    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *e = b->shape[d];
        if (e->kind == ML_EXPR_VAR && ml_map_get(g->vars, e->as.var->uid) == NULL) {
            if (ml_dtype_wrap(e->type, t->shape[d]) != t->shape[d])
                return bad(g, ml_format(g->cx, "`%s`: an extent does not fit its variable",
                                        b->name));
            ml_gen_bind_until(g, e->as.var, ml_gen_int(g, t->shape[d]), 0);
        } else if (e->kind == ML_EXPR_INT && e->as.i != t->shape[d]) {
            return bad(g,
                       ml_format(g->cx, "`%s`: extent %zu is %lld, expected %lld", b->name,
                                 d, (long long)t->shape[d], (long long)e->as.i));
        }
    }
    for (size_t d = b->n_strides; d-- > 0;) { /* tensors are compact */
        const ml_Expr *e = b->strides[d];
        if (e->kind == ML_EXPR_VAR && ml_map_get(g->vars, e->as.var->uid) == NULL)
            ml_gen_bind_until(g, e->as.var, ml_gen_int(g, stride), 0);
        if (__builtin_mul_overflow(stride, t->shape[d], &stride))
            stride = INT64_MAX;
    }
    if (b->elem_offset->kind == ML_EXPR_VAR &&
        ml_map_get(g->vars, b->elem_offset->as.var->uid) == NULL)
        ml_gen_bind_until(g, b->elem_offset->as.var, ml_gen_int(g, 0), 0);
    return true;
}

/* Compound dimensions and second occurrences: compared when the run begins. */
static void check_sizes(ml_Gen *g, const ml_Buffer *b, const uint32_t *extents)
{
    for (size_t d = 0; d < b->rank; d++)
        if (b->shape[d]->kind != ML_EXPR_INT)
            ml_gen_emit(
                g, ML_I_SAME, 0, 0, ml_gen_checked(g, b->shape[d]), extents[d],
                ml_gen_trap(g, ML_E_BAD_RUN_ARGUMENT,
                            ml_format(g->cx, "`%s`: extent %zu does not fit the others",
                                      b->name, d)));
}

static void tensor_argument(ml_Gen *g, const ml_Buffer *b, ml_Tensor *t)
{
    ml_Memory *mem = ml_gen_memory(g, b);
    ml_View *v = ml_gen_view(g, b, mem);
    uint32_t *extents = ML_ARRAY(g->cx, uint32_t, b->rank + 1u);
    int64_t stride = 1;

    mem->data = t->data;
    mem->bytes = t->bytes;
    mem->defined = t->defined;
    if (mem->defined && mem->unit != t->lane)
        mem->defined = NULL; /* an alias of smaller elements: not tracked */
    for (size_t d = b->rank; d-- > 0;) {
        v->extent[d] = t->shape[d];
        v->stride[d] = stride;
        if (t->shape[d] > 0)
            stride *= t->shape[d];
        extents[d] = ml_gen_int(g, t->shape[d]);
    }
    check_sizes(g, b, extents);
    ml_gen_define(g, b, v, NULL);
}

/* A lowered function takes data pointers: its aliases lie over the tensor's memory. */
static void pointer_argument(ml_Gen *g, const ml_Var *v, ml_Tensor *t)
{
    const ml_Expr *n = ml_int(g->cx, ML_DT_I64, t->n);
    ml_Buffer b = *ml_buffer_new(g->cx, v->hint, t->type, &n, 1, "global");
    ml_Memory *mem;

    b.data = v;
    mem = ml_gen_memory(g, ml_buffer_from(g->cx, &b, false));
    mem->data = t->data;
    mem->bytes = t->bytes;
    mem->defined = mem->unit == t->lane ? t->defined : NULL;
}

bool ml_gen_func(ml_Gen *g, const ml_Func *f, const ml_RunArg *args, size_t n_args)
{
    ml_Label *end = ml_gen_label(g);
    ml_Frame frame = {NULL, f, end, 0, ml_gen_reg(g), false};

    if (n_args != f->n_params)
        return bad(g, ml_format(g->cx, "%s takes %u arguments, got %zu", f->name,
                                f->n_params, n_args));
    g->frame = &frame;
    g->func = f;
    ml_gen_private(g, f);
    (void)ml_gen_site(g, f->body);
    for (size_t k = 0; k < n_args; k++) {
        const ml_Var *v = f->params[k].var;

        if (f->params[k].buffer)
            continue;
        if (v->type.code == ML_HANDLE && args[k].tensor)
            pointer_argument(g, v, args[k].tensor);
        else if (!scalar_argument(g, v, &args[k]))
            return false;
    }
    for (size_t k = 0; k < n_args; k++)
        if (f->params[k].buffer && !define_sizes(g, f->params[k].buffer, args[k].tensor))
            return false;
    for (size_t k = 0; k < n_args; k++)
        if (f->params[k].buffer)
            tensor_argument(g, f->params[k].buffer, args[k].tensor);
    ml_gen_stmt(g, f->body);
    ml_gen_place(g, end);
    ml_gen_emit(g, ML_I_END, 0, frame.result, 0, 0, 0);
    g->frame = NULL;
    return !g->failed;
}

/* ---------------------------------------------------------------- calls */

/* The caller's buffer that a pointer argument means: its data pointer, or its first
 * element. */
static const ml_Buffer *pointed(ml_Gen *g, const ml_Expr *e)
{
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD) {
        for (size_t k = 0; k < ml_load_rank(e->args[0]); k++)
            if (!ml_is_int(e->args[0]->args[k], 0))
                return NULL;
        return e->args[0]->as.buffer;
    }
    if (e->kind != ML_EXPR_VAR)
        return NULL;
    for (size_t k = 0; k < g->views.n; k++)
        if (g->views.v[k]->buffer->data == e->as.var)
            return g->views.v[k]->buffer;
    return NULL;
}

static bool buffer_argument(ml_Gen *g, const ml_Buffer *b, const ml_Buffer *have)
{
    const ml_BufInfo *info = ml_gen_buffer(g, have);
    uint32_t *extents;
    ml_View *v;

    if (info == NULL)
        return false;
    if (info->view == NULL || !ml_dtype_eq(have->type, b->type) || have->rank != b->rank) {
        ml_gen_unsupported(
            g, ml_format(g->cx, "passing %s as %s: another shape or dtype, or a view",
                         have->name, b->name));
        return false;
    }
    extents = ML_ARRAY(g->cx, uint32_t, b->rank + 1u);
    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *e = b->shape[d];
        extents[d] = ml_gen_checked(g, have->shape[d]);
        if (e->kind == ML_EXPR_VAR && ml_map_get(g->vars, e->as.var->uid) == NULL)
            ml_gen_bind_until(g, e->as.var, extents[d], 0);
    }
    for (size_t d = 0; d < b->rank; d++)
        ml_gen_emit(
            g, ML_I_SAME, 0, 0, ml_gen_checked(g, b->shape[d]), extents[d],
            ml_gen_trap(g, ML_E_BAD_RUN_ARGUMENT,
                        ml_format(g->cx, "`%s`: extent %zu does not fit", b->name, d)));
    v = info->view;
    ml_map_set(g->cx, g->pointers, b->data->uid, v->mem);
    ml_gen_define(g, b, v, NULL);
    return true;
}

uint32_t ml_gen_inline(ml_Gen *g, const ml_Func *f, const ml_Expr *call)
{
    size_t skip = call->n_args > 0 && call->args[0]->kind == ML_EXPR_STRING ? 1 : 0;
    ml_Label *end = ml_gen_label(g);
    ml_Frame frame = {g->frame, f, end, g->par_depth, ml_gen_reg(g), g->kernel != NULL};
    size_t bound = g->bound.n, mark = ml_gen_memo_mark(g);
    ml_LoopLabels *labels = g->labels;
    uint32_t depth = 0, blocks = g->n_blocks;
    bool checked = g->checked;

    for (const ml_Frame *p = g->frame; p; p = p->up)
        depth += p->func == f;
    if (depth > 0 || call->n_args - skip != f->n_params) {
        ml_gen_unsupported(
            g, ml_format(g->cx,
                         depth ? "%s calling itself" : "calling %s with these arguments",
                         f->name));
        return frame.result;
    }
    ml_gen_private(g, f);
    for (uint32_t k = 0; k < f->n_params; k++) { /* scalars first: shapes may use them */
        const ml_Expr *a = call->args[skip + k];
        if (f->params[k].buffer == NULL && a->type.code < ML_HANDLE && a->type.lanes == 1)
            ml_gen_bind_until(g, f->params[k].var, ml_gen_lane(g, a, 0),
                              ml_gen_par_mask(g, a));
    }
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *have;
        if (f->params[k].buffer == NULL)
            continue;
        have = pointed(g, call->args[skip + k]);
        if (have == NULL) {
            ml_gen_unsupported(
                g, ml_format(g->cx, "a computed pointer passed to %s", f->name));
            return frame.result;
        }
        if (!buffer_argument(g, f->params[k].buffer, have))
            return frame.result;
    }
    g->frame = &frame;
    g->labels = NULL;
    ml_gen_stmt(g, f->body);
    g->labels = labels;
    g->frame = frame.up;
    g->n_blocks = blocks;
    g->checked = checked;
    ml_gen_memo_release(g, mark);
    ml_gen_unbind(g, bound);
    ml_gen_place(g, end);
    return frame.result;
}
