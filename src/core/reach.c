/*
 * reach - which files may be read: those that were named and what lies below their folders.
 *
 * Paths are compared as the system resolves them, so that neither `..` nor a link leads
 * out. What is outside is refused before it is looked for: a refusal does not say whether
 * the file exists.
 */
#define _XOPEN_SOURCE 700 /* NOLINT: realpath */
#include "moonloop/core/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/error.h"

/* The folder that the path lies in, for the system: "a/b" gives "a", "b" gives ".". */
static char *real_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    ml_Text t = {0};

    if (slash)
        ml_text_addn(&t, path, slash == path ? 1 : (size_t)(slash - path));
    else
        ml_text_char(&t, '.');
    char *real = realpath(ml_text_z(&t), NULL);

    ml_text_free(&t);
    return real;
}

static void add(ml_Reach *r, const char *real, size_t n, bool folder)
{
    ml_Text t = {0};

    ml_text_addn(&t, real, n);
    if (folder)
        ml_text_char(&t, '/');
    ml_text_z(&t);
    r->path = ml_heap_grow(r->path, (r->n + 1) * sizeof *r->path);
    r->path[r->n++] = t.p;
}

void ml_reach_add(ml_Reach *r, const char *path, bool below)
{
    char *real = realpath(path, NULL);
    struct stat st;

    if (real && stat(real, &st) == 0) {
        size_t n = strlen(real), folder = (size_t)(strrchr(real, '/') - real);

        if (!S_ISDIR(st.st_mode))
            add(r, real, n, false);
        if (S_ISDIR(st.st_mode))
            folder = n > 1 ? n : 0;
        if (below && folder > 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
            add(r, real, folder, true);
    }
    free(real);
}

/* folder: real is one, and asked for with what lies in it. */
static bool covers(const ml_Reach *r, const char *real, bool folder)
{
    for (size_t k = 0; k < r->n; k++) {
        const char *named = r->path[k];
        size_t n = strlen(named);

        if (named[n - 1] != '/'
                ? !folder && ml_streq(named, real)
                : strncmp(named, real, n) == 0 ||
                      (folder && strlen(real) == n - 1 && strncmp(named, real, n - 1) == 0))
            return true;
    }
    return false;
}

static bool allowed(const ml_Reach *r, const char *path)
{
    char *real = realpath(path, NULL);
    struct stat st;
    bool ok;

    if (real) {
        ok = covers(r, real, false) && stat(real, &st) == 0 && S_ISREG(st.st_mode);
    } else {
        int why = errno;

        real = real_folder(path);
        /* A link whose end is missing is not followed to where that would be. */
        ok = real && why == ENOENT && lstat(path, &st) != 0 && covers(r, real, true);
    }
    free(real);
    return ok;
}

bool ml_reach_allows(const ml_Reach *r, ml_Ctx *cx, const char *path)
{
    if (r && allowed(r, path))
        return true;
    return ml_fail(cx, ML_E_NOT_SUPPORTED,
                   ML_TEXT(ml_format(cx,
                                     "%s: under --safe only files named on the command "
                                     "line, and those below their folders, are read",
                                     path)));
}
