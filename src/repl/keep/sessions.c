/*
 * sessions - the folder of autosaves and crash reports (sessions.h).
 *
 * A session holds a lock on its file; the kernel takes the lock away when the session ends,
 * however it ends, so that a file without one is an orphan. A file gets its name when it is
 * locked already. Source: interaction 2, 6.
 */
#include "repl/keep/sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "repl/screen/write_all.h"

bool ml_sessions_folder(ml_Text *out)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && *state == '/')
        ml_text_fmt(out, "%s/moonloop/sessions", state);
    else if (home && *home == '/')
        ml_text_fmt(out, "%s/.local/state/moonloop/sessions", home);
    return out->n > 0;
}

bool ml_sessions_make(const char *folder)
{
    ml_Text t = {0};
    bool ok;
    int error;

    ml_text_fmt(&t, "%s/", folder);
    ok = ml_file_folders(t.p) == 0;
    error = errno;
    ml_text_free(&t);
    errno = error;
    return ok;
}

void ml_sessions_name(const char *folder, ml_Text *out)
{
    time_t now = time(NULL);
    struct tm tm;
    char when[32] = "0";

    if (localtime_r(&now, &tm))
        strftime(when, sizeof when, "%Y%m%dT%H%M%S", &tm);
    ml_text_fmt(out, "%s/%s-%ld", folder, when, (long)getpid());
}

bool ml_sessions_create(const char *path, int *fd)
{
    ml_Text tmp = {0};
    bool ok;

    ml_text_fmt(&tmp, "%s.new", path);
    *fd = open(ml_text_z(&tmp), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    ok = *fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) == 0 &&
         ml_write_all(*fd, ML_SAVE_HEAD, strlen(ML_SAVE_HEAD)) &&
         rename(ml_text_z(&tmp), path) == 0;
    if (!ok) {
        int error = errno;

        if (*fd >= 0) {
            unlink(ml_text_z(&tmp));
            close(*fd);
        }
        *fd = -1;
        errno = error;
    }
    ml_text_free(&tmp);
    return ok;
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
    char buf[1025];
    size_t n = size < 1024 ? (size_t)size : 1024;
    ssize_t got = pread(fd, buf, n, size - (off_t)n);
    char *end, *p, *name;

    if (got <= 0)
        return;
    buf[got] = '\0';
    if (memchr(buf, '\0', (size_t)got)) /* binary: nothing of ours */
        return;
    end = strrchr(buf, '\n');
    if (!end)
        return;
    *end = '\0';
    p = NULL;
    for (char *q = strstr(buf, "\"name\": \""); q; q = strstr(q + 1, "\"name\": \""))
        p = q;
    if (!p)
        return;
    name = p + strlen("\"name\": \"");
    p = strstr(name, "\", \"steps\": ");
    if (!p)
        return;
    *p = '\0';
    o->steps = strtol(p + strlen("\", \"steps\": "), NULL, 10);
    snprintf(o->name, sizeof o->name, "%s", name);
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
    if (x->when_ns != y->when_ns)
        return x->when_ns < y->when_ns ? 1 : -1;
    return -strcmp(x->path, y->path);
}

static void look_at(const char *folder, const char *file, ml_Orphans *out)
{
    ml_Text path = {0};
    struct stat st;
    int fd;

    ml_text_fmt(&path, "%s/%s", folder, file);
    fd = ml_orphan_claim(ml_text_z(&path));
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        bool ended = ends_with(file, ML_ENDED_SUFFIX);

        if (!ended && !ends_with(file, ML_SAVE_SUFFIX))
            unlink(ml_text_z(&path)); /* it never got its name: nothing is in it */
        else {
            ml_Orphan o = {.when = st.st_mtim.tv_sec,
                           .when_ns = st.st_mtim.tv_nsec,
                           .size = st.st_size,
                           .ended = ended};

            read_tail(fd, st.st_size, &o);
            o.path = ml_heap_zalloc(path.n + 1);
            memcpy(o.path, ml_text_z(&path), path.n);
            out->v = ml_heap_grow(out->v, (out->n + 1) * sizeof *out->v);
            out->v[out->n++] = o;
        }
    }
    if (fd >= 0)
        close(fd);
    ml_text_free(&path);
}

void ml_orphans_find(ml_Orphans *out, size_t *n_lost)
{
    ml_Text folder = {0};
    DIR *d = ml_sessions_folder(&folder) ? opendir(ml_text_z(&folder)) : NULL;

    *out = (ml_Orphans){0};
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (ends_with(e->d_name, ML_SAVE_SUFFIX) || ends_with(e->d_name, ML_ENDED_SUFFIX) ||
            ends_with(e->d_name, ML_SAVE_SUFFIX ".new"))
            look_at(ml_text_z(&folder), e->d_name, out);
    if (d)
        closedir(d);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, newer_first);
    for (size_t k = 0; n_lost && k < out->n; k++)
        *n_lost += !out->v[k].ended;
    ml_text_free(&folder);
}

void ml_orphans_prune(void)
{
    enum { KEPT = 20 };
    size_t n = 0;
    ml_Orphans o;

    ml_orphans_find(&o, NULL);
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
    time_t now = time(NULL);
    struct tm then, today;
    char z[64];

    if (!localtime_r(&o->when, &then) || !localtime_r(&now, &today))
        return;
    bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;

    strftime(z, sizeof z, same_day ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
    ml_text_add(out, z);
}
