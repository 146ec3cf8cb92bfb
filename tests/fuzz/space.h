/*
 * space - programs of the workloads under random decisions of their design spaces, as machine
 * code between guard pages, against the interpreter.
 *
 * A program is drawn by space.lua; what the search would propose for it is compiled, and each
 * object is run twice, with every argument at the end of its pages and at their begin, so
 * that a read or a write beside it faults on either side. Source: style 10;
 * lowering-and-codegen 12, 13.
 */
#ifndef ML_TESTS_FUZZ_SPACE_H
#define ML_TESTS_FUZZ_SPACE_H

#include "moonloop/core/base/text.h"

enum {
    FZ_SPACE_NAME = 48,
    FZ_SPACE_MOST = 400, /* candidates of a program */
    FZ_SPACE_SKETCHES = 32,
};

typedef struct FzSketchCount {
    char name[FZ_SPACE_NAME];
    int64_t drafts, candidates; /* of how many programs it is the draft; tested */
} FzSketchCount;

/* What came of one program. */
typedef struct FzSpaceResult {
    char operator[FZ_SPACE_NAME];
    char line[400]; /* the program, for people */
    size_t n_sketches;
    FzSketchCount sketch[FZ_SPACE_SKETCHES]; /* the first one is the draft */
    bool none;                               /* no sizes were found that are small enough */
    bool alone;                              /* without stages before and after */
    int64_t candidates, calls;               /* compiled and run; runs of those */
    int64_t failed;
    int64_t refused_replays, refused_sketches, for_a_dtype;
    double reference_seconds, seconds;
    size_t n_hashes;
    uint64_t hashes[FZ_SPACE_MOST]; /* of what was compiled */
} FzSpaceResult;

typedef struct FzSpace FzSpace;
/* operator: programs of that workload alone; NULL: of all. NULL: *why says what is missing. */
FzSpace *fz_space_open(const char *operator, const char ** why);
void fz_space_close(FzSpace *s);
/* The k-th program of a seed with at most so many candidates, those from `first` on; what
 * fails is told in out. */
void fz_space_run(FzSpace *s, uint64_t seed, int64_t k, int first, int n, FzSpaceResult *r,
                  ml_Text *out);

#endif
