/* versions - naming versions at the prompt (v7, 7, a mark, -2, failed), and their tree. */
#ifndef ML_REPL_SHOW_VERSIONS_H
#define ML_REPL_SHOW_VERSIONS_H

#include "repl/session/session.h"

/* Whether the text looks like a version: v7, -2, or a mark. */
bool ml_is_version(ml_Session *ss, const char *text);
/* false: an error was printed. */
bool ml_find_version(ml_Session *ss, const char *text, int *out);
/* The versions in the order in which drawings show them: lines of work, where one forks
 * first its branches, then the line that leads to the current version (else to the newest).
 */
typedef enum ml_Joint {
    ML_JOINT_NONE, /* goes on from the entry before */
    ML_JOINT_ROOT,
    ML_JOINT_SIDE, /* a branch of `parent` */
    ML_JOINT_ON,   /* `parent`'s own line goes on below its branches */
} ml_Joint;
typedef struct ml_VersionEntry {
    int version, last; /* last > version: a row of versions that the undo limit dropped */
    int parent;
    int depth; /* branches that it stands on */
    ml_Joint joint;
    bool forks; /* several versions come from it */
    bool ends;  /* none does */
} ml_VersionEntry;
typedef ML_VEC(ml_VersionEntry) ml_VersionOrder;
void ml_version_order(ml_Ctx *cx, ml_Schedule *s, ml_VersionOrder *out);

/* The tree of versions as a drawing, no line wider than the screen (from 20 columns on). */
void ml_show_versions(ml_Session *ss, ml_Schedule *s, ml_Text *out);

#endif
