/*
 * unroll - loops of kind `unrolled` become a statement per iteration, and small serial
 * loops where an attribute or option asks for it (pragma_auto_unroll_max_step,
 * pragma_unroll_explicit). Every copy has variables of its own.
 *
 * A loop stays one, with a note, where its extent is not constant and where the copies
 * would be more than 65,536 statements: a slip at the prompt cannot hang it.
 * Source: lowering-and-codegen 3.6.
 */
#include "moonloop/codegen/lower/lower_impl.h"

enum { MOST_STATEMENTS = 65536 };

typedef struct Count {        /* of a statement, after unrolling */
    int64_t steps;            /* stores and calls */
    int64_t statements;       /* leaves */
    int64_t unrolled, normal; /* depth of loops that were unrolled, that remain */
} Count;

typedef struct Unroller {
    ml_Lower *lo;
    int64_t max_step, max_depth, max_extent;
    bool explicit_copies;
    Count c; /* of the statement just visited */
} Unroller;

static const ml_Stmt *unroll_stmt(Unroller *w, const ml_Stmt *s);

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static const ml_Stmt *visit_list(Unroller *w, const ml_Seq *q)
{
    const ml_Stmt **to = ML_ARRAY(w->lo->cx, const ml_Stmt *, q->n);
    Count sum = {0};
    bool changed = false;

    for (uint32_t k = 0; k < q->n; k++) {
        to[k] = unroll_stmt(w, q->stmts[k]);
        changed |= to[k] != q->stmts[k];
        sum.steps += w->c.steps;
        sum.statements += w->c.statements;
        sum.unrolled = larger(sum.unrolled, w->c.unrolled);
        sum.normal = larger(sum.normal, w->c.normal);
    }
    w->c = sum;
    return changed ? ml_seq_at(w->lo->cx, to, q->n, q->base.span) : &q->base;
}

/* One statement per iteration. */
static const ml_Stmt *copies(Unroller *w, const ml_For *f, const ml_Stmt *body, int64_t n)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Stmt **to = ML_ARRAY(cx, const ml_Stmt *, (size_t)n + 1);
    bool dynamic = ml_dynamic_buffers(body);

    for (int64_t k = 0; k < n; k++) {
        const ml_Stmt *own = k == 0 ? body : ml_stmt_copy_fresh(cx, body, NULL);
        ml_Subst s = {0};

        ml_subst_var(cx, &s, f->var, ml_add(cx, f->min, ml_int(cx, f->var->type, k)));
        to[k] = ml_lower_subst(cx, own, &s, dynamic);
    }
    return ml_seq_at(cx, to, (size_t)n, f->base.span);
}

/* Whether a serial loop of n iterations is unrolled without being asked for. */
static bool automatic(const Unroller *w, const ml_For *f, int64_t n)
{
    return f->kind == ML_FOR_SERIAL && n >= 0 && w->c.normal == 0 &&
           !ml_dict_get(f->annotations, ML_IRREGULAR_LOOP) &&
           w->c.unrolled + 1 <= w->max_depth &&
           ((w->max_step > 0 && w->c.steps * n <= w->max_step) ||
            (w->max_extent > 0 && n <= w->max_extent));
}

/* The loop, which should have been unrolled, as a serial one. */
static const ml_Stmt *stays(Unroller *w, const ml_For *f, const char *why)
{
    ml_For to = *f;

    ml_lower_note(w->lo, f->base.span, "not unrolled: loop %s %s", f->var->hint, why);
    to.kind = ML_FOR_SERIAL;
    w->c.normal = larger(w->c.normal, w->c.unrolled) + 1;
    w->c.unrolled = 0;
    return ml_for_from(w->lo->cx, &to);
}

static const ml_Stmt *visit_for(Unroller *w, const ml_For *f)
{
    const ml_Stmt *body = unroll_stmt(w, f->body);
    bool constant = ml_is_const_int(f->extent), asked = f->kind == ML_FOR_UNROLLED;
    int64_t n = constant ? f->extent->as.i : -1;
    ml_For to = *f;

    to.body = body;
    if (asked && !constant)
        return stays(w, &to,
                     ml_format(w->lo->cx, "has the extent %s, which is not constant",
                               ml_lower_text(w->lo->cx, f->extent)));
    if (!asked && !(constant && automatic(w, f, n))) {
        w->c.normal = larger(w->c.normal, w->c.unrolled) + 1;
        w->c.unrolled = 0;
        return body == f->body ? &f->base : ml_for_from(w->lo->cx, &to);
    }
    if (!asked && !w->explicit_copies) {
        to.kind = ML_FOR_UNROLLED; /* what makes code of it does the rest */
        w->c.normal++;
        return ml_for_from(w->lo->cx, &to);
    }
    if (n <= 0) {
        w->c = (Count){0};
        return ml_stmt_at(w->lo->cx, ml_evaluate(w->lo->cx, ml_i32(w->lo->cx, 0)),
                          f->base.span);
    }
    if (w->c.statements > MOST_STATEMENTS / n)
        return stays(w, &to,
                     ml_format(w->lo->cx,
                               "would give %lld copies of %lld statements, more than %d "
                               "statements in all",
                               (long long)n, (long long)w->c.statements, MOST_STATEMENTS));
    w->c.steps *= n;
    w->c.statements *= n;
    w->c.unrolled++;
    return copies(w, f, body, n);
}

static bool int_of(const ml_Value *v, int64_t *out)
{
    if (v->kind == ML_VAL_EXPR && ml_is_const_int(v->as.expr))
        *out = v->as.expr->as.i;
    else if (v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL)
        *out = v->as.i;
    else
        return false;
    return true;
}

/* The two pragmas hold for what is below them and go. */
static const ml_Stmt *visit_attr(Unroller *w, const ml_Attr *a)
{
    int64_t step = w->max_step, v;
    bool copies_were = w->explicit_copies;
    ml_Attr to = *a;
    bool ours = true;

    if (ml_streq(a->key, "pragma_auto_unroll_max_step") && int_of(a->value, &v))
        w->max_step = v;
    else if (ml_streq(a->key, "pragma_unroll_explicit") && int_of(a->value, &v))
        w->explicit_copies = v != 0;
    else
        ours = false;
    to.body = unroll_stmt(w, a->body);
    w->max_step = step;
    w->explicit_copies = copies_were;
    if (ours)
        return to.body;
    return to.body == a->body ? &a->base : ml_attr_from(w->lo->cx, &to);
}

static const ml_Stmt *visit_if(Unroller *w, const ml_If *i)
{
    ml_If to = *i;
    Count then;

    to.then = unroll_stmt(w, i->then);
    then = w->c;
    w->c = (Count){0};
    to.other = i->other ? unroll_stmt(w, i->other) : NULL;
    w->c.steps += then.steps;
    w->c.statements += then.statements + 1;
    w->c.unrolled = larger(w->c.unrolled, then.unrolled);
    w->c.normal = larger(w->c.normal, then.normal);
    return to.then == i->then && to.other == i->other ? &i->base
                                                      : ml_stmt_from(w->lo->cx, &to.base);
}

static const ml_Stmt *visit_while(Unroller *w, const ml_While *old)
{
    ml_While to = *old;

    to.body = unroll_stmt(w, old->body);
    w->c.normal = larger(w->c.normal, w->c.unrolled) + 1;
    w->c.unrolled = 0;
    return to.body == old->body ? &old->base : ml_stmt_from(w->lo->cx, &to.base);
}

static const ml_Stmt *unroll_stmt(Unroller *w, const ml_Stmt *s)
{
    switch (s->kind) {
    case ML_STMT_SEQ: return visit_list(w, ml_as_seq(s));
    case ML_STMT_FOR: return visit_for(w, ml_as_for(s));
    case ML_STMT_IF: return visit_if(w, ml_as_if(s));
    case ML_STMT_ATTR: return visit_attr(w, ml_as_attr(s));
    case ML_STMT_WHILE: return visit_while(w, ml_as_while(s));
    case ML_STMT_STORE:
    case ML_STMT_EVALUATE: w->c = (Count){.steps = 1, .statements = 1}; return s;
    }
    w->c = (Count){.statements = 1};
    return s;
}

const ml_Func *ml_pass_unroll(ml_Lower *lo, const ml_Func *f)
{
    Unroller w = {.lo = lo,
                  .max_step = lo->opts.auto_max_step,
                  .max_depth = lo->opts.auto_max_depth,
                  .max_extent = lo->opts.auto_max_extent,
                  .explicit_copies = true};
    const ml_Stmt *body = unroll_stmt(&w, f->body);

    return ml_func_with_body(lo->cx, f, body);
}
