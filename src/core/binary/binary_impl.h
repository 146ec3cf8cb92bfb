/* binary_impl - what reading and writing programs as bytes share (binary*.c only). */
#ifndef ML_CORE_BINARY_IMPL_H
#define ML_CORE_BINARY_IMPL_H

#include "moonloop/core/binary/binary.h"
#include "moonloop/core/vec.h"

/* What follows the header is a list of nodes, each behind those that it refers to; a
 * reference is the number of nodes to go back, 0 for none. */
typedef enum ml_BinaryClass {
    ML_BINARY_VAR,
    ML_BINARY_BUFFER,
    ML_BINARY_EXPR,
    ML_BINARY_VALUE,
    ML_BINARY_MAP,
    ML_BINARY_STMT,
    ML_BINARY_FUNC,
    ML_BINARY_MODULE,
    ML_BINARY_CLASSES
} ml_BinaryClass;

/* One walk of a node's fields serves three times: writing visits the nodes that the fields
 * name, then puts the fields; reading gets them into a node of zeros. */
typedef enum ml_BinaryMode { ML_BINARY_VISIT, ML_BINARY_PUT, ML_BINARY_GET } ml_BinaryMode;

typedef struct ml_BinaryNode {
    const void *p;
    uint8_t is; /* an ml_BinaryClass */
} ml_BinaryNode;

typedef struct ml_BinaryIo {
    ml_Ctx *cx;
    ml_BinaryMode mode;
    bool lines;
    uint32_t n, n_ordinals; /* nodes and statements so far */
    /* writing */
    ml_Text out;
    ml_Map *known[ML_BINARY_EXPR + 1]; /* uid or id -> number + 1, as a pointer */
    ML_VEC(uint32_t) kids;             /* number + 1 of what was visited, in order */
    size_t kid;                        /* the next to be put */
    /* reading */
    const uint8_t *v;
    size_t at, end;
    const char *bad; /* what is wrong, NULL: nothing yet */
    const char *file;
    ml_BinaryNode *nodes;
    uint32_t n_nodes;
    ml_Span *ordinals;
    uint32_t n_ordinals_said;
} ml_BinaryIo;

/* ---- binary_bytes.c: put, or got; nothing while nodes are visited */
void ml_bin_bad(ml_BinaryIo *io, const char *what); /* zeros are read from now on */
void ml_bin_number(ml_BinaryIo *io, uint64_t *v);
uint64_t ml_bin_bounded(ml_BinaryIo *io, uint64_t v, uint64_t most);
/* What is written stays untouched: others may read it at the same time. */
#define ML_BIN_NUMBER(io, x, most)                                                         \
    do {                                                                                   \
        uint64_t number = ml_bin_bounded((io), (uint64_t)(x), (most));                     \
        if ((io)->mode == ML_BINARY_GET)                                                   \
            (x) = (__typeof__(x))number;                                                   \
    } while (0)
void ml_bin_flag(ml_BinaryIo *io, bool *b);
void ml_bin_integer(ml_BinaryIo *io, int64_t *v);
void ml_bin_real(ml_BinaryIo *io, double *f);
void ml_bin_text(ml_BinaryIo *io, const char **z, bool optional);
void ml_bin_dtype(ml_BinaryIo *io, ml_Dtype *t);

/* ---- binary_fields.c */
/* Of the node; while reading, of one of zeros, whose expressions' arguments come apart. */
void ml_binary_fields(ml_BinaryIo *io, ml_BinaryClass is, void *node);
typedef struct ml_BinaryExpr { /* while reading: the node without its tail */
    const ml_Expr *const *args;
    ml_Expr head;
} ml_BinaryExpr;

/* Puts the module and what it consists of. */
void ml_binary_put(ml_BinaryIo *io, const ml_Module *m);

/* ---- binary_make.c: the next node; false: io->bad. */
bool ml_binary_get(ml_BinaryIo *io);

#endif
