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

void ml_text_trials(ml_Text *t, int64_t done, int64_t total)
{
    const char *s = total == 1 ? "" : "s";

    if (done > total)
        ml_text_fmt(t, "%lld trial%s were asked for, %lld are done", (long long)total, s,
                    (long long)done);
    else
        ml_text_fmt(t, "%lld of %lld trial%s", (long long)done, (long long)total, s);
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

void ml_text_limit(ml_Text *t, const char *limit)
{
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        if (ml_streq(limit, ml_machine_level_name((ml_MachineLevel)l)))
            ml_text_add(t, "the bandwidth of ");
    ml_text_add(t, ml_streq(limit, "compute") ? "the peak" : limit);
}

void ml_text_bound(ml_Text *t, double seconds, const char *limit)
{
    ml_text_seconds(t, seconds);
    ml_text_add(t, " by ");
    ml_text_limit(t, limit);
}

void ml_text_noise(ml_Text *t, double spread)
{
    if (spread > ML_NOISY)
        ml_text_fmt(t, " ±%.0f %%", spread * 100);
}

void ml_text_rate(ml_Text *t, ml_Amount a, double seconds)
{
    ml_text_si(t, a.n / seconds);
    ml_text_add(t, a.bytes ? "B/s" : "FLOP/s");
}

void ml_text_giga(ml_Text *t, ml_Amount a, double seconds)
{
    double v = a.n / seconds * 1e-9;

    ml_text_fmt(t, "%.*f", v < 0.995 ? 3 : v < 9.995 ? 2 : 1, v);
}

const char *ml_rate_unit(ml_Amount a)
{
    return a.bytes ? "GB/s" : "GFLOP/s";
}

void ml_text_speed(ml_Text *t, ml_Amount a, double seconds, double spread)
{
    if (a.n > 0 && seconds > 0)
        ml_text_rate(t, a, seconds);
    else
        ml_text_seconds(t, seconds);
    ml_text_noise(t, spread);
}

/* The unit behind a number: what it stands for, and by what the number is multiplied. */
static bool read_unit(const char *p, ml_SpeedKind *kind, double *scale)
{
    static const char prefixes[] = "kMGTP";
    static const struct {
        const char *name;
        double seconds;
    } TIMES[] = {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"us", 1e-6}, {"ns", 1e-9}};
    size_t n = strcspn(p, " "); /* ` ±34 %` may stand behind it */
    const char *prefix = n > 1 ? strchr(prefixes, *p) : NULL;

    for (size_t k = 0; k < ML_COUNT(TIMES); k++)
        if (strlen(TIMES[k].name) == n && strncmp(p, TIMES[k].name, n) == 0) {
            *kind = ML_SPEED_TIME;
            *scale = TIMES[k].seconds;
            return true;
        }
    *scale = prefix ? pow(1000, (double)(prefix - prefixes + 1)) : 1;
    p += prefix != NULL;
    n -= prefix != NULL;
    *kind = *p == 'B' ? ML_SPEED_BYTES : ML_SPEED_FLOP;
    return (n == 3 && strncmp(p, "B/s", n) == 0) ||
           (n == 6 && strncmp(p, "FLOP/s", n) == 0);
}

double ml_speed_read(const char *speed, ml_SpeedKind *kind)
{
    char *end = NULL;
    double v = speed ? strtod(speed, &end) : 0, scale;
    ml_SpeedKind k = ML_SPEED_TIME;

    while (v > 0 && *end == ' ')
        end++;
    bool ok = v > 0 && read_unit(end, &k, &scale);

    if (kind)
        *kind = k;
    return !ok ? 0 : k == ML_SPEED_TIME ? 1 / (v * scale) : v * scale;
}

double ml_speed_seconds(const char *speed, double flop, double bytes)
{
    ml_SpeedKind kind;
    double v = ml_speed_read(speed, &kind);
    double n = kind == ML_SPEED_TIME ? 1 : kind == ML_SPEED_FLOP ? flop : bytes;

    return v > 0 && n > 0 ? n / v : (double)NAN;
}
