/* move - what compute_at and reverse_compute_at share: solving the domain of a block that
 * moves under a loop, and the checks on the result. Source: primitives 7. */
#ifndef ML_PRIMITIVES_MOVE_H
#define ML_PRIMITIVES_MOVE_H

#include "moonloop/primitives/prim.h"

extern const ml_Primitive ml_prim_compute_at, ml_prim_compute_inline,
    ml_prim_reverse_compute_inline;

/* Per iter of the block: the values it must take under the loop, and a bound to be guarded.
 */
typedef struct ml_IterDomain {
    ml_Interval need;  /* both ends finite */
    ml_Interval bound; /* guard `need` by it; everything: none needed */
} ml_IterDomain;

/* What `block` must compute (reverse: may compute) under `loop` for the `related` blocks:
 * one entry per iter. false: region-not-solvable. ar knows the loops at and above `loop`.
 * outside: for each read and dimension whether its indices may lie outside of the buffer,
 * so that they must not choose the instances; NULL: none does. */
bool ml_solve_domains(ml_Call *c, ml_Arith *ar, const ml_Block *block, const ml_For *loop,
                      const ml_UidVec *related, bool reverse, const bool *const *outside,
                      ml_IterDomain *out);

/* The values that the iters take today, in the block's loops and under its predicate;
 * false: unknown, *out are such as hold at least these. */
bool ml_executed_domains(ml_Call *c, const ml_Block *block, ml_Interval *out);
/* The same; *harmless: instances between these that do not run today may run where the
 * values are not known exactly. */
bool ml_executed_values(ml_Call *c, const ml_Block *block, ml_Interval *out,
                        bool *harmless);

/* The block, or, of a reduction, one with its bindings simplified as far as it takes to see
 * which loops drive them. */
const ml_Block *ml_as_driven(ml_Call *c, const ml_Block *b);

/* Which iter of the block the variable is (n_iters: none); whether any occurs in e. */
size_t ml_iter_of(const ml_Block *b, const ml_Var *v);
bool ml_uses_iters(const ml_Block *b, const ml_Expr *e);

/* The scope is a stage pipeline, but for what threads have yet to read of their own memory
 * (ml_is_produced; not-stage-pipeline); true where checks are off. */
bool ml_check_pipeline(ml_Call *c, ml_Uid scope);
/* After a rewrite: what the block reads was written (not-region-covered). Where its thread
 * did not see that before the step, in `was` (the block itself, or the one it works for),
 * ml_is_produced will do. */
bool ml_still_covered(ml_Call *c, ml_Uid block, ml_Uid was, bool set_error);
/* The same of the block itself, with the error. */
bool ml_check_covered(ml_Call *c, ml_Uid block);
/* Some block writes what the block reads (ml_is_produced; not-region-covered). */
bool ml_check_produced(ml_Call *c, ml_Uid block);
bool ml_check_reduction(ml_Call *c, ml_Uid block); /* not-reduction */
bool ml_check_compact(ml_Call *c, ml_Uid loop);    /* not-compact-dataflow */
bool ml_check_launchable(ml_Call *c, ml_Uid loop); /* ml_need_launchable */
/* After a rewrite: what the block read, as it was before the step, is still there where
 * block `at` reads it now (cover-lost). */
bool ml_check_kept(ml_Call *c, ml_Uid block, ml_Uid at);
/* After a rewrite: neither the block nor who reads what it writes reads private memory of
 * another thread, unless it did before (not-region-covered). */
bool ml_check_own_memory(ml_Call *c, ml_Uid block);
/* After a rewrite: a reduction still accumulates each element once, and its init comes
 * first (reduction-changed, init-misplaced). */
bool ml_check_accumulation(ml_Call *c, ml_Uid block);
/* After a rewrite: the guard of a block with an init lets the instance through that
 * initialises, wherever it lets one through (init-misplaced). */
bool ml_check_starts(ml_Call *c, ml_Uid block);
/* A block with an init reduces over loops of its scope alone: one whose reduce iters follow
 * a loop further out starts from what the last instance of the scope left
 * (reduction-changed). */
bool ml_check_reduces_inside(ml_Call *c, ml_Uid block);
/* After a rewrite: loops above the block that run concurrently are bound to spatial iters,
 * and their iterations do not write one element of a shared buffer (iter-not-parallel,
 * would-race). */
bool ml_check_concurrency(ml_Call *c, ml_Uid block);
/* After a rewrite: no iteration of a concurrent loop above the block reads elements of the
 * buffer that another one writes (would-race). */
bool ml_check_reads_apart(ml_Call *c, ml_Uid block, const ml_Buffer *buf);
/* After a rewrite: what the block reads and writes lies in what the block around it
 * declares of these buffers; the root declares everything (region-undeclared). */
bool ml_check_stays_declared(ml_Call *c, ml_Uid block);
/* Nothing that a block below st (a loop or a scope block) writes is read below it outside
 * of blocks; only: no other buffer counts (outside-blocks). */
bool ml_check_reads_in_blocks(ml_Call *c, const ml_Stmt *st, const ml_Buffer *only);
/* The first half of it for every block of a nest (iter-not-parallel). */
bool ml_check_loop_kinds(ml_Call *c, const ml_Stmt *nest);

/* Blocks that a change of threads around `block` concerns: itself, if it reads memory that
 * is not global, and those that read what it writes there. Added to out. */
void ml_thread_readers(ml_Call *c, ml_Uid block, ml_UidVec *out);
/* Before a rewrite: leaves those that threads do not run yet, or that find all they read;
 * each once. */
void ml_keep_unbroken(ml_Call *c, ml_UidVec *readers);
/* Names for the posts who reads what `block` now writes in place of a block that found it in
 * `was`: where threads share that memory, another thread may write it now. */
void ml_name_readers(ml_Call *c, ml_Uid block, const ml_Buffer *was);
/* Names a copy of `old` for the posts, the block that it is for and who reads what is
 * copied: that block, or (write) whoever follows. */
void ml_name_copy(ml_Call *c, ml_Uid copy, ml_Uid block, const ml_Buffer *old, bool write);
/* Whoever reads the buffer in the scope reads what was written (not-region-covered). */
bool ml_check_readers(ml_Call *c, ml_Uid scope, const ml_Buffer *buf);

/* After it: one under threads is still covered, by blocks of its own kernel where memory is
 * not global (not-region-covered, not-shared). */
bool ml_check_thread_reader(ml_Call *c, ml_Uid reader);

#endif
