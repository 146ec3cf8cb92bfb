/* program - which program serves as worker when nobody says so. */
#ifndef ML_CODEGEN_WORKER_PROGRAM_H
#define ML_CODEGEN_WORKER_PROGRAM_H

/* The running program when it is moonloop, else the one beside the library, else the one in
 * PATH; malloc. NULL: none is found. */
char *ml_program_find(void);

#endif
