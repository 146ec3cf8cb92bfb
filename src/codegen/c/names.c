/* names - C names for the names of a program: none is a word of C or of a header, begins
 * like those of the prelude, or means two things at one place. */
#include "moonloop/codegen/c/emit.h"

#include <ctype.h>

/* Macros of the headers and of compilers, and functions that the text itself calls. */
static bool reserved(const char *z)
{
    static const char *const words[] = {
        "NULL",      "NAN",    "INFINITY", "EOF",           "linux",
        "unix",      "i386",   "errno",    "free",          "memcpy",
        "w",         "status", "main",     "aligned_alloc", "math_errhandling",
        "MB_CUR_MAX"};
    static const char *const begins[] = {"_",        "ml_",   "ML_",  "INT",   "UINT",
                                         "HUGE_",    "M_",    "FP_",  "MATH_", "SIZE_",
                                         "PTRDIFF_", "RAND_", "EXIT_"};

    for (size_t k = 0; k < ML_COUNT(words); k++)
        if (ml_streq(words[k], z))
            return true;
    for (size_t k = 0; k < ML_COUNT(begins); k++)
        if (strncmp(z, begins[k], strlen(begins[k])) == 0)
            return true;
    return false;
}

static uint32_t key_of(const char *z)
{
    uint64_t h = ml_fnv(ML_FNV, z, strlen(z));

    return (uint32_t)(h ^ h >> 32);
}

/* A hash that is taken by another name is as good as the name itself: the next is tried. */
static bool claim(ml_Cp *g, const char *z)
{
    if (ml_map_get(g->taken, key_of(z)))
        return false;
    ml_map_set(g->cx, g->taken, key_of(z), z);
    ml_push(g->cx, &g->names, z);
    return true;
}

const char *ml_cp_name(ml_Cp *g, const char *hint)
{
    ml_Text t = {0};
    const char *base, *z;

    for (const char *c = hint ? hint : "v"; *c; c++)
        ml_text_char(&t, isalnum((unsigned char)*c) || *c == '_' ? *c : '_');
    base = ml_text_z(&t);
    if (!ml_code_is_c_name(base) || reserved(base))
        base = ml_format(g->cx, "v_%s", base);
    else
        base = ml_strdup(g->cx, ml_str(base));
    ml_text_free(&t);
    z = base;
    for (unsigned k = 1; !claim(g, z); k++)
        z = ml_format(g->cx, "%s_%u", base, k);
    return z;
}

const char *ml_cp_temp(ml_Cp *g)
{
    return ml_cp_name(g, ml_format(g->cx, "t%u", g->n_temps++));
}

size_t ml_cp_scope_open(ml_Cp *g)
{
    return g->names.n;
}

void ml_cp_scope_close(ml_Cp *g, size_t mark)
{
    while (g->names.n > mark)
        ml_map_set(g->cx, g->taken, key_of(g->names.v[--g->names.n]), NULL);
}
