/* late - tables of texts that denote the program of a plainer text, and of texts that are
 * refused; shared by the tests of what the reader rewrites. */
#ifndef ML_TESTS_SCRIPT_LATE_H
#define ML_TESTS_SCRIPT_LATE_H

#include <stdio.h>
#include <string.h>

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

#define LATE_COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct LatePair {
    const char *what, *text, *plain;
} LatePair;

typedef struct LateRow { /* col 0: the place is not checked; len 0: nor the length */
    const char *code;
    uint32_t line, col, len;
    const char *says, *text;
} LateRow;

static inline ml_Parsed late_parse(ml_Ctx *cx, const char *text, const ml_ParseOpts *o,
                                   const char *what)
{
    ml_Parsed p = ml_parse(cx, ml_str(text), o);

    if (!p.mod) {
        ml_Text t = {0};

        for (size_t k = 0; k < p.n_diags; k++)
            ml_diag_print(&t, &p.diags[k], ml_str(text));
        print_error("%s\n%s\n", ml_text_z(&t), text);
        ml_text_free(&t);
        fail_msg("%s: is not read", what);
    }
    return p;
}

/* P1 and P2 of a program, in one spelling. */
static inline void late_round_trip(ml_Ctx *cx, const ml_Module *m, int spelling,
                                   const char *what)
{
    ml_PrintOpts po = {.spelling = spelling};
    ml_Text t = {0}, u = {0};
    ml_Difference d = {0};
    ml_Parsed again;

    ml_print_module(cx, &t, m, &po);
    again = late_parse(cx, ml_text_z(&t), NULL, what);
    if (!ml_equal_module(cx, m, again.mod, NULL, &d))
        fail_msg("%s: %s at %s\n%s", what, d.reason, d.path_a, ml_text_z(&t));
    ml_print_module(cx, &u, again.mod, &po);
    if (strcmp(ml_text_z(&t), ml_text_z(&u)) != 0)
        fail_msg("%s: not a fixed point\n%s\n----\n%s", what, ml_text_z(&t), ml_text_z(&u));
    ml_text_free(&t);
    ml_text_free(&u);
}

static inline void late_pairs(const LatePair *v, size_t n, const ml_ParseOpts *o)
{
    for (size_t k = 0; k < n; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed a = late_parse(cx, v[k].text, o, v[k].what);
        ml_Parsed b = late_parse(cx, v[k].plain, NULL, v[k].what);
        ml_Difference d = {0};

        if (!ml_equal_module(cx, a.mod, b.mod, NULL, &d)) {
            ml_Text t = {0};

            ml_print_module(cx, &t, a.mod, NULL);
            fail_msg("%s: %s at %s\n%s", v[k].what, d.reason, d.path_a, ml_text_z(&t));
        }
        late_round_trip(cx, a.mod, ML_CLASSIC, v[k].what);
        late_round_trip(cx, a.mod, ML_NEWEST, v[k].what);
        ml_ctx_unref(cx);
    }
}

static inline void late_rows(const LateRow *v, size_t n, const ml_ParseOpts *o)
{
    bool ok = true;

    for (size_t k = 0; k < n; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed p = ml_parse(cx, ml_str(v[k].text), o);
        const ml_Diag *d = NULL;

        for (size_t j = 0; j < p.n_diags && !d; j++)
            if (!p.diags[j].warning)
                d = &p.diags[j];
        if (!d) {
            print_error("row %zu: nothing is reported\n%s", k, v[k].text);
            ok = false;
        } else if (p.mod || strcmp(d->code, v[k].code) != 0 ||
                   !strstr(d->message, v[k].says) ||
                   (v[k].col && (d->span.line != v[k].line || d->span.col != v[k].col)) ||
                   (v[k].len && d->span.end_col - d->span.col != v[k].len)) {
            print_error("row %zu: %s %u:%u-%u %s\n%s", k, d->code, (unsigned)d->span.line,
                        (unsigned)d->span.col, (unsigned)d->span.end_col, d->message,
                        v[k].text);
            ok = false;
        }
        ml_ctx_unref(cx);
    }
    assert_true(ok);
}

#endif
