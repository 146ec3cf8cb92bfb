/*
 * emit - machine code through LLVM 19's C interface: what the files of this backend share: the table of LLVM's functions, the state
 * of one emission, and who emits what. Internal header.
 *
 * Values: integers as iN, bool as i1, float16 and bfloat16 as float (each operation rounds
 * its result, as the interpreter does), pointers as ptr; a vector expression is emitted a
 * range of lanes at a time (lane0, n), so that none is wider than four machine vectors.
 * Indices, bounds and the conditions on them are i64 without signed wrap, for their
 * overflow is an error of the program. Source: lowering-and-codegen 6, 7.
 */
#ifndef ML_CODEGEN_LLVM_EMIT_H
#define ML_CODEGEN_LLVM_EMIT_H

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/lower/lower.h"
#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/error.h"
#include "moonloop/core/vec.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Of AArch64 there is no declaration in the headers that this build may have. */
typedef struct ml_LlvmApi {
#define ML_LLVM(name) __typeof__(LLVM##name) *name; /* NOLINT: a declaration */
#include "moonloop/codegen/llvm/llvm.def"
#undef ML_LLVM
} ml_LlvmApi;

typedef struct ml_Dylib { /* of the linker, used again and again */
    LLVMOrcJITDylibRef jd;
    bool has_half;
    struct ml_Dylib *next;
} ml_Dylib;

typedef struct ml_Llvm {
    ml_Codegen code;
    ml_LlvmApi api;
    void *lib;
    char version[24];
    char *triple, *cpu, *features; /* malloc */
    ml_Target target;
    bool x86;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    /* linking */
    LLVMOrcLLJITRef jit; /* made at the first link */
    ml_Dylib *free_dylibs;
    uint32_t n_dylibs, n_linked;
    ml_Text reported; /* by the execution session */
} ml_Llvm;
static inline ml_Llvm *ml_llvm_of(ml_Codegen *c)
{
    return (ml_Llvm *)(void *)c;
}

typedef struct ml_CgVar {
    LLVMValueRef v;
    bool wide; /* an integer as i64 */
} ml_CgVar;

typedef struct ml_CgPointer { /* to element 0 of what the data pointer means */
    LLVMValueRef p;
    uint32_t root;  /* whose memory: number of an alias scope */
    uint32_t align; /* bytes, proven */
} ml_CgPointer;

typedef struct ml_CgLoop {
    struct ml_CgLoop *up;
    const ml_Var *var;             /* NULL: while */
    LLVMBasicBlockRef latch, exit; /* exit NULL: nothing may leave (a parallel loop) */
    size_t n_frees;                /* live around the loop */
    uint32_t depth;
} ml_CgLoop;

enum { ML_MEMO_FREE, ML_MEMO_VALUE, ML_MEMO_INDEX, ML_MEMO_STEP };
enum { ML_MEMO_ROOTS = 64 }; /* memories told apart; those further on share */
typedef struct ml_CgMemo {
    uint64_t a, b;  /* what is known: an expression and its lanes, or pointer and offset */
    uint64_t reads; /* memories that it was read from, by root; all bits: any */
    uint64_t at;    /* how many writes there were before */
    uint8_t mode;   /* ML_MEMO_... */
    LLVMValueRef v;
} ml_CgMemo;

/* Elements of a local buffer whose value is known. */
typedef struct ml_CgHeld {
    const ml_Buffer *b;
    uint32_t root;
    int64_t from;
    unsigned n; /* lanes; 0: a scalar */
    LLVMValueRef v;
    bool dirty; /* memory has not seen it */
} ml_CgHeld;
typedef struct ml_CgSpread ml_CgSpread; /* prefetches that loops below make: prefetch.c */

/* The LLVM function at work. */
typedef struct ml_CgFn {
    LLVMValueRef fn;
    LLVMBasicBlockRef entry; /* stack allocations only, ended last */
    ml_Map *vars, *pointers; /* uid -> ml_CgVar, ml_CgPointer */
    ml_CgLoop *loops;
    ml_CgSpread *spread;
    ML_VEC(LLVMValueRef) frees; /* workspace that is live here */
    int64_t stack;              /* bytes on the stack so far */
    LLVMMetadataRef scope;      /* subprogram, or NULL */
    bool parallel;              /* the body of a parallel loop */
    bool streamed;              /* stores went past the caches, no fence yet */
    bool fails;                 /* a status other than 0 may come out of it */
} ml_CgFn;

typedef struct ml_Cg {
    ml_Llvm *ll;
    const ml_LlvmApi *api;
    ml_Ctx *cx; /* a fork, dropped after the emission */
    ml_Arith *ar;
    const ml_CodeOpts *o;
    LLVMContextRef lc;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, none;
    const ml_Func *func;
    ml_CgFn *fn;
    /* memo of expressions: open addressing, with a trail to take entries back */
    ml_CgMemo *memo;
    size_t memo_cap, memo_n;
    ML_VEC(ml_CgMemo) trail;
    uint64_t reads;                  /* memories read by the value at work */
    uint64_t writes;                 /* so far */
    uint64_t written[ML_MEMO_ROOTS]; /* the last one of each memory */
    uint64_t barrier;                /* the last one that may be of any */
    ML_VEC(ml_CgHeld) held;
    unsigned arms;     /* of expressions, around what is emitted */
    LLVMValueRef mask; /* lanes in which a value is wanted, or NULL: all of them */
    unsigned mask_lane0;
    bool checked; /* overflow of integers is an error here: i64 may be used */
    const ml_Stmt *stmt;
    uint32_t n_outlined;
    ml_Map *roots; /* uid of a data pointer -> its alias scope + 1 (as a pointer) */
    ml_Map *views; /* uid of a buffer declared over memory that exists -> itself */
    ml_Map *depth; /* uid of a loop variable -> its depth (as a pointer) */
    /* alias scopes */
    uint32_t n_roots, kind_scope, kind_noalias, kind_loop, kind_stream;
    LLVMMetadataRef *scopes;
    LLVMValueRef *scope_list, *noalias_list;
    LLVMMetadataRef must_progress, no_unroll, no_vectorize, no_interleave;
    LLVMValueRef one_node; /* the metadata !{i32 1} */
    bool streams;          /* stores go past the caches (loop annotation non_temporal) */
    /* assertions by number */
    ML_VEC(const ml_Assert *) asserts;
    ml_Map *seen_exprs; /* of a walk at work */
    /* debug lines */
    LLVMDIBuilderRef di;
    LLVMMetadataRef di_unit, di_file;
    bool gathers; /* vectors are put together of lanes, which may be one wide load */
    bool failed;
} ml_Cg;

/* LLVM's function of that name; `g` is the emission at work. */
#define L(name) (g->api->name)

/* ---- object.c, open.c, lines.c: what the backend's row says */
extern const ml_Backend ml_backend_llvm;
enum { ML_LLVM_PLAIN, ML_LLVM_OPT, ML_LLVM_ASM, ML_LLVM_TEXTS };
extern const ml_CodeText ml_llvm_texts[ML_LLVM_TEXTS];
bool ml_llvm_object(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out);
bool ml_llvm_text(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, const ml_CodeText *what, ml_Text *out);
uint32_t ml_llvm_line_at(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                         const ml_CodeOpts *o, const char *symbol, int64_t offset);
/* Marks the emission as failed: not-supported, or codegen-failed. */
void ml_cg_unsupported(ml_Cg *g, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ml_cg_fail(ml_Cg *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
LLVMTargetMachineRef ml_llvm_machine(ml_Llvm *ll, ml_Ctx *cx);

/* ---- types.c */
bool ml_cg_dtype_ok(ml_Cg *g, ml_Dtype t); /* else not-supported, named */
/* ---- tile.c: a store whose value is a product of tiles */
bool ml_cg_is_tile_product(const ml_Expr *e);
void ml_cg_store_tile(ml_Cg *g, const ml_Store *s);

/* ---- eight.c: of float8_e4m3fn and float8_e5m2 */
bool ml_cg_is_eight(ml_Dtype t);
/* Between bytes in memory and floats that hold such a number; a float to the nearest one. */
LLVMValueRef ml_cg_from_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_to_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_round_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);

static inline bool ml_cg_is_half(ml_Dtype t) /* kept as float, rounded each time */
{
    return ((t.code == ML_FLOAT || t.code == ML_BFLOAT) && t.bits == 16) ||
           ml_cg_is_eight(t);
}
LLVMTypeRef ml_cg_vec(ml_Cg *g, LLVMTypeRef t, unsigned n); /* n 0: t itself */
LLVMTypeRef ml_cg_type(ml_Cg *g, ml_Dtype t, unsigned n);   /* in registers */
LLVMTypeRef ml_cg_memory_type(ml_Cg *g, ml_Dtype t, unsigned n);
LLVMValueRef ml_cg_int(ml_Cg *g, LLVMTypeRef t, unsigned n, int64_t v);
LLVMValueRef ml_cg_real(ml_Cg *g, LLVMTypeRef t, unsigned n, double v);
static inline LLVMValueRef ml_cg_i64(ml_Cg *g, int64_t v)
{
    return ml_cg_int(g, g->i64, 0, v);
}
LLVMValueRef ml_cg_iota(ml_Cg *g, LLVMTypeRef t, unsigned n, int64_t first, int64_t step);
LLVMValueRef ml_cg_splat(ml_Cg *g, LLVMValueRef v, unsigned n); /* n 0: v itself */
/* lanes pick[0..n) of a and b (b NULL: of a alone); -1: any */
LLVMValueRef ml_cg_shuffle(ml_Cg *g, LLVMValueRef a, LLVMValueRef b, const int *pick,
                           unsigned n);
LLVMValueRef ml_cg_to_memory(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_from_memory(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_round(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_cast(ml_Cg *g, ml_Dtype from, ml_Dtype to, unsigned n, LLVMValueRef v);
/* A double rounded to float so that a later rounding sees which side it is on. */
LLVMValueRef ml_cg_to_odd(ml_Cg *g, unsigned n, LLVMValueRef v);
LLVMValueRef ml_cg_fp(ml_Cg *g, LLVMValueRef v); /* with fast-math flags when wanted */
/* Calls of an intrinsic overloaded on the given types. */
LLVMValueRef ml_cg_intrinsic(ml_Cg *g, const char *name, LLVMTypeRef *over, size_t n_over,
                             LLVMValueRef *args, unsigned n);
LLVMValueRef ml_cg_intrinsic1(ml_Cg *g, const char *name, LLVMValueRef a);
/* A call of a C function of that name and type. */
LLVMValueRef ml_cg_call_c(ml_Cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *types,
                          LLVMValueRef *args, unsigned n, bool pure);

/* ---- expr.c, arith.c, index.c, memo.c */
/* Lanes [lane0, lane0 + n) of a vector expression; a scalar one is emitted as a scalar
 * whatever lane0 and n are. */
LLVMValueRef ml_cg_value(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n);
LLVMValueRef ml_cg_scalar(ml_Cg *g, const ml_Expr *e);
LLVMValueRef ml_cg_condition(ml_Cg *g, const ml_Expr *e); /* scalar, of control flow */
LLVMValueRef ml_cg_binary(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n);
void ml_cg_bind(ml_Cg *g, const ml_Var *v, const ml_Expr *value);
void ml_cg_set_var(ml_Cg *g, const ml_Var *v, LLVMValueRef value, bool wide);
/* Lanes that one emission may take when the widest element has that many bits. */
unsigned ml_cg_chunk(const ml_Cg *g, unsigned bits, unsigned lanes);
size_t ml_cg_memo_mark(ml_Cg *g);
void ml_cg_memo_release(ml_Cg *g, size_t mark);
/* The memory of that root is read by the value at work; is written; UINT32_MAX: any is. */
void ml_cg_memo_reads(ml_Cg *g, uint32_t root);
void ml_cg_memo_writes(ml_Cg *g, uint32_t root);
LLVMValueRef ml_cg_memo_get(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0,
                            unsigned n);
void ml_cg_memo_set(ml_Cg *g, const ml_Expr *e, unsigned mode, unsigned lane0, unsigned n,
                    LLVMValueRef v);
/* ---- held.c */
/* Whether n lanes from element flat + extra are what is held while statements follow. */
bool ml_cg_can_hold(const ml_Buffer *b, const ml_Expr *flat, int64_t extra, unsigned n);
LLVMValueRef ml_cg_held_load(ml_Cg *g, const ml_Buffer *b, uint32_t root, int64_t from,
                             unsigned n);
void ml_cg_held_store(ml_Cg *g, const ml_Buffer *b, uint32_t root, int64_t from, unsigned n,
                      LLVMValueRef v);
/* Memory of that root (UINT32_MAX: any) gets what is held of it. */
void ml_cg_settle(ml_Cg *g, uint32_t root);
/* The pointer p moved by so many elements of type t, of `size` bytes. */
LLVMValueRef ml_cg_step(ml_Cg *g, LLVMTypeRef t, unsigned size, LLVMValueRef p,
                        LLVMValueRef by, bool inbounds);
/* A scalar integer expression as i64. */
LLVMValueRef ml_cg_index(ml_Cg *g, const ml_Expr *e);
/* A vector of integers as base + lane * stride (scalars of its element type). */
bool ml_cg_affine(ml_Cg *g, const ml_Expr *e, const ml_Expr **base, const ml_Expr **stride);
/* base + stride * lane < limit and the like as a mask, where both sides are affine. */
LLVMValueRef ml_cg_prefix_mask(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n);

/* ---- access.c, address.c, prefetch.c */
LLVMValueRef ml_cg_load(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n);
void ml_cg_store(ml_Cg *g, const ml_Store *s);
LLVMValueRef ml_cg_tag(ml_Cg *g, uint32_t root, LLVMValueRef access); /* gives it back */
const ml_CgPointer *ml_cg_pointer(ml_Cg *g, const ml_Var *data);
/* The flat index (scalar or vector) of an access, in elements of the buffer. */
const ml_Expr *ml_cg_flat(ml_Cg *g, const ml_Buffer *b, const ml_Expr *const *idx,
                          size_t n);
/* Address of element `flat` (scalar), `extra` elements further. inbounds: promised. */
LLVMValueRef ml_cg_address(ml_Cg *g, const ml_Buffer *b, const ml_Expr *flat,
                           unsigned lanes, int64_t extra, bool inbounds);
/* Bytes that divide the address of that element, as far as proven. */
unsigned ml_cg_alignment(ml_Cg *g, const ml_Buffer *b, const ml_Expr *flat, int64_t extra);
unsigned ml_cg_lane_align(ml_Cg *g, const ml_Buffer *b); /* of any of its lanes */
void ml_cg_prefetch(ml_Cg *g, const ml_For *loop);

/* ---- call.c, math.c, poly.c, exp_table.c, quotient.c */
bool ml_cg_has(ml_Cg *g, const char *feature); /* "+avx512f" */
/* Whether the processor has what an intrinsic of that name needs; else not-supported. */
bool ml_cg_has_intrinsic(ml_Cg *g, const char *name);
LLVMValueRef ml_cg_call(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n);
/* A function of the math family on floats, doubles or halves (as floats). */
LLVMValueRef ml_cg_math1(ml_Cg *g, ml_OpId op, ml_Dtype t, unsigned n, LLVMValueRef x);
LLVMValueRef ml_cg_math2(ml_Cg *g, ml_OpId op, ml_Dtype t, unsigned n, LLVMValueRef x,
                         LLVMValueRef y);
/* float32 by polynomials; NULL: there is none for it. */
LLVMValueRef ml_cg_poly1(ml_Cg *g, ml_OpId op, unsigned n, LLVMValueRef x);
/* e^x or 2^x of float32 by a table in registers; NULL: the processor or n does not allow. */
LLVMValueRef ml_cg_exp_table(ml_Cg *g, unsigned n, LLVMValueRef x, bool two);
/* The same of erf. */
LLVMValueRef ml_cg_erf_table(ml_Cg *g, unsigned n, LLVMValueRef x);
/* Lanes of float32 divided by what they share (`by`, whose value is b); NULL: they do not, or
 * a division is as good. */
LLVMValueRef ml_cg_quotient(ml_Cg *g, const ml_Expr *by, unsigned n, LLVMValueRef a,
                            LLVMValueRef b);
LLVMValueRef ml_cg_poly_pow(ml_Cg *g, unsigned n, LLVMValueRef x, LLVMValueRef y);
/* Lane by lane through the C function of that name. */
LLVMValueRef ml_cg_libm(ml_Cg *g, const char *name, unsigned n, LLVMValueRef x,
                        LLVMValueRef y);

/* ---- stmt.c, loop.c, parallel.c, parallel_alone.c */
void ml_cg_stmt(ml_Cg *g, const ml_Stmt *s);
void ml_cg_scope(ml_Cg *g, const ml_Stmt *s); /* what it allocates ends with it */
void ml_cg_for(ml_Cg *g, const ml_For *f);
void ml_cg_while(ml_Cg *g, const ml_While *w);
/* for var from lo while < hi by step (i64; at least one iteration), the body once. */
void ml_cg_loop(ml_Cg *g, const ml_For *f, LLVMValueRef lo, LLVMValueRef hi,
                LLVMValueRef step, bool parallel);
void ml_cg_parallel(ml_Cg *g, const ml_For *f);
/* The function of the module that hands out iterations, of ml_parallel's type. */
LLVMValueRef ml_cg_parallel_alone(ml_Cg *g, LLVMTypeRef type);
LLVMBasicBlockRef ml_cg_block(ml_Cg *g, const char *name);
void ml_cg_goto(ml_Cg *g, LLVMBasicBlockRef to);  /* unless the block has ended */
void ml_cg_place(ml_Cg *g, LLVMBasicBlockRef bb); /* goes on there */
bool ml_cg_ended(ml_Cg *g);                       /* the block has its terminator */
void ml_cg_exit(ml_Cg *g, LLVMValueRef status);   /* frees everything and returns */
void ml_cg_free_down_to(ml_Cg *g, size_t n);
LLVMValueRef ml_cg_alloca(ml_Cg *g, LLVMTypeRef t, unsigned align, const char *name);

/* ---- func.c */
void ml_cg_function(ml_Cg *g, const ml_Func *f);
/* A function with the attributes of all code; opens its entry block. */
LLVMValueRef ml_cg_new_function(ml_Cg *g, const char *name, LLVMTypeRef type,
                                bool internal);
void ml_cg_fn_begin(ml_Cg *g, ml_CgFn *fn, LLVMValueRef f, const ml_Span *span);
void ml_cg_fn_end(ml_Cg *g);
void ml_cg_attr(ml_Cg *g, LLVMValueRef f, unsigned at, const char *name, uint64_t value);
/* Places what follows at the statement's line. */
void ml_cg_line(ml_Cg *g, const ml_Span *span);

/* ---- link.c */
ml_Linked *ml_llvm_link(ml_Codegen *c, ml_Ctx *cx, const void *object, size_t n);
void *ml_llvm_symbol(ml_Linked *l, const char *symbol);
void ml_llvm_unlink(ml_Linked *l);
void ml_llvm_unlink_all(ml_Llvm *ll);

#endif
