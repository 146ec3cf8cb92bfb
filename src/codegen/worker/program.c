/* program - the places where moonloop is looked for. Source: DESIGN 2. */
#define _GNU_SOURCE /* NOLINT: dladdr */
#include "moonloop/codegen/worker/program.h"

#include "moonloop/core/base/text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

int ml_fd_above(int fd, int n)
{
    int moved = fd;

    if (fd >= 0 && fd < n) {
        moved = fcntl(fd, F_DUPFD_CLOEXEC, n);
        close(fd);
    }
    return moved;
}

int ml_program_start(const char *program, const char *option, char *const *env,
                     const int *files, int n, pid_t *pid)
{
    char name[] = "moonloop", word[32];
    char *argv[] = {name, word, NULL};
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none, all;

    snprintf(word, sizeof word, "%s", option);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&fa);
    for (int k = 0; k < n; k++)
        if (files[k] >= 0)
            posix_spawn_file_actions_adddup2(&fa, files[k], k);
        else
            posix_spawn_file_actions_addopen(&fa, k, "/dev/null", O_RDWR, 0);
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&fa, n);
#endif
    posix_spawnattr_init(&at);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                      POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&at, 0);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setsigdefault(&at, &all);
    int why = posix_spawn(pid, program, &fa, &at, argv, env);

    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&at);
    return why;
}
