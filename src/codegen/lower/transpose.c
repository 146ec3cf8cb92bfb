/*
 * transpose - vectors that are gathered from rows next to each other are read row by row
 * and turned in registers.
 *
 * for k in range(n): B[.. + ramp(0, 1, L)] = A[k + .. + ramp(0, stride, L)]
 *
 * reads lane l of all iterations from one place on: L loads of as many elements as a vector
 * has, which rounds of interleaving bring into the order of the stores. What is left of the
 * iterations is done in smaller pieces, and below four as it was. Where the stores of the
 * iterations follow each other, whole vectors are stored: an interleaving of L rows. Where
 * one instruction brings the lanes of a vector into any order, that is done to L short rows
 * that fill one.
 * Source: lowering-and-codegen 7.3, 8.3.
 */
#include "moonloop/codegen/lower/lower_impl.h"

enum { LEAST = 4, MOST_STRIDE = 4, MOST_LOADS = 2 };

typedef struct Turner {
    ml_Lower *lo;
    ml_Arith *ar;
    bool overlap; /* buffers may share memory */
} Turner;

typedef struct Copy { /* the loop */
    Turner *w;
    const ml_For *f;
    const ml_Store *st;
    const ml_Expr *load[MOST_LOADS]; /* those that are turned */
    size_t n;
    bool refused;
    bool follows; /* an iteration stores behind the one before, just what it loaded */
} Copy;

/* ---------------------------------------------------------------- which loops */

/* Whether e goes up by `step` with each iteration. */
static bool counts_up(Copy *c, const ml_Expr *e, int64_t step)
{
    ml_Ctx *cx = c->w->lo->cx;
    const ml_Var *v = c->f->var;
    const ml_Expr *next = ml_add(cx, ml_var(cx, v), ml_int(cx, v->type, 1));

    next = ml_expr_subst1(cx, e, v, next);
    return ml_is_int(ml_simplify(c->w->ar, ml_sub(cx, next, e)), step);
}

/* Whether the lanes of a load lie in rows that the loop walks along. */
static bool is_gathered(Copy *c, const ml_Expr *e)
{
    const ml_Expr *at = ml_load_rank(e) == 1 ? e->args[0] : NULL;
    const ml_Expr *step;

    if (at == NULL || at->kind != ML_EXPR_RAMP || e->as.buffer->type.lanes != 1 ||
        (at->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)))
        return false;
    step = at->args[1];
    if (ml_expr_uses_var(step, c->f->var) ||
        (ml_is_const_int(step) && step->as.i >= -MOST_STRIDE && step->as.i <= MOST_STRIDE))
        return false;
    if ((e->flags & ML_X_MASKED) && ml_expr_uses_var(e->args[e->n_args - 1], c->f->var))
        return false;
    return counts_up(c, at->args[0], 1);
}

/* A later iteration may read what an earlier one wrote. */
static bool see_own(const ml_Expr *e, void *user)
{
    Copy *c = user;

    c->refused |= e->kind == ML_EXPR_LOAD &&
                  (c->w->overlap || e->as.buffer->data->uid == c->st->buffer->data->uid);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

/* Whether some of e is not evaluated: rows are read in any case, and what is read under a
 * condition may lie outside of the buffer otherwise. */
static bool is_choice(const ml_Expr *e)
{
    return e->kind == ML_EXPR_SELECT || e->kind == ML_EXPR_AND || e->kind == ML_EXPR_OR ||
           ml_is_op(e, ML_OP_IF_THEN_ELSE);
}

static bool see_load(const ml_Expr *e, void *user)
{
    Copy *c = user;

    if (e->kind != ML_EXPR_LOAD)
        return (e->flags & ML_X_HAS_LOAD) != 0 && !is_choice(e);
    for (size_t k = 0; k < c->n; k++)
        if (c->load[k] == e)
            return false;
    if (is_gathered(c, e)) {
        c->refused |= c->n == MOST_LOADS;
        if (!c->refused)
            c->load[c->n++] = e;
    }
    return false;
}

static int64_t machine_lanes(const Turner *w, const ml_Expr *e)
{
    unsigned bits = w->lo->opts.target.vector_bits;

    return (bits ? bits : 128) / (e->type.bits < 8 ? 8 : e->type.bits);
}

/* Whether the loop copies what it loads to one place after the other. */
static bool is_run(Copy *c)
{
    const ml_Store *st = c->st;
    const ml_Expr *at = st->n == 1 ? st->indices[0] : NULL;

    return c->n == 1 && st->value == c->load[0] && !(st->value->flags & ML_X_MASKED) &&
           !st->mask && at && at->kind == ML_EXPR_RAMP && st->buffer->type.lanes == 1 &&
           ml_is_int(at->args[1], 1) && counts_up(c, at->args[0], st->value->type.lanes);
}

/* Whether the loads of the loop's only statement are worth turning. */
static bool is_copy(Copy *c)
{
    const ml_Stmt *body = c->f->body;

    if ((c->f->kind != ML_FOR_SERIAL && c->f->kind != ML_FOR_UNROLLED) ||
        body->kind != ML_STMT_STORE || !ml_is_const_int(c->f->extent) ||
        c->f->extent->as.i < LEAST || ml_dict_get(c->f->annotations, ML_IRREGULAR_LOOP))
        return false;
    c->st = ml_as_store(body);
    if (c->st->value->type.lanes < 2 || ml_expr_effect(c->st->value) > ML_EFFECT_READ ||
        (c->st->mask && ml_expr_uses_var(c->st->mask, c->f->var)))
        return false;
    ml_expr_visit(c->st->value, see_own, c);
    ml_expr_visit(c->st->value, see_load, c);
    c->follows = is_run(c);
    if (c->st->value->type.lanes < LEAST && !c->follows)
        return false;
    for (size_t k = 0; k < c->n; k++) {
        unsigned lanes = c->load[k]->type.lanes;
        c->refused |= (lanes & (lanes - 1)) != 0 || lanes > machine_lanes(c->w, c->load[k]);
    }
    return c->n > 0 && !c->refused;
}

/* ---------------------------------------------------------------- turning */

typedef struct Out {
    Copy *c;
    ML_VEC(const ml_Stmt *) list;
} Out;

static const ml_Expr *bound(Out *o, const ml_Expr *e)
{
    ml_Ctx *cx = o->c->w->lo->cx;
    const ml_Var *v;

    if (e->kind == ML_EXPR_VAR)
        return e;
    v = ml_var_new(cx, "row", e->type);
    ml_push(cx, &o->list, ml_stmt_at(cx, ml_bind(cx, v, e), o->c->st->base.span));
    return ml_var(cx, v);
}

/* count lanes of a and b one after the other, from `first` on, `by` apart in each; zip: in
 * turns, else a's and then b's. */
static const ml_Expr *two(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b, int64_t first,
                          unsigned count, bool zip)
{
    const ml_Expr *both[2] = {a, b}, **idx = ML_ARRAY(cx, const ml_Expr *, count);
    int64_t n = a->type.lanes;

    for (unsigned k = 0; k < count; k++)
        idx[k] = ml_i32(cx, zip ? first + k / 2 + k % 2 * n : first + k);
    return ml_shuffle(cx, both, 2, idx, count);
}

/* One vector of n from all of `list` (m of them, a power of two). */
static const ml_Expr *joined(ml_Ctx *cx, const ml_Expr *const *list, int64_t m)
{
    const ml_Expr *a, *b;

    if (m == 1)
        return list[0];
    a = joined(cx, list, m / 2);
    b = joined(cx, list + m / 2, m / 2);
    return two(cx, a, b, 0, 2u * a->type.lanes, false);
}

/* Row l of a load: n elements from iteration k on, where its lane is at work. */
static const ml_Expr *row_of(Copy *c, const ml_Expr *load, const ml_Expr *k, int64_t l,
                             unsigned n)
{
    ml_Ctx *cx = c->w->lo->cx;
    const ml_Expr *base = ml_expr_subst1(cx, load->args[0]->args[0], c->f->var, k);
    const ml_Expr *step = load->args[0]->args[1], *lane = ml_i32(cx, l), *at, *on;

    base = ml_add(cx, base, ml_mul(cx, step, ml_int(cx, step->type, l)));
    base = ml_simplify(c->w->ar, base);
    at = ml_ramp(cx, base, ml_int(cx, base->type, 1), n);
    if (!(load->flags & ML_X_MASKED))
        return ml_load(cx, load->as.buffer, &at, 1);
    on = load->args[load->n_args - 1];
    on = ml_broadcast(cx, on->type.lanes > 1 ? ml_shuffle(cx, &on, 1, &lane, 1) : on, n);
    return ml_load_masked(cx, load->as.buffer, &at, 1, on);
}

/* Elements of 16 bits and fewer move as integers: a float of them is wider in registers. */
static const ml_Expr *as_bits(ml_Ctx *cx, const ml_Expr *e, ml_Dtype t)
{
    bool narrow = ml_dtype_is_float(t) && t.bits <= 16;
    const ml_Dtype to = narrow ? (ml_Dtype){ML_UINT, t.bits, e->type.lanes} : e->type;

    return narrow ? ml_call(cx, to, ml_op(ML_OP_REINTERPRET), &e, 1) : e;
}

static const ml_Expr *from_bits(ml_Ctx *cx, const ml_Expr *e, ml_Dtype t)
{
    t.lanes = e->type.lanes;
    return ml_dtype_eq(e->type, t) ? e : ml_call(cx, t, ml_op(ML_OP_REINTERPRET), &e, 1);
}

/* The load in the iterations from k on, n of them, one after the other: as many vectors of
 * n as the load has lanes, as bits. */
static const ml_Expr **turn(Out *o, const ml_Expr *load, const ml_Expr *k, unsigned n)
{
    ml_Ctx *cx = o->c->w->lo->cx;
    int64_t rows = load->type.lanes;
    const ml_Expr **a = ML_ARRAY(cx, const ml_Expr *, (size_t)rows);
    const ml_Expr **b = ML_ARRAY(cx, const ml_Expr *, (size_t)rows), **swap;

    for (int64_t l = 0; l < rows; l++)
        a[l] = bound(o, as_bits(cx, row_of(o->c, load, k, l, n), load->type));
    /* The bits of (row, element) go round by one place each time, until it is (element,
     * row). */
    for (int64_t round = 1; round < rows; round *= 2) {
        for (int64_t l = 0; l < rows / 2; l++) {
            b[2 * l] = bound(o, two(cx, a[l], a[l + rows / 2], 0, n, true));
            b[2 * l + 1] = bound(o, two(cx, a[l], a[l + rows / 2], n / 2, n, true));
        }
        swap = a, a = b, b = swap;
    }
    return a;
}

/* to[i]: the value of the load in iteration k + i, for n iterations. */
static void spread(Out *o, const ml_Expr *load, const ml_Expr *k, unsigned n,
                   const ml_Expr **to)
{
    ml_Ctx *cx = o->c->w->lo->cx;
    const ml_Expr **a = turn(o, load, k, n);
    int64_t rows = load->type.lanes;

    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * rows;
        const ml_Expr *v = a[at / n];

        to[i] = n <= rows ? joined(cx, a + at / n, rows / n)
                          : two(cx, v, v, at % n, (unsigned)rows, false);
        to[i] = from_bits(cx, to[i], load->type);
    }
}

static const ml_Stmt *store_at(Copy *c, const ml_Expr *value, const ml_Expr *at)
{
    ml_Ctx *cx = c->w->lo->cx;

    return ml_stmt_at(cx, ml_store(cx, c->st->buffer, value, &at, 1, c->st->mask),
                      c->st->base.span);
}

/* Whether rows that fill a vector between them are joined and then brought into order: an
 * insertion from memory for each of them and one permutation, where rounds of two vectors
 * that are crossed are three operations each. */
static bool is_permuted(const Copy *c)
{
    return c->follows && c->w->lo->opts.target.vector_bits >= 512 &&
           c->load[0]->type.lanes * LEAST <= machine_lanes(c->w, c->load[0]);
}

/* n iterations from k on, whose stores follow each other, as one vector. */
static const ml_Stmt *permuted(Copy *c, const ml_Expr *k, unsigned n)
{
    ml_Ctx *cx = c->w->lo->cx;
    const ml_Expr *load = c->load[0], *v;
    unsigned rows = load->type.lanes;
    const ml_Expr **row = ML_ARRAY(cx, const ml_Expr *, rows);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, rows *n);
    const ml_Expr *at = ml_expr_subst1(cx, c->st->indices[0]->args[0], c->f->var, k);
    Out o = {.c = c};
    unsigned word;

    for (unsigned l = 0; l < rows; l++)
        row[l] = bound(&o, as_bits(cx, row_of(c, load, k, l, n), load->type));
    v = bound(&o, joined(cx, row, rows));
    /* First words, then the elements of words beside each other: as one step it is an
     * interleaved store to LLVM, which takes it apart into halves of halves again. */
    word = v->type.bits < 32 ? 32 / v->type.bits : 1;
    while (n % word != 0)
        word /= 2;
    for (unsigned i = 0; i < rows * n; i++)
        idx[i] = ml_i32(cx, i / word % rows * n + i / word / rows * word + i % word);
    v = bound(&o, ml_shuffle(cx, &v, 1, idx, rows * n));
    for (unsigned i = 0; i < rows * n; i++)
        idx[i] = ml_i32(cx, i / (rows * word) * rows * word + i % rows * word +
                                i % (rows * word) / rows);
    v = from_bits(cx, ml_shuffle(cx, &v, 1, idx, rows * n), load->type);
    at = ml_ramp(cx, ml_simplify(c->w->ar, at), ml_int(cx, at->type, 1), rows * n);
    ml_push(cx, &o.list, store_at(c, v, at));
    return ml_seq_at(cx, o.list.v, o.list.n, c->f->base.span);
}

/* n iterations from k on, whose stores follow each other. */
static const ml_Stmt *run(Copy *c, const ml_Expr *k, unsigned n)
{
    ml_Ctx *cx = c->w->lo->cx;
    Out o = {.c = c};
    const ml_Expr **a = turn(&o, c->load[0], k, n);
    const ml_Expr *from = ml_expr_subst1(cx, c->st->indices[0]->args[0], c->f->var, k);

    for (unsigned l = 0; l < c->load[0]->type.lanes; l++) {
        const ml_Expr *at = ml_add(cx, from, ml_int(cx, from->type, (int64_t)l * n));

        at = ml_ramp(cx, ml_simplify(c->w->ar, at), ml_int(cx, from->type, 1), n);
        ml_push(cx, &o.list, store_at(c, from_bits(cx, a[l], c->load[0]->type), at));
    }
    return ml_seq_at(cx, o.list.v, o.list.n, c->f->base.span);
}

typedef struct Swap {
    const Copy *c;
    const ml_Expr *to[MOST_LOADS];
} Swap;

static const ml_Expr *swap_loads(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Swap *s = user;

    for (size_t k = 0; k < s->c->n; k++)
        if (e == s->c->load[k])
            return s->to[k];
    return (e->flags & ML_X_HAS_LOAD) ? ml_expr_map_args(cx, e, swap_loads, user) : e;
}

/* n iterations from k on. */
static const ml_Stmt *tile(Copy *c, const ml_Expr *k, unsigned n)
{
    ml_Ctx *cx = c->w->lo->cx;
    const ml_Expr **of[MOST_LOADS];
    Out o = {.c = c};

    if (c->follows)
        return is_permuted(c) ? permuted(c, k, n) : run(c, k, n);
    for (size_t j = 0; j < c->n; j++) {
        of[j] = ML_ARRAY(cx, const ml_Expr *, n);
        spread(&o, c->load[j], k, n, of[j]);
    }
    for (unsigned i = 0; i < n; i++) {
        const ml_Expr *here = ml_add(cx, k, ml_int(cx, k->type, i)), *at, *value;
        Swap s = {.c = c};

        for (size_t j = 0; j < c->n; j++)
            s.to[j] = bound(&o, of[j][i]);
        value = ml_expr_subst1(cx, swap_loads(cx, c->st->value, &s), c->f->var, here);
        at = ml_expr_subst1(cx, c->st->indices[0], c->f->var, here);
        ml_push(cx, &o.list, store_at(c, value, at));
    }
    return ml_seq_at(cx, o.list.v, o.list.n, c->f->base.span);
}

static const ml_Stmt *rest(Copy *c, int64_t from)
{
    ml_Ctx *cx = c->w->lo->cx;
    ml_For f = *c->f;
    const ml_Expr *at;
    ml_Subst to = {0};

    f.var = ml_var_fresh(cx, c->f->var);
    f.extent = ml_int(cx, f.var->type, c->f->extent->as.i - from);
    at = ml_add(cx, ml_var(cx, f.var), ml_int(cx, f.var->type, from));
    ml_subst_var(cx, &to, c->f->var, at);
    f.body = ml_stmt_subst(cx, c->f->body, &to);
    return ml_for_from(cx, &f);
}

static const ml_Stmt *turned(Copy *c)
{
    ml_Ctx *cx = c->w->lo->cx;
    int64_t n = machine_lanes(c->w, c->load[0]), extent = c->f->extent->as.i, from = 0;
    ML_VEC(const ml_Stmt *) list = {0};

    if (is_permuted(c))
        n /= c->load[0]->type.lanes;
    while (n > 1 && n > extent)
        n /= 2;
    if (extent / n > 1) {
        ml_For f = *c->f;

        f.var = ml_var_new(cx, ml_format(cx, "%s_t", c->f->var->hint), c->f->var->type);
        f.extent = ml_int(cx, f.var->type, extent / n);
        f.body =
            tile(c, ml_mul(cx, ml_var(cx, f.var), ml_int(cx, f.var->type, n)), (unsigned)n);
        ml_push(cx, &list, ml_for_from(cx, &f));
        from = extent / n * n;
    }
    for (; n >= LEAST; n /= 2)
        if (extent - from >= n) {
            ml_push(cx, &list, tile(c, ml_int(cx, c->f->var->type, from), (unsigned)n));
            from += n;
        }
    if (from < extent)
        ml_push(cx, &list, rest(c, from));
    return ml_seq_at(cx, list.v, list.n, c->f->base.span);
}

static const ml_Stmt *turn_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = turn_stmt, .user = user};
    Turner *w = user;
    ml_ArithMark facts;
    Copy c = {.w = w};

    if (!s->has_loop)
        return s;
    if (s->kind != ML_STMT_FOR)
        return ml_stmt_map(cx, s, &m);
    c.f = ml_as_for(s);
    facts = ml_arith_save(w->ar);
    ml_arith_bind_loop(w->ar, c.f);
    s = is_copy(&c) ? turned(&c) : ml_stmt_map(cx, s, &m);
    ml_arith_restore(w->ar, facts);
    return s;
}

const ml_Func *ml_pass_transpose(ml_Lower *lo, const ml_Func *f)
{
    Turner w = {.lo = lo, .ar = ml_lower_arith(lo, f), .overlap = !ml_func_noalias(f)};

    return ml_func_with_body(lo->cx, f, turn_stmt(lo->cx, f->body, &w));
}
