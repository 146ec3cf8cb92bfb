/*
 * pipeline - the loop that is pipelined, for the files of software_pipeline: what its
 * statements touch (pipeline_access.c), versions of buffers (pipeline_versions.c).
 */
#ifndef ML_CODEGEN_LOWER_PIPELINE_H
#define ML_CODEGEN_LOWER_PIPELINE_H

#include "moonloop/codegen/lower/lower_impl.h"

#define ML_PIPE_PASS "software_pipeline"

typedef struct ml_PipeAccess {
    const ml_Buffer *buffer;
    bool write, read;
    const ml_Interval *box; /* per dimension, in terms of the loop; NULL: anything of it */
} ml_PipeAccess;
typedef ML_VEC(ml_PipeAccess) ml_PipeAccessVec;

typedef struct ml_PipeStmt {
    const ml_Stmt *stmt;
    int64_t stage, order;
    ml_PipeAccessVec touched;
} ml_PipeStmt;

typedef struct ml_PipeBuffer {    /* one that each iteration has for itself */
    const ml_Buffer *buffer, *to; /* to: with versions in front; the buffer itself: one */
    int64_t versions;
} ml_PipeBuffer;

typedef ML_VEC(ml_Region) ml_RegionVec;

typedef struct ml_Pipe {
    ml_Lower *lo;
    ml_Arith *ar; /* knows the loop's range */
    const ml_For *loop;
    bool failed; /* the error is set */
    ML_VEC(ml_PipeStmt) stmts;
    ML_VEC(ml_PipeBuffer) own;
    ml_RegionVec reads, writes; /* of the blocks that held own buffers, in all iterations */
} ml_Pipe;

/* What s touches, loops inside of it relaxed. */
void ml_pipe_accesses(ml_Pipe *p, const ml_Stmt *s, ml_PipeAccessVec *out);
/* The versions of an own buffer so that no iteration writes what an earlier one still
 * reads; at_least: asked for. */
int64_t ml_pipe_versions(ml_Pipe *p, const ml_Buffer *b, int64_t at_least);
/* Whether every two accesses that meet stay in their order; false: the error is set. */
bool ml_pipe_in_order(ml_Pipe *p);
/* Sets b->versions and b->to. */
void ml_pipe_set_versions(ml_Pipe *p, ml_PipeBuffer *b, int64_t at_least);
/* s with the versions of this iteration; p->failed: a pointer cannot follow. */
const ml_Stmt *ml_pipe_move(ml_Pipe *p, const ml_Stmt *s);
/* The error is set and false returned. */
bool ml_pipe_refuse(ml_Pipe *p, const char *why);

#endif
