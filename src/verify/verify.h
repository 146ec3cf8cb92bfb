/*
 * verify - questions about a program, never a change. Source: ir-and-analysis 2, 5, 6.
 *
 * Scope questions are asked of an ml_Program (module + index). Answers that cost something
 * are memoised in an ml_Facts, which belongs to one line of versions: entries are keyed by
 * statement pointers, so they stay valid in later versions that share those statements.
 */
#ifndef ML_VERIFY_H
#define ML_VERIFY_H

#include "moonloop/core/arith/iter_map.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/error.h"
#include "moonloop/core/index/index.h"

/* ---- findings */
typedef enum ml_Severity { ML_SEV_ERROR, ML_SEV_UNPROVED, ML_SEV_WARNING } ml_Severity;
typedef struct ml_Finding {
    uint8_t severity;
    const ml_Error *error; /* code and facts */
    uint32_t func;         /* position in the module */
} ml_Finding;
typedef ML_VEC(ml_Finding) ml_Findings;

/* 1.8: false when there is any error (the first is also set as cx's error). */
bool ml_verify_well_formed(ml_Ctx *cx, const ml_Module *m, ml_Findings *out);
/* 5.1, 5.2: loop nests and producer-consumer cover of every block. */
void ml_verify_nests(ml_Ctx *cx, ml_Program p, ml_Findings *out);
/* 5.3: threading; limits by name from `target` (dict; NULL: CUDA defaults). gpu: also the
 * host-access rule. */
void ml_verify_threads(ml_Ctx *cx, ml_Program p, const ml_Value *target, bool gpu,
                       ml_Findings *out);
/* Of 5.3 what a thread-bound loop can break by itself: another loop of its tag above or
 * below it, where the outer variable is used, and the launch limits of CUDA (copies by
 * vthread are no matter of the launch). Fails with thread-nested, launch-limit. */
bool ml_need_launchable(ml_Ctx *cx, ml_Program p, ml_Uid loop);
/* The outermost thread-bound loop at or above a node; 0: no kernel runs it. */
ml_Uid ml_kernel_of(ml_Program p, ml_Uid node);
/* 5.5 */
void ml_verify_bounds(ml_Ctx *cx, ml_Program p, ml_Findings *out);

/* ---- access regions (6.1): what one block touches, in its iterators */
typedef struct ml_Access {
    ML_VEC(ml_Region) reads;
    ML_VEC(ml_Region) writes;
    ML_VEC(const ml_Buffer *) opaque;
} ml_Access;
/* The function is for symbolic sizes (may be NULL). Buffers allocated inside are left out.
 */
void ml_block_access(ml_Ctx *cx, const ml_Func *f, const ml_Block *b, ml_Access *out);
/* The same without those accesses of the buffer whose place cannot be told: an index that
 * is read from memory, called for or computed in floats. false: there are none. */
bool ml_block_told_access(ml_Ctx *cx, const ml_Func *f, const ml_Block *b,
                          const ml_Buffer *buf, ml_Access *out);
bool ml_is_told(const ml_Expr *index); /* it is no such index */
/* reads and writes of a block recomputed from its body, as a new block; NULL: opaque
 * accesses need annotated regions (error set). Explicit regions stay while they hold what
 * can be told of the accesses. */
const ml_Block *ml_block_reinfer(ml_Ctx *cx, const ml_Func *f, const ml_Block *b);
/* The same of a block that has got accesses of another one. untold: buffers of which it now
 * reads elements that nobody can tell, so that what was said before does not speak of them.
 */
const ml_Block *ml_block_reinfer_with(ml_Ctx *cx, const ml_Func *f, const ml_Block *b,
                                      const ml_UidVec *untold);
/* Added to out: the buffers that e reads where the place cannot be told. */
void ml_untold_loads(ml_Ctx *cx, const ml_Expr *e, ml_UidVec *out);
/* The annotations of b, made from `old` with other lists of regions: positions that say which
 * region was given go with the region, or are dropped with it. */
void ml_block_keep_said(ml_Ctx *cx, const ml_Block *old, ml_Block *b);
/* 6.2: uid of the lowest loop or block that dominates all accesses; 0: function level. */
ml_Uid ml_buffer_lca(ml_Ctx *cx, ml_Program p, uint32_t func, const ml_Buffer *b);

/* ---- facts of a scope, memoised. The memory is ml_Facts' own; entries are keyed by node
 * pointers: whoever takes back nodes (a release after a failed step, a compaction) calls
 * ml_facts_forget when ml_facts_count has grown since the mark. */
typedef struct ml_Facts ml_Facts;
ML_GIVES ml_Facts *ml_facts_new(ml_Ctx *cx); /* cx: whose programs it is about */
void ml_facts_free(ml_Facts *f);
size_t ml_facts_count(const ml_Facts *f); /* entries made so far */
/* What was asked, and how much of it was not in memory but worked out. */
typedef enum ml_Question {
    ML_ASK_AFFINE,
    ML_ASK_COVER,
    ML_ASK_PRODUCED,
    ML_ASK_PIPELINE,
    ML_ASK_PRODUCED_PIPELINE,
    ML_ASK_CHILDREN, /* the child blocks of a scope */
    ML_ASK_ORDER,    /* whether a block's instances depend on each other */
    ML_QUESTIONS
} ml_Question;
typedef struct ml_FactCounts {
    uint64_t asked[ML_QUESTIONS], computed[ML_QUESTIONS];
} ml_FactCounts;
const char *ml_question_name(ml_Question q);
ml_FactCounts ml_facts_counts(const ml_Facts *f); /* since it was made */
void ml_facts_forget(ml_Facts *f);

typedef enum ml_DepKind { ML_DEP_RAW, ML_DEP_WAW, ML_DEP_WAR, ML_DEP_OPAQUE } ml_DepKind;
/* Producers (RAW, WAW into the block) and consumers, as blocks, deduplicated, in edge
 * order. `block` must not be a root. Allocated in cx. */
void ml_producers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out);
void ml_consumers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out);
/* Only RAW targets / sources. */
void ml_raw_consumers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_UidVec *out);
/* Child blocks of the scope that write (read) the buffer, in textual order. */
void ml_writers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope, const ml_Buffer *b,
                ml_UidVec *out);
void ml_readers(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope, const ml_Buffer *b,
                ml_UidVec *out);

/* Each answers yes, or no with a reason: *why (may be NULL) is one phrase in cx. */
bool ml_is_affine(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, const char **why);
/* Under a predicate that ties iters: their values are affine whatever it leaves out. */
bool ml_is_affine_apart(ml_Ctx *cx, ml_Program p, ml_Uid block);
/* With respect to the loops from `from` inwards only; outer ones are symbols. */
bool ml_is_affine_under(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_Uid from,
                        const char **why);
/* 0: the property holds; else the number of the first violated condition (2.3). */
int ml_complete_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                          const char **why);
int ml_reduction_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                           const char **why);
/* A reduction inside of the block that goes on from one instance of `from` to the next: its
 * iter follows the variable `by` of `from` (the block or a node above it) or of what is
 * further out; or, by NULL, it never begins inside. false: all begin anew. self: or the block
 * itself, which is to be said in the loops inside of `from` alone: a variable counts that
 * takes a single value, too. */
typedef struct ml_GoesOn {
    const ml_Block *block; /* the reduction */
    const ml_Var *by;
    uint32_t iter;
} ml_GoesOn;
bool ml_goes_on(ml_Ctx *cx, ml_Program p, const ml_Block *b, bool self, ml_Uid from,
                ml_GoesOn *out);
/* The same of one inside that follows the loop itself. */
bool ml_goes_on_over(ml_Ctx *cx, ml_Program p, const ml_Block *b, ml_Uid loop,
                     ml_GoesOn *out);
/* Complete, judged within the subtree under a loop or block. */
int ml_local_complete_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                                ml_Uid root, const char **why);
/* Fails with not-complete, not-reduction, not-complete-or-reduction, with the reasons. */
bool ml_need_complete(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block);
bool ml_need_reduction(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block);
bool ml_need_complete_or_reduction(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block);
/* Whether an iterator of the kind is bound to the loop's variable. */
bool ml_loop_drives(const ml_Block *b, const ml_For *loop, ml_IterKind kind);
/* Compact dataflow of the subtree under `root` (parallel, vectorize, bind): fails with
 * not-compact-dataflow. tag: the thread tag, or NULL. */
bool ml_need_compact_dataflow(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid root);
/* Whether the buffer is allocated by the program and used under the loop alone: each
 * iteration may have its own. */
bool ml_buffer_is_private(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                          const ml_Buffer *b);
/* A block below the loop that writes what `block` reads of the buffer, where none does so
 * before it in an iteration: it reads what another iteration wrote, or what an earlier turn
 * of a loop inside did. 0: there is none. */
ml_Uid ml_writes_for_later(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop, ml_Uid block,
                           const ml_Buffer *b);
/* Written regions of different iterations of the loop provably disjoint, for all blocks
 * below that write the buffer (2.3, several writers; primitives 6). */
bool ml_writes_disjoint(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                        const ml_Buffer *b);
/* The same for all accesses, reads too. */
bool ml_accesses_disjoint(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid loop,
                          const ml_Buffer *b);
/* Region cover of a consumer; false with the facts of not-region-covered set as cx's error
 * when `set_error`. */
bool ml_is_covered(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error);
/* The same, where a block that no thread runs may also read what threads wrote into memory
 * of their own: the values are there, and the block may yet be moved to the threads. A
 * window that ordered iterations fill (rolling_buffer) is taken to hold what is read. */
bool ml_is_produced(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, bool set_error);
/* Memory that not all threads share; whether the block reads such. */
bool ml_is_private(const ml_Buffer *b);
bool ml_reads_private(const ml_Block *b);
/* ---- the order of instances; orders that keep dependences: self_deps.h */
/* Who knows reducers says whether all that a block without blocks inside stores into the
 * buffer combines what is at the element with a new value, so that the order of these makes
 * no difference, and it uses the buffer for nothing else; its init aside. */
typedef struct ml_Combines {
    bool (*fn)(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *buf,
               void *user); /* NULL: none does */
    void *user;
} ml_Combines;
/* Blocks of which some instances depend on each other, or may (order-tied). */
void ml_verify_order(ml_Ctx *cx, ml_Program p, ml_Combines by, ml_Findings *out);
/* What is known of the runs of one instance (the same values of all iters), which the loops
 * may run several times. */
typedef enum ml_Runs {
    ML_RUNS_EQUAL,   /* nothing else writes meanwhile what the block reads */
    ML_RUNS_ORDERED, /* they come in the order of today, wherever other instances come */
    ML_RUNS_ANYHOW
} ml_Runs;
/* Whether the instances of the block may run in any order: what it writes is touched by one
 * instance, does not depend on which one comes last, or is combined. false: not shown. */
bool ml_any_order(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *b, ml_Combines by,
                  ml_Runs runs);

/* A buffer (only: this one) that is read outside of the child blocks of a scope, in bounds,
 * conditions, guards or bindings, and that one of them, *writer, writes; all below st, a
 * scope block or a loop. NULL: none. */
const ml_Buffer *ml_read_between(ml_Ctx *cx, ml_Program p, const ml_Stmt *st,
                                 const ml_Buffer *only, const ml_Block **writer);
/* Stage pipeline of the scope of (not at) a node: fails with not-stage-pipeline. */
bool ml_need_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope);
bool ml_is_stage_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope);
/* The same with ml_is_produced in place of cover: what a step has to know of a scope to
 * keep its values. */
bool ml_need_produced_pipeline(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope);
/* Writes some buffer that its scope root does not allocate; *which gets it. */
bool ml_is_output_block(ml_Program p, ml_Uid block, const ml_Buffer **which);
bool ml_is_spatial_block(const ml_Block *b);
/* A domain of the block, or a loop around it, is of a literal extent below 1: no instance
 * is ever executed. */
bool ml_is_empty_block(const ml_Block *b);
bool ml_never_runs(ml_Program p, ml_Uid uid);
bool ml_is_trivial_binding(ml_Ctx *cx, ml_Program p, ml_Uid block);
ml_IterKind ml_loop_type(ml_Program p, ml_Uid loop); /* spatial, reduce or opaque */
/* The block that allocates the buffer, or matches it; 0: a parameter (or unknown). */
ml_Uid ml_buffer_site(ml_Program p, uint32_t func, const ml_Buffer *b, bool *is_match);

/* Ranges of the loops of `block` from its parent up to (excluding) `stop`; stop 0: up to
 * the scope root. Outermost first. With a buffer of non-global scope also the thread-bound
 * loops that 2.4 adds at and above `stop` (to the function root). */
void ml_relax_domain(ml_Ctx *cx, ml_Program p, ml_Uid block, ml_Uid stop,
                     const ml_Buffer *storage, ml_DomVec *out);
/* An analyzer that knows the function's symbols and all loops above `uid`. */
ml_Arith *ml_arith_at(ml_Ctx *cx, ml_Program p, ml_Uid uid);

/* 6.3, of the computation alone: arithmetic on loop variables and constants says where an
 * element is, not what it becomes, and counts 0 also in a condition or a value. */
double ml_flops(ml_Ctx *cx, const ml_Func *f);
/* Other operations than those that ml_is_work names: what `is` says yes to. */
typedef struct ml_WorkKind {
    bool (*is)(const ml_Expr *e, const void *user);
    const void *user;
} ml_WorkKind;
/* How often these are performed; NULL: ml_flops. */
double ml_flops_of(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only);
/* Whether e is an operation that counts: arithmetic of floats, or of integers of which an
 * element is a part; or (only) one of those. lets: the let variables above it, by uid, made
 * of elements. */
bool ml_is_work(const ml_Expr *e, const ml_Map *lets, const ml_WorkKind *only);
bool ml_of_elements(const ml_Expr *e, const ml_Map *lets);
/* Whether extents that are not known before the run decide the number; *out is then an
 * expression of them, or NULL. */
bool ml_flops_symbolic(ml_Ctx *cx, const ml_Func *f, const ml_WorkKind *only,
                       const ml_Expr **out);
/* Of one statement directly in the root of f; estimated_flops does not count. */
double ml_flops_stmt(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *st);
/* 6.4: bytes of the function's allocations that are there at once, per storage scope, in
 * order of first appearance. */
typedef struct ml_Allocated {
    const char *scope;
    int64_t bytes;
} ml_Allocated;
typedef ML_VEC(ml_Allocated) ml_AllocatedVec;
void ml_allocated_memory(ml_Ctx *cx, const ml_Func *f, ml_AllocatedVec *out);
/* 6.5: whether a nest of loops around one store copies a run of elements to another run, in
 * one order; from, to: places of the elements, counted from the first of the buffer. *why
 * (may be NULL): one phrase. */
typedef struct ml_Memcpy {
    const ml_Buffer *source, *target;
    ml_Range from, to;
} ml_Memcpy;
bool ml_is_memcpy(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *nest, ml_Memcpy *out,
                  const char **why);
/* The copies of one element by one that loops annotated as pipelines let go on in the
 * background (software_pipeline_async_stages); why: NULL, or why it is not one run. */
typedef struct ml_AsyncCopy {
    const ml_For *loop;
    const ml_Buffer *source, *target;
    const char *why;
} ml_AsyncCopy;
typedef ML_VEC(ml_AsyncCopy) ml_AsyncCopyVec;
void ml_async_copies(ml_Ctx *cx, const ml_Func *f, ml_AsyncCopyVec *out);
/* The only init-form reduction block of the module, or the one whose outermost loop has the
 * most operations (the first on ties, functions by name); NULL: none. */
const ml_Block *ml_anchor_block(ml_Ctx *cx, const ml_Module *m);

/* ---- what is kept beside a program against what is computed anew (8.5) */
enum {
    ML_CHECK_TABLES = 1,  /* the index, summaries of statements */
    ML_CHECK_FLAGS = 2,   /* properties of blocks, who uses whose results */
    ML_CHECK_REGIONS = 4, /* of blocks that `before` (may be empty) has not */
};
/* what: ML_CHECK_... . false: self-check is set as cx's error and says the first
 * difference, with block, flag, the remembered value and the right one. */
bool ml_self_check(ml_Ctx *cx, ml_Facts *known, ml_Program before, ml_Program p,
                   uint32_t what);

/* ---- what counts as the same program for a database of records (6.6) */
typedef enum ml_Sameness {
    ML_SAME_STRUCTURE,
    ML_SAME_BUT_TENSORS, /* contents of constant tensors do not count */
    ML_SAME_ANCHOR, /* only what the anchor block does; without one as SAME_BUT_TENSORS */
} ml_Sameness;
/* What of a program is compared. Programs have no constant tensors yet, so that the first
 * two ways agree. */
typedef struct ml_Identity {
    const ml_Module *mod;
    const ml_Block *anchor; /* NULL: the whole module */
} ml_Identity;
ml_Identity ml_identity(ml_Ctx *cx, const ml_Module *m, ml_Sameness how);
/* Of any contexts; cx is for scratch. The hash is the same on all machines. */
bool ml_identity_equal(ml_Ctx *cx, ml_Identity a, ml_Identity b, ml_Difference *diff);
uint64_t ml_identity_hash(ml_Ctx *cx, ml_Identity a);

#endif
