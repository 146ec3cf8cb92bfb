/*
 * split - cut one loop into a nest of loops whose extents are the given factors.
 *
 * The loop variable becomes ((i_0*f_1 + i_1)*f_2 + i_2)...; where that may pass the extent,
 * the blocks below get the guard `value < extent`. Source: primitives 6, split; Feng et
 * al., ASPLOS 2023, section 3.2.
 */
#include "moonloop/primitives/prim.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"

enum { LOOP, FACTORS, PRESERVE_UNIT_ITERS, DISABLE_PREDICATION };

/* "factors 10 × 64 = 640 do" or "factor 64 does"; what is no literal prints as it is. */
static const char *factor_list(ml_Ctx *cx, const ml_Given *f, const ml_Expr *product)
{
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = -1, .plain = true};

    ml_text_add(&t, f->n == 1 ? "factor " : "factors ");
    for (size_t k = 0; k < f->n; k++) {
        if (k)
            ml_text_add(&t, " × ");
        ml_print_expr(cx, &t, f->exprs[k], &o);
    }
    if (f->n > 1) {
        ml_text_add(&t, " = ");
        ml_print_expr(cx, &t, product, &o);
    }
    ml_text_add(&t, f->n == 1 ? " does" : " do");
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}

static bool check_factors(ml_Call *c, const ml_For *loop, size_t *n_auto, size_t *where)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *f = &c->args[FACTORS];

    *n_auto = 0;
    if (f->n == 0)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("factors is empty: give at least one factor, or auto"));
    for (size_t k = 0; k < f->n; k++) {
        const ml_Expr *e = f->exprs[k];

        if (!e) {
            if ((*n_auto)++ > 0)
                return ml_fail(cx, ML_E_TWO_AUTOS, ML_NUMBER("first", *where + 1),
                               ML_NUMBER("second", k + 1));
            *where = k;
        } else if (ml_is_const_int(e) && e->as.i <= 0)
            return ml_fail(cx, ML_E_FACTOR_NOT_POSITIVE, ML_NUMBER("position", k + 1),
                           ML_NUMBER("factor", e->as.i), ML_LOOP(loop));
    }
    return true;
}

/* The widest index type of the loop and its factors. */
static ml_Dtype split_dtype(const ml_For *loop, const ml_Given *f)
{
    ml_Dtype t = loop->var->type;

    for (size_t k = 0; k < f->n; k++)
        if (f->exprs[k] && !ml_is_const_int(f->exprs[k]) && f->exprs[k]->type.bits > t.bits)
            t = f->exprs[k]->type;
    return t;
}

typedef struct Outside { /* what is computed outside of blocks with the loop's variable */
    const ml_Var *var;
    const ml_Expr *bad; /* loads memory, or divides by what may be 0 */
} Outside;

static bool may_fail(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= e->kind == ML_EXPR_LOAD ||
              (ml_kind_divides(e->kind) && e->args[1]->kind != ML_EXPR_INT);
    return !*found;
}

static void look_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Outside *o = user;
    bool found = false;

    (void)role;
    if (ml_expr_uses_var(e, o->var))
        ml_expr_visit(e, may_fail, &found);
    if (found)
        o->bad = e;
}

static bool look_stmt(const ml_Stmt *s, void *user)
{
    Outside *o = user;

    if (ml_takes_guard(s))
        return false;
    if (s->kind == ML_STMT_BLOCK && !o->bad) /* both sides of an and are looked at */
        look_expr(ml_as_block(s)->predicate, ML_ROLE_COND, o);
    else if (!o->bad)
        ml_stmt_exprs(s, look_expr, o);
    return s->kind != ML_STMT_BLOCK && !o->bad;
}

/* The guard is at the blocks and around statements of their own: what is computed on the
 * way to them is computed in the iterations past the end, too. */
static bool check_outside(ml_Call *c, const ml_For *loop)
{
    Outside o = {.var = loop->var};

    ml_stmt_visit(loop->body, look_stmt, &o);
    return !o.bad ||
           ml_fail_as(
               c->cx, ML_E_READS_BEYOND,
               "the extent is not divided: outside of blocks, where the guard does not "
               "reach, memory would be read for iterations past the end of loop {0}",
               ML_LOOP(loop), ML_EXPRESSION(o.bad));
}

static bool too_small(ml_Arith *ar, const ml_For *loop, const ml_Given *given,
                      const ml_Expr *product, const ml_Expr *extent)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr *p = ml_simplify(ar, product);

    if (ml_is_const_int(p) && ml_is_const_int(extent))
        return ml_fail(cx, ML_E_FACTORS_TOO_SMALL, ML_TEXT(factor_list(cx, given, p)),
                       ML_NUMBER("product", p->as.i), ML_LOOP(loop),
                       ML_NUMBER("extent", extent->as.i));
    ml_fail(cx, ML_E_FACTORS_TOO_SMALL, ML_TEXT(factor_list(cx, given, p)),
            ML_EXPRESSION(p), ML_LOOP(loop), ML_EXPRESSION(extent));
    ml_error_set_unproved(cx);
    return false;
}

static bool split(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_For *loop = ml_call_loop(c, c->args[LOOP].uid);
    const ml_Given *given = &c->args[FACTORS];
    size_t n = given->n, n_auto, where = 0;

    if (!check_factors(c, loop, &n_auto, &where))
        return false;

    ml_Dtype t = split_dtype(loop, given);
    ml_Arith *ar = ml_arith_at(cx, c->p, c->args[LOOP].uid);
    const ml_Expr *extent = ml_cast(cx, t, loop->extent);
    const ml_Expr *product = ml_int(cx, t, 1);
    const ml_Expr **factors = ML_ARRAY(cx, const ml_Expr *, n);

    for (size_t k = 0; k < n; k++) {
        if (!given->exprs[k])
            continue;
        factors[k] = ml_cast(cx, t, given->exprs[k]);
        product = ml_mul(cx, product, factors[k]);
    }
    if (!ml_ok_or_fail(cx))
        return false;
    if (n_auto == 0 && !ml_prove_le_expr(ar, extent, product))
        return too_small(ar, loop, given, product, extent);
    if (!ml_check_plain_loop(c, loop))
        return false;
    if (!ml_prove_equal(ar, loop->min, ml_int(cx, loop->min->type, 0)))
        return ml_fail(cx, ML_E_LOOP_NOT_ZERO_BASED, ML_LOOP(loop),
                       ML_EXPRESSION(loop->min));

    if (n_auto) {
        const ml_Expr *one = ml_int(cx, t, 1);

        factors[where] = ml_simplify(
            ar, ml_floordiv(cx, ml_sub(cx, ml_add(cx, extent, product), one), product));
    }

    /* The value of the old variable, outermost factor first. */
    const ml_Var **vars = ML_ARRAY(cx, const ml_Var *, n);
    const ml_Expr *value = ml_int(cx, t, 0);

    for (size_t k = 0; k < n; k++) {
        vars[k] = ml_var_new_part(cx, loop->var, k, t);
        value = ml_add(cx, ml_mul(cx, value, factors[k]), ml_var(cx, vars[k]));
        ml_arith_bind_range(ar, vars[k], ml_int(cx, t, 0), factors[k]);
    }

    const ml_Expr *guard = NULL;
    const ml_Stmt *body = loop->body;
    const ml_Expr *inside = ml_lt(cx, value, extent);
    bool passes = !ml_prove_symbolic(ar, inside); /* the end of the loop, for all we know */

    if (passes && !c->args[DISABLE_PREDICATION].b)
        guard = inside;
    if (guard && !ML_PROVE(c, ML_SOUND, check_outside(c, loop)))
        return false;
    ml_Subst sub = {0};

    ml_subst_var(cx, &sub, loop->var, ml_cast(cx, loop->var->type, value));
    body = ml_subst_loops(c, body, &sub);
    if (guard && !ML_FAULT(SPLIT_GUARD))
        body = ml_append_predicate(cx, body, guard);
    for (size_t k = n; k-- > 0;)
        body = ml_for_from(cx, &(ml_For){.base.span = loop->base.span,
                                         .kind = ML_FOR_SERIAL,
                                         .var = vars[k],
                                         .min = ml_int(cx, t, 0),
                                         .extent = factors[k],
                                         .body = body});
    body = ml_simplify_bindings(c, c->args[LOOP].uid, body, c->args[PRESERVE_UNIT_ITERS].b);
    if (!ml_ok_or_fail(cx))
        return false;

    if (loop->kind != ML_FOR_SERIAL)
        ml_call_note(c, "loop %s was %s; its parts are serial", ml_shown(c->cx, loop->var),
                     ml_for_kind_name((ml_ForKind)loop->kind));
    if (passes && c->args[DISABLE_PREDICATION].b)
        ml_call_note(c,
                     "no guard was added: the result is right only if the factors' product "
                     "equals the extent");
    ml_call_replace(c, c->args[LOOP].uid, body);

    const ml_Stmt **loops = ML_ARRAY(cx, const ml_Stmt *, n);
    bool symbolic = false;

    for (size_t k = 0; k < n; k++) {
        loops[k] = ml_index_node(c->p.index, vars[k]->uid);
        symbolic |= k > 0 && factors[k]->kind != ML_EXPR_INT;
    }
    /* A factor that depends on a loop outside brings that loop into the bindings. */
    if (symbolic && !ml_check_loop_kinds(c, loops[0]))
        return false;
    ml_call_return_loops(c, loops, n);
    return true;
}

/* One auto is kept, the others go. */
static void suggest_one_auto(const ml_Given *f, const char *name, ml_Tries *t)
{
    for (size_t keep = 0; keep < f->n; keep++) {
        ml_Text list = {0};

        for (size_t k = 0; !f->exprs[keep] && k < f->n; k++) {
            if (!f->exprs[k] && k != keep)
                continue;
            ml_text_add(&list, list.n ? ", " : "");
            if (f->exprs[k])
                ml_text_int(&list, ml_is_const_int(f->exprs[k]) ? f->exprs[k]->as.i : 0);
            else
                ml_text_add(&list, "auto");
        }
        if (strchr(ml_text_z(&list), ','))
            ml_try(t, NULL, "split(\"%s\", {%s})", name, ml_text_z(&list));
        ml_text_free(&list);
    }
}

/* Ways out: leave the outermost factor to be worked out, round factors to divisors. A loop
 * of one iteration has none: each would be a guard around nothing. */
static void suggest_split(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                          ml_Tries *t)
{
    const ml_Given *f = &args[FACTORS];
    const char *name = ml_name_of(s, args[LOOP].uid);
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[LOOP].uid);
    int64_t extent = 0;

    if (!node || node->kind != ML_STMT_FOR)
        return;
    if (ml_is_const_int(ml_as_for(node)->extent))
        extent = ml_as_for(node)->extent->as.i;
    if (extent == 1)
        return;
    int64_t inner = extent && extent < 4 ? extent : 4;

    if (e->code == ML_E_FACTORS_TOO_SMALL && f->n == 1 && ml_is_const_int(f->exprs[0])) {
        ml_try(t, NULL, "split(\"%s\", {%lld, auto})", name, (long long)f->exprs[0]->as.i);
        return;
    }
    if (e->code == ML_E_TWO_AUTOS)
        suggest_one_auto(f, name, t);
    if (e->code == ML_E_FACTORS_TOO_SMALL) {
        ml_Text rest = {0};
        int64_t left = extent;
        bool exact = extent > 0;

        /* all but the first factor kept */
        for (size_t k = 1; k < f->n; k++) {
            if (!f->exprs[k] || !ml_is_const_int(f->exprs[k])) {
                ml_text_free(&rest);
                return;
            }
            ml_text_fmt(&rest, ", %lld", (long long)f->exprs[k]->as.i);
        }
        ml_try(t, NULL, "split(\"%s\", {auto%s})", name, ml_text_z(&rest));
        ml_text_clear(&rest);
        /* the largest divisors within what was asked for, so that the product is exact */
        for (size_t k = f->n; exact && k-- > 1;) {
            int64_t want = f->exprs[k]->as.i, best = want < left ? want : left;

            for (int tries = 0; best > 1 && left % best != 0; best--)
                if (++tries > 100000)
                    best = 2;
            /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): no factor is below 1 here */
            left /= best;
            ml_text_clear(&rest);
            ml_text_fmt(&rest, ", %lld", (long long)best);
        }
        if (exact && f->n == 2)
            ml_try(t, NULL, "split(\"%s\", {%lld%s})", name, (long long)left,
                   ml_text_z(&rest));
        ml_text_free(&rest);
    }
    if (e->code == ML_E_FACTOR_NOT_POSITIVE)
        ml_try(t, NULL, "split(\"%s\", {auto, %lld})", name, (long long)inner);
    if (e->code == ML_E_LOOP_ANNOTATED && node) {
        const ml_For *loop = ml_as_for(node);

        if (ml_dict_count(loop->annotations) > 0)
            ml_try(t, NULL, "unannotate(\"%s\", \"%s\") split(\"%s\", {auto, %lld})", name,
                   loop->annotations->keys[0], name, (long long)inner);
    }
}

static const ml_Param params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the loop to cut"),
    ML_PARAM("factors", ML_P_FACTORS,
             "extents of the new loops, outermost first; auto: the rest"),
    ML_PARAM_FLAG("preserve_unit_iters", true, "keep bindings of extent-1 iters"),
    ML_PARAM_FLAG("disable_predication", false,
                  "add no guard: the product must equal the extent"),
};

const ml_Primitive ml_prim_split = {
    ML_PRIM(split, "Split"),
    .group = "loops",
    .summary = "cut a loop into nested loops",
    .help =
        "The loop becomes a nest of serial loops whose extents are the factors, outermost\n"
        "first; at most one factor is auto and takes what is left. When the product is "
        "more\n"
        "than the extent, the blocks below get a guard. Parts of a loop x are shown as "
        "x_0, "
        "x_1, …\n"
        "(i_0 has i_0_0, i_0_1; w_1 has w_1_0, w_1_1); a name that is taken gets the next "
        "free number.",
    ML_PARAMS(params),
    .result = ML_R_LOOPS,
    .suggest = suggest_split,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_TWO_AUTOS, ML_E_FACTOR_NOT_POSITIVE,
                               ML_E_FACTORS_TOO_SMALL, ML_E_LOOP_ANNOTATED, ML_E_LOOP_STEP,
                               ML_E_LOOP_NOT_ZERO_BASED, ML_E_INDEX_OVERFLOW,
                               ML_E_ITER_NOT_PARALLEL, ML_E_READS_BEYOND, ML_E_OK},
    .one_order = true,
};
