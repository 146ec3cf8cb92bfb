/*
 * canonicalize_loops - every loop runs from 0 in steps of 1: `for v in [m, m+e) step s`
 * becomes `for v in [0, ceildiv(e, s))` with v*s + m for v in its body. The loop keeps its
 * variable, kind and annotations. Source: lowering-and-codegen 2.1.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "canonicalize_loops";

typedef struct Canonicalizer {
    ml_Lower *lo;
    ml_Arith *ar;
    bool failed, dynamic;
} Canonicalizer;

/* The number of iterations; 0 or less for an empty range. */
static const ml_Expr *trip_count(Canonicalizer *w, const ml_Expr *e, const ml_Expr *s)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *one = ml_int(cx, e->type, 1);

    if (ml_is_int(s, 1))
        return e;
    if (e->type.code == ML_UINT) /* 0 - 1 would wrap */
        return ml_add(cx, ml_floordiv(cx, ml_sub(cx, ml_max(cx, e, one), one), s),
                      ml_min(cx, e, one));
    return ml_add(cx, ml_floordiv(cx, ml_sub(cx, e, one), s), one);
}

static const ml_Stmt *canonicalize_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {.stmt = canonicalize_stmt, .user = user};
    Canonicalizer *w = user;
    const ml_For *loop;
    const ml_Expr *step, *v;
    ml_ArithMark mark;
    ml_Subst s = {0};
    const ml_Stmt *body;
    ml_For f;

    if (w->failed || !st->has_loop)
        return st;
    if (st->kind != ML_STMT_FOR)
        return ml_stmt_map(cx, st, &m);
    loop = ml_as_for(st);
    step = loop->step ? loop->step : ml_int(cx, loop->var->type, 1);
    if (!ml_is_const_int(step) || step->as.i < 1) {
        bool ok = ml_dtype_is_index(step->type) && ml_prove_ge(w->ar, step, 1);

        (void)ml_gave_up(cx, w->ar);
        if (!ok) {
            ml_lower_fail(w->lo, PASS, st,
                          "loop step may not be positive: loop %s steps by %s; give a step "
                          "that is known to be at least 1",
                          loop->var->hint, ml_lower_text(cx, step));
            w->failed = true;
            return st;
        }
    }
    mark = ml_arith_save(w->ar);
    if (ml_is_int(step, 1) || ml_is_const_int(loop->extent))
        ml_arith_bind_range(w->ar, loop->var, loop->min, loop->extent);
    body = canonicalize_stmt(cx, loop->body, w);
    ml_arith_restore(w->ar, mark);
    if (ml_is_int(loop->min, 0) && ml_is_int(step, 1)) {
        if (body == loop->body && !loop->step)
            return st;
        f = *loop;
        f.step = NULL;
        f.body = body;
        return ml_for_from(cx, &f);
    }
    v = ml_add(cx, ml_mul(cx, ml_var(cx, loop->var), step), loop->min);
    ml_subst_var(cx, &s, loop->var, v);
    if (loop->thread_var && ml_dtype_eq(loop->thread_var->type, v->type))
        ml_subst_var(cx, &s, loop->thread_var, v);
    f = *loop;
    f.min = ml_int(cx, loop->var->type, 0);
    f.extent = trip_count(w, loop->extent, step);
    f.step = NULL;
    f.body = ml_lower_subst(cx, body, &s, w->dynamic);
    return ml_for_from(cx, &f);
}

const ml_Func *ml_pass_canonicalize_loops(ml_Lower *lo, const ml_Func *f)
{
    Canonicalizer w = {
        .lo = lo, .ar = ml_lower_arith(lo, f), .dynamic = ml_dynamic_buffers(f->body)};
    const ml_Stmt *body = canonicalize_stmt(lo->cx, f->body, &w);

    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
