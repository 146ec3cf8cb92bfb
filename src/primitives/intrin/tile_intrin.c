/*
 * tile_intrin - see tile_intrin.h.
 *
 * The iters of the description are taken from the last to the first; each stands for the
 * nearest earlier iter of the block of its kind, and the loop that drives the one is tiled
 * by the extent of the loop that drives the other. Source: primitives 10.
 */
#include "moonloop/primitives/intrin/tile_intrin.h"

#include <stdlib.h>

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

/* Position of the loop L of which value is L + what uses none of the loops; n: none. */
static size_t driving_loop(ml_Ctx *cx, const ml_Expr *value, const ml_For *const *loops,
                           size_t n)
{
    ml_Arith *ar = ml_arith_new(cx);

    for (size_t k = 0; k < n; k++) {
        if (!ml_expr_uses_var(value, loops[k]->var))
            continue;
        const ml_Expr *var = ml_cast(cx, value->type, ml_var(cx, loops[k]->var));
        const ml_Expr *rest = ml_simplify(ar, ml_sub(cx, value, var));
        bool alone = true;

        for (size_t m = 0; m < n; m++)
            alone = alone && !ml_expr_uses_var(rest, loops[m]->var);
        if (alone)
            return k;
    }
    return n;
}

/* The description's block with its loops, outermost first; NULL: no such nest. */
static const ml_Block *described(ml_Ctx *cx, const ml_Func *desc, ml_StmtVec *loops)
{
    const ml_Block *root = ml_func_root(desc);
    const ml_Stmt *st = root ? root->body : NULL;

    for (; st && st->kind == ML_STMT_FOR; st = ml_as_for(st)->body)
        ml_push(cx, loops, st);
    return st && st->kind == ML_STMT_BLOCK ? ml_as_block(st) : NULL;
}

static const ml_For *const *as_loops(ml_Ctx *cx, const ml_StmtVec *v)
{
    const ml_For **out = ML_ARRAY(cx, const ml_For *, v->n + 1);

    for (size_t k = 0; k < v->n; k++)
        out[k] = ml_as_for(v->v[k]);
    return out;
}

static bool bare_loops(const ml_Block *b, const ml_For *const *loops, size_t n)
{
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Expr *e = b->iters[k].value;
        bool one = false;

        for (size_t m = 0; m < n; m++)
            one = one || (e->kind == ML_EXPR_VAR && e->as.var == loops[m]->var);
        if (!one)
            return false;
    }
    return true;
}

static int by_depth(const void *a, const void *b)
{
    const ml_TiledLoop *x = a, *y = b;

    /* the depth stands where the uid will stand */
    return (x->loop > y->loop) - (x->loop < y->loop);
}

bool ml_intrin_tiling(ml_Schedule *s, ml_Handle block, const char *name, bool allow_padding,
                      ml_Ctx *cx, ml_IntrinTiling *out)
{
    *out = (ml_IntrinTiling){0};
    ml_schedule_begin(s);
    const ml_Stmt *node = ml_handle_node(s, block, ML_H_BLOCK);

    if (!node)
        return false;
    const ml_Intrin *in = ml_intrin_find(s->space->intrins, name);

    if (!in)
        return ml_fail(s->space->cx, ML_E_NO_SUCH_INTRIN, ML_TYPED(name));
    /* Both apart from where they live: expressions are made of them. */
    const ml_Func *desc = ml_import_func(ml_import_begin(cx), in->desc);
    ml_Import *im = ml_import_begin_apart(cx);
    ml_StmtVec outer = {0}, inner = {0};
    const ml_Block *b = ml_as_block(node), *d = described(cx, desc, &inner);
    const ml_Index *ix = s->v[s->cur].p.index;

    ml_index_loops(cx, ix, block.uid, &outer);
    if (!d || inner.n == 0)
        return true;
    size_t n = outer.n;
    ml_For *loops = ML_ARRAY(cx, ml_For, n + 1);
    const ml_For **loop = ML_ARRAY(cx, const ml_For *, n + 1);
    ml_Block mine = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1u);

    for (size_t k = 0; k < n; k++) {
        loops[k] = *ml_as_for(outer.v[k]);
        loops[k].var = ml_import_expr(im, ml_var(s->space->cx, loops[k].var))->as.var;
        loops[k].extent = ml_import_expr(im, loops[k].extent);
        loop[k] = &loops[k];
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        iters[k] = b->iters[k];
        iters[k].value = ml_import_expr(im, iters[k].value);
    }
    mine.iters = iters;

    const ml_For *const *dloop = as_loops(cx, &inner);
    ml_TiledLoop *found = ML_ARRAY(cx, ml_TiledLoop, d->n_iters + 1u);
    bool *used = ML_ARRAY(cx, bool, n + 1);
    int64_t *padding = ML_ARRAY(cx, int64_t, b->n_iters + 1u);
    bool pads = false;
    size_t at = b->n_iters, n_found = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        padding[k] = 1;
    memset(used, 0, n + 1);
    for (size_t k = d->n_iters; k-- > 0;) {
        size_t from = driving_loop(cx, d->iters[k].value, dloop, inner.n);

        while (at > 0 && mine.iters[at - 1].kind != d->iters[k].kind)
            at--;
        if (from == inner.n || at == 0)
            return true;
        at--;
        size_t to = driving_loop(cx, mine.iters[at].value, loop, n);

        if (to == n || used[to] || !ml_is_const_int(loop[to]->extent) ||
            !ml_is_const_int(dloop[from]->extent) || dloop[from]->extent->as.i < 1)
            return true;
        int64_t tile = dloop[from]->extent->as.i;

        if (loop[to]->extent->as.i % tile != 0) {
            if (!allow_padding || !bare_loops(&mine, loop, n))
                return true;
            padding[at] = tile;
            pads = true;
        }
        used[to] = true;
        found[n_found++] = (ml_TiledLoop){(ml_Uid)to, tile, from};
    }
    qsort(found, n_found, sizeof *found, by_depth);
    for (size_t k = 0; k < n_found; k++)
        found[k].loop = ml_as_for(outer.v[found[k].loop])->var->uid;
    *out = (ml_IntrinTiling){n_found, found, b->n_iters, pads ? padding : NULL};
    return true;
}
