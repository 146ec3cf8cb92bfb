/*
 * intrin_signature - whether the functions of an intrinsic stay inside what their blocks
 * declare, and declare the same: tensorize puts the implementation where the description
 * was found, and whoever looks at the block afterwards goes by its regions.
 * Source: primitives 10, lowering-and-codegen 9.
 */
#include "moonloop/primitives/intrin.h"

#include "moonloop/core/walk.h"
#include "moonloop/verify/facts.h"

static bool is_known(const ml_Interval *i)
{
    return i->min && i->max && ml_is_const_int(i->min) && ml_is_const_int(i->max);
}

static bool before(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    return a && b && ml_promote(ml_arith_ctx(ar), &a, &b) && ml_prove_lt_expr(ar, a, b);
}

/* An index that goes by data or by bits of others is left to the run that compares the two:
 * that it is inside cannot be shown, nor that it is not. */
static bool is_outside(ml_Arith *ar, const ml_Range *said, const ml_Range *part)
{
    ml_Interval all = ml_interval_range(ar, said->min, said->extent);
    ml_Interval got = ml_interval_range(ar, part->min, part->extent);

    return !ml_interval_includes(ar, all, got) &&
           ((is_known(&all) && is_known(&got)) || before(ar, got.min, all.min) ||
            before(ar, all.max, got.max));
}

/* A declared region of the buffer holds the region; there is none: false. */
static bool holds(ml_Arith *ar, const ml_Region *said, size_t n, const ml_Region *part)
{
    for (size_t k = 0; k < n; k++) {
        bool in = said[k].buffer->uid == part->buffer->uid;

        for (size_t d = 0; d < part->buffer->rank && in; d++)
            in = !is_outside(ar, &said[k].ranges[d], &part->ranges[d]);
        if (in)
            return true;
    }
    return false;
}

static const ml_Stmt *without_blocks(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = without_blocks, .user = user};

    if (s->kind == ML_STMT_BLOCK)
        return ml_evaluate(cx, ml_i32(cx, 0));
    return s->has_block ? ml_stmt_map(cx, s, &m) : s;
}

static const char *outside(ml_Ctx *cx, const char *what, const ml_Block *b,
                           const char *does, const ml_Buffer *buf)
{
    return ml_format(cx, "the %s's block %s %s %s outside of what it declares", what,
                     b->name, does, buf->name);
}

/* What the block does itself is declared; what blocks inside read may be what it writes. */
static const char *check_block(ml_Ctx *cx, const char *what, const ml_Func *f,
                               const ml_Block *b)
{
    ml_Arith *ar = ml_arith_new(cx);
    ml_Access own = {0}, all = {0};
    ml_Block bare = *b;

    ml_arith_bind_params(ar, f);
    ml_arith_bind_iters(ar, b);
    bare.body = without_blocks(cx, b->body, NULL);
    ml_block_access(cx, f, ml_as_block(ml_block_from(cx, &bare)), &own);
    ml_block_access(cx, f, b, &all);
    for (size_t k = 0; k < own.reads.n; k++)
        if (!holds(ar, b->reads, b->n_reads, &own.reads.v[k]))
            return outside(cx, what, b, "reads", own.reads.v[k].buffer);
    for (size_t k = 0; k < all.reads.n; k++)
        if (!holds(ar, b->reads, b->n_reads, &all.reads.v[k]) &&
            !holds(ar, b->writes, b->n_writes, &all.reads.v[k]))
            return outside(cx, what, b, "reads", all.reads.v[k].buffer);
    for (size_t k = 0; k < all.writes.n; k++)
        if (!holds(ar, b->writes, b->n_writes, &all.writes.v[k]))
            return outside(cx, what, b, "writes", all.writes.v[k].buffer);
    for (size_t k = 0; k < all.opaque.n; k++) /* by its pointer: where is not known */
        if (!ml_intrin_region(b, all.opaque.v[k]))
            return outside(cx, what, b, "uses", all.opaque.v[k]);
    return NULL;
}

const char *ml_intrin_leaves_signature(ml_Ctx *cx, const char *what, const ml_Func *f)
{
    ml_StmtVec blocks = {0};
    const char *why = NULL;

    ml_push(cx, &blocks, &ml_func_root(f)->base);
    ml_all_blocks(cx, f->body, &blocks);
    for (size_t k = 0; k < blocks.n && !why; k++)
        why = check_block(cx, what, f, ml_as_block(blocks.v[k]));
    return why;
}

/* ---- two signatures */

/* Regions of constant ends are the same; sizes of two functions cannot be compared. */
static bool same(const ml_Region *a, const ml_Region *b)
{
    for (size_t d = 0; d < a->buffer->rank; d++) {
        const ml_Expr *x[4] = {a->ranges[d].min, a->ranges[d].extent, b->ranges[d].min,
                               b->ranges[d].extent};

        for (size_t k = 0; k < 2; k++)
            if (ml_is_const_int(x[k]) && ml_is_const_int(x[k + 2]) &&
                x[k]->as.i != x[k + 2]->as.i)
                return false;
    }
    return true;
}

const char *ml_intrin_differs(ml_Ctx *cx, const ml_Func *desc, const ml_Func *impl)
{
    const ml_Block *d = ml_func_root(desc), *i = ml_func_root(impl);

    for (uint32_t k = 0; k < desc->n_params; k++) {
        const ml_Buffer *db = desc->params[k].buffer, *ib = impl->params[k].buffer;
        const ml_Region *dw = ml_write_of(d, db);
        const ml_Region *iw = ml_write_of(i, ib);
        const ml_Region *dr = ml_read_of(d, db);
        const ml_Region *ir = ml_read_of(i, ib);

        if (!dw != !iw || (dw && !same(dw, iw)))
            return ml_format(cx, "the implementation %s %s, the description %s",
                             iw ? "writes" : "does not write", ib->name,
                             dw && iw ? "another part of it"
                             : dw     ? "does"
                                      : "does not");
        if (ir && (!dr || !same(dr, ir)))
            return ml_format(cx, "the implementation reads %s, the description %s",
                             ib->name, dr ? "another part of it" : "does not");
    }
    return NULL;
}
