/*
 * binary - programs as bytes, to be handed to another process or put aside.
 *
 * What is read is structurally equal to what was written and prints the same text, but has
 * identity numbers of its own, as if the text had been read: numbers, and with them every
 * byte, depend on the program alone. Bytes that are cut off, damaged or of another version
 * are refused with an error; none make the reader crash.
 */
#ifndef ML_CORE_BINARY_H
#define ML_CORE_BINARY_H

#include "moonloop/core/stmt.h"

typedef struct ml_Binary {
    const uint8_t *v;
    size_t n;
} ml_Binary;

/* With lines, spans of statements go along (places of expressions do not); without them
 * every statement has an ordinal instead. The bytes are in cx. */
ml_Binary ml_binary_write(ml_Ctx *cx, const ml_Module *m, bool lines);

typedef struct ml_BinaryRead {
    const ml_Module *mod;
    ml_Span
        *ordinals; /* written without lines: the span of the k-th statement, whose line is
                          k + 1 until the caller knows better; NULL: spans are lines */
    uint32_t n_ordinals;
} ml_BinaryRead;
/* `file` is that of the spans. false: error ill-formed says what is wrong with the bytes. */
bool ml_binary_read(ml_Ctx *cx, ml_Binary b, const char *file, ml_BinaryRead *out);

#endif
