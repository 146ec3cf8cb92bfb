/* shipped - the bytes of the model that is compiled in. */
#ifndef ML_TUNE_MODEL_XGB_SHIPPED_H
#define ML_TUNE_MODEL_XGB_SHIPPED_H

#include "moonloop/core/base/base.h"

ml_Str ml_xgb_shipped(void);

#endif
