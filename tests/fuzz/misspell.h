/*
 * misspell - programs with one name misspelt or one line taken out, and what reading them
 * may give: an error that names a place, or a program that has lost nothing.
 *
 * A misspelt name: an error, or a program equal by meaning. Where a name is defined the
 * misspelt one may be a definition of its own, which makes another program (x = x + 1 then
 * has a new scalar); of that no function, parameter or statement is missing, either.
 * A line taken out: an error, or the functions and parameters of before, and every
 * statement but those that began in that line. Source: style 10, script 14.
 */
#ifndef ML_TESTS_FUZZ_MISSPELL_H
#define ML_TESTS_FUZZ_MISSPELL_H

#include "moonloop/core/script/script.h"

typedef struct MsEdit { /* of a text: a name in [at, end), or the line that begins at `at`
                         */
    size_t at, end;
    uint32_t line;
    bool is_line;
    bool defines; /* the name stands where a name is defined */
} MsEdit;

/* The k-th edit of a text; false: there are no more. Names in comments and strings count as
 * text; keywords are names here. */
typedef ML_VEC(MsEdit) MsEdits;
void ms_edits(ml_Ctx *cx, ml_Str text, MsEdits *out);
/* The edited text, in cx. `how` chooses the way a name is misspelt. */
ml_Str ms_apply(ml_Ctx *cx, ml_Str text, const MsEdit *e, unsigned how);

typedef enum MsVerdict {
    MS_REFUSED, /* an error with a place */
    MS_EQUAL,
    MS_OTHER, /* another program, and nothing of the old one is lost */
    MS_LOST,  /* this must not be; why says what */
} MsVerdict;
/* Reads the edited text and compares it with the program that the whole text denotes. */
MsVerdict ms_judge(const ml_Module *before, ml_Str text, const MsEdit *e,
                   const ml_ParseOpts *opts, ml_Text *why);

#endif
