/*
 * skip_zeros - leave out the instances of a sum that add zero.
 *
 * A transposed convolution reads its input between zeros: a factor of its addend is a choice
 * by a remainder, `select((h + r) % s == 0, x, 0)`. Of s neighbouring values of the reduce
 * iter r one passes: r becomes s*r' + (the value below s that passes), the loop shrinks to
 * its s-th part, and the choice is gone. What the last r' has beyond the old domain stays a
 * choice. Source: workloads 2 (T2D), lowering-and-codegen 3.7.
 */
#include "moonloop/primitives/layout/layout.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/addend.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

enum { BLOCK, FINITE };
enum { MOST_STEP = 4096 };

typedef struct Skip {
    ml_Call *c;
    const ml_Block *block;
    ml_StmtVec loops;
    ml_Arith *ar;
    const ml_Expr *addend; /* as far as it is rewritten */
    const ml_Expr *guard;  /* what r' must not go beyond */
    ML_VEC(const ml_Expr *) tests;
    ml_Iter *iters;         /* of the block, new ones in their places */
    const ml_For **loop_of; /* per iter: its loop, when it has a new extent */
    size_t n_changed;
} Skip;

/* ---- the form */

static bool no_zeros(const Skip *s, const char *why)
{
    return ml_fail(s->c->cx, ML_E_NO_ZEROS, ML_BLOCK(s->block), ML_TEXT(why));
}

static void collect_tests(Skip *s, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_AND) {
        collect_tests(s, e->args[0]);
        collect_tests(s, e->args[1]);
    } else {
        ml_push(s->c->cx, &s->tests, e);
    }
}

/* ---- a test, solved for a reduce iter */

typedef struct Solved { /* coefficient * v + rest == remainder (mod step) */
    const ml_Expr *sum; /* the left side */
    const ml_Expr *rest;
    int64_t coefficient, step, remainder, inverse;
} Solved;

static bool invert(Solved *t)
{
    int64_t c = ((t->coefficient % t->step) + t->step) % t->step;

    for (t->inverse = 1; t->inverse < t->step; t->inverse++)
        if (c * t->inverse % t->step == 1)
            return true;
    return false;
}

/* The test as one of that form, by variable v. */
static bool solve(const Skip *s, const ml_Expr *test, const ml_Var *v, Solved *out)
{
    ml_Ctx *cx = s->c->cx;

    if (test->kind != ML_EXPR_EQ || test->args[0]->kind != ML_EXPR_FLOORMOD ||
        !ml_is_const_int(test->args[1]) || !ml_is_const_int(test->args[0]->args[1]))
        return false;
    const ml_Expr *sum = test->args[0]->args[0];
    const ml_Expr *at = ml_var(cx, v);

    out->sum = sum;
    out->step = test->args[0]->args[1]->as.i;
    out->remainder = test->args[1]->as.i;
    if (out->step < 2 || out->step > MOST_STEP || out->remainder < 0 ||
        out->remainder >= out->step || !ml_expr_uses_var(sum, v) ||
        (sum->flags & ML_X_HAS_LOAD) || ml_expr_effect(sum) > ML_EFFECT_PURE)
        return false;
    const ml_Expr *next =
        ml_expr_subst1(cx, sum, v, ml_add(cx, at, ml_int(cx, v->type, 1)));
    const ml_Expr *by = ml_simplify(s->ar, ml_sub(cx, next, sum));

    if (by->kind != ML_EXPR_INT || by->as.i > MOST_STEP || by->as.i < -MOST_STEP)
        return false;
    out->coefficient = by->as.i;
    out->rest = ml_simplify(s->ar, ml_expr_subst1(cx, sum, v, ml_int(cx, v->type, 0)));
    return invert(out);
}

/* The loop of iter k drives nothing else and holds nothing but the block, so that it can run
 * less often. NULL: it is no such loop. */
static const ml_For *own_loop(const Skip *s, uint32_t k)
{
    const ml_Block *b = s->block;
    const ml_Expr *value = b->iters[k].value;
    size_t at = 0;

    while (at < s->loops.n && (value->kind != ML_EXPR_VAR ||
                               ml_as_for(s->loops.v[at])->var->uid != value->as.var->uid))
        at++;
    if (at == s->loops.n || ml_expr_uses_var(b->predicate, value->as.var))
        return NULL;
    const ml_For *f = ml_as_for(s->loops.v[at]);

    if (f->kind != ML_FOR_SERIAL || !ml_is_int(f->min, 0) || !ml_is_const_int(f->extent) ||
        !ml_is_int(b->iters[k].extent, f->extent->as.i) ||
        (f->step && !ml_is_int(f->step, 1)))
        return NULL;
    for (uint32_t m = 0; m < b->n_iters; m++)
        if (m != k && ml_expr_uses_var(b->iters[m].value, f->var))
            return NULL;
    for (size_t m = at; m < s->loops.n; m++) {
        const ml_For *in = ml_as_for(s->loops.v[m]);

        if (in->body != (m + 1 < s->loops.n ? s->loops.v[m + 1] : &b->base) ||
            ml_expr_uses_var(in->min, f->var) || ml_expr_uses_var(in->extent, f->var))
            return NULL;
    }
    return f;
}

/* The iter that a test is solved for: a reduce iter of a loop of its own, not yet changed. */
static bool find_iter(const Skip *s, const ml_Expr *test, uint32_t *at, Solved *out)
{
    const ml_Block *b = s->block;
    const ml_Store *st = ml_as_store(b->body);

    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        bool indexes = false;

        if (it->kind != ML_ITER_REDUCE || s->loop_of[k] || !ml_is_int(it->min, 0) ||
            !ml_is_const_int(it->extent) || it->extent->as.i < 1 || !own_loop(s, k))
            continue;
        for (uint32_t d = 0; d < st->n; d++)
            indexes |= ml_expr_uses_var(st->indices[d], it->var);
        if (!indexes && solve(s, test, it->var, out)) {
            *at = k;
            return true;
        }
    }
    return false;
}

/* ---- the rewrite */

typedef struct Quotients {
    const Skip *s;
    const Solved *t;
    const ml_Expr *whole; /* what (sum - remainder) / step is now */
} Quotients;

/* Quotients of the sum by the step are told by the new iter: the remainder is known. */
static const ml_Expr *tell_quotient(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Quotients *q = user;
    const Solved *t = q->t;

    if (e->kind == ML_EXPR_FLOORDIV && ml_is_int(e->args[1], t->step) &&
        e->args[0]->type.bits == t->sum->type.bits) {
        const ml_Expr *more = ml_simplify(q->s->ar, ml_sub(cx, e->args[0], t->sum));

        if (more->kind == ML_EXPR_INT)
            return ml_add(cx, q->whole,
                          ml_floordiv(cx, ml_int(cx, e->type, more->as.i + t->remainder),
                                      ml_int(cx, e->type, t->step)));
    }
    return ml_expr_map_args(cx, e, tell_quotient, user);
}

/* Iter k takes the values that pass the test alone. */
static void apply_test(Skip *s, uint32_t k, const Solved *t)
{
    ml_Ctx *cx = s->c->cx;
    ml_Iter *it = &s->iters[k];
    const ml_Var *old = it->var, *fresh = ml_var_fresh(cx, old);
    ml_Dtype type = old->type;
    int64_t extent = it->extent->as.i, n = (extent + t->step - 1) / t->step;
    const ml_Expr *step = ml_int(cx, type, t->step);
    const ml_Expr *sum_step = ml_int(cx, t->rest->type, t->step);

    /* the value below step that passes: inverse * (remainder - rest) mod step */
    const ml_Expr *from =
        ml_mul(cx, ml_sub(cx, ml_int(cx, t->rest->type, t->remainder), t->rest),
               ml_int(cx, t->rest->type, t->inverse));
    const ml_Expr *first =
        ml_cast(cx, type, ml_simplify(s->ar, ml_floormod(cx, from, sum_step)));
    const ml_Expr *now = ml_add(cx, ml_mul(cx, ml_var(cx, fresh), step), first);
    Quotients q = {.s = s, .t = t};
    const ml_Expr *by = ml_int(cx, t->rest->type, t->coefficient), *left;

    if (t->coefficient == 1) /* rounded up */
        left = ml_add(cx, t->rest, ml_int(cx, t->rest->type, t->step - 1 - t->remainder));
    else
        left = ml_sub(
            cx, ml_add(cx, ml_mul(cx, ml_cast(cx, t->rest->type, first), by), t->rest),
            ml_int(cx, t->rest->type, t->remainder));
    q.whole = ml_add(cx, ml_mul(cx, ml_cast(cx, t->rest->type, ml_var(cx, fresh)), by),
                     ml_floordiv(cx, left, sum_step));
    ml_arith_bind_range(s->ar, fresh, ml_int(cx, type, 0), ml_int(cx, type, n));
    s->addend = ml_expr_subst1(cx, tell_quotient(cx, s->addend, &q), old, now);
    s->guard = ml_expr_subst1(cx, s->guard, old, now);
    for (size_t m = 0; m < s->tests.n; m++)
        s->tests.v[m] = ml_expr_subst1(cx, s->tests.v[m], old, now);
    if (extent % t->step)
        s->guard = ml_and(cx, s->guard, ml_lt(cx, now, it->extent));
    s->loop_of[k] = own_loop(s, k);
    s->n_changed++;
    it->var = fresh;
    it->extent = ml_int(cx, it->extent->type, n);
}

/* The addend without the choice as far as the tests are solved. */
static bool solve_tests(Skip *s, const ml_Expr *choice)
{
    ml_Ctx *cx = s->c->cx;
    const ml_Expr *left = ml_bool(cx, true);
    ML_VEC(const ml_Expr *) more = {0};

    collect_tests(s, choice->args[0]);
    s->addend = ml_expr_swap(cx, s->addend, choice, choice->args[1]);
    while (s->tests.n > 0) {
        const ml_Expr *test = s->tests.v[0];
        uint32_t k;
        Solved t;

        memmove(s->tests.v, s->tests.v + 1, --s->tests.n * sizeof *s->tests.v);
        if (find_iter(s, test, &k, &t))
            apply_test(s, k, &t);
        else
            ml_push(cx, &more, test);
    }
    if (s->n_changed == 0)
        return no_zeros(s,
                        "no test of the choice is one of a remainder of a sum, in which a "
                        "reduce iter with a loop of its own has a part");
    for (size_t m = 0; m < more.n; m++)
        left = ml_and(cx, left, more.v[m]);
    s->guard = ml_and(cx, left, s->guard);
    return true;
}

static const ml_Expr *simpler(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    (void)cx;
    return ml_simplify(user, e);
}

static bool install(Skip *s)
{
    ml_Call *c = s->c;
    ml_Ctx *cx = c->cx;
    ml_Block nb = *s->block;
    const ml_Store *st = ml_as_store(nb.body);
    const ml_Expr *own = ml_load(cx, st->buffer, st->indices, st->n), *what = s->addend;
    ml_Subst none = {0};

    if (!ml_is_true(s->guard))
        what = ml_if_then_else(cx, s->guard, what, ml_const(cx, what->type, 0));
    nb.iters = s->iters;
    nb.body = ml_stmt_at(
        cx, ml_store(cx, st->buffer, ml_add(cx, own, what), st->indices, st->n, NULL),
        st->base.span);
    const ml_Stmt *tidy =
        ml_stmt_subst_tidy(cx, ml_block_from(cx, &nb), &none, simpler, s->ar);

    tidy = ml_tidy_indices(s->ar, tidy, nb.iters, nb.n_iters);
    nb = *ml_as_block(tidy);
    const ml_Block *inferred = ml_block_reinfer(cx, ml_call_func(c), &nb);

    if (!inferred)
        return false;
    ml_call_replace(c, s->block->tag, &inferred->base);
    for (uint32_t k = 0; k < nb.n_iters; k++) {
        if (!s->loop_of[k])
            continue;
        ml_For f = *ml_call_loop(c, s->loop_of[k]->var->uid);

        f.extent = ml_int(cx, f.extent->type, s->iters[k].extent->as.i);
        ml_call_replace(c, f.var->uid, ml_for_from(cx, &f));
    }
    return true;
}

static bool skip_zeros(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Skip s = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};
    const ml_Expr *choice, *other = NULL;

    if (!ml_check_not_root(c, s.block->tag))
        return false;
    s.addend = ml_addend(s.block);
    if (!s.addend)
        return no_zeros(&s, "its body is not one store that adds to an element");
    choice = ml_zero_choice(s.addend, &other);
    if (!choice)
        return no_zeros(&s, "no factor of what it adds is a choice between a value and 0");
    if (!ml_check_schedulable(c, ml_index_scope(c->p.index, s.block->tag), s.block->tag))
        return false;
    s.ar = ml_arith_at(cx, c->p, s.block->tag);
    ml_arith_bind_iters(s.ar, s.block);
    s.guard = ml_bool(cx, true);
    s.iters = ML_ARRAY(cx, ml_Iter, s.block->n_iters + 1u);
    s.loop_of = ML_ARRAY(cx, const ml_For *, s.block->n_iters + 1u);
    for (uint32_t k = 0; k < s.block->n_iters; k++)
        s.iters[k] = s.block->iters[k];
    ml_index_loops(cx, c->p.index, s.block->tag, &s.loops);
    if (!solve_tests(&s, choice))
        return false;
    if (other && !c->args[FINITE].b)
        return ml_fail_as(cx, ML_E_VALUE_CHANGED,
                          "0 times {1} is not 0 where that is infinite or no number; "
                          "finite = true says that it is not",
                          ML_BLOCK(s.block), ML_EXPRESSION(other));
    if (other)
        ml_call_note(c, "what stands beside the zeros is taken to be finite");
    return install(&s);
}

static void suggest_skip_zeros(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                               ml_Tries *t)
{
    if (e->code == ML_E_VALUE_CHANGED)
        ml_try(t, "where all of it is finite", "skip_zeros(\"%s\", true)",
               ml_name_of(s, args[BLOCK].uid));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that adds up products"),
    ML_PARAM_FLAG("finite", false,
                  "true: you know that what the zeros are multiplied by is finite, as "
                  "0 times infinity is no 0; false: refused where that is not shown"),
};

const ml_Primitive ml_prim_skip_zeros = {
    ML_PRIM(skip_zeros, "SkipZeros"),
    .group = "reductions",
    .summary = "leave out the instances of a sum that add zero",
    .help = "A factor of what the block adds is a value or 0, by the remainder of a sum of "
            "iters:\n"
            "the reduce iter in it takes the values that pass, and its loop shrinks.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .suggest = suggest_skip_zeros,
    .errors = (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NO_ZEROS, ML_E_NOT_SCHEDULABLE,
                                     ML_E_VALUE_CHANGED, ML_E_OK},
};
