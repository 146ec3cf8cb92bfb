/*
 * checking - which functions a check compares, and which sizes it may be given.
 *
 * A size is a variable in the shape of a parameter, or a scalar parameter: what the
 * generators of the inputs look up by name. Source: interaction 8.
 */
#include "work/checking.h"

#include "core/base/text.h"
#include "core/vec.h"
#include "core/walk.h"

bool ml_checking_wants(const ml_Schedule *s, const ml_Module *start, uint32_t at)
{
    const ml_Module *now = ml_schedule_program(s).mod;

    if (start->funcs[at] != now->funcs[at])
        return true;
    for (uint32_t k = 0; k < start->n; k++)
        if (start->funcs[k] != now->funcs[k])
            return false;
    return !ml_schedule_func(s) || at == ml_schedule_func_pos(s);
}

typedef struct Sizes {
    ml_Ctx *cx;
    ML_VEC(const char *) names;
} Sizes;

static bool has(const Sizes *z, const char *name)
{
    for (size_t k = 0; k < z->names.n; k++)
        if (ml_streq(z->names.v[k], name))
            return true;
    return false;
}

static void add(Sizes *z, const ml_Var *v)
{
    if (v->hint && !has(z, v->hint))
        ml_push(z->cx, &z->names, v->hint);
}

static bool add_variable(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        add(user, e->as.var);
    return true;
}

static void add_func(Sizes *z, const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (!b && f->params[k].var)
            add(z, f->params[k].var);
        for (uint16_t d = 0; b && d < b->rank; d++)
            ml_expr_visit(b->shape[d], add_variable, z);
    }
}

const char *ml_checking_bad_size(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                                 const ml_Size *sizes, size_t n)
{
    Sizes z = {.cx = cx};
    ml_Text known = {0};
    const char *why = NULL;

    if (f)
        add_func(&z, f);
    for (uint32_t k = 0; !f && k < m->n; k++)
        add_func(&z, m->funcs[k]);
    for (size_t k = 0; k < z.names.n; k++)
        ml_text_fmt(&known, "%s%s", k ? ", " : "", z.names.v[k]);
    for (size_t k = 0; k < n && !why; k++) {
        const char *name = sizes[k].name;

        if (z.names.n == 0)
            why = ml_format(
                cx, "there is no size %s: every size of the program is a number", name);
        else if (!has(&z, name))
            why = ml_format(cx, "there is no size %s; the program has %s", name,
                            ml_text_z(&known));
        for (size_t j = 0; j < k && !why; j++)
            if (ml_streq(sizes[j].name, name))
                why = ml_format(cx, "the size %s is given twice", name);
    }
    ml_text_free(&known);
    return why;
}

bool ml_checking_is_verdict(const ml_Error *e)
{
    switch (e->code) {
    case ML_E_TOO_LARGE:
    case ML_E_BAD_RUN_ARGUMENT:
    case ML_E_NOT_SUPPORTED:
    case ML_E_INTERRUPTED:
    case ML_E_OUT_OF_MEMORY: return false;
    default: break;
    }
    for (uint32_t k = 0; k < e->n_notes; k++)
        if (ml_streq(e->notes[k], "in the start version"))
            return false;
    return true;
}
