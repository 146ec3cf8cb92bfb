/* help_data - primitives as rows, for --json and moon.cmd("help"). Source: interaction 4. */
#include "moonloop/core/json/data.h"
#include "repl/cmd/help_impl.h"

typedef struct PrimitiveRow {
    const ml_Primitive *p;
    const char *text; /* of :help; NULL: it is one of a list */
} PrimitiveRow;

static void tell_signature(ml_Data *d, const char *key, const void *s)
{
    ml_Text t = {0};

    ml_primitive_signature(&t, ((const PrimitiveRow *)s)->p);
    ml_data_str(d, key, ml_text_z(&t));
    ml_text_free(&t);
}

static void tell_params(ml_Data *d, const char *key, const void *s)
{
    const ml_Primitive *p = ((const PrimitiveRow *)s)->p;

    ml_data_list(d, key);
    for (size_t k = 0; k < p->n_params; k++) {
        const ml_Param *q = &p->params[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "name", q->name);
        ml_data_str(d, "type", ml_help_kind((ml_ParamKind)q->kind));
        ml_data_str(d, "help", q->doc);
        ml_data_bool(d, "optional", q->optional);
        if (q->optional && q->kind == ML_P_BOOL)
            ml_data_bool(d, "default", q->def != 0);
        else if (q->optional && q->kind == ML_P_INT)
            ml_data_int(d, "default", q->def);
        else
            ml_data_str(d, "default", q->optional ? q->def_s : NULL);
        ml_data_end(d);
    }
    ml_data_end(d);
}

static void tell_errors(ml_Data *d, const char *key, const void *s)
{
    const ml_Primitive *p = ((const PrimitiveRow *)s)->p;

    ml_data_list(d, key);
    for (size_t k = 0; p->errors && p->errors[k] != ML_E_OK; k++)
        ml_data_str(d, NULL, ml_error_code(p->errors[k]));
    ml_data_end(d);
}

#define ML_FIELDS       "repl/cmd/primitive.def"
#define ML_FIELDS_TABLE ml_primitive_fields
#define ML_FIELDS_NAME  "primitive"
#define ML_FIELDS_WHAT  "what :help tells of a primitive"
#include "moonloop/core/json/field_table.def"

void ml_help_tell(ml_Data *d, const char *name, const char *text)
{
    bool all = ml_streq(name, "primitives");
    const ml_Primitive *one = all ? NULL : ml_primitive_find(name);

    for (size_t k = 0; d && k < ml_n_primitives; k++) {
        PrimitiveRow row = {ml_primitives[k], all ? NULL : text};

        if (!all && row.p != one)
            continue;
        ml_data_row(d);
        ml_data_fields(d, &ml_primitive_fields, &row);
    }
}
