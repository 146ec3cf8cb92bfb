/* program - the places where moonloop is looked for. Source: DESIGN 2. */
#define _GNU_SOURCE /* NOLINT: dladdr */
#include "moonloop/codegen/worker/program.h"

#include "moonloop/core/base/text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *s = strrchr(path, '/');

    return s ? s + 1 : path;
}

static char *copy(const char *z)
{
    char *s = strdup(z);

    if (s == NULL)
        ml_out_of_memory();
    return s;
}

/* The running program itself, when it is moonloop: also after it was replaced on disk. */
static char *from_self(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *name;

    if (n <= 0)
        return NULL;
    path[n] = '\0';
    name = base_name(path);
    return ml_streq(name, "moonloop") || ml_streq(name, "moonloop (deleted)")
               ? copy("/proc/self/exe")
               : NULL;
}

/* Beside the library or module that this code is in, or in the bin folder of its prefix. */
static char *from_library(void)
{
    static const char *const places[] = {"%s/moonloop", "%s/../bin/moonloop",
                                         "%s/../../../bin/moonloop"};
    Dl_info info;
    char dir[4096], path[8192];
    char *slash;
    union {
        char *(*fn)(void);
        void *p;
    } here = {.fn = from_library};

    if (!dladdr(here.p, &info) || !info.dli_fname)
        return NULL;
    if (snprintf(dir, sizeof dir, "%s", info.dli_fname) >= (int)sizeof dir)
        return NULL;
    slash = strrchr(dir, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    for (size_t k = 0; k < ML_COUNT(places); k++) {
        struct stat st;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(path, sizeof path, places[k], dir);
#pragma GCC diagnostic pop
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
            return copy(path);
    }
    return NULL;
}

static char *from_path(void)
{
    const char *path = getenv("PATH");
    char full[4096];

    while (path && *path) {
        size_t n = strcspn(path, ":");

        if (n > 0 &&
            snprintf(full, sizeof full, "%.*s/moonloop", (int)n, path) < (int)sizeof full &&
            access(full, X_OK) == 0)
            return copy(full);
        path += n + (path[n] == ':');
    }
    return NULL;
}

char *ml_program_find(void)
{
    char *found = from_self();

    if (found == NULL)
        found = from_library();
    return found ? found : from_path();
}
