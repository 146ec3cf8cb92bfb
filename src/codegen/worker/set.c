/* set - memfds and their mappings. */
#define _GNU_SOURCE /* NOLINT: memfd_create */
#include "moonloop/codegen/worker/set.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xC5, ALIGN = 64, HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20 };

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---------------------------------------------------------------- making */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Of an owner's file the memory is given back at once, though workers have it open. */
static void drop_file(int fd, bool owner)
{
    if (owner && fd >= 0 && ftruncate(fd, 0) != 0)
        errno = 0; /* it goes when the last descriptor does */
    close_fd(fd);
}

void ml_life_drop(ml_SetLife *l)
{
    if (l && atomic_fetch_sub(&l->refs, 1) == 1)
        free(l);
}

void ml_workset_free(ml_WorkSet *s)
{
    if (s == NULL)
        return;
    for (uint32_t k = 0; k < s->n; k++) {
        ml_SetArg *a = &s->args[k];

        free(a->shape);
        drop_file(a->initial, s->life);
        drop_file(a->expected, s->life);
        drop_file(a->output, s->life);
    }
    if (s->life)
        atomic_store(&s->life->over, true);
    ml_life_drop(s->life);
    free(s->args);
    free(s);
}

static void layout(ml_SetArg *a)
{
    size_t p = page();

    a->mapped = (a->bytes + p - 1) / p * p;
    if (a->mapped == 0)
        a->mapped = p;
    a->start = (a->mapped - a->bytes) & ~(size_t)(ALIGN - 1);
}

static int file_of(const ml_SetArg *a)
{
    int fd = memfd_create("moonloop", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)a->mapped) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool write_at(int fd, const void *v, size_t n, size_t at)
{
    const uint8_t *p = v;

    while (n > 0) {
        ssize_t k = pwrite(fd, p, n, (off_t)at);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        at += (size_t)k;
        n -= (size_t)k;
    }
    return true;
}

bool ml_set_write(const ml_SetArg *a, int fd, const void *data)
{
    return write_at(fd, data, a->bytes, a->start);
}

static bool read_at(int fd, void *v, size_t n, size_t at)
{
    uint8_t *p = v;

    while (n > 0) {
        ssize_t k = pread(fd, p, n, (off_t)at);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        at += (size_t)k;
        n -= (size_t)k;
    }
    return true;
}

static bool fill_canaries(int fd, size_t from, size_t to)
{
    uint8_t band[512];

    memset(band, CANARY, sizeof band);
    for (; from < to; from += sizeof band)
        if (!write_at(fd, band, to - from < sizeof band ? to - from : sizeof band, from))
            return false;
    return true;
}

/* Writes contents and canaries. */
static bool fill_file(const ml_SetArg *a, int fd, const void *data)
{
    return ml_set_write(a, fd, data) && fill_canaries(fd, 0, a->start) &&
           fill_canaries(fd, a->start + a->bytes, a->mapped);
}

static bool no_memory(ml_Ctx *cx, const ml_SetArg *a)
{
    return ml_fail(cx, ML_E_TOO_LARGE,
                   ML_TEXT(ml_format(cx, "no shared memory for %zu bytes of arguments: %s",
                                     a->mapped, strerror(errno))));
}

static bool make_tensor(ml_Ctx *cx, ml_SetArg *a, const ml_WorkArg *from)
{
    ml_Tensor *poison = NULL;
    const ml_Tensor *init = from->initial;
    bool ok;

    if (init == NULL) {
        poison = ml_tensor_new(cx, from->type, from->shape, from->rank);
        if (poison == NULL)
            return false;
        ml_tensor_fill(poison, ML_FILL_POISON, "", 0, 1, 0, 0);
        init = poison;
    }
    a->bytes = init->bytes;
    layout(a);
    a->initial = file_of(a);
    ok = a->initial >= 0 && fill_file(a, a->initial, init->data);
    if (ok && from->expected) {
        ML_ASSERT(from->expected->bytes == a->bytes);
        a->expected = file_of(a);
        ok = a->expected >= 0 && fill_file(a, a->expected, from->expected->data);
    }
    if (ok && a->written) {
        a->output = file_of(a);
        ok = a->output >= 0;
    }
    ml_tensor_free(poison);
    return ok || no_memory(cx, a);
}

static ml_WorkSet *set_new(uint64_t id, uint32_t n)
{
    ml_WorkSet *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->id = id;
    s->n = n;
    s->args = calloc(n + 1u, sizeof *s->args);
    if (s->args == NULL) {
        free(s);
        return NULL;
    }
    for (uint32_t k = 0; k < n; k++)
        s->args[k].initial = s->args[k].expected = s->args[k].output = -1;
    return s;
}

ml_WorkSet *ml_workset_new(ml_Ctx *cx, const ml_WorkArg *args, uint32_t n)
{
    static atomic_uint_fast64_t last;
    ml_WorkSet *s = set_new(atomic_fetch_add(&last, 1) + 1, n);

    if (s == NULL || (s->life = calloc(1, sizeof *s->life)) == NULL)
        ml_out_of_memory();
    atomic_store(&s->life->refs, 1);
    for (uint32_t k = 0; k < n; k++) {
        ml_SetArg *a = &s->args[k];

        a->is_tensor = args[k].is_tensor;
        a->i = args[k].scalar.i;
        a->f = args[k].scalar.f;
        a->type = args[k].type;
        if (!a->is_tensor)
            continue;
        a->written = args[k].written;
        a->poison = args[k].initial == NULL;
        a->compared = args[k].expected != NULL;
        a->tolerance = args[k].tolerance;
        a->rank = args[k].rank;
        a->shape = calloc(a->rank + 1u, sizeof *a->shape);
        if (a->shape == NULL)
            ml_out_of_memory();
        for (uint32_t r = 0; r < a->rank; r++)
            a->shape[r] = args[k].shape[r];
        if (!make_tensor(cx, a, &args[k])) {
            ml_workset_free(s);
            return NULL;
        }
    }
    return s;
}

bool ml_workset_expect(ml_Ctx *cx, ml_WorkSet *s, uint32_t k, const ml_Tensor *expected,
                       ml_Tolerance tolerance)
{
    ml_SetArg *a = &s->args[k];

    ML_ASSERT(a->is_tensor && expected->bytes == a->bytes);
    if (a->expected < 0)
        a->expected = file_of(a);
    if (a->expected < 0 || !fill_file(a, a->expected, expected->data))
        return no_memory(cx, a);
    a->compared = true;
    a->tolerance = tolerance;
    s->version++;
    return true;
}

bool ml_workset_fill(const ml_WorkSet *s, uint32_t k, const ml_Tensor *content)
{
    const ml_SetArg *a = &s->args[k];

    ML_ASSERT(k < s->n && a->is_tensor && content->bytes == a->bytes);
    return ml_set_write(a, a->initial, content->data);
}

void ml_workset_number(ml_WorkSet *s, uint32_t k, ml_RunArg value)
{
    ml_SetArg *a = &s->args[k];

    ML_ASSERT(k < s->n && !a->is_tensor);
    if (a->i == value.i && memcmp(&a->f, &value.f, sizeof a->f) == 0)
        return;
    a->i = value.i;
    a->f = value.f;
    s->version++;
}

bool ml_workset_output(const ml_WorkSet *s, uint32_t k, ml_Tensor *into)
{
    const ml_SetArg *a = &s->args[k];

    if (k >= s->n || !a->is_tensor || into->bytes != a->bytes)
        return false;
    return read_at(a->output >= 0 ? a->output : a->initial, into->data, a->bytes, a->start);
}

/* ---------------------------------------------------------------- passing on */

bool ml_set_send(int fd, double deadline, const ml_WorkSet *s)
{
    ml_Pack p = {0};
    bool ok;

    ml_pack_u64(&p, s->id);
    ml_pack_u64(&p, s->version);
    ml_pack_u64(&p, s->n);
    ok = ml_frame_send(fd, deadline, ML_FRAME_SET, &p, NULL, 0);
    for (uint32_t k = 0; k < s->n && ok; k++) {
        const ml_SetArg *a = &s->args[k];
        int fds[3];
        size_t n = 0;

        p.n = 0;
        ml_pack_u64(&p, (a->is_tensor ? 1u : 0) | (a->written ? 2u : 0) |
                            (a->compared ? 4u : 0) | (a->poison ? 8u : 0) |
                            (a->expected >= 0 ? 16u : 0) | (a->output >= 0 ? 32u : 0) |
                            (a->tolerance.exact ? 64u : 0));
        ml_pack_u64(&p, (uint64_t)a->i);
        ml_pack_f64(&p, a->f);
        ml_pack_u64(&p, a->type.code);
        ml_pack_u64(&p, a->type.bits);
        ml_pack_u64(&p, a->type.lanes);
        ml_pack_u64(&p, a->rank);
        ml_pack_bytes(&p, a->shape, a->rank * sizeof *a->shape);
        ml_pack_u64(&p, a->bytes);
        ml_pack_f64(&p, a->tolerance.rtol);
        ml_pack_f64(&p, a->tolerance.atol);
        if (a->is_tensor)
            fds[n++] = a->initial;
        if (a->expected >= 0)
            fds[n++] = a->expected;
        if (a->output >= 0)
            fds[n++] = a->output;
        ok = ml_frame_send(fd, deadline, ML_FRAME_ARG, &p, fds, n);
    }
    ml_pack_free(&p);
    return ok;
}

bool ml_set_send_forget(int fd, double deadline, uint64_t id)
{
    ml_Pack p = {0};
    bool ok;

    ml_pack_u64(&p, id);
    ok = ml_frame_send(fd, deadline, ML_FRAME_FORGET, &p, NULL, 0);
    ml_pack_free(&p);
    return ok;
}

static bool take_shape(ml_SetArg *a, ml_Unpack *u)
{
    uint64_t rank = ml_unpack_u64(u);
    int64_t n = 1;

    if (rank > 4096 || rank > u->n / sizeof *a->shape)
        return false;
    a->rank = (uint32_t)rank;
    a->shape = calloc(a->rank + 1u, sizeof *a->shape);
    for (uint32_t r = 0; a->shape && r < a->rank; r++) {
        a->shape[r] = (int64_t)ml_unpack_u64(u);
        if (a->shape[r] < 0 || __builtin_mul_overflow(n, a->shape[r], &n))
            return false;
    }
    if (__builtin_mul_overflow(n, (int64_t)(a->type.lanes * ml_lane_bytes(a->type)), &n))
        return false;
    a->bytes = (size_t)ml_unpack_u64(u);
    return !u->bad && a->shape && (!a->is_tensor || a->bytes == (size_t)n) &&
           a->bytes < (size_t)1 << 47;
}

/* Whether the file is as large as the layout says. It is not once its owner has freed the
 * set, which may be before the set has come to the end of its way: that is no error, as no
 * job is about it any more. So it is asked when the contents are needed. (Not fstat: to the
 * system that is a look at a path, which a runner in its cage must not have.) */
static bool is_whole(const ml_SetArg *a, int fd)
{
    return lseek(fd, 0, SEEK_END) >= (off_t)a->mapped;
}

static int take_fd(ml_Frame *f, size_t *at)
{
    int fd;

    if (*at >= f->n_fds)
        return -1;
    fd = f->fds[*at];
    f->fds[(*at)++] = -1;
    return fd;
}

static bool receive_arg(ml_SetArg *a, ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    uint64_t flags = ml_unpack_u64(&u), code, bits, lanes;
    size_t at = 0;
    bool ok;

    a->is_tensor = flags & 1;
    a->written = flags & 2;
    a->compared = flags & 4;
    a->poison = flags & 8;
    a->i = (int64_t)ml_unpack_u64(&u);
    a->f = ml_unpack_f64(&u);
    code = ml_unpack_u64(&u);
    bits = ml_unpack_u64(&u);
    lanes = ml_unpack_u64(&u);
    if (code > ML_VOID || bits > 64 || lanes > UINT16_MAX)
        return false;
    a->type =
        (ml_Dtype){.code = (uint8_t)code, .bits = (uint8_t)bits, .lanes = (uint16_t)lanes};
    ok = take_shape(a, &u);
    a->tolerance.rtol = ml_unpack_f64(&u);
    a->tolerance.atol = ml_unpack_f64(&u);
    a->tolerance.exact = flags & 64;
    if (!ok || u.bad)
        return false;
    layout(a);
    if (a->is_tensor && (a->initial = take_fd(f, &at)) < 0)
        return false;
    if ((flags & 16) && (a->expected = take_fd(f, &at)) < 0)
        return false;
    if ((flags & 32) && (a->output = take_fd(f, &at)) < 0)
        return false;
    return at == f->n_fds && (!a->compared || a->expected >= 0);
}

ml_WorkSet *ml_set_receive(int fd, const ml_Frame *first)
{
    ml_Unpack u = {.v = first->body.v, .n = first->body.n};
    uint64_t id = ml_unpack_u64(&u), version = ml_unpack_u64(&u), n = ml_unpack_u64(&u);
    ml_WorkSet *s = u.bad || n > 65536 ? NULL : set_new(id, (uint32_t)n);

    if (s == NULL) {
        errno = EPROTO;
        return NULL;
    }
    s->version = version;
    for (uint32_t k = 0; k < s->n; k++) {
        ml_Frame f;
        bool ok;

        if (!ml_frame_receive(fd, 0, &f)) {
            ml_workset_free(s);
            return NULL;
        }
        ok = f.kind == ML_FRAME_ARG && receive_arg(&s->args[k], &f);
        ml_frame_free(&f);
        if (!ok) {
            ml_workset_free(s);
            errno = EPROTO;
            return NULL;
        }
    }
    return s;
}

/* ---------------------------------------------------------------- those that are known */

ml_WorkSet *ml_sets_find(const ml_Sets *s, uint64_t id)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->v[k]->id == id)
            return s->v[k];
    return NULL;
}

void ml_sets_forget(ml_Sets *s, uint64_t id)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->v[k]->id == id) {
            ml_workset_free(s->v[k]);
            s->v[k] = s->v[--s->n];
            return;
        }
}

bool ml_sets_put(ml_Sets *s, ml_WorkSet *set)
{
    ml_WorkSet **more;

    ml_sets_forget(s, set->id);
    more = realloc(s->v, (s->n + 1) * sizeof(ml_WorkSet *));
    if (more == NULL)
        return false;
    s->v = more;
    s->v[s->n++] = set;
    return true;
}

void ml_sets_free(ml_Sets *s)
{
    for (size_t k = 0; k < s->n; k++)
        ml_workset_free(s->v[k]);
    free(s->v);
    *s = (ml_Sets){0};
}

/* ---------------------------------------------------------------- mapping */

/* Far accesses too are to end in the guard of the buffer that they were meant for, so that
 * the message can name it. Nothing but address space is taken. */
bool ml_set_map(const ml_SetArg *a, ml_Mapped *out)
{
    size_t guard = ML_SET_GUARD, n = a->mapped + 2 * guard;
    uint8_t *base =
        mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    *out = (ml_Mapped){0};
    if (!is_whole(a, a->initial)) {
        if (base != MAP_FAILED)
            munmap(base, n);
        return false;
    }
    if (base == MAP_FAILED) {
        guard = page();
        n = a->mapped + 2 * guard;
        base = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (base == MAP_FAILED)
        return false;
    if (mmap(base + guard, a->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
             a->initial, 0) == MAP_FAILED) {
        munmap(base, n);
        return false;
    }
    *out =
        (ml_Mapped){.base = base, .n = n, .data = base + guard + a->start, .guarded = true};
    return true;
}

bool ml_set_map_timed(const ml_SetArg *a, ml_Mapped *out)
{
    size_t unit = a->bytes >= HUGE_FROM ? HUGE_PAGE : page();
    size_t n = (a->bytes + unit - 1) / unit * unit + unit;
    uint8_t *base =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *out = (ml_Mapped){0};
    if (base == MAP_FAILED)
        return false;
    *out = (ml_Mapped){.base = base,
                       .n = n,
                       .data = (uint8_t *)(((uintptr_t)base + unit - 1) / unit * unit)};
    if (unit == HUGE_PAGE)
        madvise(out->data, n - unit, MADV_HUGEPAGE);
    if (ml_set_refill(a, out))
        return true;
    ml_set_unmap(out);
    return false;
}

bool ml_set_refill(const ml_SetArg *a, const ml_Mapped *m)
{
    return read_at(a->initial, m->data, a->bytes, a->start);
}

void ml_set_unmap(ml_Mapped *m)
{
    if (m->base)
        munmap(m->base, m->n);
    *m = (ml_Mapped){0};
}

bool ml_set_guards_intact(const ml_SetArg *a, const ml_Mapped *m, int64_t *byte)
{
    const uint8_t *from = m->data - a->start, *end = from + a->mapped;

    for (const uint8_t *p = m->data + a->bytes; p < end; p++)
        if (*p != CANARY) {
            *byte = p - m->data;
            return false;
        }
    for (const uint8_t *p = m->data; p > from; p--)
        if (p[-1] != CANARY) {
            *byte = p - 1 - m->data;
            return false;
        }
    return true;
}

const uint8_t *ml_set_view(const ml_SetArg *a, int fd)
{
    const uint8_t *m =
        is_whole(a, fd) ? mmap(NULL, a->mapped, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    return m == MAP_FAILED ? NULL : m + a->start;
}

void ml_set_close_view(const ml_SetArg *a, const uint8_t *data)
{
    union {
        const uint8_t *c;
        void *p;
    } v = {.c = data - a->start};

    munmap(v.p, a->mapped);
}

ml_Tensor ml_set_tensor(const ml_SetArg *a, void *data)
{
    ml_Tensor t = {.type = a->type,
                   .rank = a->rank,
                   .shape = a->shape,
                   .n = 1,
                   .bytes = a->bytes,
                   .data = data};

    for (uint32_t d = 0; d < a->rank; d++)
        t.n *= a->shape[d];
    t.n_lanes = t.n * a->type.lanes;
    t.lane = ml_lane_bytes(a->type);
    return t;
}
