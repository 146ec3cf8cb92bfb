/* kinds - the strategies, one file each. */
#ifndef ML_TUNE_SEARCH_STRATEGY_KINDS_H
#define ML_TUNE_SEARCH_STRATEGY_KINDS_H

#include "moonloop/tune/search/strategy.h"

extern const StrategyKind ml_strategy_mutate;

#endif
