/*
 * utf8 - code points as bytes and back: what the readers and printers of texts share.
 * Source: RFC 3629.
 */
#include "moonloop/core/base/utf8.h"

size_t ml_utf8_length(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : c >= 0xe0 && c < 0xf0 ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;

    if (n == 0 || (size_t)(end - p) < n)
        return 0;
    for (size_t k = 1; k < n; k++)
        if (((unsigned char)p[k] & 0xc0) != 0x80)
            return 0;
    unsigned char d = n > 1 ? (unsigned char)p[1] : 0;

    if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
        (c == 0xf4 && d > 0x8f))
        return 0;
    return n;
}

size_t ml_utf8_put(char z[4], uint32_t c)
{
    if (c < 0x80) {
        z[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        z[0] = (char)(0xc0 | c >> 6);
        z[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        z[0] = (char)(0xe0 | c >> 12);
        z[1] = (char)(0x80 | (c >> 6 & 0x3f));
        z[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    z[0] = (char)(0xf0 | c >> 18);
    z[1] = (char)(0x80 | (c >> 12 & 0x3f));
    z[2] = (char)(0x80 | (c >> 6 & 0x3f));
    z[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

uint32_t ml_utf8_get(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;

    switch (n) {
    case 1: return u[0];
    case 2: return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3:
        return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    default:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
               (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    }
}

bool ml_code_among(const ml_CodeRange *v, size_t n, uint32_t c)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (c > v[mid].to)
            lo = mid + 1;
        else if (c < v[mid].from)
            hi = mid;
        else
            return true;
    }
    return false;
}
