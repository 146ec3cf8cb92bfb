/*
 * arith - the analyzer's state: facts about variables, assumptions, memo tables.
 *
 * Every change of facts is recorded in an undo list, so that leaving a scope restores
 * exactly. Empty ranges and contradictory assumptions describe code that never runs; the
 * later fact is then ignored, so that bounds are never empty. Source: ir-and-analysis 3.1.
 */
#include "moonloop/core/arith/arith.h"

#include "moonloop/core/arith/arith_impl.h"

ml_Arith *ml_arith_new(ml_Ctx *cx)
{
    ml_Arith *ar = ML_NEW(cx, ml_Arith);

    ar->cx = cx;
    ar->epoch = ar->last_epoch = 1;
    ar->vars.cap = ar->undo.cap = ML_ARITH_VARS;
    ar->vars.v = ml_alloc(cx, ML_ARITH_VARS * sizeof *ar->vars.v);
    ar->undo.v = ml_alloc(cx, ML_ARITH_VARS * sizeof *ar->undo.v);
    return ar;
}

ml_Ctx *ml_arith_ctx(const ml_Arith *ar)
{
    return ar->cx;
}

/* ---- memo tables */

static void memo_insert(ml_ArithMemo *tab, uint32_t cap, const ml_ArithMemo *m)
{
    uint32_t at = (m->key * 2654435769u) & (cap - 1);

    while (tab[at].key)
        at = (at + 1) & (cap - 1);
    tab[at] = *m;
}

static void memo_grow(ml_Arith *ar)
{
    uint32_t cap = ar->memo_cap ? ar->memo_cap * 4 : 16;
    ml_ArithMemo *tab = ML_ARRAY(ar->cx, ml_ArithMemo, cap);

    for (uint32_t k = 0; k < ar->memo_cap; k++)
        if (ar->memo[k].key)
            memo_insert(tab, cap, &ar->memo[k]);
    ar->memo = tab;
    ar->memo_cap = cap;
}

ml_ArithMemo *ml_arith_memo(ml_Arith *ar, const ml_Expr *e)
{
    if (ar->memo_n * 2 >= ar->memo_cap)
        memo_grow(ar);
    ar->seen |= e->bloom;
    uint32_t key = e->id + 1, at = (key * 2654435769u) & (ar->memo_cap - 1);
    while (ar->memo[at].key && ar->memo[at].key != key)
        at = (at + 1) & (ar->memo_cap - 1);
    if (!ar->memo[at].key) {
        ar->memo[at].key = key;
        ar->memo_n++;
    }
    return &ar->memo[at];
}

bool ml_arith_work(ml_Arith *ar)
{
    if (ar->fuel == 0 || !ml_tick(ar->cx)) {
        ar->fuel = 0;
        ar->cut = true;
        return false;
    }
    ar->fuel--;
    return true;
}

void ml_arith_enter(ml_Arith *ar)
{
    if (ar->depth++ == 0) {
        ar->fuel = ML_ARITH_FUEL;
        ar->again = 0;
        ar->cut = false;
    }
}

void ml_arith_leave(ml_Arith *ar)
{
    ar->depth--;
}

void ml_arith_forget(ml_Arith *ar)
{
    ar->epoch = ++ar->last_epoch;
}

/* ---- undo */

/* Called before a change that concerns expressions over the variables in `bloom`. */
static ml_ArithUndo *changing(ml_Arith *ar, unsigned what, size_t at, uint64_t bloom)
{
    bool bump = bloom == 0 || (bloom & ar->seen) != 0;
    ml_ArithUndo u = {
        .what = (uint8_t)what, .bumped = bump, .at = (uint32_t)at, .epoch = ar->epoch};

    if (bump)
        ar->epoch = ++ar->last_epoch;
    ml_push(ar->cx, &ar->undo, u);
    return &ar->undo.v[ar->undo.n - 1];
}

static void count_fact(ml_Arith *ar, const ml_ArithFact *f, bool up)
{
    uint32_t *n = &ar->n_linear;

    switch ((ml_ArithFactKind)f->kind) {
    case ML_AF_BOUND: n = &ar->n_bound_facts; break;
    case ML_AF_TRUTH: n = &ar->n_truth; break;
    case ML_AF_LINEAR:
    case ML_AF_UNEQUAL: break;
    }
    *n = up ? *n + 1 : *n - 1;
}

ml_ArithMark ml_arith_save(ml_Arith *ar)
{
    return (ml_ArithMark){ar->undo.n};
}

void ml_arith_restore(ml_Arith *ar, ml_ArithMark mark)
{
    uint32_t epoch = ar->epoch, silent = 0;

    ML_ASSERT(mark.n <= ar->undo.n);
    if (mark.n == ar->undo.n)
        return;
    while (ar->undo.n > mark.n) {
        const ml_ArithUndo *u = &ar->undo.v[--ar->undo.n];

        epoch = u->epoch;
        if (!u->bumped)
            silent = epoch;
        if (u->what == 0) {
            ar->vars.v[u->at] = u->old;
        } else if (u->what == 1) {
            if (ar->facts.v[u->at].live)
                count_fact(ar, &ar->facts.v[u->at], false);
            ar->facts.n = u->at;
        } else {
            ar->facts.v[u->at].live = true;
            count_fact(ar, &ar->facts.v[u->at], true);
        }
    }
    /* Under the epoch gone back to, answers may have been found with a fact whose arrival
     * did not change the epoch. */
    ar->epoch = silent == epoch ? ++ar->last_epoch : epoch;
}

/* ---- variables */

/* With many variables, as when all blocks of a program are looked at one after another, a
 * table knows where each is. */
ml_VarInfo *ml_arith_var(ml_Arith *ar, const ml_Var *v)
{
    if (ar->var_at) {
        uintptr_t k = (uintptr_t)ml_map_get(ar->var_at, v->uid);

        return k ? &ar->vars.v[k - 1] : NULL;
    }
    for (size_t k = 0; k < ar->vars.n; k++)
        if (ar->vars.v[k].uid == v->uid)
            return &ar->vars.v[k];
    return NULL;
}

static ml_Bound default_bound(const ml_Var *v)
{
    ml_Bound b = ml_bound_dtype(v->type);

    if (v->is_size && b.lo < 0)
        b.lo = 0;
    return b;
}

static void note_place(ml_Arith *ar)
{
    size_t from = ar->vars.n - 1;

    if (!ar->var_at && ar->vars.n < ML_ARITH_TABLE)
        return;
    if (!ar->var_at) {
        ar->var_at = ml_map_new(ar->cx);
        from = 0;
    }
    for (size_t k = from; k < ar->vars.n; k++)
        ml_map_set(ar->cx, ar->var_at, ar->vars.v[k].uid, (const void *)(uintptr_t)(k + 1));
}

/* The record of v, to be changed by the caller; what it was is remembered. unknown: the
 * record starts again from what the variable's dtype says. */
static ml_VarInfo *var_change(ml_Arith *ar, const ml_Var *v, bool unknown)
{
    ml_VarInfo *i = ml_arith_var(ar, v);
    ml_VarInfo fresh = {.uid = v->uid, .mod = {1, 0}};

    if (!i || unknown)
        fresh.bound = default_bound(v);
    if (!i) {
        ml_push(ar->cx, &ar->vars, fresh);
        i = &ar->vars.v[ar->vars.n - 1];
        note_place(ar);
    }
    changing(ar, 0, (size_t)(i - ar->vars.v), ml_uid_bloom(v->uid))->old = *i;
    if (unknown)
        *i = fresh;
    i->known = true;
    i->var = v;
    return i;
}

static void fact_add(ml_Arith *ar, ml_ArithFact f, uint64_t bloom)
{
    f.live = true;
    f.bloom = bloom;
    changing(ar, 1, ar->facts.n, bloom);
    count_fact(ar, &f, true);
    ml_push(ar->cx, &ar->facts, f);
}

/* Everything known of v from an earlier binding ends. */
static ml_VarInfo *var_rebind(ml_Arith *ar, const ml_Var *v)
{
    for (size_t k = 0; k < ar->facts.n; k++) {
        ml_ArithFact *f = &ar->facts.v[k];
        if (f->live && f->owner == v->uid) {
            changing(ar, 2, k, 0);
            f->live = false;
            count_fact(ar, f, false);
        }
    }
    return var_change(ar, v, true);
}

/* terms of s <= -base of s becomes a fact. */
static void linear_fact(ml_Arith *ar, const ml_Sum *s, ml_ArithFactKind kind, ml_Uid owner,
                        bool is_binding)
{
    int64_t k;
    uint64_t bloom = 0;

    if (s->n == 0 || __builtin_sub_overflow((int64_t)0, s->base, &k))
        return;
    ml_Term *t = ML_ARRAY(ar->cx, ml_Term, s->n);
    memcpy(t, s->t, s->n * sizeof(*t));
    for (uint32_t j = 0; j < s->n; j++)
        bloom |= t[j].index->bloom;
    ml_ArithFact f = {
        .kind = (uint8_t)kind, .n = s->n, .t = t, .k = k, .owner = is_binding ? owner : 0};
    fact_add(ar, f, bloom);
}

/* a + c <= b. */
static void fact_le(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, int64_t c,
                    ml_Uid owner)
{
    ml_Sum s;

    ml_sum_init(&s, a->type);
    if (ml_sum_add_expr(ar, &s, a, 1) && ml_sum_add_expr(ar, &s, b, -1) &&
        !__builtin_add_overflow(s.base, c, &s.base) && s.n >= 1)
        linear_fact(ar, &s, ML_AF_LINEAR, owner, owner != 0);
}

static void bind_value(ml_Arith *ar, const ml_Var *v, const ml_Expr *value)
{
    value = ml_simplify(ar, value);
    if (!ml_dtype_eq(value->type, v->type))
        return;
    ml_Bound b = default_bound(v);
    ml_Modular m = {1, 0};
    if (ml_dtype_is_int(v->type)) {
        b = ml_bound_meet(b, ml_arith_bound(ar, value));
        m = ml_arith_modular(ar, value);
    }
    bool self = ml_expr_uses_var(value, v);
    ml_VarInfo *i = var_rebind(ar, v);
    if (self)
        return; /* the same name with another meaning: nothing can be said */
    i->bound = b;
    i->mod = m;
    i->value = value;
}

void ml_arith_bind_value(ml_Arith *ar, const ml_Var *v, const ml_Expr *value)
{
    bind_value(ar, v, value);
}

void ml_arith_bind_range(ml_Arith *ar, const ml_Var *v, const ml_Expr *min,
                         const ml_Expr *extent)
{
    if (!ml_dtype_is_int(v->type))
        return;
    if (min->kind != ML_EXPR_INT)
        min = ml_simplify(ar, min);
    if (extent->kind != ML_EXPR_INT)
        extent = ml_simplify(ar, extent);
    if (ml_is_int(extent, 1)) {
        bind_value(ar, v, min);
        return;
    }
    ml_Bound lo = ml_arith_bound(ar, min), n = ml_arith_bound(ar, extent);
    int64_t last = n.hi == ML_INF ? ML_INF : n.hi - 1;
    ml_Bound b = {lo.lo, ml_sat_add(lo.hi, last)};
    if (b.hi < b.lo)
        b.hi = b.lo;
    bool self = ml_expr_uses_var(min, v) || ml_expr_uses_var(extent, v);
    ml_VarInfo *i = var_rebind(ar, v);
    i->bound = ml_bound_meet(i->bound, b);
    if (!self) {
        i->min = min;
        i->extent = extent;
    }
    if (self || (min->kind == ML_EXPR_INT && extent->kind == ML_EXPR_INT) ||
        !ml_dtype_is_index(v->type) || !ml_dtype_eq(min->type, v->type) ||
        !ml_dtype_eq(extent->type, v->type))
        return;
    /* min <= v and v + 1 <= min + extent */
    const ml_Expr *x = ml_var(ar->cx, v),
                  *end = ml_try_binary(ar, ML_EXPR_ADD, min, extent);
    if (min->kind != ML_EXPR_INT)
        fact_le(ar, min, x, 0, v->uid);
    if (end)
        fact_le(ar, x, end, 1, v->uid);
}

void ml_arith_bind_lower(ml_Arith *ar, const ml_Var *v, int64_t lo)
{
    ml_VarInfo *i = var_change(ar, v, false);

    if (lo > i->bound.lo && lo <= i->bound.hi)
        i->bound.lo = lo;
}

void ml_arith_bind_params(ml_Arith *ar, const ml_Func *f)
{
    for (uint32_t p = 0; p < f->n_params; p++) {
        const ml_Buffer *b = f->params[p].buffer;

        for (uint16_t d = 0; b && d < b->rank; d++) {
            ml_Sum s;

            if (!ml_is_index(b->shape[d]) || b->shape[d]->kind == ML_EXPR_INT)
                continue;
            ml_arith_enter(ar);
            ml_sum_init(&s, b->shape[d]->type);
            bool ok = ml_sum_add_expr(ar, &s, b->shape[d], 1);
            ml_arith_leave(ar);
            if (!ok || s.n != 1 || s.t[0].scale <= 0 || s.t[0].lower != 1 ||
                s.t[0].upper != ML_NO_UPPER || s.base == INT64_MIN ||
                s.t[0].index->kind != ML_EXPR_VAR)
                continue;
            /* scale*v + base >= 0: v is at least -base/scale rounded up */
            ml_arith_bind_lower(ar, s.t[0].index->as.var,
                                -ml_floordiv_i64(s.base, s.t[0].scale));
        }
    }
}

void ml_arith_bind_loop(ml_Arith *ar, const ml_For *loop)
{
    ml_arith_bind_range(ar, loop->var, loop->min, loop->extent);
}

const ml_Stmt *ml_arith_map_loop(ml_Arith *ar, const ml_For *loop, const ml_Mapper *m)
{
    ml_Mapper head = *m, body = *m;
    ml_ArithMark mark = ml_arith_save(ar);

    head.stmt = NULL;
    body.expr = NULL;
    const ml_Stmt *s = ml_stmt_map(ar->cx, &loop->base, &head);

    if (ml_dtype_is_index(loop->var->type))
        ml_arith_bind_loop(ar, ml_as_for(s));
    s = ml_stmt_map(ar->cx, s, &body);
    ml_arith_restore(ar, mark);
    return s;
}

void ml_arith_bind_iters(ml_Arith *ar, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_iters; k++)
        ml_arith_bind_range(ar, b->iters[k].var, b->iters[k].min, b->iters[k].extent);
}

void ml_arith_bind_within(ml_Arith *ar, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_Bound in = ml_arith_bound(ar, it->min);

        if (!ml_is_int(it->extent, 1) || ml_is_const_int(it->min))
            ml_arith_bind_range(ar, it->var, it->min, it->extent);
        else if (in.lo > INT32_MIN && in.hi < INT32_MAX)
            ml_arith_bind_range(ar, it->var, ml_int(ar->cx, it->var->type, in.lo),
                                ml_int(ar->cx, it->var->type, in.hi - in.lo + 1));
    }
}

/* ---- assumptions */

int ml_arith_truth(ml_Arith *ar, const ml_Expr *p)
{
    if (ar->n_truth == 0)
        return -1;
    for (size_t k = ar->facts.n; k-- > 0;) {
        const ml_ArithFact *f = &ar->facts.v[k];
        if (f->kind == ML_AF_TRUTH && f->live && f->expr == p)
            return f->truth;
    }
    return -1;
}

static void truth_fact(ml_Arith *ar, const ml_Expr *p, bool truth)
{
    if (p->kind == ML_EXPR_INT || ml_arith_truth(ar, p) == (int)truth)
        return;
    fact_add(ar, (ml_ArithFact){.kind = ML_AF_TRUTH, .expr = p, .truth = truth}, p->bloom);
}

/* x lies in b and in m from now on. */
static void bound_fact(ml_Arith *ar, const ml_Expr *x, ml_Bound b, ml_Modular m)
{
    if (x->kind == ML_EXPR_INT || x->type.lanes != 1 || !ml_dtype_is_int(x->type))
        return;
    if (x->kind == ML_EXPR_VAR) {
        ml_VarInfo *i = var_change(ar, x->as.var, false);
        i->bound = ml_bound_meet(b, i->bound);
        (void)ml_modular_meet(i->mod, m, &i->mod);
        return;
    }
    fact_add(ar, (ml_ArithFact){.kind = ML_AF_BOUND, .expr = x, .bound = b, .mod = m},
             x->bloom);
}

/* What x in [lo, hi] says, also of the dividend when x is a floor division (3.1). */
static void assume_bound(ml_Arith *ar, const ml_Expr *x, ml_Bound b)
{
    const ml_Expr *c = ml_is_index(x) ? ml_canonical(ar, x) : x; /* before the fact */

    bound_fact(ar, x, b, (ml_Modular){1, 0});
    if (c != x) {
        int64_t k = 0;
        /* x = c = y + k: bounds on y too */
        if ((c->kind == ML_EXPR_ADD || c->kind == ML_EXPR_SUB) &&
            c->args[1]->kind == ML_EXPR_INT && c->args[1]->as.i != INT64_MIN) {
            k = c->kind == ML_EXPR_ADD ? c->args[1]->as.i : -c->args[1]->as.i;
            c = c->args[0];
        }
        bound_fact(ar, c,
                   (ml_Bound){b.lo == -ML_INF ? -ML_INF : ml_sat_add(b.lo, -k),
                              b.hi == ML_INF ? ML_INF : ml_sat_add(b.hi, -k)},
                   (ml_Modular){1, 0});
    }
    if (x->kind == ML_EXPR_FLOORDIV && x->args[1]->kind == ML_EXPR_INT &&
        x->args[1]->as.i > 0 && ml_is_index(x)) {
        int64_t d = x->args[1]->as.i;
        ml_Bound q = {b.lo == -ML_INF ? -ML_INF : ml_sat_mul(b.lo, d),
                      b.hi == ML_INF ? ML_INF : ml_sat_add(ml_sat_mul(b.hi, d), d - 1)};
        assume_bound(ar, x->args[0], q);
    }
}

/* v % c == b for a variable v */
static void assume_residue(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    int64_t c, r;

    if ((a->kind != ML_EXPR_FLOORMOD && a->kind != ML_EXPR_MOD) ||
        a->args[1]->kind != ML_EXPR_INT || b->kind != ML_EXPR_INT || !ml_is_index(a))
        return;
    c = a->args[1]->as.i;
    r = b->as.i;
    if (c == INT64_MIN || c == 0)
        return;
    if (c < 0)
        c = -c;
    if (r <= -c || r >= c)
        return; /* contradictory */
    bound_fact(ar, a->args[0], ml_bound_all(), ml_modular_make(c, r));
}

static void assume_compare(ml_Arith *ar, const ml_Expr *p)
{
    const ml_Expr *a = p->args[0], *b = p->args[1];
    ml_ExprKind k = (ml_ExprKind)p->kind;
    ml_Sum s;
    bool linear;

    /* The difference as a linear form, found before the facts below can change it. */
    ml_sum_init(&s, a->type);
    linear = ml_sum_add_expr(ar, &s, a, 1) && ml_sum_add_expr(ar, &s, b, -1);
    /* literal on the right */
    if (a->kind == ML_EXPR_INT) {
        const ml_Expr *t = a;
        a = b;
        b = t;
        k = ml_kind_swapped(k);
        ml_Sum minus;
        ml_sum_init(&minus, a->type);
        linear = linear && ml_sum_add_sum(ar, &minus, &s, -1);
        s.n = 0;
        s.base = 0;
        linear = linear && ml_sum_add_sum(ar, &s, &minus, 1);
    }
    if (k == ML_EXPR_EQ)
        assume_residue(ar, a, b);
    if (b->kind == ML_EXPR_INT && k != ML_EXPR_NE) {
        int64_t c = b->as.i;
        ml_Bound in = ml_bound_all();

        if (k == ML_EXPR_EQ || k == ML_EXPR_GE)
            in.lo = c;
        if (k == ML_EXPR_GT)
            in.lo = ml_sat_add(c, 1);
        if (k == ML_EXPR_EQ || k == ML_EXPR_LE)
            in.hi = c;
        if (k == ML_EXPR_LT)
            in.hi = ml_sat_add(c, -1);
        assume_bound(ar, a, in);
    }
    /* a variable against any expression */
    for (int side = 0; side < 2 && b->kind != ML_EXPR_INT && k != ML_EXPR_NE; side++) {
        const ml_Expr *x = side ? b : a, *y = side ? a : b;
        ml_ExprKind kk = side ? ml_kind_swapped(k) : k;

        if (x->kind != ML_EXPR_VAR || ml_expr_uses_var(y, x->as.var))
            continue;
        ml_Bound in = ml_arith_bound(ar, y);
        if (kk == ML_EXPR_GT && in.lo != -ML_INF)
            in.lo = ml_sat_add(in.lo, 1);
        if (kk == ML_EXPR_LT && in.hi != ML_INF)
            in.hi = ml_sat_add(in.hi, -1);
        if (kk == ML_EXPR_GT || kk == ML_EXPR_GE)
            in.hi = ML_INF;
        if (kk == ML_EXPR_LT || kk == ML_EXPR_LE)
            in.lo = -ML_INF;
        bound_fact(ar, x, in, (ml_Modular){1, 0});
    }
    /* the edge: both sides as one linear form against 0 */
    if (!linear)
        return;
    if (k == ML_EXPR_NE) {
        linear_fact(ar, &s, ML_AF_UNEQUAL, 0, false);
        return;
    }
    for (int side = 0; side < 2; side++) {
        bool wanted = side == 0 ? (k == ML_EXPR_LT || k == ML_EXPR_LE || k == ML_EXPR_EQ)
                                : (k == ML_EXPR_GT || k == ML_EXPR_GE || k == ML_EXPR_EQ);
        ml_Sum f;

        if (!wanted)
            continue;
        ml_sum_init(&f, s.type);
        if (!ml_sum_add_sum(ar, &f, &s, side == 0 ? 1 : -1))
            continue;
        if ((k == ML_EXPR_LT || k == ML_EXPR_GT) &&
            __builtin_add_overflow(f.base, 1, &f.base))
            continue;
        linear_fact(ar, &f, ML_AF_LINEAR, 0, false);
    }
}

static void assume(ml_Arith *ar, const ml_Expr *p, int depth)
{
    if (ml_is_op(p, ML_OP_LIKELY)) {
        assume(ar, p->args[0], depth);
        return;
    }
    if (p->kind == ML_EXPR_AND && p->type.lanes == 1) {
        assume(ar, p->args[0], depth);
        assume(ar, p->args[1], depth);
        return;
    }
    if (p->kind == ML_EXPR_NOT && p->type.lanes == 1) {
        const ml_Expr *in = p->args[0];
        if (in->kind == ML_EXPR_OR) {
            assume(ar, ml_not(ar->cx, in->args[0]), depth);
            assume(ar, ml_not(ar->cx, in->args[1]), depth);
            return;
        }
        const ml_Expr *n = ml_negate(ar, in);
        if (n != p && n->kind != ML_EXPR_NOT) {
            assume(ar, n, depth);
            return;
        }
    }
    if (!ml_dtype_is_bool(p->type) || p->type.lanes != 1 ||
        ml_expr_effect(p) > ML_EFFECT_PURE || (p->flags & ML_X_HAS_LOAD) ||
        p->kind == ML_EXPR_INT)
        return;
    const ml_Expr *n = ml_negate(ar, p);
    const ml_Expr *s = depth ? p : ml_simplify(ar, p);
    const ml_Expr *sn = depth ? n : ml_simplify(ar, n);
    if (ml_is_index_compare(p))
        assume_compare(ar, p);
    truth_fact(ar, p, true);
    truth_fact(ar, n, false);
    truth_fact(ar, sn, false);
    if (s != p && depth == 0)
        assume(ar, s, 1);
}

void ml_arith_assume(ml_Arith *ar, const ml_Expr *pred)
{
    ml_arith_enter(ar);
    assume(ar, pred, 0);
    ml_arith_leave(ar);
}
