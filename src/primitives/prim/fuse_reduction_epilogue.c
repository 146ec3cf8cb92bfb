/*
 * fuse_reduction_epilogue - start a reduction from what its epilogue adds to the result.
 *
 * Taken are epilogues that combine the result with the reduction's own operation: any nest
 * of additions for a sum, of max for a max, of min for a min. The element that an instance
 * of the epilogue takes is solved for the iters of the reduction, one to one. Anything
 * else, applied in each iteration, would give other numbers. Source: primitives 7.
 */
#include "moonloop/primitives/rewrite/inline.h"

#include "moonloop/primitives/rewrite/keep_order.h"
#include "moonloop/primitives/rewrite/same_index.h"

enum { REDUCTION, EPILOGUE };

typedef struct Fusion {
    ml_Call *c;
    const ml_Block *red, *epi;
    ml_Uid scope;
    const ml_Buffer *temp;     /* the reduction's result */
    const ml_Store *sum, *out; /* their stores */
    ml_ExprKind op;            /* the combiner: ADD, MAX, MIN */
    const ml_Expr *start;      /* what the init stores */
    const ml_Expr *load;       /* of the result, in the epilogue */
    const ml_Expr *addend;     /* in iters of the epilogue; then of the reduction */
    ml_Subst solved;           /* iters of the epilogue by those of the reduction */
} Fusion;

static bool pattern(Fusion *f, const ml_Block *at, const char *why)
{
    return ml_fail(f->c->cx, ML_E_EPILOGUE_PATTERN, ML_BLOCK(f->epi), ML_BLOCK(f->red),
                   ML_TEXT(why), ML_BLOCK(at));
}

static bool not_once(Fusion *f)
{
    return ml_unproved(f->c->cx, ML_E_INSTANCES_LOST,
                       "block {0} takes each element of the result of block {1} once",
                       ML_BLOCK(f->epi), ML_BLOCK(f->red));
}

/* ---- the reduction: T[i] = op(T[i], x), started by T[i] = start */

static bool find_reduction(Fusion *f)
{
    const ml_Block *b = f->red;
    const ml_Expr *v;

    f->sum = ml_single_store(b);
    if (!f->sum || f->sum->mask || f->sum->buffer->uid != f->temp->uid || b->n_matches ||
        b->n_allocs)
        return pattern(f, b, "the reduction is not one store to its result");
    if (!b->init || b->init->kind != ML_STMT_STORE)
        return pattern(f, b, "the init of the reduction is not one store");
    const ml_Store *init = ml_as_store(b->init);

    v = f->sum->value;
    f->op = (ml_ExprKind)v->kind;
    f->start = init->value;
    if (f->op != ML_EXPR_ADD && f->op != ML_EXPR_MAX && f->op != ML_EXPR_MIN)
        return pattern(f, b, "the reduction is no sum, max or min");
    bool left = v->args[0]->kind == ML_EXPR_LOAD && v->args[0]->as.buffer == f->sum->buffer;
    const ml_Expr *self = v->args[left ? 0 : 1], *x = v->args[left ? 1 : 0];
    bool same = self->kind == ML_EXPR_LOAD && self->as.buffer->uid == f->temp->uid &&
                self->n_args == f->sum->n && init->buffer->uid == f->temp->uid &&
                !init->mask;

    for (uint32_t d = 0; same && d < f->sum->n; d++)
        same =
            self->args[d] == f->sum->indices[d] && init->indices[d] == f->sum->indices[d];
    if (!same || ml_expr_uses_buffer(x, f->temp) || ml_expr_uses_buffer(f->start, f->temp))
        return pattern(f, b, "the reduction does not add to the element that it stores");
    return true;
}

/* ---- the epilogue: D[j] = op(T[k], addend) */

typedef struct Count {
    const Fusion *f;
    size_t n;
} Count;

static bool count_load(const ml_Expr *e, void *user)
{
    Count *n = user;

    n->n += e->kind == ML_EXPR_LOAD && e->as.buffer->uid == n->f->temp->uid;
    return true;
}

/* The expression without the load, which lies on a path of combiners; *taken is false when
 * something else is on the way. NULL: it was the load itself. */
static const ml_Expr *without(Fusion *f, const ml_Expr *e, const ml_Expr **wrong)
{
    if (e->kind == ML_EXPR_LOAD && e->as.buffer->uid == f->temp->uid) {
        f->load = e;
        return NULL;
    }
    if ((ml_ExprKind)e->kind != f->op) {
        *wrong = e;
        return e;
    }
    int side = ml_expr_uses_buffer(e->args[0], f->temp) ? 0 : 1;
    const ml_Expr *rest = without(f, e->args[side], wrong), *other = e->args[1 - side];

    if (*wrong || !rest)
        return *wrong ? e : other;
    return side == 0 ? ml_binary(f->c->cx, f->op, rest, other)
                     : ml_binary(f->c->cx, f->op, other, rest);
}

static bool scales(const ml_Expr *e)
{
    return e->kind == ML_EXPR_MUL || ml_kind_divides(e->kind);
}

static bool find_epilogue(Fusion *f)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Block *b = f->epi;
    Count n = {f, 0};
    const ml_Expr *wrong = NULL;
    size_t spatial = 0;

    f->out = ml_single_store(b);
    if (!f->out || f->out->mask || b->n_matches || b->n_allocs || b->n_writes != 1 ||
        f->out->buffer->uid != b->writes[0].buffer->uid)
        return pattern(f, b, "the epilogue is not one store to what it writes");
    if (!ml_is_true(b->predicate))
        return pattern(f, b, "the epilogue has a predicate");
    for (uint32_t d = 0; d < f->out->n; d++)
        ml_expr_visit(f->out->indices[d], count_load, &n);
    if (n.n > 0)
        return pattern(f, b, "the epilogue stores where the result says");
    ml_expr_visit(f->out->value, count_load, &n);
    if (n.n != 1)
        return pattern(
            f, b, ml_format(cx, "the epilogue loads the result %zu times, not once", n.n));
    for (uint32_t k = 0; k < f->red->n_iters; k++)
        spatial += f->red->iters[k].kind == ML_ITER_SPATIAL;
    if (spatial != b->n_iters)
        return pattern(f, b,
                       ml_format(cx, "the reduction has %zu spatial iters, the epilogue %u",
                                 spatial, b->n_iters));
    f->addend = without(f, f->out->value, &wrong);
    if (wrong && scales(wrong))
        return pattern(f, b, "the result stands under a product, quotient or remainder");
    if (wrong || !f->addend)
        return ml_fail_as(f->c->cx, ML_E_VALUE_CHANGED,
                          "block {0} does more to the result than {1}; done in each "
                          "iteration of block {2} it would give other numbers",
                          ML_BLOCK(b),
                          ML_TEXT(f->op == ML_EXPR_ADD   ? "add to it"
                                  : f->op == ML_EXPR_MAX ? "take its max with something"
                                                         : "take its min with something"),
                          ML_BLOCK(f->red), ML_BLOCK(f->epi));
    if ((f->load->flags & ML_X_MASKED) != 0)
        return pattern(f, b, "the epilogue loads the result under a mask");
    return true;
}

/* ---- which instance of the epilogue an element of the reduction goes to */

static ml_IterList spatial_iters(ml_Ctx *cx, const ml_Block *b)
{
    ml_IterList v = {0};

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_SPATIAL)
            ml_push(cx, &v, k);
    return v;
}

static const ml_Expr *product(ml_Ctx *cx, const ml_Block *b, const ml_IterList *v)
{
    const ml_Expr *p = NULL;

    for (size_t k = 0; k < v->n; k++) {
        const ml_Expr *e = b->iters[v->v[k]].extent;

        if (p)
            ml_promote(cx, &p, &e);
        p = p ? ml_mul(cx, p, e) : e;
    }
    return p ? p : ml_i32(cx, 1);
}

/* Instances of the epilogue that store into one element come in the order of the result's
 * elements, which has to be that of the iters of the reduction. */
static bool check_place(Fusion *f, const ml_IterList *mine)
{
    size_t at = 0;

    if (ml_runs_in_any_order(f->c, f->epi, ML_RUNS_EQUAL))
        return true;
    for (size_t d = 0; d < f->temp->rank; d++) {
        const ml_Expr *e = f->sum->indices[d];

        while (at < mine->n &&
               !(e->kind == ML_EXPR_VAR && e->as.var == f->red->iters[mine->v[at]].var))
            at++;
        if (at++ >= mine->n)
            return ml_unproved(f->c->cx, ML_E_ORDER_REVERSED,
                               "instances of block {0}, which write one element of {1}, "
                               "would keep their order",
                               ML_BLOCK(f->epi), ML_BUFFER(f->out->buffer),
                               ML_BLOCK(f->red));
    }
    return ml_check_place_order(f->c, f->epi, f->temp, f->load->args);
}

static bool solve(Fusion *f)
{
    ml_Call *c = f->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *e = f->epi;
    ml_DomVec dom = {0};
    ml_IterList mine = spatial_iters(cx, f->red), all = spatial_iters(cx, e);
    ml_Arith *ar = ml_arith_at(cx, c->p, f->scope);
    ml_Map *inverse = ml_map_new(cx);
    const ml_Expr *const *from = f->load->args, *const *to = f->sum->indices;

    ML_ASSERT(from && to);
    ml_arith_bind_iters(ar, f->red);
    for (size_t k = 0; k < e->n_iters; k++)
        ml_push(cx, &dom, ((ml_Dom){e->iters[k].var, e->iters[k].min, e->iters[k].extent}));
    ml_IterMap map = ml_iter_detect(ar, from, f->temp->rank, dom.v, dom.n,
                                    ml_bool(cx, true), ML_BIJECTIVE, true);

    if (!map.ok || !ml_iter_inverse(ar, &map, to, inverse))
        return not_once(f);
    for (size_t k = 0; k < e->n_iters; k++) {
        const ml_Iter *it = &e->iters[k];
        const ml_Expr *u = ml_map_get(inverse, it->var->uid);

        if (!u || ml_is_int(it->extent, 1))
            u = it->min;
        u = ml_simplify(ar, ml_cast(cx, it->var->type, u));
        if (!ml_prove_symbolic(ar, ml_ge(cx, u, it->min)) ||
            !ml_prove_symbolic(ar, ml_lt(cx, u, ml_add(cx, it->min, it->extent))))
            return not_once(f);
        ml_subst_var(cx, &f->solved, it->var, u);
    }
    for (size_t d = 0; d < f->temp->rank; d++) {
        const ml_Expr *a =
            f->solved.vars ? ml_expr_subst(cx, from[d], &f->solved) : from[d];
        const ml_Expr *b = to[d];

        if (!ml_promote(cx, &a, &b) || !ml_prove_equal(ar, a, b))
            return not_once(f);
    }
    const ml_Expr *p = product(cx, f->red, &mine), *q = product(cx, e, &all);

    if (!ml_promote(cx, &p, &q) || !ml_prove_equal(ar, p, q) ||
        !ml_is_injective(c, f->red, &mine, to, f->temp->rank))
        return not_once(f);
    if (!ml_covers_domains(c, e, &all))
        return ml_unproved(f->c->cx, ML_E_PART_WRITTEN,
                           "block {0} runs for all values of its iters; what it leaves out "
                           "would be written",
                           ML_BLOCK(e), ML_BLOCK(f->epi), ML_BLOCK(f->red));
    return ML_PROVE(c, ML_SOUND, check_place(f, &mine));
}

/* ---- who else looks */

static bool check_others(Fusion *f)
{
    ml_Call *c = f->c;
    ml_Ctx *cx = c->cx;
    ml_Tags users = ml_index_users(c->p.index, f->temp);
    const ml_Block *opaque = ml_opaque_user(cx, ml_call_block(c, f->scope)->body, f->temp);
    ml_StmtVec loops = {0};

    if (opaque)
        return ml_fail_opaque(c, f->temp, opaque);
    for (size_t k = 0; k < users.n; k++)
        if (users.v[k] != f->red->tag && users.v[k] != f->epi->tag)
            return ml_fail_as(f->c->cx, ML_E_USED_ELSEWHERE,
                              "block {0} reads {1} too, which would be gone",
                              ML_BLOCK(ml_call_block(c, users.v[k])), ML_BUFFER(f->temp),
                              ML_BLOCK(f->epi), ML_BLOCK(f->red));
    ml_index_loops(cx, c->p.index, f->epi->tag, &loops);
    for (size_t k = 0; k < loops.n; k++)
        for (uint32_t m = 0; m < f->red->n_iters; m++)
            if (f->red->iters[m].kind != ML_ITER_SPATIAL &&
                ml_expr_uses_var(f->red->iters[m].value, ml_as_for(loops.v[k])->var))
                return ml_fail_as(f->c->cx, ML_E_REDUCTION_CHANGED,
                                  "loop {0}, which drives the reduction, is above block "
                                  "{1}: it takes results that are not complete",
                                  ML_LOOP(ml_as_for(loops.v[k])), ML_BLOCK(f->epi),
                                  ML_BLOCK(f->red));
    return true;
}

/* ---- building */

static bool is_start(const Fusion *f)
{
    const ml_Expr *s = f->start;

    return f->op == ML_EXPR_ADD &&
           (ml_is_int(s, 0) || (s->kind == ML_EXPR_FLOAT && s->as.f == 0));
}

static const ml_Expr *solved(const Fusion *f, const ml_Expr *e)
{
    return f->solved.vars ? ml_expr_subst(f->c->cx, e, &f->solved) : e;
}

static void add_regions(const Fusion *f, const ml_Block *b, ml_Region *out, uint32_t *n)
{
    for (uint32_t k = 0; k < b->n_reads; k++)
        if (b->reads[k].buffer->uid != f->temp->uid)
            out[(*n)++] = b == f->epi && f->solved.vars
                              ? ml_region_subst(f->c->cx, b->reads[k], &f->solved)
                              : b->reads[k];
}

static const ml_Block *fused(Fusion *f)
{
    ml_Ctx *cx = f->c->cx;
    const ml_Buffer *d = f->out->buffer;
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, f->out->n + 1);
    ml_Region *reads = ML_ARRAY(cx, ml_Region, f->red->n_reads + f->epi->n_reads + 1);
    ml_Region *writes = ML_NEW(cx, ml_Region);
    const ml_Expr *v = f->sum->value, *first = solved(f, f->addend), *kids[2];
    ml_Block nb = *f->red;
    ml_UidVec untold = {0};
    bool twice = false;

    for (uint32_t k = 0; k < f->out->n; k++)
        idx[k] = solved(f, f->out->indices[k]);
    for (int k = 0; k < 2; k++)
        kids[k] =
            v->args[k]->kind == ML_EXPR_LOAD && v->args[k]->as.buffer->uid == f->temp->uid
                ? ml_load(cx, d, idx, f->out->n)
                : v->args[k];
    if (!is_start(f))
        first = ml_binary(cx, f->op, f->start, first);
    nb.init = ml_store(cx, d, first, idx, f->out->n, NULL);
    nb.body = ml_stmt_at(
        cx, ml_store(cx, d, ml_binary(cx, f->op, kids[0], kids[1]), idx, f->out->n, NULL),
        f->sum->base.span);
    nb.n_reads = 0;
    add_regions(f, f->epi, reads, &nb.n_reads);
    add_regions(f, f->red, reads, &nb.n_reads);
    *writes = f->solved.vars ? ml_region_subst(cx, f->epi->writes[0], &f->solved)
                             : f->epi->writes[0];
    nb.reads = reads;
    nb.writes = writes;
    nb.n_writes = 1;
    ml_block_keep_said(cx, f->red, &nb);
    ml_untold_loads(cx, first, &untold);
    for (uint32_t k = 0; k < nb.n_reads; k++)
        for (uint32_t m = 0; m < k; m++)
            twice |= reads[k].buffer->uid == reads[m].buffer->uid;
    const ml_Block *b = ml_as_block(ml_block_from(cx, &nb));

    return twice ? ml_block_reinfer_with(cx, ml_call_func(f->c), b, &untold) : b;
}

static bool check_blocks(Fusion *f)
{
    ml_Call *c = f->c;
    ml_Ctx *cx = c->cx;
    const ml_Index *ix = c->p.index;
    const ml_Buffer *out = NULL;
    ml_Uid lca;

    if (f->red == f->epi)
        return ml_fail_as(cx, ML_E_NOT_SAME_SCOPE,
                          "block {0} is given twice; two are needed", ML_BLOCK(f->red));
    if (ml_index_scope(ix, f->epi->tag) != f->scope)
        return ml_fail_apart(c, f->red->tag, f->epi->tag);
    if (!ml_check_pipeline(c, f->scope))
        return false;
    if (f->red->n_writes != 1)
        return ml_fail(cx, ML_E_NOT_SINGLE_WRITE, ML_BLOCK(f->red),
                       ML_NUMBER("writes", f->red->n_writes));
    if (!ML_PROVE(c, ML_SOUND,
                  ml_check_reduction(c, f->red->tag) &&
                      ml_need_complete(cx, c->facts, c->p, f->epi->tag)))
        return false;
    if (ml_is_output_block(c->p, f->red->tag, &out))
        return ml_fail(cx, ML_E_OUTPUT_BLOCK, ML_BLOCK(f->red), ML_BUFFER(out));
    lca = ml_index_lca(ix, f->red->tag, f->epi->tag);
    return ml_check_schedulable(c, lca, f->red->tag) &&
           ml_check_schedulable(c, lca, f->epi->tag);
}

static bool fuse_reduction_epilogue(ml_Call *c)
{
    ml_Uid red = c->args[REDUCTION].uid, epi = c->args[EPILOGUE].uid;
    ml_Removal removal;

    if (!ml_check_not_root(c, red) || !ml_check_not_root(c, epi))
        return false;
    Fusion f = {.c = c, .red = ml_call_block(c, red), .epi = ml_call_block(c, epi)};

    f.scope = ml_index_scope(c->p.index, red);
    if (!check_blocks(&f))
        return false;
    f.temp = f.red->writes[0].buffer;
    if (!find_reduction(&f) || !find_epilogue(&f) || !check_others(&f) || !solve(&f) ||
        !ml_leaf_removal(c, epi, &removal))
        return false;
    const ml_Block *b = fused(&f);

    if (!b)
        return false;
    ml_call_replace(c, removal.uid, removal.with);
    ml_call_replace(c, red, &b->base);
    ml_inline_finish(c, f.scope, f.temp);
    ml_call_subject(c, ML_BLOCK_OF, red, NULL);
    ml_name_readers(c, red, f.temp);
    ml_call_subject(c, ML_SCOPE_OF, f.scope, NULL);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("reduction_block", ML_P_BLOCK, "a sum, max or min into an intermediate"),
    ML_PARAM("epilogue_block", ML_P_BLOCK, "the block that adds to its result"),
};

const ml_Primitive ml_prim_fuse_reduction_epilogue = {
    ML_PRIM(fuse_reduction_epilogue, "FuseReductionEpilogue"),
    .group = "compute location",
    .summary = "start a reduction from what is added to its result",
    .help = "The init stores the epilogue's addend to the epilogue's buffer, and the\n"
            "reduction goes on there; the intermediate and the epilogue go.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = (const ml_Post[]){{ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
                               {ML_SOUND, ML_BLOCK_OF, ml_check_own_memory, NULL},
                               {ML_SOUND, ML_READER_OF, ml_check_covered, NULL},
                               {ML_SOUND, ML_BLOCK_OF, ml_check_order, NULL},
                               {ML_STRICT, ML_SCOPE_OF, ml_check_pipeline, NULL},
                               {0}},
    .errors =
        (const ml_ErrorCode[]){
            ML_E_ROOT_BLOCK, ML_E_NOT_SAME_SCOPE, ML_E_NOT_STAGE_PIPELINE,
            ML_E_NOT_SINGLE_WRITE, ML_E_NOT_REDUCTION, ML_E_NOT_COMPLETE, ML_E_OUTPUT_BLOCK,
            ML_E_NOT_SCHEDULABLE, ML_E_EPILOGUE_PATTERN, ML_E_OPAQUE_ACCESS,
            ML_E_NOT_REGION_COVERED, ML_E_ORDER_REVERSED, ML_E_REDUCTION_CHANGED,
            ML_E_INSTANCES_LOST, ML_E_PART_WRITTEN, ML_E_USED_ELSEWHERE, ML_E_VALUE_CHANGED,
            ML_E_OK},
};
