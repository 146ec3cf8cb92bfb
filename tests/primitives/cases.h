/* cases - the reader of src/primitives/call/cases.h, failing the test on malformed text. */
#ifndef ML_TESTS_PRIMITIVES_CASES_H
#define ML_TESTS_PRIMITIVES_CASES_H

#include "fixture.h"
#include "moonloop/core/base/embedded.h"
#include "moonloop/primitives/call/cases.h"

typedef ml_Case Case;
typedef ml_Cases Cases;

void cases_read(ml_Ctx *cx, const char *file, const char *text, Cases *out);
const char *cases_whole(ml_Ctx *cx, const char *text, const char *of);

#endif
