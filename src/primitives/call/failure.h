/* failure - the inside of an ml_Failure, for the files that render it and look for ways
 * out. */
#ifndef ML_PRIMITIVES_FAILURE_H
#define ML_PRIMITIVES_FAILURE_H

#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

struct ml_Failure {
    ml_Ctx *cx;     /* its own: error, arguments, texts, and the struct itself */
    ml_Schedule *s; /* a reference; NULL: an error without a schedule */
    int version;    /* on which the call was made */
    unsigned
        epoch; /* of the space: pointers into the program are good while it is the same */
    const ml_Module *about; /* whose names the message takes, while it is made */
    ml_Error e;             /* expressions and buffers imported into cx */
    const ml_Stmt *stmts[ML_MAX_FACTS]; /* of STMT facts: nodes of the program, or NULL */
    const ml_Expr *exprs[ML_MAX_FACTS]; /* of EXPR facts: nodes of the schedule, or NULL */
    const ml_Primitive *prim;
    const ml_Given *args; /* nodes are NULL, uids stand */
    const ml_Arg *raw;    /* as given; by parameter */
    size_t n_args;
    bool in_call; /* the mistake is in how the call is written: no program lines */
    ML_VEC(const char *) notes;
    const char *message;
    bool tried;
    size_t n_suggestions;
    ml_Suggestion suggestions[3];
};

/* Whether the version is still there to look at. */
bool ml_failure_has_program(const ml_Failure *f);
ml_Program ml_failure_program(const ml_Failure *f);
/* A fact as it stands in the sentence. */
void ml_failure_fact(ml_Failure *f, size_t k, ml_Text *out);
/* The loops and blocks alive that came of something that ended; at most n. */
size_t ml_failure_heirs(ml_Failure *f, ml_Uid uid, ml_Uid *out, size_t n);
/* The uid of what an expired-handle error is about; 0: another error. */
ml_Uid ml_failure_expired(const ml_Failure *f);

#endif
