/* lowcall - the table of low-level calls, for the reader and the printer alike. Source:
 * script 10.4. */
#include "moonloop/core/script/lowcall.h"

static const ml_Low lows[] = {
#define ML_LOW(name, result, least, most) {name, ML_LOW_##result, least, most},
#include "moonloop/core/script/lowcall.def"
#undef ML_LOW
};

static bool begins(ml_Str s, const char *with)
{
    size_t n = strlen(with);

    return s.n > n && memcmp(s.p, with, n) == 0;
}

/* Names with dots between them, as they can be written. */
static bool plain(ml_Str name)
{
    bool begin = true;

    for (size_t k = 0; k < name.n; k++) {
        char c = name.p[k];

        if (c == '.' ? begin
                     : !(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (!begin && c >= '0' && c <= '9')))
            return false;
        begin = c == '.';
    }
    return name.n > 0 && !begin;
}

static const char *const SPACES[] = {"ptx.", "ptx_legacy.", "cuda.", "metal.", "nvshmem."};
enum { N_PTX = 2 };

const char *ml_low_space(ml_Str name)
{
    for (size_t k = 0; k < ML_COUNT(SPACES); k++)
        if (name.n + 1 == strlen(SPACES[k]) && memcmp(name.p, SPACES[k], name.n) == 0)
            return SPACES[k];
    return NULL;
}

/* name behind `ptx.` or `ptx_legacy.`; whether there was one. */
static bool cut_ptx(ml_Str *name)
{
    for (size_t k = 0; k < N_PTX; k++)
        if (begins(*name, SPACES[k])) {
            size_t n = strlen(SPACES[k]);

            *name = (ml_Str){name->p + n, name->n - n};
            return true;
        }
    return false;
}

/* What an entry is called there: behind ptx_ for ptx; n == 0: it is not there. */
static ml_Str name_in(const ml_Low *l, bool ptx)
{
    ml_Str want = ml_str(l->name);

    if (!ptx)
        return want;
    return begins(want, "ptx_") ? (ml_Str){want.p + 4, want.n - 4} : (ml_Str){"", 0};
}

const ml_Low *ml_low_find(ml_Str name)
{
    ml_Str whole = name;
    bool ptx = cut_ptx(&name), spaced = ptx;

    for (size_t k = 0; k < ML_COUNT(SPACES); k++)
        spaced |= begins(whole, SPACES[k]);
    if (!plain(whole) || (!spaced && memchr(whole.p, '.', whole.n)))
        return NULL; /* it could not be written */
    for (size_t k = 0; k < ML_COUNT(lows); k++) {
        ml_Str want = name_in(&lows[k], ptx);
        bool family = want.n && want.p[want.n - 1] == '*';

        want.n -= family;
        if ((family || want.n) &&
            (family ? name.n >= want.n && memcmp(name.p, want.p, want.n) == 0
                    : ml_str_eq(name, want)))
            return &lows[k];
    }
    return NULL;
}

/* Whether a becomes b by one letter left out, put in, changed, or two that change places.
 */
static bool one_slip(ml_Str a, ml_Str b)
{
    size_t head = 0, tail = 0, n = a.n < b.n ? a.n : b.n;

    while (head < n && a.p[head] == b.p[head])
        head++;
    while (tail < n - head && a.p[a.n - 1 - tail] == b.p[b.n - 1 - tail])
        tail++;
    if (a.n - head - tail <= 1 && b.n - head - tail <= 1)
        return true;
    return a.n == b.n && a.n - head - tail == 2 && a.p[head] == b.p[head + 1] &&
           a.p[head + 1] == b.p[head];
}

const char *ml_low_meant(ml_Str name)
{
    const ml_Low *l = ml_low_find(name);
    bool ptx = cut_ptx(&name);

    if (!l || l->name[strlen(l->name) - 1] != '*')
        return NULL;
    for (size_t k = 0; k < ML_COUNT(lows); k++) {
        ml_Str want = name_in(&lows[k], ptx);

        if (want.n && want.p[want.n - 1] != '*' && one_slip(name, want))
            return want.p;
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
    case ML_LOW_KEY:
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
