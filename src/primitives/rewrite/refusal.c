/*
 * refusal - errors of several primitives that have more than one cause: each says which one it
 * is, and what part each of two loops or blocks has in it. Source: primitives 3.
 */
#include "moonloop/primitives/prim.h"

static ml_Fact fact_of(const ml_Stmt *st)
{
    return st->kind == ML_STMT_FOR ? ML_LOOP(st) : ML_BLOCK(st);
}

static ml_Fact word_of(const ml_Stmt *st)
{
    return ML_TEXT(st->kind == ML_STMT_FOR ? "loop" : "block");
}

bool ml_fail_apart(ml_Call *c, ml_Uid a, ml_Uid b)
{
    const ml_Index *ix = c->p.index;
    const ml_Stmt *sa = ml_index_node(ix, a), *sb = ml_index_node(ix, b);
    ml_Uid one = ml_index_scope(ix, a), other = ml_index_scope(ix, b);
    const char *says;

    if (ml_index_func(ix, a) != ml_index_func(ix, b))
        return ml_fail_as(c->cx, ML_E_NOT_SAME_SCOPE,
                          "{2} {0} is in function {4}, {3} {1} in function {5}",
                          fact_of(sa), fact_of(sb), word_of(sa), word_of(sb),
                          ML_TEXT(c->p.mod->funcs[ml_index_func(ix, a)]->name),
                          ML_TEXT(c->p.mod->funcs[ml_index_func(ix, b)]->name));
    if (ml_index_is_above(ix, a, b))
        says = "{2} {0} is above {3} {1} already";
    else if (ml_index_is_above(ix, b, a))
        says = "{3} {1} is above {2} {0} already";
    else if (one != other)
        return ml_fail_as(
            c->cx, ML_E_NOT_SAME_SCOPE,
            "{2} {0} is in the scope of block {4}, {3} {1} in that of block {5}",
            fact_of(sa), fact_of(sb), word_of(sa), word_of(sb), ML_BLOCK_UID(one),
            ML_BLOCK_UID(other));
    else
        says = "{2} {0} and {3} {1} do not stand beside each other";
    return ml_fail_as_(c->cx, ML_E_NOT_SAME_SCOPE, says, fact_of(sa), fact_of(sb),
                       word_of(sa), word_of(sb), ML_FACT_END);
}

bool ml_fail_crossing(ml_Call *c, const ml_Stmt *cross, const ml_Stmt *inner,
                      const ml_Stmt *outer)
{
    const char *what = cross->kind == ML_STMT_IF      ? "if"
                       : cross->kind == ML_STMT_WHILE ? "while"
                       : cross->kind == ML_STMT_ATTR  ? "attr"
                                                      : "statement";

    if (inner == outer)
        return ml_fail_as(c->cx, ML_E_NOT_SCHEDULABLE,
                          "the rewrite would move the `{0}` in {2} {1}", ML_TEXT(what),
                          fact_of(outer), word_of(outer), ML_STATEMENT(cross));
    return ml_fail_as(
        c->cx, ML_E_NOT_SCHEDULABLE,
        "the rewrite would cross the `{0}` between {3} {1} and {4} {2}, which "
        "holds it",
        ML_TEXT(what), fact_of(inner), fact_of(outer), word_of(inner), word_of(outer),
        ML_STATEMENT(cross));
}

bool ml_fail_not_only_child(ml_Call *c, const ml_Stmt *below, const ml_For *loop)
{
    if (below->kind == ML_STMT_FOR)
        return ml_fail(c->cx, ML_E_NOT_ONLY_CHILD, ML_LOOP(below), ML_LOOP(loop));
    return ml_fail_as(c->cx, ML_E_NOT_ONLY_CHILD, "loop {1} holds more than block {0}",
                      ML_BLOCK(below), ML_LOOP(loop));
}

bool ml_fail_not_allocated(ml_Call *c, const ml_Buffer *buf, const ml_Block *user)
{
    const ml_Func *f = ml_call_func(c);
    const char *what = "declared over other memory";
    bool is_match = false;

    ml_buffer_site(c->p, c->func, buf, &is_match);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->uid == buf->uid)
            what = "a parameter of the function";
    if (is_match)
        what = "a match_buffer view";
    return ml_fail(c->cx, ML_E_BUFFER_NOT_ALLOCATED, ML_BUFFER(buf), ML_TEXT(what),
                   ML_BLOCK(user));
}

bool ml_fail_opaque(ml_Call *c, const ml_Buffer *buf, const ml_Block *user)
{
    const char *how = "its pointer";

    for (size_t k = 0; k < user->n_matches; k++)
        if (user->matches[k].source.buffer->uid == buf->uid)
            how = "a match_buffer view of it";
    return ml_fail(c->cx, ML_E_OPAQUE_ACCESS, ML_BUFFER(buf), ML_BLOCK(user), ML_TEXT(how));
}
