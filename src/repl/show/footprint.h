/* footprint - numbers of bytes and elements, as text. Source: interaction 5, 8. */
#ifndef ML_REPL_SHOW_FOOTPRINT_H
#define ML_REPL_SHOW_FOOTPRINT_H

#include "moonloop/work/fact/fact.h"

/* 64 B, 4 KiB, 1.5 MiB */
void ml_text_bytes(ml_Text *out, int64_t bytes);

typedef enum ml_Unit {
    ML_UNIT_COUNT, /* 4,096; long ones 1.07 G */
    ML_UNIT_SHORT, /* 4.10 k */
    ML_UNIT_BYTES, /* 4 KiB */
} ml_Unit;
/* `≤ 4,096`, `n * 64`, `?`. names: of the sizes; may be NULL. */
void ml_text_number(ml_Ctx *cx, ml_Text *out, ml_Number n, ml_Unit unit,
                    const ml_Names *names, bool ascii);

#endif
