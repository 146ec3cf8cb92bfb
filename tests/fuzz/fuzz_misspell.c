/*
 * fuzz_misspell - random programs with names of the file in their signatures, one name
 * misspelt or one line taken out: fuzz_misspell N SEED. What the reader gives is judged by
 * misspell.h. Source: style 10, script 14.
 */
#include "misspell.h"
#include "program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 40, EDITS = 4 };

/* Lines of a file that give the constants their values, among some other Python. */
static void define(ml_Text *out, uint64_t *s, const long *values, size_t n)
{
    static const char *const NOISE[] = {
        "import numpy as np\n",
        "rng = np.random.default_rng(0)\n",
        "def helper(x):\n    return x + 1\n\n\n",
        "if __name__ == \"__main__\":\n    helper(3)\n",
        "print(\"sizes\")\n",
        "sizes = []\nsizes.append(4)\n",
    };

    for (size_t k = 0; k < n; k++) {
        if (fz_chance(s, 30))
            ml_text_add(out, NOISE[fz_below(s, sizeof NOISE / sizeof *NOISE)]);
        switch (fz_below(s, 5)) {
        case 0: ml_text_fmt(out, "SIZE_%zu = max(%ld, 1)\n", k, values[k]); break;
        case 1: ml_text_fmt(out, "SIZE_%zu: int = %ld + 0\n", k, values[k]); break;
        case 2: ml_text_fmt(out, "SIZE_%zu, _ = %ld, 0\n", k, values[k]); break;
        case 3:
            ml_text_fmt(out, "LIST_%zu = [%ld for i in range(2)]\n", k, values[k]);
            ml_text_fmt(out, "SIZE_%zu = LIST_%zu[1]\n", k, k);
            break;
        default: ml_text_fmt(out, "SIZE_%zu = %ld\n", k, values[k]); break;
        }
    }
}

/* The text with the numbers of its buffers' shapes as names of the file. */
static void with_names(ml_Text *out, uint64_t *s, const char *text)
{
    static const char OPEN[] = "T.Buffer((";
    long values[MAX_NAMES];
    size_t n = 0;
    ml_Text body = {0};

    while (*text) {
        const char *at = strstr(text, OPEN);

        if (!at) {
            ml_text_add(&body, text);
            break;
        }
        at += sizeof OPEN - 1;
        ml_text_addn(&body, text, (size_t)(at - text));
        while (*at && *at != ')') {
            if (isdigit((unsigned char)*at) && !isalnum((unsigned char)at[-1]) &&
                n < MAX_NAMES) {
                char *end;

                values[n] = strtol(at, &end, 10);
                ml_text_fmt(&body, "SIZE_%zu", n++);
                at = end;
            } else {
                ml_text_char(&body, *at++);
            }
        }
        text = at;
    }
    define(out, s, values, n);
    ml_text_add(out, "\n\n");
    ml_text_add(out, ml_text_z(&body));
    ml_text_free(&body);
}

static void fail(const char *what, ml_Str text)
{
    fprintf(stderr, "%s\n%.*s\n", what, (int)text.n, text.p);
    exit(1);
}

static void trial(uint64_t seed, uint64_t k)
{
    uint64_t s = (seed * 1000003 + k) * 0x9e3779b97f4a7c15u | 1;
    FzPlan plan = {.seed = fz_next(&s), .stages = 1 + fz_below(&s, 3), .cap = 12};
    FzProgram program = {0};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ParseOpts o = {.spelling = -1, .file_mode = true};
    ml_Text text = {0};
    MsEdits edits = {0};
    ml_Parsed p;

    fz_program(&plan, &program);
    with_names(&text, &s, ml_text_z(&program.text));
    p = ml_parse(cx, ml_str(ml_text_z(&text)), &o);
    if (!p.mod)
        fail(p.n_diags ? p.diags[p.n_diags - 1].message : "no program",
             ml_str(ml_text_z(&text)));
    ms_edits(cx, ml_str(ml_text_z(&text)), &edits);
    for (int j = 0; j < EDITS; j++) {
        const MsEdit *e = &edits.v[fz_below(&s, (int)edits.n)];
        ml_Str edited =
            ms_apply(cx, ml_str(ml_text_z(&text)), e, (unsigned)fz_below(&s, 3));
        ml_Text why = {0};

        if (ms_judge(p.mod, edited, e, &o, &why) == MS_LOST) {
            fprintf(stderr, "seed %llu, trial %llu\n", (unsigned long long)seed,
                    (unsigned long long)k);
            fail(ml_text_z(&why), edited);
        }
        ml_text_free(&why);
    }
    ml_text_free(&program.text);
    ml_text_free(&text);
    ml_ctx_unref(cx);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (uint64_t k = 0; k < n; k++)
        trial(seed, k);
    return 0;
}
