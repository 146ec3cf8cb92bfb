/* reach - which files may be read when not every one may: those that were named and what
 * lies below their folders, by real path. */
#ifndef ML_CORE_REACH_H
#define ML_CORE_REACH_H

#include "moonloop/core/ctx.h"

/* Real paths; grows only. Zeroed: nothing may be read. */
typedef struct ml_Reach {
    char **path; /* a folder ends in / */
    size_t n;
} ml_Reach;

/* The file at `path`; with `below` also what lies below its folder, or below itself when it
 * is one. The root of the file system is never a folder that was named. A path that leads
 * nowhere adds nothing. */
void ml_reach_add(ml_Reach *r, const char *path, bool below);
/* Whether `path` leads to a regular file that may be read, or to no file in a folder whose
 * files may: that there is none is then no secret. false: the error not-supported, in the
 * same words whether the file exists or not. Links made while this looks are not seen. */
bool ml_reach_allows(const ml_Reach *r, ml_Ctx *cx, const char *path);

#endif
