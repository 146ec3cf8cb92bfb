/*
 * frame - something run inside something else: where its text goes, and how it is run.
 *
 * Whoever runs lines, commands or Lua for another purpose than the user's own line says
 * here what is different meanwhile. A frame is pushed and popped in one function; what it
 * found stands in it. Source: interaction 3, 4, 10.
 */
#ifndef ML_REPL_SESSION_FRAME_H
#define ML_REPL_SESSION_FRAME_H

#include "repl/session/session.h"

/* A primitive of the focus with its arguments by parameter: what the line that is run says,
 * so that it need not be read, nor its names looked up. The line is what is logged. */
typedef struct ml_RunCall {
    const ml_Primitive *prim;
    const ml_Arg *args;
    size_t n;
} ml_RunCall;

/* What is left out (0, NULL, false) is as it is outside. */
typedef struct ml_RunOpts {
    ml_Sink sink; /* results, and what goes to standard error */
    ml_Mode mode; /* ML_MODE_AS_IS: the same */
    bool tells; /* what commands tell as data goes to `data`; NULL there: nobody wants it */
    ml_Data *data;  /* data.h */
    bool as_text;   /* text under --json too */
    int page;       /* columns: for a page on the screen, so plain, and nobody is asked */
    bool apart;     /* its errors are not the program's exit status */
    bool outermost; /* lines in it are as if typed, whatever line is at work */
    const ml_RunCall *call; /* of ml_run: applied as it stands; NULL: the line is read */
} ml_RunOpts;

typedef struct ml_RunFrame { /* what the run stands in */
    const ml_RunOpts *run;
    ml_Out out;
    ml_Mode mode;
    ml_Data *data;
    bool json, prompting;
    int status, depth;
} ml_RunFrame;

/* The options live until the frame is popped. */
void ml_frame_push(ml_Session *ss, ml_RunFrame *f, const ml_RunOpts *run);
void ml_frame_pop(ml_Session *ss, const ml_RunFrame *f);

#endif
