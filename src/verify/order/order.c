/*
 * order - blocks whose instances depend on each other, as findings: steps that would change
 * their order are refused. Source: ir-and-analysis 1 (instances).
 */
#include "core/shown.h"
#include "verify/findings.h"
#include "verify/order/self_deps.h"

/* Two instances that would change places in the very opposite order; NULL: none. */
static const char *find_dependence(ml_Ctx *cx, ml_Program p, const ml_Block *b)
{
    ml_StmtVec loops = {0};

    ml_index_loops(cx, p.index, b->tag, &loops);
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, loops.n + 1);
    const ml_Expr **key = ML_ARRAY(cx, const ml_Expr *, loops.n + 1);
    const ml_Expr **extents = ML_ARRAY(cx, const ml_Expr *, loops.n + 1);
    ml_Dependence found = {0};

    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        dom[k] = (ml_Dom){f->var, f->min, f->extent};
        key[k] = ml_sub(cx, ml_int(cx, f->var->type, 0), ml_var(cx, f->var));
        extents[k] = f->extent;
    }
    if (ml_keeps_order(cx, p,
                       &(ml_NewOrder){.loops = dom,
                                      .n = loops.n,
                                      .key = key,
                                      .extents = extents,
                                      .n_key = loops.n,
                                      .blocks = &b,
                                      .n_blocks = 1,
                                      .found = &found}))
        return NULL;
    return ml_format(cx,
                     found.shown
                         ? "instances of block %s depend on each other: it %s"
                         : "instances of block %s may depend on each other: they %s",
                     ml_shown(cx, b), found.text);
}

void ml_verify_order(ml_Ctx *cx, ml_Program p, ml_Combines by, ml_Findings *out)
{
    ml_Facts *facts = ml_facts_new(cx);

    for (uint32_t k = 0; k < p.mod->n; k++) {
        ml_Finder f = {.cx = cx, .out = out, .func = k};
        ml_StmtVec blocks = {0};

        ml_all_blocks(cx, p.mod->funcs[k]->body, &blocks);
        for (size_t m = 0; m < blocks.n; m++) {
            const ml_Block *b = ml_as_block(blocks.v[m]);

            if (b->n_iters == 0 || ml_any_order(cx, facts, p, b, by, ML_RUNS_EQUAL))
                continue;
            const char *text = find_dependence(cx, p, b);

            if (text)
                ml_find(&f, ML_SEV_WARNING, ML_E_ORDER_TIED, ML_TEXT(text), ML_BLOCK(b));
        }
    }
    ml_facts_free(facts);
}
