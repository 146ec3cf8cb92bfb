/*
 * file - see file.h.
 *
 * A file is written beside its place and renamed over it. Where that would make another
 * file of it (it has other names, another owner) or the folder takes no new files, it is
 * written to a temporary one and copied into the old one, for which room is made first.
 */
// For realpath; the name is that of POSIX.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#define _XOPEN_SOURCE 700
#include "moonloop/core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"

bool ml_file_no_room(int error)
{
    return error == ENOSPC || error == EFBIG || error == EDQUOT;
}

void ml_file_home(const char *path, ml_Text *out)
{
    const char *home = strncmp(path, "~/", 2) == 0 ? getenv("HOME") : NULL;

    ml_text_fmt(out, "%s%s", home ? home : "", path + (home ? 1 : 0));
}

bool ml_file_with_suffix(const char *path, ml_Text *out)
{
    static const char *const SUFFIXES[] = {".py", ".tir", ".tvm", ".json", ".lua"};
    ml_Text t = {0};
    bool found = false;

    for (size_t k = 0; k < ML_COUNT(SUFFIXES) && !found; k++) {
        ml_text_clear(&t);
        ml_text_fmt(&t, "%s%s", path, SUFFIXES[k]);
        found = access(ml_text_z(&t), F_OK) == 0;
    }
    if (found)
        ml_text_add(out, ml_text_z(&t));
    ml_text_free(&t);
    return found;
}

size_t ml_file_folders(char *path)
{
    for (char *p = path + (*path != '\0'); *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        int why = errno;

        ok = ok || access(path, F_OK) == 0;
        *p = '/';
        errno = why;
        if (!ok)
            return (size_t)(p - path);
    }
    return 0;
}

bool ml_file_read(const char *path, ml_Text *out)
{
    FILE *f = fopen(path, "rbe");
    char part[16384];
    size_t n;

    if (!f)
        return false;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        ml_text_addn(out, part, n);
    int error = ferror(f) ? errno : out->bad ? ENOMEM : 0;

    fclose(f);
    errno = error;
    return error == 0;
}

static void fail(ml_FileOut *w)
{
    if (!w->error)
        w->error = errno ? errno : EIO;
}

/* Names of devices and of open files stand for what they are now. */
static bool is_place(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static char *copy_text(const char *z)
{
    size_t n = strlen(z) + 1;
    char *to = ml_heap_zalloc(n);

    memcpy(to, z, n);
    return to;
}

/* A new file in the folder of w->path, with the permissions of the old one. */
static int open_beside(ml_FileOut *w, const struct stat *old, mode_t mode)
{
    const char *slash = strrchr(w->path, '/');
    int folder = slash ? (int)(slash + 1 - w->path) : 0, fd = -1;
    size_t room = (size_t)folder + 64;

    w->fresh = ml_heap_zalloc(room);
    for (unsigned k = 0; fd < 0 && k < 1000; k++) {
        snprintf(w->fresh, room, "%.*s.moonloop-%ld-%u.new", folder, w->path,
                 (long)getpid(), k);
        fd = open(w->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0 && old &&
        (fchown(fd, old->st_uid, old->st_gid) != 0 ||
         fchmod(fd, old->st_mode & 07777) != 0)) {
        close(fd);
        unlink(w->fresh);
        fd = -1;
        errno = EPERM;
    }
    if (fd < 0) {
        int error = errno;

        ml_heap_free(w->fresh);
        w->fresh = NULL;
        errno = error;
    }
    return fd;
}

static void open_replacement(ml_FileOut *w, const struct stat *old, mode_t mode)
{
    int fd = old && old->st_nlink > 1 ? -1 : open_beside(w, old, mode);

    if (fd >= 0) {
        w->stream = fdopen(fd, "w");
        if (!w->stream)
            close(fd);
    } else if (old &&
               (old->st_nlink > 1 || errno == EACCES || errno == EPERM || errno == EROFS)) {
        w->stream = tmpfile();
        w->copied = true;
        w->was = old->st_size;
    }
}

void ml_file_begin(ml_FileOut *w, const char *path, unsigned mode)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;

    *w = (ml_FileOut){0};
    errno = 0;
    if (exists && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (exists && S_ISREG(st.st_mode) && !is_place(path)) {
        char *real = access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;

        if (real) {
            w->path = copy_text(real);
            free(real); /* NOLINT: realpath's own */
            open_replacement(w, &st, 0600);
        }
    } else if (exists || is_place(path) || lstat(path, &st) == 0) /* or a link to nothing */
        w->stream = fopen(path, "we");
    else {
        w->path = copy_text(path);
        open_replacement(w, NULL, mode);
    }
    if (!w->stream)
        fail(w);
}

void ml_file_add(ml_FileOut *w, const void *p, size_t n)
{
    errno = 0;
    if (!w->error && n > 0 && fwrite(p, 1, n, w->stream) != n)
        fail(w);
}

/* All of the temporary file over the old one, whose bytes stay until there is room. */
static bool copy_over(ml_FileOut *w)
{
    FILE *from = w->stream;
    int fd = open(w->path, O_WRONLY | O_CLOEXEC);
    int64_t n = ftello(from), at = 0;
    char part[16384];
    size_t k = 1;
    bool ok = fd >= 0 && n >= 0;

    if (ok && n > w->was && (errno = posix_fallocate(fd, w->was, n - w->was)) != 0) {
        int error = errno;

        ok = ftruncate(fd, w->was) == 0 && false;
        errno = error;
    }
    rewind(from);
    while (ok && (k = fread(part, 1, sizeof part, from)) > 0) {
        ok = pwrite(fd, part, k, at) == (ssize_t)k;
        at += (int64_t)k;
    }
    ok = ok && !ferror(from) && ftruncate(fd, n) == 0;
    if (!ok)
        fail(w);
    if (fd >= 0 && close(fd) != 0)
        fail(w);
    return !w->error;
}

bool ml_file_end(ml_FileOut *w)
{
    FILE *f = w->stream;

    errno = 0;
    if (f && (fflush(f) != 0 || ferror(f)))
        fail(w);
    if (!w->error && w->copied)
        copy_over(w);
    if (!w->error && w->fresh && fsync(fileno(f)) != 0 && errno != EINVAL)
        fail(w); /* some file systems notice only now that they are full */
    errno = 0;
    if (f && fclose(f) != 0)
        fail(w);
    if (!w->error && w->fresh && rename(w->fresh, w->path) != 0)
        fail(w);
    if (w->error && w->fresh)
        unlink(w->fresh);
    ml_heap_free(w->fresh);
    ml_heap_free(w->path);
    w->stream = NULL;
    w->fresh = w->path = NULL;
    errno = w->error;
    return w->error == 0;
}

static bool write_whole(const char *path, unsigned mode, const void *p, size_t n)
{
    ml_FileOut w;

    ml_file_begin(&w, path, mode);
    ml_file_add(&w, p, n);
    return ml_file_end(&w);
}

bool ml_file_write(const char *path, const void *p, size_t n)
{
    return write_whole(path, 0666, p, n);
}

bool ml_file_write_own(const char *path, const void *p, size_t n)
{
    return write_whole(path, 0600, p, n);
}
