/*
 * verify - whether a function is of a stage: well-formed, and what the stage promises, with
 * a span on every statement (lists and statements that do nothing excepted).
 * Source: lowering-and-codegen 1.1.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/verify/verify.h"

typedef struct Check {
    ml_Ctx *cx;
    const ml_Func *f;
    ml_Stage stage;
    ml_Map *params; /* uids of the parameters' buffers */
    bool failed;
    const ml_Stmt *at;
} Check;

static bool fail(Check *c, const ml_Stmt *s, const char *text)
{
    if (c->failed)
        return false;
    c->failed = true;
    ml_fail(c->cx, ML_E_LOWERING_FAILED, ML_TEXT("verify"),
            ML_TEXT(ml_format(c->cx, "function %s is not of stage %s: %s", c->f->name,
                              ml_stage_name(c->stage), text)),
            ML_STATEMENT(s));
    if (ml_span_of(s, NULL))
        ml_error_set_place(c->cx, ml_span_of(s, NULL));
    return false;
}

static bool flat(const ml_Buffer *b)
{
    return b->rank == 1 && b->n_strides == 0 && ml_is_int(b->elem_offset, 0);
}

static void check_access(Check *c, const ml_Buffer *b, size_t n)
{
    if (n != 1)
        fail(c, c->at,
             ml_format(c->cx, "%s accesses %s with %zu indices; flat buffers have one",
                       ml_lower_name(c->cx, c->at), b->name, n));
    else if (!flat(b))
        fail(c, c->at,
             ml_format(c->cx,
                       "%s accesses %s, which has strides or an element offset; they are "
                       "folded into the index of a flat alias",
                       ml_lower_name(c->cx, c->at), b->name));
}

static bool check_expr(const ml_Expr *e, void *user)
{
    Check *c = user;

    if (e->kind == ML_EXPR_LOAD)
        check_access(c, e->as.buffer, ml_load_rank(e));
    return !c->failed && (e->flags & ML_X_HAS_LOAD);
}

static void check_opaque(Check *c, const ml_Block *b)
{
    if (b->n_iters > 0)
        fail(c, &b->base,
             ml_format(c->cx,
                       "%s has iterators; make_opaque replaces them by their bindings",
                       ml_lower_name(c->cx, &b->base)));
    else if (b->init)
        fail(c, &b->base,
             ml_format(c->cx, "%s has an init; lower_init makes it a guarded statement",
                       ml_lower_name(c->cx, &b->base)));
}

static void check_loop(Check *c, const ml_For *f)
{
    if (f->kind == ML_FOR_THREAD)
        fail(c, &f->base,
             ml_format(c->cx, "%s is bound to %s; thread extents are attributes here",
                       ml_lower_name(c->cx, &f->base), f->thread.name));
    else if (!ml_is_int(f->min, 0) || (f->step && !ml_is_int(f->step, 1)))
        fail(c, &f->base,
             ml_format(
                 c->cx,
                 "%s does not run from 0 in steps of 1; canonicalize_loops makes it so",
                 ml_lower_name(c->cx, &f->base)));
    else if (c->stage >= ML_STAGE_VECTOR && f->kind == ML_FOR_VECTORIZED)
        fail(c, &f->base,
             ml_format(c->cx,
                       "%s is still vectorized; vectorize makes it vector operations",
                       ml_lower_name(c->cx, &f->base)));
}

static void check_flat(Check *c, const ml_Stmt *s)
{
    switch (s->kind) {
    case ML_STMT_BLOCK:
        fail(c, s,
             ml_format(c->cx,
                       "%s is a block; lower_opaque replaces blocks by what they mean",
                       ml_lower_name(c->cx, s)));
        return;
    case ML_STMT_FOR: check_loop(c, ml_as_for(s)); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        if (!flat(ml_as_alloc(s)->buffer))
            fail(c, s,
                 ml_format(c->cx,
                           "%s is not of a 1-D buffer with offset 0; flatten_buffers makes "
                           "it one",
                           ml_lower_name(c->cx, s)));
        return; /* its shape holds no accesses */
    case ML_STMT_STORE: check_access(c, ml_as_store(s)->buffer, ml_as_store(s)->n); break;
    }
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, check_expr, c);
}

static bool check(const ml_Stmt *s, void *user)
{
    Check *c = user;

    if (c->failed)
        return false;
    c->at = s;
    if (!s->span && s->kind != ML_STMT_SEQ && !ml_is_noop(s))
        return fail(
            c, s,
            ml_format(c->cx,
                      "%s has no place in the source; a pass gives what it makes the "
                      "place of the statement it came from, and a function is "
                      "lowered as it was read from its text",
                      ml_lower_name(c->cx, s)));
    if (c->stage == ML_STAGE_OPAQUE && s->kind == ML_STMT_BLOCK)
        check_opaque(c, ml_as_block(s));
    if (c->stage >= ML_STAGE_FLAT)
        check_flat(c, s);
    return !c->failed;
}

bool ml_lower_verify(ml_Ctx *cx, const ml_Func *f, ml_Stage stage)
{
    Check c = {.cx = cx, .f = f, .stage = stage, .at = f->body};
    const ml_Func *one[1] = {f};
    ml_Findings found = {0};

    for (uint32_t k = 0; stage == ML_STAGE_BODY && k < f->n_params; k++)
        if (f->params[k].buffer)
            return fail(&c, f->body,
                        ml_format(cx,
                                  "parameter %s is a buffer; make_body makes it a data "
                                  "pointer",
                                  f->params[k].buffer->name));
    if (!ml_verify_well_formed(cx, ml_module_new(cx, one, 1, NULL), &found))
        return false;
    ml_stmt_visit(f->body, check, &c);
    return !c.failed;
}
