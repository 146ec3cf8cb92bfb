/*
 * cache - which level the lines come from, by a simulation of the caches on the trace.
 *
 * L1 has 64 sets, as an x86 core can look up with the bits of a page's offset; L2 16 ways.
 * Beside L1 stands one with scattered sets: what misses the one and not the other are
 * conflicts. A line beyond L2 on a page that was not among the last ones used is waited for,
 * and so is one for a store. What is touched first of all is where a call before has left it:
 * in the innermost level that holds everything. Loops that the trace cuts count for all of
 * their iterations.
 */
#include "moonloop/codegen/trace/memory.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/work/why/model.h"

#define WHY_BUDGET (INT64_C(1) << 21) /* touches that are walked */

enum {
    L1_SETS = 64,
    L2_WAYS = 16,
    PAGES = 96,
    PAGE_WAYS = 6,
    PAGE_LINES = 4096 / ML_LINE_BYTES
};

typedef struct Way {
    uint64_t tag;   /* line + 1; 0: empty */
    uint32_t owner; /* the access that brought it */
    uint32_t words; /* of it that were touched */
} Way;

typedef struct Level {
    uint32_t sets, ways;
    bool scattered;
    uint32_t random;
    Way *v; /* sets x ways, the last used first */
} Level;

typedef struct Counts {
    double touches, lines, cold, conflicts, bytes, far;
    double from[ML_MACHINE_LEVELS];
} Counts;

typedef struct Sim {
    ml_Ctx *cx;
    ml_Tracer *t;
    Level l[3], scattered, pages;
    uint64_t *base; /* of each memory, in lines */
    uint64_t next;
    uint64_t *seen; /* bits of lines that were touched */
    uint64_t n_seen;
    Counts *counts; /* per access */
    int64_t left;
    bool stopped;
} Sim;

static Level level(ml_Ctx *cx, uint64_t bytes, uint32_t sets, uint32_t ways)
{
    uint64_t lines = bytes / ML_LINE_BYTES;
    Level l = {.sets = sets ? sets : 1, .ways = ways};

    if (lines == 0)
        return (Level){0};
    if (sets)
        l.ways = (uint32_t)(lines / sets);
    else
        while ((uint64_t)l.sets * 2 * ways <= lines)
            l.sets *= 2;
    if (l.ways < 1)
        l.ways = 1;
    l.v = ml_zalloc(cx, (size_t)l.sets * l.ways * sizeof *l.v);
    return l;
}

static uint64_t scatter(uint64_t n)
{
    return (n * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
}

/* Beyond the offset in a page sets are chosen by the bits of real pages, which are anywhere.
 * Whether it is there; it is then, in any case. *out (may be NULL): what had to go. */
static Way *find(Level *l, uint64_t line, uint32_t owner, bool *hit, Way *out)
{
    uint64_t page = line / PAGE_LINES;
    uint64_t h =
        l->scattered ? scatter(line)
        : l->sets > PAGE_LINES
            ? line % PAGE_LINES + PAGE_LINES * (scatter(page) % (l->sets / PAGE_LINES))
            : line;
    Way *v = &l->v[(h % l->sets) * l->ways], w;
    uint32_t k = 0;

    while (k + 1 < l->ways && v[k].tag != line + 1 && v[k].tag)
        k++;
    *hit = v[k].tag == line + 1;
    if (!*hit && v[k].tag) /* full: one of the older half, as cores only guess at ages */
        k = l->ways / 2 + (uint32_t)((l->random = l->random * 1103515245u + 12345u) >> 16) %
                              (l->ways - l->ways / 2);
    w = v[k];
    if (!*hit) {
        if (out)
            *out = w;
        w = (Way){line + 1, owner, 0};
    }
    for (; k > 0; k--)
        v[k] = v[k - 1];
    v[0] = w;
    return v;
}

static void leave(Sim *s, const Way *w)
{
    if (w->tag)
        s->counts[w->owner].bytes += 4.0 * __builtin_popcount(w->words);
}

static bool is_first(Sim *s, uint64_t line)
{
    uint64_t word = line / 64, bit = UINT64_C(1) << line % 64;
    bool first;

    if (word >= s->n_seen) {
        uint64_t n = word * 2 + 64;
        uint64_t *v = ml_zalloc(s->cx, n * sizeof *v);

        if (s->n_seen)
            memcpy(v, s->seen, s->n_seen * sizeof *v);
        s->seen = v;
        s->n_seen = n;
    }
    first = !(s->seen[word] & bit);
    s->seen[word] |= bit;
    return first;
}

/* far: on a page that was not used lately: nothing fetches it ahead. Stores leave one after
 * the other, and each waits for its line. */
static void miss(Sim *s, uint32_t access, uint64_t line, bool far)
{
    Counts *c = &s->counts[access];
    bool hit = false;

    c->lines++;
    for (int l = 1; l < 3 && !hit; l++)
        if (s->l[l].v) {
            find(&s->l[l], line, access, &hit, NULL);
            if (hit) {
                c->from[l]++;
                c->far += (far && l == ML_MACHINE_L3) || s->t->accesses[access].store;
            }
        }
    if (hit)
        return;
    c->far += far || s->t->accesses[access].store;
    if (is_first(s, line))
        c->cold++;
    else
        c->from[ML_MACHINE_MEMORY]++;
}

static bool touch(void *user, uint32_t access, uint64_t byte)
{
    Sim *s = user;
    const ml_TracedAccess *a = &s->t->accesses[access];
    Counts *c = &s->counts[access];
    bool hit, other, page;
    Way gone = {0}, *w;
    uint64_t line;

    if (s->left-- <= 0) {
        s->stopped = true;
        return false;
    }
    if (s->base[a->memory] == 0) { /* its own pages */
        s->base[a->memory] = s->next;
        s->next += (ml_tracer_bytes(s->t, a->memory) / 4096 + 2) * PAGE_LINES;
    }
    line = s->base[a->memory] + byte / ML_LINE_BYTES;
    c->touches++;
    w = find(&s->l[0], line, access, &hit, &gone);
    w->words |= ((a->bytes > 4 ? 3u : 1u) << byte % ML_LINE_BYTES / 4);
    find(&s->scattered, line, access, &other, NULL);
    find(&s->pages, line / PAGE_LINES, access, &page, NULL);
    if (!hit) {
        leave(s, &gone);
        c->conflicts += other;
        miss(s, access, line, !page);
    }
    return true;
}

static bool iteration(void *user, uint32_t loop, int64_t value)
{
    (void)user;
    (void)loop;
    (void)value;
    return true;
}

/* Iterations of the loops around for each that was walked. */
static double scale_of(const ml_Tracer *t, const ml_TracedAccess *a)
{
    double f = 1;

    for (int32_t l = a->loop; l >= 0; l = t->loops[l].up)
        if (t->loops[l].cap > 0 && t->loops[l].extent > t->loops[l].cap)
            f *= (double)t->loops[l].extent / (double)t->loops[l].cap;
    return f;
}

static ml_WhyLines *of_line(ml_WhyCache *out, ml_WhyLines *v, const ml_Stmt *st)
{
    uint32_t line = st && st->span ? st->span->line : 0;

    for (uint32_t k = 0; k < out->n; k++)
        if (v[k].line == line)
            return &v[k];
    v[out->n] = (ml_WhyLines){.line = line};
    return &v[out->n++];
}

/* Bytes are summed in `used` first. The table is on the heap. */
static void sum_up(Sim *s, const ml_Machine *m, ml_WhyCache *out)
{
    ml_WhyLines *v = ml_heap_zalloc((s->t->n_accesses + 1) * sizeof *v);
    ml_MachineLevel cold;

    for (uint32_t k = 0; k < s->t->n_memories; k++)
        out->footprint += (double)ml_tracer_bytes(s->t, k);
    cold = ml_machine_level(m, 1, out->footprint);
    for (uint32_t k = 0; k < s->l[0].sets * s->l[0].ways; k++)
        leave(s, &s->l[0].v[k]);
    for (uint32_t k = 0; k < s->t->n_accesses; k++) {
        const Counts *c = &s->counts[k];
        double f = scale_of(s->t, &s->t->accesses[k]);
        ml_WhyLines *l = of_line(out, v, s->t->accesses[k].stmt);

        l->touches += f * c->touches;
        l->conflicts += f * c->conflicts;
        l->far += f * c->far;
        l->used += f * c->bytes;
        for (int q = 0; q < ML_MACHINE_LEVELS; q++)
            l->from[q] += f * (c->from[q] + (q == (int)cold ? c->cold : 0));
    }
    for (uint32_t k = 0; k < out->n; k++) {
        double lines = 0;

        for (int q = 0; q < ML_MACHINE_LEVELS; q++)
            lines += v[k].from[q];
        v[k].used = lines > 0 ? v[k].used / lines : 0;
    }
    out->v = v;
}

bool ml_why_cache(ml_Ctx *cx, const ml_Machine *m, const ml_Module *mod, const ml_Func *f,
                  const ml_TimingOpts *o, ml_WhyCache *out)
{
    const ml_TracerOpts to = {
        .budget = WHY_BUDGET, .sizes = o->sizes, .n_sizes = o->n_sizes, .seed = o->seed};
    Sim s = {.left = 2 * WHY_BUDGET, .next = 64};
    const ml_TracerSink sink = {touch, iteration, &s};
    bool ok;

    *out = (ml_WhyCache){0};
    s.t = ml_tracer_begin(cx, mod, f, &to);
    if (s.t == NULL)
        return false;
    s.cx = s.t->cx;
    s.l[0] = level(s.cx, m->cache[0] ? m->cache[0] : 32768, L1_SETS, 0);
    s.l[1] = level(s.cx, m->cache[1], 0, L2_WAYS);
    s.l[2] = level(s.cx, m->cache[2], 0, L2_WAYS);
    s.pages = level(s.cx, PAGES * ML_LINE_BYTES, PAGES / PAGE_WAYS, 0);
    s.pages.scattered = true;
    s.scattered = s.l[0];
    s.scattered.scattered = true;
    s.scattered.v = ml_zalloc(s.cx, (size_t)s.l[0].sets * s.l[0].ways * sizeof(Way));
    s.base = ml_zalloc(s.cx, (s.t->n_memories + 1) * sizeof *s.base);
    s.counts = ml_zalloc(s.cx, (s.t->n_accesses + 1) * sizeof *s.counts);
    ok = ml_tracer_run(s.t, &sink);
    if (!ok && s.stopped) {
        ml_error_clear(s.cx);
        ok = true;
    }
    if (ok)
        sum_up(&s, m, out);
    ml_tracer_end(s.t);
    if (ok) { /* cx was frozen until here */
        ml_WhyLines *v = ML_ARRAY(cx, ml_WhyLines, out->n + 1);

        memcpy(v, out->v, out->n * sizeof *v);
        ml_heap_free((void *)(uintptr_t)out->v);
        out->v = v;
    }
    return ok;
}
