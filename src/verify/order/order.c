/*
 * order - blocks whose instances depend on each other, as findings: steps that would change
 * their order are refused. Source: ir-and-analysis 1 (instances).
 */
#include "moonloop/verify/findings.h"
#include "moonloop/verify/order/self_deps.h"

/* Two instances that would change places in the very opposite order, as an error; NULL:
 * none. */
static const ml_Error *find_dependence(ml_Ctx *cx, ml_Program p, const ml_Block *b)
{
    ml_StmtVec loops = {0};

    ml_index_loops(cx, p.index, b->tag, &loops);
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, loops.n + 1);
    const ml_Expr **key = ML_ARRAY(cx, const ml_Expr *, loops.n + 1);
    const ml_Expr **extents = ML_ARRAY(cx, const ml_Expr *, loops.n + 1);

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
                                      .n_blocks = 1}))
        return NULL;
    const ml_Error *e = ml_error(cx);

    if (!e || e->code != ML_E_ORDER_REVERSED)
        return NULL;
    e = ml_error_copy(cx, e);
    ml_error_clear(cx);
    return e;
}

/* The facts are those of ml_keeps_order. */
static void add_dependence(ml_Finder *f, const ml_Error *e)
{
    const ml_Fact *v = e->facts;
    ml_Error *found = e->unproved
                          ? ml_find(f, ML_SEV_WARNING, ML_E_ORDER_TIED, v[0], v[1], v[2])
                          : ml_find(f, ML_SEV_WARNING, ML_E_ORDER_TIED, v[0], v[1], v[2],
                                    v[3], v[4], v[5], v[6], v[7]);

    found->says = e->unproved
                      ? "instances of block {0} may depend on each other: they cannot "
                        "be shown to touch different elements of {2} each"
                      : "instances of block {0} depend on each other: it {2} "
                        "{3}[{4}] at {5}, and {6} it at {7}";
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
            const ml_Error *e = find_dependence(cx, p, b);

            if (e)
                add_dependence(&f, e);
        }
    }
    ml_facts_free(facts);
}
