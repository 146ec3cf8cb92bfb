/* shipped - the model that a search begins with, share/model.ubj as it is: the assembler reads
 * it, so that the program has it wherever it is. */
#include "moonloop/tune/model/xgb/shipped.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl ml_shipped_begin\n"
        ".hidden ml_shipped_begin\n"
        "ml_shipped_begin:\n"
        ".incbin \"share/model.ubj\"\n"
        ".globl ml_shipped_end\n"
        ".hidden ml_shipped_end\n"
        "ml_shipped_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char ml_shipped_begin[], ml_shipped_end[];

ml_Str ml_xgb_shipped(void)
{
    return (ml_Str){ml_shipped_begin, (size_t)(ml_shipped_end - ml_shipped_begin)};
}
