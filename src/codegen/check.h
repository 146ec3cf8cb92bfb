/*
 * check - compares two programs on the same random inputs. Source: interaction 8.
 */
#ifndef ML_CODEGEN_CHECK_H
#define ML_CODEGEN_CHECK_H

#include "codegen/count.h"
#include "codegen/interp.h"

typedef struct ml_CheckOpts {
    ml_Fill inputs;
    uint64_t seed;        /* 0: 1 */
    const char *id;       /* of the input stream; NULL: the function's name */
    const ml_Size *sizes; /* of symbolic dimensions and integer parameters */
    size_t n_sizes;
    bool own_tolerance; /* rtol and atol as given, without the factor for reductions */
    double rtol, atol;
    bool extremes; /* integers take the ends of their types, too (extremes.h) */
    bool exact;    /* bit for bit */
    int64_t limit; /* innermost iterations of each program; 0: 10^7 */
    uint32_t skip; /* ML_SKIP_..., of both runs */
    const ml_Moved
        *moved;     /* layouts that `got` gave parameters of `ref`, in order: it gets */
    size_t n_moved; /* its arguments in them, and what it leaves is read through them */
} ml_CheckOpts;

typedef struct ml_CheckResult {
    bool ok;
    int64_t outside; /* elements that differ by more than is tolerated */
    double largest;  /* largest difference, and where: "C[3, 0]"; "" when none */
    const char *largest_at;
    const char *first_at; /* first one outside; "" when none */
    double first_ref, first_got;
    uint64_t seed;
    double rtol, atol; /* of the output where the first (else the largest) difference is */
    /* Of an output whose tolerance is not below all of its values, so that it says little;
     * 0: there is none. */
    double vacuous, magnitude; /* that tolerance, and its largest value */
    double bound; /* what it was judged by besides: a difference; 0: nothing sharper */
    uint32_t n_outputs;
    int64_t iterations;  /* innermost, of the reference */
    const char *problem; /* "input A was changed", or "" */
} ml_CheckResult;

/*
 * ml_check - runs `ref` and `got` and compares what they write.
 *
 * An output is a parameter that ref writes and never reads, except in a block whose init
 * writes it: it holds NaN (integers: 0x5A bytes) before both runs and counts as not
 * written; what ref leaves so must stay so. All other parameters are filled by the
 * generators; integers that serve as indices stay inside what they index.
 *
 * return  false with cx's error: the functions do not fit each other, a size is not given,
 *         too-large (with the count), or a run was refused (a note says which). A
 * difference is no error: r->ok is false then. Texts of *r are in cx.
 */
bool ml_check(ml_Ctx *cx, const ml_Module *ref_mod, const ml_Func *ref,
              const ml_Module *got_mod, const ml_Func *got, const ml_CheckOpts *opts,
              ml_CheckResult *r);

/* What is known of a parameter; used by ml_check, by measuring, and by the command line. */
typedef struct ml_ParamRole {
    bool written, output;
    double rtol;         /* of the least precise float type on the way to it */
    double reduction;    /* product of the reduction domains along the longest chain */
    int64_t index_limit; /* values are indices below that; 0: data */
} ml_ParamRole;
/* Arguments for a run of f: tensors by the generators (outputs hold poison), numbers by
 * their names among the sizes, else small random ones. roles are ml_param_roles'. false:
 * cx's error names the dimension whose size is not given; tensors made so far are in args,
 * for ml_inputs_free. */
bool ml_inputs_make(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                    const ml_ParamRole *roles, ml_RunArg *args);
void ml_inputs_free(ml_RunArg *args, uint32_t n);
/* What is tolerated of a parameter that is written (interaction 8). */
ml_Tolerance ml_check_tolerance(const ml_CheckOpts *opts, const ml_ParamRole *role);
/* Whether one set of arguments serves both, moved as opts (may be NULL) says; false: cx's
 * error names the parameter. */
bool ml_check_same_parameters(ml_Ctx *cx, const ml_Func *f, const ml_Func *g,
                              const ml_CheckOpts *opts);
/* Argument k as a copy in the layout that opts->moved gives it, with what pads it. NULL:
 * cx's error. */
ML_GIVES ml_Tensor *ml_layout_moved(ml_Ctx *cx, const ml_CheckOpts *opts, uint32_t k,
                                    const ml_Tensor *t);
/* Back: a copy of `like` with the elements of `moved`; padding is left out. */
ML_GIVES ml_Tensor *ml_layout_back(ml_Ctx *cx, const ml_CheckOpts *opts, uint32_t k,
                                   const ml_Tensor *like, const ml_Tensor *moved);
bool ml_layout_is_moved(const ml_CheckOpts *opts, uint32_t k);
/* Compares what two runs of f's parameters left; adds to *r. */
void ml_check_compare(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                      const ml_ParamRole *roles, const ml_RunArg *ref, const ml_RunArg *got,
                      ml_CheckResult *r);
/* roles[f->n_params]. */
void ml_param_roles(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    ml_ParamRole *roles);

#endif
