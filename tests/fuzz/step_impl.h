/* step_impl - what the generators of random calls share: the program as they see it. */
#ifndef ML_TESTS_FUZZ_STEP_IMPL_H
#define ML_TESTS_FUZZ_STEP_IMPL_H

#include "step.h"

typedef struct View { /* the loops and blocks of the function worked on, in program order */
    ml_Schedule *s;
    ml_Program p;
    uint64_t *rnd;
    const FzFocus *focus;
    ml_Ctx *tmp;
    ml_StmtVec loops, blocks;
} View;

static inline int below(const View *v, int n)
{
    return fz_below(v->rnd, n);
}

static inline bool chance(const View *v, int percent)
{
    return fz_chance(v->rnd, percent);
}

static inline const char *name(const View *v, const ml_Stmt *st)
{
    return ml_name_of(v->s, ml_stmt_uid(st));
}

/* Any block, those that steps were about first; one that is not the root, if there is. */
const ml_Block *fz_any_block(const View *v);
const ml_Block *fz_inner_block(const View *v);
/* A loop above the block within its scope, mostly. */
const ml_For *fz_loop_of(const View *v, ml_Uid uid);

/* step_target.c; false: there is nothing to be called with, and nothing was written. */
bool fz_add_decompose(const View *v, ml_Text *out);
bool fz_add_rfactor(const View *v, ml_Text *out);
bool fz_add_epilogue(const View *v, ml_Text *out);
bool fz_add_merge_reduction(const View *v, ml_Text *out);
bool fz_add_inline(const View *v, bool reverse, ml_Text *out);
bool fz_add_merge(const View *v, ml_Text *out);
bool fz_add_tensorize(const View *v, ml_Text *out);
bool fz_add_inplace(const View *v, const char *scope, ml_Text *out);
const ml_Block *fz_own_writer(const View *v, int *at); /* NULL: none was found */
bool fz_add_unannotate(const View *v, ml_Text *out);

/* step_chain.c */
bool fz_add_chain(const View *v, ml_Text *out);

/* step_layout.c */
bool fz_add_layout(const View *v, ml_Text *out);
void fz_add_block_layout(const View *v, ml_Text *out);
void fz_add_padding(const View *v, ml_Text *out);
void fz_add_decompose_padding(const View *v, ml_Text *out);
void fz_add_separators(const View *v, ml_Text *out);
void fz_add_dtype(const View *v, ml_Text *out);
bool fz_add_rolling(const View *v, ml_Text *out);

#endif
