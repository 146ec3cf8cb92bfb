/*
 * skip_padding - leave out the instances of a sum whose factor is a zero of the padding.
 *
 * A convolution reads an image with zeros around it: a factor of its addend is a choice,
 * `if_then_else(1 <= h + r and h + r < 15, x, 0)`, or a load of what a block stores that
 * chooses so. The tests that the loop's iter has a part in move out of the factor: the addend
 * becomes `if_then_else(tests, addend, 0)`, of which lowering makes a condition around the
 * loops that do not change it. Source: workloads 2, lowering-and-codegen 3.6a.
 */
#include "moonloop/primitives/rewrite/addend.h"
#include "moonloop/primitives/rewrite/inline.h"

enum { BLOCK, LOOP, FINITE };

typedef struct Skip {
    ml_Call *c;
    const ml_Block *block;
    const ml_Var *iter;    /* that the loop drives */
    const ml_Expr *addend; /* below the tests that are outside already */
    const ml_Expr *guard;  /* those, and what moves to them */
    const ml_Expr *other;  /* a factor beside the zeros that may not be finite; or NULL */
    bool absent;           /* the zeros stand for what is not there */
    size_t n_moved;
} Skip;

static bool no_zeros(const Skip *s, const char *why)
{
    return ml_fail(s->c->cx, ML_E_NO_ZEROS, ML_BLOCK(s->block), ML_TEXT(why));
}

static bool find_iter(Skip *s)
{
    const ml_Block *b = s->block;
    const ml_Var *loop = ml_as_for(s->c->args[LOOP].node)->var;

    for (uint32_t k = 0; k < b->n_iters && !s->iter; k++)
        if (b->iters[k].value->kind == ML_EXPR_VAR && b->iters[k].value->as.var == loop)
            s->iter = b->iters[k].var;
    return s->iter ? true : no_zeros(s, "no iter of it is bound to the loop alone");
}

/* Tests of `cond` that the iter has a part in; *rest: the others. */
static const ml_Expr *take_tests(Skip *s, const ml_Expr *cond, const ml_Expr **rest)
{
    ml_Ctx *cx = s->c->cx;

    if (cond->kind == ML_EXPR_AND) {
        const ml_Expr *left = take_tests(s, cond->args[0], rest);

        return ml_and(cx, left, take_tests(s, cond->args[1], rest));
    }
    if (ml_expr_uses_var(cond, s->iter) && !(cond->flags & ML_X_HAS_LOAD) &&
        ml_expr_effect(cond) <= ML_EFFECT_PURE)
        return cond;
    *rest = ml_and(cx, *rest, cond);
    return ml_bool(cx, true);
}

static void add_guard(Skip *s, const ml_Expr *tests)
{
    s->guard = ml_and(s->c->cx, s->guard, tests);
    s->n_moved++;
}

/* ---- zeros of the block's own */

static void leave_own(Skip *s)
{
    ml_Ctx *cx = s->c->cx;
    const ml_Expr *other = NULL, *choice = ml_zero_choice(s->addend, &other);
    const ml_Expr *rest = ml_bool(cx, true), *tests, *now;

    if (!choice)
        return;
    tests = take_tests(s, choice->args[0], &rest);
    if (ml_is_true(tests))
        return;
    add_guard(s, tests);
    s->other = other;
    now = choice->args[1];
    if (!ml_is_true(rest))
        now = ml_if_then_else(cx, rest, now, choice->args[2]);
    s->addend = ml_expr_swap(cx, s->addend, choice, now);
}

/* ---- zeros that another block stores */

/* The block that alone writes the buffer, before this one: element by element, in order, a
 * choice between a value and 0. NULL: there is none. */
static const ml_Block *padder_of(const Skip *s, const ml_Buffer *buf)
{
    ml_Ctx *cx = s->c->cx;
    ml_UidVec from = {0};
    const ml_Block *found = NULL;

    ml_producers(cx, s->c->facts, s->c->p, s->block->tag, &from);
    for (size_t k = 0; k < from.n; k++) {
        const ml_Block *b = ml_call_block(s->c, from.v[k]);
        const ml_Store *st = ml_single_store(b);

        for (uint32_t w = 0; w < b->n_writes; w++)
            if (b->writes[w].buffer->uid == buf->uid && found)
                return NULL;
            else if (b->writes[w].buffer->uid == buf->uid)
                found = b;
        if (found != b)
            continue;
        if (!st || st->mask || b->init || b->n_matches || b->n_allocs ||
            st->buffer->uid != buf->uid || st->n != b->n_iters ||
            !ml_is_true(b->predicate) || !ml_is_zero_choice(st->value))
            return NULL;
        for (uint32_t d = 0; d < st->n; d++)
            if (st->indices[d]->kind != ML_EXPR_VAR ||
                st->indices[d]->as.var->uid != b->iters[d].var->uid)
                return NULL;
    }
    return found;
}

/* e: a factor of the addend; whole: what it is a factor of, or NULL. */
static bool leave_stored(Skip *s, const ml_Expr *e, const ml_Expr *beside)
{
    ml_Ctx *cx = s->c->cx;
    const ml_Block *b;
    ml_Subst sub = {0};

    if (e->kind == ML_EXPR_CAST)
        return leave_stored(s, e->args[0], beside);
    if (e->kind == ML_EXPR_MUL) {
        for (int k = 0; k < 2; k++) {
            const ml_Expr *next = e->args[1 - k];

            if (!leave_stored(s, e->args[k], ml_is_finite(next) ? beside : next))
                return false;
        }
        return true;
    }
    if (e->kind != ML_EXPR_LOAD || (e->flags & ML_X_MASKED) ||
        !(b = padder_of(s, e->as.buffer)))
        return true;
    if (!ML_PROVE(s->c, ML_SOUND, ml_need_complete(cx, s->c->facts, s->c->p, b->tag)))
        return false;
    for (uint32_t d = 0; d < b->n_iters; d++)
        ml_subst_var(cx, &sub, b->iters[d].var,
                     ml_cast(cx, b->iters[d].var->type, e->args[d]));
    const ml_Expr *rest = ml_bool(cx, true), *cond = ml_single_store(b)->value->args[0];
    const ml_Expr *tests = take_tests(s, ml_expr_subst(cx, cond, &sub), &rest);
    const ml_Value *absent = ml_dict_get(b->annotations, "padding_is_absent");

    if (ml_is_true(tests))
        return true;
    add_guard(s, tests);
    s->absent = absent && absent->kind == ML_VAL_BOOL && absent->as.i;
    if (!s->absent && beside)
        s->other = beside;
    return true;
}

/* ---- the rewrite */

static const ml_Expr *simpler(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    (void)cx;
    return ml_simplify(user, e);
}

static bool install(Skip *s)
{
    ml_Ctx *cx = s->c->cx;
    ml_Arith *ar = ml_arith_at(cx, s->c->p, s->block->tag);
    ml_Block nb = *s->block;
    const ml_Store *st = ml_as_store(nb.body);
    const ml_Expr *own = ml_load(cx, st->buffer, st->indices, st->n);
    const ml_Expr *zero = ml_const(cx, s->addend->type, 0), *what;

    ml_arith_bind_iters(ar, s->block);
    what = ml_if_then_else(cx, simpler(cx, s->guard, ar), s->addend, zero);
    nb.body = ml_stmt_at(
        cx, ml_store(cx, st->buffer, ml_add(cx, own, what), st->indices, st->n, NULL),
        st->base.span);
    const ml_Block *inferred =
        ml_block_reinfer(cx, ml_call_func(s->c), ml_as_block(ml_block_from(cx, &nb)));

    if (!inferred)
        return false;
    ml_call_replace(s->c, s->block->tag, &inferred->base);
    return true;
}

static bool skip_padding(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Skip s = {.c = c, .block = ml_call_block(c, c->args[BLOCK].uid)};

    if (!ml_check_not_root(c, s.block->tag) || !find_iter(&s))
        return false;
    s.addend = ml_addend(s.block);
    s.guard = ml_bool(cx, true);
    if (!s.addend)
        return no_zeros(&s, "its body is not one store that adds to an element");
    if (!ml_check_pipeline(c, ml_index_scope(c->p.index, s.block->tag)))
        return false;
    if (ml_is_zero_choice(s.addend)) {
        s.guard = s.addend->args[0];
        s.addend = s.addend->args[1];
    }
    leave_own(&s);
    if (s.n_moved == 0 && !leave_stored(&s, s.addend, NULL))
        return false;
    if (s.n_moved == 0)
        return no_zeros(&s,
                        "no factor of what it adds is a choice between a value and 0, nor "
                        "stored as one, by a test that the loop has a part in");
    if (s.other && !c->args[FINITE].b)
        return ml_fail_as(cx, ML_E_VALUE_CHANGED,
                          "0 times {1} is not 0 where that is infinite or no number; "
                          "finite = true says that it is not",
                          ML_BLOCK(s.block), ML_EXPRESSION(s.other));
    if (s.other)
        ml_call_note(c, "what stands beside the zeros is taken to be finite");
    if (s.absent)
        ml_call_note(
            c, "the padding stands for elements that are not there, as its block says");
    return install(&s);
}

static void suggest_skip_padding(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                 ml_Tries *t)
{
    if (e->code == ML_E_VALUE_CHANGED)
        ml_try(t, "where all of it is finite", "skip_padding(\"%s\", \"%s\", true)",
               ml_name_of(s, args[BLOCK].uid), ml_name_of(s, args[LOOP].uid));
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that adds up products"),
    ML_PARAM("loop", ML_P_LOOP, "of whose iterations some meet zeros alone"),
    ML_PARAM_FLAG("finite", false,
                  "true: you know that what the zeros are multiplied by is finite, as "
                  "0 times infinity is no 0; false: refused where that is not shown"),
};

const ml_Primitive ml_prim_skip_padding = {
    ML_PRIM(skip_padding, "SkipPadding"),
    .group = "reductions",
    .summary = "leave out the instances of a sum that meet padding",
    .help = "A factor of what the block adds is a value or 0, or stored so by another "
            "block, by\n"
            "bounds that the loop has a part in: the whole addend is left out beyond them.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .suggest = suggest_skip_padding,
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NO_ZEROS, ML_E_NOT_STAGE_PIPELINE,
                               ML_E_NOT_COMPLETE, ML_E_VALUE_CHANGED, ML_E_OK},
};
