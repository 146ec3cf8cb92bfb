/*
 * runtime - calling compiled code: packed arguments with checks, workspace, parallel loops.
 * Source: lowering-and-codegen 5.2, 5.3, 7.5, 7.6.
 */
#ifndef ML_CODEGEN_RUNTIME_H
#define ML_CODEGEN_RUNTIME_H

#include "moonloop/codegen/lower/lower.h"

/* What a body takes: one word per parameter. Integers are sign-extended (bool 0 or 1),
 * floats are given as double whatever their dtype. */
typedef union ml_Word {
    void *p;
    int64_t i;
    double f;
} ml_Word;
/* Symbol NAME_call of an object: 0, or the number (from 1) of the assertion that failed,
 * or ML_CALL_NO_WORKSPACE. NAME_body is the same with plain parameters. */
typedef int32_t ml_KernelFn(const ml_Word *args);
enum { ML_CALL_NO_WORKSPACE = -1 };

/* ---- packed arguments (5.2): DLPack's layout of a tensor */
typedef struct ml_DLType {
    uint8_t code, bits; /* 0 int, 1 uint, 2 float, 3 handle, 4 bfloat, 6 bool, ... */
    uint16_t lanes;
} ml_DLType;
typedef struct ml_DLTensor {
    void *data;
    struct {
        int32_t type, id; /* 1: cpu */
    } device;
    int32_t ndim;
    ml_DLType dtype;
    int64_t *shape, *strides; /* strides in elements, or NULL: compact */
    uint64_t byte_offset;
} ml_DLTensor;
ml_DLType ml_dl_type(ml_Dtype t); /* code 3 (handle) for types that DLPack lacks */
typedef enum ml_PackedKind {
    ML_PACKED_NULL,
    ML_PACKED_INT,
    ML_PACKED_FLOAT,
    ML_PACKED_BOOL,
    ML_PACKED_POINTER,
    ML_PACKED_TENSOR,
} ml_PackedKind;
typedef struct ml_PackedArg {
    ml_PackedKind kind;
    union {
        int64_t i;
        double f;
        void *p;
        ml_DLTensor *tensor;
    } as;
} ml_PackedArg;
enum { /* kinds of failure, as Python users name them */
       ML_CALL_TYPE_ERROR = 1,
       ML_CALL_VALUE_ERROR,
       ML_CALL_ASSERTION_ERROR,
};
typedef struct ml_CallOpts {
    bool unaligned;   /* align_args=false: element alignment suffices */
    bool check_alias; /* refuse written ranges that overlap others */
    const ml_Func
        *body; /* the function as lowered, for texts of assertions; NULL: as it was */
} ml_CallOpts;
/* The checks of 5.3 in their order, first failure wins, nothing is written before all pass.
 * words: room for sig->func->n_params + sig->n_sizes. 0, or a kind of failure with its text
 * in cx's error (call-refused). */
int ml_packed_decode(ml_Ctx *cx, const ml_Signature *sig, const ml_PackedArg *args,
                     int32_t n_args, const ml_CallOpts *opts, ml_Word *words);
/* The assertion with a number that a call returned, in the function at stage body; NULL:
 * none. Its text: "RuntimeError: n is even". */
const ml_Assert *ml_packed_assert(ml_Ctx *cx, const ml_Func *body, int32_t number);
const char *ml_packed_assert_text(ml_Ctx *cx, const ml_Assert *a);
/* decode, call, and the text of an assertion that failed (assert-failed; too-large when the
 * workspace is full). */
bool ml_packed_call(ml_Ctx *cx, const ml_Signature *sig, ml_KernelFn *fn,
                    const ml_PackedArg *args, int32_t n_args, const ml_CallOpts *opts);

/* ---- workspace (7.6), imported by generated code: per thread, last in first out. NULL:
 * out of memory. Negative bytes (of a buffer of negative extent) are none. */
void *ml_workspace_alloc(int64_t bytes, int64_t align);
void ml_workspace_free(void *p);
void ml_workspace_release(void); /* gives the calling thread's blocks back */
/* Bytes that all threads together may hold from now on; 0: no limit. What was refused last
 * is remembered for messages. */
void ml_workspace_set_limit(uint64_t bytes);
uint64_t ml_workspace_refused(void); /* bytes of the last refusal, 0: none */
/* From now on each buffer lies between pages that nobody may touch (on), or not. Not while a
 * kernel runs. */
void ml_workspace_guard(bool on);
/* Whether an address lies in a guarded buffer or the pages beside it: how far behind its
 * first byte, and the bytes it has. May be called in a signal handler. */
bool ml_workspace_at(uintptr_t at, int64_t *byte, int64_t *bytes);
/* Whether one that was given back since the last call was written beside its bytes, where no
 * page begins. */
bool ml_workspace_spilled(int64_t *byte, int64_t *bytes);

/* ---- parallel loops (7.5), imported by generated code. The function of a loop executes the
 * iterations lo, lo + step, ... below hi; 0, or the number of the assertion that failed. */
typedef int32_t ml_ParallelRun(void *env, int64_t lo, int64_t hi, int64_t step);
enum { ML_PARALLEL_EVEN, ML_PARALLEL_UNEVEN, ML_PARALLEL_STRIDED }; /* how */
/* All iterations of [0, extent), on so many threads (0: the runtime's number); the least
 * status that is not 0. The OpenMP runtime is open. */
int32_t ml_parallel(ml_ParallelRun *fn, void *env, int64_t extent, int32_t threads,
                    int32_t how);

/* ---- the OpenMP runtime: opened once per process. Kernels that are saved import
 * GOMP_parallel, omp_get_thread_num and omp_get_num_threads. */
typedef struct ml_OpenMp {
    void (*parallel)(void (*fn)(void *), void *user, unsigned threads, unsigned flags);
    int (*thread_num)(void);
    int (*num_threads)(void);
} ml_OpenMp;
bool ml_openmp_open(ml_Ctx *cx);  /* false: neither libgomp.so.1 nor libomp.so.5 is there */
const char *ml_openmp_name(void); /* "libgomp.so.1", or NULL: not opened */
const ml_OpenMp *ml_openmp(void); /* once it is open */

#endif
