/* asm_view - assembly text as people read it: the hottest inner loop first, each
 * instruction with the line of the program it came from. Source: interaction 8. */
#ifndef ML_REPL_SHOW_ASM_VIEW_H
#define ML_REPL_SHOW_ASM_VIEW_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/ctx.h"
#include "moonloop/core/vec.h"

enum { ML_ASM_LINES = 16 };
typedef struct ml_AsmSummary {            /* of the hottest loop, or of everything */
    uint32_t n_lines, line[ML_ASM_LINES]; /* of the program, ascending; the first ones */
    size_t instructions, fmas, loads, stores, spills;
    unsigned vector_bits; /* of the widest register used */
    bool is_loop;
} ml_AsmSummary;
typedef ML_VEC(uint32_t) ml_AsmNumbers; /* of each line of the text; 0: none */
typedef struct ml_AsmOpts {
    uint32_t from, to; /* lines of the program that are wanted; 0: all */
    uint32_t near_from,
        near_to;          /* where the hottest loop is looked for first; 0: anywhere */
    bool color;           /* line numbers in the hues of ml_asm_hue */
    ml_AsmNumbers *lines; /* the numbers go there, in cx, not before the text; or NULL */
    bool plain;           /* without them, and labels by their order: to be compared */
} ml_AsmOpts;
/* The sequence that begins the hue of a line of the hottest loop, the same on both sides;
 * "" for other lines. */
const char *ml_asm_hue(const ml_AsmSummary *sum, uint32_t line);
/* false: no instruction is of those lines. cx is for scratch. */
bool ml_asm_view(ml_Ctx *cx, const char *assembly, const ml_AsmOpts *o, ml_Text *out,
                 ml_AsmSummary *sum);
/* `11 instructions an iteration of the hottest inner loop, …` and a newline. */
void ml_asm_summary(ml_Text *out, const ml_AsmSummary *sum);

#endif
