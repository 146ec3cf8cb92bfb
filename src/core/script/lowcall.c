/* lowcall - the table of low-level calls, for the reader and the printer alike. Source:
 * script 10.4. */
#include "core/script/lowcall.h"

static const ml_Low lows[] = {
#define ML_LOW(name, result, least, most) {name, ML_LOW_##result, least, most},
#include "core/script/lowcall.def"
#undef ML_LOW
};

static bool begins(ml_Str s, const char *with)
{
    size_t n = strlen(with);

    return s.n > n && memcmp(s.p, with, n) == 0;
}

static bool plain(ml_Str name)
{
    for (size_t k = 0; k < name.n; k++) {
        char c = name.p[k];

        if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (k > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return name.n > 0;
}

const ml_Low *ml_low_find(ml_Str name)
{
    static const char *const SPACES[] = {"ptx.", "ptx_legacy."};
    bool ptx = false;

    for (size_t k = 0; k < ML_COUNT(SPACES) && !ptx; k++)
        if (begins(name, SPACES[k])) {
            name = (ml_Str){name.p + strlen(SPACES[k]), name.n - strlen(SPACES[k])};
            ptx = true;
        }
    if (!plain(name)) /* it could not be written */
        return NULL;
    for (size_t k = 0; k < ML_COUNT(lows); k++) {
        ml_Str want = ml_str(lows[k].name);
        bool family = want.p[want.n - 1] == '*', dotted = begins(want, "ptx_");

        want.n -= family;
        if (ptx && !dotted)
            continue;
        if (ptx)
            want = (ml_Str){want.p + 4, want.n - 4};
        if (family ? name.n >= want.n && memcmp(name.p, want.p, want.n) == 0
                   : ml_str_eq(name, want))
            return &lows[k];
    }
    return NULL;
}

bool ml_low_type(const ml_Low *l, const ml_Expr *const *args, size_t n, ml_Dtype *out)
{
    switch ((ml_LowResult)l->result) {
    case ML_LOW_HANDLE: *out = ML_DT_HANDLE; return true;
    case ML_LOW_INT32: *out = ML_DT_I32; return true;
    case ML_LOW_UINT32: *out = ML_DT(ML_UINT, 32); return true;
    case ML_LOW_BOOL: *out = ML_DT_BOOL; return true;
    case ML_LOW_VOID: *out = ML_DT_VOID; return true;
    case ML_LOW_ARG0:
        if (n > 0)
            *out = args[0]->type;
        return n > 0;
    case ML_LOW_ARG1:
        if (n > 1)
            *out = args[1]->type;
        return n > 1;
    case ML_LOW_FIRST:
    case ML_LOW_LAST: break;
    }
    return false;
}

const char *ml_low_name(size_t k)
{
    for (size_t j = 0; j < ML_COUNT(lows); j++)
        if (lows[j].name[strlen(lows[j].name) - 1] != '*' && k-- == 0)
            return lows[j].name;
    return NULL;
}
