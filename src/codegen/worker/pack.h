/* pack - messages between session, worker and runner: fields one after the other in a
 * length-prefixed frame, descriptors beside them. Both ends are the same build; a reader
 * still checks every length, since a crashing kernel may have scribbled on its pipe. */
#ifndef ML_CODEGEN_WORKER_PACK_H
#define ML_CODEGEN_WORKER_PACK_H

#include "moonloop/core/base/text.h"

typedef struct ml_Pack {
    uint8_t *v; /* malloc */
    size_t n, cap;
    bool bad; /* writing: out of memory */
} ml_Pack;
void ml_pack_free(ml_Pack *p);
void ml_pack_bytes(ml_Pack *p, const void *v, size_t n); /* raw, without a length */
void ml_pack_u64(ml_Pack *p, uint64_t v);
void ml_pack_f64(ml_Pack *p, double v);
void ml_pack_str(ml_Pack *p, const char *z); /* NULL is kept apart from "" */
void ml_pack_blob(ml_Pack *p, const void *v, size_t n);

typedef struct ml_Unpack {
    const uint8_t *v;
    size_t n, at;
    bool bad; /* something was shorter than it should be; results are 0 from then on */
} ml_Unpack;
uint64_t ml_unpack_u64(ml_Unpack *u);
double ml_unpack_f64(ml_Unpack *u);
const char *ml_unpack_str(ml_Unpack *u); /* points into the message, or NULL */
const void *ml_unpack_blob(ml_Unpack *u, size_t *n);
const void *ml_unpack_bytes(ml_Unpack *u, size_t n); /* raw */

/* ---- frames */
enum { ML_FRAME_FDS = 64 }; /* descriptors at most in one frame */
/* Waits until the other side takes it, at most until `deadline` (seconds of
 * CLOCK_MONOTONIC, 0: none). false: the other side is gone, or it is too large (errno;
 * ETIMEDOUT). Only allocation-free calls: signal handlers send frames too. */
bool ml_frame_send(int fd, double deadline, uint32_t kind, const ml_Pack *p, const int *fds,
                   size_t n_fds);
typedef struct ml_Frame {
    uint32_t kind;
    ml_Pack body;
    int fds[ML_FRAME_FDS]; /* -1: somebody else's now */
    size_t n_fds;
} ml_Frame;
/* Waits for a whole frame. false: end of file (errno 0), error, or the deadline has passed:
 * errno is ETIMEDOUT then. */
bool ml_frame_receive(int fd, double deadline, ml_Frame *out);
void ml_frame_free(ml_Frame *f); /* closes the descriptors that are left */

#endif
