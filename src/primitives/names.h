/* names - what bears a display name: loops with blocks below them, blocks, buffers. */
#ifndef ML_PRIMITIVES_NAMES_H
#define ML_PRIMITIVES_NAMES_H

#include "moonloop/primitives/schedule.h"

typedef enum ml_Bearer { ML_BEARS_LOOP, ML_BEARS_BLOCK, ML_BEARS_BUFFER } ml_Bearer;

typedef struct ml_NamedItem {
    uint8_t kind; /* a ml_Bearer */
    ml_Uid uid;
    const char *hint;
    const ml_Buffer *buffer; /* when it is one */
    const ml_Var *var;       /* a loop's */
} ml_NamedItem;

typedef struct ml_NamedItems {
    ml_Ctx *cx;
    ML_VEC(ml_NamedItem) list;
} ml_NamedItems;
/* Those of a function, in program order; what lies below an init has no name. */
void ml_named_items(ml_NamedItems *it, const ml_Func *f);

#endif
