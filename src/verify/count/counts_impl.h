/*
 * counts_impl - what the files behind counts.h share: the accesses and operations of a
 * function, each at its place under loops and conditions, and their digits.
 */
#ifndef ML_VERIFY_COUNTS_IMPL_H
#define ML_VERIFY_COUNTS_IMPL_H

#include "moonloop/verify/count/counts.h"
#include "moonloop/verify/count/lattice.h"
#include "moonloop/verify/count/linear.h"

/* ---- numbers */
ml_Number ml_number(int64_t n);
ml_Number ml_number_of(ml_Ctx *cx, const ml_Expr *e); /* NULL: unknown */
ml_Number ml_number_unknown(void);
ml_Number ml_number_mul(ml_Ctx *cx, ml_Number a, ml_Number b);
ml_Number ml_number_add(ml_Ctx *cx, ml_Number a, ml_Number b);
ml_Number ml_number_at_most(ml_Number a);
/* Both hold: the better of two bounds. */
ml_Number ml_number_min(ml_Number a, ml_Number b);

/* ---- conditions on the way down */
typedef struct ml_Guard {
    const struct ml_Guard *up;
    uint32_t depth; /* loops around it */
    bool known;     /* else it may hold or not */
    bool repeats;   /* a while: what is below may be executed any number of times */
    int64_t lo, hi; /* lo <= form <= hi; INT64_MIN, INT64_MAX: open */
    ml_Linear form;
} ml_Guard;

typedef struct ml_Row { /* a form in the digits of a layout, without its sizes */
    int64_t *coef;
    uint64_t mask; /* digits that occur */
    int64_t base;
    bool ok, sized; /* sized: sizes occur too */
} ml_Row;

typedef struct ml_GuardRow {
    ml_Row row;
    int64_t lo, hi;
    uint32_t depth, open; /* open: made of the open bound of that number, from 1 */
    bool known, repeats;
} ml_GuardRow;

typedef struct ml_Digit {
    uint32_t axis, depth;
    int64_t lo, ext;     /* ext ML_OPEN: see expr */
    const ml_Expr *expr; /* or NULL */
} ml_Digit;

/* The counters of all loops around one place, as independent digits. */
typedef struct ml_Layout {
    bool ok;
    uint32_t n; /* at most ML_MAX_DIGITS, outermost loop first */
    ml_Digit *digit;
    uint32_t n_rows, n_guards;
    ml_Row *rows; /* one for each dimension */
    ml_GuardRow *guards;
} ml_Layout;

typedef struct ml_Place {
    uint32_t loop, depth; /* innermost loop around it; how many there are */
    const ml_Guard *guards;
    const ml_Layout *layout; /* without rows; made when first asked for */
    uint32_t asked;          /* memory of the last answer: 1 + depth */
    ml_Number ways;
} ml_Place;

typedef struct ml_SiteAt {
    ml_Site site;
    ml_Place *place;
    uint32_t buffer; /* position among the buffers */
    int64_t lanes;   /* accesses at once */
    const ml_Linear *dims;
    const ml_Layout *layout;
} ml_SiteAt;

typedef struct ml_Work1 { /* operations in a value */
    ml_Place *place;
    int64_t ops;
    bool most;
} ml_Work1;

typedef struct ml_LoopAt {
    const ml_For *node; /* NULL: threads that an attribute starts */
    uint32_t axis, parent, depth;
    ml_Place *inside;
    ml_Number extent;
    bool in_init;
    uint32_t sites[2], work[2], buffers[2]; /* from, to */
} ml_LoopAt;
#define ML_NO_LOOP UINT32_MAX

typedef struct ml_Sites {
    ml_Ctx *cx;
    const ml_Func *func;
    ml_LinearEnv env;
    ML_VEC(ml_LoopAt) loops;
    ML_VEC(ml_SiteAt) sites;
    ML_VEC(ml_Work1) work;
    ML_VEC(const ml_Buffer *) buffers;
    ML_VEC(uint32_t) named;  /* buffers as blocks name them and accesses follow */
    ml_Map *position;        /* buffer uid -> 1 + position */
    ml_Map *pointers;        /* data pointer -> const ml_Buffer * */
    ml_Map *views;           /* buffer uid -> const ml_Match * */
    ml_Map *lets;            /* let variables that are made of elements, see ml_is_work */
    bool jumps, opaque;      /* break, continue, return; calls that may do anything */
    int64_t budget;          /* for what has to be looked at point by point */
    const ml_WorkKind *only; /* operations that count; NULL: all */
} ml_Sites;

/* Collects them all; false: interrupted. */
bool ml_sites_of(ml_Sites *s, const ml_Func *f);

/* The digits of the place and of the forms. */
const ml_Layout *ml_layout(ml_Sites *s, const ml_Place *place, const ml_Linear *dims,
                           uint32_t n);
/* How often a place is reached while the loops from that depth on run. */
ml_Number ml_place_ways(ml_Sites *s, ml_Place *p, uint32_t depth);

/* ---- guards of a layout under the loops from a depth on: each is about relaxed digits
 * alone, those about the same sum are one. */
typedef struct ml_OpenBound { /* loops around have a say in it */
    uint64_t mask;            /* the relaxed digits that have one too */
    bool always;              /* some choice of those satisfies it, wherever loops stand */
} ml_OpenBound;

typedef struct ml_Bounds {
    bool never;   /* nothing is reached */
    bool most;    /* what could not be kept only makes it less */
    bool unknown; /* any number of times */
    uint32_t n;
    ml_GuardRow v[16];
    uint32_t n_open;
    ml_OpenBound open[8];
} ml_Bounds;
void ml_bounds_of(const ml_Layout *l, uint32_t depth, ml_Bounds *out);
/* The digits that only a condition speaks of are taken out: it is about the others. Sets
 * most where an open bound matters to those. */
void ml_bounds_project(const ml_Layout *l, uint64_t keep, ml_Bounds *b);
/* Digits whose depth is at least that. */
uint64_t ml_relaxed(const ml_Layout *l, uint32_t depth);
/* The digits in `mask` that are connected with the first of them, by rows and bounds. */
uint64_t ml_component(const ml_Layout *l, const ml_Bounds *b, uint64_t mask, bool rows);

/* Choices of the digits in `mask` that the bounds allow; b->most is not looked at. */
ml_Number ml_bounded_ways(ml_Sites *s, const ml_Layout *l, const ml_Bounds *b,
                          uint64_t mask);

/* Distinct elements of the buffer that these accesses touch together. */
ml_Number ml_elements(ml_Sites *s, const ml_Buffer *b, const ml_SiteAt *const *v, size_t n,
                      uint32_t depth);
void ml_stride_of(ml_Sites *s, const ml_SiteAt *at, const ml_LoopAt *l, ml_Stride *out);

#endif
