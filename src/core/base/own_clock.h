/* own_clock - how long a thread has worked. Source: interaction 4. */
#ifndef ML_CORE_BASE_OWN_CLOCK_H
#define ML_CORE_BASE_OWN_CLOCK_H

#include <stdint.h>

/* What this thread has worked so far, in ns: for a limit on work whose outcome a busy machine
 * must not change. */
int64_t ml_own_ns(void);

#endif
