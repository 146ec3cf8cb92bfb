/* file - files read and written whole. What is written stands there all at once or not at
 * all: a full disk leaves the file that was there. */
#ifndef ML_CORE_FILE_H
#define ML_CORE_FILE_H

#include "moonloop/core/base/base.h"
#include "moonloop/core/base/text.h"

/* Appends the path, ~/ at its beginning as the home of the user. */
void ml_file_home(const char *path, ml_Text *out);
/* Of a file that is not there: appends path.py, .tir, .tvm, .json or .lua, the first that is.
 * false: none is. */
bool ml_file_with_suffix(const char *path, ml_Text *out);

/* All bytes of a file, behind what is in out. false: errno says why. */
bool ml_file_read(const char *path, ml_Text *out);

/* A file that is being written. It replaces the one of that name when it ends well, with
 * its owner and permissions; a link is followed; what cannot be replaced (devices, pipes)
 * is written as it comes. */
typedef struct ml_FileOut {
    void *stream; /* stdio's, NULL: it could not be begun */
    char *path;   /* what is replaced */
    char *fresh;  /* beside it; NULL: the stream is the file itself, or `copied` */
    bool copied;  /* into the old file in the end: it cannot be replaced by another */
    int error;    /* errno of the first failure, or 0 */
    int64_t was;  /* bytes of the old file */
} ml_FileOut;
/* mode: of a new file, before the umask. */
void ml_file_begin(ml_FileOut *w, const char *path, unsigned mode);
void ml_file_add(ml_FileOut *w, const void *p, size_t n);
/* false: errno says why, and the old file is as it was. To be called in any case. */
bool ml_file_end(ml_FileOut *w);

/* All three at once; _own: a new one is for nobody else to read. */
bool ml_file_write(const char *path, const void *p, size_t n);
bool ml_file_write_own(const char *path, const void *p, size_t n);
/* Makes the folders above a path, for nobody else to read; the path stays as it is. 0, or
 * the bytes of the one that could not be made: errno says why. */
size_t ml_file_folders(char *path);
/* Whether an errno means that there is no room: no-space, where others are no-file. */
bool ml_file_no_room(int error);

#endif
