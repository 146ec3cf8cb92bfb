/*
 * shown - see shown.h. Nothing is worked out before a sentence is made: the table of names
 * is asked for then.
 */
#include "moonloop/core/shown.h"

#include "moonloop/core/vec.h"

static const char *known(ml_Ctx *cx, ml_Uid uid, const char *own)
{
    const char *z = ml_map_get(ml_ctx_names(cx), uid);

    return z && *z ? z : own;
}

const char *ml_shown_var(ml_Ctx *cx, const ml_Var *v)
{
    return known(cx, v->uid, v->hint);
}

const char *ml_shown_loop(ml_Ctx *cx, const ml_For *f)
{
    return known(cx, f->var->uid, f->var->hint);
}

const char *ml_shown_block(ml_Ctx *cx, const ml_Block *b)
{
    return known(cx, b->tag, b->name);
}

const char *ml_shown_buffer(ml_Ctx *cx, const ml_Buffer *b)
{
    return known(cx, b->uid, b->name);
}
