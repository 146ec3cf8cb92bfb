/* diff - what changed between two texts, by lines, as the prompt shows it after a step.
 * Source: interaction 5. */
#ifndef ML_REPL_SHOW_DIFF_H
#define ML_REPL_SHOW_DIFF_H

#include "moonloop/primitives/schedule.h"

struct ml_Session;

/* Lines that are known to be equal, by their numbers from 0. */
typedef struct ml_DiffSame {
    size_t a, b, n;
} ml_DiffSame;

typedef struct ml_DiffOpts {
    int context; /* unchanged lines around a change; 2 */
    int fold;    /* wholly new or removed stretches longer than this are folded; 0: never */
    bool color;
    const ml_DiffSame *same; /* one behind the other in both texts, or none */
    size_t n_same;
} ml_DiffOpts;

typedef struct ml_DiffStats {
    size_t removed, added, same;
    size_t shown; /* lines printed */
} ml_DiffStats;

/* Appends the diff of a and b to out; "" when nothing changed. Lines that only moved right
 * or left count as unchanged. */
ml_DiffStats ml_diff_text(ml_Text *out, const char *a, const char *b,
                          const ml_DiffOpts *opts);
/* The same of the programs of two versions, whose trees are compared first (o->same is not
 * looked at). */
ml_DiffStats ml_diff_versions(struct ml_Session *ss, ml_Schedule *s, int from, int to,
                              const ml_DiffOpts *o, ml_Text *out);
/* Of each line of b: '+' it is not in a, '-' lines of a are gone above it (of the last line: or
 * below) and nothing stands in their place, ' ' neither. sign has room for all of b's. Lines
 * that only moved right or left are in both. */
ml_DiffStats ml_diff_signs(const char *a, const char *b, char *sign);
/* The same of two loop trees, without line numbers: what a node of both has new is told in
 * one line, `~ C  reads A, B → B_global`. */
void ml_diff_tree(ml_Text *out, const char *a, const char *b, bool color);

#endif
