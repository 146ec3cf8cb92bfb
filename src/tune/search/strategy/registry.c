/* registry - the strategies that there are. Source: auto-scheduler 12. */
#include "moonloop/tune/search/strategy/kinds.h"

const StrategyKind *const ml_strategy_kinds[] = {&ml_strategy_mutate,
                                                 &ml_strategy_evolve,
                                                 &ml_strategy_beam,
                                                 &ml_strategy_greedy,
                                                 &ml_strategy_replay_trace,
                                                 &ml_strategy_replay_func,
                                                 NULL};
