/*
 * bound - how long the machine needs for a program at least: the one bound that every screen
 * and table tells.
 *
 * Every parameter's bytes are read or written once, at the level that holds them all; the
 * operations, divisions and functions of floats are done at the rates that were measured; one
 * empty parallel region is entered where threads take part, or none where one thread is
 * quicker. A version that does less than the start (zeros between elements left out) is
 * bounded by what it does. Source: workloads 10; interaction 8.
 */
#ifndef ML_WORK_BOUND_H
#define ML_WORK_BOUND_H

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/codegen/params/count.h"
#include "moonloop/verify/verify.h"

typedef struct ml_TimeBound {
    double seconds; /* NAN: not known */
    ml_Roof roof;   /* of `threads` */
    double region;  /* seconds of the parallel region in it; 0: none */
    uint32_t threads;
    bool less; /* the version leaves operations of the start out */
} ml_TimeBound;

/* Operations (only: these instead, see ml_flops_of) of f; sizes: of its symbols. */
double ml_demand_count(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only,
                       const ml_Size *sizes, size_t n_sizes);
/* What f must do; sizes: of its symbols. */
ml_Demand ml_demand_of(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes);
/* The same with the operations of a version of f, where each of its operations can be counted
 * and they are fewer; *less (may be NULL): whether they are. */
ml_Demand ml_demand_of_version(ml_Ctx *cx, const ml_Demand *start, const ml_Func *version,
                               const ml_Size *sizes, size_t n_sizes, bool *less);
/* Whether its operations have a measured peak; false: only bytes bound it. */
bool ml_demand_has_peak(const ml_Demand *d);
/* With at most so many threads; cold: the caches are empty. By what is known of the machine:
 * nothing is measured. */
ml_TimeBound ml_time_bound(const ml_Machine *m, uint32_t threads, const ml_Demand *d,
                           bool cold);

#endif
