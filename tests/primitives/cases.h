/* cases - reading src/primitives/cases/NAME.case: title, program, calls, what must come.
 *
 *   == title
 *   program, or a fragment of a body
 *   -- call("a", {auto, 4})
 *   program that must come, or
 *   !! code at place
 *
 * A fragment is wrapped into a function whose parameters are the buffers it uses: float32
 * arrays of the smallest shape that fits. */
#ifndef ML_TESTS_PRIMITIVES_CASES_H
#define ML_TESTS_PRIMITIVES_CASES_H

#include "core/embedded.h"
#include "fixture.h"

typedef struct Case {
    const char *title, *program, *calls, *expected; /* expected: NULL with a code */
    const char *code, *place;                       /* place: NULL: not said */
    unsigned line;
} Case;
typedef ML_VEC(Case) Cases;

/* Fails the test on malformed text. */
void cases_read(ml_Ctx *cx, const char *file, const char *text, Cases *out);
/* The whole text of the program of a case: with a header when it is a fragment. Parameters
 * are those of `of` (the case's program), so that both sides have the same. */
const char *cases_whole(ml_Ctx *cx, const char *text, const char *of);

#endif
