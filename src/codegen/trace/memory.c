/*
 * memory - the walk: what is kept at each touch.
 *
 * A clock counts touches. Each line knows when it was touched last, each loop when its
 * current iteration began: a touch is the line's first one in the iterations that began
 * after that, which are those of the inner loops of the chain, so one number says it for
 * all. The buffer that is looked at also has counters per element and, below parallel
 * loops, a bit per thread.
 */
#include "moonloop/codegen/trace/memory.h"

#include "moonloop/codegen/trace/memory_impl.h"
#include "moonloop/core/walk.h"

enum { REPORT_EVERY = 1 << 18 };

/* ---------------------------------------------------------------- growing */

/* Numbers for the lines of a memory that is touched for the first time, or has grown. */
static bool number_lines(ml_MemoryWalk *w, uint32_t memory, uint64_t byte)
{
    ml_WalkMemory *m = &w->memories[memory];
    uint64_t bytes = ml_tracer_bytes(w->t, memory), lines;

    if (bytes <= byte)
        bytes = byte + 1;
    lines = bytes / ML_LINE_BYTES + 1;
    if (lines + w->n_lines >= UINT32_MAX / 2)
        return false;
    if (w->n_lines + lines > w->lines_cap) {
        uint64_t cap = 2 * (w->n_lines + lines);
        uint32_t *last = ML_ARRAY(w->cx, uint32_t, cap);

        if (w->n_lines)
            memcpy(last, w->last, w->n_lines * sizeof *last);
        w->last = last;
        w->lines_cap = (uint32_t)cap;
    }
    m->base = w->n_lines;
    m->lines = (uint32_t)lines;
    w->n_lines += (uint32_t)lines;
    ml_reuse_reserve(&w->reuse, w->n_lines);
    return true;
}

static void *grown(ml_Ctx *cx, const void *old, size_t n, size_t cap, size_t size)
{
    void *p = ml_zalloc(cx, cap * size);

    if (n)
        memcpy(p, old, n * size);
    return p;
}

static bool grow_elements(ml_MemoryWalk *w, uint64_t element, uint32_t bytes)
{
    uint64_t n = ml_tracer_bytes(w->t, (uint32_t)w->deep) / bytes;

    if (n <= element)
        n = element + 1;
    if (n > ML_TRACE_ELEMENTS)
        return false;
    w->loads = grown(w->cx, w->loads, w->n_elements, n, sizeof *w->loads);
    w->stores = grown(w->cx, w->stores, w->n_elements, n, sizeof *w->stores);
    w->state = grown(w->cx, w->state, w->n_elements, n, sizeof *w->state);
    for (uint32_t k = 0; k < w->n_par; k++) {
        ml_WalkParallel *p = &w->par[k];
        p->loads = grown(w->cx, p->loads, w->n_elements, n, sizeof *p->loads);
        p->stores = grown(w->cx, p->stores, w->n_elements, n, sizeof *p->stores);
    }
    w->n_elements = (uint32_t)n;
    return true;
}

/* ---------------------------------------------------------------- a touch */

/* Differences of addresses between first and second iterations. */
static void look_for_strides(ml_MemoryWalk *w, ml_WalkAccess *a, uint64_t byte)
{
    uint32_t differs = a->n_chain, n = 0;

    for (uint32_t k = 0; k < a->n_chain; k++)
        if (w->loops[a->chain[k]].value != a->origin[k]) {
            differs = k;
            if (++n > 1)
                return;
        }
    if (n == 1 && !a->known[differs]) {
        a->known[differs] = true;
        a->stride[differs] = (int64_t)(byte - a->at);
        a->open--;
    }
}

static void first_touch(ml_MemoryWalk *w, ml_WalkAccess *a, uint64_t byte)
{
    a->at = a->lo = a->hi = byte;
    a->open = a->n_chain;
    for (uint32_t k = 0; k < a->n_chain; k++)
        a->origin[k] = w->loops[a->chain[k]].value;
}

static void touch_element(ml_MemoryWalk *w, ml_WalkAccess *a, uint32_t number, uint64_t e)
{
    uint16_t me = (uint16_t)(number % (ML_PENDING - 1) + 1), state = w->state[e];

    if (!a->store) {
        w->loads[e]++;
        w->state[e] = state & (ML_PENDING - 1);
    } else {
        w->stores[e]++;
        if (state & ML_PENDING)
            w->accesses[(state & (ML_PENDING - 1)) - 1].overwritten++;
        else if (state == me && !a->update)
            a->again++;
        w->state[e] = me | ML_PENDING;
    }
    if (a->par >= 0) {
        ml_WalkParallel *p = &w->par[a->par];
        if (a->store) {
            p->stores[e] |= 1u << p->now;
            p->n_stores[p->now]++;
        } else {
            p->loads[e] |= 1u << p->now;
            p->n_loads[p->now]++;
        }
    }
}

static bool touch(void *user, uint32_t number, uint64_t byte)
{
    ml_MemoryWalk *w = user;
    ml_WalkAccess *a = &w->accesses[number];
    ml_WalkMemory *m = &w->memories[a->memory];
    uint64_t in = byte / ML_LINE_BYTES, distance;
    uint32_t line, last, k = 0;

    if (w->clock == w->limit) {
        w->stopped = true;
        return false;
    }
    w->clock++;
    if (in >= m->lines && !number_lines(w, a->memory, byte)) {
        w->failed = true;
        return false;
    }
    line = m->base + (uint32_t)in;
    last = w->last[line];
    w->last[line] = w->clock;
    while (k < a->n_chain && last <= w->loops[a->chain[k]].start)
        k++;
    a->fresh[k]++;
    distance = ml_reuse_touch(&w->reuse, line);
    if (distance == ML_REUSE_COLD)
        a->cold++;
    else
        a->distance[distance ? 64 - __builtin_clzll(distance) : 0]++;
    if (a->touches++ == 0)
        first_touch(w, a, byte);
    if (byte < a->lo)
        a->lo = byte;
    if (byte > a->hi)
        a->hi = byte;
    if (a->open)
        look_for_strides(w, a, byte);
    if (a->deep) {
        uint64_t e = byte >> a->lane_shift;

        if (e >= w->n_elements && !grow_elements(w, e, 1u << a->lane_shift)) {
            w->failed = true;
            return false;
        }
        touch_element(w, a, number, e);
    }
    if (w->clock % REPORT_EVERY == 0 && w->opts->progress)
        w->opts->progress(w->opts->user, w->clock, w->t->planned);
    return true;
}

/* ---------------------------------------------------------------- an iteration */

static void set_thread(ml_MemoryWalk *w, ml_WalkParallel *p, int64_t value)
{
    int64_t min, extent, step, n, k, chunk;

    ml_tracer_bounds(w->t, p->loop, &min, &extent, &step);
    n = (extent - 1) / step + 1;
    k = (value - min) / step;
    chunk = w->opts->threads < n ? w->opts->threads : n;
    if (chunk > ML_MAX_TRACE_THREADS)
        chunk = ML_MAX_TRACE_THREADS;
    if (chunk < 1)
        chunk = 1;
    if ((uint32_t)chunk > p->threads)
        p->threads = (uint32_t)chunk;
    if (!p->in_turn && (p->uneven || 4 * chunk > n) && chunk < n && chunk > 1)
        p->in_turn = p->dynamic = true;
    if (p->in_turn) {
        p->now = (uint32_t)(k % chunk);
        return;
    }
    chunk = (n + chunk - 1) / chunk;
    p->now = (uint32_t)(k / chunk);
}

static bool iteration(void *user, uint32_t loop, int64_t value)
{
    ml_MemoryWalk *w = user;
    ml_WalkLoop *l = &w->loops[loop];

    l->start = w->clock;
    l->value = value;
    l->iterations++;
    if (w->par_of[loop] >= 0)
        set_thread(w, &w->par[w->par_of[loop]], value);
    return true;
}

/* ---------------------------------------------------------------- before and after */

static int32_t find_memory(const ml_Tracer *t, const ml_Buffer *b)
{
    for (uint32_t k = 0; b && k < t->n_memories; k++)
        if (t->memories[k].buffer->uid == b->uid)
            return (int32_t)k;
    for (uint32_t k = 0; b && k < t->n_accesses; k++)
        if (t->accesses[k].buffer->uid == b->uid)
            return (int32_t)t->accesses[k].memory;
    return -1;
}

static bool is_parallel(const ml_Tracer *t, uint32_t loop)
{
    if (t->loops[loop].kind != ML_FOR_PARALLEL)
        return false;
    for (int32_t l = t->loops[loop].up; l >= 0; l = t->loops[l].up)
        if (t->loops[l].kind == ML_FOR_PARALLEL)
            return false;
    return true;
}

static bool has_flag(const ml_Stmt *s, const char *key)
{
    const ml_Value *v = ml_dict_get(ml_as_for(s)->annotations, key);

    if (v && v->kind == ML_VAL_EXPR)
        return ml_is_true(v->as.expr);
    return v && (v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL) && v->as.i != 0;
}

/* The parallel loop around an access; -1: none. */
static int32_t parallel_around(const ml_MemoryWalk *w, int32_t loop)
{
    for (; loop >= 0; loop = w->t->loops[loop].up)
        if (w->par_of[loop] >= 0)
            return w->par_of[loop];
    return -1;
}

static void watch_parallel(ml_MemoryWalk *w)
{
    const ml_Tracer *t = w->t;

    w->par_of = ML_ARRAY(w->cx, int32_t, t->n_loops + 1);
    w->par = ML_ARRAY(w->cx, ml_WalkParallel, t->n_loops + 1);
    for (uint32_t l = 0; l < t->n_loops; l++) {
        w->par_of[l] = -1;
        if (w->deep < 0 || !is_parallel(t, l))
            continue;
        w->par[w->n_par] =
            (ml_WalkParallel){.loop = l,
                              .in_turn = has_flag(t->loops[l].stmt, "stride_pattern"),
                              .uneven = has_flag(t->loops[l].stmt, "uneven")};
        w->par_of[l] = (int32_t)w->n_par++;
    }
}

static bool loads_too(const ml_Tracer *t, uint32_t store)
{
    const ml_TracedAccess *s = &t->accesses[store];

    for (uint32_t k = store; k-- > 0 && t->accesses[k].stmt == s->stmt;)
        if (!t->accesses[k].store && t->accesses[k].memory == s->memory)
            return true;
    return false;
}

static void prepare_access(ml_MemoryWalk *w, uint32_t number)
{
    const ml_TracedAccess *from = &w->t->accesses[number];
    ml_WalkAccess *a = &w->accesses[number];
    uint32_t *chain;

    a->memory = from->memory;
    a->store = from->store;
    a->deep = (int32_t)from->memory == w->deep;
    a->update = from->store && loads_too(w->t, number);
    a->lane_shift = (uint32_t)__builtin_ctz(from->bytes);
    a->par = a->deep ? parallel_around(w, from->loop) : -1;
    for (int32_t l = from->loop; l >= 0; l = w->t->loops[l].up)
        a->n_chain++;
    a->chain = chain = ML_ARRAY(w->cx, uint32_t, a->n_chain + 1);
    a->fresh = ML_ARRAY(w->cx, uint64_t, a->n_chain + 1);
    a->origin = ML_ARRAY(w->cx, int64_t, a->n_chain + 1);
    a->stride = ML_ARRAY(w->cx, int64_t, a->n_chain + 1);
    a->known = ML_ARRAY(w->cx, bool, a->n_chain + 1);
    for (int32_t l = from->loop; l >= 0; l = w->t->loops[l].up)
        *chain++ = (uint32_t)l;
}

/* Of a buffer of the function's own that is used below that loop only, lowering gives each
 * iteration a copy. */
static void find_own(ml_MemoryWalk *w)
{
    const ml_Tracer *t = w->t;

    for (uint32_t p = 0; p < w->n_par; p++) {
        w->par[p].own = !t->memories[w->deep].param;
        for (uint32_t k = 0; k < t->n_accesses; k++)
            if (w->accesses[k].deep && w->accesses[k].par != (int32_t)p)
                w->par[p].own = false;
    }
}

static void prepare(ml_MemoryWalk *w)
{
    const ml_Tracer *t = w->t;
    int64_t budget = w->opts->trace.budget ? w->opts->trace.budget : ML_TRACE_BUDGET;

    w->cx = t->cx;
    w->limit = budget > INT32_MAX ? UINT32_MAX - 1 : (uint32_t)budget * 2;
    w->deep = find_memory(t, w->opts->buffer);
    w->loops = ML_ARRAY(w->cx, ml_WalkLoop, t->n_loops + 1);
    w->accesses = ML_ARRAY(w->cx, ml_WalkAccess, t->n_accesses + 1);
    w->memories = ML_ARRAY(w->cx, ml_WalkMemory, t->n_memories + 1);
    ml_reuse_init(&w->reuse, w->cx);
    watch_parallel(w);
    for (uint32_t k = 0; k < t->n_accesses; k++)
        prepare_access(w, k);
    find_own(w);
}

bool ml_memory_measure(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                       const ml_MemoryOpts *opts, ml_MemoryFacts *out)
{
    ml_MemoryOpts o = *opts;
    ml_MemoryWalk w = {.opts = &o};
    ml_TracerSink sink = {touch, iteration, &w};
    bool ok;

    *out = (ml_MemoryFacts){0};
    if (o.threads == 0)
        o.threads = 1;
    w.t = ml_tracer_begin(cx, m, f, &o.trace);
    if (w.t == NULL)
        return false;
    prepare(&w);
    ok = ml_tracer_run(w.t, &sink);
    if (!ok && w.stopped) {
        ml_error_clear(w.cx);
        ok = true;
    } else if (!ok && w.failed) {
        ml_error_clear(w.cx);
        ml_fail(w.cx, ML_E_TOO_LARGE,
                ML_TEXT(ml_format(w.cx, "its elements cannot all be counted: at most %lld",
                                  (long long)ML_TRACE_ELEMENTS)),
                o.buffer ? ML_BUFFER(o.buffer) : ML_FACT_END);
    }
    if (ok)
        ml_memory_summary(&w, out);
    ml_tracer_end(w.t);
    return ok;
}

void ml_memory_free(ml_MemoryFacts *facts)
{
    ml_ctx_unref(facts->keep);
    *facts = (ml_MemoryFacts){0};
}

void ml_distance_bin(uint32_t bin, uint64_t *from, uint64_t *to)
{
    *from = bin ? UINT64_C(1) << (bin - 1) : 0;
    *to = bin ? 2 * *from - 1 : 0;
}
