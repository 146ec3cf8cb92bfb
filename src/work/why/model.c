/*
 * model - both halves joined: the loops of the code and the lines of the trace are of the
 * lines of the program's text, and those of a block.
 *
 * A core computes while lines come, but not all the while: the longer of both counts, and a
 * part of the shorter one.
 */
#include "moonloop/work/why/model.h"

#include "moonloop/core/walk.h"

#include <math.h>

#define FAR                                                                                \
    4e-9 /* seconds a line beyond L2 is waited for that is used in part; others go ahead */

typedef struct Stages {
    ml_Ctx *cx;
    ML_VEC(ml_WhyStage) v;
    ML_VEC(const ml_Block *) blocks;
    ml_Map *of_line; /* 1 + number of the stage */
    const ml_Block *around;
} Stages;

static bool see(const ml_Stmt *s, void *user);

/* The block around a store is the stage that its line belongs to. */
static void see_block(Stages *st, const ml_Block *b)
{
    const ml_Block *up = st->around;

    st->around = b->n_iters ? b : up;
    if (b->init)
        ml_stmt_visit(b->init, see, st);
    ml_stmt_visit(b->body, see, st);
    st->around = up;
}

static void see_line(Stages *st, const ml_Span *span)
{
    size_t k = 0;

    while (k < st->v.n && st->blocks.v[k] != st->around)
        k++;
    if (k == st->v.n) {
        ml_push(st->cx, &st->blocks, st->around);
        ml_push(st->cx, &st->v,
                ((ml_WhyStage){.block = st->around ? st->around->name : "",
                               .line = span->line,
                               .threads = 1}));
    }
    if (!ml_map_has(st->of_line, span->line))
        ml_map_set(st->cx, st->of_line, span->line, (const void *)(uintptr_t)(k + 1));
}

static bool see(const ml_Stmt *s, void *user)
{
    Stages *st = user;

    if (s->kind == ML_STMT_BLOCK) {
        see_block(st, ml_as_block(s));
        return false;
    }
    if ((s->kind == ML_STMT_STORE || s->kind == ML_STMT_EVALUATE) && s->span)
        see_line(st, s->span);
    return true;
}

static ml_WhyStage *stage_at(const Stages *st, uint32_t line)
{
    size_t k = (size_t)(uintptr_t)ml_map_get(st->of_line, line);

    return k ? &st->v.v[k - 1] : NULL;
}

/* Loops of the code, the costliest first. */
static void add_code(Stages *st, const ml_WhyCode *c)
{
    for (size_t s = 0; s < st->v.n; s++) {
        ml_WhyStage *out = &st->v.v[s];
        ml_WhyLoop *v = ML_ARRAY(st->cx, ml_WhyLoop, c->loops.n + 1);
        double threads = 0;

        for (size_t k = 0; k < c->loops.n; k++) {
            const ml_WhyLoop *l = &c->loops.v[k];
            uint32_t at = out->n_loops;

            if (l->line == 0 || stage_at(st, l->line) != out)
                continue;
            for (; at > 0 && v[at - 1].cycles < l->cycles; at--)
                v[at] = v[at - 1];
            v[at] = *l;
            out->n_loops++;
            out->cycles += l->cycles;
            threads += l->cycles * c->threads.v[k];
        }
        out->loops = v;
        if (out->cycles > 0)
            out->threads = threads / out->cycles;
    }
}

static void add_cache(Stages *st, const ml_WhyCache *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        const ml_WhyLines *l = &c->v[k];
        ml_WhyStage *out = stage_at(st, l->line);
        double lines = 0;

        if (out == NULL)
            continue;
        for (int q = 0; q < ML_MACHINE_LEVELS; q++) {
            out->moved[q] += l->from[q];
            lines += l->from[q];
        }
        out->touches += l->touches;
        out->conflicts += l->conflicts;
        out->far += l->far;
        out->used += l->used * lines; /* summed up first */
    }
    for (size_t s = 0; s < st->v.n; s++) {
        ml_WhyStage *out = &st->v.v[s];
        double lines = 0;

        for (int q = 0; q < ML_MACHINE_LEVELS; q++)
            lines += out->moved[q];
        out->used = lines > 0 ? out->used / lines : 0;
    }
}

double ml_why_seconds(double compute, double moving)
{
    return fmax(compute, moving) + ML_WHY_OVERLAP * fmin(compute, moving);
}

/* Bytes a second that one of the threads gets from the level. */
static double bandwidth(const ml_Machine *m, ml_MachineLevel l, double threads)
{
    uint32_t n = threads > 1 ? (uint32_t)ceil(threads) : 1;
    double b = ml_machine_bandwidth(m, l, n);

    return isfinite(b) && b > 0 ? b / n : 2e10;
}

static void add_times(Stages *st, const ml_Machine *m, ml_WhyModel *out)
{
    double clock = m->clock_measured > 0 ? m->clock_measured
                   : m->clock > 0        ? m->clock
                                         : 3e9;

    for (size_t s = 0; s < st->v.n; s++) {
        ml_WhyStage *g = &st->v.v[s];
        double moving = 0;

        g->compute = g->cycles / clock / g->threads;
        for (int q = ML_MACHINE_L2; q < ML_MACHINE_LEVELS; q++) {
            g->memory[q] = g->moved[q] * 64 / bandwidth(m, (ml_MachineLevel)q, g->threads) /
                           g->threads;
            moving += g->memory[q];
        }
        g->waiting = g->far * FAR * fmax(0, 1 - g->used / 64) / g->threads;
        moving += g->waiting;
        g->seconds = ml_why_seconds(g->compute, moving);
        out->seconds += g->seconds;
    }
}

/* Parallel loops in order: the trace would rather cut the loops inside of them, and what is
 * used again there would look near. */
static const ml_Stmt *in_order(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = in_order, .user = user};
    const ml_Stmt *out = ml_stmt_map(cx, s, &m);

    if (out && out->kind == ML_STMT_FOR && ml_as_for(out)->kind == ML_FOR_PARALLEL) {
        ml_For f = *ml_as_for(out);

        f.kind = ML_FOR_SERIAL;
        return ml_for_from(cx, &f);
    }
    return out;
}

static bool see_cache(ml_Ctx *cx, const ml_Machine *m, const ml_Module *mod,
                      const ml_Func *f, const ml_TimingOpts *o, ml_WhyCache *out)
{
    ml_Func g = *f;

    g.body = in_order(cx, f->body, NULL);
    f = ml_func_from(cx, &g);
    return ml_why_cache(cx, m, ml_module_with(cx, mod, f), f, o, out);
}

bool ml_why_model(ml_Ctx *cx, ml_Engine *e, const ml_Machine *m, const ml_Work *w,
                  const ml_TimingOpts *o, ml_WhyModel *out)
{
    Stages st = {.cx = cx, .of_line = ml_map_new(cx)};
    ml_WhyCode code;
    ml_WhyCache cache;
    ml_Lower lo;
    const ml_Func *f = ml_work_read(cx, e, w, &lo), *flat, *low;

    *out = (ml_WhyModel){0};
    if (f == NULL || (flat = ml_lower(&lo, f, "flatten_buffers", NULL, NULL)) == NULL ||
        (low = ml_lower(&lo, f, "simplify_flat", NULL, NULL)) == NULL ||
        !see_cache(cx, m, lo.module, flat, o, &cache))
        return false;
    ml_stmt_visit(f->body, see, &st);
    ml_why_issue(cx, m, ml_engine_target(e), ml_engine_threads(e), low, o, &code);
    add_code(&st, &code);
    add_cache(&st, &cache);
    add_times(&st, m, out);
    out->n = (uint32_t)st.v.n;
    out->stages = st.v.v;
    out->regions = code.regions;
    out->fork = code.regions * (m->fork_join > 0 ? m->fork_join : 0);
    out->seconds += out->fork + (m->call > 0 ? m->call : 0);
    out->footprint = cache.footprint;
    out->opaque = code.opaque;
    return true;
}
