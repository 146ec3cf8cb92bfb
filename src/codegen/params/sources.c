/* sources - see sources.h. */
#include "moonloop/codegen/params/sources.h"

void ml_sources_add(ml_Ctx *cx, ml_Map *sources, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_matches; k++)
        ml_map_set(cx, sources, b->matches[k].target->uid, b->matches[k].source.buffer);
}

const ml_Buffer *ml_source_of(const ml_Map *sources, const ml_Buffer *b)
{
    const ml_Buffer *s;

    while ((s = ml_map_get(sources, b->uid)) != NULL)
        b = s;
    return b;
}
