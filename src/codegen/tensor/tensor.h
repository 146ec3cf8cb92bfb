/*
 * tensor - dense row-major arrays on the host: what programs are run on.
 *
 * One lane is stored in 1, 2, 4 or 8 bytes; types of less than 8 bits take a byte each.
 * Data is aligned to 64 bytes and lies between two bands of 64 canary bytes. A tensor is
 * made and freed by hand (it is no part of a program). Source: workloads 9, lua-api 5.
 */
#ifndef ML_CODEGEN_TENSOR_H
#define ML_CODEGEN_TENSOR_H

#include "moonloop/core/error.h"

typedef struct ml_Tensor {
    ml_Dtype type;
    uint32_t rank;
    int64_t *shape;
    int64_t n;       /* elements */
    int64_t n_lanes; /* n * lanes */
    size_t lane;     /* bytes of one lane */
    size_t bytes;    /* n_lanes * lane */
    void *data;
    uint8_t *defined; /* per lane: 0 never written, 1 defined, 2 undefined by a copy;
                         NULL: everything is defined */
    void *block;      /* the allocation, canaries included */
} ml_Tensor;

enum { ML_GUARD_BYTES = 64 };

/* Zeros. NULL with error too-large or not-supported (a dtype without storage). */
ML_GIVES ml_Tensor *ml_tensor_new(ml_Ctx *cx, ml_Dtype type, const int64_t *shape,
                                  size_t rank);
ML_GIVES ml_Tensor *ml_tensor_copy(ml_Ctx *cx, const ml_Tensor *t);
void ml_tensor_free(ml_Tensor *t); /* NULL is fine */
/* Bytes that one lane of that type takes in a tensor; 0: no storage (handles, void). */
size_t ml_lane_bytes(ml_Dtype t);
/* Gives the tensor a map of defined elements, all in state `state`. */
bool ml_tensor_track(ml_Ctx *cx, ml_Tensor *t, uint8_t state);
bool ml_tensor_guards_intact(const ml_Tensor *t);

/* Lane k of the data, 0 <= k < n_lanes. Integers wrap, floats round on the way in; the
 * integer view of a float truncates, that of uint64 is its bit pattern. */
int64_t ml_tensor_get_int(const ml_Tensor *t, int64_t k);
double ml_tensor_get(const ml_Tensor *t, int64_t k);
void ml_tensor_set_int(ml_Tensor *t, int64_t k, int64_t v);
void ml_tensor_set(ml_Tensor *t, int64_t k, double v);

/* The bits of a float lane and back; v is rounded first. NaN is the quiet one without
 * payload; formats without infinity give what ml_dtype_round gives. */
uint64_t ml_float_bits(ml_Dtype t, double v);
uint64_t ml_float_bits_of(ml_Dtype t, double v); /* v is a value of t already */
double ml_float_value(ml_Dtype t, uint64_t bits);

/* ---- filling */
typedef enum ml_Fill {
    ML_FILL_RANDOM, /* the generators of workloads 9 */
    ML_FILL_ZEROS,
    ML_FILL_ONES,
    ML_FILL_IOTA,        /* 0, 1, 2 ... modulo what the type holds exactly */
    ML_FILL_ADVERSARIAL, /* signed zeros, extremes of integers, small exact floats */
    ML_FILL_TERNARY,     /* -1, 0, 1: the exact run */
    ML_FILL_POISON,      /* NaN, integers bytes 0x5A */
    ML_FILLS
} ml_Fill;
/* The stream is that of (id, position, seed), the same on every machine. lo, hi: the range
 * [lo, hi) of random numbers; both 0: floats of [-1, 1), integers as wide as workloads 9. */
void ml_tensor_fill(ml_Tensor *t, ml_Fill how, const char *id, uint32_t position,
                    uint64_t seed, double lo, double hi);
bool ml_fill_parse(ml_Str s, ml_Fill *out); /* "random", "zeros", ... */

/* xoshiro256**, seeded as above; jump is 2^128 steps. */
typedef struct ml_Random {
    uint64_t s[4];
} ml_Random;
ml_Random ml_random(const char *id, uint32_t position, uint64_t seed);
uint64_t ml_random_next(ml_Random *r);
uint64_t ml_random_below(ml_Random *r, uint64_t n); /* n > 0; uniform */
void ml_random_jump(ml_Random *r);

/* ---- comparing */
typedef struct ml_Tolerance {
    double rtol, atol; /* of floats: |got - ref| <= atol + rtol * |ref| */
    bool exact;        /* floats bit for bit, except that any NaN equals any NaN */
    double steps;      /* of integers: |got - ref|, where they are made of rounded floats */
} ml_Tolerance;
typedef struct ml_Comparison {
    int64_t outside;    /* lanes that differ by more; also a NaN on one side only */
    double largest;     /* largest difference found outside or inside; infinity for NaN */
    int64_t largest_at; /* lane, -1: none differ at all */
    int64_t first;      /* first lane outside, -1: none */
} ml_Comparison;
/* Same dtype and shape (asserted). Integers and bool are compared exactly. */
ml_Comparison ml_tensor_compare(const ml_Tensor *ref, const ml_Tensor *got,
                                ml_Tolerance tol);
/* The largest magnitude of a finite lane; 0: there is none. */
double ml_tensor_largest(const ml_Tensor *t);
/* "[3, 0]" of a lane. */
void ml_tensor_place(ml_Text *out, const ml_Tensor *t, int64_t lane);

/* ---- .npy, version 1.0, little endian, C order. Types that numpy lacks are saved as raw
 * bytes ("|V2") and need `want` to be loaded; otherwise want may be NULL. */
bool ml_tensor_save(ml_Ctx *cx, const ml_Tensor *t, const char *path);
ML_GIVES ml_Tensor *ml_tensor_load(ml_Ctx *cx, const char *path, const ml_Dtype *want);

#endif
