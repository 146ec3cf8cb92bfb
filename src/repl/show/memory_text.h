/* memory_text - what :memory tells, as text and as data. */
#ifndef ML_REPL_SHOW_MEMORY_TEXT_H
#define ML_REPL_SHOW_MEMORY_TEXT_H

#include "moonloop/codegen/trace/memory.h"
#include "moonloop/core/json/field.h"
#include "repl/session/session.h"

typedef struct ml_MemoryTell {
    ml_Session *ss;
    ml_Schedule *s;
    const ml_MemoryFacts *f;
    const char *name; /* of the buffer, as displayed */
    bool narrow;
    ml_Text t;
} ml_MemoryTell;

void ml_memory_text(ml_MemoryTell *c);       /* appended to c->t, without a last newline */
extern const ml_FieldTable ml_memory_fields; /* of ml_MemoryTell */

/* Display names. */
const char *ml_memory_loop(const ml_MemoryTell *c, const ml_Var *v);
/* The block that a statement belongs to. */
const char *ml_memory_block(const ml_MemoryTell *c, const ml_Stmt *s);
/* `the first 3 of 14 iterations of h, the first of 14 iterations of w` */
void ml_memory_caps(const ml_MemoryTell *c, ml_Text *t);

#endif
