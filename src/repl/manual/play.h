/* play - chapters that are played while the manual is written: a story, tables of what one
 * types here for what one knows from elsewhere. Source: interaction 4 (Help), 12. */
#ifndef ML_REPL_MANUAL_PLAY_H
#define ML_REPL_MANUAL_PLAY_H

#include "repl/cmd/from.h"
#include "repl/manual/manual.h"

typedef enum ml_ManualDo {
    ML_DO_SAY,     /* a paragraph */
    ML_DO_TITLE,   /* what follows it */
    ML_DO_THERE,   /* text of another language, shown as it stands */
    ML_DO_TYPE,    /* lines; none of them may fail */
    ML_DO_REFUSED, /* lines of which one is refused: what it teaches is the error */
    ML_DO_MEASURE, /* lines that want machine code: a build without it says so in the page */
    ML_DO_PICTURE, /* of the focus; its kind, and the version to tell it from: "loops v0" */
} ml_ManualDo;

typedef struct ml_ManualStep {
    ml_ManualDo does;
    const char *text;
} ml_ManualStep;

/* Plays the steps in one session, and writes what came. false: a line failed that may not,
 * and *why says which and how. */
bool ml_manual_play(ml_ManualPage *p, const ml_ManualStep *steps, size_t n, ml_Text *why);
/* A table. Each pair is run on its own, and what it makes of the program is compared with the
 * program before it. false: the same. */
bool ml_manual_pairs(ml_ManualPage *p, const ml_From *f, const ml_FromTable *t,
                     ml_Text *why);

/* The chapters: story.c, from.c. */
bool ml_manual_story(ml_ManualPage *p, ml_Text *why);
bool ml_manual_from(ml_ManualPage *p, ml_Text *why);

#endif
