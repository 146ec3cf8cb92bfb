/* program_impl - what the files of the generator of programs share: a program as it is made
 * (Gen), a stage of it, and the pieces of text. program.c puts stages together,
 * program_shape.c chooses what a stage computes, program_nest.c writes its loops,
 * program_reduce.c what reductions do. */
#ifndef ML_TESTS_FUZZ_PROGRAM_IMPL_H
#define ML_TESTS_FUZZ_PROGRAM_IMPL_H

#include "program.h"

enum { MAX_RANK = 4, MAX_BUFS = 24, MAX_ITERS = 6, MAX_ELEMENTS = 240, LIMIT = 1000 };

enum { CONSTANT, SHIFTED, DOUBLED, SHIFTED_M };

typedef struct Dim { /* v elements */
    int v;
    int sym; /* SHIFTED: n + (v - value of n), SHIFTED_M of m; DOUBLED: n * 2 */
} Dim;

typedef struct Buf {
    char name[8];
    const char *dtype;
    Dim dims[MAX_RANK];
    int rank;
    int mag;                              /* no value is larger */
    bool input, output, consumed, closed; /* closed: not to be read again */
} Buf;

typedef struct It {
    Dim dom;
    bool reduce;
} It;

typedef struct Gen {
    uint64_t rnd;
    const FzPlan *plan;
    ml_Text body;
    Buf bufs[MAX_BUFS];
    int n_bufs, n_inputs, n_inter;
    int n, m;
    bool i64, two_sizes, uses_n, uses_m, uses_flag;
} Gen;

typedef struct Stage {
    It it[MAX_ITERS];
    int n_it;
    char idx[MAX_RANK][40]; /* of the source */
    char guard[96];         /* "": none; else the source counts as 0 where it is false */
    int n_points;           /* > 1: so many neighbours along dimension 0 are added */
    int src, out, k;
    int pair; /* > 0: another result, accumulated beside it */
    int rest; /* > 0: so many rows behind the others are written by another block */
    char value[1200], init[40];
    const char *reduce; /* "+", "max", "min" */
    bool started;       /* its init is another stage */
} Stage;

#define ON(g, bit, percent) (fz_chance(&(g)->rnd, (percent)) && !((g)->plan->off & (bit)))

static const char LOOPS[] = "ijklmnopq"; /* names of loops */

static inline int below(Gen *g, int n)
{
    return fz_below(&g->rnd, n);
}

/* The value of the symbol in d. */
static inline int base_of(const Gen *g, Dim d)
{
    return d.sym == SHIFTED_M ? g->m : g->n;
}

static inline int elements(const Dim *d, int rank)
{
    int e = 1;

    for (int k = 0; k < rank; k++)
        e *= d[k].v;
    return e;
}

static inline bool is_int(const char *type)
{
    return type[0] == 'i';
}

/* snprintf that cuts silently: texts are far shorter than their room; strcat likewise. */
void fz_put(char *out, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void fz_append(char *out, size_t n, const char *z);
/* A line of the body. */
void fz_line(Gen *g, int indent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* An extent, an integer, a dimension, a literal as text; a dtype that holds mag. */
int fz_extent(Gen *g);
const char *fz_int_text(const Gen *g, int v, char out[24]);
const char *fz_dim_text(Gen *g, Dim d, char out[40]);
const char *fz_literal(const char *type, int v, char out[40]);
const char *fz_dtype(Gen *g, int mag);

int fz_new_buf(Gen *g, bool input, const char *type, const Dim *dims, int rank, int mag);
/* An operand read at `idx`, in the dtype of the stage. */
void fz_access(const Buf *b, char idx[][40], const char *type, char *out, size_t n);
/* A buffer of integers to index with, over d when it is made; -1: none. */
int fz_index_buffer(Gen *g, const Stage *s, Dim d);

/* An index below `extent` made of the load of an integer, of iterator v too; small: it is
 * one from -2 to 2. */
void fz_loaded_index(Gen *g, const char *load, int v, int extent, bool small, char *out,
                     size_t n);

/* Iterators and source indices of a stage; false: this kind does not fit the source. */
bool fz_shape_stage(Gen *g, Stage *s, int kind);
/* One index that is an iterator goes by way of floats: nothing can be told of it. */
void fz_by_floats(Gen *g, Stage *s);
/* Some buffer read at iterators of the stage: an old one that fits, or a new input. */
bool fz_second_operand(Gen *g, Stage *s, const char *type, bool all, char *out, size_t n,
                       int *mag);
/* The value of the stage in s->value, of dtype `type`; returns its magnitude. */
int fz_value_of(Gen *g, Stage *s, const char *type, bool product);

/* Init and update of a reduction, its element being `at`. */
void fz_emit_reduction(Gen *g, const Stage *s, const char *at, int in);

/* program_scalar.c: whether the plan is for such a program; the program. */
bool fz_is_scalar(const FzPlan *plan);
void fz_scalar_program(const FzPlan *plan, FzProgram *out);

/* Loops from iterator `from` on, and the block; outer: the value of the iterators before.
 */
void fz_emit_nest(Gen *g, const Stage *s, int from, const char *outer, int in,
                  const char *name);
/* The first iterator gets a block of its own around the rest. */
void fz_emit_nested(Gen *g, Stage *s, int in, const char *name);
/* The store of a block that updates buffer `out` where it is, at iters `at`: with a
 * literal, or with another operand in the same places (tiles.c). */
void fz_update_inplace(Gen *g, int out, int in, const char *at);
/* What a reduction starts from, written beforehand; the last rows of a result. */
void fz_emit_start(Gen *g, const Stage *s, int in, const char *name);
void fz_emit_rest(Gen *g, const Stage *s, int in, const char *name);

/* A stage whose instances depend on each other: program_self.c. */
void fz_emit_self(Gen *g, int in);

#endif
