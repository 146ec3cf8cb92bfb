/* retype - a buffer of another element type in place of one that a block allocates: what is
 * stored is encoded, what is loaded is decoded, in views too. Source: primitives 11. */
#ifndef ML_PRIMITIVES_RETYPE_H
#define ML_PRIMITIVES_RETYPE_H

#include "moonloop/primitives/prim.h"

/* A value of the one type as one of `type`, which has as many lanes. */
typedef const ml_Expr *ml_Recode(ml_Ctx *cx, const ml_Expr *value, ml_Dtype type);

typedef struct ml_Retype {
    ml_Ctx *cx;
    ml_Map *fresh; /* uid of the buffer or a view -> the new one */
    ml_Map *data;  /* uids of their data pointers */
    ml_Dtype type;
    ml_Recode *encode, *decode;
    const ml_Block *at, *opaque; /* opaque: whose access is none of the two */
    bool is_opaque;
} ml_Retype;

/* Begins; the new buffer. No program has it yet. encode, decode: NULL is a cast. */
const ml_Buffer *ml_retype_begin(ml_Retype *r, ml_Ctx *cx, const ml_Buffer *buf,
                                 ml_Dtype type, ml_Recode *encode, ml_Recode *decode);
/* Puts it in place of the old one where that is allocated, in the block `site`. Fails with
 * opaque-access, at `user` where no block can be told. */
bool ml_retype_install(ml_Call *c, ml_Retype *r, ml_Uid site, const ml_Buffer *buf,
                       const ml_Block *user);
/* Where the buffer is allocated; 0: buffer-not-allocated for block b, or not-supported of
 * one that holds vectors. */
ml_Uid ml_retype_site(ml_Call *c, const ml_Buffer *buf, const ml_Block *b);

#endif
