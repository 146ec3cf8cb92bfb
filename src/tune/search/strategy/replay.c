/*
 * replay - candidates by chance: a sketch, and decisions sampled as it is replayed. What other
 * strategies are compared with.
 *
 * replay-func tries on until it has as many as are wanted, replay-trace so often for each of
 * them: one without success is left out. Source: auto-scheduler 12.
 */
#include "moonloop/tune/search/strategy/kinds.h"

#include "moonloop/codegen/tensor/tensor.h"

enum { MOST_FAILS = 100 };

typedef struct Replay {
    Strategy s;
    int empty; /* batches in a row */
} Replay;

static size_t take_some(ml_Tuner *t, size_t n, bool each, Made *out)
{
    ml_Random r = ml_random("moonloop.replay", (uint32_t)t->proposed, t->seed);
    size_t got = 0;
    int fails = 0;

    for (size_t slot = 0; slot < n; slot++)
        for (fails = each ? 0 : fails; fails < MOST_FAILS; fails++) {
            const Candidate c = ml_candidate_any(t, &r);

            if (!ml_candidate_take(t, &c, &out[got]))
                continue;
            got++;
            fails = 0;
            break;
        }
    return got;
}

static int some(Strategy *s, size_t n, bool each, Made *out)
{
    Replay *r = (Replay *)s;
    size_t got = take_some(s->t, n, each, out);

    r->empty = got ? 0 : r->empty + 1;
    return r->empty == ML_EMPTY_BATCHES ? ML_STRATEGY_END : (int)got;
}

static int next_of_traces(Strategy *s, size_t n, Made *out)
{
    return some(s, n, true, out);
}

static int next_of_func(Strategy *s, size_t n, Made *out)
{
    return some(s, n, false, out);
}

static Strategy *start(ml_Tuner *t)
{
    Replay *r = ML_NEW(t->keep, Replay);

    r->s.t = t;
    return &r->s;
}

static const StrategyKin kin = {.start = start};

const StrategyKind ml_strategy_replay_trace = {
    .about = {"replay-trace", "random", "sketches and decisions by chance"},
    .batch = 16,
    .kin = &kin,
    .next = next_of_traces,
};
const StrategyKind ml_strategy_replay_func = {
    .about = {"replay-func", NULL,
              "the same; a batch is full while there are new programs"},
    .batch = 16,
    .kin = &kin,
    .next = next_of_func,
};
