/*
 * symbolic - rows of features of a sketch's candidates from closed forms, without building
 * a program for each.
 *
 * A candidate is a vector of integers: the decisions of the sketch's sampling instructions
 * one after the other, an index for a choice, n factors for a tile, for a place 2 more than
 * its decision (0: inlined, 1: where it stands). Source: auto-scheduler 13.
 */
#ifndef ML_TUNE_SYMBOLIC_H
#define ML_TUNE_SYMBOLIC_H

#include "moonloop/primitives/trace.h"
#include "moonloop/tune/feature/feature.h"

/* What no candidate may pass; checked from the forms. 0: no limit. */
typedef struct ml_FormLimits {
    double body;     /* operations in the innermost unrolled loops */
    double pressure; /* accumulators, as a multiple of the registers */
    double bytes;    /* of an allocated buffer */
} ml_FormLimits;

typedef struct ml_FormStats {
    int64_t by_forms;     /* candidates whose rows came from forms */
    int64_t by_replay;    /* those that were replayed: unsupported, or not believed yet */
    int64_t illegal;      /* replays that were refused */
    int64_t beyond;       /* over a limit */
    size_t variants;      /* paths that were found */
    size_t replayed;      /* of these, those without forms */
    size_t mismatches;    /* of these, those whose forms did not agree with the program */
    const char *why;      /* a step that has no forms, and why; NULL: none was met */
    double check_seconds; /* spent comparing and replaying */
} ml_FormStats;

typedef struct ml_SketchForms ml_SketchForms;

/* start and the instructions of the trace must outlive it; no other fork of start may live during its calls. */
ML_GIVES ml_SketchForms *ml_sketch_forms_new(ml_Schedule *start, const ml_Trace *trace,
                                             const ml_FeatureTarget *target,
                                             const ml_FormLimits *limits);
void ml_sketch_forms_free(ml_SketchForms *s);              /* NULL is fine */
uint32_t ml_sketch_forms_numbers(const ml_SketchForms *s); /* integers of a vector */
const ml_FormStats *ml_sketch_forms_stats(const ml_SketchForms *s);
/* Every variant is compared with the program at so many vectors before it is believed (2 by
 * default; SIZE_MAX: at each). */
void ml_sketch_forms_check(ml_SketchForms *s, size_t times);

/* Of a sketch whose first eight variants agreed only every eighth is compared from then on, as
 * long as none disagrees. */
void ml_sketch_forms_trust(ml_SketchForms *s);

/* What a space does behind the decisions: fn, on a replayed program (false: there is no such
 * program), by the names of postprocessors of which fn is made. Outlives the forms. */
typedef struct ml_FormPost {
    const char *const *names;
    size_t n;
    bool (*fn)(ml_Schedule *s, void *user); /* NULL: nothing is done */
    void *user;
} ml_FormPost;
/* From then on rows are of the programs after them; before the first candidate. false: one of
 * them has no forms, and rows stay what comes before. */
bool ml_sketch_forms_post(ml_SketchForms *s, const ml_FormPost *post);

/* How many candidates may still be replayed, symbolically or really; counted down. NULL: all. */
void ml_sketch_forms_spare(ml_SketchForms *s, size_t *replays);

/* n random candidates into d, by forms: choices by their weights, factors uniform over the
 * tuples whose last is within the limit. *state as of primitives/rewrite/sample.h. How many
 * there are; fewer where they have to be replayed and some are not legal. */
size_t ml_sketch_forms_draw(ml_SketchForms *s, uint32_t *state, size_t n, int64_t *d);
/* Draws of n candidates what is not decided (a number below 0) and tiles whose factors are not
 * those of what they cut, now that choices before them are others. false: what tiles cut has
 * no one form; some of them are as they were. */
bool ml_sketch_forms_complete(ml_SketchForms *s, uint32_t *state, size_t n, int64_t *d);

/* Rows of many candidates, packed as a model reads them. */
typedef struct ml_FormBatch {
    size_t n;
    const float *rows;     /* begin[n] rows of ML_FEATURES */
    const uint32_t *begin; /* n + 1 */
    const bool *valid;     /* false: it is illegal and has no rows, or over a limit */
    const bool *left;      /* true: no replay was left for it, and nothing is known */
} ml_FormBatch;
/* d: n vectors, one after the other. What out points to is good until the next call. */
void ml_sketch_forms_rows(ml_SketchForms *s, const int64_t *d, size_t n, ml_FormBatch *out);

/* The same numbers from a program that is really replayed: rows[ML_MAX_ROWS][ML_FEATURES].
 * -1: the decisions are not legal. */
int ml_sketch_real_rows(ml_SketchForms *s, const int64_t *d, double *rows);

#endif
