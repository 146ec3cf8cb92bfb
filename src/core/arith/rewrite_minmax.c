/* rewrite_minmax - the rules for min and max (ir-and-analysis 3.5). What bounds or known
 * comparisons decide is decided before. */
#define ML_RULES
#include "moonloop/core/arith/rule.h"

#define LOW(a, b)  MIN(a, b)
#define HIGH(a, b) MAX(a, b)
#define PICK(a, b) a
static const ml_Rule min_rules[] = {
#include "moonloop/core/arith/rewrite_minmax.def"
};
RULESET(min, min_rules);
#undef LOW
#undef HIGH
#undef PICK

#define LOW(a, b)  MAX(a, b)
#define HIGH(a, b) MIN(a, b)
#define PICK(a, b) b
static const ml_Rule max_rules[] = {
#include "moonloop/core/arith/rewrite_minmax.def"
};
RULESET(max, max_rules);
