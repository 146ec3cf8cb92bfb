/* memory_facts - from what the walk counted to the facts that are told. */
#include "moonloop/codegen/trace/memory_impl.h"

enum { TIMES = 16 }; /* entries of a table of times per element */

/* ---------------------------------------------------------------- per element */

/* How many elements were touched v times; the table of counts is small where the most is,
 * else by powers of two. */
static void per_element(ml_Ctx *keep, ml_Ctx *tmp, const uint32_t *v, uint64_t n,
                        ml_PerElement *out)
{
    uint64_t *times = ML_ARRAY(keep, uint64_t, TIMES + 40), distinct = 0;
    uint64_t *to = ML_ARRAY(keep, uint64_t, TIMES + 40);
    uint64_t *elements = ML_ARRAY(keep, uint64_t, TIMES + 40);
    uint64_t *exact = NULL;

    *out = (ml_PerElement){.times = times, .to = to, .elements = elements};
    out->min = n ? UINT64_MAX : 0;
    for (uint64_t k = 0; k < n; k++) {
        out->total += v[k];
        out->min = v[k] < out->min ? v[k] : out->min;
        out->max = v[k] > out->max ? v[k] : out->max;
    }
    if (out->max < (1u << 20)) {
        exact = ML_ARRAY(tmp, uint64_t, out->max + 1);
        for (uint64_t k = 0; k < n; k++)
            distinct += exact[v[k]]++ == 0;
    }
    if (exact && distinct <= TIMES) {
        for (uint64_t t = 0; t <= out->max; t++)
            if (exact[t]) {
                times[out->n] = to[out->n] = t;
                elements[out->n++] = exact[t];
            }
        return;
    }
    for (uint64_t k = 0; k < n; k++)
        elements[v[k] ? 32 - __builtin_clz(v[k]) : 0]++;
    for (uint32_t b = 0; b <= 32; b++) {
        if (elements[b] == 0)
            continue;
        elements[out->n] = elements[b];
        ml_distance_bin(b, &times[out->n], &to[out->n]);
        out->n++;
    }
}

static void pending_stores(ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    if (w->t->memories[w->deep].param) /* its last values are results */
        return;
    for (uint32_t e = 0; e < w->n_elements; e++)
        if (w->state[e] & ML_PENDING) {
            w->accesses[(w->state[e] & (ML_PENDING - 1)) - 1].unread++;
            out->unread++;
        }
}

static void buffer_facts(ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    const ml_TracedMemory *m = &w->t->memories[w->deep];
    const ml_WalkMemory *lines = &w->memories[w->deep];
    const ml_Buffer *b = m->buffer;
    int64_t n = 1;

    out->buffer = b;
    out->param = m->param;
    out->element_bytes = (uint32_t)ml_lane_bytes(b->type);
    out->rank = b->rank <= ML_TRACE_RANK ? b->rank : 0;
    for (uint32_t d = 0; d < out->rank; d++)
        if (ml_eval_size(b->shape[d], w->opts->trace.sizes, w->opts->trace.n_sizes,
                         &out->extent[d]))
            n *= out->extent[d];
        else
            out->rank = 0;
    if (b->n_strides || b->type.lanes > 1)
        out->rank = 0; /* no coordinates by division */
    out->elements = out->rank ? n : (int64_t)w->n_elements;
    if (w->n_elements < (uint64_t)out->elements && out->elements <= ML_TRACE_ELEMENTS &&
        w->n_elements == 0)
        w->loads = w->stores = ML_ARRAY(w->cx, uint32_t, (size_t)out->elements);
    else
        out->elements = (int64_t)w->n_elements;
    per_element(out->keep, w->cx, w->loads, (uint64_t)out->elements, &out->loads);
    per_element(out->keep, w->cx, w->stores, (uint64_t)out->elements, &out->stores);
    pending_stores(w, out);
    for (uint32_t k = 0; k < w->t->n_accesses; k++) {
        const ml_WalkAccess *a = &w->accesses[k];
        if (!a->deep)
            continue;
        out->overwritten += a->overwritten;
        out->again += a->again;
        out->cold += a->cold;
        for (uint32_t bin = 0; bin < ML_DISTANCE_BINS; bin++)
            out->distance[bin] += a->distance[bin];
    }
    for (uint32_t k = 0; k < lines->lines; k++)
        out->lines_touched += w->last[lines->base + k] != 0;
    out->lines =
        ((uint64_t)out->elements * out->element_bytes + ML_LINE_BYTES - 1) / ML_LINE_BYTES;
}

/* ---------------------------------------------------------------- loops and accesses */

static void loop_facts(const ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    const ml_Tracer *t = w->t;
    ml_LoopTouches *v = ML_ARRAY(out->keep, ml_LoopTouches, t->n_loops + 1);

    for (uint32_t l = 0; l < t->n_loops; l++)
        v[l] = (ml_LoopTouches){.loop = l,
                                .stmt = t->loops[l].stmt,
                                .var = t->loops[l].var,
                                .depth = t->loops[l].depth,
                                .kind = t->loops[l].kind,
                                .iterations = w->loops[l].iterations};
    for (uint32_t k = 0; k < t->n_accesses; k++) {
        const ml_WalkAccess *a = &w->accesses[k];
        uint64_t fresh = 0;

        for (uint32_t c = a->n_chain; c-- > 0;) { /* outer loops first */
            ml_LoopTouches *l = &v[a->chain[c]];
            fresh += a->fresh[c + 1];
            l->all_lines += (double)fresh;
            if (a->deep) {
                l->lines += (double)fresh;
                l->touches += (double)a->touches;
            }
        }
    }
    for (uint32_t l = 0; l < t->n_loops; l++)
        if (v[l].iterations) {
            v[l].lines /= (double)v[l].iterations;
            v[l].all_lines /= (double)v[l].iterations;
            v[l].touches /= (double)v[l].iterations;
        }
    out->loops = v;
    out->n_loops = t->n_loops;
}

static void access_facts(const ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    const ml_Tracer *t = w->t;
    ml_AccessTouches *v = ML_ARRAY(out->keep, ml_AccessTouches, t->n_accesses + 1);

    for (uint32_t k = 0; k < t->n_accesses; k++) {
        const ml_WalkAccess *a = &w->accesses[k];
        const ml_TracedAccess *from = &t->accesses[k];
        struct ml_AccessStride *s =
            ml_zalloc(out->keep, (a->n_chain + 1) * sizeof(struct ml_AccessStride));

        for (uint32_t c = 0; c < a->n_chain; c++) {
            uint32_t in = a->n_chain - 1 - c;
            s[c].loop = a->chain[in];
            s[c].known = a->known[in];
            s[c].bytes = a->stride[in];
        }
        v[k] = (ml_AccessTouches){.buffer = from->buffer,
                                  .memory = t->memories[from->memory].buffer,
                                  .stmt = from->stmt,
                                  .store = from->store,
                                  .bytes = from->bytes,
                                  .touches = a->touches,
                                  .first_byte = a->lo,
                                  .last_byte = a->touches ? a->hi + from->bytes - 1 : 0,
                                  .loop = from->loop,
                                  .cold = a->cold,
                                  .n_strides = a->n_chain,
                                  .strides = s,
                                  .overwritten = a->overwritten,
                                  .unread = a->unread,
                                  .again = a->again};
        memcpy(v[k].distance, a->distance, sizeof v[k].distance);
    }
    out->accesses = v;
    out->n_accesses = t->n_accesses;
}

/* ---------------------------------------------------------------- threads */

/* The element's coordinates widen the box of every thread of the mask. */
static void widen(const ml_MemoryFacts *f, ml_ThreadTouches *v, uint32_t mask, uint64_t e)
{
    int64_t at[ML_TRACE_RANK];
    int64_t left = (int64_t)e;

    for (uint32_t d = f->rank; d-- > 0;) {
        at[d] = d == 0 ? left : left % f->extent[d];
        left /= f->extent[d] ? f->extent[d] : 1;
    }
    for (; mask; mask &= mask - 1) {
        ml_ThreadTouches *t = &v[__builtin_ctz(mask)];
        for (uint32_t d = 0; d < f->rank; d++) {
            if (t->elements == 0 || at[d] < t->min[d])
                t->min[d] = at[d];
            if (t->elements == 0 || at[d] > t->max[d])
                t->max[d] = at[d];
        }
        t->elements++;
    }
}

static void count_lines(ml_ThreadTouches *v, uint32_t mask)
{
    for (; mask; mask &= mask - 1)
        v[__builtin_ctz(mask)].lines++;
}

static bool several(uint32_t mask)
{
    return (mask & (mask - 1)) != 0;
}

static void one_parallel(const ml_MemoryWalk *w, ml_MemoryFacts *f,
                         const ml_WalkParallel *p, ml_ParallelTouches *out)
{
    ml_ThreadTouches *v = ML_ARRAY(f->keep, ml_ThreadTouches, p->threads + 1);
    uint32_t per_line = ML_LINE_BYTES / f->element_bytes, n = w->n_elements;

    *out = (ml_ParallelTouches){.var = w->t->loops[p->loop].var,
                                .loop = w->t->loops[p->loop].var->uid,
                                .threads = p->threads,
                                .in_turn = p->in_turn,
                                .dynamic = p->dynamic,
                                .own = p->own,
                                .thread = v};
    for (uint32_t e = 0; e < n;) {
        uint32_t loads = 0, stores = 0;
        bool same = false;

        for (uint32_t k = 0; k < per_line && e < n; k++, e++) {
            uint32_t one = p->loads[e] | p->stores[e];
            loads |= p->loads[e];
            stores |= p->stores[e];
            if (one)
                widen(f, v, one, e);
            if (p->stores[e] && several(one)) {
                same = true;
                out->shared_elements++;
            }
        }
        count_lines(v, loads | stores);
        if (stores && several(loads | stores)) {
            out->shared_lines++;
            out->false_lines += !same;
        } else if (several(loads)) {
            out->read_lines++;
        }
    }
    for (uint32_t t = 0; t < p->threads; t++) {
        uint64_t box = 1;
        v[t].loads = p->n_loads[t];
        v[t].stores = p->n_stores[t];
        for (uint32_t d = 0; d < f->rank; d++)
            box *= (uint64_t)(v[t].max[d] - v[t].min[d] + 1);
        v[t].rows = f->rank > 0 && box == v[t].elements;
    }
}

static void parallel_facts(const ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    ml_ParallelTouches *v = ML_ARRAY(out->keep, ml_ParallelTouches, w->n_par + 1);

    for (uint32_t k = 0; k < w->n_par; k++) {
        bool used = false;
        for (uint32_t a = 0; a < w->t->n_accesses; a++)
            used |= w->accesses[a].par == (int32_t)k && w->accesses[a].touches > 0;
        if (used && w->n_elements > 0)
            one_parallel(w, out, &w->par[k], &v[out->n_parallel++]);
    }
    out->parallel = v;
}

static void caps(const ml_Tracer *t, ml_MemoryFacts *out)
{
    struct ml_LoopCap *v =
        ml_zalloc(out->keep, (t->n_loops + 1) * sizeof(struct ml_LoopCap));

    for (uint32_t k = 0; k < t->n_loops; k++)
        if (t->loops[k].cap >= 0)
            v[out->n_caps++] =
                (struct ml_LoopCap){t->loops[k].var, t->loops[k].cap, t->loops[k].extent};
    out->caps = v;
}

void ml_memory_summary(ml_MemoryWalk *w, ml_MemoryFacts *out)
{
    *out = (ml_MemoryFacts){.keep = ml_ctx_new(0),
                            .expected = w->t->expected,
                            .touches = w->clock,
                            .cut = w->t->cut,
                            .stopped = w->stopped,
                            .exact = !w->t->cut && !w->stopped};
    caps(w->t, out);
    if (w->deep >= 0)
        buffer_facts(w, out);
    loop_facts(w, out);
    access_facts(w, out);
    if (w->deep >= 0)
        parallel_facts(w, out);
}
