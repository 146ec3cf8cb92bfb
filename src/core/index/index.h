/*
 * index - parents, paths and nodes by identity number, carried from version to version.
 *
 * A persistent radix table uid -> (node, parent uid, function number): a step copies only
 * the pages of what it rewrote, so that it costs the same in a function of ten blocks and
 * of a thousand. It holds one entry per loop and per block, excluding everything below an
 * init (the schedule tree of ir-and-analysis 2.1). Positions in sequences are not stored;
 * they are found by pointer in the parent. Beside it: which blocks use a buffer, define it,
 * or bear a name (postings.c).
 */
#ifndef ML_CORE_INDEX_H
#define ML_CORE_INDEX_H

#include "moonloop/core/walk.h"

typedef struct ml_Index ml_Index;

/* One program with its index: what a schedule's version holds. */
typedef struct ml_Program {
    const ml_Module *mod;
    const ml_Index *index;
} ml_Program;

const ml_Index *ml_index_build(ml_Ctx *cx, const ml_Module *m);
/* The same, at the cost of what differs from a program that shares most of its nodes. */
const ml_Index *ml_index_follow(ml_Ctx *cx, ml_Program near, const ml_Module *m);

/* The node, or NULL when no loop or block of that uid is in the program. */
const ml_Stmt *ml_index_node(const ml_Index *ix, ml_Uid uid);
ml_Uid ml_index_parent(const ml_Index *ix, ml_Uid uid); /* 0: none above in its function */
uint32_t ml_index_func(const ml_Index *ix, ml_Uid uid); /* position in mod->funcs */
/* All uids in the index, in no particular order. */
void ml_index_each(const ml_Index *ix,
                   void (*fn)(ml_Uid uid, const ml_Stmt *node, void *user), void *user);

/* The way from a node to the root of its function, the node itself excluded:
 * for (ml_Up u = ml_index_up(ix, uid); u.node; ml_index_next(&u)) */
typedef struct ml_Up {
    const ml_Index *ix;
    const ml_Stmt *node; /* NULL: past the root */
    ml_Uid uid, parent;
} ml_Up;
ml_Up ml_index_up(const ml_Index *ix, ml_Uid uid);
void ml_index_next(ml_Up *u);

/* The nearest proper ancestor that is a block, as uid; 0 for a root block. */
ml_Uid ml_index_scope(const ml_Index *ix, ml_Uid uid);
/* Loops strictly between the node and its scope block, outermost first, as nodes. */
typedef ML_VEC(const ml_Stmt *) ml_StmtVec;
void ml_index_loops(ml_Ctx *cx, const ml_Index *ix, ml_Uid uid, ml_StmtVec *out);
/* Whether `above` is a proper ancestor of `uid`. */
bool ml_index_is_above(const ml_Index *ix, ml_Uid above, ml_Uid uid);
/* Lowest common ancestor-or-self of two nodes of one function; 0 when none. */
ml_Uid ml_index_lca(const ml_Index *ix, ml_Uid a, ml_Uid b);
/* Blocks below the statement with no block in between, in textual order (st itself when it
 * is a block counts as the root, not as a child). Blocks under an init do not count. */
void ml_child_blocks(ml_Ctx *cx, const ml_Stmt *st, ml_StmtVec *out);
/* All blocks below st, recursively, pre-order, inits excluded, st excluded. */
void ml_all_blocks(ml_Ctx *cx, const ml_Stmt *st, ml_StmtVec *out);
/* The body that a loop or block has for the schedule (a block's init is not part of it). */
const ml_Stmt *ml_node_body(const ml_Stmt *loop_or_block);
/* First if, while or attr statement on the way from the loop or block `from` down to the
 * node `to` (both excluded); NULL: schedulable. */
const ml_Stmt *ml_between(const ml_Index *ix, ml_Uid from, ml_Uid to);

/* Whether a comes before b in the text; neither is above the other, both have a common
 * ancestor. */
bool ml_index_before(const ml_Index *ix, ml_Uid a, ml_Uid b);

/* ---- who uses what: kept from version to version, so that nobody walks a scope for it */
typedef struct ml_Tags {
    size_t n;
    const ml_Uid *v;
} ml_Tags;
/* The blocks of all scopes whose reads or writes name the buffer, each once, in no
 * particular order; those under an init do not count. Views are other buffers. */
ml_Tags ml_index_users(const ml_Index *ix, const ml_Buffer *b);
/* The blocks that allocate the buffer or match it to a region: one, in a right program. */
ml_Tags ml_index_homes(const ml_Index *ix, const ml_Buffer *b);
/* How many blocks of the function have this stored name; *one (may be NULL) gets one. */
size_t ml_index_named(const ml_Index *ix, uint32_t func, const char *name, ml_Uid *one);

/* ---- replacing
 * A new program in which the statement of `uid` (a loop or block) is `with` (any statement;
 * NULL: removed, sequences shrink; removing the only statement of a body gives
 * evaluate(0)). Everything not on the path to the root is shared. The index is brought up
 * to date for the rewritten part only. *ended (may be NULL) gets the uids that are gone.
 * `blocks` that were re-created under another name keep their tag: that is the caller's
 * business. */
ml_Program ml_program_replace(ml_Ctx *cx, ml_Program p, ml_Uid uid, const ml_Stmt *with,
                              ml_UidVec *ended);
/* The same for a whole function body (by position in mod->funcs). */
ml_Program ml_program_replace_body(ml_Ctx *cx, ml_Program p, uint32_t func,
                                   const ml_Stmt *body, ml_UidVec *ended);
/* Statements at the beginning and end of two lists that are the same nodes. */
void ml_common_ends(const ml_Stmt *const *a, size_t na, const ml_Stmt *const *b, size_t nb,
                    size_t *head, size_t *tail);
/* Only statements: `root` with the statement `old` (found by pointer, not below other loops
 * or blocks than those on the path given by the tree itself) replaced by `with`. */
const ml_Stmt *ml_stmt_replace(ml_Ctx *cx, const ml_Stmt *root, const ml_Stmt *old,
                               const ml_Stmt *with);
/* Self-check: the index equals a freshly built one; *what says the first difference. */
bool ml_index_verify(ml_Ctx *cx, ml_Program p, const char **what);

#endif
