/* call_text - calls of primitives in Lua form, read as data: name("a", {auto, 4}, 3)
 * other{x = true}. Nothing is executed. */
#ifndef ML_PRIMITIVES_CALL_TEXT_H
#define ML_PRIMITIVES_CALL_TEXT_H

#include "moonloop/primitives/schedule.h"

typedef struct ml_CallText {
    const char *name; /* as written */
    ml_Str text;      /* the call in the source; empty: it could not be read to its end */
    const ml_Primitive *prim;
    size_t n;
    const ml_Arg *args; /* by parameter */
} ml_CallText;
typedef ML_VEC(ml_CallText) ml_CallTexts;
/* Calls one after the other. false: bad-argument set with what was expected. */
bool ml_parse_calls(ml_Ctx *cx, ml_Str text, ml_CallTexts *out);

/* What names mean in a line that somebody types. */
typedef struct ml_CallNames {
    void *user;
    /* `name`, or with element > 0 name[element], as an argument; false: it is none. */
    bool (*value)(void *user, ml_Str name, int64_t element, ml_Arg *out);
    /* Whether `prim`, called on `receiver` (empty: without one), is that primitive. */
    bool (*means)(void *user, ml_Str receiver, ml_Str prim);
} ml_CallNames;
/* The call that *text begins with, by the rules of Lua; *text goes on behind it. false with
 * out->text empty: it is no complete call; else the arguments are wrong, and why is set. */
bool ml_parse_call(ml_Ctx *cx, ml_Str *text, const ml_CallNames *names, ml_CallText *out);

#endif
