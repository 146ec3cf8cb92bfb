/* sources - the buffers that views (match_buffer) are of: a map from the uid of a view to
 * the buffer that it is taken from, which may be a view itself. */
#ifndef ML_CODEGEN_SOURCES_H
#define ML_CODEGEN_SOURCES_H

#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

/* Notes the views that the block makes. */
void ml_sources_add(ml_Ctx *cx, ml_Map *sources, const ml_Block *b);
/* What b is a view of in the end; b when it is none. */
const ml_Buffer *ml_source_of(const ml_Map *sources, const ml_Buffer *b);

#endif
