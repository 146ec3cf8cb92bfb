/*
 * Writes <moonloop/primitives.h>: a typed function for each primitive of the table, for C
 * programs. Run by make; links the library whose table it describes.
 */
#include "moonloop/primitives/prim.h"

#include <stdio.h>

/* Names that the library has for something else. */
static const char *function_name(const char *prim)
{
    return ml_streq(prim, "bind") ? "bind_loop" : prim;
}

typedef enum Form { FORM_ARG, FORM_LIST, FORM_INT, FORM_BOOL, FORM_TEXT } Form;

static Form form(uint8_t kind)
{
    switch ((ml_ParamKind)kind) {
    case ML_P_LOOPS:
    case ML_P_BLOCKS:
    case ML_P_FACTORS: return FORM_LIST;
    case ML_P_INT: return FORM_INT;
    case ML_P_BOOL: return FORM_BOOL;
    case ML_P_STRING:
    case ML_P_SCOPE:
    case ML_P_THREAD:
    case ML_P_KEY:
    case ML_P_NAME: return FORM_TEXT;
    case ML_P_BLOCK:
    case ML_P_LOOP:
    case ML_P_BLOCK_OR_LOOP:
    case ML_P_LOOP_BLOCKS:
    case ML_P_LOOP_OR_MARK:
    case ML_P_READ_BUFFER:
    case ML_P_WRITE_BUFFER:
    case ML_P_BUFFER:
    case ML_P_VALUE:
    case ML_P_INTS:
    case ML_P_FLOATS:
    case ML_P_DECISION:
    case ML_P_PAD:
    case ML_P_MAP: return FORM_ARG;
    }
    return FORM_ARG;
}

static bool gives_one(const ml_Primitive *p)
{
    return p->result == ML_R_LOOP || p->result == ML_R_BLOCK || p->result == ML_R_EXPR;
}

static void write_comment(const ml_Primitive *p)
{
    printf("/*\n * %s - %s\n", p->name, p->summary);
    for (size_t k = 0; k < p->n_params; k++) {
        const ml_Param *pa = &p->params[k];

        printf(" *   %s: %s", pa->name, pa->doc);
        if (pa->optional && pa->kind == ML_P_BOOL)
            printf(" (usually %s)", pa->def ? "true" : "false");
        else if (pa->optional && pa->kind == ML_P_INT)
            printf(" (usually %lld)", (long long)pa->def);
        else if (pa->optional || pa->input_if_given)
            printf(" (may be left out)");
        printf("\n");
    }
    printf(" */\n");
}

static void write_function(const ml_Primitive *p)
{
    write_comment(p);
    printf("static inline bool ml_%s(ml_Schedule *s", function_name(p->name));
    for (size_t k = 0; k < p->n_params; k++) {
        const char *name = p->params[k].name;

        switch (form(p->params[k].kind)) {
        case FORM_ARG: printf(", ml_Arg %s", name); break;
        case FORM_LIST: printf(", const ml_Arg *%s, size_t n_%s", name, name); break;
        case FORM_INT: printf(", int64_t %s", name); break;
        case FORM_BOOL: printf(", bool %s", name); break;
        case FORM_TEXT: printf(", const char *%s", name); break;
        }
    }
    if (gives_one(p))
        printf(", ml_Handle *out");
    else if (p->result != ML_R_NONE)
        printf(", ml_Results *out");
    printf(")\n{\n    ml_Arg args_[%zu];\n", p->n_params ? p->n_params : 1);
    if (gives_one(p))
        printf("    ml_Results results_ = {.n = 0};\n");
    printf("\n");
    for (size_t k = 0; k < p->n_params; k++) {
        const char *name = p->params[k].name;

        printf("    args_[%zu] = ", k);
        switch (form(p->params[k].kind)) {
        case FORM_ARG: printf("%s;\n", name); break;
        case FORM_LIST:
            printf("%s ? ML_ARG_LIST(%s, n_%s) : ML_ARG_ABSENT;\n", name, name, name);
            break;
        case FORM_INT: printf("ML_ARG_INT(%s);\n", name); break;
        case FORM_BOOL: printf("ML_ARG_BOOL(%s);\n", name); break;
        case FORM_TEXT: printf("%s ? ML_ARG_STR(%s) : ML_ARG_ABSENT;\n", name, name); break;
        }
    }
    if (gives_one(p))
        printf(
            "    if (!ml_apply(s, \"%s\", args_, %zu, &results_))\n        return false;\n"
            "    if (out)\n        *out = results_.n ? results_.v[0] : (ml_Handle){.kind = "
            "ML_H_NONE};\n"
            "    return true;\n}\n\n",
            p->name, p->n_params);
    else
        printf("    return ml_apply(s, \"%s\", args_, %zu, %s);\n}\n\n", p->name,
               p->n_params, p->result == ML_R_NONE ? "NULL" : "out");
}

int main(void)
{
    printf("/*\n * primitives - one typed function for each primitive; written from the "
           "table.\n"
           " *\n * A loop, block or buffer is an ml_Arg: ML_ARG_STR(name) or "
           "ML_ARG_HANDLE(handle). A list\n"
           " * is an array with its length, of factors too (ML_ARG_INT, ML_ARG_AUTO); NULL "
           "and\n"
           " * ML_ARG_ABSENT leave an argument out. `out` may be NULL. false: "
           "ml_schedule_error says\n"
           " * why, and the schedule is as before.\n */\n"
           "#ifndef ML_MOONLOOP_PRIMITIVES_H\n#define ML_MOONLOOP_PRIMITIVES_H\n\n"
           "#include \"moonloop/primitives/prim.h\"\n\n");
    for (size_t k = 0; k < ml_n_primitives; k++)
        write_function(ml_primitives[k]);
    printf("#endif\n");
    return fflush(stdout) != 0;
}
