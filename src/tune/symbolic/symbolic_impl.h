/* symbolic_impl - a symbolic replay, and what the steps share. */
#ifndef ML_TUNE_SYMBOLIC_IMPL_H
#define ML_TUNE_SYMBOLIC_IMPL_H

#include "moonloop/primitives/trace/trace_impl.h"
#include "moonloop/tune/symbolic/symbolic.h"

/* What a variable of the trace stands for. */
typedef struct SymValue {
    uint8_t kind;  /* an ml_HandleKind; NONE: nothing yet */
    uint32_t axis; /* LOOP */
    ml_NestNode *block;
    ml_Num num; /* EXPR */
} SymValue;

/* Factors that were sampled for an extent: their product is known. */
typedef struct SymTile {
    ml_Num extent;
    size_t n;
    const ml_Num *v;
} SymTile;

/* An annotation of a block, or that it has one no more; the last of a key counts. */
typedef struct SymSaid {
    const ml_NestNode *block;
    const char *key;
    ml_Num value; /* 0 where it is no number */
    bool gone;
} SymSaid;

typedef struct Sym {
    ml_Ctx *cx; /* of this replay */
    ml_Nest n;
    ml_Forms *f;
    const ml_Trace *t;
    SymValue *vars;        /* by number */
    ml_Map *symbols;       /* uid -> 1 + number of the variable */
    ML_VEC(SymTile) tiles; /* in the order of the samplings */
    ML_VEC(size_t) places; /* of each sampled place the most that it can be */
    ML_VEC(SymSaid) said;
    const ml_Inst *in; /* the instruction at hand; NULL: a postprocessor is, */
    const char *post;  /* of that name */
    ml_TVArg args[ML_MAX_PARAMS];
    uint32_t at;     /* of its decision in the vector */
    const char *why; /* not NULL: there is no form, and why */
} Sym;

/* Sets why; false. */
bool ml_sym_no(Sym *s, const char *why);

/* ---- arguments of the instruction; false: ml_sym_no */
bool ml_sym_num(Sym *s, const ml_TV *v, ml_Num *out);
bool ml_sym_loop(Sym *s, size_t param, ml_NestNode **out);
bool ml_sym_block(Sym *s, size_t param, ml_NestNode **out);
bool ml_sym_flag(const Sym *s, size_t param, bool otherwise);
/* The annotation that the step at hand gives a block, or takes from it. */
bool ml_sym_say(Sym *s, const ml_NestNode *block);
/* false: the block has none of that key. */
bool ml_sym_said(const Sym *s, const ml_NestNode *block, const char *key, ml_Num *out);
/* The k-th output is the loop or block. */
void ml_sym_out_loop(Sym *s, size_t k, uint32_t axis);
void ml_sym_out_block(Sym *s, size_t k, ml_NestNode *b);
void ml_sym_out_mark(Sym *s, size_t k, uint8_t kind); /* root or inlined */

/* ---- the nest */
ml_NestNode *ml_sym_node_of(ml_NestNode *root, uint32_t axis); /* of a loop; NULL: gone */
bool ml_sym_is_above(const ml_NestNode *up, const ml_NestNode *node); /* or the same */
uint32_t ml_sym_new_loop(Sym *s, ml_Num extent);
size_t ml_sym_position(const ml_NestNode *node); /* among its siblings */
void ml_sym_insert(Sym *s, ml_NestNode *parent, size_t at, ml_NestNode *node);
void ml_sym_remove(ml_NestNode *node); /* and loops around it that are empty then */

/* A sum in the place of a loop, everywhere. */
void ml_sym_substitute(Sym *s, uint32_t axis, const ml_Sum *value);
/* The blocks below that are in no other there; of more than cap only the number. */
void ml_sym_child_blocks(ml_NestNode *node, ml_NestNode **v, size_t cap, size_t *n);
/* Whether all iters below that the loop moves are spatial. */
bool ml_sym_is_spatial(const Sym *s, const ml_NestNode *node, uint32_t loop);

enum { ML_SYM_FACTORS = 16 };
/* The loop as n <= ML_SYM_FACTORS; the factor at `open` is what is left (n: none is) and is put
 * there. axes: their loops. */
bool ml_sym_split_loop(Sym *s, ml_NestNode *loop, ml_Num *factors, size_t n, size_t open,
                       bool no_guard, uint32_t *axes);
/* The first of loops one inside the other becomes all of them. */
bool ml_sym_fuse_loops(Sym *s, ml_NestNode *const *v, size_t n);
/* The init of a block before the loop; *out: its block. */
bool ml_sym_decompose(Sym *s, ml_NestNode *block, ml_NestNode *loop, ml_NestNode **out);

/* A buffer like another, with a name of its own, as the primitives would give it: features
 * go by names where numbers are equal. Its position. */
uint32_t ml_sym_new_buffer(Sym *s, uint32_t like, const char *between, const char *suffix);

/* ---- the steps: one for each primitive */
bool ml_sym_split(Sym *s);
bool ml_sym_fuse(Sym *s);
bool ml_sym_reorder(Sym *s);
bool ml_sym_kind(Sym *s);
bool ml_sym_annotate(Sym *s);
bool ml_sym_get_producers(Sym *s);
bool ml_sym_get_consumers(Sym *s);
bool ml_sym_sample_compute_location(Sym *s);
bool ml_sym_bind(Sym *s);
bool ml_sym_compute_at(Sym *s);
bool ml_sym_reverse_compute_at(Sym *s);
bool ml_sym_decompose_reduction(Sym *s);
bool ml_sym_rfactor(Sym *s);
bool ml_sym_cache_write(Sym *s);
bool ml_sym_cache_read(Sym *s);

/* ---- postprocessors: of a function, by their names in lua/moonloop/postproc */
bool ml_sym_has_post(const char *name);
bool ml_sym_post(Sym *s, const ml_Func *func, const char *const *names, size_t n);
bool ml_sym_parallel_vectorize_unroll(Sym *s, const ml_Func *func);

/* The whole: prefix of the trace on a fork of start, the rest on its nest, postprocessors
 * behind it. The fork in *fork lives until the caller is done with names. false: s->why. */
bool ml_sym_replay(Sym *s, ml_Ctx *cx, ml_Forms *f, ml_Schedule *start, const ml_Trace *t,
                   const ml_FormPost *post, ml_Schedule **fork);
/* Integers of a vector. */
uint32_t ml_sym_numbers(const ml_Inst *in);
bool ml_sym_is_place(
    const ml_Inst *in); /* its number is ML_SYM_PLACE less than its decision */
enum { ML_SYM_PLACE = -2 };

/* ---- variants.c */
typedef struct Branch {
    uint32_t question; /* position */
    int32_t to[2];     /* no, yes: a branch, or ~variant */
    bool there[2];     /* else nobody came that way yet */
} Branch;

typedef struct Variant {
    bool real; /* it has no forms that hold */
    size_t checked;
    size_t n_rows;
    ml_FormProgram
        p; /* n_rows * ML_FEATURES results, then whether it is within the limits */
} Variant;

struct ml_SketchForms {
    ml_Ctx *cx;    /* forms, tree, programs */
    ml_Ctx *batch; /* results of the last call */
    ml_Schedule *start;
    ml_Trace t;
    ml_FeatureTarget target;
    ml_FormLimits limits;
    ml_FormPost post;
    uint32_t numbers;
    size_t checks;
    size_t agreed; /* variants that were compared, and did */
    bool trusts;
    size_t *spare; /* replays that are left; NULL: any number */
    ml_Forms f;
    ML_VEC(Branch) tree;
    ML_VEC(Variant) variants;
    int32_t first; /* as Branch.to */
    bool any;      /* first is there */
    ML_VEC(ml_Num) questions;
    bool stale; /* questions came since they were compiled */
    ml_FormProgram ask;
    double *ask_room;
    double *x;    /* inputs of a run: numbers * ML_LANES */
    double *room; /* of the variant that runs */
    size_t room_for;
    double *real_rows;
    ML_VEC(ml_Num) extents; /* of what each tile cuts, in order */
    ML_VEC(size_t) places;  /* as of Sym, over all variants */
    bool several;           /* some variants have others: then draws are replays */
    ml_FormProgram cut;     /* the extents, once asked for */
    double *cut_room;
    ml_FormStats st;
};

/* Replays symbolically at x; the variant. */
size_t ml_sym_explore(ml_SketchForms *s, const double *x);

/* ---- real.c */
/* Decisions of a replay that samples by the seed; false: it is not legal. */
bool ml_sym_real_draw(ml_Schedule *start, const ml_Trace *t, uint32_t seed, int64_t *d);
int ml_sym_real_rows(const ml_SketchForms *s, const int64_t *d, double *rows);

#endif
