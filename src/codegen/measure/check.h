/*
 * check - compares two programs on the same random inputs. Source: interaction 8.
 */
#ifndef ML_CODEGEN_CHECK_H
#define ML_CODEGEN_CHECK_H

#include "moonloop/codegen/interp/interp.h"
#include "moonloop/codegen/params/param_roles.h"

typedef struct ml_CheckOpts {
    ml_Fill inputs;
    uint64_t seed;        /* 0: 1 */
    const char *id;       /* of the input stream; NULL: the function's name */
    const ml_Size *sizes; /* of symbolic dimensions and integer parameters */
    size_t n_sizes;
    bool own_tolerance; /* rtol and atol as given, against the start itself */
    double rtol, atol;
    bool extremes;        /* integers take the ends of their types, too (extremes.h) */
    bool exact;           /* bit for bit */
    int64_t limit;        /* innermost iterations of each program; 0: 10^7 */
    uint32_t skip;        /* ML_SKIP_..., of both runs */
    bool side_by_side;    /* of `got`: threads of a block (interp.h) */
    uint32_t wide_one_in; /* of the outermost iterations in the wider type; 0: all */
    const ml_Moved
        *moved;     /* layouts that `got` gave parameters of `ref`, in order: it gets */
    size_t n_moved; /* its arguments in them, and what it leaves is read through them */
} ml_CheckOpts;

typedef struct ml_CheckResult {
    const char *function; /* this and the next two are ml_work_check's */
    const char *written;  /* names of the outputs: "C, D" */
    int64_t elements;     /* of all of them; -1: not known */
    bool ok;
    int64_t unwritten; /* elements of outputs that ref writes nothing to */
    int64_t outside;   /* elements that differ by more than is tolerated */
    double largest;    /* largest difference, and where: "C[3, 0]"; "" when none */
    const char *largest_at;
    const char *first_at; /* first one outside; "" when none */
    double first_ref, first_got;
    bool first_unwritten; /* by ref: there is no value that it should be */
    uint64_t seed;
    double rtol, atol; /* of the output where the first (else the largest) difference is:
                          atol is its bound; both 0: nothing is tolerated */
    /* The bound of an output, where it is above 1 % of its largest value, so that it says
     * little; 0: there is none. */
    double vacuous, magnitude; /* that bound, and that value */
    const char *blind;  /* what would not be seen besides: "P is 0 throughout", or "" */
    const char *bounds; /* of each output when there are several: "C 3.1e-06, D exactly" */
    uint32_t n_outputs;
    int64_t iterations;  /* innermost, of the reference */
    const char *problem; /* "input A was changed", or "" */
    const char
        *refused; /* ml_work_check's: why the compiler takes no such program, or "" */
} ml_CheckResult;

/*
 * ml_check - runs `ref` and `got` and compares what they write.
 *
 * An output is a parameter that ref writes and never reads, except in a block whose init
 * writes it: it holds NaN (integers: 0x5A bytes) before both runs and counts as not
 * written; what ref leaves so must stay so, but for sums without a term under these sizes,
 * that no program has said the value of. All other parameters are filled by the
 * generators; integers that serve as indices stay inside what they index.
 *
 * return  false with cx's error: the functions do not fit each other, a size is not given,
 *         too-large (with the count), or a run was refused (a note says which). A
 * difference is no error: r->ok is false then. Texts of *r are in cx.
 */
bool ml_check(ml_Ctx *cx, const ml_Module *ref_mod, const ml_Func *ref,
              const ml_Module *got_mod, const ml_Func *got, const ml_CheckOpts *opts,
              ml_CheckResult *r);

/* Arguments for a run of f: tensors by the generators (outputs hold poison), numbers by
 * their names among the sizes, else small random ones. roles are ml_param_roles'. false:
 * cx's error names the dimension whose size is not given; tensors made so far are in args,
 * for ml_inputs_free. */
bool ml_inputs_make(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                    const ml_ParamRole *roles, ml_RunArg *args);
void ml_inputs_free(ml_RunArg *args, uint32_t n);
/* Which of them have one value only, as no others keep every index inside: a text for
 * people, "" where there is none. */
const char *ml_inputs_blind(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts);
/* How far a parameter that is written may be from what is expected (bound.h). */
typedef struct ml_Allowed {
    bool exact, by_start; /* by_start: the start itself is what is expected */
    double bound, magnitude;
    double steps;       /* that of integers; then bound is 0 */
    bool agrees;        /* what the start left is as near to the wider type as rounding
                            explains, wherever both were computed */
    int64_t compared;   /* elements of which that is known */
    int64_t overflowed; /* elements that are beyond the start's type in some order of a sum,
                           and not in a wider type: anything is right */
} ml_Allowed;
ml_Tolerance ml_check_tolerance(const ml_CheckOpts *opts, const ml_Allowed *bound);
/* Whether one set of arguments serves both, moved as opts (may be NULL) says; false: cx's
 * error names the parameter. */
bool ml_check_same_parameters(ml_Ctx *cx, const ml_Func *f, const ml_Func *g,
                              const ml_CheckOpts *opts);
/* Copies of arguments, in the layouts that `moved` (NULL: none) gives them, with what pads
 * those. roles: elements of outputs count as not written; NULL: as they are. false: cx's
 * error. */
bool ml_inputs_copy(ml_Ctx *cx, const ml_CheckOpts *moved, const ml_ParamRole *roles,
                    const ml_RunArg *initial, uint32_t n, ml_RunArg *to);
/* What was written, back in the layouts of `like`: that is compared. Padding is left out. */
bool ml_outputs_back(ml_Ctx *cx, const ml_CheckOpts *opts, const ml_ParamRole *roles,
                     const ml_RunArg *like, uint32_t n, ml_RunArg *got);
bool ml_layout_is_moved(const ml_CheckOpts *opts, uint32_t k);

/* What a start leaves, and how far from it is right (reference.h); kept for the next check
 * of the same start with the same inputs, as it may take seconds. */
typedef struct ml_Reference {
    uint64_t key;
    uint32_t n;
    bool compiled;
    double seconds; /* of its run, about */
    ml_RunArg *v;   /* malloc */
    ml_Allowed *bounds;
} ml_Reference;
ML_GIVES ml_Reference *ml_reference_new(uint32_t n);
void ml_reference_free(ml_Reference *r); /* NULL is fine */
/* What is said of a program whose iterations are too many, or not known; false. */
bool ml_fail_iterations(ml_Ctx *cx, int64_t count, int64_t limit);
/* Runs got in the interpreter on `initial` and compares what it leaves with the reference;
 * adds to *r. false: the run was refused. */
bool ml_check_interpreted(ml_Ctx *cx, const ml_Func *ref, const ml_Module *got_mod,
                          const ml_Func *got, const ml_CheckOpts *opts,
                          const ml_ParamRole *roles, const ml_RunArg *initial,
                          const ml_Reference *expected, ml_CheckResult *r);
/* Compares what a run of f's parameters left with what is expected; adds to *r. */
void ml_check_compare(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                      const ml_ParamRole *roles, const ml_Reference *expected,
                      const ml_RunArg *got, ml_CheckResult *r);

#endif
