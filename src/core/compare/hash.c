/* hash - the 64-bit structural hash: the canonical words (canon.c), mixed with a fixed
 * seed. No address, table order or byte order takes part. Source: script 13. */
#include "moonloop/core/compare/canon.h"

#define ML_HASH_SEED UINT64_C(0x6D6F6F6E6C6F6F70)

static ml_Canon begin(ml_Ctx *cx, const ml_EqualOpts *opts)
{
    ml_Canon c = ml_canon_begin(cx, opts);

    c.hashing = true;
    c.hash = ML_HASH_SEED;
    return c;
}

/* Every bit of the sum depends on every bit of the state. */
static uint64_t finish(ml_Canon *c, ml_Mark mark)
{
    uint64_t h = c->hash ^ c->n;

    ml_release(c->cx, mark);
    h = (h ^ (h >> 33)) * UINT64_C(0xFF51AFD7ED558CCD);
    h = (h ^ (h >> 33)) * UINT64_C(0xC4CEB9FE1A85EC53);
    return h ^ (h >> 33);
}

uint64_t ml_hash_expr(ml_Ctx *cx, const ml_Expr *e, const ml_EqualOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Canon c = begin(cx, opts);

    ml_canon_expr(&c, e);
    return finish(&c, mark);
}

uint64_t ml_hash_stmt(ml_Ctx *cx, const ml_Stmt *s, const ml_EqualOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Canon c = begin(cx, opts);

    ml_canon_stmt(&c, s);
    return finish(&c, mark);
}

uint64_t ml_hash_block(ml_Ctx *cx, const ml_Block *b, const ml_EqualOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Canon c = begin(cx, opts);

    ml_canon_block(&c, b);
    return finish(&c, mark);
}

uint64_t ml_hash_func(ml_Ctx *cx, const ml_Func *f, const ml_EqualOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Canon c = begin(cx, opts);

    ml_canon_func(&c, f);
    return finish(&c, mark);
}

uint64_t ml_hash_module(ml_Ctx *cx, const ml_Module *m, const ml_EqualOpts *opts)
{
    ml_Mark mark = ml_mark(cx);
    ml_Canon c = begin(cx, opts);

    ml_canon_module(&c, m);
    return finish(&c, mark);
}
