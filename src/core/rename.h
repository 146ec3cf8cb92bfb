/* rename - what substitution and copying share: substitution that may also rename the
 * variables defined by LET expressions. Internal to core. */
#ifndef ML_CORE_RENAME_H
#define ML_CORE_RENAME_H

#include "moonloop/core/walk.h"

/* One substitution in progress: the maps, a filter over their variables, and what was found
 * for large shared expressions (by id; valid while the maps stay as they are). */
typedef struct ml_Rename {
    const ml_Subst *s;
    uint64_t bloom;
    bool buffers;
    bool defs; /* LET variables that are mapped to variables are renamed where defined */
    ml_Map *memo;
} ml_Rename;

ml_Rename ml_rename_begin(const ml_Subst *s, bool defs);
/* The shapes of ml_Mapper's functions; user is an ml_Rename. */
const ml_Expr *ml_rename_expr(ml_Ctx *cx, const ml_Expr *e, void *user);
const ml_Buffer *ml_rename_buffer(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                                  void *user);

#endif
