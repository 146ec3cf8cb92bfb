/*
 * target - what code is made for: instruction set, vector width, registers, threads.
 *
 * A plain value, part of the key under which compiled code and records are kept; its
 * canonical JSON is what databases and jobs carry. Source: auto-scheduler 4, 17;
 * lowering-and-codegen 7, 8.
 */
#ifndef ML_CODEGEN_TARGET_H
#define ML_CODEGEN_TARGET_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/error.h"
#include "moonloop/core/targets.h"

typedef struct ml_Target {
    uint32_t kind;        /* position in ml_target_kinds */
    char triple[64];      /* "" : the host's */
    char cpu[64];         /* LLVM's name, "" : the host's */
    char features[2048];  /* "+avx2,+fma,..." ; "" : the host's */
    uint32_t vector_bits; /* of the widest vectors worth using: 512, 256 or 128 */
    uint32_t registers;   /* vector registers: 32 or 16 */
    bool masks;           /* masked moves are cheap for all element sizes (AVX-512) */
    bool f16, bf16;       /* native arithmetic (avx512fp16), dot products of bf16 */
    bool vnni;            /* 8-bit dot products */
    uint32_t cores;       /* physical cores that this process may use, >= 1 */
} ml_Target;

/* The machine at hand, from cpuid and the affinity mask alone: needs no LLVM. Threads are
 * no part of it. */
ml_Target ml_target_host(void);
/* Canonical JSON: keys in a fixed order, only those that tell targets apart:
 * {"kind":"llvm","cpu":...,"vector-bits":...,"features":...,"num-cores":...}. */
void ml_target_json(const ml_Target *t, ml_Text *out);
/* false: cx's error says which key. Unknown keys are ignored, absent ones are the host's.
 */
bool ml_target_parse(ml_Ctx *cx, ml_Str json, ml_Target *out);
/* "native", "llvm", "llvm -mcpu=znver4 -num-cores=2 -vector-bits=256"; "" is the host. Of a
 * GPU ("cuda-sm_80", "cuda -arch=sm_80", "cuda-sim") the host is what its programs run on
 * as long as no code is made for it. */
bool ml_target_read(ml_Ctx *cx, const char *text, ml_Target *out);
/* The features in full, as LLVM reads them: those of t->features, and a minus for each
 * extension known here that is not among them (t->cpu may imply it). */
void ml_target_features(const ml_Target *t, ml_Text *out);
/* The extensions that code for t may use and the machine at hand has not, in cx: "amx-int8,
 * amx-tile"; NULL: it runs here, as far as they say. */
const char *ml_target_lacks(ml_Ctx *cx, const ml_Target *t);
/* Whether t is another kind of processor: its triple says so. */
bool ml_target_is_foreign(const ml_Target *t);
/* "x86-64-v4", "x86-64-v3", ... for the start line and :machine. */
const char *ml_target_level(const ml_Target *t);
/* Threads for parallel loops: MOONLOOP_THREADS, else the cores; at least 1. */
uint32_t ml_threads(const ml_Target *t);

#endif
