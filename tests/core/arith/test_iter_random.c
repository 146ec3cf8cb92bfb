/*
 * test_iter_random - iterator maps, regions and divisions against enumeration: whatever is
 * accepted on a small random box must hold on every point of it (ir-and-analysis 4.9).
 * The seed is fixed; ML_SEED gives another one, ML_CASES another number of cases.
 */
#include "arith_text.h"
#include "core/core_test.h"

enum { CELLS = 1 << 16 };

typedef struct Tally {
    size_t cases, sum, surjective, bijective, strict, upper, divided, inverted, simplified,
        padded;
} Tally;

typedef struct Case {
    Scope sc;
    const ml_Expr *idx[3];
    size_t n;
    const ml_Expr *pred;
    char text[1200];
} Case;

static unsigned char seen[CELLS];

/* ---- random cases */

static const ml_Expr *lit(Case *c, int64_t v)
{
    return ml_i32(c->sc.cx, v);
}

static const ml_Expr *any_iter(Case *c, Rng *r)
{
    return ml_var(c->sc.cx, c->sc.dom[rng_below(r, (uint32_t)c->sc.n_dom)].var);
}

/* A literal that often fits: an extent, a product of two, or a small number. */
static int64_t any_factor(Case *c, Rng *r)
{
    int64_t a = c->sc.dom[rng_below(r, (uint32_t)c->sc.n_dom)].extent->as.i;
    int64_t b = c->sc.dom[rng_below(r, (uint32_t)c->sc.n_dom)].extent->as.i;

    switch (rng_below(r, 5)) {
    case 0: return a;
    case 1: return a * b;
    case 2: return 2;
    case 3: return a % 2 == 0 ? a / 2 : a;
    default: return 1 + rng_below(r, 8);
    }
}

/* A sum over the iterators that is often a mixed radix. */
static const ml_Expr *any_sum(Case *c, Rng *r)
{
    ml_Ctx *cx = c->sc.cx;
    const ml_Expr *e = NULL;
    int64_t scale = rng_below(r, 8) ? 1 : 2;
    uint32_t first = rng_below(r, (uint32_t)c->sc.n_dom);
    size_t n = 1 + rng_below(r, (uint32_t)c->sc.n_dom);

    for (size_t k = 0; k < n; k++) {
        const ml_Dom *d = &c->sc.dom[(first + k) % c->sc.n_dom];
        const ml_Expr *t = ml_mul(cx, ml_var(cx, d->var), lit(c, scale));
        e = !e ? t : rng_below(r, 2) ? ml_add(cx, t, e) : ml_add(cx, e, t);
        scale *= d->extent->as.i;
        if (rng_below(r, 6) == 0 && scale > 1)
            scale -= 1 + rng_below(r, 2);
        if (rng_below(r, 12) == 0)
            scale++;
        if (scale < 1)
            scale = 1;
    }
    if (rng_below(r, 3) == 0)
        e = ml_add(cx, e, lit(c, (int64_t)rng_below(r, 9) - 3));
    return e;
}

static const ml_Expr *any_expr(Case *c, Rng *r, int depth)
{
    ml_Ctx *cx = c->sc.cx;

    if (depth == 0)
        return rng_below(r, 3) ? any_iter(c, r) : any_sum(c, r);
    switch (rng_below(r, 9)) {
    case 0: return any_iter(c, r);
    case 1: return any_sum(c, r);
    case 2: return ml_floordiv(cx, any_expr(c, r, depth - 1), lit(c, any_factor(c, r)));
    case 3: return ml_floormod(cx, any_expr(c, r, depth - 1), lit(c, any_factor(c, r)));
    case 4:
        return ml_add(cx, any_expr(c, r, depth - 1), lit(c, (int64_t)rng_below(r, 13) - 4));
    case 5:
        return ml_mul(cx, any_expr(c, r, depth - 1),
                      lit(c, rng_below(r, 9) ? any_factor(c, r) : -1));
    case 6: {
        const ml_Expr *a = ml_mul(cx, any_expr(c, r, depth - 1), lit(c, any_factor(c, r)));
        return ml_add(cx, a, any_expr(c, r, depth - 1));
    }
    case 7: return ml_sub(cx, lit(c, rng_below(r, 12)), any_expr(c, r, depth - 1));
    default: return ml_add(cx, any_expr(c, r, depth - 1), any_expr(c, r, depth - 1));
    }
}

static const ml_Expr *any_comparison(Case *c, Rng *r)
{
    static const ml_ExprKind kinds[] = {ML_EXPR_LT, ML_EXPR_LE, ML_EXPR_GT, ML_EXPR_GE};
    ml_Ctx *cx = c->sc.cx;
    ml_ExprKind kind = kinds[rng_below(r, 8) ? rng_below(r, 2) : 2 + rng_below(r, 2)];
    const ml_Expr *a, *b;

    switch (rng_below(r, 6)) {
    case 0: a = any_iter(c, r), b = lit(c, rng_below(r, 9)); break;
    case 1: a = lit(c, rng_below(r, 5)), b = any_sum(c, r); break;
    case 2: a = any_expr(c, r, 2), b = lit(c, 1 + rng_below(r, 20)); break;
    case 3:
        a = any_sum(c, r), b = ml_sub(cx, lit(c, rng_below(r, 30)), any_iter(c, r));
        break;
    default: a = any_sum(c, r), b = lit(c, 2 + rng_below(r, 40)); break;
    }
    const ml_Expr *e = ml_binary(cx, kind, a, b);
    return rng_below(r, 6) ? e : ml_likely(cx, e);
}

static void print(Case *c, size_t at, const ml_Expr *e);

static char *end_of(Case *c)
{
    return c->text + strlen(c->text);
}

#define PUT(c, ...) snprintf(end_of(c), sizeof(c)->text - strlen((c)->text), __VA_ARGS__)

static void print(Case *c, size_t at, const ml_Expr *e)
{
    (void)at;
    if (e->kind == ML_EXPR_INT) {
        PUT(c, "%lld", (long long)e->as.i);
    } else if (e->kind == ML_EXPR_VAR) {
        PUT(c, "%s", e->as.var->hint);
    } else if (e->n_args == 2) {
        static const char *const text[ML_EXPR_KINDS] = {
            [ML_EXPR_ADD] = "+",     [ML_EXPR_SUB] = "-",       [ML_EXPR_MUL] = "*",
            [ML_EXPR_LT] = "<",      [ML_EXPR_FLOORDIV] = "//", [ML_EXPR_FLOORMOD] = "%",
            [ML_EXPR_LE] = "<=",     [ML_EXPR_GT] = ">",        [ML_EXPR_GE] = ">=",
            [ML_EXPR_AND] = " and ", [ML_EXPR_OR] = " or "};
        PUT(c, "(");
        print(c, 0, e->args[0]);
        PUT(c, "%s", text[e->kind] ? text[e->kind] : " ? ");
        print(c, 0, e->args[1]);
        PUT(c, ")");
    } else {
        PUT(c, "%s(", ml_expr_kind_name((ml_ExprKind)e->kind));
        for (size_t k = 0; k < e->n_args; k++)
            print(c, 0, e->args[k]);
        PUT(c, ")");
    }
}

static void describe(Case *c)
{
    c->text[0] = 0;
    PUT(c, "[");
    for (size_t k = 0; k < c->n; k++) {
        PUT(c, "%s", k ? ", " : "");
        print(c, 0, c->idx[k]);
    }
    PUT(c, "];");
    for (size_t k = 0; k < c->sc.n_dom; k++) {
        const ml_Dom *d = &c->sc.dom[k];
        PUT(c, " ");
        print(c, 0, d->min);
        PUT(c, "<=%s<", d->var->hint);
        print(c, 0, ml_add(c->sc.cx, d->min, d->extent));
    }
    if (c->pred) {
        PUT(c, "; ");
        print(c, 0, c->pred);
    }
}

#define WRONG(c, ...)                                                                      \
    do {                                                                                   \
        describe(c);                                                                       \
        print_error("%s: ", (c)->text);                                                    \
        print_error(__VA_ARGS__);                                                          \
        print_error("\n");                                                                 \
        fail();                                                                            \
    } while (0)

static void make_any_case(Case *c, Rng *r, ml_Ctx *cx)
{
    static const char *const names[] = {"i", "j", "k"};

    *c = (Case){.sc = {.cx = cx, .ar = ml_arith_new(cx)}};
    c->sc.n_dom = c->sc.n = 1 + rng_below(r, 3);
    for (size_t k = 0; k < c->sc.n; k++) {
        c->sc.vars[k] = ml_var_new(cx, names[k], ML_DT_I32);
        int64_t min = rng_below(r, 6) ? 0 : (int64_t)rng_below(r, 7) - 3;
        int64_t extent = c->sc.n == 1 ? 1 + rng_below(r, 48) : 1 + rng_below(r, 8);
        c->sc.dom[k] = (ml_Dom){c->sc.vars[k], lit(c, min), lit(c, extent)};
    }
    c->n = 1 + rng_below(r, 3);
    int64_t f1 = any_factor(c, r), f2 = any_factor(c, r);
    const ml_Expr *sum = any_sum(c, r);
    bool views = rng_below(r, 3) == 0; /* all indices look at one sum */
    for (size_t k = 0; k < c->n; k++) {
        const ml_Expr *e = sum;
        if (rng_below(r, 5) == 0) /* with an offset of its own */
            e = ml_add(cx, e, lit(c, rng_below(r, 7)));
        const ml_Expr *f = lit(c, f1);
        const ml_Expr *low = /* a remainder, shifted */
            ml_add(cx, ml_floormod(cx, e, lit(c, f1 * f2)), lit(c, rng_below(r, 9)));
        const ml_Expr *other = ml_add(cx, sum, lit(c, rng_below(r, 2) * rng_below(r, 7)));
        switch (views ? 2 + rng_below(r, 7) : rng_below(r, 10)) {
        case 0: c->idx[k] = any_iter(c, r); break;
        case 1: c->idx[k] = any_sum(c, r); break;
        case 2: c->idx[k] = ml_floordiv(cx, e, lit(c, f1)); break;
        case 3: c->idx[k] = ml_floormod(cx, e, lit(c, f1)); break;
        case 4:
            c->idx[k] = ml_floormod(cx, ml_floordiv(cx, e, lit(c, f1)), lit(c, f2));
            break;
        case 5: c->idx[k] = ml_floordiv(cx, e, lit(c, f1 * f2)); break;
        case 6: c->idx[k] = ml_floordiv(cx, low, f); break;
        case 7: c->idx[k] = ml_floormod(cx, low, f); break;
        case 8:
            c->idx[k] =
                ml_add(cx, ml_mul(cx, ml_floordiv(cx, e, f), f), ml_floormod(cx, other, f));
            break;
        default: c->idx[k] = any_expr(c, r, 1 + (int)rng_below(r, 3)); break;
        }
    }
    if (rng_below(r, 2) == 0)
        return;
    c->pred = any_comparison(c, r);
    while (rng_below(r, 3) == 0)
        c->pred = ml_and(cx, c->pred, any_comparison(c, r));
    if (rng_below(r, 4) == 0)
        c->pred =
            ml_and(cx, c->pred,
                   ml_binary(cx, ML_EXPR_GE, any_sum(c, r), lit(c, rng_below(r, 20))));
    if (rng_below(r, 8) == 0)
        c->pred = ml_and(cx, ml_binary(cx, ML_EXPR_LT, sum, lit(c, 3 + rng_below(r, 40))),
                         c->pred);
}

static bool holds(const Case *c)
{
    return !c->pred || sc_eval(&c->sc, c->pred);
}

/* Whether all partial results stay far below the int32 limits. */
static bool is_small(Scope *sc, const ml_Expr *e)
{
    if (e->depth > 1)
        for (size_t k = 0; k < e->n_args; k++)
            if (!is_small(sc, e->args[k]))
                return false;
    if (!ml_dtype_is_index(e->type))
        return true;
    ml_Interval set = ml_relax(sc->ar, e, sc->dom, sc->n_dom);
    return set.min && set.max && set.min->as.i > -(1 << 24) && set.max->as.i < 1 << 24;
}

static void make_case(Case *c, Rng *r, ml_Ctx *cx)
{
    for (bool ok = false; !ok;) {
        make_any_case(c, r, cx);
        ok = !c->pred || is_small(&c->sc, c->pred);
        for (size_t k = 0; k < c->n; k++)
            ok &= is_small(&c->sc, c->idx[k]);
    }
}

/* ---- what is claimed against what is */

static int64_t extent_of(const ml_IterSum *s)
{
    if (s->n == 0)
        return 1;
    return s->digits[0].extent->as.i;
}

static void check_map(Case *c, ml_IterLevel level, bool keep_unit, Tally *t)
{
    Scope *sc = &c->sc;
    ml_IterMap m =
        ml_iter_detect(sc->ar, c->idx, c->n, sc->dom, sc->n_dom, c->pred, level, keep_unit);
    const ml_Expr *sums[3];
    int64_t volume = 1, points = 0, filled = 0;

    if (!m.ok) {
        if (m.fail == ML_ITER_FAIL_NONE)
            WRONG(c, "failed without a reason");
        return;
    }
    t->sum += level == ML_NO_CHECK;
    t->surjective += level == ML_SURJECTIVE;
    t->bijective += level == ML_BIJECTIVE;
    for (size_t k = 0; k < c->n; k++) {
        if (m.sums[k].n > 1)
            WRONG(c, "index %zu has %zu digits", k, m.sums[k].n);
        sums[k] = ml_iter_sum_expr(sc->ar, &m.sums[k]);
        volume *= extent_of(&m.sums[k]);
    }
    if (volume > CELLS)
        return;
    memset(seen, 0, (size_t)volume);
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false)) {
        int64_t cell = 0;
        if (!holds(c))
            continue;
        points++;
        for (size_t k = 0; k < c->n; k++) {
            int64_t v = sc_eval(sc, c->idx[k]), e = extent_of(&m.sums[k]);
            if (v != sc_eval(sc, sums[k]))
                WRONG(c, "level %d: index %zu is %lld, the sum says %lld", level, k,
                      (long long)v, (long long)sc_eval(sc, sums[k]));
            v -= m.sums[k].base->as.i;
            int64_t s = m.sums[k].n ? m.sums[k].digits[0].scale->as.i : 1;
            if (v % s != 0 || v / s < 0 || v / s >= e)
                WRONG(c, "level %d: index %zu leaves its range", level, k);
            cell = cell * e + v / s;
        }
        filled += !seen[cell];
        seen[cell] = 1;
    }
    if (level != ML_NO_CHECK && filled != volume)
        WRONG(c, "level %d keep %d: %lld of %lld cells are reached", level, keep_unit,
              (long long)filled, (long long)volume);
    if (level == ML_BIJECTIVE && points != filled)
        WRONG(c, "not one to one");
    if (level != ML_BIJECTIVE)
        return;

    ml_Map *inverse = ml_map_new(sc->cx);
    const ml_Expr *outputs[3];
    const ml_Var *z[3];
    for (size_t k = 0; k < c->n; k++) {
        z[k] = ml_var_new(sc->cx, "z", ML_DT_I32);
        outputs[k] = ml_var(sc->cx, z[k]);
    }
    if (!ml_iter_inverse(sc->ar, &m, outputs, inverse))
        WRONG(c, "a bijective map without an inverse");
    t->inverted++;
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false)) {
        if (!holds(c))
            continue;
        Scope at = *sc;
        for (size_t k = 0; k < c->n; k++) {
            at.vars[at.n] = z[k];
            at.at[at.n++] = sc_eval(sc, c->idx[k]);
        }
        for (size_t k = 0; k < sc->n_dom; k++) {
            const ml_Expr *e = ml_map_get(inverse, sc->dom[k].var->uid);
            if (!e && sc->dom[k].extent->as.i != 1)
                WRONG(c, "the inverse of %s is missing", sc->dom[k].var->hint);
            if (e && sc_eval(&at, e) != sc->at[k])
                WRONG(c, "the inverse of %s is wrong", sc->dom[k].var->hint);
        }
    }
}

static void check_simplify(Case *c, Tally *t)
{
    const ml_Expr *out[3];
    Scope *sc = &c->sc;

    ml_iter_simplify(sc->ar, c->idx, c->n, sc->dom, sc->n_dom, c->pred, ML_SURJECTIVE,
                     false, true, out);
    t->simplified += out[0] != c->idx[0];
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false))
        for (size_t k = 0; k < c->n && holds(c); k++)
            if (sc_eval(sc, out[k]) != sc_eval(sc, c->idx[k]))
                WRONG(c, "simplified index %zu differs", k);
}

/* The exact elements of the box [idx, idx + ext) against strict and upper. */
static void check_region(Case *c, Rng *r, Tally *t)
{
    Scope *sc = &c->sc;
    ml_Range box[3];
    ml_Interval strict[3], upper[3];
    int64_t volume = 1, filled = 0, lo[3], n[3];

    for (size_t k = 0; k < c->n; k++)
        box[k] = (ml_Range){c->idx[k], lit(c, 1 + rng_below(r, 4) * rng_below(r, 2))};
    bool ok = ml_region_strict(sc->ar, box, c->n, sc->dom, sc->n_dom, c->pred, strict);
    ml_region_upper(sc->ar, box, c->n, sc->dom, sc->n_dom, c->pred, upper);
    t->strict += ok;
    for (size_t k = 0; k < c->n; k++) {
        if (!ok)
            strict[k] = upper[k];
        lo[k] = strict[k].min->as.i;
        n[k] = strict[k].max->as.i - lo[k] + 1;
        volume *= n[k];
    }
    if (volume > CELLS)
        return;
    t->upper++;
    memset(seen, 0, (size_t)volume);
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false)) {
        int64_t x[3] = {0};
        if (!holds(c))
            continue;
        for (bool more = true; more;) {
            int64_t cell = 0;
            for (size_t k = 0; k < c->n; k++) {
                int64_t v = sc_eval(sc, c->idx[k]) + x[k];
                if (upper[k].min->as.i > v || upper[k].max->as.i < v)
                    WRONG(c, "upper [%lld,%lld] misses %lld of dimension %zu",
                          (long long)upper[k].min->as.i, (long long)upper[k].max->as.i,
                          (long long)v, k);
                if (v < lo[k] || v >= lo[k] + n[k])
                    WRONG(c, "strict misses an element");
                cell = cell * n[k] + v - lo[k];
            }
            filled += !seen[cell];
            seen[cell] = 1;
            more = false;
            for (size_t k = 0; k < c->n && !more; k++) {
                more = ++x[k] < box[k].extent->as.i;
                if (!more)
                    x[k] = 0;
            }
        }
    }
    if (ok && filled != volume)
        WRONG(c, "strict claims %lld elements, %lld are touched", (long long)volume,
              (long long)filled);
}

static bool only_over(const Case *c, const ml_Expr *e, const bool *inner, bool side)
{
    for (size_t k = 0; k < c->sc.n_dom; k++)
        if (inner[k] != side && ml_expr_uses_var(e, c->sc.dom[k].var))
            return false;
    return true;
}

static void in_part(Case *c, const ml_IterPart *p)
{
    int64_t v = sc_eval(&c->sc, p->value);

    if (p->min && (v < p->min->as.i || v >= p->min->as.i + p->extent->as.i))
        WRONG(c, "a part leaves its range");
}

static void check_division(Case *c, Rng *r, Tally *t)
{
    Scope *sc = &c->sc;
    const ml_Var *inner[3];
    bool is_inner[3];
    size_t n = 0;

    for (size_t k = 0; k < sc->n_dom; k++)
        if ((is_inner[k] = rng_below(r, 2)))
            inner[n++] = sc->dom[k].var;
    ml_Division d = ml_subspace_divide(sc->ar, c->idx, c->n, sc->dom, sc->n_dom, inner, n,
                                       c->pred, ML_SURJECTIVE);
    if (!d.ok)
        return;
    t->divided++;
    for (size_t k = 0; k < c->n; k++)
        if (!only_over(c, d.outer[k].value, is_inner, false) ||
            !only_over(c, d.inner[k].value, is_inner, true))
            WRONG(c, "a part uses the other side's loops");
    if (!only_over(c, d.outer_pred, is_inner, false) ||
        !only_over(c, d.inner_pred, is_inner, true))
        WRONG(c, "a predicate uses the other side's loops");
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false)) {
        bool both = sc_eval(sc, d.outer_pred) && sc_eval(sc, d.inner_pred);
        if (both != holds(c))
            WRONG(c, "the divided predicate differs");
        for (size_t k = 0; k < c->n && both; k++) {
            int64_t x = d.inner[k].extent ? d.inner[k].extent->as.i : 1;
            if (sc_eval(sc, d.outer[k].value) * x + sc_eval(sc, d.inner[k].value) !=
                sc_eval(sc, c->idx[k]))
                WRONG(c, "outer * extent + inner differs (binding %zu)", k);
            in_part(c, &d.outer[k]);
            in_part(c, &d.inner[k]);
        }
    }
}

/* The padded inverse: on every cell of the output box either an input or padding. */
static void check_padded(Case *c, Tally *t)
{
    Scope *sc = &c->sc;
    ml_Range ranges[3];
    const ml_Expr *padding = NULL, *shape[3];
    ml_IterFail why;
    ml_IndexMap m = {.vars = sc->vars, .exprs = c->idx};
    int64_t volume = 1;

    m.n_vars = (uint32_t)sc->n_dom;
    m.n_exprs = (uint32_t)c->n;
    for (size_t k = 0; k < sc->n_dom; k++) {
        if (sc->dom[k].min->as.i != 0)
            return;
        ranges[k] = (ml_Range){sc->dom[k].min, sc->dom[k].extent};
        shape[k] = sc->dom[k].extent;
    }
    const ml_IndexMap *inv =
        ml_index_map_inverse_padded(sc->ar, &m, ranges, &padding, &why);
    const ml_Expr *out[3];
    if (!inv || !ml_index_map_shape(sc->ar, &m, shape, out))
        return;
    for (size_t k = 0; k < c->n; k++)
        volume *= out[k]->as.i;
    if (volume > 4096)
        return;
    t->padded++;
    memset(seen, 0, (size_t)volume);
    for (bool go = sc_step(sc, true); go; go = sc_step(sc, false)) {
        int64_t cell = 0;
        Scope at = *sc;
        for (size_t k = 0; k < c->n; k++) {
            int64_t v = sc_eval(sc, c->idx[k]);
            if (v < 0 || v >= out[k]->as.i)
                WRONG(c, "the shape does not hold index %zu", k);
            cell = cell * out[k]->as.i + v;
            at.vars[at.n] = inv->vars[k];
            at.at[at.n++] = v;
        }
        seen[cell] = 1;
        for (size_t k = 0; k < sc->n_dom; k++)
            if (sc_eval(&at, inv->exprs[k]) != sc->at[k])
                WRONG(c, "the padded inverse of %s is wrong", sc->vars[k]->hint);
    }
    for (int64_t cell = 0; cell < volume; cell++) {
        Scope at = {.n = 0};
        int64_t rest = cell;
        for (size_t k = c->n; k-- > 0;) {
            at.vars[at.n] = inv->vars[k];
            at.at[at.n++] = rest % out[k]->as.i;
            rest /= out[k]->as.i;
        }
        if (!!sc_eval(&at, padding) != !seen[cell])
            WRONG(c, "padding is wrong at cell %lld", (long long)cell);
    }
}

static void whatever_is_accepted_holds_on_every_point(void **state)
{
    const char *wish = getenv("ML_CASES");
    size_t cases = wish ? (size_t)strtoull(wish, NULL, 10) : 100000;
    const char *seed = getenv("ML_SEED");
    Rng r = {20240607 + (seed ? strtoull(seed, NULL, 10) : 0)};
    Tally t = {0};
    Case c;

    for (size_t done = 0; done < cases;) {
        ml_Ctx *cx = ml_ctx_new(0);
        for (size_t k = 0; k < 2000 && done < cases; k++, done++) {
            ml_Mark mark = ml_mark(cx);
            make_case(&c, &r, cx);
            check_map(&c, ML_SURJECTIVE, false, &t);
            check_map(&c, ML_SURJECTIVE, true, &t);
            check_map(&c, ML_BIJECTIVE, done % 2, &t);
            check_map(&c, ML_NO_CHECK, done % 3 == 0, &t);
            check_simplify(&c, &t);
            check_region(&c, &r, &t);
            check_division(&c, &r, &t);
            if (!c.pred)
                check_padded(&c, &t);
            ml_release(cx, mark);
        }
        ml_ctx_unref(cx);
    }
    print_message("%zu cases: %zu sums, %zu surjective, %zu bijective, %zu inverted, %zu "
                  "simplified, %zu strict of %zu regions, %zu divided, %zu padded\n",
                  cases, t.sum, t.surjective, t.bijective, t.inverted, t.simplified,
                  t.strict, t.upper, t.divided, t.padded);
    /* The generator must not drift into cases that nothing accepts. */
    assert_true(t.surjective > cases / 10 && t.bijective > cases / 50);
    assert_true(t.strict > cases / 20 && t.divided > cases / 20 && t.padded > cases / 50);
}

/* ---- symbolic sizes: detected once for all n >= 1, enumerated for some */

enum { SYM = 3 }; /* the place of n among the scope's variables */

static const ml_Expr *any_size(Case *c, Rng *r)
{
    ml_Ctx *cx = c->sc.cx;
    const ml_Expr *n = ml_var(cx, c->sc.vars[SYM]);

    switch (rng_below(r, 6)) {
    case 0: return n;
    case 1: return ml_mul(cx, n, lit(c, 2 + rng_below(r, 3)));
    case 2: return ml_add(cx, n, lit(c, rng_below(r, 3)));
    case 3: return lit(c, 1 + rng_below(r, 3));
    default: return lit(c, 2 * (1 + (int64_t)rng_below(r, 2)));
    }
}

static const ml_Expr *any_symbolic_sum(Case *c, Rng *r)
{
    ml_Ctx *cx = c->sc.cx;
    const ml_Expr *e = NULL, *scale = lit(c, 1);
    uint32_t first = rng_below(r, (uint32_t)c->sc.n_dom);
    size_t n = 1 + rng_below(r, (uint32_t)c->sc.n_dom);

    for (size_t k = 0; k < n; k++) {
        const ml_Dom *d = &c->sc.dom[(first + k) % c->sc.n_dom];
        const ml_Expr *t = ml_mul(cx, ml_var(cx, d->var), scale);
        e = e ? ml_add(cx, t, e) : t;
        scale = rng_below(r, 8) ? ml_mul(cx, d->extent, scale) : any_size(c, r);
    }
    return rng_below(r, 5) ? e : ml_add(cx, e, any_size(c, r));
}

static void make_symbolic_case(Case *c, Rng *r, ml_Ctx *cx)
{
    static const char *const names[] = {"i", "j", "k", "n"};
    const ml_Expr *pred[2];

    *c = (Case){.sc = {.cx = cx, .ar = ml_arith_new(cx), .n = 4}};
    for (size_t k = 0; k < 4; k++)
        c->sc.vars[k] = ml_var_new(cx, names[k], ML_DT_I32);
    ml_arith_bind_lower(c->sc.ar, c->sc.vars[SYM], 1);
    c->sc.n_dom = 1 + rng_below(r, 3);
    for (size_t k = 0; k < c->sc.n_dom; k++)
        c->sc.dom[k] = (ml_Dom){c->sc.vars[k], rng_below(r, 6) ? lit(c, 0) : any_size(c, r),
                                any_size(c, r)};
    c->n = 1 + rng_below(r, 2);
    const ml_Expr *sum = any_symbolic_sum(c, r), *f = any_size(c, r), *g = any_size(c, r);
    for (size_t k = 0; k < c->n; k++)
        switch (rng_below(r, 6)) {
        case 0: c->idx[k] = any_iter(c, r); break;
        case 1: c->idx[k] = any_symbolic_sum(c, r); break;
        case 2: c->idx[k] = ml_floordiv(cx, sum, f); break;
        case 3: c->idx[k] = ml_floormod(cx, sum, f); break;
        case 4: c->idx[k] = ml_floormod(cx, ml_floordiv(cx, sum, f), g); break;
        default: c->idx[k] = ml_floordiv(cx, sum, ml_mul(cx, f, g)); break;
        }
    for (size_t k = 0; k < 2; k++) {
        const ml_Expr *e = rng_below(r, 2) ? sum : any_symbolic_sum(c, r);
        pred[k] = rng_below(r, 2) ? ml_lt(cx, e, ml_mul(cx, any_size(c, r), any_size(c, r)))
                                  : ml_ge(cx, e, any_size(c, r));
    }
    if (rng_below(r, 2))
        c->pred = rng_below(r, 3) ? pred[0] : ml_and(cx, pred[0], pred[1]);
}

static void check_symbolic(Case *c, ml_IterLevel level, size_t *accepted)
{
    Scope *sc = &c->sc;
    ml_IterMap m =
        ml_iter_detect(sc->ar, c->idx, c->n, sc->dom, sc->n_dom, c->pred, level, false);

    if (!m.ok)
        return;
    ++*accepted;
    for (int64_t n = 1; n <= 5; n++) {
        int64_t volume = 1, points = 0, filled = 0;
        Scope at = *sc;
        at.at[SYM] = n;
        for (size_t k = 0; k < sc->n_dom; k++) {
            at.dom[k].min = lit(c, sc_eval(&at, sc->dom[k].min));
            at.dom[k].extent = lit(c, sc_eval(&at, sc->dom[k].extent));
        }
        for (size_t k = 0; k < c->n; k++) {
            int64_t e = m.sums[k].n ? sc_eval(&at, m.sums[k].digits[0].extent) : 1;
            volume *= e > 0 ? e : 0;
        }
        if (volume > CELLS)
            continue;
        memset(seen, 0, (size_t)volume + 1);
        for (bool go = sc_step(&at, true); go; go = sc_step(&at, false)) {
            int64_t cell = 0;
            if (c->pred && !sc_eval(&at, c->pred))
                continue;
            points++;
            for (size_t k = 0; k < c->n; k++) {
                int64_t v = sc_eval(&at, c->idx[k]), s = 1, e = 1;
                if (v != sc_eval(&at, ml_iter_sum_expr(sc->ar, &m.sums[k])))
                    WRONG(c, "n=%lld level %d: the sum differs", (long long)n, level);
                v -= sc_eval(&at, m.sums[k].base);
                if (m.sums[k].n) {
                    s = sc_eval(&at, m.sums[k].digits[0].scale);
                    e = sc_eval(&at, m.sums[k].digits[0].extent);
                }
                if (v % s != 0 || v / s < 0 || v / s >= e)
                    WRONG(c, "n=%lld level %d: index %zu leaves its range", (long long)n,
                          level, k);
                cell = cell * e + v / s;
            }
            filled += !seen[cell];
            seen[cell] = 1;
        }
        /* Sizes that leave no point at all are outside of what is claimed. */
        if (points && level != ML_NO_CHECK && filled != volume)
            WRONG(c, "n=%lld level %d: %lld of %lld cells are reached", (long long)n, level,
                  (long long)filled, (long long)volume);
        if (level == ML_BIJECTIVE && points != filled)
            WRONG(c, "n=%lld: not one to one", (long long)n);
    }
}

static void check_symbolic_division(Case *c, Rng *r, size_t *divided)
{
    Scope *sc = &c->sc;
    const ml_Var *inner[3];
    size_t n_inner = 0;

    for (size_t k = 0; k < sc->n_dom; k++)
        if (rng_below(r, 2))
            inner[n_inner++] = sc->dom[k].var;
    ml_Division d = ml_subspace_divide(sc->ar, c->idx, c->n, sc->dom, sc->n_dom, inner,
                                       n_inner, c->pred, ML_SURJECTIVE);
    if (!d.ok)
        return;
    ++*divided;
    for (int64_t n = 1; n <= 5; n++) {
        Scope at = *sc;
        at.at[SYM] = n;
        for (size_t k = 0; k < sc->n_dom; k++) {
            at.dom[k].min = lit(c, sc_eval(&at, sc->dom[k].min));
            at.dom[k].extent = lit(c, sc_eval(&at, sc->dom[k].extent));
        }
        for (bool go = sc_step(&at, true); go; go = sc_step(&at, false)) {
            bool both = sc_eval(&at, d.outer_pred) && sc_eval(&at, d.inner_pred);
            if (both != (!c->pred || sc_eval(&at, c->pred)))
                WRONG(c, "n=%lld: the divided predicate differs", (long long)n);
            for (size_t k = 0; k < c->n && both; k++) {
                const ml_IterPart *p[2] = {&d.outer[k], &d.inner[k]};
                int64_t x = p[1]->extent ? sc_eval(&at, p[1]->extent) : 1;
                if (sc_eval(&at, p[0]->value) * x + sc_eval(&at, p[1]->value) !=
                    sc_eval(&at, c->idx[k]))
                    WRONG(c, "n=%lld: outer * extent + inner differs", (long long)n);
                for (int j = 0; j < 2 && p[j]->min; j++) {
                    int64_t v = sc_eval(&at, p[j]->value) - sc_eval(&at, p[j]->min);
                    if (v < 0 || v >= sc_eval(&at, p[j]->extent))
                        WRONG(c, "n=%lld: a part leaves its range", (long long)n);
                }
            }
        }
    }
}

/* No gap and nothing missed, for every n. */
static void check_symbolic_region(Case *c, Rng *r, size_t *strict)
{
    Scope *sc = &c->sc;
    ml_Range box[2];
    ml_Interval exact[2], upper[2];

    for (size_t k = 0; k < c->n; k++)
        box[k] = (ml_Range){c->idx[k], rng_below(r, 2) ? lit(c, 1) : any_size(c, r)};
    bool ok = ml_region_strict(sc->ar, box, c->n, sc->dom, sc->n_dom, c->pred, exact);
    ml_region_upper(sc->ar, box, c->n, sc->dom, sc->n_dom, c->pred, upper);
    *strict += ok;
    for (int64_t n = 1; n <= 4; n++) {
        Scope at = *sc;
        int64_t volume = 1, filled = 0, lo[2] = {0}, size[2] = {1, 1};
        at.at[SYM] = n;
        for (size_t k = 0; k < sc->n_dom; k++) {
            at.dom[k].min = lit(c, sc_eval(&at, sc->dom[k].min));
            at.dom[k].extent = lit(c, sc_eval(&at, sc->dom[k].extent));
        }
        for (size_t k = 0; k < c->n && ok; k++) {
            lo[k] = sc_eval(&at, exact[k].min);
            size[k] = sc_eval(&at, exact[k].max) - lo[k] + 1;
            volume *= size[k] > 0 ? size[k] : 0;
        }
        if (volume > CELLS)
            continue;
        memset(seen, 0, (size_t)volume + 1);
        for (bool go = sc_step(&at, true); go; go = sc_step(&at, false)) {
            int64_t ext[2] = {1, 1}, v[2] = {0};
            if (c->pred && !sc_eval(&at, c->pred))
                continue;
            for (size_t k = 0; k < c->n; k++) {
                v[k] = sc_eval(&at, c->idx[k]);
                ext[k] = sc_eval(&at, box[k].extent);
                if ((upper[k].min && sc_eval(&at, upper[k].min) > v[k]) ||
                    (upper[k].max && sc_eval(&at, upper[k].max) < v[k] + ext[k] - 1))
                    WRONG(c, "n=%lld: upper misses an element", (long long)n);
            }
            for (int64_t x = 0; x < ext[0] && ok; x++)
                for (int64_t y = 0; y < ext[1]; y++) {
                    int64_t a = v[0] + x - lo[0], b = v[1] + y - lo[1];
                    if (a < 0 || a >= size[0] || b < 0 || b >= size[1])
                        WRONG(c, "n=%lld: strict misses an element", (long long)n);
                    filled += !seen[a * size[1] + b];
                    seen[a * size[1] + b] = 1;
                }
        }
        if (ok && filled && filled != volume)
            WRONG(c, "n=%lld: strict claims %lld elements, %lld are touched", (long long)n,
                  (long long)volume, (long long)filled);
    }
}

static void symbolic_sizes_hold_for_every_size(void **state)
{
    const char *wish = getenv("ML_CASES");
    size_t cases = (wish ? (size_t)strtoull(wish, NULL, 10) : 100000) / 20;
    size_t accepted = 0, divided = 0, strict = 0;
    const char *seed = getenv("ML_SEED");
    Rng r = {77 + (seed ? strtoull(seed, NULL, 10) : 0)};
    Case c;

    ml_Ctx *cx = ml_ctx_new(0);
    for (size_t k = 0; k < cases; k++) {
        ml_Mark mark = ml_mark(cx);
        make_symbolic_case(&c, &r, cx);
        check_symbolic(&c, ML_SURJECTIVE, &accepted);
        check_symbolic(&c, ML_BIJECTIVE, &accepted);
        check_symbolic(&c, ML_NO_CHECK, &accepted);
        check_symbolic_division(&c, &r, &divided);
        check_symbolic_region(&c, &r, &strict);
        ml_release(cx, mark);
    }
    ml_ctx_unref(cx);
    print_message("%zu symbolic cases: %zu accepted, %zu divided, %zu strict\n", cases,
                  accepted, divided, strict);
    assert_true(accepted > cases / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_accepted_holds_on_every_point),
        cmocka_unit_test(symbolic_sizes_hold_for_every_size),
    };
    return cmocka_run_group_tests_name("core/arith/iter_random", tests, NULL, NULL);
}
