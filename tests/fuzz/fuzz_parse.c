/* fuzz_parse - no text crashes the reader, and what it accepts survives printing (script
 * P1, P2, P3). For libFuzzer by default; with -DML_FUZZ_MAIN, and always when libFuzzer is
 * not there, a program: fuzz_parse N SEED [FILE...] mutates the corpus N times, or replays
 * FILEs. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void broken(const char *what, const char *printed)
{
    fprintf(stderr, "%s\n%s\n", what, printed);
    abort();
}

static void round_trip(ml_Ctx *cx, const ml_Module *mod, int spelling, bool regions_auto)
{
    ml_PrintOpts po = {.spelling = spelling, .regions_auto = regions_auto};
    ml_Text t = {0}, u = {0};
    ml_Parsed q;
    ml_Difference d = {0};

    ml_print_module(cx, &t, mod, &po);
    q = ml_parse(cx, (ml_Str){ml_text_z(&t), t.n}, NULL);
    if (!q.mod && q.n_diags && strcmp(q.diags[0].code, "E109") != 0) {
        fprintf(stderr, "%s %u: %s\n", q.diags[0].code, q.diags[0].span.line,
                q.diags[0].message);
        broken("the printed text is not read back", ml_text_z(&t));
    }
    if (q.mod) {
        if (!ml_equal_module(cx, mod, q.mod, NULL, &d)) {
            fprintf(stderr, "%s at %s\n", d.reason, d.path_a);
            broken("the printed text denotes another program", ml_text_z(&t));
        }
        ml_print_module(cx, &u, q.mod, &po);
        if (t.n != u.n || memcmp(t.p, u.p, t.n) != 0) {
            fprintf(stderr, "%s\n----\n", ml_text_z(&u));
            broken("printing is not a fixed point", ml_text_z(&t));
        }
    }
    ml_text_free(&t);
    ml_text_free(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int mode = 0; mode < 3; mode++) { /* a text, an old one, a file */
        ml_Ctx *cx = ml_ctx_new((size_t)256 << 20);
        ml_ParseOpts o = {.spelling = -1, .archaic = mode == 1, .file_mode = mode == 2};
        ml_Parsed p = ml_parse(cx, (ml_Str){(const char *)data, size}, &o);

        if (p.mod) {
            for (int k = 0; k < 4; k++)
                round_trip(cx, p.mod, k / 2 ? ML_NEWEST : ML_CLASSIC, k % 2);
        }
        ml_ctx_unref(cx);
    }
    return 0;
}

#ifndef ML_LIBFUZZER
enum { MAX_TEXT = 1 << 20, MAX_FILES = 512 };

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static size_t below(uint64_t *s, size_t n)
{
    return n ? (size_t)(next(s) % n) : 0;
}

static size_t read_file(const char *path, char *out)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(out, 1, MAX_TEXT / 2, f) : 0;

    if (f)
        fclose(f);
    return n;
}

static size_t cut(char *p, size_t n, size_t at, size_t len)
{
    if (at >= n)
        return n;
    len = len > n - at ? n - at : len;
    memmove(p + at, p + at + len, n - at - len);
    return n - len;
}

/* Start of the line that holds position at. */
static size_t line_at(const char *p, size_t at)
{
    while (at > 0 && p[at - 1] != '\n')
        at--;
    return at;
}

static size_t mutate(char *p, size_t n, uint64_t *s)
{
    static const char *const WORDS[] = {
        "(",          ")",   "[",       "]",    ":",  ",",    "T.", "0",  "-1", "for",
        "with",       "if ", "lambda ", "not ", "\n", "    ", "i",  "A",  "=",  "\"",
        "T.int64(8)", "1.5", "break",   "x",    "{}", "*",    "//", "% 0"};
    /* what the reader computes */
    static const char *const MORE[] = {"[k for k in range(3)]",
                                       " if k % 2",
                                       "f\"{k}\"",
                                       "{k!r:>4}",
                                       "f'",
                                       "@T.macro\n",
                                       "hygienic=False",
                                       "copy(A, A, 4)\n",
                                       "add(n)",
                                       "def m(x):\n",
                                       "T.allocate([4], \"float32\")",
                                       "data=p",
                                       "p",
                                       "T.ptx.",
                                       "T.tvm_tuple(",
                                       "[0]",
                                       "[8, T.reduce_axis(0, 8)]",
                                       " as [v, w]",
                                       "T.bind(vi, i)\n",
                                       "grid(4)",
                                       "spatial_axis(8, i)",
                                       "T.cuda.",
                                       ".view(",
                                       ".ptr_to(",
                                       "T.target(",
                                       "TypeVar(\"n\")",
                                       "# from tvm.script import tirx as T\n",
                                       "import a as i\n",
                                       "n = f(1)\n",
                                       "def g():\n",
                                       "x += 1\n",
                                       "T.int64(0)",
                                       "storage_scope=\"local\"",
                                       "elem_offset=0"};
    size_t at = below(s, n), a, b, la, lb;
    const char *w;
    char tmp[4096];

    switch (below(s, 6)) {
    case 0: /* a bit flips */
        if (n)
            p[at] ^= (char)(1 << below(s, 7));
        return n;
    case 1: return cut(p, n, at, 1 + below(s, 8)); /* a token or so is deleted */
    case 2:                                        /* a word is put in */
        w = below(s, 4) ? WORDS[below(s, sizeof WORDS / sizeof *WORDS)]
                        : MORE[below(s, sizeof MORE / sizeof *MORE)];
        la = strlen(w);
        if (n + la >= MAX_TEXT)
            return n;
        memmove(p + at + la, p + at, n - at);
        memcpy(p + at, w, la);
        return n + la;
    case 3: /* two lines change places */
        a = line_at(p, at);
        b = line_at(p, below(s, n));
        if (a > b) {
            size_t t = a;

            a = b;
            b = t;
        }
        for (la = a; la < n && p[la] != '\n';)
            la++;
        for (lb = b; lb < n && p[lb] != '\n';)
            lb++;
        if (a == b || la - a + lb - b > sizeof tmp || la > b)
            return n;
        {
            size_t na = la - a, nb = lb - b, mid = b - la;

            memcpy(tmp, p + b, nb);
            memcpy(tmp + nb, p + a, na);
            memmove(p + a + nb, p + la, mid);
            memcpy(p + a, tmp, nb);
            memcpy(p + a + nb + mid, tmp + nb, na);
        }
        return n;
    case 4: /* a line is deleted */
        a = line_at(p, at);
        for (la = a; la < n && p[la] != '\n';)
            la++;
        return cut(p, n, a, la - a + 1);
    default: /* a piece is copied elsewhere */
        la = 1 + below(s, 40);
        a = below(s, n);
        la = la > n - a ? n - a : la;
        if (n + la >= MAX_TEXT)
            return n;
        memcpy(tmp, p + a, la);
        memmove(p + at + la, p + at, n - at);
        memcpy(p + at, tmp, la);
        return n + la;
    }
}

int main(int argc, char **argv)
{
    size_t n_iter = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000, n_files = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *dir = getenv("ML_CORPUS") ? getenv("ML_CORPUS") : "tests/corpus";
    static char text[MAX_TEXT], names[MAX_FILES][300];
    struct dirent **list;
    int found;

    if (argc > 3 && strcmp(argv[3], "faults") != 0) {
        for (int k = 3; k < argc; k++)
            LLVMFuzzerTestOneInput((const uint8_t *)text, read_file(argv[k], text));
        return 0;
    }
    for (int sub = 0; sub < 2; sub++) { /* older spellings in a folder of their own */
        char place[300];

        snprintf(place, sizeof place, "%.200s%s", dir, sub ? "/archaic" : "");
        found = scandir(place, &list, NULL, alphasort);
        for (int k = 0; k < found; k++) {
            size_t len = strlen(list[k]->d_name);

            if (len > 3 && strcmp(list[k]->d_name + len - 3, ".py") == 0 &&
                n_files < MAX_FILES && strlen(place) + len < sizeof *names - 2) {
                memcpy(names[n_files], place, strlen(place));
                names[n_files][strlen(place)] = '/';
                memcpy(names[n_files++] + strlen(place) + 1, list[k]->d_name, len + 1);
            }
            free(list[k]);
        }
        if (found >= 0)
            free(list);
    }
    if (n_files == 0) {
        fprintf(stderr, "no programs in %s\n", dir);
        return 1;
    }
    for (size_t k = 0; k < n_iter; k++) {
        uint64_t s = (seed * 1000003 + k) * 0x9e3779b97f4a7c15u | 1;
        size_t n;
        const char *keep = getenv("ML_FUZZ_KEEP");

        next(&s);
        n = read_file(names[below(&s, n_files)], text);
        for (size_t m = 1 + below(&s, 4); m > 0; m--)
            n = mutate(text, n, &s);
        if (keep) { /* the last input, for looking at a failure */
            FILE *f = fopen(keep, "wb");

            if (f) {
                fwrite(text, 1, n, f);
                fclose(f);
            }
        }
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
    }
    return 0;
}
#endif
