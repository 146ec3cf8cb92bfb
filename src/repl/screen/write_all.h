/* write_all - to a file or a terminal, whole. */
#ifndef ML_REPL_SCREEN_WRITE_ALL_H
#define ML_REPL_SCREEN_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>

/* false: errno says why; some of it may have been written. Safe in a signal handler. */
bool ml_write_all(int fd, const char *p, size_t n);
/* The same to what may hold its output (EAGAIN) for at most so many milliseconds at a time;
 * -1: as long as it likes. */
bool ml_write_within(int fd, const char *p, size_t n, int ms);

#endif
