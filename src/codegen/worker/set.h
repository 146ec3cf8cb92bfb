/*
 * set - work sets on both ends: argument tensors in memfds, mapped with guard pages.
 *
 * Data ends as near to the end of its mapping as a 64-byte aligned start allows; what is
 * left of the last page, and of the first one before the data, holds canary bytes.
 * Source: lowering-and-codegen 12.1.
 */
#ifndef ML_CODEGEN_WORKER_SET_H
#define ML_CODEGEN_WORKER_SET_H

#include "moonloop/codegen/worker/pack.h"
#include "moonloop/codegen/worker/worker.h"

typedef struct ml_SetArg {
    bool is_tensor, written, compared, poison;
    int64_t i;
    double f;
    ml_Dtype type;
    uint32_t rank;
    int64_t *shape;              /* malloc */
    size_t bytes, mapped, start; /* of the data; of the file; where the data starts in it */
    int initial, expected, output; /* descriptors, -1: none */
    ml_Tolerance tolerance;
} ml_SetArg;

/* Shared by a set and the workers that were sent it, so that they can be told to forget it
 * once it is gone. */
typedef struct ml_SetLife {
    _Atomic int refs;
    _Atomic bool over;
} ml_SetLife;
void ml_life_drop(ml_SetLife *l);

struct ml_WorkSet {
    uint64_t id, version; /* version counts changes of expected contents */
    uint32_t n;
    ml_SetArg *args;
    ml_SetLife *life; /* of the session's; NULL in workers */
};

enum {                   /* frames */
       ML_FRAME_SET = 1, /* a set begins; one ML_FRAME_ARG for each argument follows */
       ML_FRAME_ARG,
       ML_FRAME_FORGET, /* the id of a set */
       ML_FRAME_JOB,
       ML_FRAME_RESULT,
       ML_FRAME_RUN,   /* from here on between worker and runner */
       ML_FRAME_ALIVE, /* a call has ended, more is to come; to the session also: the
                          program is compiled, a call begins */
       ML_FRAME_RAN,
       ML_FRAME_FAULT,
       ML_FRAME_MISSING, /* the object of a run is not kept: it must come with it */
};
bool ml_set_send(int fd, double deadline, const ml_WorkSet *s);
bool ml_set_send_forget(int fd, double deadline, uint64_t id);
/* The sets that a worker or runner knows. */
typedef struct ml_Sets {
    ml_WorkSet **v; /* malloc */
    size_t n;
} ml_Sets;
ml_WorkSet *ml_sets_find(const ml_Sets *s, uint64_t id); /* NULL: unknown */
bool ml_sets_put(ml_Sets *s, ml_WorkSet *set);           /* replaces one of that id */
void ml_sets_forget(ml_Sets *s, uint64_t id);
void ml_sets_free(ml_Sets *s);
/* `first` is the ML_FRAME_SET frame; the others are read. NULL: errno. */
ml_WorkSet *ml_set_receive(int fd, const ml_Frame *first);

typedef struct ml_Mapped {
    uint8_t *base; /* guard pages included */
    size_t n;
    uint8_t *data;
    bool guarded;
} ml_Mapped;
/* A private copy of the initial contents between guards of that many bytes, a page each
 * where there is no room for more. */
enum { ML_SET_GUARD = 256 << 20 };
bool ml_set_map(const ml_SetArg *a, ml_Mapped *out);
/* Memory of its own in huge pages where that pays, filled with the initial contents. */
bool ml_set_map_timed(const ml_SetArg *a, ml_Mapped *out);
bool ml_set_refill(const ml_SetArg *a, const ml_Mapped *m); /* initial contents again */
void ml_set_unmap(ml_Mapped *m);
/* Canary bytes as they were; only of ml_set_map's. Else the byte, counted from the data,
 * that was written first in order of distance, those behind before those in front. */
bool ml_set_guards_intact(const ml_SetArg *a, const ml_Mapped *m, int64_t *byte);
/* Contents become what others see in file `fd`. */
bool ml_set_write(const ml_SetArg *a, int fd, const void *data);
/* The initial or expected contents, read only; NULL on failure. Unmap with
 * ml_set_close_view. */
const uint8_t *ml_set_view(const ml_SetArg *a, int fd);
void ml_set_close_view(const ml_SetArg *a, const uint8_t *data);
/* A tensor over memory that somebody else owns: never freed. */
ml_Tensor ml_set_tensor(const ml_SetArg *a, void *data);

#endif
