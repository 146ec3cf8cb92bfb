/*
 * eval_format - compile-time values as text, as Python writes them: str, repr and the
 * format of a field. What is part of the program has no text and is refused.
 * Source: script 2, 4.
 */
#include "moonloop/core/script/eval/eval.h"

#include <math.h>
#include <stdio.h>

static bool has_no_text(ml_Eval *ev, ml_Cv v, ml_Place at)
{
    if (ml_cv_is_ir(v) || v.kind == ML_CV_BUFFER)
        ml_report(ev->rep, ML_E_E512, at, "%s is not known at compile time: it has no text",
                  v.kind == ML_CV_BUFFER ? "a buffer" : ml_cv_describe(ev, v));
    else if (v.kind != ML_CV_POISON)
        ml_report(ev->rep, ML_E_E512, at, "a %s has no text", ml_cv_describe(ev, v));
    return false;
}

static void quoted(ml_Text *t, ml_Str s)
{
    bool dbl = memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n);

    ml_text_char(t, dbl ? '"' : '\'');
    for (size_t k = 0; k < s.n; k++) {
        unsigned char c = (unsigned char)s.p[k];

        if (c == '\\' || (c == '\'' && !dbl))
            ml_text_fmt(t, "\\%c", c);
        else if (c == '\n')
            ml_text_add(t, "\\n");
        else if (c == '\t')
            ml_text_add(t, "\\t");
        else if (c == '\r')
            ml_text_add(t, "\\r");
        else if (c < 0x20 || c == 0x7F)
            ml_text_fmt(t, "\\x%02x", (unsigned)c);
        else
            ml_text_char(t, (char)c);
    }
    ml_text_char(t, dbl ? '"' : '\'');
}

static void float_text(ml_Text *t, double d)
{
    if (isnan(d))
        ml_text_add(t, "nan");
    else if (isinf(d))
        ml_text_add(t, d < 0 ? "-inf" : "inf");
    else
        ml_text_double(t, d);
}

bool ml_ev_show(ml_Eval *ev, ml_Text *t, ml_Cv v, bool repr, ml_Place at)
{
    const char *open = v.kind == ML_CV_TUPLE ? "(" : v.kind == ML_CV_DICT ? "{" : "[";
    bool ok = true;

    switch (v.kind) {
    case ML_CV_NONE: ml_text_add(t, "None"); return true;
    case ML_CV_BOOL: ml_text_add(t, v.as.i ? "True" : "False"); return true;
    case ML_CV_INT:
        if (v.big)
            ml_text_fmt(t, "%llu", (unsigned long long)v.as.i);
        else
            ml_text_int(t, v.as.i);
        return true;
    case ML_CV_FLOAT: float_text(t, v.as.f); return true;
    case ML_CV_STRING:
        if (repr)
            quoted(t, v.as.s);
        else
            ml_text_addn(t, v.as.s.p, v.as.s.n);
        return true;
    case ML_CV_DTYPE: ml_dtype_print(t, v.dt); return true;
    case ML_CV_TUPLE:
    case ML_CV_LIST:
    case ML_CV_DICT:
        if (ev->depth >= 100 || (ev->steps += v.n + 1u) > 10000000)
            return ml_ev_reject(ev, E114, at, "too much compile-time work");
        ev->depth++;
        ml_text_add(t, open);
        for (size_t k = 0; k < v.n && ok; k++) {
            bool value = v.kind == ML_CV_DICT && k % 2;

            ml_text_add(t, k == 0 ? "" : value ? ": " : ", ");
            ok = ml_ev_show(ev, t, v.as.list[k], true, at);
        }
        ml_text_add(t, v.kind == ML_CV_TUPLE  ? (v.n == 1 ? ",)" : ")")
                       : v.kind == ML_CV_DICT ? "}"
                                              : "]");
        ev->depth--;
        return ok;
    default: return has_no_text(ev, v, at);
    }
}

/* [[fill]align][sign][#][0][width][,|_][.precision][type] */
typedef struct Format {
    ml_Str fill;
    char align, sign, group, type;
    bool alternate, zero;
    int width, precision; /* precision -1: none */
} Format;

static size_t char_len(const char *p, const char *end)
{
    size_t n = 1;

    while (p + n < end && ((unsigned char)p[n] & 0xC0) == 0x80)
        n++;
    return n;
}

static const char *number(const char *p, const char *end, int *out)
{
    for (*out = 0; p < end && *p >= '0' && *p <= '9'; p++)
        if (*out < 100000)
            *out = *out * 10 + (*p - '0');
    return p;
}

/* Whether c is one of set, which is not the end of the set. */
static bool one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool read_format(ml_Str s, Format *f)
{
    const char *p = s.p, *end = s.p + s.n;
    size_t n = p < end ? char_len(p, end) : 0;

    *f = (Format){.fill = {" ", 1}, .precision = -1};
    if (p + n < end && one_of(p[n], "<>^=")) {
        f->fill = (ml_Str){p, n};
        f->align = p[n];
        p += n + 1;
    } else if (p < end && one_of(*p, "<>^=")) {
        f->align = *p++;
    }
    if (p < end && one_of(*p, "+- "))
        f->sign = *p++;
    if (p < end && *p == '#')
        f->alternate = true, p++;
    if (p < end && *p == '0')
        f->zero = true, p++;
    p = number(p, end, &f->width);
    if (p < end && one_of(*p, ",_"))
        f->group = *p++;
    if (p < end && *p == '.') {
        const char *digits = ++p;

        p = number(p, end, &f->precision);
        if (p == digits)
            return false;
    }
    if (p < end && one_of(*p, "bdoxXeEfFgGs%n"))
        f->type = *p++;
    return p == end && f->width <= 1000 && f->precision <= 1000 && f->type != 'n';
}

/* Digits of u, grouped from the right by three (ten) or four (other bases). */
static void digits(ml_Text *t, uint64_t u, unsigned base, bool upper, char group)
{
    char z[160];
    size_t n = 0, count = 0, every = base == 10 ? 3 : 4;

    do {
        unsigned d = (unsigned)(u % base);

        if (group && count && count % every == 0)
            z[n++] = group;
        z[n++] = (char)(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
        count++;
        u /= base;
    } while (u);
    while (n)
        ml_text_char(t, z[--n]);
}

/* sign and digits of a number apart, for zeros between them. */
static bool number_parts(ml_Cv v, const Format *f, ml_Text *sign, ml_Text *body)
{
    bool is_float = v.kind == ML_CV_FLOAT || one_of(f->type, "eEfFgG%");
    bool negative =
        v.kind == ML_CV_FLOAT ? signbit(v.as.f) && !isnan(v.as.f) : !v.big && v.as.i < 0;

    if (negative || one_of(f->sign, "+ "))
        ml_text_char(sign, negative ? '-' : f->sign);
    if (!is_float) {
        uint64_t u = negative ? 0 - (uint64_t)v.as.i : (uint64_t)v.as.i;
        unsigned base = f->type == 'b'          ? 2
                        : f->type == 'o'        ? 8
                        : one_of(f->type, "xX") ? 16
                                                : 10;

        if (f->precision >= 0 || (f->group == ',' && base != 10))
            return false;
        if (f->alternate && base != 10)
            ml_text_fmt(sign, "0%c", f->type);
        digits(body, u, base, f->type == 'X', f->group);
        return true;
    }
    double d = v.kind == ML_CV_FLOAT ? v.as.f
               : v.big               ? (double)(uint64_t)v.as.i
                                     : (double)v.as.i;
    int n, places = f->precision < 0 ? 6 : f->precision;
    char z[1500];

    if (one_of(f->type, "bdoxXs") || f->group || f->alternate)
        return false;
    if (f->type == 0 && f->precision < 0) {
        float_text(body, fabs(d));
        return true;
    }
    d = fabs(d) * (f->type == '%' ? 100 : 1);
    switch (f->type) {
    case 'e': n = snprintf(z, sizeof z, "%.*e", places, d); break;
    case 'E': n = snprintf(z, sizeof z, "%.*E", places, d); break;
    case 'f':
    case '%': n = snprintf(z, sizeof z, "%.*f", places, d); break;
    case 'F': n = snprintf(z, sizeof z, "%.*F", places, d); break;
    case 'G': n = snprintf(z, sizeof z, "%.*G", places, d); break;
    default: n = snprintf(z, sizeof z, "%.*g", places, d); break;
    }
    if (n < 0 || (size_t)n >= sizeof z)
        return false;
    ml_text_addn(body, z, (size_t)n);
    if (f->type == 0 && isfinite(d) && !strpbrk(z, ".e"))
        ml_text_add(body, ".0");
    if (f->type == '%')
        ml_text_char(body, '%');
    return true;
}

static void fill(ml_Text *t, const Format *f, size_t n)
{
    for (; n > 0; n--)
        ml_text_addn(t, f->fill.p, f->fill.n);
}

static size_t code_points(const ml_Text *t)
{
    size_t n = 0;

    for (size_t k = 0; k < t->n; k++)
        n += ((unsigned char)t->p[k] & 0xC0) != 0x80;
    return n;
}

static bool formatted(ml_Eval *ev, ml_Text *out, ml_Cv v, Format *f, ml_Place at)
{
    bool is_number = v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT ||
                     (v.kind == ML_CV_BOOL && f->type && f->type != 's');
    ml_Text sign = {0}, body = {0};
    size_t width, room, before;
    bool ok = true;

    if (is_number) {
        ok = f->type != 's' && number_parts(v, f, &sign, &body);
    } else {
        ok = (f->type == 0 || f->type == 's') && !f->sign && !f->group && !f->alternate &&
             f->align != '=' && ml_ev_show(ev, &body, v, false, at);
        if (ok && f->precision >= 0) { /* so many characters */
            size_t k = 0;

            for (int n = 0; k < body.n && n < f->precision; n++)
                k += char_len(body.p + k, body.p + body.n);
            body.n = k;
        }
    }
    if (ok) {
        if (f->zero && !f->align) {
            f->align = is_number ? '=' : '<';
            f->fill = (ml_Str){"0", 1};
        }
        if (!f->align)
            f->align = is_number ? '>' : '<';
        width = code_points(&sign) + code_points(&body);
        room = (size_t)f->width > width ? (size_t)f->width - width : 0;
        before = f->align == '<' ? 0 : f->align == '^' ? room / 2 : room;
        if (f->align == '=')
            ml_text_addn(out, ml_text_z(&sign), sign.n);
        fill(out, f, before);
        if (f->align != '=')
            ml_text_addn(out, ml_text_z(&sign), sign.n);
        if (body.n)
            ml_text_addn(out, body.p, body.n);
        fill(out, f, room - before);
    }
    ml_text_free(&sign);
    ml_text_free(&body);
    return ok;
}

bool ml_ev_format(ml_Eval *ev, ml_Text *out, ml_Cv v, const ml_Node *field)
{
    size_t errors = ev->rep->n_errors;
    ml_Text t = {0};
    Format f;
    bool ok;

    if (field->op == 'r' || field->op == 'a') {
        ok = ml_ev_show(ev, &t, v, true, field->at);
        v = ml_cv_str((ml_Str){ml_strdup(ev->sc, (ml_Str){ml_text_z(&t), t.n}), t.n});
    } else if (field->op == 's') {
        ok = ml_ev_show(ev, &t, v, false, field->at);
        v = ml_cv_str((ml_Str){ml_strdup(ev->sc, (ml_Str){ml_text_z(&t), t.n}), t.n});
    } else {
        ok = true;
    }
    ml_text_free(&t);
    if (!ok)
        return false;
    if (field->as.s.n == 0)
        return ml_ev_show(ev, out, v, false, field->at);
    if (read_format(field->as.s, &f) && formatted(ev, out, v, &f, field->at))
        return true;
    if (ev->rep->n_errors == errors)
        ml_report(ev->rep, ML_E_E512, field->at, "the format `%.*s` is not defined for %s",
                  (int)field->as.s.n, field->as.s.p, ml_cv_describe(ev, v));
    return false;
}
