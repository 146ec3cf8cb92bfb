/* traced - see traced.h. */
#include "traced.h"

typedef struct Sum {
    uint64_t hash, touches, iterations;
} Sum;

static void add(Sum *s, uint64_t a, uint64_t b)
{
    s->hash = (s->hash ^ a) * UINT64_C(0x9e3779b97f4a7c15);
    s->hash = (s->hash ^ s->hash >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool touch(void *user, uint32_t access, uint64_t byte)
{
    Sum *s = user;

    s->touches++;
    add(s, access, byte);
    return s->touches < 2000000;
}

static bool iteration(void *user, uint32_t loop, int64_t value)
{
    Sum *s = user;

    s->iterations++;
    add(s, ~(uint64_t)loop, (uint64_t)value);
    return true;
}

static bool walk(ml_Ctx *cx, const ml_Module *m, const ml_Func *f, const ml_TracerOpts *o,
                 Sum *s)
{
    ml_TracerSink sink = {touch, iteration, s};
    ml_Tracer *t = ml_tracer_begin(cx, m, f, o);
    bool ok = t && ml_tracer_run(t, &sink);

    if (t)
        ml_tracer_end(t);
    return ok;
}

bool fz_traces_the_same(ml_Ctx *cx, const ml_Module *m, const ml_Func *f,
                        const ml_Size *sizes, size_t n_sizes, ml_Text *why)
{
    ml_TracerOpts o = {.budget = INT64_C(1) << 40, .sizes = sizes, .n_sizes = n_sizes};
    Sum lean = {0}, whole = {0};
    bool ok[2];

    o.values = true;
    ok[0] = walk(cx, m, f, &o, &whole);
    ml_error_clear(cx);
    o.values = false;
    ok[1] = walk(cx, m, f, &o, &lean);
    if (ok[0] && !ok[1])
        ml_text_fmt(why, "the lean walk is refused: %s",
                    ml_error(cx) ? ml_error_code(ml_error(cx)->code) : "no error");
    ml_error_clear(cx);
    if (!ok[0])
        return true;
    if (ok[1] && (lean.touches != whole.touches || lean.iterations != whole.iterations ||
                  lean.hash != whole.hash))
        ml_text_fmt(why, "%llu touches and %llu iterations, in a whole run %llu and %llu",
                    (unsigned long long)lean.touches, (unsigned long long)lean.iterations,
                    (unsigned long long)whole.touches,
                    (unsigned long long)whole.iterations);
    return why->n == 0;
}
