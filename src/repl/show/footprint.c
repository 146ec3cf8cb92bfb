/* footprint - see footprint.h. */
#include "repl/show/footprint.h"

#include "repl/session/session.h"

void ml_text_bytes(ml_Text *out, int64_t bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t k = 0;

    while (v >= 1023.5 && k + 1 < ML_COUNT(UNITS)) {
        v /= 1024;
        k++;
    }
    if (k == 0)
        ml_text_fmt(out, "%lld B", (long long)bytes);
    else /* three digits, but no exponent from 1000 on */
        ml_text_fmt(out, "%.*f %s",
                    v >= 99.95 || v == (double)(int64_t)v ? 0
                    : v < 9.995                           ? 2
                                                          : 1,
                    v, UNITS[k]);
}

static void text_plain(ml_Text *out, int64_t n, ml_Unit unit)
{
    ml_Text t = {0};

    if (unit == ML_UNIT_BYTES)
        ml_text_bytes(&t, n);
    else if (n < (unit == ML_UNIT_SHORT ? 1000 : 100000000))
        ml_text_thousands(&t, n);
    else
        ml_text_si(&t, (double)n);
    ml_text_add(out, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_text_number(ml_Ctx *cx, ml_Text *out, ml_Number n, ml_Unit unit,
                    const ml_Names *names, bool ascii)
{
    if (n.how == ML_UNKNOWN) {
        ml_text_char(out, '?');
        return;
    }
    if (n.how == ML_AT_MOST)
        ml_text_add(out, ascii ? "<= " : "≤ ");
    if (!n.expr)
        text_plain(out, n.n, unit);
    else {
        ml_text_sizes(cx, out, n.expr, names);
        ml_text_add(out, unit == ML_UNIT_BYTES ? " B" : "");
    }
}
