/*
 * printed - functions printed as C and compiled by a C compiler with all warnings as errors:
 * an object, as LLVM makes them.
 */
#ifndef ML_TESTS_PRINTED_H
#define ML_TESTS_PRINTED_H

#include "moonloop/codegen/code/code.h"
#include "moonloop/core/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* It can be run. */
static inline bool printed_has(const char *cc)
{
    char line[200];

    snprintf(line, sizeof line, "%s --version >/dev/null 2>&1", cc);
    return system(line) == 0; /* NOLINT: ours */
}

static inline bool read_whole(const char *path, ml_Bytes *out)
{
    FILE *f = fopen(path, "rb");
    long n = -1;

    if (f && fseek(f, 0, SEEK_END) == 0)
        n = ftell(f);
    *out = (ml_Bytes){n >= 0 ? malloc((size_t)n + 1) : NULL, n >= 0 ? (size_t)n : 0};
    if (out->v) {
        rewind(f);
        out->n = fread(out->v, 1, out->n, f);
        out->v[out->n] = 0;
    }
    if (f)
        fclose(f);
    return out->v != NULL;
}

/* Every choice is one of a number's digits. */
static inline const char *printed_flags(ml_Ctx *cx, uint32_t pick)
{
    /* Not -O3: gcc 12 vectorizes a[6 * i + j + 7] = a[6 * i + j] wrongly there, as plain C. */
    static const char *const opts[] = {"-O1", "-O2", "-O0"};
    static const char *const machines[] = {"-march=native", ""};
    static const char *const vectors[] = {"", "", "-DML_PLAIN"};

    pick = pick * 2654435761u >> 8;
    return ml_format(cx, "%s %s %s", opts[pick % 3], machines[pick / 3 % 2],
                     vectors[pick / 6 % 3]);
}

/* pick chooses optimisation, instruction set, and vectors or arrays. false: cx's error, or
 * what the compiler said, with the text, in detail. */
static inline bool printed_object(const char *compiler, ml_Codegen *c, ml_Ctx *cx,
                                  const ml_Func *f, const ml_CodeOpts *o, uint32_t pick,
                                  ml_Bytes *out, ml_Text *detail)
{
    char dir[] = "/tmp/ml_printed.XXXXXX";
    const char *how, *file, *object, *said;
    ml_Bytes words = {0};
    ml_Text t = {0};
    bool ok = ml_code_text(c, cx, &f, 1, o, "c", &t);

    *out = (ml_Bytes){NULL, 0};
    if (!ok || !mkdtemp(dir)) {
        ml_text_free(&t);
        return false;
    }
    file = ml_format(cx, "%s/f.c", dir);
    object = ml_format(cx, "%s/f.o", dir);
    said = ml_format(cx, "%s/said", dir);
    how = ml_format(cx,
                    "%s -std=c11 -Wall -Wextra -Werror -fPIC %s -ffp-contract=off "
                    "-fno-stack-protector %s -c -o %s %s >%s 2>&1",
                    /* of clang's OpenMP no runtime is in this process */
                    compiler, strstr(compiler, "clang") ? "" : "-fopenmp",
                    printed_flags(cx, pick), object, file, said);
    ok = ml_file_write(file, ml_text_z(&t), t.n) && system(how) == 0 && /* NOLINT: ours */
         read_whole(object, out);
    if (!ok && read_whole(said, &words))
        ml_text_fmt(detail, "%s\n%s\n%s", how, (const char *)words.v, ml_text_z(&t));
    free(words.v);
    ml_text_free(&t);
    unlink(file);
    unlink(object);
    unlink(said);
    rmdir(dir);
    return ok;
}

#endif
