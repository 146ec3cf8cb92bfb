/*
 * iter_detect - iterator-map detection: from index expressions to sums of digits.
 *
 * Every rewriting preserves the value of the index on every point of the input box; whether
 * the digits found are independent is asked afterwards (iter_check.c). Source:
 * ir-and-analysis 4.2, 4.4.
 */
#include "moonloop/core/arith/iter_impl.h"

const char *ml_iter_fail_text(ml_IterFail f)
{
    switch (f) {
    case ML_ITER_FAIL_NONE: return "no failure";
    case ML_ITER_FAIL_ITERATORS: return "invalid iterators";
    case ML_ITER_FAIL_PREDICATE: return "predicate not parsed";
    case ML_ITER_FAIL_CONSTRAINTS: return "invalid constraints";
    case ML_ITER_FAIL_PRODUCT: return "product of two iterators";
    case ML_ITER_FAIL_DIVISOR: return "iterator as divisor";
    case ML_ITER_FAIL_DIVIDEND: return "dividend cannot be fused into one iterator";
    case ML_ITER_FAIL_SCALE: return "scale and divisor incompatible";
    case ML_ITER_FAIL_NORMALISE: return "could not normalise";
    case ML_ITER_FAIL_DEPENDENT: return "indices not independent";
    case ML_ITER_FAIL_BIJECTIVE: return "not bijective";
    case ML_ITER_FAIL_PARTIAL: return "constraint used in part";
    case ML_ITER_FAIL_EMPTY: return "empty domain";
    }
    return "unknown";
}

bool ml_it_fail(ml_ItState *st, ml_IterFail f, const ml_Expr *at)
{
    if (!st->failed) {
        st->failed = true;
        st->fail = f;
        st->at = at;
    }
    return false;
}

/* ---- iterators */

ml_ItMark *ml_it_mark(ml_ItState *st, ml_ItMarkKind kind)
{
    ml_ItMark *m = ML_NEW(st->cx, ml_ItMark);

    m->kind = kind;
    m->id = (uint32_t)st->marks.n;
    m->taken.v = &m->first_taken;
    m->taken.cap = 1;
    ml_push(st->cx, &st->marks, m);
    return m;
}

ml_ItMark *ml_it_input(const ml_ItState *st, const ml_Var *v)
{
    for (size_t k = 0; k < st->n_inputs; k++)
        if (st->marks.v[k]->var == v || st->marks.v[k]->var->uid == v->uid)
            return st->marks.v[k];
    return NULL;
}

typedef struct Look {
    const ml_ItState *st;
    bool found;
} Look;

static bool look(const ml_Expr *e, void *user)
{
    Look *l = user;

    if (l->found || !(e->bloom & l->st->bloom))
        return false;
    if (e->kind == ML_EXPR_VAR)
        l->found = ml_it_input(l->st, e->as.var) != NULL;
    return !l->found;
}

bool ml_it_has_iter(const ml_ItState *st, const ml_Expr *e)
{
    Look l = {st, false};

    if (!(e->bloom & st->bloom))
        return false;
    ml_expr_visit(e, look, &l);
    return l.found;
}

/* A value of the caller's, simplified unless it is a literal. */
static ml_ItVal given(ml_ItState *st, const ml_Expr *e)
{
    return ml_it_val(st, ml_is_const_int(e) ? e : ml_simplify(st->ar, e));
}

bool ml_it_begin(ml_ItState *st, const ml_Expr *const *indices, size_t n,
                 const ml_Dom *iters, size_t n_iters)
{
    st->cx = ml_arith_ctx(st->ar);
    st->t = ML_DT_I32;
    for (size_t k = 0; k < n; k++)
        if (indices[k]->type.bits == 64)
            st->t = ML_DT_I64;
    for (size_t k = 0; k < n_iters; k++) {
        st->bloom |= ml_uid_bloom(iters[k].var->uid);
        if (iters[k].var->type.bits == 64)
            st->t = ML_DT_I64;
    }
    for (size_t k = 0; k < n_iters; k++) {
        if (!ml_dtype_is_index(iters[k].var->type) ||
            !ml_dtype_is_index(iters[k].min->type) ||
            !ml_dtype_is_index(iters[k].extent->type) || ml_it_input(st, iters[k].var))
            return ml_it_fail(st, ML_ITER_FAIL_ITERATORS, iters[k].extent);
        ml_ItMark *m = ml_it_mark(st, ML_IT_INPUT);
        m->var = iters[k].var;
        st->n_inputs++;
    }
    for (size_t k = 0; k < n_iters; k++) {
        const ml_Expr *min = iters[k].min, *extent = iters[k].extent;
        if (ml_it_has_iter(st, min) || ml_it_has_iter(st, extent))
            return ml_it_fail(st, ML_ITER_FAIL_ITERATORS,
                              ml_it_has_iter(st, min) ? min : extent);
        st->marks.v[k]->min = given(st, min);
        st->marks.v[k]->extent = given(st, extent);
        if (!st->marks.v[k]->extent.e && st->marks.v[k]->extent.i <= 0)
            return ml_it_fail(st, ML_ITER_FAIL_EMPTY, extent);
    }
    return true;
}

/* ---- digits */

bool ml_it_same_digit(ml_ItState *st, const ml_ItDigit *a, const ml_ItDigit *b)
{
    return a->mark == b->mark && a->open == b->open && ml_it_eq(st, a->low, b->low) &&
           ml_it_eq(st, a->off, b->off) && (a->open || ml_it_eq(st, a->ext, b->ext));
}

ml_ItDigit ml_it_whole(ml_ItMark *m, ml_ItVal scale)
{
    return (ml_ItDigit){m, ml_it_lit(0), ml_it_lit(1), m->extent, scale, true};
}

/* The normal form of 4.2; what is released is added to *base. */
static void normalise(ml_ItState *st, ml_ItDigit *d, ml_ItVal *base)
{
    ml_ItVal one = ml_it_lit(1), m = d->mark->extent;

    if (!d->open) {
        ml_ItVal period = ml_it_mul(st, d->low, d->ext);
        d->off = ml_it_mod(st, d->off, period);
        d->open = ml_it_le(st, ml_it_add(st, d->off, m), period);
    }
    if (!d->open)
        return;
    if (!ml_it_is(d->off, 0)) {
        ml_ItVal q = ml_it_div(st, d->off, d->low);
        *base = ml_it_add(st, *base, ml_it_mul(st, q, d->scale));
        d->off = ml_it_mod(st, d->off, d->low);
    }
    if (ml_it_is(d->off, 0) && ml_it_divides(st, d->low, m)) {
        d->ext = ml_it_div(st, m, d->low);
    } else {
        ml_ItVal last = ml_it_sub(st, ml_it_add(st, d->off, m), one);
        d->ext = ml_it_add(st, ml_it_div(st, last, d->low), one);
    }
}

/* Adds a digit (with its scale) to a sum: equal ones merge, units are dropped unless they
 * are whole unit iterators that the caller wants to see. */
static void add_digit(ml_ItState *st, ml_ItSum *s, ml_ItDigit d)
{
    if (ml_it_is(d.scale, 0))
        return;
    if (ml_it_is_unit(&d) && !(st->keep_unit && ml_it_is(d.mark->extent, 1)))
        return;
    for (size_t k = 0; k < s->n; k++) {
        if (!ml_it_same_digit(st, &s->v[k], &d))
            continue;
        s->v[k].scale = ml_it_add(st, s->v[k].scale, d.scale);
        if (ml_it_is(s->v[k].scale, 0)) {
            for (size_t j = k + 1; j < s->n; j++)
                s->v[j - 1] = s->v[j];
            s->n--;
        }
        return;
    }
    ml_push(st->cx, s, d);
}

static void add_scaled(ml_ItState *st, ml_ItSum *acc, const ml_ItSum *s, ml_ItVal coef)
{
    for (size_t k = 0; k < s->n; k++) {
        ml_ItDigit d = s->v[k];
        d.scale = ml_it_mul(st, d.scale, coef);
        add_digit(st, acc, d);
    }
    acc->base = ml_it_add(st, acc->base, ml_it_mul(st, s->base, coef));
}

/* ---- quotients and remainders */

/* The mark whose values are those of g (scale 1). */
static ml_ItMark *wrap(ml_ItState *st, ml_ItDigit g)
{
    g.scale = ml_it_lit(1);
    for (size_t k = st->n_inputs; k < st->marks.n; k++) {
        ml_ItMark *m = st->marks.v[k];
        if (m->kind == ML_IT_WRAP && ml_it_same_digit(st, &m->sum.v[0], &g))
            return m;
    }
    ml_ItMark *m = ml_it_mark(st, ML_IT_WRAP);
    m->extent = g.ext;
    ml_push(st->cx, &m->sum, g);
    return m;
}

/* s (one digit g of scale c, and a base) divided by d >= 1, or its remainder. */
static bool divide(ml_ItState *st, const ml_ItSum *s, ml_ItVal d, bool quotient,
                   ml_ItSum *out, const ml_Expr *at)
{
    ml_ItDigit g = s->v[0];
    ml_ItVal c = g.scale, b = s->base;

    if (ml_it_divides(st, d, c)) {
        if (!quotient) {
            out->base = ml_it_mod(st, b, d);
            return true;
        }
        g.scale = ml_it_div(st, c, d);
        out->base = ml_it_div(st, b, d);
        add_digit(st, out, g);
        return true;
    }
    if (!ml_it_positive_divisor(st, c) || !ml_it_divides(st, c, d))
        return ml_it_fail(st, ML_ITER_FAIL_SCALE, at);
    ml_ItVal q = ml_it_div(st, d, c), b1 = ml_it_div(st, b, c), r = ml_it_mod(st, b, c);
    if (!g.open && ml_it_is(b1, 0) && ml_it_le(st, g.ext, q)) {
        /* g never reaches q */
        if (!quotient) {
            add_digit(st, out, g);
            out->base = r;
        }
        return true;
    }
    if (!g.open &&
        !(ml_it_divides(st, q, g.ext) && (!quotient || ml_it_divides(st, q, b1)))) {
        g = ml_it_whole(wrap(st, g), c);
    }
    if (quotient) {
        if (g.open) {
            g.off = ml_it_add(st, g.off, ml_it_mul(st, b1, g.low));
        } else {
            g.ext = ml_it_div(st, g.ext, q);
            out->base = ml_it_div(st, b1, q);
        }
        g.low = ml_it_mul(st, g.low, q);
        g.scale = ml_it_lit(1);
    } else {
        g.off = ml_it_add(st, g.off, ml_it_mul(st, b1, g.low));
        g.ext = q;
        g.open = false;
        out->base = r;
    }
    normalise(st, &g, &out->base);
    add_digit(st, out, g);
    return true;
}

static bool convert_division(ml_ItState *st, const ml_Expr *e, ml_ItSum *out)
{
    bool quotient = e->kind == ML_EXPR_FLOORDIV;
    ml_ItSum s = {0};

    if (ml_it_has_iter(st, e->args[1]))
        return ml_it_fail(st, ML_ITER_FAIL_DIVISOR, e);
    ml_ItVal d = given(st, e->args[1]);
    if (ml_it_is(d, 0) || !ml_it_positive_divisor(st, d))
        return ml_it_fail(st, ML_ITER_FAIL_SCALE, e);
    if (!ml_it_convert(st, e->args[0], ml_it_lit(1), &s))
        return false;
    if (!ml_it_fuse(st, &s, true, e)) {
        if (st->fail == ML_ITER_FAIL_NORMALISE)
            st->fail = ML_ITER_FAIL_DIVIDEND;
        return false;
    }
    if (s.n == 0) {
        out->base = quotient ? ml_it_div(st, s.base, d) : ml_it_mod(st, s.base, d);
        return true;
    }
    return divide(st, &s, d, quotient, out, e);
}

/* ---- conversion */

bool ml_it_convert(ml_ItState *st, const ml_Expr *e, ml_ItVal coef, ml_ItSum *acc)
{
    if (st->failed)
        return false;
    if (e->kind != ML_EXPR_VAR && !ml_it_has_iter(st, e)) {
        acc->base = ml_it_add(st, acc->base, ml_it_mul(st, given(st, e), coef));
        return !st->failed;
    }
    switch ((int)e->kind) {
    case ML_EXPR_VAR: {
        ml_ItMark *m = ml_it_input(st, e->as.var);
        if (!m)
            break;
        acc->base = ml_it_add(st, acc->base, ml_it_mul(st, m->min, coef));
        add_digit(st, acc, ml_it_whole(m, coef));
        return !st->failed;
    }
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (!ml_it_convert(st, e->args[0], coef, acc))
            return false;
        if (e->kind == ML_EXPR_SUB)
            coef = ml_it_mul(st, coef, ml_it_lit(-1));
        return ml_it_convert(st, e->args[1], coef, acc);
    case ML_EXPR_MUL: {
        bool left = ml_it_has_iter(st, e->args[0]), right = ml_it_has_iter(st, e->args[1]);
        if (left && right)
            return ml_it_fail(st, ML_ITER_FAIL_PRODUCT, e);
        if (!left && !right)
            break;
        ml_ItVal k = given(st, e->args[left ? 1 : 0]);
        return ml_it_convert(st, e->args[left ? 0 : 1], ml_it_mul(st, coef, k), acc);
    }
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: {
        const ml_ItSum *known = st->memo ? ml_map_get(st->memo, e->id) : NULL;
        if (!known) {
            if (!ml_it_has_iter(st, e))
                break;
            ml_ItSum *s = ML_NEW(st->cx, ml_ItSum);
            if (!convert_division(st, e, s) || st->failed)
                return false;
            if (e->size > 16) {
                if (!st->memo)
                    st->memo = ml_map_new(st->cx);
                ml_map_set(st->cx, st->memo, e->id, s);
            }
            known = s;
        }
        add_scaled(st, acc, known, coef);
        return !st->failed;
    }
    case ML_EXPR_CAST:
        /* A widening cast between index dtypes keeps the value. */
        if (ml_dtype_is_index(e->type) && ml_dtype_is_index(e->args[0]->type) &&
            e->type.bits >= e->args[0]->type.bits)
            return ml_it_convert(st, e->args[0], coef, acc);
        break;
    }
    if (ml_it_has_iter(st, e))
        return ml_it_fail(st, ML_ITER_FAIL_NORMALISE, e);
    acc->base = ml_it_add(st, acc->base, ml_it_mul(st, given(st, e), coef));
    return !st->failed;
}

static bool detect(ml_ItState *st, const ml_Expr *const *indices, size_t n,
                   const ml_Dom *iters, size_t n_iters, const ml_Expr *pred)
{
    if (!ml_it_begin(st, indices, n, iters, n_iters))
        return false;
    if (pred && !ml_is_true(pred) && !ml_it_predicate(st, pred))
        return false;
    st->n_sums = n;
    st->sums = n ? ML_ARRAY(st->cx, ml_ItSum, n) : NULL;
    for (size_t k = 0; k < n; k++) {
        if (!ml_dtype_is_index(indices[k]->type) || indices[k]->size > ML_IT_SIZE_LIMIT)
            return ml_it_fail(st, ML_ITER_FAIL_NORMALISE, indices[k]);
        if (!ml_it_convert(st, indices[k], ml_it_lit(1), &st->sums[k]) ||
            !ml_it_fuse(st, &st->sums[k], false, indices[k]))
            return false;
    }
    return ml_it_check(st) && !st->failed;
}

static bool depends_on_form(ml_IterFail f)
{
    switch (f) {
    case ML_ITER_FAIL_CONSTRAINTS:
    case ML_ITER_FAIL_DIVIDEND:
    case ML_ITER_FAIL_SCALE:
    case ML_ITER_FAIL_NORMALISE:
    case ML_ITER_FAIL_DEPENDENT:
    case ML_ITER_FAIL_BIJECTIVE:
    case ML_ITER_FAIL_PARTIAL: return true;
    case ML_ITER_FAIL_NONE:
    case ML_ITER_FAIL_ITERATORS:
    case ML_ITER_FAIL_PREDICATE:
    case ML_ITER_FAIL_PRODUCT:
    case ML_ITER_FAIL_DIVISOR:
    case ML_ITER_FAIL_EMPTY: break;
    }
    return false;
}

bool ml_it_detect(ml_ItState *st, const ml_Expr *const *indices, size_t n,
                  const ml_Dom *iters, size_t n_iters, const ml_Expr *pred)
{
    const ml_Expr *other = pred;

    if (detect(st, indices, n, iters, n_iters, pred))
        return true;
    if (!pred || ml_is_true(pred) || !depends_on_form(st->fail) ||
        st->conjs.n > ML_IT_FORM_CONJUNCTS)
        return false;
    /* The predicate in another form may be one that the indices go through. */
    for (int form = 0; form < ML_IT_FORMS; form++) {
        ml_ItState again = {.ar = st->ar, .level = st->level, .keep_unit = st->keep_unit};
        const ml_Expr *e = ml_it_predicate_form(st, pred, iters, n_iters, form);

        if (e == other || e == pred)
            continue;
        other = e;
        if (detect(&again, indices, n, iters, n_iters, e)) {
            *st = again;
            return true;
        }
    }
    return false;
}

/* Of the marks whose values the predicate leaves no choice. */
static void export_fixed(ml_ItState *st, const ml_Dom *iters, ml_IterMap *out)
{
    ML_VEC(const ml_IterMark *) v = {0};

    for (size_t k = 0; k < st->n_inputs; k++)
        if (ml_it_is(st->marks.v[k]->extent, 1) && !ml_is_int(iters[k].extent, 1))
            ml_push(st->cx, &v, ml_it_export_mark(st, st->marks.v[k]));
    for (size_t k = 0; k < st->constraints.n; k++)
        if (st->constraints.v[k]->at_unit)
            ml_push(st->cx, &v, ml_it_export_mark(st, st->constraints.v[k]));
    out->n_fixed = v.n;
    out->fixed = v.v;
}

ml_IterMap ml_iter_detect(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                          const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                          ml_IterLevel level, bool keep_unit)
{
    ml_ItState st = {.ar = ar, .level = level, .keep_unit = keep_unit};
    ml_IterMap out = {.n = n};

    if (ml_it_detect(&st, indices, n, iters, n_iters, pred)) {
        ml_IterSum *sums = n ? ML_ARRAY(st.cx, ml_IterSum, n) : NULL;
        for (size_t k = 0; k < n; k++)
            sums[k] = ml_it_export(&st, &st.sums[k]);
        out.sums = sums;
        export_fixed(&st, iters, &out);
    }
    out.ok = !st.failed;
    if (!out.ok)
        out = (ml_IterMap){.fail = st.fail, .at = st.at};
    return out;
}

bool ml_iter_holds(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                   const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                   ml_IterLevel level, bool scale_one)
{
    ml_ItState st = {.ar = ar, .level = level, .keep_unit = true};

    if (!ml_it_detect(&st, indices, n, iters, n_iters, pred) || st.failed)
        return false;
    for (size_t k = 0; scale_one && k < n; k++)
        if (st.sums[k].n > 0 && !ml_it_is_unit(&st.sums[k].v[0]) &&
            !ml_it_is(st.sums[k].v[0].scale, 1))
            return false; /* one value has no scale */
    return true;
}
