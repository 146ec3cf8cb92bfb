/*
 * access - what one block touches, in its own iters. The walk itself is core/script's
 * region inference, which the text reader uses for omitted regions too; here stands what
 * rewrites need of it: fresh regions of a changed block. Source: ir-and-analysis 6.1.
 */
#include "core/script/infer.h"
#include "verify/facts.h"

static bool has_handle(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE;
    return !*found && (e->flags & ML_X_HAS_CALL);
}

static void handle_in_role(const ml_Expr *e, ml_Role role, void *user)
{
    bool *found = user;

    (void)role;
    if (!*found)
        ml_expr_visit(e, has_handle, user);
}

static bool handle_in_stmt(const ml_Stmt *s, void *user)
{
    bool *found = user;

    if (!*found)
        ml_stmt_exprs(s, handle_in_role, user);
    return !*found;
}

/* Outside of the block its own buffers hold nothing: a dimension that goes by one of them
 * is taken whole. */
static ml_Region seen_outside(ml_Ctx *cx, const ml_Block *b, ml_Region r)
{
    ml_Range *out = NULL;

    for (size_t d = 0; d < r.buffer->rank; d++)
        for (size_t k = 0; k < b->n_allocs; k++) {
            const ml_Expr *n = r.buffer->shape[d];

            if (!ml_expr_uses_buffer(r.ranges[d].min, b->allocs[k]) &&
                !ml_expr_uses_buffer(r.ranges[d].extent, b->allocs[k]))
                continue;
            if (!out) {
                out = ML_ARRAY(cx, ml_Range, r.buffer->rank);
                memcpy(out, r.ranges, r.buffer->rank * sizeof *out);
                r.ranges = out;
            }
            out[d] = (ml_Range){ml_int(cx, n->type, 0), n};
        }
    return r;
}

void ml_block_access(ml_Ctx *cx, const ml_Func *f, const ml_Block *b, ml_Access *out)
{
    ml_Arith *ar = ml_arith_new(cx);
    const ml_Map *pointers = NULL;
    ml_Inferred got = {0};
    bool handles = false;
    ml_Block bare = *b;

    /* What the signature says now is not looked at. */
    bare.n_reads = bare.n_writes = 0;
    if (f)
        ml_arith_bind_params(ar, f);
    ml_arith_bind_iters(ar, b);
    ml_stmt_visit(&bare.base, handle_in_stmt, &handles);
    if (f && handles) /* only then the whole function is looked at */
        pointers = ml_infer_pointers(cx, f);
    if (!ml_infer_regions(cx, ar, pointers, &bare, &got))
        return;
    for (size_t k = 0; k < got.reads.n; k++)
        ml_push(cx, &out->reads, seen_outside(cx, b, got.reads.v[k]));
    for (size_t k = 0; k < got.writes.n; k++)
        ml_push(cx, &out->writes, seen_outside(cx, b, got.writes.v[k]));
    for (size_t k = 0; k < got.opaque.n; k++)
        ml_push(cx, &out->opaque, got.opaque.v[k]);
}

/* ---- explicit regions: positions of a list that an annotation says to keep as they stand
 */

static const ml_Region *explicit_region(const ml_Block *b, bool write, const ml_Buffer *buf)
{
    const ml_Value *list = ml_dict_get(b->annotations, write ? "explicit_write_region"
                                                             : "explicit_read_region");
    size_t count = !list ? 0 : list->kind == ML_VAL_LIST ? list->n : 1;

    for (size_t k = 0; k < count; k++) {
        const ml_Value *at = list->kind == ML_VAL_LIST ? list->as.list[k] : list;

        if (at->kind != ML_VAL_INT || at->as.i < 0 ||
            at->as.i >= (int64_t)(write ? b->n_writes : b->n_reads))
            continue;
        const ml_Region *r = &(write ? b->writes : b->reads)[at->as.i];

        if (r->buffer->uid == buf->uid)
            return r;
    }
    return NULL;
}

/* The annotation for the new list: positions may have moved. */
static const ml_Value *moved(ml_Ctx *cx, const ml_Block *old, const ml_Value *notes,
                             bool write, const ml_Region *v, size_t n)
{
    const char *key = write ? "explicit_write_region" : "explicit_read_region";
    ML_VEC(const ml_Value *) at = {0};

    if (!ml_dict_get(notes, key))
        return notes;
    for (size_t k = 0; k < n; k++)
        if (explicit_region(old, write, v[k].buffer))
            ml_push(cx, &at, ml_val_int(cx, (int64_t)k));
    return ml_dict_with(cx, notes, key, ml_val_list(cx, at.v, at.n));
}

/* Whether the region holds all of another one: of a block that was rewritten it may speak
 * of iters that are gone, or of less than is accessed now. */
static bool holds(ml_Arith *ar, const ml_Region *r, const ml_Region *part)
{
    for (size_t d = 0; d < r->buffer->rank; d++)
        if (!ml_interval_includes(
                ar, ml_interval_range(ar, r->ranges[d].min, r->ranges[d].extent),
                ml_interval_range(ar, part->ranges[d].min, part->ranges[d].extent)))
            return false;
    return true;
}

const ml_Block *ml_block_reinfer(ml_Ctx *cx, const ml_Func *f, const ml_Block *b)
{
    ml_Access a = {0};
    ml_Block nb = *b;
    ml_Arith *ar = ml_arith_new(cx);

    if (f)
        ml_arith_bind_params(ar, f);
    ml_arith_bind_iters(ar, b);
    ml_block_access(cx, f, b, &a);
    if (ml_error(cx))
        return NULL;
    for (size_t k = 0; k < a.opaque.n; k++) {
        const ml_Region *r = explicit_region(b, false, a.opaque.v[k]);
        const ml_Region *w = explicit_region(b, true, a.opaque.v[k]);

        if (!r && !w) {
            ml_fail(cx, ML_E_REGION_MISSING, ML_BLOCK(b), ML_BUFFER(a.opaque.v[k]));
            return NULL;
        }
        if (r)
            ml_push(cx, &a.reads, *r);
        if (w)
            ml_push(cx, &a.writes, *w);
    }
    for (size_t k = 0; k < a.reads.n; k++) {
        const ml_Region *r = explicit_region(b, false, a.reads.v[k].buffer);

        a.reads.v[k] = r && holds(ar, r, &a.reads.v[k]) ? *r : a.reads.v[k];
    }
    for (size_t k = 0; k < a.writes.n; k++) {
        const ml_Region *w = explicit_region(b, true, a.writes.v[k].buffer);

        a.writes.v[k] = w && holds(ar, w, &a.writes.v[k]) ? *w : a.writes.v[k];
    }
    nb.reads = a.reads.v;
    nb.n_reads = (uint32_t)a.reads.n;
    nb.writes = a.writes.v;
    nb.n_writes = (uint32_t)a.writes.n;
    nb.annotations = moved(cx, b, nb.annotations, false, nb.reads, nb.n_reads);
    nb.annotations = moved(cx, b, nb.annotations, true, nb.writes, nb.n_writes);
    return ml_as_block(ml_block_from(cx, &nb));
}
