/*
 * history - the entries that were typed, and the file that keeps them over sessions.
 *
 * One entry is one line of the file: a newline within is written as \n, a backslash as \\.
 * A line \!ENTRY says that the newest such entry failed, \=ENTRY that it did not after all.
 * `offset` is how far the file has been read; before an entry is appended, what others
 * wrote since is read. A file that has grown too long is cut to the newest entries when it
 * is opened. A lock that cannot be had soon is an error, never a wait. Source:
 * interaction 4.
 */
#include "repl/keep/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/file.h"
#include "repl/keep/sessions.h"
#include "repl/screen/write_all.h"

enum {
    SLACK = 2000,          /* entries above the maximum before the file is cut */
    FILE_LIMIT = 64 << 20, /* bytes: a larger file is none of ours */
    LOCK_TRIES = 100,      /* of 5 ms each */
};

typedef struct Entry {
    char *text;
    bool failed; /* when it ran the last time */
} Entry;

struct ml_History {
    Entry *v;
    size_t n, cap;
    int fd; /* -1: no file */
    off_t offset;
    size_t lines; /* of the file, read so far */
};

ml_History *ml_history_new(void)
{
    ml_History *h = ml_heap_zalloc(sizeof *h);

    h->fd = -1;
    return h;
}

void ml_history_free(ml_History *h)
{
    if (!h)
        return;
    for (size_t k = 0; k < h->n; k++)
        ml_heap_free(h->v[k].text);
    ml_heap_free(h->v);
    if (h->fd >= 0)
        close(h->fd);
    ml_heap_free(h);
}

size_t ml_history_count(const ml_History *h)
{
    return h->n;
}

const char *ml_history_at(const ml_History *h, size_t k)
{
    ML_ASSERT(k < h->n);
    return h->v[k].text;
}

bool ml_history_failed(const ml_History *h, size_t k)
{
    ML_ASSERT(k < h->n);
    return h->v[k].failed;
}

/* ---- entries */

static bool repeats(const ml_History *h, const char *p, size_t n)
{
    const char *last = h->n ? h->v[h->n - 1].text : NULL;

    return last && strlen(last) == n && memcmp(last, p, n) == 0;
}

/* False: the entry repeats the last one. */
static bool push(ml_History *h, const char *p, size_t n)
{
    if (repeats(h, p, n))
        return false;
    if (h->n >= ML_HISTORY_MAX + SLACK) {
        size_t drop = h->n - ML_HISTORY_MAX + 1;

        for (size_t k = 0; k < drop; k++)
            ml_heap_free(h->v[k].text);
        memmove(h->v, h->v + drop, (h->n - drop) * sizeof *h->v);
        h->n -= drop;
    }
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 64;
        h->v = ml_heap_grow(h->v, h->cap * sizeof *h->v);
    }
    char *z = ml_heap_zalloc(n + 1);

    memcpy(z, p, n);
    h->v[h->n++] = (Entry){.text = z};
    return true;
}

/* Of the newest entry of that text; whether it was otherwise. */
static bool judge(ml_History *h, const char *p, size_t n, bool failed)
{
    enum { NEAR = 200 }; /* entries of other sessions may stand behind it */

    for (size_t k = h->n; k-- > 0 && k + NEAR >= h->n;) {
        Entry *e = &h->v[k];

        if (strlen(e->text) != n || memcmp(e->text, p, n) != 0)
            continue;
        bool was = e->failed;

        e->failed = failed;
        return was != failed;
    }
    return false;
}

static void encode(ml_Text *out, const char *entry)
{
    for (; *entry; entry++) {
        if (*entry == '\n')
            ml_text_add(out, "\\n");
        else if (*entry == '\\')
            ml_text_add(out, "\\\\");
        else
            ml_text_char(out, *entry);
    }
    ml_text_char(out, '\n');
}

static void decode_line(ml_History *h, const char *p, size_t n)
{
    ml_Text t = {0};
    char mark = n > 1 && p[0] == '\\' && (p[1] == '!' || p[1] == '=') ? p[1] : 0;

    p += mark ? 2 : 0;
    n -= mark ? 2 : 0;
    for (size_t k = 0; k < n; k++) {
        if (p[k] == '\\' && k + 1 < n) {
            k++;
            ml_text_char(&t, p[k] == 'n' ? '\n' : p[k]);
        } else if (p[k] != '\0')
            ml_text_char(&t, p[k]);
    }
    if (t.n && mark)
        judge(h, t.p, t.n, mark == '!');
    else if (t.n)
        push(h, t.p, t.n);
    ml_text_free(&t);
}

/* ---- the file */

static bool lock(int fd, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET};

    for (int k = 0; k < LOCK_TRIES; k++) {
        if (fcntl(fd, F_SETLK, &l) == 0)
            return true;
        if (errno != EACCES && errno != EAGAIN && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return false;
}

/* errno stays. */
static void unlock(int fd)
{
    int error = errno;

    lock(fd, F_UNLCK);
    errno = error;
}

/* Reads whole lines from h->offset to the end. false: errno says why. */
static bool read_rest(ml_History *h)
{
    struct stat st;

    if (fstat(h->fd, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_LIMIT) {
        errno = EFBIG;
        return false;
    }
    if (st.st_size < h->offset) /* another session cut it: what is in it we have */
        h->offset = st.st_size;
    size_t n = (size_t)(st.st_size - h->offset), got = 0;
    char *buf = ml_heap_zalloc(n + 1);

    while (got < n) {
        ssize_t k = pread(h->fd, buf + got, n - got, h->offset + (off_t)got);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            break;
        got += (size_t)k;
    }
    const char *p = buf;

    for (const char *end; (end = memchr(p, '\n', got - (size_t)(p - buf))) != NULL;
         p = end + 1) {
        decode_line(h, p, (size_t)(end - p));
        h->lines++;
    }
    h->offset += (off_t)(p - buf);
    ml_heap_free(buf);
    return true;
}

/* Under the lock: leaves the newest entries in the file. They are written over its
 * beginning, for bytes that it has already need no room on the disk, and other sessions keep
 * it open. */
static bool cut_file(ml_History *h)
{
    int flags = fcntl(h->fd, F_GETFL);
    ml_Text t = {0};

    for (size_t k = h->n > ML_HISTORY_MAX ? h->n - ML_HISTORY_MAX : 0; k < h->n; k++) {
        encode(&t, h->v[k].text);
        if (h->v[k].failed) {
            ml_text_add(&t, "\\!");
            encode(&t, h->v[k].text);
        }
    }
    bool ok = !t.bad && flags >= 0 && fcntl(h->fd, F_SETFL, flags & ~O_APPEND) == 0 &&
              lseek(h->fd, 0, SEEK_SET) == 0 && ml_write_all(h->fd, ml_text_z(&t), t.n) &&
              ftruncate(h->fd, (off_t)t.n) == 0;
    int error = errno;

    fcntl(h->fd, F_SETFL, flags);
    h->offset = (off_t)t.n;
    ml_text_free(&t);
    errno = error;
    return ok;
}

static bool give_up(ml_History *h, ml_Text *why, const char *path, int error)
{
    ml_text_fmt(why, "no history is kept: %s: %s", path, strerror(error));
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    return false;
}

bool ml_history_attach(ml_History *h, const char *path, ml_Text *why)
{
    ml_Text t = {0};

    if (path)
        ml_text_add(&t, path);
    else if (!ml_state_path("history", &t)) {
        ml_text_add(why, "no history is kept: neither XDG_STATE_HOME nor HOME is set");
        return false;
    }
    bool ok = !t.bad && t.n > 0 && ml_file_folders(t.p) == 0;

    if (ok)
        h->fd = open(t.p, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                     0600);
    ok = ok && h->fd >= 0 && lock(h->fd, F_WRLCK);
    if (ok) {
        h->offset = 0;
        ok = read_rest(h) && (h->lines < ML_HISTORY_MAX + SLACK || cut_file(h));
        unlock(h->fd);
    }
    if (!ok)
        give_up(h, why, ml_text_z(&t), errno);
    ml_text_free(&t);
    return ok;
}

/* Under the lock: an entry, or (mark) what became of one, behind what others have typed. */
static bool append(ml_History *h, const char *mark, const char *entry, size_t n)
{
    bool ok = read_rest(h);
    bool news = *mark ? judge(h, entry, n, *mark == '!') : push(h, entry, n);
    ml_Text t = {0}, text = {0};

    if (news && ok) {
        off_t end = lseek(h->fd, 0, SEEK_END);

        if (end > h->offset) /* a line that was never finished */
            ml_text_char(&t, '\n');
        if (*mark)
            ml_text_fmt(&t, "\\%s", mark);
        ml_text_addn(&text, entry, n);
        encode(&t, ml_text_z(&text));
        ok = end >= 0 && ml_write_all(h->fd, ml_text_z(&t), t.n);
        if (ok)
            h->offset = end + (off_t)t.n;
    }
    ml_text_free(&t);
    ml_text_free(&text);
    return ok;
}

static size_t length_of(const char *entry)
{
    size_t n = strlen(entry);

    while (n > 0 && strchr("\n \t", entry[n - 1]))
        n--;
    return n;
}

/* Appends to the file, or where there is none to what is held alone. */
static bool keep(ml_History *h, const char *mark, const char *entry, size_t n, ml_Text *why)
{
    if (h->fd < 0 || !lock(h->fd, F_WRLCK)) {
        int error = errno;

        if (*mark)
            judge(h, entry, n, *mark == '!');
        else
            push(h, entry, n);
        return h->fd < 0 || give_up(h, why, "the history file", error);
    }
    bool ok = append(h, mark, entry, n);

    unlock(h->fd);
    return ok || give_up(h, why, "the history file", errno);
}

bool ml_history_add(ml_History *h, const char *entry, ml_Text *why)
{
    size_t n = length_of(entry);

    return n == 0 || *entry == ' ' || repeats(h, entry, n) || keep(h, "", entry, n, why);
}

bool ml_history_judge(ml_History *h, const char *entry, bool ok, ml_Text *why)
{
    size_t n = length_of(entry);

    for (size_t k = h->n; k-- > 0 && n > 0 && *entry != ' ';)
        if (strlen(h->v[k].text) == n && memcmp(h->v[k].text, entry, n) == 0)
            return h->v[k].failed == !ok || keep(h, ok ? "=" : "!", entry, n, why);
    return true;
}
