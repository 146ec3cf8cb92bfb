/* vary - vectors of decisions like others. Of a tile that is to be sampled afresh the first
 * factor is -1. */
#ifndef ML_TUNE_SEARCH_STRATEGY_VARY_H
#define ML_TUNE_SEARCH_STRATEGY_VARY_H

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/tune/search/tuner_impl.h"

/* One decision of d is changed, now and then more; the sketch has some. */
void ml_vary(ml_Random *r, const Sketch *sk, int64_t *d);
/* About half of the decisions are those of the other. */
void ml_vary_cross(ml_Random *r, const Sketch *sk, int64_t *d, const int64_t *with);

#endif
