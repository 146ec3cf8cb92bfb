/*
 * access - what one block touches, in its own iters. The walk itself is core/script's
 * region inference, which the text reader uses for omitted regions too; here stands what
 * rewrites need of it: fresh regions of a changed block. Source: ir-and-analysis 6.1.
 */
#include "moonloop/core/script/infer.h"
#include "moonloop/verify/facts.h"

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

/* ---- accesses whose place cannot be told */

typedef struct Told {
    const ml_Buffer *buf;
    bool left_out, nested; /* an index that uses the buffer itself */
} Told;

static bool look_untold(const ml_Expr *e, void *user)
{
    bool *untold = user;

    *untold |=
        e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_CALL || ml_dtype_is_float(e->type);
    return !*untold;
}

bool ml_is_told(const ml_Expr *index)
{
    bool untold = false;

    ml_expr_visit(index, look_untold, &untold);
    return !untold;
}

static bool is_untold(Told *t, const ml_Expr *const *index, size_t n)
{
    bool untold = false;

    for (size_t d = 0; d < n; d++) {
        untold |= !ml_is_told(index[d]);
        t->nested |= ml_expr_uses_buffer(index[d], t->buf);
    }
    t->left_out |= untold;
    return untold;
}

static const ml_Expr *told_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Told *t = user;

    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == t->buf->uid &&
        is_untold(t, e->args, ml_load_rank(e)))
        return e->type.lanes == 1 ? ml_const(cx, e->type, 0) : e;
    return ml_expr_map_args(cx, e, told_expr, user);
}

static const ml_Stmt *told_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Told *t = user;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == t->buf->uid &&
        is_untold(t, ml_as_store(s)->indices, ml_as_store(s)->n))
        return ml_evaluate(cx, told_expr(cx, ml_as_store(s)->value, user));
    return ml_stmt_map(cx, s,
                       &(ml_Mapper){.stmt = told_stmt, .expr = told_expr, .user = user});
}

bool ml_block_told_access(ml_Ctx *cx, const ml_Func *f, const ml_Block *b,
                          const ml_Buffer *buf, ml_Access *out)
{
    Told t = {.buf = buf};
    ml_Block nb = *b;

    nb.body = told_stmt(cx, b->body, &t);
    if (b->init)
        nb.init = told_stmt(cx, b->init, &t);
    if (!t.left_out || t.nested || !nb.body)
        return false;
    ml_block_access(cx, f, ml_as_block(ml_block_from(cx, &nb)), out);
    return ml_ok(cx);
}

/* ---- explicit regions: positions of a list that an annotation says to keep as they stand
 */

static const char *const EXPLICIT[2] = {"explicit_read_region", "explicit_write_region"};
static const char *const TRUSTED[2] = {"trusted_read_region", "trusted_write_region"};

static const ml_Region *listed(const ml_Block *b, const char *key, bool write,
                               const ml_Buffer *buf)
{
    const ml_Value *list = ml_dict_get(b->annotations, key);
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

static const ml_Region *explicit_region(const ml_Block *b, bool write, const ml_Buffer *buf)
{
    return listed(b, EXPLICIT[write], write, buf);
}

/* The annotation for the new list: positions may have moved. What is trusted is so as long
 * as it stays. */
static const ml_Value *moved(ml_Ctx *cx, const ml_Block *old, const ml_Value *notes,
                             const char *key, bool write, const ml_Region *v, size_t n)
{
    ML_VEC(const ml_Value *) at = {0};

    if (!ml_dict_get(notes, key))
        return notes;
    for (size_t k = 0; k < n; k++) {
        const ml_Region *r = listed(old, key, write, v[k].buffer);

        if (r && (key == EXPLICIT[write] || r->ranges == v[k].ranges))
            ml_push(cx, &at, ml_val_int(cx, (int64_t)k));
    }
    return at.n || key == EXPLICIT[write]
               ? ml_dict_with(cx, notes, key, ml_val_list(cx, at.v, at.n))
               : ml_dict_without(cx, notes, key);
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

typedef struct Own {
    const ml_Block *b;
    bool gone; /* a variable that is no iter of the block, nor a size */
} Own;

static bool look_for_others(const ml_Expr *e, void *user)
{
    Own *o = user;
    bool known = e->kind != ML_EXPR_VAR || e->as.var->is_size;

    for (size_t k = 0; !known && k < o->b->n_iters; k++)
        known = o->b->iters[k].var->uid == e->as.var->uid;
    o->gone |= !known;
    return !o->gone;
}

static bool has(const ml_UidVec *v, ml_Uid uid)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k] == uid)
            return true;
    return false;
}

/* An explicit region that holds what is accessed, or all of it that can be told; else NULL.
 */
static const ml_Region *still_said(ml_Ctx *cx, ml_Arith *ar, const ml_Func *f,
                                   const ml_Block *b, bool write, const ml_UidVec *untold,
                                   const ml_Region *part)
{
    const ml_Region *said = explicit_region(b, write, part->buffer);
    ml_Access a = {0};
    Own own = {b, false};

    if (!said || holds(ar, said, part))
        return said;
    if (!write && has(untold, part->buffer->uid))
        return NULL;
    for (size_t d = 0; d < said->buffer->rank; d++) {
        ml_expr_visit(said->ranges[d].min, look_for_others, &own);
        ml_expr_visit(said->ranges[d].extent, look_for_others, &own);
    }
    if (own.gone || !ml_block_told_access(cx, f, b, part->buffer, &a))
        return NULL;
    size_t n = write ? a.writes.n : a.reads.n;

    for (size_t k = 0; k < n; k++) {
        const ml_Region *r = &(write ? a.writes.v : a.reads.v)[k];

        if (r->buffer->uid == part->buffer->uid && !holds(ar, said, r))
            return NULL;
    }
    return said;
}

const ml_Block *ml_block_reinfer(ml_Ctx *cx, const ml_Func *f, const ml_Block *b)
{
    return ml_block_reinfer_with(cx, f, b, &(ml_UidVec){0});
}

typedef struct Untold {
    ml_Ctx *cx;
    ml_UidVec *out;
} Untold;

static bool see_untold(const ml_Expr *e, void *user)
{
    const Untold *u = user;

    for (size_t d = 0; e->kind == ML_EXPR_LOAD && d < ml_load_rank(e); d++)
        if (!ml_is_told(e->args[d])) {
            ml_push(u->cx, u->out, e->as.buffer->uid);
            break;
        }
    return true;
}

void ml_untold_loads(ml_Ctx *cx, const ml_Expr *e, ml_UidVec *out)
{
    ml_expr_visit(e, see_untold, &(Untold){cx, out});
}

const ml_Block *ml_block_reinfer_with(ml_Ctx *cx, const ml_Func *f, const ml_Block *b,
                                      const ml_UidVec *untold)
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
        const ml_Region *r = still_said(cx, ar, f, b, false, untold, &a.reads.v[k]);

        a.reads.v[k] = r ? *r : a.reads.v[k];
    }
    for (size_t k = 0; k < a.writes.n; k++) {
        const ml_Region *w = still_said(cx, ar, f, b, true, untold, &a.writes.v[k]);

        a.writes.v[k] = w ? *w : a.writes.v[k];
    }
    nb.reads = a.reads.v;
    nb.n_reads = (uint32_t)a.reads.n;
    nb.writes = a.writes.v;
    nb.n_writes = (uint32_t)a.writes.n;
    for (int w = 0; w < 2; w++) {
        const char *const keys[2] = {EXPLICIT[w], TRUSTED[w]};

        for (size_t k = 0; k < 2; k++)
            nb.annotations = moved(cx, b, nb.annotations, keys[k], w,
                                   w ? nb.writes : nb.reads, w ? nb.n_writes : nb.n_reads);
    }
    return ml_as_block(ml_block_from(cx, &nb));
}

void ml_block_keep_said(ml_Ctx *cx, const ml_Block *old, ml_Block *b)
{
    for (int w = 0; w < 2; w++) {
        const char *const keys[2] = {EXPLICIT[w], TRUSTED[w]};
        const ml_Region *v = w ? b->writes : b->reads;
        size_t n = w ? b->n_writes : b->n_reads;

        for (size_t k = 0; k < 2; k++) {
            ML_VEC(const ml_Value *) at = {0};

            if (!ml_dict_get(b->annotations, keys[k]))
                continue;
            for (size_t m = 0; m < n; m++) {
                const ml_Region *r = listed(old, keys[k], w, v[m].buffer);

                if (r && r->ranges == v[m].ranges)
                    ml_push(cx, &at, ml_val_int(cx, (int64_t)m));
            }
            b->annotations = at.n ? ml_dict_with(cx, b->annotations, keys[k],
                                                 ml_val_list(cx, at.v, at.n))
                                  : ml_dict_without(cx, b->annotations, keys[k]);
        }
    }
}
