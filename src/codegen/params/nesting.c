/* nesting - see nesting.h. */
#include "moonloop/codegen/params/nesting.h"

bool ml_nesting_block(ml_Nesting *n, const ml_Block *b)
{
    if (n->n_blocks == ML_NESTING)
        return false;
    n->loops_above[n->n_blocks] = n->n_loops;
    n->block[n->n_blocks++] = b;
    return true;
}

bool ml_nesting_loop(ml_Nesting *n, const ml_For *f)
{
    if (n->n_loops == ML_NESTING)
        return false;
    n->loop[n->n_loops++] = f;
    return true;
}

static double domain(const ml_Nesting *n, const ml_Expr *extent)
{
    int64_t size;

    return ml_eval_size(extent, n->sizes, n->n_sizes, &size) && size > 1 ? (double)size
                                                                         : 1.0;
}

double ml_nesting_terms(const ml_Nesting *n, const ml_Store *s, bool self)
{
    uint32_t base = 0;
    double terms = 1.0;

    for (uint32_t b = 0; b < n->n_blocks; b++) {
        if (n->block[b]->n_iters > 0)
            base = n->loops_above[b];
        for (uint32_t k = 0; k < n->block[b]->n_iters; k++)
            if (n->block[b]->iters[k].kind == ML_ITER_REDUCE)
                terms *= domain(n, n->block[b]->iters[k].extent);
    }
    for (uint32_t l = base; self && l < n->n_loops; l++) {
        bool used = false;

        for (uint32_t d = 0; d < s->n; d++)
            used = used || ml_expr_uses_var(s->indices[d], n->loop[l]->var);
        if (!used)
            terms *= domain(n, n->loop[l]->extent);
    }
    return terms;
}
