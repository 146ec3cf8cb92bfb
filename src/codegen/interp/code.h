/*
 * code - what the interpreter runs: flat register code, and what it runs on.
 *
 * A function is compiled once per run, with its arguments known: every expression becomes
 * instructions over 64-bit registers, vectors lane by lane, calls in place. Registers are
 * written by one instruction each (loop variables and the results of branches excepted), so
 * that a value once computed can be used by all that it dominates. Internal header.
 */
#ifndef ML_CODEGEN_INTERP_CODE_H
#define ML_CODEGEN_INTERP_CODE_H

#include "moonloop/codegen/interp/interp.h"
#include "moonloop/core/vec.h"

/* What a map holds, as its owner may change it. */
static inline void *ml_owned(const void *p)
{
    return (void *)(uintptr_t)p;
}

typedef union ml_Cell {
    int64_t i;
    double f;
} ml_Cell;

typedef enum ml_Inst {
    ML_I_MOV,
    ML_I_JMP, /* to c */
    ML_I_JZ,  /* a == 0: to c */
    ML_I_JNZ,
    ML_I_END,
    ML_I_TRAP, /* trap a */
    /* integers: d = a op b; x: bits, ML_UNSIGNED */
    ML_I_ADDC, /* checked, signed */
    ML_I_SUBC,
    ML_I_MULC,
    ML_I_ADDW, /* wrapping */
    ML_I_SUBW,
    ML_I_MULW,
    ML_I_TDIV, /* c: checked */
    ML_I_TMOD,
    ML_I_FDIV,
    ML_I_FMOD,
    ML_I_UDIV,
    ML_I_UMOD,
    ML_I_MIN,
    ML_I_MAX,
    ML_I_UMIN,
    ML_I_UMAX,
    ML_I_EQ,
    ML_I_NE,
    ML_I_LT,
    ML_I_LE,
    ML_I_ULT,
    ML_I_ULE,
    ML_I_AND,
    ML_I_OR,
    ML_I_XOR,
    ML_I_NOT,  /* of a bool */
    ML_I_BNOT, /* bitwise, wrapping */
    ML_I_SHL,
    ML_I_SHR,
    ML_I_POPCOUNT,
    ML_I_CLZ,
    ML_I_IABS,
    /* floats: x: rounding, 0 double, 1 single, k + 2: g->types[k] */
    ML_I_ADD64,
    ML_I_SUB64,
    ML_I_MUL64,
    ML_I_DIV64,
    ML_I_ADD32,
    ML_I_SUB32,
    ML_I_MUL32,
    ML_I_DIV32,
    ML_I_ADDN,
    ML_I_SUBN,
    ML_I_MULN,
    ML_I_DIVN,
    ML_I_FMIN,
    ML_I_FMAX,
    ML_I_FEQ,
    ML_I_FNE,
    ML_I_FLT,
    ML_I_FLE,
    ML_I_FMA,   /* a * b + c */
    ML_I_MATH1, /* b: ml_OpId */
    ML_I_MATH2, /* c: ml_OpId */
    ML_I_TEST,  /* isnan, isinf, isfinite; b: ml_OpId */
    ML_I_QMUL,  /* list a: x, y, left, right, q */
    ML_I_SEL,   /* a ? b : c */
    /* conversions */
    ML_I_WRAP, /* int to int; b: checked */
    ML_I_ITOF, /* b: the source is uint64 */
    ML_I_FTOI, /* saturating; x: bits, sign */
    ML_I_FTOF,
    ML_I_ITOB,
    ML_I_FTOB,
    ML_I_REINT, /* b, c: g->types of source and result */
    /* loops */
    ML_I_FOR,      /* d: variable, a: min, b: extent, c: to the end; x: bits; d + 1: count,
                      d + 2: step */
    ML_I_NEXT,     /* d as in FOR; c: to the body */
    ML_I_TICK,     /* a while loop turns */
    ML_I_PAR,      /* enters parallel loop a */
    ML_I_PARITER,  /* an iteration of level b begins; a: register of the variable */
    ML_I_PARDEPTH, /* a: levels that remain */
    /* memory */
    ML_I_LOAD,   /* d = access a */
    ML_I_LOADU,  /* d, d + 1 = value and state: may be undefined */
    ML_I_STORE,  /* access a = b; c: register of the state, or -1: defined */
    ML_I_REGION, /* check a */
    ML_I_BOUNDS, /* indices of a match target: check a */
    ML_I_ALLOC,  /* view a: fresh memory */
    ML_I_VIEW,   /* view a: shape, strides, offset over memory that exists */
    /* checks */
    ML_I_DOMAIN, /* value d, min a, extent b; trap c */
    ML_I_SAME,   /* a == b, else trap c */
    ML_I_ASSERT, /* a, else trap c */
    /* threads of a block (threads.c) */
    ML_I_THREADS,     /* runs the threads of kernel a; c: behind them */
    ML_I_THREADS_END, /* a thread is done */
    ML_I_BARRIER,     /* a thread waits; x: 1 for its warp, 0 for its block */
    /* only in traced code (slice.c) */
    ML_I_TOUCH, /* tells of access a; x: 1 a store */
    ML_I_ITER,  /* an iteration of traced loop a begins; d: its variable */
    ML_I_CAP,   /* at most a (-1: all) iterations of the loop whose FOR has this d */
} ml_Inst;

enum { ML_UNSIGNED = 128 };

/* Expressions are shared graphs; one that is larger than this as a tree is not run. */
enum { ML_MAX_TREE = 1 << 20 };

typedef struct ml_Ins {
    uint16_t op, x;
    int32_t d, a, b, c;
} ml_Ins;

/* ---- memory */
enum { ML_WARP = 32 }; /* threads */
#define ML_OF_LANE                                                                         \
    (UINT32_C(1) << 31) /* beside parallel levels: x of threads side by side */
enum {
    ML_OF_ALL,
    ML_OF_WARP,
    ML_OF_THREAD
}; /* who of a block's threads has it in common */

typedef struct ml_Memory {
    uint8_t *data;
    uint8_t *defined; /* per unit; NULL: all defined */
    uint32_t *shadow; /* words per unit; NULL: no race is possible */
    size_t unit;      /* bytes: the smallest lane of the buffers over it */
    size_t cap;       /* bytes allocated when owned */
    size_t bytes;     /* bytes in use */
    bool owned;
    bool written_in_parallel;
    uint32_t words;
    uint32_t private_levels; /* bit k: parallel level k gives each iteration its own */
    bool values;             /* sliced: something depends on what it holds */
    bool shape_only;         /* has a size, but no data */
    uint8_t of;              /* under threads that run side by side: ML_OF_... */
    uint32_t launch;         /* the run of a kernel's block that took it */
    struct ml_Seen *seen;    /* per unit: who of the threads touched it (thread_race.c) */
    size_t n_seen;
    const ml_Buffer *buffer; /* whose memory it is */
} ml_Memory;

/* How a lane is stored. */
typedef enum ml_Lane {
    ML_LANE_F64,
    ML_LANE_F32,
    ML_LANE_FN, /* a narrow float */
    ML_LANE_I8,
    ML_LANE_I16,
    ML_LANE_I32,
    ML_LANE_I64,
    ML_LANE_U8,
    ML_LANE_U16,
    ML_LANE_U32,
    ML_LANE_ODD, /* an integer narrower than its bytes */
    ML_LANE_BOOL,
} ml_Lane;

/* A buffer over memory. */
typedef struct ml_View {
    ml_Memory *mem;
    const ml_Buffer *buffer;
    uint32_t rank, lanes;
    uint8_t kind; /* an ml_Lane */
    ml_Dtype lane;
    size_t lane_bytes;
    int64_t *extent, *stride; /* strides and offset in elements */
    int64_t offset;
    uint32_t *r_extent, *r_stride; /* registers, read by ALLOC and VIEW; r_stride or NULL */
    uint32_t r_offset;             /* UINT32_MAX: 0 */
} ml_View;

typedef struct ml_Access {
    ml_View *view;
    uint32_t *index; /* registers */
    uint32_t sub;    /* lane of the element */
    uint32_t cls;    /* reduction block across threads, or 0 */
} ml_Access;

/* Boxes that the indices must lie in one of; also the shape of a match target. */
typedef struct ml_BoxCheck {
    uint32_t rank, n;
    const uint32_t *index;
    const uint32_t *min, *extent; /* n * rank registers */
    const ml_Stmt *block;
    const ml_Buffer *buffer;
    bool write;
} ml_BoxCheck;

typedef struct ml_Trap {
    ml_ErrorCode code;
    const char *text; /* of TRAP, ASSERT, SAME */
    const ml_Block *block;
    uint32_t iter;
} ml_Trap;

/* ---- parallel loops */
typedef struct ml_Par {
    const ml_Stmt *stmt; /* FOR or ATTR */
    const ml_Var *var;
    ml_Thread thread;
    /* while running */
    uint32_t start, cur; /* stamps of the instance and of the current iteration */
    uint32_t n, cap;
    uint32_t *stamps;        /* of the iterations so far */
    int64_t values[2], last; /* of the first two, they are evenly spaced; the current one */
} ml_Par;

/* ---- threads that run side by side */
typedef struct ml_Kernel {
    const ml_Stmt *stmt;        /* the outermost loop over threads */
    const ml_Var *var[3];       /* x, y, z; NULL: one thread */
    uint32_t reg[3], extent[3]; /* registers; extent of the var that is not NULL */
    uint32_t lane;              /* register: of the thread in its warp */
    bool is_warp;               /* x counts its lanes */
    uint32_t body;              /* first instruction */
    uint32_t own, n_own;        /* g->owned: memories of a thread or a warp */
} ml_Kernel;

enum { ML_MAX_PAR = 16 };
#define ML_CLS_MIXED UINT32_MAX

/* ---- places, for errors */
typedef struct ml_LoopScope {
    const struct ml_LoopScope *up;
    const ml_Var *var;
    const ml_Stmt *stmt;
    uint32_t reg;
} ml_LoopScope;

typedef struct ml_Site {
    const ml_Stmt *stmt;
    const ml_LoopScope *loops;
} ml_Site;

/* ---- the program */
typedef ML_VEC(uint32_t) ml_RegVec;

typedef struct ml_VarInfo {
    uint32_t reg;      /* the first of `lanes` */
    uint32_t par_mask; /* parallel levels that the value depends on, ML_OF_LANE */
} ml_VarInfo;

typedef struct ml_BufInfo {
    const ml_Buffer *buffer;
    ml_View *view;         /* NULL for match targets */
    const ml_Match *match; /* or NULL */
    uint32_t depth;        /* blocks around the definition, the defining one included */
    bool implicit;         /* undeclared, over a known pointer: set up at each use */
    const ml_Expr *const *strides; /* in elements, as expressions */
} ml_BufInfo;

typedef struct ml_Label {
    ml_RegVec uses; /* instructions that jump there */
} ml_Label;

typedef struct ml_LoopLabels {
    struct ml_LoopLabels *up;
    ml_Label *next, *end;
    uint32_t par_depth; /* around the loop's end */
    uint32_t par_body;  /* at its next */
} ml_LoopLabels;

typedef struct ml_Frame { /* of a function, called ones included */
    struct ml_Frame *up;
    const ml_Func *func;
    ml_Label *end;
    uint32_t par_depth;
    uint32_t result; /* register, or UINT32_MAX */
    bool in_threads; /* called by threads: its end is among their code */
} ml_Frame;

typedef struct ml_Memo {
    uint32_t id, reg;
    uint8_t mode;
} ml_Memo;

typedef struct ml_Gen {
    ml_Ctx *cx; /* a fork, dropped after the run */
    const ml_Module *mod;
    ml_InterpOpts opts;
    uint32_t n_program_exprs; /* ids below: expressions of the program itself */
    ML_VEC(ml_Ins) code;
    ML_VEC(uint32_t) site_of;        /* per instruction */
    ML_VEC(const ml_Expr *) expr_of; /* per instruction */
    ML_VEC(ml_Cell) regs;            /* initial values */
    ML_VEC(ml_Site) sites;
    uint32_t instead; /* 1 + the site of statements made for a call; 0: there are none */
    ML_VEC(ml_Access *) accesses;
    ML_VEC(ml_BoxCheck *) boxes;
    ML_VEC(ml_View *) views;
    ML_VEC(ml_Memory *) memories;
    ML_VEC(ml_Trap *) traps;
    ML_VEC(ml_Par *) pars;
    ML_VEC(ml_Kernel *) kernels;
    ML_VEC(ml_Memory *) owned; /* of the kernels */
    ML_VEC(ml_Dtype) types;
    ML_VEC(uint32_t *) lists;
    ML_VEC(uint32_t) cls_mask; /* per reduction class, [0] unused */
    ML_VEC(ml_Memo) trail;
    ml_UidVec bound;
    ml_Map *memo[2];                /* expression id -> register + 1; [1]: checked */
    ml_Map *vars, *bufs, *pointers; /* uid -> VarInfo, BufInfo, Memory */
    ml_Map *by_data;      /* data pointer uid -> the buffer that it was defined for */
    ml_Map *fragments;    /* buffer uid -> sizes of its fragments (gen_fragment.c) */
    ml_Map *constants_lo; /* small cache of constant registers */
    ml_Map *common;       /* data pointer uid -> private.c's record */
    const ml_LoopScope *loops;
    ml_LoopLabels *labels;
    ml_Frame *frame;
    const ml_Block *blocks[512];
    uint32_t n_blocks;
    uint32_t block_cls[512];
    const ml_Par *par[ML_MAX_PAR];
    uint32_t par_depth, max_par;
    uint32_t site;
    const ml_Func *func;
    bool side_by_side;     /* threads stop at barriers, instead of one after the other */
    ml_Kernel *kernel;     /* compiled now; NULL: no thread's code */
    ml_Label *threads_end; /* of it */
    const ml_Expr *expr;   /* at work */
    bool checked;          /* integer overflow is an error here */
    bool failed;           /* cx has an error */
} ml_Gen;

/* interp.c */
ml_Gen *ml_gen_new(ml_Ctx *cx, const ml_Module *m, const ml_InterpOpts *opts);

/* slice.c: the code becomes traced: TOUCH after each access, ITER at the begin of each
 * iteration; loops get the FOR instruction's number of each loop, in order. all: nothing is
 * left out; else only what addresses, bounds and guards need. Memories whose values are
 * needed are marked, the other ones have no data. */
typedef ML_VEC(uint32_t) ml_LoopStarts;
bool ml_gen_slice(ml_Gen *g, bool all, ml_LoopStarts *loops);

/* gen.c */
uint32_t ml_gen_emit(ml_Gen *g, ml_Inst op, unsigned x, int64_t d, int64_t a, int64_t b,
                     int64_t c);
/* Into a new register, which it returns; for e. */
uint32_t ml_gen_to(ml_Gen *g, const ml_Expr *e, ml_Inst op, unsigned x, int64_t a,
                   int64_t b, int64_t c);
static inline unsigned ml_int_x(ml_Dtype t)
{
    return t.code == ML_INT ? t.bits : ML_UNSIGNED | t.bits;
}
uint32_t ml_gen_reg(ml_Gen *g);
uint32_t ml_gen_int(ml_Gen *g, int64_t v);
uint32_t ml_gen_float(ml_Gen *g, double v);
size_t ml_gen_memo_mark(ml_Gen *g);
void ml_gen_memo_release(ml_Gen *g, size_t mark);
bool ml_gen_memo_get(ml_Gen *g, const ml_Expr *e, uint32_t *reg);
void ml_gen_memo_set(ml_Gen *g, const ml_Expr *e, uint32_t reg);
uint32_t ml_gen_trap(ml_Gen *g, ml_ErrorCode code, const char *text);
void ml_gen_unsupported(ml_Gen *g, const char *what); /* emits the failing instruction */
ml_Label *ml_gen_label(ml_Gen *g);
void ml_gen_jump(ml_Gen *g, ml_Inst op, uint32_t a, ml_Label *to);
void ml_gen_place(ml_Gen *g, ml_Label *l);
uint32_t ml_gen_site(ml_Gen *g, const ml_Stmt *s); /* returns the site before */
void ml_gen_set_var(ml_Gen *g, const ml_Var *v, uint32_t reg, uint32_t par_mask);
/* The same until ml_gen_unbind goes back below: sizes that a match or a call defines. */
void ml_gen_bind_until(ml_Gen *g, const ml_Var *v, uint32_t reg, uint32_t par_mask);
void ml_gen_unbind(ml_Gen *g, size_t mark); /* mark: g->bound.n of before */
uint32_t ml_gen_par_mask(ml_Gen *g, const ml_Expr *e);
uint32_t ml_gen_type(ml_Gen *g, ml_Dtype t);
/* Rounding of results of a float type: 0 double, 1 single, else 2 + index. */
unsigned ml_gen_rounding(ml_Gen *g, ml_Dtype t);

/* gen_expr.c: registers that hold a lane, and everything, of an expression */
uint32_t ml_gen_lane(ml_Gen *g, const ml_Expr *e, unsigned lane);
uint32_t ml_gen_checked(ml_Gen *g, const ml_Expr *e); /* scalar index, bound, condition */
/* A condition inside a value or an index, or a mask: overflow in it is an error where it computes
 * with indices only; data may wrap. */
uint32_t ml_gen_condition(ml_Gen *g, const ml_Expr *c, unsigned lane);
void ml_gen_bind(ml_Gen *g, const ml_Var *v, const ml_Expr *value);

/* A load, maybe as another type, or what a condition chooses where one of both is such:
 * what is undefined may be copied, not computed with. */
bool ml_is_copied(const ml_Expr *e);
/* Its value, which may be undefined: *state is the register that tells. */
uint32_t ml_gen_copied(ml_Gen *g, const ml_Expr *e, unsigned lane, uint32_t *state);

/* gen_call.c */
uint32_t ml_gen_call(ml_Gen *g, const ml_Expr *e, unsigned lane);
/* Of a call: a lane of argument k (a scalar's only one); what fails by its name when it is
 * reached; the bits of v from `by` on, as an unsigned number of 64 bits; a lane of p as the
 * integer of its bits. */
uint32_t ml_gen_arg(ml_Gen *g, const ml_Expr *e, size_t k, unsigned lane);
uint32_t ml_gen_no_call(ml_Gen *g, const ml_Expr *e);
uint32_t ml_gen_shifted(ml_Gen *g, const ml_Expr *e, ml_Inst op, uint32_t v, unsigned by);
uint32_t ml_gen_lane_bits(ml_Gen *g, const ml_Expr *e, const ml_Expr *p, unsigned lane);

/* ---- gen_routine.c: LLVM's intrinsics that have a routine here, c, a, b; __dp4a of CUDA,
 * a, b, c, where the types of a and b say whether their bytes have signs */
uint32_t ml_gen_llvm_call(ml_Gen *g, const ml_Expr *e, unsigned lane);
uint32_t ml_gen_dp4a(ml_Gen *g, const ml_Expr *e);
/* gen_fragment.c: tvm_fill_fragment, tvm_load_matrix_sync, tvm_mma_sync,
 * tvm_store_matrix_sync; what else there is fails by its name. */
uint32_t ml_gen_fragment_call(ml_Gen *g, const ml_Expr *e);
/* gen_warp.c: ptx_ldmatrix, ptx_mma as lanes call them; false: not so, or another call. */
bool ml_gen_warp_call(ml_Gen *g, const ml_Expr *e);
/* What such calls become: statements over the memory itself. The buffer that owns the memory
 * of a pointer (NULL: no name of memory here), the indices of its element number `at`, and
 * nests of loops of so many iterations. */
typedef struct ml_GenNest {
    const ml_Var *var[3];
    const ml_Expr *at[3];
    int64_t extent[3];
    size_t n;
} ml_GenNest;
const ml_Buffer *ml_gen_owner(ml_Gen *g, const ml_Expr *data);
void ml_gen_index_at(ml_Gen *g, const ml_Buffer *b, const ml_Expr *at, const ml_Expr **out);
ml_GenNest ml_gen_nest(ml_Gen *g, size_t n, int64_t a, int64_t b, int64_t c);
void ml_gen_run_nest(ml_Gen *g, const ml_GenNest *n, const ml_Stmt *body);

/* gen_threads.c: whether code over threads that wait for each other is made of s, a loop or
 * an attribute of threadIdx; a statement with a barrier inside */
bool ml_gen_threads(ml_Gen *g, const ml_Stmt *s);
bool ml_has_barrier(const ml_Stmt *s);
void ml_gen_barrier(ml_Gen *g, const ml_Expr *call);
/* Around what a warp does as one: its first lane alone does it. */
void ml_gen_warp_begin(ml_Gen *g, ml_Label *behind);
void ml_gen_warp_end(ml_Gen *g, ml_Label *behind);
void ml_gen_warp_meet(ml_Gen *g); /* the lanes wait for each other */

/* gen_access.c */
uint32_t ml_gen_load(ml_Gen *g, const ml_Expr *e, unsigned lane, bool may_be_undefined);
void ml_gen_store(ml_Gen *g, const ml_Store *s);
ml_BufInfo *ml_gen_buffer(ml_Gen *g, const ml_Buffer *b);
ml_View *ml_gen_view(ml_Gen *g, const ml_Buffer *b, ml_Memory *mem);
ml_Memory *ml_gen_memory(ml_Gen *g, const ml_Buffer *b);
void ml_gen_define(ml_Gen *g, const ml_Buffer *b, ml_View *view, const ml_Match *match);
void ml_gen_view_registers(ml_Gen *g, ml_View *v);
void ml_gen_alloc(ml_Gen *g, const ml_Buffer *b);
void ml_gen_match(ml_Gen *g, const ml_Match *m);

/* gen_stmt.c, gen_func.c, private.c */
void ml_gen_stmt(ml_Gen *g, const ml_Stmt *s);
bool ml_gen_func(ml_Gen *g, const ml_Func *f, const ml_RunArg *args, size_t n_args);
uint32_t ml_gen_inline(ml_Gen *g, const ml_Func *f, const ml_Expr *call);
void ml_gen_private(ml_Gen *g, const ml_Func *f);
/* Parallel levels at which lowering gives each iteration its own copy of that memory. */
uint32_t ml_gen_private_levels(ml_Gen *g, const ml_Buffer *b);
bool ml_gen_written_in_parallel(ml_Gen *g, const ml_Buffer *b);
size_t ml_gen_unit(ml_Gen *g, const ml_Buffer *b);

/* ---- running */
typedef struct ml_Fault {
    ml_ErrorCode code;
    uint32_t pc;
    const ml_Buffer *buffer;
    const ml_Stmt *block;
    const ml_Par *par;
    const ml_Trap *trap;
    int64_t number[4];
    char place[160]; /* "[3, 0]" */
    const char *word;
    struct ml_Clash *clash; /* of two threads */
} ml_Fault;

/* An access of a thread: when, by whom, where. */
typedef struct ml_Visit {
    uint32_t epoch;  /* barriers of the block before it, over the whole run; 0: none */
    uint32_t warp;   /* the same of the warp */
    uint32_t thread; /* x fastest */
    uint32_t pc;
    uint32_t step; /* accesses of the thread before it since the last barrier */
} ml_Visit;

typedef struct ml_Clash {
    ml_Visit first, second; /* in the order in which they ran */
    bool writes[2];
    bool ended; /* of a barrier: `second` is done, it waits nowhere */
} ml_Clash;

typedef struct ml_Seen { /* of a unit of memory: the last write, reads by two threads */
    ml_Visit write, read[2];
} ml_Seen;

/* A block whose threads run: threads.c. */
typedef struct ml_Threads ml_Threads;

/* What traced code tells; bytes from the start of the access's memory. */
typedef struct ml_RunHooks {
    bool (*touch)(void *user, uint32_t access, uint64_t byte);
    bool (*iteration)(void *user, uint32_t loop, int64_t value); /* false: stop */
    void *user;
} ml_RunHooks;

typedef struct ml_Run {
    ml_Gen *g;
    const ml_RunHooks *hooks;
    ml_Cell *r;
    uint64_t iterations;
    uint64_t used_bytes;
    uint32_t clock, n_par;
    ml_Par *par[ML_MAX_PAR];
    ml_Fault fault;
    uint32_t pc;   /* of the access at work */
    uint32_t stop; /* where a thread waits, or is done */
    uint32_t launch;
    ml_Visit now; /* of the thread at work; epoch 0: there is none */
    ml_Threads *threads;
} ml_Run;

bool ml_run_code(ml_Run *run);
/* From an instruction to where a thread stops (run->stop), or to the end. */
bool ml_run_from(ml_Run *run, uint32_t pc);
/* threads.c: one block of kernel k; false with a fault. run->r is then the thread's. */
bool ml_run_threads(ml_Run *run, const ml_Kernel *k);
void ml_threads_free(ml_Run *run);
/* The fault at hand waits until the threads meet: what nobody wrote may be written by
 * another thread until then, which is a race, and a race may come of a barrier that some do
 * not reach. true: go on. */
bool ml_threads_put_off(ml_Run *run);
/* "(3, 0, 0)" of a thread of the block that runs */
const char *ml_thread_text(ml_Ctx *cx, const ml_Run *run, uint32_t thread);
/* thread_race.c: an access by the thread at work; false: another one's clashes with it */
bool ml_seen_access(ml_Run *run, const ml_Access *ac, size_t unit, bool write,
                    bool changed);
/* fault_threads.c */
void ml_fault_threads(ml_Ctx *cx, const ml_Run *run, ml_Fact where);
/* memory.c */
bool ml_run_alloc(ml_Run *run, ml_View *v);
bool ml_run_view(ml_Run *run, ml_View *v);
bool ml_run_shadow(ml_Run *run, ml_Memory *mem); /* memory of the caller */
bool ml_run_take(ml_Run *run, size_t bytes);     /* counts them; false: too many */
void ml_run_free(ml_Run *run);
/* race.c: false: a conflict, described in run->fault */
bool ml_race_read(ml_Run *run, const ml_Access *ac, size_t unit);
bool ml_race_write(ml_Run *run, const ml_Access *ac, size_t unit, bool changed);
bool ml_race_waits(ml_Run *run, const ml_Access *ac);
bool ml_race_enter(ml_Run *run, ml_Par *par);
bool ml_race_iteration(ml_Run *run, ml_Par *par, int64_t value);
/* checks.c: false with a fault */
bool ml_check_region(ml_Run *run, const ml_BoxCheck *c);
bool ml_check_bounds(ml_Run *run, const ml_BoxCheck *c);
bool ml_check_domain(ml_Run *run, const ml_Ins *ins);
/* fault.c */
void ml_fault_place(ml_Fault *f, const ml_Cell *r, const uint32_t *index, size_t rank);
/* Sets cx's error; cx may be frozen. loops gets "i = 3, j = 0". */
void ml_fault_report(ml_Ctx *cx, const ml_Run *run, ml_InterpReport *report,
                     ml_Text *loops);
/* math.c */
double ml_round_to(const ml_Gen *g, unsigned rounding, double v);
double ml_math1(unsigned op, double x);
double ml_math2(unsigned op, unsigned rounding, double x, double y);
double ml_fma_rounded(const ml_Gen *g, unsigned rounding, double a, double b, double c);
double ml_int_to_float(const ml_Gen *g, unsigned rounding, int64_t v, bool is_unsigned);
int64_t ml_float_to_int(double v, unsigned x);

#endif
