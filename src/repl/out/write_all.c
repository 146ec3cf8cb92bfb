/* write_all - see write_all.h. */
#include "repl/out/write_all.h"

#include <errno.h>
#include <unistd.h>

bool ml_write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}
