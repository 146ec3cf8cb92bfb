/* pack - fields, frames, descriptors. A frame is {magic, kind, bytes, descriptors} and its
 * body; the descriptors travel with the header. */
#include "moonloop/codegen/worker/pack.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAGIC = 0x6d6c6672, BODY_LIMIT = 1 << 30 };

typedef struct Header {
    uint32_t magic, kind;
    uint64_t n;
    uint32_t n_fds, zero;
} Header;

/* ---------------------------------------------------------------- writing */

void ml_pack_free(ml_Pack *p)
{
    free(p->v);
    *p = (ml_Pack){0};
}

void ml_pack_bytes(ml_Pack *p, const void *v, size_t n)
{
    if (p->bad || n == 0)
        return;
    if (p->n + n > p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        uint8_t *w;

        while (cap < p->n + n)
            cap *= 2;
        w = realloc(p->v, cap);
        if (w == NULL) {
            p->bad = true;
            return;
        }
        p->v = w;
        p->cap = cap;
    }
    memcpy(p->v + p->n, v, n);
    p->n += n;
}

void ml_pack_u64(ml_Pack *p, uint64_t v)
{
    ml_pack_bytes(p, &v, sizeof v);
}

void ml_pack_f64(ml_Pack *p, double v)
{
    ml_pack_bytes(p, &v, sizeof v);
}

void ml_pack_blob(ml_Pack *p, const void *v, size_t n)
{
    ml_pack_u64(p, n);
    ml_pack_bytes(p, v, n);
}

void ml_pack_str(ml_Pack *p, const char *z)
{
    ml_pack_u64(p, z ? strlen(z) + 1 : 0);
    if (z)
        ml_pack_bytes(p, z, strlen(z) + 1);
}

/* ---------------------------------------------------------------- reading */

const void *ml_unpack_bytes(ml_Unpack *u, size_t n)
{
    if (u->bad || n > u->n - u->at) {
        u->bad = true;
        return NULL;
    }
    u->at += n;
    return u->v + (u->at - n);
}

uint64_t ml_unpack_u64(ml_Unpack *u)
{
    const void *v = ml_unpack_bytes(u, sizeof(uint64_t));
    uint64_t x = 0;

    if (v)
        memcpy(&x, v, sizeof x);
    return x;
}

double ml_unpack_f64(ml_Unpack *u)
{
    uint64_t x = ml_unpack_u64(u);
    double f;

    memcpy(&f, &x, sizeof f);
    return f;
}

const void *ml_unpack_blob(ml_Unpack *u, size_t *n)
{
    uint64_t k = ml_unpack_u64(u);

    *n = 0;
    if (u->bad || k > u->n - u->at) {
        u->bad = true;
        return NULL;
    }
    *n = (size_t)k;
    return ml_unpack_bytes(u, *n);
}

const char *ml_unpack_str(ml_Unpack *u)
{
    size_t n;
    const char *z = ml_unpack_blob(u, &n);

    if (z == NULL || n == 0)
        return NULL;
    if (z[n - 1] != '\0') {
        u->bad = true;
        return NULL;
    }
    return z;
}

/* ---------------------------------------------------------------- waiting */

/* Waits until fd is ready for `events`, or the other side is gone. */
static bool wait_for(int fd, short events, double deadline)
{
    for (;;) {
        struct pollfd pf = {.fd = fd, .events = events};
        int ms = -1, k;

        if (deadline > 0) {
            double left = deadline - ml_clock();

            if (left <= 0) {
                errno = ETIMEDOUT;
                return false;
            }
            ms = left > 1e6 ? 1000000000 : (int)(left * 1000.0) + 1;
        }
        k = poll(&pf, 1, ms);
        if (k > 0)
            return true;
        if (k < 0 && errno != EINTR)
            return false;
    }
}

/* Whether a call that failed is to be made again, after some waiting perhaps. */
static bool again(int fd, short events, double deadline)
{
    if (errno == EINTR)
        return true;
    return (errno == EAGAIN || errno == EWOULDBLOCK) && wait_for(fd, events, deadline);
}

/* ---------------------------------------------------------------- sending */

static bool send_all(int fd, double deadline, const void *v, size_t n)
{
    const uint8_t *p = v;

    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (k < 0 && again(fd, POLLOUT, deadline))
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static ssize_t send_header(int fd, double deadline, Header *h, const int *fds)
{
    union {
        char buf[CMSG_SPACE(sizeof(int) * ML_FRAME_FDS)];
        struct cmsghdr align;
    } control;
    struct iovec io = {h, sizeof *h};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    ssize_t k;

    if (h->n_fds > 0) {
        struct cmsghdr *c;

        memset(&control, 0, sizeof control);
        m.msg_control = control.buf;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * h->n_fds);
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * h->n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * h->n_fds);
    }
    do
        k = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (k < 0 && again(fd, POLLOUT, deadline));
    return k;
}

bool ml_frame_send(int fd, double deadline, uint32_t kind, const ml_Pack *p, const int *fds,
                   size_t n_fds)
{
    Header h = {MAGIC, kind, p ? p->n : 0, (uint32_t)n_fds, 0};
    ssize_t k;

    if (n_fds > ML_FRAME_FDS || (p && p->bad) || h.n > BODY_LIMIT) {
        errno = EMSGSIZE;
        return false;
    }
    k = send_header(fd, deadline, &h, fds);
    return k > 0 && send_all(fd, deadline, (const uint8_t *)&h + k, sizeof h - (size_t)k) &&
           (p == NULL || h.n == 0 || send_all(fd, deadline, p->v, p->n));
}

/* ---------------------------------------------------------------- receiving */

static bool receive_all(int fd, double deadline, void *v, size_t n)
{
    uint8_t *p = v;

    while (n > 0) {
        ssize_t k = recv(fd, p, n, MSG_DONTWAIT);

        if (k < 0 && again(fd, POLLIN, deadline))
            continue;
        if (k <= 0) {
            if (k == 0)
                errno = 0;
            return false;
        }
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static void take_fds(struct msghdr *m, ml_Frame *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t k = 0; k < n; k++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + k * sizeof(int), sizeof fd);
            if (out->n_fds < ML_FRAME_FDS)
                out->fds[out->n_fds++] = fd;
            else
                close(fd);
        }
    }
}

static bool receive_header(int fd, double deadline, Header *h, ml_Frame *out)
{
    union {
        char buf[CMSG_SPACE(sizeof(int) * ML_FRAME_FDS)];
        struct cmsghdr align;
    } control;
    struct iovec io = {h, sizeof *h};
    struct msghdr m = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = control.buf,
                       .msg_controllen = sizeof control.buf};
    ssize_t k;

    do
        k = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (k < 0 && again(fd, POLLIN, deadline));
    if (k <= 0) {
        if (k == 0)
            errno = 0;
        return false;
    }
    take_fds(&m, out);
    return receive_all(fd, deadline, (uint8_t *)h + k, sizeof *h - (size_t)k);
}

void ml_frame_free(ml_Frame *f)
{
    for (size_t k = 0; k < f->n_fds; k++)
        if (f->fds[k] >= 0)
            close(f->fds[k]);
    f->n_fds = 0;
    ml_pack_free(&f->body);
}

bool ml_frame_receive(int fd, double deadline, ml_Frame *out)
{
    Header h = {0};
    bool ok;
    int error;

    *out = (ml_Frame){0};
    ok = receive_header(fd, deadline, &h, out);
    if (ok && (h.magic != MAGIC || h.n > BODY_LIMIT || h.n_fds != out->n_fds)) {
        errno = EPROTO;
        ok = false;
    }
    if (ok) {
        out->kind = h.kind;
        out->body.n = out->body.cap = (size_t)h.n;
        out->body.v = malloc((size_t)h.n + 1);
        ok = out->body.v && receive_all(fd, deadline, out->body.v, (size_t)h.n);
    }
    if (ok)
        return true;
    error = errno;
    ml_frame_free(out);
    errno = error;
    return false;
}
