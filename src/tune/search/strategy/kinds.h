/* kinds - the strategies, one file each. */
#ifndef ML_TUNE_SEARCH_STRATEGY_KINDS_H
#define ML_TUNE_SEARCH_STRATEGY_KINDS_H

#include "moonloop/tune/search/strategy.h"

extern const StrategyKind ml_strategy_mutate, ml_strategy_evolve, ml_strategy_beam,
    ml_strategy_greedy, ml_strategy_replay_trace, ml_strategy_replay_func;

#endif
