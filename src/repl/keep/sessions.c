/*
 * sessions - the folder of autosaves and crash reports (sessions.h).
 *
 * A session holds a lock on its file; the kernel takes the lock away when the session ends,
 * however it ends, so that a file without one is an orphan. A file gets its name when it is
 * locked and its first line is written. Source: interaction 2, 6.
 */
#include "repl/keep/sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/file.h"
#include "repl/screen/write_all.h"

#define NEW_SUFFIX ".new" /* what has no name yet */

bool ml_state_path(const char *name, ml_Text *out)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && *state == '/')
        ml_text_fmt(out, "%s/moonloop/%s", state, name);
    else if (home && *home == '/')
        ml_text_fmt(out, "%s/.local/state/moonloop/%s", home, name);
    return out->n > 0;
}

bool ml_sessions_name(ml_Text *out)
{
    time_t now = time(NULL);
    struct tm tm;
    char name[64] = "sessions/0";

    if (localtime_r(&now, &tm))
        strftime(name, sizeof name, "sessions/%Y%m%dT%H%M%S", &tm);
    if (!ml_state_path(name, out))
        return false;
    ml_text_fmt(out, "-%ld", (long)getpid());
    return true;
}

int ml_sessions_create(const char *path, const ml_Text *text)
{
    ml_Text tmp = {0};
    int fd = -1, error = 0;

    ml_text_fmt(&tmp, "%s" NEW_SUFFIX, path);
    if (ml_file_folders(tmp.p) == 0)
        fd = open(tmp.p, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 ||
        !ml_write_all(fd, text->p, text->n) || rename(tmp.p, path) != 0)
        error = errno;
    if (error && fd >= 0) {
        unlink(tmp.p);
        close(fd);
    }
    ml_text_free(&tmp);
    errno = error;
    return error ? -1 : fd;
}

uint32_t ml_sessions_sum(const char *p, size_t n)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (size_t k = 0; k < n; k++)
        h = (h ^ (unsigned char)p[k]) * 16777619u;
    return h;
}

/* ---- orphans */

int ml_orphan_claim(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && (errno == EACCES || errno == EROFS))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;

        close(fd);
        fd = -1;
        errno = error;
    }
    return fd;
}

/* Whole lines end with `"name": "matmul", "steps": 18}`; the last of them counts. */
static void read_tail(int fd, off_t size, ml_Orphan *o)
{
    static const char NAME[] = "\"name\": \"", STEPS[] = "\", \"steps\": ";
    char buf[1025], *end, *name = NULL;
    size_t n = size < 1024 ? (size_t)size : 1024;
    ssize_t got = pread(fd, buf, n, size - (off_t)n);

    buf[got > 0 ? got : 0] = '\0';
    if (got <= 0 || strlen(buf) < (size_t)got || !(end = strrchr(buf, '\n')))
        return; /* binary, or cut: nothing of ours */
    *end = '\0';
    for (char *q = buf; (q = strstr(q, NAME)) != NULL;)
        name = q += strlen(NAME);
    if (!name || !(end = strstr(name, STEPS)))
        return;
    snprintf(o->name, sizeof o->name, "%.*s", (int)(end - name), name);
    o->steps = strtol(end + strlen(STEPS), NULL, 10);
}

static bool ends_with(const char *z, const char *tail)
{
    size_t n = strlen(z), m = strlen(tail);

    return n > m && ml_streq(z + n - m, tail);
}

static int newer_first(const void *a, const void *b)
{
    const ml_Orphan *x = a, *y = b;

    if (x->when != y->when)
        return x->when < y->when ? 1 : -1;
    return -strcmp(x->path, y->path);
}

static void look_at(const char *folder, const char *file, ml_Orphans *out)
{
    bool ended = ends_with(file, ML_ENDED_SUFFIX), lost = ends_with(file, ML_SAVE_SUFFIX);
    ml_Text path = {0};
    struct stat st;

    if (!ended && !lost && !ends_with(file, ML_SAVE_SUFFIX NEW_SUFFIX))
        return;
    ml_text_fmt(&path, "%s/%s", folder, file);
    int fd = ml_orphan_claim(ml_text_z(&path));

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        ml_text_free(&path);
    else if (!ended && !lost) {
        enum { SOON = 60 }; /* seconds: it may be about to be locked */

        if (st.st_mtim.tv_sec + SOON < time(NULL))
            unlink(path.p); /* it never got its name: what is in it was told to nobody */
        ml_text_free(&path);
    } else {
        ml_Orphan o = {.path = path.p, .size = st.st_size, .ended = ended};

        o.when = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        read_tail(fd, st.st_size, &o);
        out->v = ml_heap_grow(out->v, (out->n + 1) * sizeof *out->v);
        out->v[out->n++] = o;
        out->n_lost += lost;
    }
    if (fd >= 0)
        close(fd);
}

void ml_orphans_find(ml_Orphans *out)
{
    ml_Text folder = {0};
    DIR *d = ml_state_path("sessions", &folder) ? opendir(folder.p) : NULL;

    *out = (ml_Orphans){0};
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        look_at(folder.p, e->d_name, out);
    if (d)
        closedir(d);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, newer_first);
    ml_text_free(&folder);
}

void ml_orphans_prune(void)
{
    enum { KEPT = 20 };
    size_t n = 0;
    ml_Orphans o;

    ml_orphans_find(&o);
    for (size_t k = 0; k < o.n; k++)
        if (o.v[k].ended && ++n > KEPT)
            unlink(o.v[k].path);
    ml_orphans_free(&o);
}

void ml_orphans_free(ml_Orphans *o)
{
    for (size_t k = 0; k < o->n; k++)
        ml_heap_free(o->v[k].path);
    ml_heap_free(o->v);
    *o = (ml_Orphans){0};
}

void ml_orphan_when(const ml_Orphan *o, ml_Text *out)
{
    time_t now = time(NULL), when = (time_t)(o->when / 1000000000);
    struct tm then, today;
    char z[64];

    if (!localtime_r(&when, &then) || !localtime_r(&now, &today))
        return;
    bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;

    strftime(z, sizeof z, same_day ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
    ml_text_add(out, z);
}
