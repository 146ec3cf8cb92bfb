/* searched - how far the searches of the session came, for pictures of them (:graph search).
 * Source: interaction 11, 12. */
#ifndef ML_REPL_SESSION_SEARCHED_H
#define ML_REPL_SESSION_SEARCHED_H

#include "repl/session/session.h"

typedef struct ml_SearchCurve {
    const char *name; /* of the strategy; NULL: not known */
    size_t n;
    const double *best; /* seconds of the fastest of the first 1 to n trials; 0: none yet */
} ml_SearchCurve;

typedef struct ml_Searched {
    const char *program; /* name */
    ml_Amount amount;    /* what speeds are told of */
    size_t n;
    ml_SearchCurve *v;
} ml_Searched;

/* Copies it, in place of what there was: the last :tune, or the searches that it compared. */
void ml_searched_keep(ml_Session *ss, const ml_Searched *s);
const ml_Searched *ml_searched(const ml_Session *ss); /* NULL: nothing was searched */
void ml_searched_free(ml_Session *ss);

#endif
