/* asm_view - assembly text as people read it: the hottest inner loop first, each
 * instruction with the line of the program it came from. Source: interaction 8. */
#ifndef ML_REPL_ASM_VIEW_H
#define ML_REPL_ASM_VIEW_H

#include "core/ctx.h"
#include "core/text.h"

typedef struct ml_AsmSummary { /* of the hottest loop, or of everything */
    size_t instructions, fmas, loads, stores, spills;
    unsigned vector_bits; /* of the widest register used */
    bool is_loop;
} ml_AsmSummary;
typedef struct ml_AsmOpts {
    uint32_t from, to; /* lines of the program that are wanted; 0: all */
    bool plain;        /* without them, and labels by their order: to be compared */
} ml_AsmOpts;
/* false: no instruction is of those lines. cx is for scratch. */
bool ml_asm_view(ml_Ctx *cx, const char *assembly, const ml_AsmOpts *o, ml_Text *out,
                 ml_AsmSummary *sum);
/* `11 instructions an iteration of the hottest inner loop, …` and a newline. */
void ml_asm_summary(ml_Text *out, const ml_AsmSummary *sum);

#endif
