/* sessions - the folder of autosaves and crash reports: its files, their locks, and what
 * sessions that did not end well have left there. Source: interaction 2, 6. */
#ifndef ML_REPL_KEEP_SESSIONS_H
#define ML_REPL_KEEP_SESSIONS_H

#include <sys/types.h>

#include "moonloop/core/base/text.h"

#define ML_SAVE_SUFFIX  ".autosave"
#define ML_ENDED_SUFFIX ".ended" /* of one that its user left with steps in no file */
#define ML_CRASH_SUFFIX ".crash"
#define ML_SAVE_HEAD    "moonloop autosave 1\n"

/* $XDG_STATE_HOME/moonloop/NAME; false: there is no home. Nothing is made. */
bool ml_state_path(const char *name, ml_Text *out);
/* The path of this session's files without suffix; false: there is no home. */
bool ml_sessions_name(ml_Text *out);
/* A file that begins with the text, and is this session's as long as it is open. It has its
 * name, or is not there. -1: errno says why. */
int ml_sessions_create(const char *path, const ml_Text *text);
uint32_t ml_sessions_sum(const char *p, size_t n); /* of a line */

typedef struct ml_Orphan {
    char *path;
    char name[64]; /* of the schedule that was the focus; "" when the file is damaged */
    long steps;
    int64_t when; /* last written, ns */
    off_t size;
    bool ended; /* its user left it */
} ml_Orphan;
typedef struct ml_Orphans {
    ml_Orphan *v;
    size_t n, n_lost; /* n_lost: were not left by their users */
} ml_Orphans;
/* Those that no living session writes, newest first. */
void ml_orphans_find(ml_Orphans *out);
void ml_orphans_free(ml_Orphans *o);
/* Of those whose users left them the newest ones stay. */
void ml_orphans_prune(void);
/* "14:02", with the day when that is not today. */
void ml_orphan_when(const ml_Orphan *o, ml_Text *out);
/* Opens it for this session alone; -1: another one has it, or errno says why. */
int ml_orphan_claim(const char *path);

#endif
