/* say - see say.h. */
#include "moonloop/work/say.h"

#include "moonloop/work/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void ml_text_si(ml_Text *out, double v)
{
    static const char *const UNITS[] = {"", "k", "M", "G", "T", "P"};
    size_t k = 0;

    while (v >= 999.5 && k + 1 < ML_COUNT(UNITS)) {
        v /= 1000;
        k++;
    }
    if (k == 0)
        ml_text_fmt(out, "%.0f ", v);
    else
        ml_text_fmt(out, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, UNITS[k]);
}

void ml_text_thousands(ml_Text *out, int64_t v)
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v);

    for (int k = 0; k < n; k++) {
        ml_text_char(out, digits[k]);
        if (digits[k] != '-' && k + 1 < n && (n - 1 - k) % 3 == 0)
            ml_text_char(out, ',');
    }
}

static const char *const units[] = {"s", "ms", "µs", "ns"};

/* The unit in which `like` is written: how often it is multiplied by 1000. */
static size_t unit_of(double like)
{
    size_t k = 0;

    while (k + 1 < ML_COUNT(units) && like < 0.99995) {
        like *= 1000;
        k++;
    }
    return k;
}

void ml_text_seconds_like(ml_Text *t, double s, double like)
{
    for (size_t k = unit_of(like); k > 0; k--)
        s *= 1000;
    ml_text_fmt(t, "%.*f", s < 9.995 ? 2 : s < 99.95 ? 1 : 0, s);
}

void ml_text_seconds(ml_Text *t, double s)
{
    ml_text_seconds_like(t, s, s);
    ml_text_fmt(t, " %s", units[unit_of(s)]);
}

void ml_text_noise(ml_Text *t, double spread)
{
    if (spread > ML_NOISY)
        ml_text_fmt(t, " ±%.0f %%", spread * 100);
}

void ml_text_rate(ml_Text *t, double flop, double seconds)
{
    ml_text_si(t, flop / seconds);
    ml_text_add(t, "FLOP/s");
}

void ml_text_speed(ml_Text *t, double flop, double seconds, double spread)
{
    if (flop > 0 && seconds > 0)
        ml_text_rate(t, flop, seconds);
    else
        ml_text_seconds(t, seconds);
    ml_text_noise(t, spread);
}

double ml_speed_read(const char *speed, bool *flops)
{
    static const struct {
        const char *name;
        double scale; /* below 0: seconds */
    } UNITS[] = {{"FLOP/s", 1},     {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9},
                 {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"s", -1},        {"ms", -1e-3},
                 {"µs", -1e-6},     {"us", -1e-6},     {"ns", -1e-9}};
    char *end = NULL;
    double v = speed ? strtod(speed, &end) : 0;

    if (flops)
        *flops = false;
    if (!end || !(v > 0))
        return 0;
    while (*end == ' ')
        end++;
    for (size_t k = 0; k < ML_COUNT(UNITS); k++) {
        size_t length = strlen(UNITS[k].name); /* ` ±34 %` may stand behind it */

        if (strncmp(UNITS[k].name, end, length) != 0 || !strchr(" ", end[length]))
            continue;
        if (flops)
            *flops = UNITS[k].scale > 0;
        v *= UNITS[k].scale;
        return v < 0 ? -1 / v : v;
    }
    return 0;
}
