/*
 * profiles - what :profile measured, kept for the panes: the share of the time that each
 * top-level nest of a version takes.
 *
 * The last few are kept; each belongs to one version of one schedule and is never told of
 * another. Source: interaction 8, 10.
 */
#ifndef ML_REPL_SESSION_PROFILES_H
#define ML_REPL_SESSION_PROFILES_H

#include "moonloop/work/profile.h"
#include "repl/session/session.h"

struct ml_Json; /* core/json/json.h */

typedef struct ml_NestShare {
    ml_Uid node;  /* the loop or block that the nest is */
    bool with;    /* timed together with the one before: its time is in that one's */
    double share; /* of the sum of all nests, 0 to 1 */
    double seconds;
} ml_NestShare;

void ml_profiles_keep(ml_Session *ss, ml_Schedule *s, int version, const ml_Profile *p);
/* The same from what the process of a job told: nests by the names of their loops. */
void ml_profiles_keep_job(ml_Session *ss, ml_Schedule *s, int version,
                          const struct ml_Json *row);
/* In order of execution; their number, 0: the version was not measured. */
size_t ml_profiles_of(const ml_Session *ss, const ml_Schedule *s, int version,
                      const ml_NestShare **out);
void ml_profiles_free(ml_Session *ss);

#endif
