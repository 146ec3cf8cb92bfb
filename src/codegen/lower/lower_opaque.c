/*
 * lower_opaque - blocks become what they mean: allocations in front, the predicate as an
 * `if` whose parts are marked likely, the body. Loops of extent 1 without annotations
 * disappear, annotations pragma_* become attributes around. Thread-bound loops become
 * attributes thread_extent where the target has threads. Source: lowering-and-codegen 2.15.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "lower_opaque";

typedef struct OpaqueWalk {
    ml_Lower *lo;
    bool failed, dynamic, gpu;
} OpaqueWalk;

static const ml_Stmt *refuse(OpaqueWalk *w, const ml_Stmt *s, const char *text)
{
    ml_lower_fail(w->lo, PASS, s, "%s", text);
    w->failed = true;
    return s;
}

/* ---------------------------------------------------------------- annotations */

static bool has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool plain(const ml_Value *v)
{
    return v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT || v->kind == ML_VAL_FLOAT ||
           v->kind == ML_VAL_STRING ||
           (v->kind == ML_VAL_EXPR && v->as.expr->type.lanes == 1);
}

/* s under an attribute for each pragma_* of the dict, the first name outermost. */
static const ml_Stmt *pragmas(ml_Ctx *cx, OpaqueWalk *w, const ml_Value *dict,
                              const ml_Stmt *of, const ml_Stmt *s)
{
    for (size_t k = ml_dict_count(dict); k-- > 0;) {
        const char *key = dict->keys[k];
        ml_Attr a = {.key = key, .value = dict->as.list[k], .body = s};

        if (!has_prefix(key, "pragma_"))
            continue;
        if (!plain(a.value))
            return refuse(w, of,
                          ml_format(cx,
                                    "the annotation %s of %s is neither number nor string",
                                    key, ml_lower_name(cx, of)));
        a.node = ml_val_int(cx, 0);
        a.base.span = of->span;
        s = ml_attr_from(cx, &a);
    }
    return s;
}

/* What stays on the loop. */
static const ml_Value *rest(ml_Ctx *cx, const ml_For *f)
{
    const ml_Value *left = f->annotations;

    for (size_t k = 0; k < ml_dict_count(f->annotations); k++)
        if (has_prefix(f->annotations->keys[k], "pragma_"))
            left = ml_dict_without(cx, left, f->annotations->keys[k]);
    return ml_dict_count(left) ? left : NULL;
}

/* ---------------------------------------------------------------- statements */

/* Every part of a conjunction marked likely: loop_partition looks for these. */
static const ml_Expr *likely(ml_Ctx *cx, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_AND)
        return ml_and(cx, likely(cx, e->args[0]), likely(cx, e->args[1]));
    return ml_is_op(e, ML_OP_LIKELY) ? e : ml_likely(cx, e);
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *visit_block(ml_Ctx *cx, OpaqueWalk *w, const ml_Block *b)
{
    ML_VEC(const ml_Stmt *) list = {0};
    const ml_Stmt *body = lower_stmt(cx, b->body, w);

    if (b->n_matches > 0)
        return refuse(w, &b->base,
                      ml_format(cx,
                                "block %s still has a match_buffer; lower_match_buffer "
                                "comes before",
                                b->name));
    if (b->n_iters > 0 || b->init)
        return refuse(w, &b->base,
                      ml_format(cx,
                                "block %s still has iterators or an init; make_opaque "
                                "comes before",
                                b->name));
    body = pragmas(cx, w, b->annotations, &b->base, body);
    if (!ml_is_true(b->predicate))
        body = ml_stmt_at(cx, ml_if(cx, likely(cx, b->predicate), body, NULL),
                          ml_span_of(&b->base, NULL));
    for (uint32_t k = 0; k < b->n_allocs; k++) {
        const ml_Span *span = b->allocs[k]->span;

        ml_push(cx, &list,
                ml_stmt_at(cx, ml_alloc_stmt(cx, b->allocs[k], NULL),
                           span ? span : ml_span_of(&b->base, NULL)));
    }
    ml_push(cx, &list, body);
    return ml_seq_at(cx, list.v, list.n, b->base.span);
}

static const ml_Stmt *launch(ml_Ctx *cx, OpaqueWalk *w, const ml_For *f)
{
    ml_Attr a = {.node = ml_val_var(cx, f->var),
                 .key = ml_thread_key(f->thread),
                 .value = ml_val_expr(cx, f->extent),
                 .body = lower_stmt(cx, f->body, w),
                 .thread = f->thread};

    a.base.span = f->base.span;
    return w->failed ? &f->base
                     : pragmas(cx, w, f->annotations, &f->base, ml_attr_from(cx, &a));
}

static const ml_Stmt *visit_for(ml_Ctx *cx, OpaqueWalk *w, const ml_For *old)
{
    ml_Subst one = {0};
    ml_For f = *old;

    if (old->kind == ML_FOR_THREAD && w->gpu)
        return launch(cx, w, old);
    if (old->kind == ML_FOR_THREAD)
        return refuse(w, &old->base,
                      ml_format(cx,
                                "thread-bound loop %s (%s): this program is for a GPU; "
                                "unbind the loop or run it without bind",
                                old->var->hint, old->thread.name));
    f.body = lower_stmt(cx, old->body, w);
    if (w->failed)
        return &old->base;
    f.annotations = rest(cx, old);
    if (ml_is_int(old->extent, 1) && ml_dict_count(old->annotations) == 0) {
        ml_subst_var(cx, &one, old->var, old->min);
        return ml_lower_subst(cx, f.body, &one, w->dynamic);
    }
    return pragmas(cx, w, old->annotations, &old->base,
                   f.body == old->body && f.annotations == old->annotations
                       ? &old->base
                       : ml_for_from(cx, &f));
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = lower_stmt, .user = user};
    OpaqueWalk *w = user;

    if (w->failed)
        return s;
    if (s->kind == ML_STMT_BLOCK)
        return visit_block(cx, w, ml_as_block(s));
    if (s->kind == ML_STMT_FOR)
        return visit_for(cx, w, ml_as_for(s));
    if (s->kind == ML_STMT_ATTR && ml_attr_defines(ml_as_attr(s)) && !w->gpu)
        return refuse(w, s,
                      ml_format(cx, "thread-bound loop %s: this program is for a GPU",
                                ml_attr_defines(ml_as_attr(s))->hint));
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_lower_opaque(ml_Lower *lo, const ml_Func *f)
{
    OpaqueWalk w = {.lo = lo, .dynamic = ml_dynamic_buffers(f->body)};

    w.gpu = ml_target_kinds[lo->opts.target.kind].pipeline == ML_PIPE_GPU;
    const ml_Stmt *body = lower_stmt(lo->cx, f->body, &w);

    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
