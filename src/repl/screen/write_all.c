/* write_all - see write_all.h. */
#include "repl/screen/write_all.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

bool ml_write_within(int fd, const char *p, size_t n, int ms)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            if (poll(&wait, 1, ms) == 0) {
                errno = EAGAIN;
                return false;
            }
        } else if (k < 0 && errno != EINTR)
            return false;
        else if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
    return true;
}

bool ml_write_all(int fd, const char *p, size_t n)
{
    return ml_write_within(fd, p, n, -1);
}
