/* cases - reading src/primitives/cases/NAME.case: title, program, calls, what must come.
 *
 *   == title
 *   program, or a fragment of a body
 *   -- call("a", {auto, 4})
 *   program that must come, or
 *   !! code at place
 *
 * A line `-> i, j` before the program tells what the last call returns: names of loops and
 * blocks, values of samples, auto.
 *
 * A fragment is wrapped into a function whose parameters are the buffers it uses: float32
 * arrays of the smallest shape that fits. Source: style 10. */
#ifndef ML_PRIMITIVES_CASES_H
#define ML_PRIMITIVES_CASES_H

#include "moonloop/primitives/schedule.h"

typedef struct ml_Case {
    const char *title, *program, *calls, *expected; /* expected: NULL with a code */
    const char *code, *place;                       /* place: NULL: not said */
    const char *results;                            /* NULL: not said */
    unsigned line;
} ml_Case;
typedef ML_VEC(ml_Case) ml_Cases;

/* false: cx's error is bad-file, with the line. */
bool ml_cases_read(ml_Ctx *cx, const char *file, const char *text, ml_Cases *out);
/* The whole text of the program of a case: with a header when it is a fragment. Parameters
 * are those of `of` (the case's program), so that both sides have the same. NULL: bad-file.
 */
const char *ml_case_whole(ml_Ctx *cx, const char *text, const char *of);

/* The first case of NAME.case, run now. */
typedef struct ml_CaseExample {
    ml_Text title, before, call, after; /* after: the program, or the rendered error */
    bool ok;                            /* the call went well */
    int width; /* in: of the screen that an error is rendered for; 0: 100 */
} ml_CaseExample;
bool ml_case_example(const char *name, ml_CaseExample *out); /* false: there is none */
void ml_case_example_free(ml_CaseExample *ex);
/* The shortest case that is refused with the code, and the first of the same primitive that
 * is accepted, both run now; false: no case ends so. */
bool ml_case_examples_of(const char *code, ml_CaseExample *bad, ml_CaseExample *good);

#endif
