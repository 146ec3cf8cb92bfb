/*
 * equal - structural equality, and where the first difference is.
 *
 * The words of `a` are kept, those of `b` compared with them on the fly (canon.c). A
 * difference is located by walking both once more up to the number of the word that
 * differs. Scratch memory is released before the report is made. Source: script 13.
 */
#include "moonloop/core/compare/equal.h"

#include "moonloop/core/compare/canon.h"

typedef void WalkFn(ml_Canon *c, const void *program);

/* Walks to the word that differs; the texts stay in cx. */
static ml_Canon locate(ml_Ctx *cx, const void *program, WalkFn *walk,
                       const ml_EqualOpts *opts, size_t stop_at)
{
    ml_Canon c = ml_canon_begin(cx, opts);

    c.reporting = true;
    c.stop_at = stop_at;
    walk(&c, program);
    ML_ASSERT(c.stopped);
    return c;
}

static const char *reason(ml_Ctx *cx, const ml_Canon *a, const ml_Canon *b)
{
    if (!ml_streq(a->label, b->label))
        return ml_format(cx, "%s %s vs %s %s", a->label, a->shown, b->label, b->shown);
    if (ml_streq(a->shown, b->shown))
        return ml_format(cx, "%s: another %s", a->label, a->shown);
    return ml_format(cx, "%s %s vs %s", a->label, a->shown, b->shown);
}

static bool equal(ml_Ctx *cx, const void *a, const void *b, WalkFn *walk,
                  const ml_EqualOpts *opts, ml_Difference *diff)
{
    ml_Mark mark = ml_mark(cx);
    ml_WordVec words = {0};
    ml_Canon ca = ml_canon_begin(cx, opts), cb;
    bool same;
    size_t at;

    ca.keep = &words;
    walk(&ca, a);
    cb = ml_canon_begin(cx, opts);
    cb.compare = &words;
    walk(&cb, b);
    same = !cb.stopped && cb.n == ca.n;
    at = cb.n;
    ml_release(cx, mark);
    if (!same && diff) {
        ca = locate(cx, a, walk, opts, at);
        cb = locate(cx, b, walk, opts, at);
        *diff = (ml_Difference){
            .reason = reason(cx, &ca, &cb),
            .path_a = ca.path,
            .path_b = cb.path,
            .stmt_a = ca.where,
            .stmt_b = cb.where,
        };
    }
    return same;
}

static void walk_expr(ml_Canon *c, const void *e)
{
    ml_canon_expr(c, e);
}

static void walk_stmt(ml_Canon *c, const void *st)
{
    ml_canon_stmt(c, st);
}

static void walk_block(ml_Canon *c, const void *b)
{
    ml_canon_block(c, b);
}

static void walk_func(ml_Canon *c, const void *f)
{
    ml_canon_func(c, f);
}

static void walk_module(ml_Canon *c, const void *m)
{
    ml_canon_module(c, m);
}

bool ml_equal_expr(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b, const ml_EqualOpts *opts,
                   ml_Difference *diff)
{
    return equal(cx, a, b, walk_expr, opts, diff);
}

bool ml_equal_stmt(ml_Ctx *cx, const ml_Stmt *a, const ml_Stmt *b, const ml_EqualOpts *opts,
                   ml_Difference *diff)
{
    return equal(cx, a, b, walk_stmt, opts, diff);
}

bool ml_equal_block(ml_Ctx *cx, const ml_Block *a, const ml_Block *b,
                    const ml_EqualOpts *opts, ml_Difference *diff)
{
    return equal(cx, a, b, walk_block, opts, diff);
}

bool ml_equal_func(ml_Ctx *cx, const ml_Func *a, const ml_Func *b, const ml_EqualOpts *opts,
                   ml_Difference *diff)
{
    return equal(cx, a, b, walk_func, opts, diff);
}

bool ml_equal_module(ml_Ctx *cx, const ml_Module *a, const ml_Module *b,
                     const ml_EqualOpts *opts, ml_Difference *diff)
{
    return equal(cx, a, b, walk_module, opts, diff);
}
