/* render - an error with the program around it: sentence, marked lines, rule, notes, ways
 * out. Source: interaction 7, ir-and-analysis 7. */
#ifndef ML_PRIMITIVES_RENDER_H
#define ML_PRIMITIVES_RENDER_H

#include "moonloop/primitives/prim.h"

typedef struct ml_Suggestion {
    const char *call;   /* split("i", {auto, 100}) */
    const char *remark; /* 11 × 100, guarded by i_0 * 100 + i_1 < 1024 */
} ml_Suggestion;

/* A failure held for later (a Lua error object): owns its memory, keeps the schedule. */
typedef struct ml_Failure ml_Failure;
ML_GIVES ml_Failure *ml_failure_take(ml_Schedule *s);    /* of the last failed call */
ML_GIVES ml_Failure *ml_failure_from(const ml_Error *e); /* without a schedule */
/* Of a question about the version s is at, or (s NULL) about a module: blocks and loops are
 * called as they are called there. */
ML_GIVES ml_Failure *ml_failure_about(const ml_Error *e, ml_Schedule *s,
                                      const ml_Module *m);
void ml_failure_free(ml_Failure *f);
ml_ErrorCode ml_failure_code(const ml_Failure *f);
const char *ml_failure_primitive(const ml_Failure *f); /* or NULL */
const char *ml_failure_message(ml_Failure *f);         /* the sentence with its facts */
/* The offending things as names one can type; k-th of the kind, NULL at the end. */
const char *ml_failure_loop(ml_Failure *f, size_t k);
const char *ml_failure_block(ml_Failure *f, size_t k);
const char *ml_failure_buffer(ml_Failure *f, size_t k);
bool ml_failure_number(ml_Failure *f, size_t k, const char **name, int64_t *value);
/* The k-th coordinate of a point: of the element (loop NULL), or of an instance in a loop. */
bool ml_failure_coord(ml_Failure *f, size_t point, size_t k, const char **loop,
                      int64_t *at);
const char *ml_failure_note(ml_Failure *f, size_t k);
const ml_Span *ml_failure_place(const ml_Failure *f);
void ml_failure_add_note(ml_Failure *f, const char *note);
/* Worked out at the first call, on the version where the error arose, within 50 ms. */
size_t ml_failure_suggestions(ml_Failure *f, const ml_Suggestion **out);

/* Where the program, printed as the screen shows it, holds what the error names. */
typedef struct ml_FailurePlace {
    uint32_t line, column, length; /* from 1; columns count bytes */
    const char *label;             /* the failure's */
} ml_FailurePlace;
/* In the order of the text, at most n; none when the program is no longer there. */
size_t ml_failure_places(ml_Failure *f, ml_FailurePlace *out, size_t n);

typedef struct ml_RenderOpts {
    int width; /* of the screen; 0: 100 */
    bool color;
    bool ascii;
    ml_RenderLevel level;
    bool no_suggestions;
} ml_RenderOpts;
/* As interaction 7 shows it, without a final newline. */
void ml_failure_render(ml_Failure *f, ml_Text *out, const ml_RenderOpts *opts);

#endif
