/*
 * unsafe_set_dtype - another element type for a buffer that a block writes.
 *
 * What is stored is cast to the new type, what is loaded back to the old one, in views too:
 * the program stays well-typed, its values may change. Source: primitives 11,
 * unsafe_set_dtype.
 */
#include "moonloop/primitives/prim.h"

#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, BUFFER, DTYPE };

typedef struct Retype {
    ml_Ctx *cx;
    ml_Map *fresh; /* uid of the buffer or a view -> the new one */
    ml_Map *data;  /* uids of their data pointers */
    ml_Dtype type;
    const ml_Block *at, *opaque;
    bool is_opaque;
} Retype;

static void add(Retype *r, const ml_Buffer *b)
{
    ml_Buffer nb = *b;

    nb.type = r->type;
    ml_map_set(r->cx, r->fresh, b->uid, ml_buffer_from(r->cx, &nb, true));
    ml_map_set(r->cx, r->data, b->data->uid, b);
}

/* Outer views come before views of them. */
static bool add_views(const ml_Stmt *s, void *user)
{
    Retype *r = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_matches; k++)
        if (ml_map_has(r->fresh, b->matches[k].source.buffer->uid) &&
            !ml_map_has(r->fresh, b->matches[k].target->uid))
            add(r, b->matches[k].target);
    return true;
}

static const ml_Buffer *retype_buffer(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                                      void *user)
{
    Retype *r = user;
    const ml_Buffer *to = ml_map_get(r->fresh, b->uid);

    (void)cx;
    (void)is_definition;
    return to ? to : b;
}

static void found_opaque(Retype *r)
{
    r->is_opaque = true;
    r->opaque = r->opaque ? r->opaque : r->at;
}

static const ml_Expr *retype_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Retype *r = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(r->data, e->as.var->uid))
        found_opaque(r);
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD &&
        ml_map_has(r->fresh, e->args[0]->as.buffer->uid)) {
        found_opaque(r);
        return e;
    }
    const ml_Expr *m = ml_expr_map_args(cx, e, retype_expr, user);
    const ml_Buffer *to =
        m->kind == ML_EXPR_LOAD ? ml_map_get(r->fresh, m->as.buffer->uid) : NULL;

    if (!to)
        return m;
    size_t n = ml_load_rank(m);

    return ml_cast(cx, m->type,
                   n < m->n_args ? ml_load_masked(cx, to, m->args, n, m->args[n])
                                 : ml_load(cx, to, m->args, n));
}

static const ml_Stmt *retype_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Retype *r = user;
    const ml_Block *at = r->at;

    if (s->kind == ML_STMT_STORE) {
        const ml_Store *st = ml_as_store(s);
        const ml_Buffer *to = ml_map_get(r->fresh, st->buffer->uid);
        const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, st->n + 1u);
        const ml_Expr *value = retype_expr(cx, st->value, r);
        const ml_Expr *mask = st->mask ? retype_expr(cx, st->mask, r) : NULL;
        bool changed = to || value != st->value || mask != st->mask;
        ml_Dtype t = r->type;

        for (size_t d = 0; d < st->n; d++) {
            idx[d] = retype_expr(cx, st->indices[d], r);
            changed |= idx[d] != st->indices[d];
        }
        if (!changed)
            return s;
        t.lanes = value->type.lanes;
        return ml_stmt_at(cx,
                          ml_store(cx, to ? to : st->buffer,
                                   to ? ml_cast(cx, t, value) : value, idx, st->n, mask),
                          s->span);
    }
    if (s->kind == ML_STMT_BLOCK)
        r->at = ml_as_block(s);
    s = ml_stmt_map(cx, s,
                    &(ml_Mapper){.stmt = retype_stmt,
                                 .expr = retype_expr,
                                 .buffer = retype_buffer,
                                 .user = user});
    r->at = at;
    return s;
}

static bool unsafe_set_dtype(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[BLOCK].uid);
    const ml_Buffer *buf = b->writes[c->args[BUFFER].i].buffer;
    const char *name = c->args[DTYPE].s;
    bool is_match = false;
    ml_Dtype t;

    if (!ml_dtype_parse(ml_str(name), &t) || t.lanes != 1 ||
        !(ml_dtype_is_int(t) || ml_dtype_is_float(t) || ml_dtype_eq(t, ML_DT_BOOL)))
        return ml_bad_argument(cx, "dtype: \"%s\" is no type of elements", name);
    if (ml_dtype_eq(t, buf->type))
        return true;
    ml_Uid site = ml_buffer_site(c->p, c->func, buf, &is_match);

    if (!site || is_match)
        return ml_fail_not_allocated(c, buf, b);
    if (buf->type.lanes != 1)
        return ml_fail_as(cx, ML_E_NOT_SUPPORTED, "{0} holds vectors", ML_BUFFER(buf));
    Retype r = {.cx = cx, .fresh = ml_map_new(cx), .data = ml_map_new(cx), .type = t};
    const ml_Stmt *root = ml_index_node(c->p.index, site);

    add(&r, buf);
    ml_stmt_visit(root, add_views, &r);
    const ml_Stmt *st = retype_stmt(cx, root, &r);

    if (r.is_opaque)
        return ml_fail_opaque(c, buf, r.opaque ? r.opaque : b);
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, site, st);
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
