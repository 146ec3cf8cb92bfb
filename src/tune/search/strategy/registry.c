/* registry - the strategies that there are. Source: auto-scheduler 12. */
#include "moonloop/tune/search/strategy/kinds.h"

const StrategyKind *const ml_strategy_kinds[] = {&ml_strategy_mutate, NULL};
