/* causes - see causes.h. */
#include "moonloop/work/why/causes.h"

#include "moonloop/work/say.h"

#include <math.h>

static double moving(const ml_WhyStage *g)
{
    double t = g->waiting;

    for (int q = ML_MACHINE_L2; q < ML_MACHINE_LEVELS; q++)
        t += g->memory[q];
    return t;
}

/* Seconds of the stage less those of it with another time to compute. */
static double saved(const ml_WhyStage *g, double compute)
{
    return g->seconds - ml_why_seconds(compute, moving(g));
}

static bool computes(const ml_WhySight *s)
{
    return s->loop && s->stage->compute > 0.5 * moving(s->stage);
}

static double lines_of(const ml_WhyStage *g)
{
    double n = 0;

    for (int q = ML_MACHINE_L2; q < ML_MACHINE_LEVELS; q++)
        n += g->moved[q];
    return n;
}

/* The level that most of the moving is from. */
static ml_MachineLevel far_level(const ml_WhyStage *g)
{
    int l = ML_MACHINE_L2;

    for (int q = l; q < ML_MACHINE_LEVELS; q++)
        if (g->memory[q] > g->memory[l])
            l = q;
    return (ml_MachineLevel)l;
}

static const char *loop_name(const ml_WhySight *s)
{
    return s->loop && s->loop->name[0] ? s->loop->name : s->stage->block;
}

/* ---------------------------------------------------------------- the code */

static double see_scalar(const ml_WhySight *s, ml_Text *t)
{
    double lanes = s->target->vector_bits / 32.0;

    if (!computes(s) || s->loop->lanes > 1 || s->loop->entries * s->loop->trips < lanes)
        return 0;
    ml_text_fmt(
        t, "loop %s takes one element at a time, %.3g cycles each; a vector holds %.0f",
        loop_name(s), fmax(s->loop->ports, s->loop->chain), lanes);
    return saved(s->stage, s->stage->compute / lanes);
}

static double see_gather(const ml_WhySight *s, ml_Text *t)
{
    double n;

    if (s->loop == NULL || s->loop->lanes == 1 || s->loop->issue.elements < 2)
        return 0;
    n = s->loop->issue.elements;
    ml_text_fmt(
        t,
        "vectors of loop %s are put together of elements that lie apart: %.0f loads or "
        "stores of one element an iteration beside %.0f of whole registers",
        loop_name(s), n, s->loop->issue.loads + s->loop->issue.stores);
    return saved(s->stage, s->stage->compute / fmax(2, n / 4));
}

static double see_chain(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyLoop *l = s->loop;

    if (!computes(s) || l->accumulators <= 0 || l->chain < 1.25 * l->ports)
        return 0;
    ml_text_fmt(
        t,
        "an iteration of loop %s waits %.3g cycles for the one before and keeps the "
        "units busy for %.3g: %.0f accumulator%s, %.0f would do",
        l->name, l->chain, l->ports, l->accumulators, l->accumulators == 1 ? "" : "s",
        ceil(l->accumulators * l->chain / l->ports));
    return saved(s->stage, s->stage->compute * l->ports / l->chain);
}

static double see_spill(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyLoop *l = s->loop;

    if (l == NULL || l->spills <= 0)
        return 0;
    ml_text_fmt(
        t,
        "loop %s keeps %.0f accumulators in %u registers: %.0f of them are stored and "
        "loaded in each iteration",
        l->name, l->accumulators, s->target->registers, l->spills);
    return saved(s->stage, s->stage->compute / 2);
}

static double see_guard(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyLoop *l = s->loop;

    if (!computes(s) || l->issue.guards < 1)
        return 0;
    ml_text_fmt(t, "%.0f condition%s in each iteration of loop %s, which decide%s little",
                l->issue.guards, l->issue.guards == 1 ? "" : "s", loop_name(s),
                l->issue.guards == 1 ? "s" : "");
    return saved(s->stage,
                 s->stage->compute * (1 - fmin(0.6, l->issue.guards / (2 * l->ports))));
}

static double see_short(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyLoop *l = s->loop;

    if (!computes(s) || !l->inner || l->trips > 16 || l->trips < 2)
        return 0;
    ml_text_fmt(
        t,
        "loop %s begins %.3g times for %.0f iterations each: to enter and leave it costs "
        "%.0f %% of its time%s",
        l->name, l->entries, l->trips,
        100 * fmax(0, 1 - l->trips * fmax(l->ports, l->chain) * l->entries / l->cycles),
        l->issue.stores > 0 ? ", and what it stores goes through memory" : "");
    return saved(s->stage, s->stage->compute / 2);
}

static double see_unaligned(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyLoop *l = s->loop;
    double all;

    if (!computes(s) || l->lanes == 1)
        return 0;
    all = l->issue.loads + l->issue.stores;
    if (l->issue.crossing < 0.5 * all || all < l->issue.fmas + l->issue.ops)
        return 0;
    ml_text_fmt(t, "%.0f of %.0f loads and stores of loop %s cross the end of a line",
                l->issue.crossing, all, loop_name(s));
    return saved(s->stage, s->stage->compute * all / (all + l->issue.crossing));
}

/* ---------------------------------------------------------------- memory */

static double see_conflict(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;
    double lines = lines_of(g);

    if (lines <= 0 || g->conflicts < 0.3 * lines || moving(g) < 0.2 * g->seconds)
        return 0;
    ml_text_fmt(t,
                "%.0f %% of the lines that %s misses in L1 would be there if addresses a "
                "multiple of 4096 bytes apart did not share its sets",
                100 * g->conflicts / lines, g->block);
    return fmin(g->seconds - g->compute, moving(g) * g->conflicts / lines);
}

static double see_strided(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;
    double lines = lines_of(g);

    if (lines <= 0 || g->used >= 40 || moving(g) < 0.2 * g->seconds)
        return 0;
    ml_text_fmt(
        t,
        "%.3g of 64 bytes are used of a line that %s brings into L1, and %.0f %% of the "
        "lines are waited for",
        g->used, g->block, 100 * g->far / lines);
    return fmin(g->seconds - g->compute * ML_WHY_OVERLAP, moving(g) * (1 - g->used / 64));
}

static double see_reuse(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;
    double bytes = lines_of(g) * 64;

    if (bytes < 4 * s->model->footprint || g->used < 40 || moving(g) < 0.3 * g->compute)
        return 0;
    ml_text_fmt(t, "%s moves ", g->block);
    ml_text_si(t, bytes);
    ml_text_fmt(t, "B, %.0f times the ", bytes / s->model->footprint);
    ml_text_si(t, s->model->footprint);
    ml_text_fmt(t,
                "B that there are, from %s and beyond: what is used again is gone by then",
                ml_machine_level_name(far_level(g)));
    return fmin(g->seconds - g->compute, moving(g) * (1 - s->model->footprint / bytes));
}

static double see_between(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;
    double bytes = lines_of(g) * 64;

    if (s->model->n < 2 || moving(g) < 0.8 * g->compute || g->used < 40 ||
        bytes > 4 * s->model->footprint)
        return 0;
    ml_text_fmt(t, "%s moves ", g->block);
    ml_text_si(t, bytes);
    ml_text_fmt(t, "B from %s, a part of it between stages only",
                ml_machine_level_name(far_level(g)));
    return moving(g) / 2;
}

/* ---------------------------------------------------------------- the whole */

static double see_idle(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;
    double ideal = g->seconds * g->threads / s->threads;

    if (s->threads < 2 || g->threads > 0.95 * s->threads ||
        g->seconds - ideal < 2 * s->machine->fork_join)
        return 0;
    if (g->threads < 1.01)
        ml_text_fmt(t, "one of %u threads does all of %s: no loop of it is parallel",
                    s->threads, g->block);
    else
        ml_text_fmt(t,
                    "%.2f of %u threads are at work in %s: its iterations cannot be shared "
                    "out evenly",
                    g->threads, s->threads, g->block);
    return g->seconds - ideal;
}

static double see_copy(const ml_WhySight *s, ml_Text *t)
{
    const ml_WhyStage *g = s->stage;

    if (s->model->n < 2 || s->loop == NULL ||
        s->loop->issue.fmas + s->loop->issue.ops >= 0.5 || s->model->flop <= 0 ||
        g->seconds < 0.25 * s->model->seconds)
        return 0;
    ml_text_fmt(t, "%s only fills or copies, and takes %.0f %% of the time", g->block,
                100 * g->seconds / s->model->seconds);
    return 0.8 * g->seconds;
}

static double see_repeated(const ml_WhySight *s, ml_Text *t)
{
    double share = s->start_flop > 0 ? s->model->flop / s->start_flop : 1;

    if (share < 1.15)
        return 0;
    ml_text_add(t, "computes ");
    ml_text_si(t, s->model->flop);
    ml_text_add(t, "FLOP where the start computes ");
    ml_text_si(t, s->start_flop);
    ml_text_fmt(t, "FLOP: values are computed %.3g times", share);
    return s->model->seconds * (1 - 1 / share);
}

const ml_WhyKind ml_why_kinds[] = {
    {"no-vector",
     "the innermost loop goes element by element",
     see_scalar,
     {ml_why_vectorize, ml_why_parts},
     {NULL},
     false},
    {"gather",
     "vectors are put together from elements that lie apart",
     see_gather,
     {ml_why_turn},
     {"vectorize"},
     false},
    {"few-accumulators",
     "each multiply-add waits for the one before",
     see_chain,
     {ml_why_accumulate, ml_why_parts},
     {NULL},
     false},
    {"spills", "more values than registers", see_spill, {ml_why_narrow}, {NULL}, false},
    {"guard", "conditions in the inner loop", see_guard, {ml_why_take_init}, {NULL}, false},
    {"short-loop",
     "too few iterations for what it costs to begin",
     see_short,
     {ml_why_unroll},
     {NULL},
     false},
    {"unaligned",
     "accesses cross the ends of lines",
     see_unaligned,
     {ml_why_pack},
     {NULL},
     false},
    {"set-conflict",
     "addresses that share the sets of L1",
     see_conflict,
     {ml_why_pack, ml_why_along},
     {NULL},
     false},
    {"strided",
     "lines of which little is used",
     see_strided,
     {ml_why_along, ml_why_pack},
     {NULL},
     false},
    {"no-reuse",
     "data is gone from the cache when it is used again",
     see_reuse,
     {ml_why_swap, ml_why_pack},
     {NULL},
     false},
    {"bandwidth",
     "stages hand data over through memory",
     see_between,
     {ml_why_inline},
     {NULL},
     false},
    {"threads-idle",
     "no parallel loop, or too few iterations",
     see_idle,
     {ml_why_parallel},
     {"parallel"},
     false},
    {"copy-stage",
     "filling and copying takes much of the time",
     see_copy,
     {ml_why_vectorize, ml_why_move, ml_why_parallel},
     {"cache_read", "cache_write"},
     false},
    {"repeated-work",
     "values are computed several times",
     see_repeated,
     {ml_why_move},
     {"compute_inline", "compute_at", "reverse_compute_at"},
     true},
};
const size_t ml_n_why_kinds = ML_COUNT(ml_why_kinds);
