/*
 * flops - how many arithmetic operations a function performs, as a double: what its loops
 * are told to do (counts.h). Where that is no number, or a bound, an estimate: per dtype, so
 * that the dearer arm of a condition counts for each.
 *
 * Index arithmetic is none of the computation, wherever it stands: the condition of a
 * padding costs the same in a stage of its own and inlined, where its iterators became sums
 * of loop variables. Source: ir-and-analysis 6.3, workloads 1.
 */
#include "moonloop/verify/count/counts.h"

typedef struct Count {
    ml_Dtype type;
    double n;
} Count;

typedef ML_VEC(Count) Counts;

typedef struct FlopsWalk {
    ml_Ctx *cx;
    ml_Arith *ar;
    ml_Map *lets; /* variables whose value is made of elements */
    const ml_WorkKind *only;
} FlopsWalk;

typedef struct Find {
    const ml_Map *lets;
    bool found;
} Find;

static bool find_let(const ml_Expr *e, void *user)
{
    Find *f = user;

    f->found |= e->kind == ML_EXPR_VAR && ml_map_has(f->lets, e->as.var->uid);
    return !f->found;
}

bool ml_of_elements(const ml_Expr *e, const ml_Map *lets)
{
    Find f = {lets, false};

    if (e->flags & (ML_X_HAS_LOAD | ML_X_READ_OP | ML_X_EFFECT | ML_X_OPAQUE))
        return true;
    if (ml_map_count(lets) > 0 && !(e->flags & ML_X_VAR_FREE))
        ml_expr_visit(e, find_let, &f);
    return f.found;
}

bool ml_is_work(const ml_Expr *e, const ml_Map *lets, const ml_WorkKind *only)
{
    if (only)
        return only->is(e, only->user);
    return ml_kind_computes(e->kind) &&
           (ml_dtype_is_float(e->type) || ml_of_elements(e, lets));
}

static void add(FlopsWalk *w, Counts *to, ml_Dtype t, double n)
{
    for (size_t k = 0; k < to->n; k++)
        if (ml_dtype_eq(to->v[k].type, t)) {
            to->v[k].n += n;
            return;
        }
    ml_push(w->cx, to, ((Count){t, n}));
}

static void add_all(FlopsWalk *w, Counts *to, const Counts *from, double times)
{
    for (size_t k = 0; k < from->n; k++)
        add(w, to, from->v[k].type, from->v[k].n * times);
}

/* The larger of both, per dtype. */
static void add_max(FlopsWalk *w, Counts *to, const Counts *a, const Counts *b)
{
    Counts most = {0};

    add_all(w, &most, a, 1);
    for (size_t k = 0; k < b->n; k++) {
        double have = 0;

        for (size_t m = 0; m < a->n; m++)
            if (ml_dtype_eq(a->v[m].type, b->v[k].type))
                have = a->v[m].n;
        if (b->v[k].n > have)
            add(w, &most, b->v[k].type, b->v[k].n - have);
    }
    add_all(w, to, &most, 1);
}

static void count_expr(FlopsWalk *w, const ml_Expr *e, Counts *to);

static void count_arms(FlopsWalk *w, const ml_Expr *e, Counts *to)
{
    Counts yes = {0}, no = {0};

    count_expr(w, e->args[0], to);
    count_expr(w, e->args[1], &yes);
    count_expr(w, e->args[2], &no);
    add_max(w, to, &yes, &no);
}

static void count_expr(FlopsWalk *w, const ml_Expr *e, Counts *to)
{
    if (e->kind == ML_EXPR_LOAD)
        return;
    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE)) {
        count_arms(w, e, to);
        return;
    }
    if (ml_is_work(e, w->lets, w->only))
        add(w, to, e->type, 1);
    if (e->kind == ML_EXPR_LET && ml_of_elements(e->args[0], w->lets))
        ml_map_set(w->cx, w->lets, e->as.var->uid, e);
    for (size_t k = 0; k < e->n_args; k++)
        count_expr(w, e->args[k], to);
}

/* Upper constant bound of the trips; 1 where there is none. */
static double trips(FlopsWalk *w, const ml_For *f)
{
    ml_Bound b = ml_arith_bound(w->ar, ml_simplify(w->ar, f->extent));

    if (b.hi >= ml_dtype_max(f->extent->type))
        return 1;
    return b.hi > 0 ? (double)b.hi : 0;
}

static void count_stmt(FlopsWalk *w, const ml_Stmt *s, Counts *to)
{
    Counts inner = {0}, other = {0};
    ml_ArithMark mark;

    switch (s->kind) {
    case ML_STMT_STORE: count_expr(w, ml_as_store(s)->value, to); break;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            count_stmt(w, ml_as_seq(s)->stmts[k], to);
        break;
    case ML_STMT_FOR:
        mark = ml_arith_save(w->ar);
        ml_arith_bind_loop(w->ar, ml_as_for(s));
        count_stmt(w, ml_as_for(s)->body, &inner);
        ml_arith_restore(w->ar, mark);
        add_all(w, to, &inner, trips(w, ml_as_for(s)));
        break;
    case ML_STMT_WHILE:
        count_expr(w, ml_as_while(s)->cond, to);
        count_stmt(w, ml_as_while(s)->body, to);
        break;
    case ML_STMT_IF:
        count_expr(w, ml_as_if(s)->cond, to);
        count_stmt(w, ml_as_if(s)->then, &inner);
        if (ml_as_if(s)->other)
            count_stmt(w, ml_as_if(s)->other, &other);
        add_max(w, to, &inner, &other);
        break;
    case ML_STMT_BIND:
        count_expr(w, ml_as_bind(s)->value, to);
        if (ml_of_elements(ml_as_bind(s)->value, w->lets))
            ml_map_set(w->cx, w->lets, ml_as_bind(s)->var->uid, s);
        break;
    case ML_STMT_ATTR: count_stmt(w, ml_as_attr(s)->body, to); break;
    case ML_STMT_BLOCK:
        mark = ml_arith_save(w->ar);
        ml_arith_bind_iters(w->ar, ml_as_block(s));
        count_stmt(w, ml_as_block(s)->body, to);
        ml_arith_restore(w->ar, mark);
        break;
    case ML_STMT_RETURN:
        if (ml_as_return(s)->value)
            count_expr(w, ml_as_return(s)->value, to);
        break;
    }
}

static double estimate(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *st,
                       const ml_WorkKind *only)
{
    ml_Mark mark = ml_mark(cx);
    FlopsWalk w = {cx, ml_arith_new(cx), ml_map_new(cx), only};
    Counts sum = {0};
    double total = 0;

    ml_arith_bind_params(w.ar, f);
    count_stmt(&w, st, &sum);
    for (size_t k = 0; k < sum.n; k++)
        total += sum.v[k].n;
    ml_release(cx, mark);
    return total;
}

double ml_flops_stmt(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *st)
{
    return estimate(cx, f, st, NULL);
}

double ml_flops(ml_Ctx *cx, const ml_Func *f)
{
    return ml_flops_of(cx, f, NULL);
}

double ml_flops_of(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only)
{
    const ml_Value *given = only ? NULL : ml_dict_get(f->attrs, "estimated_flops");

    if (given && given->kind == ML_VAL_INT)
        return (double)given->as.i;
    if (given && given->kind == ML_VAL_FLOAT)
        return given->as.f;
    double guess = estimate(cx, f, f->body, only);
    ml_Mark mark = ml_mark(cx);
    ml_Number n = ml_counts_flops(cx, f, only);
    bool counted = n.how != ML_UNKNOWN && !n.expr;
    double most = (double)n.n;

    ml_release(cx, mark);
    if (!counted)
        return guess;
    return n.how == ML_EXACT || most < guess ? most : guess;
}

static bool see_open(const ml_Stmt *st, void *user)
{
    bool *open = user;

    *open |= st->kind == ML_STMT_WHILE ||
             (st->kind == ML_STMT_FOR && !ml_is_const_int(ml_as_for(st)->extent));
    return !*open;
}

bool ml_flops_symbolic(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only,
                       const ml_Expr **out)
{
    bool open = false;

    *out = NULL;
    if (only == NULL && ml_dict_get(f->attrs, "estimated_flops"))
        return false;
    ml_Number n = ml_counts_flops(cx, f, only);

    if (n.how != ML_UNKNOWN) {
        *out = n.expr;
        return n.expr != NULL;
    }
    ml_stmt_visit(f->body, see_open, &open);
    return open;
}
