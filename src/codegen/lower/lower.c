/*
 * lower - runs the passes of the target's pipeline in the order of passes.def.
 *
 * Every pass gives a new function and leaves its input as it was; an error ends the
 * lowering with the pass, the function, the statement and the rule. With debug_verify the
 * result of each pass is checked against its stage. Source: lowering-and-codegen 1.
 */
#include "moonloop/codegen/lower/lower.h"

#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/script/script.h"

#include <stdarg.h>

const ml_Pass ml_passes[] = {
#define ML_PASS(name, in, out, pipes, help)                                                \
    {#name, ML_STAGE_##in, ML_STAGE_##out, ML_PIPE_##pipes, ml_pass_##name, help},
#include "moonloop/codegen/lower/passes.def"
#undef ML_PASS
};
const size_t ml_n_passes = ML_COUNT(ml_passes);

const char *ml_stage_name(ml_Stage s)
{
    switch (s) {
    case ML_STAGE_SCHEDULABLE: return "schedulable";
    case ML_STAGE_OPAQUE: return "opaque";
    case ML_STAGE_FLAT: return "flat";
    case ML_STAGE_VECTOR: return "vector";
    case ML_STAGE_BODY: return "body";
    case ML_STAGES: break;
    }
    return "unknown";
}

const ml_Pass *ml_pass_find(const char *name)
{
    for (size_t k = 0; name && k < ml_n_passes; k++)
        if (ml_streq(ml_passes[k].name, name))
            return &ml_passes[k];
    return NULL;
}

bool ml_pass_runs(const ml_Pass *p, const ml_Target *t)
{
    return (p->pipelines & ml_target_kinds[t->kind].pipeline) != 0;
}

ml_LowerOpts ml_lower_defaults(const ml_Target *t)
{
    ml_LowerOpts o = {.partition_const_loop = true, .auto_max_depth = 8};

    o.target = *t;
    return o;
}

void ml_lower_note(ml_Lower *lo, const ml_Span *span, const char *fmt, ...)
{
    ml_LowerNote note = {span, NULL};
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    note.text = ml_strdup(lo->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    ml_push(lo->cx, &lo->notes, note);
}

const ml_Func *ml_lower_fail(ml_Lower *lo, const char *pass, const ml_Stmt *at,
                             const char *fmt, ...)
{
    ml_Text t = {0};
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    text = ml_strdup(lo->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    if (at)
        ml_fail(lo->cx, ML_E_LOWERING_FAILED, ML_TEXT(pass), ML_TEXT(text),
                ML_STATEMENT(at));
    else
        ml_fail(lo->cx, ML_E_LOWERING_FAILED, ML_TEXT(pass), ML_TEXT(text));
    if (at && ml_span_of(at, NULL))
        ml_error_set_place(lo->cx, ml_span_of(at, NULL));
    return NULL;
}

static const ml_Func *stopped(ml_Lower *lo, const ml_Func *f, const char *pass)
{
    ml_error_set_primitive(lo->cx, pass);
    ml_error_note(lo->cx, "while lowering function %s, in pass %s", f->name, pass);
    return NULL;
}

const ml_Func *ml_lower(ml_Lower *lo, const ml_Func *f, const char *stop_after,
                        ml_LowerHook *hook, void *user)
{
    const ml_Pass *last = stop_after ? ml_pass_find(stop_after) : NULL;
    const ml_Target *t = &lo->opts.target;
    const ml_Func *start = f;

    if (stop_after && !(last && ml_pass_runs(last, t)))
        return ml_lower_fail(lo, "lower", NULL, "there is no pass named %s", stop_after);
    if (!f->body->span && f->body->kind == ML_STMT_BLOCK) /* a root that the text implies */
        f = ml_func_with_body(
            lo->cx, f,
            ml_at(lo->cx, f->body, f->span ? f->span : ml_span_of(f->body, NULL)));
    if (!ml_lower_verify(lo->cx, f, ML_STAGE_SCHEDULABLE))
        return stopped(lo, f, "verify");
    for (const ml_Pass *p = ml_passes; p < ml_passes + ml_n_passes; p++) {
        if (!ml_pass_runs(p, t))
            continue;
        f = p->run(lo, f);
        if (!f || !ml_ok_or_fail(lo->cx))
            return stopped(lo, start, p->name);
        if (lo->opts.debug_verify && !ml_lower_verify(lo->cx, f, p->out))
            return stopped(lo, start, p->name);
        if ((hook && !hook(p, f, user)) || p == last)
            return f;
    }
    return f;
}

/* ---------------------------------------------------------------- shared by the passes */

typedef struct Find {
    const ml_Span *span;
} Find;

static bool find_span(const ml_Stmt *s, void *user)
{
    Find *f = user;

    if (!f->span)
        f->span = s->span;
    return !f->span;
}

const ml_Span *ml_span_of(const ml_Stmt *s, const ml_Span *otherwise)
{
    Find f = {NULL};

    if (s)
        ml_stmt_visit(s, find_span, &f);
    return f.span ? f.span : otherwise;
}

const ml_Stmt *ml_at(ml_Ctx *cx, const ml_Stmt *s, const ml_Span *span)
{
    if (s->kind == ML_STMT_SEQ) {
        const ml_Seq *q = ml_as_seq(s);
        const ml_Stmt **copy = ML_ARRAY(cx, const ml_Stmt *, q->n);
        bool changed = false;

        for (uint32_t k = 0; k < q->n; k++) {
            copy[k] = ml_at(cx, q->stmts[k], span);
            changed |= copy[k] != q->stmts[k];
        }
        return changed ? ml_seq_at(cx, copy, q->n, s->span ? s->span : span) : s;
    }
    return s->span || !span ? s : ml_stmt_at(cx, s, span);
}

const ml_Stmt *ml_then(ml_Ctx *cx, const ml_Stmt *a, const ml_Stmt *b)
{
    const ml_Stmt *both[2] = {a, b};

    return ml_seq_at(cx, both, 2, ml_span_of(a, ml_span_of(b, NULL)));
}

typedef struct Remake {
    ml_Ctx *cx;
    ml_Subst *s; /* NULL: only whether there is such a buffer */
    bool found;
} Remake;

static void remake(Remake *r, const ml_Buffer *b)
{
    const ml_Expr **shape, **strides;
    bool changed = false;
    ml_Buffer copy = *b;

    for (size_t k = 0; k < b->rank; k++)
        r->found |= !(b->shape[k]->flags & ML_X_VAR_FREE);
    for (size_t k = 0; k < b->n_strides; k++)
        r->found |= !(b->strides[k]->flags & ML_X_VAR_FREE);
    r->found |= !(b->elem_offset->flags & ML_X_VAR_FREE);
    if (!r->s)
        return;
    shape = ML_ARRAY(r->cx, const ml_Expr *, b->rank + 1u);
    strides = ML_ARRAY(r->cx, const ml_Expr *, b->n_strides + 1u);
    for (size_t k = 0; k < b->rank; k++) {
        shape[k] = ml_expr_subst(r->cx, b->shape[k], r->s);
        changed |= shape[k] != b->shape[k];
    }
    for (size_t k = 0; k < b->n_strides; k++) {
        strides[k] = ml_expr_subst(r->cx, b->strides[k], r->s);
        changed |= strides[k] != b->strides[k];
    }
    copy.elem_offset = ml_expr_subst(r->cx, b->elem_offset, r->s);
    if (!changed && copy.elem_offset == b->elem_offset)
        return;
    copy.shape = shape;
    copy.strides = strides;
    ml_subst_buffer(r->cx, r->s, b, ml_buffer_from(r->cx, &copy, false));
}

static bool remake_defined(const ml_Stmt *s, void *user)
{
    if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
        remake(user, ml_as_alloc(s)->buffer);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        for (uint32_t k = 0; k < b->n_allocs; k++)
            remake(user, b->allocs[k]);
        for (uint32_t k = 0; k < b->n_matches; k++)
            remake(user, b->matches[k].target);
    }
    return true;
}

bool ml_dynamic_buffers(const ml_Stmt *body)
{
    Remake r = {0};

    ml_stmt_visit(body, remake_defined, &r);
    return r.found;
}

const ml_Stmt *ml_lower_subst(ml_Ctx *cx, const ml_Stmt *st, ml_Subst *s, bool dynamic)
{
    Remake r = {.cx = cx, .s = s};

    if (dynamic)
        ml_stmt_visit(st, remake_defined, &r);
    return ml_stmt_subst(cx, st, s);
}

bool ml_gave_up(ml_Ctx *cx, ml_Arith *ar)
{
    if (!ml_ctx_overflowed(cx) && !ml_ctx_too_deep(cx))
        return false;
    ml_ctx_clear_marks(cx);
    if (ar)
        ml_arith_forget(ar);
    return true;
}

/* Threads of a kernel: their variables hold in all that the attribute is around. */
static bool bind_thread(const ml_Stmt *s, void *user)
{
    const ml_Attr *a = s->kind == ML_STMT_ATTR ? ml_as_attr(s) : NULL;
    const ml_Var *v = a ? ml_attr_defines(a) : NULL;
    const ml_Expr *extent = v ? ml_attr_extent(ml_arith_ctx(user), a) : NULL;

    if (extent)
        ml_arith_bind_range(user, v, ml_int(ml_arith_ctx(user), v->type, 0), extent);
    return true;
}

const ml_Expr *ml_attr_extent(ml_Ctx *cx, const ml_Attr *a)
{
    const ml_Value *v = a->value;

    return v && v->kind == ML_VAL_INT    ? ml_int(cx, ml_attr_defines(a)->type, v->as.i)
           : v && v->kind == ML_VAL_EXPR ? v->as.expr
                                         : NULL;
}

ml_Arith *ml_lower_arith(ml_Lower *lo, const ml_Func *f)
{
    ml_Arith *ar = ml_arith_new(lo->cx);

    ml_arith_bind_params(ar, f);
    ml_stmt_visit(f->body, bind_thread, ar);
    return ar;
}

const char *ml_lower_text(ml_Ctx *cx, const ml_Expr *e)
{
    ml_Text t = {0};
    const char *text;

    ml_print_expr(cx, &t, e, NULL);
    text = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return text;
}

const char *ml_lower_name(ml_Ctx *cx, const ml_Stmt *s)
{
    const char *name;

    switch (s->kind) {
    case ML_STMT_STORE:
        return ml_format(cx, "the store to %s", ml_as_store(s)->buffer->name);
    case ML_STMT_SEQ: return "the sequence";
    case ML_STMT_FOR: return ml_format(cx, "loop %s", ml_as_for(s)->var->hint);
    case ML_STMT_WHILE: return "the while loop";
    case ML_STMT_BIND: return ml_format(cx, "the binding of %s", ml_as_bind(s)->var->hint);
    case ML_STMT_ALLOC:
        return ml_format(cx, "the allocation of %s", ml_as_alloc(s)->buffer->name);
    case ML_STMT_DECL:
        return ml_format(cx, "the declaration of %s", ml_as_alloc(s)->buffer->name);
    case ML_STMT_ATTR: return ml_format(cx, "the attribute %s", ml_as_attr(s)->key);
    case ML_STMT_BLOCK:
        name = ml_as_block(s)->name;
        return ml_format(cx, "block %s", name && *name ? name : "(unnamed)");
    }
    return ml_format(cx, "the %s", ml_stmt_word((ml_StmtKind)s->kind));
}
