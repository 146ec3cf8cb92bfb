/*
 * wildcard - whether a line that was printed is the line that was written down.
 *
 * A matcher with backtracking at `<x>` only; everything else advances both texts. Lines are
 * short, and a line has few such words. Source: interaction 15.
 */
#include "repl/run/wildcard.h"

#include "moonloop/core/base/base.h"

#define REST  "\xe2\x80\xa6" /* … */
#define TIMES "\xc3\x97"     /* × */
#define WORD  "<x>"
#define NOISE " \xc2\xb1" /*  ± */

enum { MOST = 8 };
/* What a machine makes is said in any unit of a row. */
static const char *const UNITS[][MOST] = {
    {"ns", "us", "\xc2\xb5s", "ms", "s", "m", "min", "h"},
    {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"},
    {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"},
    {"trials/s"},
    {"%"}};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Bytes of the number at p: 1,126 36.8 3.2e-04; 0 when there is none. */
static size_t number(const char *p)
{
    size_t n = 0;

    if (!is_digit(p[0]))
        return 0;
    while (is_digit(p[n]) || ((p[n] == '.' || p[n] == ',') && is_digit(p[n + 1])))
        n++;
    if (p[n] == 'e' && (is_digit(p[n + 1]) ||
                        ((p[n + 1] == '-' || p[n + 1] == '+') && is_digit(p[n + 2])))) {
        n += 2;
        while (is_digit(p[n]))
            n++;
    }
    return n;
}

/* Bytes of the unit behind a number, with the blank before it; 0: none of these. 1m19s has
 * one, too. */
static size_t unit(const char *p, const char *const *units)
{
    size_t blank = *p == ' ' ? 1 : 0;

    for (size_t k = 0; k < MOST && units[k]; k++) {
        size_t n = blank + strlen(units[k]);

        if (strncmp(p + blank, units[k], n - blank) == 0 && !is_letter(p[n]) && p[n] != '/')
            return n;
    }
    return 0;
}

static bool at_end(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return *p == '\0';
}

/* Numbers that the machine makes; advances both texts past number and unit. line: of which
 * *want is the rest. */
static bool loose_number(const char *line, const char **want, const char **got, bool any)
{
    const char *w = *want, *g = *got;
    size_t n = number(w), m = number(g);

    if (n == 0 || m == 0 || (w > line && is_digit(w[-1])))
        return false;
    bool ratio = w >= line + 2 && strncmp(w - 2, TIMES, 2) == 0;
    size_t wants = 0, has = 0;

    for (size_t k = 0; k < ML_COUNT(UNITS) && (wants == 0 || has == 0); k++) {
        wants = unit(w + n, UNITS[k]);
        has = unit(g + m, UNITS[k]);
    }
    if (wants == 0 || has == 0) {
        if (!any && !ratio)
            return false;
        wants = has = 0;
    }
    *want = w + n + wants;
    *got = g + m + has;
    return true;
}

/* Past ` ±34 %`, which says that a measurement is noisy: the next may not be. */
static const char *past_noise(const char *p)
{
    size_t n;

    while (strncmp(p, NOISE, strlen(NOISE)) == 0 && (n = number(p + strlen(NOISE))) > 0 &&
           strncmp(p + strlen(NOISE) + n, " %", 2) == 0)
        p += strlen(NOISE) + n + 2;
    return p;
}

static bool match(const char *line, const char *want, const char *got, bool any)
{
    for (;;) {
        want = past_noise(want);
        got = past_noise(got);
        if (strncmp(want, REST, strlen(REST)) == 0 && at_end(want + strlen(REST)))
            return true;
        if (strncmp(want, WORD, strlen(WORD)) == 0) {
            while (*got && *got != ' ' && *got != '\t') {
                got++;
                if (match(line, want + strlen(WORD), got, any))
                    return true;
            }
            return false;
        }
        if (at_end(want) && at_end(got))
            return true;
        if (loose_number(line, &want, &got, any))
            continue;
        if (any && strncmp(got, "   noisy", 8) == 0 && strncmp(want, "   noisy", 8) != 0)
            return at_end(want); /* the remark ends the line */
        if (*want == '\0' || *want != *got)
            return any && strncmp(want, "   noisy", 8) == 0 && at_end(got);
        want++;
        got++;
    }
}

bool ml_wildcard_line(const char *want, const char *got, bool any_number)
{
    return match(want, want, got, any_number);
}

bool ml_wildcard_any(const char *want)
{
    while (*want == ' ' || *want == '\t')
        want++;
    return strncmp(want, REST, strlen(REST)) == 0 && at_end(want + strlen(REST));
}
