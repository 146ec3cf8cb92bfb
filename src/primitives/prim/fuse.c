/*
 * fuse - collapse a chain of perfectly nested loops into one loop.
 *
 * The order of iterations and the number of block executions do not change: each old loop
 * variable becomes a floordiv/floormod of the new one, and the block bindings are
 * simplified afterwards. Source: primitives 6, fuse; Feng et al., ASPLOS 2023, section 3.2.
 */
#include "moonloop/primitives/prim.h"

#include <string.h>

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"

enum { LOOPS, PRESERVE_UNIT_ITERS };

/* Checks in the order in which a user would fix them; the first that fails is reported. */
static bool check(ml_Call *c, const ml_For **loops, size_t n)
{
    ml_Ctx *cx = c->cx;

    for (size_t k = 0; k < n; k++) {
        const ml_For *loop = loops[k];
        const ml_For *outer = k > 0 ? loops[k - 1] : NULL;

        for (size_t m = 0; m < k; m++)
            if (loops[m] == loop)
                return ml_fail(cx, ML_E_DUPLICATE_LOOP, ML_LOOP(loop));
        if (!ml_check_plain_loop(c, loop))
            return false;
        if (outer && ml_index_parent(c->p.index, loop->var->uid) != outer->var->uid)
            return ml_fail(cx, ML_E_NOT_PARENT, ML_LOOP(loop), ML_LOOP(outer));
        if (outer && outer->body != &loop->base)
            return ml_fail(cx, ML_E_NOT_ONLY_CHILD, ML_LOOP(loop), ML_LOOP(outer));
        if (!ml_prove_equal(ml_arith_at(cx, c->p, loop->var->uid), loop->min,
                            ml_int(cx, loop->min->type, 0)))
            return ml_fail(cx, ML_E_LOOP_NOT_ZERO_BASED, ML_LOOP(loop),
                           ML_EXPRESSION(loop->min));
        for (size_t m = 0; m < k; m++)
            if (ml_expr_uses_var(loop->extent, loops[m]->var))
                return ml_fail(cx, ML_E_LOOP_DEPENDENT, ML_LOOP(loop), ML_LOOP(loops[m]));
    }
    return true;
}

enum { NAME_MAX = 128 };

/* i_j_k_fused. Each fuse after a split doubles such a name: past NAME_MAX letters a part
 * gives its first word alone, once however many parts begin with it. */
static const char *fused_name(ml_Ctx *cx, const ml_For **loops, size_t n)
{
    ml_Text t = {0};

    for (size_t k = 0; k < n; k++) {
        ml_text_add(&t, loops[k]->var->hint);
        ml_text_char(&t, '_');
    }
    if (t.n > NAME_MAX) {
        ml_text_clear(&t);
        for (size_t k = 0; k < n && t.n <= NAME_MAX; k++) {
            const char *z = loops[k]->var->hint;
            size_t word = strcspn(z, "_"), m = 0;

            word = word == 0 || word > NAME_MAX / 4 ? strnlen(z, NAME_MAX / 4) : word;
            while (word > 0 && ((unsigned char)z[word] & 0xc0) == 0x80)
                word--; /* no letter is cut */
            while (m < k && strncmp(loops[m]->var->hint, z, word) != 0)
                m++;
            if (m == k)
                ml_text_fmt(&t, "%.*s_", (int)word, z);
        }
    }
    ml_text_add(&t, "fused");
    const char *z = ml_strdup(cx, (ml_Str){ml_text_z(&t), t.n});

    ml_text_free(&t);
    return z;
}

/* What stands for an extent where it divides: an extent that goes by an outer loop may be 0
 * in some of its iterations, or it is 0; the body does not run then, but regions derived
 * from it are evaluated all the same. */
static const ml_Expr *divisor(ml_Call *c, ml_Arith *ar, const ml_Expr *extent)
{
    const ml_Expr *one = ml_int(c->cx, extent->type, 1);
    bool varies = false;

    if (ml_is_const_int(extent))
        return extent->as.i > 0 ? extent : one;
    for (ml_Uid at = ml_index_parent(c->p.index, c->args[LOOPS].uids[0]); at && !varies;
         at = ml_index_parent(c->p.index, at)) {
        const ml_Stmt *st = ml_index_node(c->p.index, at);

        varies = st->kind == ML_STMT_FOR && ml_expr_uses_var(extent, ml_as_for(st)->var);
    }
    return varies && !ml_prove(ar, ml_ge(c->cx, extent, one)) ? ml_max(c->cx, extent, one)
                                                              : extent;
}

static bool fuse(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *given = &c->args[LOOPS];
    size_t n = given->n;

    if (n == 0)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("loops: at least one loop is needed"));
    const ml_For **loops = ML_ARRAY(cx, const ml_For *, n);
    ml_Dtype t = ML_DT_I32;

    for (size_t k = 0; k < n; k++) {
        loops[k] = ml_call_loop(c, given->uids[k]);
        if (k == 0 || loops[k]->var->type.bits > t.bits)
            t = loops[k]->var->type;
    }
    if (!check(c, loops, n))
        return false;

    ml_Uid outermost = loops[0]->var->uid;
    ml_Arith *ar = ml_arith_at(cx, c->p, outermost);
    const ml_Var *fused = ml_var_new(cx, fused_name(cx, loops, n), t);
    const ml_Expr *var = ml_var(cx, fused);
    const ml_Expr *stride = ml_int(cx, t, 1), *total = stride;
    ml_Subst sub = {0};

    size_t doubtful = 0; /* extents that may be below 0 */

    for (size_t k = n; k-- > 0;) {
        const ml_Expr *extent =
            ml_cast(cx, t, loops[ML_FAULT(FUSE_FACTORS) ? n - 1 - k : k]->extent);

        const ml_Expr *next = ml_simplify(ar, ml_mul(cx, stride, divisor(c, ar, extent)));
        const ml_Expr *value = k > 0 ? ml_floormod(cx, var, next) : var;

        /* A loop of a negative extent does not run; the product of two would be positive.
         */
        if (extent->kind != ML_EXPR_INT &&
            !ml_prove(ar, ml_ge(cx, extent, ml_int(cx, t, 0))) && doubtful++ > 0)
            extent = ml_max(cx, extent, ml_int(cx, t, 0));
        total = ml_simplify(ar, ml_mul(cx, total, extent));
        value = ml_floordiv(cx, value, stride);
        if (ml_is_int(extent, 1))
            value = ml_int(cx, t, 0);
        ml_subst_var(cx, &sub, loops[k]->var, ml_cast(cx, loops[k]->var->type, value));
        stride = next;
        if (!ml_ok_or_fail(cx))
            return false;
        if (loops[k]->kind != ML_FOR_SERIAL)
            ml_call_note(c, "loop %s was %s; the fused loop is serial",
                         ml_shown(c->cx, loops[k]->var),
                         ml_for_kind_name((ml_ForKind)loops[k]->kind));
    }
    ml_For f = {
        .kind = ML_FOR_SERIAL, .var = fused, .min = ml_int(cx, t, 0), .extent = total};

    f.body = ml_stmt_subst(cx, loops[n - 1]->body, &sub);
    f.base.span = loops[0]->base.span;
    const ml_Stmt *st = ml_simplify_bindings(c, outermost, ml_for_from(cx, &f),
                                             c->args[PRESERVE_UNIT_ITERS].b);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, outermost, st);
    /* An extent that depends on a loop outside brings that loop into the bindings. */
    if (total->kind != ML_EXPR_INT &&
        !ml_check_loop_kinds(c, ml_index_node(c->p.index, fused->uid)))
        return false;
    ml_call_return_loop(c, ml_index_node(c->p.index, fused->uid));
    return true;
}

/* Ways out: bring the loops next to each other, fuse what does nest. */
static void suggest_fuse(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                         ml_Tries *t)
{
    const ml_Given *g = &args[LOOPS];
    ml_Text list = {0};

    for (size_t k = 0; k < g->n; k++)
        ml_text_fmt(&list, "%s\"%s\"", k ? ", " : "", ml_name_of(s, g->uids[k]));
    if (e->code == ML_E_NOT_PARENT) {
        ml_try(t, "other loops stand between them", "reorder(%s) fuse(%s)",
               ml_text_z(&list), ml_text_z(&list));
        if (g->n == 2)
            ml_try(t, NULL, "fuse(\"%s\", \"%s\")", ml_name_of(s, g->uids[1]),
                   ml_name_of(s, g->uids[0]));
    }
    if (g->n > 2)
        ml_try(t, NULL, "fuse(\"%s\", \"%s\")", ml_name_of(s, g->uids[0]),
               ml_name_of(s, g->uids[1]));
    ml_text_free(&list);
}

static const ml_Param params[] = {
    ML_PARAM("loops", ML_P_LOOPS, "the loops, outermost first"),
    ML_PARAM_FLAG("preserve_unit_iters", true, "keep bindings of extent-1 iters"),
};

const ml_Primitive ml_prim_fuse = {
    ML_PRIM(fuse, "Fuse"),
    .group = "loops",
    .summary = "collapse nested loops into one",
    .help =
        "The loops must be nested directly in each other, outermost first, each holding\n"
        "nothing but the next. The new loop is serial; its extent is the product.",
    ML_PARAMS(params),
    .result = ML_R_LOOP,
    .suggest = suggest_fuse,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_DUPLICATE_LOOP, ML_E_LOOP_ANNOTATED,
                               ML_E_LOOP_STEP, ML_E_NOT_PARENT, ML_E_NOT_ONLY_CHILD,
                               ML_E_LOOP_NOT_ZERO_BASED, ML_E_LOOP_DEPENDENT,
                               ML_E_INDEX_OVERFLOW, ML_E_ITER_NOT_PARALLEL, ML_E_OK},
    .one_order = true,
};
