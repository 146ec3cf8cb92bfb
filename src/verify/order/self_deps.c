/*
 * self_deps - whether the instances of a block depend on each other.
 *
 * They do not where every element that the block writes is touched by one instance, where
 * what it stores is a value of the element alone, or where it only combines what is there
 * with new values in whatever order these come. All is said in the block's own iters, so
 * that the answer holds under any loops. Source: ir-and-analysis 1 (instances), 2.3.
 */
#include "moonloop/verify/order/self_deps.h"
#include "moonloop/verify/facts.h"

/* ---- what a block touches */

typedef struct DepsWalk {
    ml_Ctx *cx;
    const ml_Block *b;
    ml_TouchVec *out;
    ML_VEC(const ml_Var *) lets;
    bool plain; /* stores, lists, lets and conditions alone: all accesses are points */
} DepsWalk;

static void add_let(DepsWalk *w, const ml_Var *v)
{
    w->plain &= !ml_dtype_eq(v->type, ML_DT_HANDLE); /* may be written through */
    ml_push(w->cx, &w->lets, v);
}

static void add_point(DepsWalk *w, const ml_Buffer *buf, const ml_Expr *const *idx,
                      bool write)
{
    ml_Range *at = ML_ARRAY(w->cx, ml_Range, buf->rank + 1u);

    for (size_t m = 0; m < buf->rank; m++) {
        at[m] = (ml_Range){idx[m], ml_int(w->cx, idx[m]->type, 1)};
        w->plain &= idx[m]->type.lanes == 1;
        for (size_t k = 0; k < w->lets.n; k++) /* means nothing outside of the block */
            w->plain &= !ml_expr_uses_var(idx[m], w->lets.v[k]);
    }
    for (size_t k = 0; k < w->out->n; k++) {
        const ml_Touch *t = &w->out->v[k];

        if (t->buf == buf && t->write == write && ml_same_ranges(t->at, at, buf->rank))
            return;
    }
    ml_push(w->cx, w->out, ((ml_Touch){buf, at, write}));
}

static bool see_load(const ml_Expr *e, void *user)
{
    DepsWalk *w = user;

    if (e->kind == ML_EXPR_LOAD)
        add_point(w, e->as.buffer, e->args, false);
    if (e->kind == ML_EXPR_LET)
        add_let(w, e->as.var);
    w->plain &= !(e->kind == ML_EXPR_VAR && ml_dtype_eq(e->type, ML_DT_HANDLE)) &&
                !(e->kind == ML_EXPR_CALL && (e->flags & ML_X_EFFECT));
    return w->plain;
}

static bool see_stmt(const ml_Stmt *s, void *user)
{
    DepsWalk *w = user;

    w->plain &= s->kind == ML_STMT_STORE || s->kind == ML_STMT_SEQ ||
                s->kind == ML_STMT_IF || s->kind == ML_STMT_BIND || ml_is_noop(s);
    if (!w->plain)
        return false;
    if (s->kind == ML_STMT_BIND)
        add_let(w, ml_as_bind(s)->var);
    ml_stmt_visit_exprs(s, ML_ROLES_RUN, see_load, w);
    if (s->kind == ML_STMT_STORE)
        add_point(w, ml_as_store(s)->buffer, ml_as_store(s)->indices, true);
    return w->plain;
}

static void signed_touches(ml_Ctx *cx, const ml_Block *b, ml_TouchVec *out)
{
    out->n = 0;
    for (size_t k = 0; k < b->n_reads; k++)
        ml_push(cx, out, ((ml_Touch){b->reads[k].buffer, b->reads[k].ranges, false}));
    for (size_t k = 0; k < b->n_writes; k++)
        ml_push(cx, out, ((ml_Touch){b->writes[k].buffer, b->writes[k].ranges, true}));
}

void ml_block_touches(ml_Ctx *cx, const ml_Block *b, ml_TouchVec *out)
{
    DepsWalk w = {.cx = cx, .b = b, .out = out, .plain = true};

    out->n = 0;
    ml_stmt_visit(b->body, see_stmt, &w);
    if (b->init)
        ml_stmt_visit(b->init, see_stmt, &w);
    if (!w.plain || b->n_matches > 0)
        signed_touches(cx, b, out);
}

/* ---- what an element tells */

static bool uses_any(const ml_Expr *e, const ml_Dom *dom, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(e, dom[k].var))
            return true;
    return false;
}

/* By e alone: v, v + c, or a tile of v. */
static const ml_Var *told_plainly(const ml_Range *r)
{
    const ml_Expr *e = r->min;
    int64_t tile = ml_is_const_int(r->extent) ? r->extent->as.i : 0, scale = 1;

    if (e->kind == ML_EXPR_ADD && ml_is_const_int(e->args[1]))
        e = e->args[0];
    if (e->kind == ML_EXPR_MUL && ml_is_const_int(e->args[1])) {
        scale = e->args[1]->as.i;
        e = e->args[0];
    }
    return e->kind == ML_EXPR_VAR && tile > 0 && scale >= tile ? e->as.var : NULL;
}

/* Range m is the same in both accesses, known, and moves with the domain. */
static bool tells(const ml_Touch *a, const ml_Touch *b, size_t m, const ml_Dom *dom,
                  size_t n)
{
    const ml_Range *r = &a->at[m];

    return r->min == b->at[m].min && r->extent == b->at[m].extent &&
           !(r->min->flags & ML_X_HAS_LOAD) && ml_is_const_int(r->extent) &&
           uses_any(r->min, dom, n);
}

/* false: all of it tells no more than each index by itself. */
static bool tell_alone(const ml_Touch *a, const ml_Touch *b, const ml_Dom *dom, size_t n,
                       bool *told)
{
    bool open = false;

    for (size_t m = 0; m < a->buf->rank; m++) {
        if (!tells(a, b, m, dom, n))
            continue;
        const ml_Var *v = told_plainly(&a->at[m]);

        for (size_t k = 0; v && k < n; k++)
            told[k] |= dom[k].var == v;
        open |= !v;
    }
    return open;
}

static void tell_together(ml_Arith *ar, const ml_Touch *a, const ml_Touch *b,
                          const ml_Dom *dom, size_t n, bool *told)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, a->buf->rank + 1u);
    bool *in_idx = ML_ARRAY(cx, bool, n);
    ml_DomVec used = {0};
    size_t n_idx = 0;

    for (size_t m = 0; m < a->buf->rank; m++) {
        const ml_Range *r = &a->at[m];

        if (!tells(a, b, m, dom, n))
            continue;
        idx[n_idx] = r->min;
        if (!ml_is_int(r->extent, 1)) { /* an element of the tile */
            const ml_Var *in = ml_var_new(cx, "in", r->min->type);

            ml_push(cx, &used, ((ml_Dom){in, ml_int(cx, in->type, 0), r->extent}));
            idx[n_idx] = ml_add(cx, r->min, ml_var(cx, in));
        }
        n_idx++;
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t m = 0; m < n_idx; m++)
            in_idx[k] |= ml_expr_uses_var(idx[m], dom[k].var);
        if (in_idx[k])
            ml_push(cx, &used, dom[k]);
    }
    if (ml_iter_holds(ar, idx, n_idx, used.v, used.n, ml_bool(cx, true), ML_BIJECTIVE,
                      false))
        for (size_t k = 0; k < n; k++)
            told[k] |= in_idx[k];
}

void ml_told_by(ml_Arith *ar, const ml_Touch *a, const ml_Touch *b, const ml_Dom *dom,
                size_t n, bool *told)
{
    if (tell_alone(a, b, dom, n, told))
        tell_together(ar, a, b, dom, n, told);
}

/* ---- accumulation inside of a block */

typedef struct Inner {
    ml_Ctx *cx;
    const ml_Buffer *buf;
    ml_Combines by;
    size_t n; /* blocks that use it */
    bool ok;
} Inner;

static bool names_buffer(const ml_Expr *e, void *user)
{
    Inner *in = user;

    in->ok &= !(e->kind == ML_EXPR_LOAD && e->as.buffer->data == in->buf->data) &&
              !(e->kind == ML_EXPR_VAR && e->as.var == in->buf->data);
    return in->ok;
}

/* One block inside uses the buffer, and combines; nothing else does. */
static bool see_inner(const ml_Stmt *s, void *user)
{
    Inner *in = user;

    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        for (size_t k = 0; k < b->n_matches; k++)
            in->ok &= b->matches[k].source.buffer->data != in->buf->data;
        if (!b->body->has_block) {
            if (ml_stmt_uses_buffer(b->body, in->buf) ||
                (b->init && ml_stmt_uses_buffer(b->init, in->buf)))
                in->ok &=
                    in->n++ == 0 && !b->init && in->by.fn(in->cx, b, in->buf, in->by.user);
            return false;
        }
        in->ok &= !b->init || !ml_stmt_uses_buffer(b->init, in->buf);
    }
    if (s->kind == ML_STMT_STORE)
        in->ok &= ml_as_store(s)->buffer->data != in->buf->data;
    ml_stmt_visit_exprs(s, ML_ROLES_BUT_REGION, names_buffer, in);
    return in->ok;
}

/* What the body says for the buffer: its one view, or itself; NULL: more than one name. */
static const ml_Buffer *name_inside(const ml_Block *b, const ml_Buffer *buf)
{
    const ml_Buffer *name = buf;

    for (size_t k = 0; k < b->n_matches; k++) {
        if (b->matches[k].source.buffer->data != buf->data)
            continue;
        if (name != buf || ml_stmt_uses_buffer(b->body, buf))
            return NULL;
        name = b->matches[k].target;
    }
    return name;
}

static bool combines(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *buf, ml_Combines by)
{
    Inner in = {cx, buf, by, 0, true};

    if (!by.fn)
        return false;
    if (!b->body->has_block) {
        const ml_Buffer *name = name_inside(b, buf);

        return name && by.fn(cx, b, name, by.user);
    }
    for (size_t k = 0; k < b->n_matches; k++)
        in.ok &= b->matches[k].source.buffer->data != buf->data;
    ml_stmt_visit(b->body, see_inner, &in);
    return in.ok;
}

/* ---- asking about one block */

/* Iters that take several values and are not told by an element; spatial: those alone. */
static bool all_told(const ml_Block *b, const bool *told, bool spatial)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (!told[k] && !ml_is_int(b->iters[k].extent, 1) &&
            (!spatial || b->iters[k].kind == ML_ITER_SPATIAL))
            return false;
    return true;
}

typedef struct Ask {
    ml_Ctx *cx;
    ml_Program p;
    const ml_Block *b;
    ml_Dom *dom; /* of its iters */
    bool *told;
    ml_Arith *ar; /* made when it is needed: most blocks say all by single indices */
    ml_Runs runs;
} Ask;

static Ask ask_of(ml_Ctx *cx, ml_Program p, const ml_Block *b)
{
    Ask q = {cx,
             p,
             b,
             ML_ARRAY(cx, ml_Dom, b->n_iters + 1u),
             ML_ARRAY(cx, bool, b->n_iters + 1u),
             NULL,
             ML_RUNS_EQUAL};

    for (size_t k = 0; k < b->n_iters; k++)
        q.dom[k] = (ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent};
    return q;
}

static ml_Arith *arith_of(Ask *q)
{
    if (!q->ar) {
        q->ar = ml_arith_at(q->cx, q->p, q->b->tag);
        ml_arith_bind_iters(q->ar, q->b);
    }
    return q->ar;
}

static void ask_told(Ask *q, const ml_Touch *x, const ml_Touch *y)
{
    memset(q->told, 0, q->b->n_iters * sizeof *q->told);
    if (tell_alone(x, y, q->dom, q->b->n_iters, q->told))
        tell_together(arith_of(q), x, y, q->dom, q->b->n_iters, q->told);
}

void ml_iters_told(ml_Ctx *cx, ml_Program p, const ml_Block *b, bool *told)
{
    Ask q = ask_of(cx, p, b);
    ml_TouchVec t = {0};

    ml_block_touches(cx, b, &t);
    for (size_t k = 0; k < b->n_iters; k++)
        told[k] = true;
    for (size_t k = 0; k < t.n; k++)
        for (size_t m = 0; m < t.n; m++) {
            if (!t.v[k].write || t.v[k].buf->data != t.v[m].buf->data)
                continue;
            memset(q.told, 0, b->n_iters * sizeof *q.told);
            if (t.v[k].buf == t.v[m].buf)
                ask_told(&q, &t.v[k], &t.v[m]);
            for (size_t j = 0; j < b->n_iters; j++)
                told[j] &= q.told[j] || ml_is_int(b->iters[j].extent, 1);
        }
}

/* ---- the value of an element */

typedef struct Value {
    ml_Arith *ar;
    const ml_Store *st;
    const ml_Dom *dom;
    const bool *told;
    size_t n;
    bool fixed;
} Value;

static bool is_open(const Value *v, const ml_Expr *e)
{
    for (size_t k = 0; k < v->n; k++)
        if (!v->told[k] && ml_expr_uses_var(e, v->dom[k].var))
            return true;
    return false;
}

/* e is the same for all instances that store into one element: it is an index of it, or as
 * far from one in all of them. */
static bool is_fixed(const ml_Expr *e, void *user)
{
    Value *v = user;
    ml_Ctx *cx = ml_arith_ctx(v->ar);

    if (!v->fixed || !is_open(v, e))
        return false;
    for (size_t m = 0; m < v->st->n && ml_dtype_is_index(e->type); m++) {
        const ml_Expr *a = e, *b = v->st->indices[m];

        if (a == b ||
            (b->type.lanes == 1 && !((a->flags | b->flags) & ML_X_HAS_LOAD) &&
             ml_promote(cx, &a, &b) && !is_open(v, ml_simplify(v->ar, ml_sub(cx, a, b)))))
            return false;
    }
    v->fixed &= e->n_args > 0;
    return v->fixed;
}

typedef struct Stores {
    Ask *q;
    const ml_Buffer *buf;
    const ml_Store *first;
    bool same; /* all of them store one value, which no other instance changes */
} Stores;

static bool depends(const Stores *f, const ml_Expr *e)
{
    const ml_Block *b = f->q->b;
    bool yes = e->flags & ML_X_EFFECT;

    for (size_t k = 0; !yes && k < b->n_writes; k++)
        yes = ml_expr_uses_buffer(e, b->writes[k].buffer);
    return yes;
}

static bool same_store(const Stores *f, const ml_Store *st)
{
    const ml_Store *first = f->first;
    bool same = st->buffer == first->buffer && st->value == first->value && !st->mask;

    /* Of one number for all elements, whichever these are. */
    bool one = !uses_any(st->value, f->q->dom, f->q->b->n_iters);

    for (size_t k = 0; same && k < st->n; k++)
        same = (one || st->indices[k] == first->indices[k]) && !depends(f, st->indices[k]);
    return same && !depends(f, st->value);
}

static bool see_same(const ml_Stmt *s, void *user)
{
    Stores *f = user;

    f->same &= s->kind == ML_STMT_STORE || s->kind == ML_STMT_SEQ ||
               s->kind == ML_STMT_IF || ml_is_noop(s);
    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->data == f->buf->data) {
        f->first = f->first ? f->first : ml_as_store(s);
        f->same = f->same && same_store(f, ml_as_store(s));
    }
    if (s->kind == ML_STMT_IF && f->same && ml_stmt_uses_buffer(s, f->buf))
        f->same = !depends(f, ml_as_if(s)->cond);
    return f->same;
}

/* All that its body stores into the buffer is such a value, under whatever conditions that
 * stay as they are. */
static bool value_is_fixed(Ask *q, const ml_Buffer *buf)
{
    Stores f = {q, buf, NULL, q->b->n_matches == 0};

    ml_stmt_visit(q->b->body, see_same, &f);
    if (!f.same || !f.first)
        return false;
    Value v = {arith_of(q), f.first, q->dom, q->told, q->b->n_iters, true};

    ml_expr_visit(v.st->value, is_fixed, &v);
    return v.fixed;
}

/* ---- the answer */

static bool free_by(Ask *q, const ml_TouchVec *t, ml_Combines by)
{
    const ml_Block *b = q->b;

    for (size_t k = 0; k < t->n; k++) {
        const ml_Touch *w = &t->v[k];
        bool same = true, read = false;

        if (!w->write)
            continue;
        for (size_t m = 0; m < t->n; m++)
            if (t->v[m].buf->data == w->buf->data) {
                same &= t->v[m].buf == w->buf &&
                        ml_same_ranges(t->v[m].at, w->at, w->buf->rank);
                read |= !t->v[m].write;
            }
        ask_told(q, w, w);
        /* An instance may run twice, for two values where what it reads has changed: the
         * later one stays. */
        if (q->runs != ML_RUNS_ANYHOW && same && all_told(b, q->told, false))
            continue;
        /* What comes first begins anew: only once for an element. */
        if (b->init && !(same && all_told(b, q->told, true)))
            return false;
        if (q->runs == ML_RUNS_EQUAL && !read && value_is_fixed(q, w->buf))
            continue;
        if (same && combines(q->cx, b, w->buf, by))
            continue;
        return false;
    }
    return true;
}

/* The signature says enough of most blocks; of others each access may. */
static bool is_free(ml_Ctx *cx, ml_Program p, const ml_Block *b, ml_Combines by,
                    ml_Runs runs)
{
    ml_TouchVec t = {0};
    Ask q = ask_of(cx, p, b);

    q.runs = runs;
    signed_touches(cx, b, &t);
    if (free_by(&q, &t, by))
        return true;
    ml_block_touches(cx, b, &t);
    return free_by(&q, &t, by);
}

bool ml_any_order(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *b, ml_Combines by,
                  ml_Runs runs)
{
    static const char TOLD[ML_RUNS_ANYHOW + 1]; /* addresses for the key */
    ml_FactKey key = {0};
    bool yes;

    if (runs != ML_RUNS_ANYHOW && ml_elements_tell(b, false))
        return true;
    ml_key_ask(cx, &key, ML_ASK_ORDER);
    for (size_t k = 0; k < b->n_iters; k++) { /* whatever drives them */
        ml_key_add(cx, &key, b->iters[k].var);
        ml_key_add(cx, &key, b->iters[k].min);
        ml_key_add(cx, &key, b->iters[k].extent);
        ml_key_add(cx, &key, b->iters[k].kind == ML_ITER_SPATIAL ? b->iters[k].var : NULL);
    }
    ml_key_add(cx, &key, b->body);
    ml_key_add(cx, &key, b->init);
    ml_key_add(cx, &key, b->reads);
    ml_key_add(cx, &key, b->writes);
    ml_key_add(cx, &key, &TOLD[runs]);
    if (ml_fact_get(f, &key, &yes) && yes)
        return true;
    ml_Mark mark = ml_mark(cx);

    yes = is_free(cx, p, b, by, runs);
    ml_release(cx, mark);
    if (yes) /* else a reducer may be registered yet */
        ml_fact_put(f, &key, true);
    return yes;
}
