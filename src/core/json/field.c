/* field - telling a struct from its table of fields. */
#include "moonloop/core/json/field.h"

#include <string.h>

const char *ml_field_unit(ml_FieldUnit u)
{
    static const char *const signs[] = {
#define ML_FIELD_UNIT(name, sign) sign,
#include "moonloop/core/json/field_units.def"
#undef ML_FIELD_UNIT
    };

    return signs[u];
}

const char *ml_field_type(ml_FieldKind k)
{
    switch (k) {
    case ML_FIELD_BOOL: return "true or false";
    case ML_FIELD_INT:
    case ML_FIELD_UNSIGNED:
    case ML_FIELD_LONG:
    case ML_FIELD_SIZE:
    case ML_FIELD_REAL: return "number";
    case ML_FIELD_TEXT: return "text";
    case ML_FIELD_SIZES: return "number, or a text of sizes";
    case ML_FIELD_LIST: return "list";
    case ML_FIELD_OBJECT: return "object";
    }
    return "";
}

const char *ml_field_was(const ml_FieldTable *t, const char *old)
{
    for (const ml_FieldWas *w = t->was; w->old; w++)
        if (strcmp(w->old, old) == 0)
            return w->now;
    return NULL;
}

/* A member, or what is computed in its place. */
#define VALUE(type)                                                                        \
    (f->get ? ((type(*)(const void *))f->get)(s) : *(type const *)(const void *)at)

static void tell_whole(ml_Data *d, const char *name, int64_t v)
{
    if (v >= 0)
        ml_data_int(d, name, v);
}

static void tell_field(ml_Data *d, const ml_Field *f, const void *s)
{
    const char *at = (const char *)s + f->at, *z;

    if (f->told) {
        if (f->get)
            ((ml_FieldTell *)f->get)(d, f->name, s);
        return;
    }
    switch (f->kind) {
    case ML_FIELD_BOOL: ml_data_bool(d, f->name, VALUE(bool)); return;
    case ML_FIELD_INT: tell_whole(d, f->name, VALUE(int)); return;
    case ML_FIELD_UNSIGNED: tell_whole(d, f->name, VALUE(unsigned)); return;
    case ML_FIELD_LONG: tell_whole(d, f->name, VALUE(long)); return;
    case ML_FIELD_SIZE: ml_data_int(d, f->name, (int64_t)VALUE(size_t)); return;
    case ML_FIELD_REAL: ml_data_real(d, f->name, VALUE(double)); return;
    case ML_FIELD_TEXT:
        z = VALUE(ml_FieldText);
        ml_data_str(d, f->name, z && *z ? z : NULL);
        return;
    case ML_FIELD_SIZES:
    case ML_FIELD_LIST:
    case ML_FIELD_OBJECT: return;
    }
}

void ml_data_fields(ml_Data *d, const ml_FieldTable *t, const void *s)
{
    if (d && d->depth == 1)
        d->of = t;
    for (size_t k = 0; d && k < t->n; k++)
        tell_field(d, &t->v[k], s);
}

bool ml_data_field(ml_Data *d, const ml_FieldTable *t, const char *name, const void *s)
{
    for (size_t k = 0; k < t->n; k++)
        if (strcmp(t->v[k].name, name) == 0) {
            tell_field(d, &t->v[k], s);
            return true;
        }
    return false;
}
