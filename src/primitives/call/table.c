/*
 * table - the primitive table and the other spellings of names and kinds.
 * Source: primitives 12.1, 13.
 */
#include "moonloop/primitives/schedule/schedule_impl.h"

#include "moonloop/core/script/report.h"

#define ML_PRIMITIVE(name) extern const ml_Primitive ml_prim_##name;
#include "moonloop/primitives/primitives.def"
#undef ML_PRIMITIVE

const ml_Primitive *const ml_primitives[] = {
#define ML_PRIMITIVE(name) &ml_prim_##name,
#include "moonloop/primitives/primitives.def"
#undef ML_PRIMITIVE
};
const size_t ml_n_primitives = ML_COUNT(ml_primitives);

static const struct {
    const char *other, *name;
} names[] = {
    {"get_sblock", "get_block"},
    {"get_axes", "get_loops"},
    {"get_child_sblocks", "get_child_blocks"},
    {"pragma", "annotate"},
    {"set_dtype", "unsafe_set_dtype"},
};
static const struct {
    const char *other, *kind;
} kinds[] = {
    {"GetSBlock", "GetBlock"},
    {"GetChildSBlocks", "GetChildBlocks"},
};

const ml_Primitive *ml_primitive_find(const char *name)
{
    for (size_t k = 0; k < ML_COUNT(names); k++)
        if (ml_streq(names[k].other, name))
            name = names[k].name;
    for (size_t k = 0; k < ml_n_primitives; k++)
        if (ml_streq(ml_primitives[k]->name, name))
            return ml_primitives[k];
    return NULL;
}

const ml_Primitive *ml_primitive_of_kind(const char *kind)
{
    for (size_t k = 0; k < ML_COUNT(kinds); k++)
        if (ml_streq(kinds[k].other, kind))
            kind = kinds[k].kind;
    for (size_t k = 0; k < ml_n_primitives; k++)
        if (ml_primitives[k]->kind && ml_streq(ml_primitives[k]->kind, kind))
            return ml_primitives[k];
    return NULL;
}

const char *ml_primitive_nearest(const char *name)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));

    for (size_t k = 0; k < ml_n_primitives; k++)
        ml_nearest_try(&near, ml_str(ml_primitives[k]->name));
    for (size_t k = 0; near.best.n > 0 && k < ml_n_primitives; k++)
        if (ml_str_eq(near.best, ml_str(ml_primitives[k]->name)))
            return ml_primitives[k]->name;
    return NULL;
}

void ml_primitive_signature(ml_Text *t, const ml_Primitive *p)
{
    ml_text_fmt(t, "%s(", p->name);
    for (size_t k = 0; k < p->n_params; k++) {
        const ml_Param *q = &p->params[k];

        ml_text_fmt(t, "%s%s", k ? ", " : "", q->name);
        if (q->kind == ML_P_LOOPS)
            ml_text_add(t, "…");
        if (!q->optional)
            continue;
        if (q->kind == ML_P_BOOL)
            ml_text_fmt(t, " = %s", q->def ? "true" : "false");
        else if (q->kind == ML_P_INT)
            ml_text_fmt(t, " = %lld", (long long)q->def);
        else if (q->def_s)
            ml_text_fmt(t, " = \"%s\"", q->def_s);
        else
            ml_text_add(t, " = nil");
    }
    ml_text_char(t, ')');
}
