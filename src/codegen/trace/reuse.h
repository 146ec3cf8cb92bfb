/*
 * reuse - how many distinct lines were touched between two touches of the same line.
 *
 * That number is the depth of the line in the stack of all lines by last use: a cache of
 * more lines than that, with least recently used ones replaced, holds the line still. The
 * upper few of the stack are a list; the rest is a row of bits in order of last use, with a
 * Fenwick tree over its words: O(log n) a touch. Source: interaction 4 (:memory).
 */
#ifndef ML_CODEGEN_TRACE_REUSE_H
#define ML_CODEGEN_TRACE_REUSE_H

#include "moonloop/core/ctx.h"

enum { ML_REUSE_TOP = 8 };
#define ML_REUSE_COLD UINT64_MAX /* never touched before */

typedef struct ml_Reuse {
    ml_Ctx *cx;
    uint32_t top[ML_REUSE_TOP]; /* the last used lines, latest first */
    uint32_t n_top;
    uint32_t *slot;    /* per line: its place in the row; 0: none, UINT32_MAX: at the top */
    uint32_t n_lines;  /* there is a slot for that many */
    uint32_t *line_at; /* per place */
    uint64_t *bits;    /* per place: a line was last used then */
    uint32_t *tree;    /* Fenwick tree over the words of bits */
    uint32_t cap;      /* places, a multiple of 64 */
    uint32_t used;     /* places given out so far */
    uint32_t live;     /* bits that are set */
} ml_Reuse;

void ml_reuse_init(ml_Reuse *r, ml_Ctx *cx);
/* Lines below n may be touched. */
void ml_reuse_reserve(ml_Reuse *r, uint32_t n);
/* Touches a line (reserved); the distance, or ML_REUSE_COLD. */
uint64_t ml_reuse_touch(ml_Reuse *r, uint32_t line);

#endif
