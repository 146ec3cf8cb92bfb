/* own_clock - how long a thread has worked (own_clock.h). */
#include "moonloop/core/base/own_clock.h"

#include <time.h>

int64_t ml_own_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
