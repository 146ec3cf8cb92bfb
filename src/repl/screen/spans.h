/* spans - the roles of parts of a line of text. */
#ifndef ML_REPL_SCREEN_SPANS_H
#define ML_REPL_SCREEN_SPANS_H

#include "core/vec.h"
#include "repl/screen/grid.h"

typedef struct ml_RoleSpan { /* bytes [from, to) of the text, in order, not overlapping */
    uint32_t from, to;
    uint8_t role; /* ml_CellRole */
} ml_RoleSpan;
typedef ML_VEC(ml_RoleSpan) ml_RoleSpans;

#endif
