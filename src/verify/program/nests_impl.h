/* nests_impl - what the files of the verification of loop nests share (nests.c). */
#ifndef ML_VERIFY_NESTS_IMPL_H
#define ML_VERIFY_NESTS_IMPL_H

#include "moonloop/verify/cover/attained.h"
#include "moonloop/verify/cover/whole.h"
#include "moonloop/verify/findings.h"

typedef struct ml_Nest {
    ml_Ctx *cx;
    ml_Finder find;
    ml_Facts *facts;
    ml_Program p;
    const ml_Block *b;
    ml_Arith *ar;      /* knows the loops above */
    ml_DomVec dom;     /* loops up to the scope root, outermost first */
    ml_StmtVec blocks; /* of the function, the root too */
    bool reached;      /* some instance is executed */
    bool independent;  /* no finding of rule 2 */
    bool inside;       /* none of rule 1 */
} ml_Nest;

/* An error where the block runs at some time, else unproved. */
ml_Severity ml_nest_severity(const ml_Nest *n);
const char *ml_nest_domain_text(ml_Nest *n, const ml_Iter *it);
bool ml_nest_lt(ml_Nest *n, const ml_Expr *a, const ml_Expr *b);
/* Whether e uses one of the loops; whether an iter of the kind is driven by v. */
bool ml_nest_uses_any(const ml_Expr *e, const ml_DomVec *dom);
bool ml_nest_uses_kind(const ml_Nest *n, const ml_Var *v, ml_IterKind kind);

/* Rules 4 and 5 (nests_domain.c): iter k, the at-th of the joint detection m, takes its
 * whole domain; the first reduce iteration is not cut off, and comes first. */
void ml_nest_check_whole(ml_Nest *n, size_t k, const ml_IterMap *m, size_t at);
void ml_nest_check_init(ml_Nest *n);
void ml_nest_check_first(ml_Nest *n);

#endif
