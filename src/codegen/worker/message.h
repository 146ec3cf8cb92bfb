/* message - an error as one line of plain text, for places that have no screen. */
#ifndef ML_CODEGEN_WORKER_MESSAGE_H
#define ML_CODEGEN_WORKER_MESSAGE_H

#include "moonloop/core/error.h"

/* The sentence with its facts, and the notes; in cx. "" without an error. */
const char *ml_error_line(ml_Ctx *cx, const ml_Error *e);

#endif
