/* from - for who knows another scheduler: what is typed here for what is known there. :help
 * shows the tables; the manual runs each line of them. Source: interaction 4 (Help). */
#ifndef ML_REPL_CMD_FROM_H
#define ML_REPL_CMD_FROM_H

#include "moonloop/core/base/text.h"

/* What is known; what is typed here, after the lines of `start` (NULL: of the tables; "":
 * of none); a word on what differs, or "". */
typedef struct ml_FromPair {
    const char *there, *here, *note;
    const char *start;
} ml_FromPair;

typedef struct ml_FromTable {
    const char *title;
    const ml_FromPair *pairs;
    size_t n;
} ml_FromTable;

typedef struct ml_From {
    const char *name, *topic; /* "TVM", "tvm" */
    const char *intro;
    const char *start; /* lines that make the program of the tables */
    const ml_FromTable *tables;
    size_t n;
} ml_From;

/* The program that the tables for Halide begin with: a blur along rows, then along columns. */
#define ML_FROM_BLUR                                                                       \
    "te = moon.te\n"                                                                       \
    "input = te.placeholder({66, 66}, \"float32\", \"input\")\n"                           \
    "bx = te.compute({66, 64}, function(y, x)\n"                                           \
    "  return (input(y, x) + input(y, x + 1) + input(y, x + 2)) / 3 end, \"bx\")\n"        \
    "by = te.compute({64, 64}, function(y, x)\n"                                           \
    "  return (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3 end, \"by\")\n"                 \
    "s = schedule(te.func({input, by}, \"blur\"))\n"

extern const ml_From ml_from_tvm, ml_from_halide;
/* What a reader has to type before the pair, besides what all tables begin with. */
const char *ml_from_lead(const ml_From *f, const ml_FromPair *p);
/* The tables as text for a screen of that width. */
void ml_from_text(const ml_From *f, size_t width, ml_Text *out);

#endif
