/* complete_impl - what the files of completion share: offering, and candidates by kind.
 */
#ifndef ML_REPL_LINE_COMPLETE_IMPL_H
#define ML_REPL_LINE_COMPLETE_IMPL_H

#include "moonloop/primitives/prim.h"
#include "repl/line/complete.h"

typedef struct ml_Offer { /* one completion at work */
    ml_Session *ss;
    ml_Ctx *cx;         /* scratch of this completion */
    const char *prefix; /* what stands between start and cursor */
    const char *last;   /* of a command: the word before */
    ml_CandidateFn *fn;
    void *user;
    ML_VEC(const char *) seen; /* nothing is offered twice */
} ml_Offer;

/* Passes the candidate on when it begins with the prefix. note may be NULL. */
void ml_offer(ml_Offer *o, const char *text, const char *note);

/* ---- by kind, in complete_names.c */
void ml_offer_commands(ml_Offer *o);
void ml_offer_topics(ml_Offer *o);
void ml_offer_codes(ml_Offer *o);
void ml_offer_settings(ml_Offer *o);
void ml_offer_setting_values(ml_Offer *o); /* of the setting that stands before */
void ml_offer_versions(ml_Offer *o);
void ml_offer_steps(ml_Offer *o);  /* numbers of the steps of this version */
void ml_offer_passes(ml_Offer *o); /* of :ir */
void ml_offer_targets(ml_Offer *o);
void ml_offer_schedules(ml_Offer *o);
void ml_offer_jobs(ml_Offer *o, bool running); /* by number; running: those alone */
/* Paths that begin with the prefix; folders end in a slash. */
void ml_offer_files(ml_Offer *o);
/* Fields and methods of `path`; "": globals, primitives on the focus, keywords. */
void ml_offer_names(ml_Offer *o, const char *path);
/* What the function of moon at `path` gives without arguments. */
void ml_offer_words(ml_Offer *o, const char *path);
void ml_offer_loops(ml_Offer *o);
void ml_offer_blocks(ml_Offer *o);
/* Buffers the block reads (writes); block NULL or unknown: all of the function. */
void ml_offer_buffers(ml_Offer *o, const char *block, bool written);
void ml_offer_scopes(ml_Offer *o);
void ml_offer_threads(ml_Offer *o);
/* Keys on the loop or block of that name, then those with a meaning. */
void ml_offer_keys(ml_Offer *o, const char *target, bool only_present);
/* auto, the divisors of the loop's extent, then powers of two below it. */
void ml_offer_factors(ml_Offer *o, const char *loop);
/* Lists of them: auto and a divisor, then auto and two. */
void ml_offer_tilings(ml_Offer *o, const char *loop);

#endif
