/* write_all - to a file, whole. */
#ifndef ML_REPL_OUT_WRITE_ALL_H
#define ML_REPL_OUT_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>

/* false: errno says why; some of it may have been written. */
bool ml_write_all(int fd, const char *p, size_t n);

#endif
