/* guarded - workspace between guard pages, for workspace.c, which maps and unmaps it. */
#ifndef ML_CODEGEN_RUNTIME_GUARDED_H
#define ML_CODEGEN_RUNTIME_GUARDED_H

#include "moonloop/codegen/runtime/runtime.h"

typedef struct ml_Guarded ml_Guarded;

/* Bytes to map for a buffer. */
size_t ml_guarded_room(size_t bytes, size_t align);
/* One of that size that this thread gave back; NULL: none. */
void *ml_guarded_take(size_t bytes, size_t align);
/* Made of so many mapped bytes; align: a power of two, 64 and more. */
void *ml_guarded_make(void *map, size_t mapped, size_t bytes, size_t align);
/* What is to be unmapped now, with its bytes; NULL: it is kept. */
void *ml_guarded_free(void *data, size_t *mapped);
/* One that this thread has kept, to be unmapped; NULL: none is left. */
void *ml_guarded_drop(size_t *mapped);

#endif
