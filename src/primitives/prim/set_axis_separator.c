/*
 * set_axis_separator - into which groups the dimensions of a buffer fall when it becomes
 * flat.
 *
 * Only says so: the buffer is the same one with other separators, wherever it occurs. Views
 * of as many dimensions follow; others get as many separators at 0.
 * Source: primitives 11, set_axis_separator.
 */
#include "moonloop/primitives/layout/layout.h"

enum { BLOCK, BUFFER, SEPARATORS };

static const ml_Buffer *separated(ml_Ctx *cx, const ml_Buffer *b, const int32_t *v,
                                  size_t n)
{
    ml_Buffer nb = *b;

    nb.separators = v;
    nb.n_separators = (uint16_t)n;
    return ml_buffer_from(cx, &nb, false);
}

static bool read_list(ml_Call *c, const ml_Buffer *buf, int32_t *out)
{
    const ml_Value *list = c->args[SEPARATORS].value;
    int64_t last = 0;

    for (uint32_t k = 0; k < list->n; k++) {
        int64_t v = list->as.list[k]->as.i;

        if (v < 0 || v > buf->rank)
            return ml_fail_as(
                c->cx, ML_E_BAD_ARGUMENT,
                "axis separator {0} is outside [0, {1}], the dimensions of {2}",
                ML_NUMBER("separator", (long long)v),
                ML_NUMBER("rank", (unsigned)buf->rank), ML_BUFFER(buf));
        if (k > 0 && v <= last)
            return ml_fail_as(c->cx, ML_E_BAD_ARGUMENT,
                              "axis separators increase: {0} comes after {1}",
                              ML_NUMBER("separator", (long long)v),
                              ML_NUMBER("before", (long long)last), ML_BUFFER(buf));
        last = v;
        out[k] = (int32_t)v;
    }
    return true;
}

typedef struct Views {
    ml_Ctx *cx;
    ml_Subst *sub;
    ml_Map *moved; /* uids of the buffer and of views that follow */
    const ml_Buffer *fresh;
    const int32_t *zeros;
    const char *other; /* a view of another rank, or NULL */
} Views;

/* Outer views come before views of them. */
static bool follow_views(const ml_Stmt *s, void *user)
{
    Views *v = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Buffer *t = b->matches[k].target;
        bool same = t->rank == v->fresh->rank;

        if (!ml_map_has(v->moved, b->matches[k].source.buffer->uid) ||
            ml_map_has(v->moved, t->uid))
            continue;
        ml_map_set(v->cx, v->moved, t->uid, t);
        ml_subst_buffer(v->cx, v->sub, t,
                        separated(v->cx, t, same ? v->fresh->separators : v->zeros,
                                  v->fresh->n_separators));
        if (!same)
            v->other = t->name;
    }
    return true;
}

static bool is_now(const ml_Buffer *b, const int32_t *v, size_t n)
{
    if (b->n_separators != n)
        return false;
    for (size_t k = 0; k < n; k++)
        if (b->separators[k] != v[k])
            return false;
    return true;
}

bool ml_separate(ml_Call *c, const ml_BufferHome *home, const ml_Buffer *buf,
                 const int32_t *list, size_t n)
{
    ml_Ctx *cx = c->cx;
    ml_Subst sub = {0};

    if (is_now(buf, list, n))
        return true;
    Views v = {.cx = cx,
               .sub = &sub,
               .moved = ml_map_new(cx),
               .fresh = separated(cx, buf, list, n),
               .zeros = ML_ARRAY(cx, int32_t, n + 1)};
    const ml_Stmt *st = ml_index_node(c->p.index, home->scope);

    ml_map_set(cx, v.moved, buf->uid, buf);
    ml_subst_buffer(cx, &sub, buf, v.fresh);
    ml_stmt_visit(st, follow_views, &v);
    if (!ml_layout_install(c, home, buf, v.fresh, ml_stmt_subst(cx, st, &sub)))
        return false;
    if (v.other)
        ml_call_note(c, "view %s has another number of dimensions: its separators are 0",
                     v.other);
    return true;
}

static bool set_axis_separator(ml_Call *c)
{
    const ml_Given *g = c->args;
    const ml_Block *b = ml_call_block(c, g[BLOCK].uid);
    const ml_Buffer *buf = (g[BUFFER].b ? b->writes : b->reads)[g[BUFFER].i].buffer;
    size_t n = g[SEPARATORS].value->n;
    int32_t *list = ML_ARRAY(c->cx, int32_t, n + 1);
    ml_BufferHome home;

    return ml_buffer_home(c, b, buf, &home) && read_list(c, buf, list) &&
           ml_separate(c, &home, buf, list, n);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that uses the buffer"),
    ML_PARAM_ATTR("buffer", ML_P_BUFFER, "which of the buffers that it uses"),
    ML_PARAM_ATTR("axis_separators", ML_P_INTS,
                  "positions between dimensions, increasing; {}: none"),
};

const ml_Primitive ml_prim_set_axis_separator = {
    ML_PRIM(set_axis_separator, "SetAxisSeparator"),
    .group = "layout",
    .summary = "keep groups of a buffer's dimensions apart when it becomes flat",
    .help =
        "The dimensions before, between and after the positions become one physical axis "
        "each.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BUFFER_NOT_FOUND,
                                     ML_E_BUFFER_IS_VIEW, ML_E_BUFFER_NOT_ALLOCATED,
                                     ML_E_BAD_ARGUMENT, ML_E_OK},
};
