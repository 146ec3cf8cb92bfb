/* program - which program serves as worker when nobody says so, and starting one. */
#ifndef ML_CODEGEN_WORKER_PROGRAM_H
#define ML_CODEGEN_WORKER_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

/* The running program when it is moonloop, else the one beside the library, else the one in
 * PATH; malloc. NULL: none is found. */
char *ml_program_find(void);

/* The file, moved to a descriptor that is n or above and closed in children; -1: errno, or
 * fd was -1. */
int ml_fd_above(int fd, int n);

/* Starts `program option` in a process group of its own, with every signal as in a new
 * program. files[k] becomes its descriptor k (-1: nothing to read, nothing kept), of the
 * others it has none; each is n or above, so that none is put over another. 0, or an errno. */
int ml_program_start(const char *program, const char *option, char *const *env,
                     const int *files, int n, pid_t *pid);

#endif
