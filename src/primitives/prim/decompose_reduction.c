/*
 * decompose_reduction - give the initialisation of a reduction block a nest of its own,
 * directly before a loop.
 *
 * Legal when every loop that drives a reduce iter is the target or inside it, and when the
 * instances at or below the target are all different: the original initialises again for
 * each repetition, the decomposed one does not. Source: primitives 9.
 */
#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/base/fault.h"

enum { BLOCK, LOOP };

typedef struct Decompose {
    ml_Call *c;
    const ml_Block *block;
    const ml_For *loop;
    const ml_For **outer; /* loops outside of the target */
    size_t n_outer;
    const ml_For **inside; /* loops from the target inwards */
    bool *kept;            /* of these: it occurs in a spatial iter's value */
    size_t n;
} Decompose;

static bool find_loops(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    ml_StmtVec loops = {0};
    size_t at = 0;

    ml_index_loops(cx, d->c->p.index, d->block->tag, &loops);
    while (at < loops.n && loops.v[at] != &d->loop->base)
        at++;
    if (at == loops.n)
        return ml_fail(cx, ML_E_NOT_ANCESTOR, ML_LOOP(d->loop), ML_BLOCK(d->block));
    d->n = loops.n - at;
    d->n_outer = at;
    d->outer = ML_ARRAY(cx, const ml_For *, at + 1);
    for (size_t k = 0; k < at; k++)
        d->outer[k] = ml_as_for(loops.v[k]);
    d->inside = ML_ARRAY(cx, const ml_For *, d->n);
    d->kept = ML_ARRAY(cx, bool, d->n);
    for (size_t k = 0; k < d->n; k++)
        d->inside[k] = ml_as_for(loops.v[at + k]);
    for (size_t k = 0; k < d->n; k++)
        for (size_t m = 0; m < d->block->n_iters; m++)
            if (d->block->iters[m].kind == ML_ITER_SPATIAL &&
                ml_expr_uses_var(d->block->iters[m].value, d->inside[k]->var))
                d->kept[k] = true;
    return true;
}

static bool check_outer_loops(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    ml_StmtVec loops = {0};

    ml_index_loops(cx, d->c->p.index, d->block->tag, &loops);
    for (size_t k = 0; k + d->n < loops.n; k++)
        for (size_t m = 0; m < d->block->n_iters; m++)
            if (d->block->iters[m].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(d->block->iters[m].value, ml_as_for(loops.v[k])->var))
                return ml_fail(cx, ML_E_LOOP_TOO_LOW, ML_LOOP(loops.v[k]), ML_LOOP(d->loop),
                               ML_ITER(d->block, m), ML_BLOCK(d->block));
    return true;
}

/* Instances at or below the target must be pairwise different. */
static bool check_instances(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    const ml_Block *b = d->block;
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters);

    for (size_t k = 0; k < d->n; k++) {
        const ml_For *f = d->inside[k];
        bool used = false;

        for (size_t m = 0; m < b->n_iters; m++)
            used |= ml_expr_uses_var(b->iters[m].value, f->var);
        if (!used && !ml_is_int(f->extent, 1))
            return ml_fail_as(
                cx, ML_E_REDUCTION_CHANGED,
                "no iter of block {0} uses loop {1}: the reduction is computed anew in "
                "each of its iterations, and without the init there it would add up",
                ML_BLOCK(b), ML_LOOP(f));
        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    for (size_t m = 0; m < b->n_iters; m++)
        values[m] = b->iters[m].value;
    ml_Arith *ar = ml_arith_at(cx, d->c->p, d->loop->var->uid);
    const ml_Expr *yes = ml_bool(cx, true);

    if (ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, yes, ML_BIJECTIVE, false) ||
        ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                      false))
        return true;
    return ml_unproved(
        cx, ML_E_REDUCTION_CHANGED,
        "the iterations under loop {0} compute different elements of block {1}; what is "
        "computed twice would add up without an init in between",
        ML_LOOP(d->loop), ML_BLOCK(b));
}

/* Whether every element is updated where the discarded loops begin: then the init may write
 * all of them, whatever the predicate leaves out later. */
static bool begins_everywhere(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    ml_Subst sub = {0};

    for (size_t k = 0; k < d->n; k++)
        if (!d->kept[k])
            ml_subst_var(cx, &sub, d->inside[k]->var, d->inside[k]->min);
    return sub.vars && ml_prove(ml_arith_at(cx, d->c->p, d->block->tag),
                                ml_expr_subst(cx, d->block->predicate, &sub));
}

/* The conjuncts that mention no discarded loop; a conjunct that mixes kept and discarded
 * loops would initialise more than is updated, unless all is updated at first. */
static bool init_predicate(Decompose *d, const ml_Expr *p, const ml_Expr **out)
{
    ml_Ctx *cx = d->c->cx;
    bool keeps = false, drops = false;

    if (p->kind == ML_EXPR_AND)
        return init_predicate(d, p->args[0], out) && init_predicate(d, p->args[1], out);
    for (size_t k = 0; k < d->n; k++)
        if (ml_expr_uses_var(p, d->inside[k]->var)) {
            keeps |= d->kept[k];
            drops |= !d->kept[k];
        }
    for (size_t k = 0; k < d->n_outer; k++)
        keeps |= ml_expr_uses_var(p, d->outer[k]->var);
    if (keeps && drops &&
        (ml_prove(ml_arith_at(cx, d->c->p, d->block->tag), p) || begins_everywhere(d)))
        return true;
    if (keeps && drops)
        return ml_fail_as(cx, ML_E_INIT_MISPLACED,
                          "a condition of block {0} mixes spatial and reduce loops; the "
                          "init would write more elements than are updated",
                          ML_BLOCK(d->block), ML_EXPRESSION(p));
    if (!drops)
        *out = ml_and(cx, *out, p);
    return true;
}

/* The predicate with the one value of discarded loops that have one. */
static const ml_Expr *without_unit_loops(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    ml_Subst sub = {0};

    for (size_t k = 0; k < d->n; k++)
        if (!d->kept[k] && ml_is_int(d->inside[k]->extent, 1))
            ml_subst_var(cx, &sub, d->inside[k]->var, d->inside[k]->min);
    if (!sub.vars)
        return d->block->predicate;
    return ml_simplify(ml_arith_at(cx, d->c->p, d->block->tag),
                       ml_expr_subst(cx, d->block->predicate, &sub));
}

static void look_for_load(const ml_Expr *e, ml_Role role, void *user)
{
    bool *found = user;

    (void)role;
    *found |= (e->flags & ML_X_HAS_LOAD) != 0;
}

static bool visit_loads(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, look_for_load, user);
    return true;
}

static bool has_loads(const ml_Stmt *s)
{
    bool found = false;

    ml_stmt_visit(s, visit_loads, &found);
    return found;
}

static const ml_Stmt *init_block(Decompose *d, const ml_Expr *pred)
{
    ml_Ctx *cx = d->c->cx;
    const ml_Block *b = d->block;
    ml_Block ib = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters);
    bool reduce_in_region = false;

    ib.n_iters = 0;
    for (size_t m = 0; m < b->n_iters; m++) {
        if (b->iters[m].kind == ML_ITER_SPATIAL) {
            iters[ib.n_iters++] = b->iters[m];
            continue;
        }
        for (size_t w = 0; w < b->n_writes; w++)
            reduce_in_region |= ml_region_uses_var(&b->writes[w], b->iters[m].var);
    }
    ib.iters = iters;
    ib.name = ml_format(cx, "%s_init", b->name);
    ib.predicate = pred;
    ib.n_reads = 0;
    ib.init = NULL;
    ib.body = b->init;

    /* Views and inner buffers are carried along as far as the init uses them. */
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b->n_allocs);
    ml_Match *matches = ML_ARRAY(cx, ml_Match, b->n_matches);

    ib.n_allocs = ib.n_matches = 0;
    for (size_t k = 0; k < b->n_allocs; k++)
        if (ml_stmt_uses_buffer(b->init, b->allocs[k]))
            allocs[ib.n_allocs++] = b->allocs[k];
    for (size_t k = 0; k < b->n_matches; k++)
        if (ml_stmt_uses_buffer(b->init, b->matches[k].target))
            matches[ib.n_matches++] = b->matches[k];
    ib.allocs = allocs;
    ib.matches = matches;
    bool loads = has_loads(b->init);

    if (reduce_in_region || loads) {
        const ml_Block *inferred =
            ml_block_reinfer(cx, ml_call_func(d->c), ml_as_block(ml_block_from(cx, &ib)));

        if (!inferred)
            return NULL;
        ib.n_reads = inferred->n_reads;
        ib.reads = inferred->reads;
        if (reduce_in_region) {
            ib.n_writes = inferred->n_writes;
            ib.writes = inferred->writes;
        }
    }
    ml_block_keep_said(cx, b, &ib);
    return ml_stmt_copy_fresh(cx, ml_block_from(cx, &ib), NULL);
}

/* The init nest: kept loops under fresh variables, same kind, binding and annotations. */
static const ml_Stmt *init_nest(Decompose *d, const ml_Stmt *st)
{
    ml_Ctx *cx = d->c->cx;
    ml_Subst sub = {0};
    ml_For *loops = ML_ARRAY(cx, ml_For, d->n);

    for (size_t k = 0; k < d->n; k++) {
        const ml_Var *v = d->inside[k]->var;

        if (!d->kept[k])
            continue;
        loops[k] = *d->inside[k];
        loops[k].var = ml_var_new(cx, ml_format(cx, "%s_init", v->hint), v->type);
        loops[k].min = ml_expr_subst(cx, loops[k].min, &sub);
        loops[k].extent = ml_expr_subst(cx, loops[k].extent, &sub);
        if (loops[k].thread_var)
            loops[k].thread_var = ml_var_fresh(cx, loops[k].thread_var);
        ml_subst_var(cx, &sub, v, ml_var(cx, loops[k].var));
    }
    st = ml_stmt_subst(cx, st, &sub);
    for (size_t k = d->n; k-- > 0;)
        if (d->kept[k]) {
            loops[k].body = st;
            st = ml_for_from(cx, &loops[k]);
        }
    return st;
}

static const ml_Stmt *update_block(Decompose *d)
{
    ml_Ctx *cx = d->c->cx;
    const ml_Block *b = d->block;
    ml_Block ub = *b;
    ml_Region *reads = ML_ARRAY(cx, ml_Region, b->n_reads + b->n_writes);

    ub.n_reads = 0;
    for (size_t w = 0; w < b->n_writes; w++) {
        bool there = false;

        for (size_t r = 0; r < b->n_reads; r++)
            there |= ml_same_region(&b->reads[r], &b->writes[w]);
        if (!there)
            reads[ub.n_reads++] = b->writes[w];
    }
    for (size_t r = 0; r < b->n_reads; r++) /* not what the init alone reads */
        if (!ml_stmt_uses_buffer(b->init, b->reads[r].buffer) ||
            ml_stmt_uses_buffer(b->body, b->reads[r].buffer))
            reads[ub.n_reads++] = b->reads[r];
    ub.reads = reads;
    ml_block_keep_said(cx, b, &ub);
    ub.name = ml_format(cx, "%s_update", b->name);
    ub.init = NULL;
    return ml_block_from(cx, &ub);
}

/* A loop of the init nest must have bounds that survive without the discarded loops. */
static bool check_bounds(Decompose *d)
{
    for (size_t k = 0; k < d->n; k++)
        for (size_t m = 0; m < k; m++)
            if (d->kept[k] && !d->kept[m] &&
                (ml_expr_uses_var(d->inside[k]->min, d->inside[m]->var) ||
                 ml_expr_uses_var(d->inside[k]->extent, d->inside[m]->var)))
                return ml_fail(d->c->cx, ML_E_LOOP_DEPENDENT, ML_LOOP(d->inside[k]),
                               ML_LOOP(d->inside[m]));
    return true;
}

/* Threads that reduce together need the init: it makes each thread's own accumulator. */
static bool check_threads(Decompose *d)
{
    for (size_t k = 0; k < d->n; k++) {
        const ml_For *f = d->inside[k];

        if (f->kind == ML_FOR_SERIAL || f->kind == ML_FOR_UNROLLED)
            continue;
        for (size_t m = 0; m < d->block->n_iters; m++)
            if (d->block->iters[m].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(d->block->iters[m].value, f->var))
                return ml_fail_as(d->c->cx, ML_E_WOULD_RACE,
                                  "the iterations of the {0} loop {1} reduce together; "
                                  "without an init in block {2} they would race",
                                  ML_TEXT(ml_for_kind_name((ml_ForKind)f->kind)),
                                  ML_LOOP(f), ML_BLOCK(d->block));
    }
    return true;
}

/* What the init reads is there before the loop: no block under the loop writes it. */
static bool check_reads(Decompose *d)
{
    ml_Call *c = d->c;
    ml_StmtVec blocks = {0};

    ml_child_blocks(c->cx, &d->loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);

        for (size_t m = 0; b != d->block && m < b->n_writes; m++)
            if (ml_stmt_uses_buffer(d->block->init, b->writes[m].buffer))
                return ml_fail_as(c->cx, ML_E_ORDER_REVERSED,
                                  "the init of block {0} reads {1}, which block {2} writes "
                                  "under loop {3}; it would read it before",
                                  ML_BLOCK(d->block), ML_BUFFER(b->writes[m].buffer),
                                  ML_BLOCK(b), ML_LOOP(d->loop));
    }
    return true;
}

static bool decompose_reduction(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Decompose d = {.c = c};
    const ml_Expr *pred = ml_bool(cx, true);

    if (!ml_check_not_root(c, c->args[BLOCK].uid))
        return false;
    d.block = ml_call_block(c, c->args[BLOCK].uid);
    d.loop = ml_call_loop(c, c->args[LOOP].uid);
    if (!find_loops(&d))
        return false;
    if (!ML_PROVE(c, ML_STRICT, ml_check_reduction(c, d.block->tag)))
        return false;
    if (!d.block->init) /* without it there is nothing to split off */
        return ml_check_reduction(c, d.block->tag);
    if (!ML_PROVE(c, ML_RULE, ML_FAULT(DECOMPOSE_LOOP) || check_outer_loops(&d)) ||
        !ml_check_schedulable(c, d.loop->var->uid, d.block->tag) || !check_bounds(&d))
        return false;
    if (!ML_PROVE(c, ML_SOUND,
                  ml_check_reduces_inside(c, d.block->tag) && check_threads(&d) &&
                      check_instances(&d) && check_reads(&d) &&
                      ml_check_inits_first(c, d.block, d.loop->var->uid) &&
                      ml_check_reads_in_blocks(c, &d.loop->base, NULL)))
        return false;
    if (!init_predicate(&d, without_unit_loops(&d), &pred))
        return false;

    const ml_Stmt *init = init_block(&d, pred);

    if (!init)
        return false;
    ml_Uid tag = ml_as_block(init)->tag;

    init = init_nest(&d, init);
    /* Two steps on a program of its own: the target loop is rebuilt over the new block. */
    ml_call_replace(c, d.block->tag, update_block(&d));
    const ml_Stmt *both[2] = {init, ml_index_node(c->p.index, d.loop->var->uid)};

    ml_call_replace(c, d.loop->var->uid, ml_seq(cx, both, 2));
    ml_call_return_block(c, tag);
    return true;
}

static void suggest_decompose_reduction(ml_Schedule *s, const ml_Given *args,
                                        const ml_Error *e, ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_StmtVec loops = {0};

    if (e->code == ML_E_NOT_REDUCTION || e->code == ML_E_ROOT_BLOCK)
        return;
    ml_index_loops(cx, ml_schedule_program(s).index, args[BLOCK].uid, &loops);
    for (size_t k = loops.n; k-- > 0;)
        if (ml_stmt_uid(loops.v[k]) != args[LOOP].uid)
            ml_try(t, NULL, "decompose_reduction(\"%s\", \"%s\")",
                   ml_name_of(s, args[BLOCK].uid), ml_name_of(s, ml_stmt_uid(loops.v[k])));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the reduction block"),
    ML_PARAM("loop", ML_P_LOOP, "the init is put directly before this loop"),
};

const ml_Primitive ml_prim_decompose_reduction = {
    ML_PRIM(decompose_reduction, "DecomposeReduction"),
    .group = "reductions",
    .summary = "split a reduction into its init and its update",
    .help =
        "The init gets a nest of its own directly before the loop; the block becomes the\n"
        "update. The loop is at or above every loop that drives a reduce iter.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .suggest = suggest_decompose_reduction,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NOT_ANCESTOR, ML_E_NOT_REDUCTION,
                                     ML_E_UNDECLARED_WRITE, ML_E_LOOP_TOO_LOW,
                                     ML_E_NOT_SCHEDULABLE, ML_E_LOOP_DEPENDENT,
                                     ML_E_ORDER_REVERSED, ML_E_INIT_MISPLACED,
                                     ML_E_REDUCTION_CHANGED, ML_E_WOULD_RACE, ML_E_OK},
};
