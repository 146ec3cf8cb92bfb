/*
 * emit - C through a printer of our own: what its files share. Internal header.
 *
 * A value is the text of a C expression. What it needs beforehand (a value used twice, a
 * branch whose arms need statements) is written in front of the statement at hand. A vector
 * is printed a range of lanes at a time, of a power of two and at most 64 bytes: a type and
 * functions of the prelude, which hold the vectors of GCC and clang or an array. Indices,
 * bounds and the conditions on them are int64_t, for their overflow is an error of the
 * program; everything else wraps and rounds as its type does. What differs between the
 * languages is a row of ml_cp_modes. Source: lowering-and-codegen 10.1, 10.2, 10.5.
 */
#ifndef ML_CODEGEN_C_EMIT_H
#define ML_CODEGEN_C_EMIT_H

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/lower/lower.h"
#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/core/vec.h"

/* Words of a language, and what it can. */
typedef struct ml_CpMode {
    const char *name;      /* of the text: "c" */
    const char *suffix;    /* of its files */
    const char *prelude;   /* headers and macros that all its functions rely on */
    const char *entry;     /* in front of a kernel */
    const char *not_alias; /* of a pointer that nothing else reaches */
    const char *array;     /* in front of an array on the stack */
    bool openmp;           /* parallel loops are pragmas */
} ml_CpMode;
extern const ml_CpMode ml_cp_modes[];

/* How tightly the outermost operator of a text binds: more is tighter. */
enum { ML_CP_LOOSE, ML_CP_ADD = 12, ML_CP_MUL, ML_CP_UNARY, ML_CP_ATOM };
typedef struct ml_CpText {
    const char *z;
    int binds;
} ml_CpText;

typedef struct ml_CpPart { /* of a vector that is kept: lanes [lane0, lane0 + n) */
    unsigned lane0, n;
    const char *name;
} ml_CpPart;
typedef struct ml_CpVar {
    const char *name;
    bool wide;              /* an int64_t, whatever its dtype */
    const ml_CpPart *parts; /* of a vector */
    size_t n_parts;
} ml_CpVar;
typedef struct ml_CpMemo {
    const ml_Expr *e;
    unsigned lane0, n;
    bool index;
    const char *name;
} ml_CpMemo;

typedef struct ml_Cp {
    ml_Ctx *cx;
    ml_Arith *ar; /* ranges of loops: which divisions are plain */
    const ml_CpMode *mode;
    const ml_CodeOpts *o;
    const ml_Func *func;
    ml_Text *out;  /* the statements */
    ml_Text types; /* of the prelude: vectors */
    ml_Text below; /* functions of the prelude */
    unsigned depth;
    ml_Map *vars;   /* uid -> ml_CpVar */
    ml_Map *data;   /* uid of a data pointer -> its name */
    ml_Map *elems;  /* uid of a data pointer -> ml_Dtype of a lane behind it */
    ml_Map *seen;   /* hash of what the prelude has -> its name */
    ml_Map *taken;  /* hash of a C name -> what it stands for, while it is visible */
    ml_Map *shared; /* id of an expression -> it occurs again in the statement */
    ML_VEC(const char *) names; /* visible ones */
    ML_VEC(ml_CpMemo) memo;
    size_t memo_base; /* where those of the statement at hand begin */
    const ml_Stmt *stmt;
    ML_VEC(const char *) frees; /* workspace that is live here */
    ML_VEC(const ml_Assert *) asserts;
    const char *mask;            /* lanes in which a value is wanted: a name; NULL: all */
    unsigned mask_lane0, mask_n; /* which of the vector's it holds */
    const char *next; /* label behind the body of the parallel loop; NULL: none around */
    size_t loop_frees, parallel_frees;
    unsigned loops, n_labels, n_temps;
    int64_t stack; /* bytes of arrays so far */
    uint32_t line; /* of the program: that was told last */
    bool checked;  /* overflow of integers is an error here */
    bool failed;
} ml_Cp;

extern const ml_Backend ml_backend_c;
void ml_cp_fail(ml_Cp *g, ml_ErrorCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define ml_cp_unsupported(g, ...) ml_cp_fail((g), ML_E_NOT_SUPPORTED, __VA_ARGS__)

/* ---- names.c */
/* A C name like the hint that is nobody else's while the scope lasts. */
const char *ml_cp_name(ml_Cp *g, const char *hint);
const char *ml_cp_temp(ml_Cp *g);
size_t ml_cp_scope_open(ml_Cp *g);
void ml_cp_scope_close(ml_Cp *g, size_t mark);

/* ---- types.c */
bool ml_cp_dtype_ok(ml_Cp *g, ml_Dtype t);    /* else not-supported, named */
static inline bool ml_cp_is_eight(ml_Dtype t) /* the floats of eight bits that there are */
{
    return t.code == ML_F8_E4M3FN || t.code == ML_F8_E5M2;
}
static inline bool ml_cp_is_half(ml_Dtype t) /* kept as float, rounded each time */
{
    return ((t.code == ML_FLOAT || t.code == ML_BFLOAT) && t.bits == 16) ||
           ml_cp_is_eight(t);
}
const char *ml_cp_short(ml_Ctx *cx, ml_Dtype t);          /* "f32", "bf16", "u8", "bool" */
const char *ml_cp_type(ml_Cp *g, ml_Dtype t, unsigned n); /* of a value; n 0: a scalar */
const char *ml_cp_memory_type(ml_Ctx *cx, ml_Dtype t);    /* of a lane in memory */
ml_Dtype ml_cp_value_type(ml_Dtype t); /* halves are floats; lanes dropped */
const char *ml_cp_int(ml_Cp *g, ml_Dtype t, int64_t v);
const char *ml_cp_float(ml_Cp *g, ml_Dtype t, double v);

/* ---- helpers.c: functions of the prelude, printed when they are first asked for */
const char *ml_cp_op(ml_Cp *g, const char *name, ml_Dtype t, unsigned n);
const char *ml_cp_convert(ml_Cp *g, ml_Dtype from, ml_Dtype to, unsigned n);
const char *ml_cp_splat(ml_Cp *g, ml_Dtype t, unsigned n);
const char *ml_cp_ramp(ml_Cp *g, ml_Dtype t, unsigned n);
const char *ml_cp_select(ml_Cp *g, ml_Dtype t, unsigned n);
/* form: "load", "store", "load_if", "store_if", "gather", "gather_if", ... */
const char *ml_cp_access(ml_Cp *g, const char *form, ml_Dtype t, unsigned n,
                         ml_Dtype index);
const char *ml_cp_cell(ml_Cp *g, const char *form, ml_Dtype t); /* "get", "put": bytes */
bool ml_cp_first(ml_Cp *g, const char *name); /* the prelude has none of that name yet */
void ml_cp_declare(ml_Cp *g, const char *name, const char *text); /* once a name */

/* ---- expr.c, index.c, call.c, access.c */
ml_CpText ml_cp_text(ml_Cp *g, int binds, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *ml_cp_in(ml_Cp *g, ml_CpText t,
                     int binds); /* in parentheses if it binds less */
/* Lanes [lane0, lane0 + n) of a vector expression; a scalar is one whatever they are. */
ml_CpText ml_cp_value(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n);
/* ... as an argument: a scalar among vectors in all lanes. */
const char *ml_cp_arg(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n);
/* The lanes wanted among these; NULL: all of them. */
const char *ml_cp_mask(ml_Cp *g, unsigned lane0, unsigned n);
/* Gives the text a name of its own, in front of the statement at hand. */
const char *ml_cp_keep(ml_Cp *g, const char *type, const char *z);
ml_CpText ml_cp_cast(ml_Cp *g, ml_Dtype from, ml_Dtype to, unsigned n, ml_CpText v);
ml_CpText ml_cp_condition(ml_Cp *g, const ml_Expr *e); /* of control flow */
ml_CpText ml_cp_index(ml_Cp *g, const ml_Expr *e);     /* an int64_t */
ml_CpText ml_cp_call(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n);
ml_CpText ml_cp_load(ml_Cp *g, const ml_Expr *e, unsigned lane0, unsigned n);
void ml_cp_store(ml_Cp *g, const ml_Store *s);
ml_CpText ml_cp_pointer(ml_Cp *g, const ml_Expr *e); /* of a handle */
void ml_cp_bind(ml_Cp *g, const ml_Var *v, const ml_Expr *value);
void ml_cp_set_var(ml_Cp *g, const ml_Var *v, ml_CpVar to);
/* How many lanes from lane0 on are printed at a time. */
unsigned ml_cp_chunk(const ml_Expr *e, unsigned lane0, unsigned lanes);
/* What several occurrences of an expression share, in the statement at hand. */
void ml_cp_memo_begin(ml_Cp *g, const ml_Expr *const *roots, size_t n);
size_t ml_cp_memo_mark(const ml_Cp *g);
void ml_cp_memo_release(ml_Cp *g, size_t mark);

/* ---- stmt.c, loop.c */
void ml_cp_line(ml_Cp *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_cp_body(ml_Cp *g, const ml_Stmt *s); /* indented, in a scope of its own */
void ml_cp_exit(ml_Cp *g, const char *status);
void ml_cp_for(ml_Cp *g, const ml_For *f);
void ml_cp_while(ml_Cp *g, const ml_While *w);

/* ---- order.c */
/* Whether the loop is one that gcc must be kept from interchanging with those inside. */
bool ml_cp_in_order(ml_Cp *g, const ml_For *f);

#endif
