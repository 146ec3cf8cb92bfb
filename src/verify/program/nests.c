/*
 * nests - whether each block is executed as its iters say: bindings inside their domains,
 * independent, over whole domains where that matters, reductions finished once per element;
 * and whether every consumer finds what it reads. What is provably wrong for some point is
 * an error, what cannot be decided is unproved. Source: ir-and-analysis 5.1, 5.2.
 */
#include "moonloop/verify/program/nests_impl.h"

ml_Severity ml_nest_severity(const ml_Nest *n)
{
    return n->reached ? ML_SEV_ERROR : ML_SEV_UNPROVED;
}

static const ml_Expr *domain_max(ml_Nest *n, const ml_Iter *it)
{
    const ml_Expr *one = ml_int(n->cx, it->extent->type, 1);

    return ml_simplify(n->ar, ml_sub(n->cx, ml_add(n->cx, it->min, it->extent), one));
}

const char *ml_nest_domain_text(ml_Nest *n, const ml_Iter *it)
{
    const ml_Expr *end = ml_simplify(n->ar, ml_add(n->cx, it->min, it->extent));

    return ml_format(n->cx, "[%s, %s)", ml_expr_text(n->cx, it->min),
                     ml_expr_text(n->cx, end));
}

static bool le(ml_Nest *n, const ml_Expr *a, const ml_Expr *b)
{
    if (!ml_dtype_eq(a->type, b->type))
        ml_promote(n->cx, &a, &b);
    return ml_prove_le_expr(n->ar, a, b) || ml_prove_symbolic(n->ar, ml_le(n->cx, a, b));
}

bool ml_nest_lt(ml_Nest *n, const ml_Expr *a, const ml_Expr *b)
{
    if (!ml_dtype_eq(a->type, b->type))
        ml_promote(n->cx, &a, &b);
    return ml_prove_lt_expr(n->ar, a, b);
}

/* ---- rule 1: bindings stay inside their domains */

static void check_domain(ml_Nest *n, size_t k)
{
    const ml_Iter *it = &n->b->iters[k];
    ml_Range point = {it->value, ml_int(n->cx, it->value->type, 1)};
    const ml_Expr *max = domain_max(n, it);
    const ml_Expr *reaches;
    ml_Interval upper, exact;

    ml_region_upper(n->ar, &point, 1, n->dom.v, n->dom.n, n->b->predicate, &upper);
    if (upper.nothing ||
        (upper.min && upper.max && le(n, it->min, upper.min) && le(n, upper.max, max)))
        return;
    ml_Severity severity = ML_SEV_UNPROVED;

    n->inside = false;
    reaches = !upper.max || !le(n, upper.max, max) ? upper.max : upper.min;
    if (ml_attained(n->ar, it->value, n->dom.v, n->dom.n, n->b->predicate, &exact)) {
        if (ml_nest_lt(n, max, exact.max)) {
            severity = ml_nest_severity(n);
            reaches = exact.max;
        } else if (ml_nest_lt(n, exact.min, it->min)) {
            severity = ml_nest_severity(n);
            reaches = exact.min;
        }
    }
    ml_find(&n->find, severity, ML_E_DOMAIN_EXCEEDED, ML_ITER(n->b, k), ML_BLOCK(n->b),
            ML_TEXT(reaches ? ml_expr_text(n->cx, reaches) : "values without a bound"),
            ML_TEXT(ml_nest_domain_text(n, it)));
}

/* ---- rule 2: bindings are independent */

/* Sizes of the single images multiply to more than there are iterations: some combination
 * of values never occurs. */
static bool pigeonhole(ml_Nest *n, const ml_Expr *const *values, size_t n_values,
                       const ml_Expr *pred)
{
    int64_t images = 1, points = 1;

    for (size_t k = 0; k < n->dom.n; k++) {
        bool used = false;

        for (size_t m = 0; m < n_values; m++)
            used |= ml_expr_uses_var(values[m], n->dom.v[k].var);
        if (!used)
            continue;
        if (!ml_is_const_int(n->dom.v[k].extent) || n->dom.v[k].extent->as.i <= 0 ||
            __builtin_mul_overflow(points, n->dom.v[k].extent->as.i, &points))
            return false;
    }
    for (size_t k = 0; k < n_values; k++) {
        ml_IterMap m = ml_iter_detect(n->ar, &values[k], 1, n->dom.v, n->dom.n, pred,
                                      ML_SURJECTIVE, false);

        if (!m.ok || m.sums[0].n > 1)
            return false;
        if (m.sums[0].n == 0)
            continue;
        const ml_Expr *extent = m.sums[0].digits[0].extent;

        if (!ml_is_const_int(extent))
            return false;
        if (__builtin_mul_overflow(images, extent->as.i, &images))
            return true;
    }
    return images > points;
}

/* The joint detection of the spatial and reduce bindings; map.sums in that order. */
static ml_IterMap detect(ml_Nest *n, const ml_Expr **values, size_t *n_values,
                         size_t *which)
{
    *n_values = 0;
    for (size_t k = 0; k < n->b->n_iters; k++)
        if (n->b->iters[k].kind == ML_ITER_SPATIAL ||
            n->b->iters[k].kind == ML_ITER_REDUCE) {
            which[*n_values] = k;
            values[(*n_values)++] = n->b->iters[k].value;
        }
    return ml_iter_detect(n->ar, values, *n_values, n->dom.v, n->dom.n, n->b->predicate,
                          ML_SURJECTIVE, false);
}

/* Whether a loop drives a reduce iter and another iter at once. */
static bool reduce_shares_loops(const ml_Nest *n)
{
    for (size_t d = 0; d < n->dom.n; d++) {
        size_t reduce = 0, all = 0;

        for (size_t k = 0; k < n->b->n_iters; k++)
            if (ml_expr_uses_var(n->b->iters[k].value, n->dom.v[d].var)) {
                reduce += n->b->iters[k].kind != ML_ITER_SPATIAL;
                all++;
            }
        if (reduce > 0 && all > 1)
            return true;
    }
    return false;
}

static void check_independent(ml_Nest *n, const ml_IterMap *m, const ml_Expr *const *values,
                              size_t n_values, bool output)
{
    if (m->ok || m->fail == ML_ITER_FAIL_EMPTY)
        return;
    /* The rest of the last tile: a predicate leaves out points of independent bindings. */
    if (!ml_is_true(n->b->predicate) &&
        ml_iter_detect(n->ar, values, n_values, n->dom.v, n->dom.n, ml_bool(n->cx, true),
                       ML_SURJECTIVE, false)
            .ok)
        return;
    ml_IterMap chain = ml_iter_detect(n->ar, values, n_values, n->dom.v, n->dom.n,
                                      n->b->predicate, ML_NO_CHECK, false);
    bool shared = m->fail == ML_ITER_FAIL_DEPENDENT && !chain.ok &&
                  chain.fail == ML_ITER_FAIL_DEPENDENT &&
                  pigeonhole(n, values, n_values, n->b->predicate);
    /* Part of an intermediate, of whichever scope around, or some of it again: legal for a
     * complete block (rules 4, 9). */
    bool spare = !reduce_shares_loops(n) && !output;

    n->independent = false;
    ml_find(&n->find, shared && !spare ? ml_nest_severity(n) : ML_SEV_UNPROVED,
            ML_E_NOT_INDEPENDENT, ML_BLOCK(n->b),
            ML_TEXT(m->at ? ml_format(n->cx, "%s: %s", ml_expr_text(n->cx, m->at),
                                      ml_iter_fail_text(m->fail))
                          : ml_iter_fail_text(m->fail)));
}

/* ---- rule 9: a reduction runs once per element */

/* Whether different iterations of the loops give different values; provably. */
static bool one_to_one(ml_Nest *n, const ml_Expr *const *values, size_t n_values,
                       const ml_DomVec *loops)
{
    const ml_Expr *yes = ml_bool(n->cx, true);

    if (ml_iter_detect(n->ar, values, n_values, loops->v, loops->n, yes, ML_BIJECTIVE,
                       false)
            .ok)
        return true;
    for (size_t k = 0; k < loops->n; k++) { /* perhaps not onto: each loop as it is */
        bool bare = ml_is_int(loops->v[k].extent, 1);

        for (size_t m = 0; m < n_values && !bare; m++)
            bare = values[m]->kind == ML_EXPR_VAR &&
                   values[m]->as.var->uid == loops->v[k].var->uid;
        if (!bare)
            return false;
    }
    return true;
}

/* More iterations than there can be values: some are repeated. */
static bool repeats(ml_Nest *n, const ml_Expr *const *values, size_t n_values,
                    const ml_DomVec *loops)
{
    int64_t points = 1, images = 1;

    for (size_t k = 0; k < loops->n; k++)
        if (!ml_is_const_int(loops->v[k].extent) ||
            __builtin_mul_overflow(points, loops->v[k].extent->as.i, &points))
            return false;
    for (size_t k = 0; k < n_values; k++) {
        ml_Interval box = ml_relax(n->ar, values[k], loops->v, loops->n);
        const ml_Expr *width;

        if (box.nothing || !box.min || !box.max)
            return false;
        width = ml_simplify(n->ar, ml_sub(n->cx, box.max, box.min));
        if (!ml_is_const_int(width) || width->as.i >= INT32_MAX ||
            __builtin_mul_overflow(images, width->as.i + 1, &images))
            return false;
    }
    return points > images;
}

/* Within the outermost reduce loop no iteration may come to an element again: the block
 * would start over, or add again, in the middle of the reduction. Further out it finishes
 * each repetition. */
static void check_once(ml_Nest *n)
{
    const ml_Expr **all = ML_ARRAY(n->cx, const ml_Expr *, n->b->n_iters + 1u);
    const ml_Expr **spatial = ML_ARRAY(n->cx, const ml_Expr *, n->b->n_iters + 1u);
    size_t n_all = 0, n_spatial = 0, first = n->dom.n;
    ml_DomVec inside = {0}, others = {0};

    if (!n->b->init || !n->independent)
        return;
    for (size_t k = 0; k < n->dom.n && first == n->dom.n; k++)
        if (ml_nest_uses_kind(n, n->dom.v[k].var, ML_ITER_REDUCE) &&
            !ml_is_int(n->dom.v[k].extent, 1))
            first = k;
    for (size_t k = first; k < n->dom.n; k++) {
        ml_push(n->cx, &inside, n->dom.v[k]);
        if (!ml_nest_uses_kind(n, n->dom.v[k].var, ML_ITER_REDUCE))
            ml_push(n->cx, &others, n->dom.v[k]);
    }
    if (inside.n == 0)
        return;
    for (size_t k = 0; k < n->b->n_iters; k++) {
        if (!ml_nest_uses_any(n->b->iters[k].value, &inside))
            continue;
        all[n_all++] = n->b->iters[k].value;
        if (n->b->iters[k].kind == ML_ITER_SPATIAL)
            spatial[n_spatial++] = n->b->iters[k].value;
    }
    if (one_to_one(n, all, n_all, &inside))
        return;
    bool wrong = ml_is_true(n->b->predicate) && others.n > 0 &&
                 repeats(n, spatial, n_spatial, &others) &&
                 ml_arith_bound(n->ar, n->dom.v[first].extent).lo > 1;

    ml_find(&n->find, wrong ? ml_nest_severity(n) : ML_SEV_UNPROVED, ML_E_ACCUMULATED_TWICE,
            ML_BLOCK(n->b));
}

/* ---- rules 7 and 8: producers and consumers */

static void check_producers(ml_Nest *n)
{
    ml_Uid scope = ml_index_scope(n->p.index, n->b->tag);
    const ml_Block *root = ml_as_block(ml_index_node(n->p.index, scope));
    ml_Children ch = ml_scope_children(n->facts, n->p, scope);
    bool before = false;

    for (size_t k = 0; k < n->b->n_reads; k++) {
        const ml_Buffer *buf = n->b->reads[k].buffer;
        bool local = false, early = false, self = false, again = false;

        for (size_t m = 0; m < root->n_allocs; m++)
            local |= root->allocs[m]->uid == buf->uid;
        for (size_t m = 0; local && m < ch.n; m++) {
            before = m == 0 ? true : before;
            if (ch.v[m]->tag == n->b->tag) {
                before = false;
                self = ml_block_writes(n->p, scope, n->b, buf);
            } else if (ml_block_writes(n->p, scope, ch.v[m], buf)) {
                ml_Uid a = ml_index_lca(n->p.index, ch.v[m]->tag, n->b->tag);

                early |= before; /* or in an iteration before */
                again |= ml_index_node(n->p.index, a)->kind == ML_STMT_FOR;
            }
        }
        if (local && !early && !self)
            ml_find(&n->find,
                    again || !ml_surely_reads(n->b, buf) ? ML_SEV_UNPROVED
                                                         : ml_nest_severity(n),
                    ML_E_READ_BEFORE_WRITE, ML_BLOCK(n->b), ML_BUFFER(buf));
    }
    if (!ml_is_covered(n->cx, n->facts, n->p, n->b->tag, true)) {
        const ml_Error *e = ml_error(n->cx);
        const ml_Region *missed = NULL;
        ml_Supply supply = ml_supply(n->cx, n->facts, n->p, n->b->tag, &missed);

        if (missed) { /* the one that is wrong, not the first that is not shown */
            ml_error_clear(n->cx);
            ml_cover_explain(n->cx, n->facts, n->p, n->b->tag, missed);
            e = ml_error(n->cx);
        }
        if (e && e->code == ML_E_NOT_REGION_COVERED && supply != ML_SUPPLY_ALL) {
            bool wrong = n->reached && supply == ML_SUPPLY_MISSED;
            ml_Finding f = {(uint8_t)(wrong ? ML_SEV_ERROR : ML_SEV_UNPROVED), NULL,
                            n->find.func};
            ml_Error *copy = ML_NEW(n->cx, ml_Error);

            *copy = *ml_error_copy(n->cx, e);
            copy->unproved = !wrong;
            f.error = copy;
            ml_push(n->cx, n->find.out, f);
        }
        ml_error_clear(n->cx);
    }
}

/* ---- rule 6: loop kinds */

typedef struct Kinds {
    ml_Nest *n;
    const ml_For *loop;
} Kinds;

static bool check_kind(const ml_Stmt *s, void *user)
{
    Kinds *w = user;
    const ml_For *f = w->loop;
    const ml_Block *b;

    if (!s->has_block)
        return false;
    if (s->kind != ML_STMT_BLOCK || !ml_index_node(w->n->p.index, ml_stmt_uid(s)))
        return true;
    b = ml_as_block(s);
    for (size_t k = 0; k < b->n_iters; k++) {
        uint8_t kind = b->iters[k].kind;

        if (kind == ML_ITER_SPATIAL ||
            (kind == ML_ITER_REDUCE && f->thread.axis == ML_AXIS_THREAD) ||
            !ml_expr_uses_var(b->iters[k].value, f->var))
            continue;
        const char *how = f->thread.axis
                              ? ml_format(w->n->cx, "bound to %s", f->thread.name)
                              : ml_for_kind_name((ml_ForKind)f->kind);

        ml_find(&w->n->find, ML_SEV_ERROR, ML_E_LOOP_KIND, ML_LOOP(f), ML_TEXT(how),
                ML_ITER(b, k), ML_BLOCK(b), ML_TEXT(ml_iter_kind_name((ml_IterKind)kind)));
    }
    return true;
}

static bool check_loop(const ml_Stmt *s, void *user)
{
    ml_Nest *n = user;

    if (!s->has_loop)
        return false;
    if (s->kind != ML_STMT_FOR)
        return true;
    const ml_For *f = ml_as_for(s);

    if (!ml_index_node(n->p.index, f->var->uid))
        return false; /* below an init */
    switch ((ml_ForKind)f->kind) {
    case ML_FOR_VECTORIZED:
    case ML_FOR_UNROLLED:
        if (!ml_is_const_int(f->extent) || !ml_is_const_int(f->min))
            ml_find(&n->find, ML_SEV_WARNING, ML_E_LOOP_DYNAMIC, ML_LOOP(f));
        if (f->kind == ML_FOR_UNROLLED)
            break;
        ml_stmt_visit(f->body, check_kind, &(Kinds){n, f});
        break;
    case ML_FOR_PARALLEL:
    case ML_FOR_THREAD: ml_stmt_visit(f->body, check_kind, &(Kinds){n, f}); break;
    case ML_FOR_SERIAL:
    case ML_FOR_KINDS: break;
    }
    return true;
}

/* ---- all rules */

/* Into what no block allocates; views: perhaps. */
static bool writes_output(const ml_Nest *n)
{
    for (size_t k = 0; k < n->b->n_writes; k++) {
        bool view = false;

        if (!ml_buffer_site(n->p, n->find.func, n->b->writes[k].buffer, &view) || view)
            return true;
    }
    return false;
}

static void check_block(ml_Nest *n)
{
    const ml_Block *b = n->b;
    const ml_Expr **values = ML_ARRAY(n->cx, const ml_Expr *, b->n_iters + 1u);
    size_t *which = ML_ARRAY(n->cx, size_t, b->n_iters + 1u);
    bool guarded = ml_dict_get(b->annotations, "require_bound_predicate") != NULL;
    bool output = writes_output(n);
    size_t n_values;

    n->ar = ml_arith_at(n->cx, n->p, b->tag);
    n->dom = (ml_DomVec){0};
    ml_relax_domain(n->cx, n->p, b->tag, 0, NULL, &n->dom);
    n->reached = ml_reachable(n->ar, n->p, b->tag);
    n->independent = n->inside = true;
    for (size_t k = 0; k < b->n_iters && !guarded; k++)
        check_domain(n, k);

    ml_IterMap m = detect(n, values, &n_values, which);

    check_independent(n, &m, values, n_values, output);
    for (size_t k = 0; k < n_values; k++) {
        uint8_t kind = b->iters[which[k]].kind;

        if (kind == ML_ITER_REDUCE || output)
            ml_nest_check_whole(n, which[k], &m, k);
    }
    if (!m.ok)
        ml_nest_check_init(n);
    ml_nest_check_first(n);
    check_once(n);
    check_producers(n);
}

void ml_verify_nests(ml_Ctx *cx, ml_Program p, ml_Findings *out)
{
    ml_Facts *facts = ml_facts_new(cx);

    for (uint32_t f = 0; f < p.mod->n; f++) {
        const ml_Stmt *body = p.mod->funcs[f]->body;
        ml_Nest n = {.cx = cx, .find = {cx, out, f, 0}, .facts = facts, .p = p};

        ml_all_blocks(cx, body, &n.blocks);
        for (size_t k = 0; k < n.blocks.n; k++) {
            n.b = ml_as_block(n.blocks.v[k]);
            if (ml_index_scope(p.index, n.b->tag))
                check_block(&n);
        }
        n.ar = ml_arith_new(cx);
        ml_stmt_visit(body, check_loop, &n);
    }
    ml_facts_free(facts);
}
