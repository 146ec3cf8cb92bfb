/*
 * runner - a forked child that links objects and runs them, one after the other.
 *
 * Arguments lie in slots shared with the child, each between guard pages at the same
 * address in both; there are slots of several sizes. A program that faults or does not end costs the child; the next request
 * starts another. The parent never enters a parallel region, so that it may fork.
 */
#ifndef ML_TESTS_FUZZ_RUNNER_H
#define ML_TESTS_FUZZ_RUNNER_H

#include "moonloop/codegen/code/code.h"

#include <signal.h>

enum {
    FZ_PAGE = 4096,
    FZ_SLOTS = 32,     /* of each size, so that any 32 arguments find theirs */
    FZ_ROOM = 1 << 20, /* of the largest */
    FZ_SECONDS = 60    /* that a program may take */
};

typedef enum FzSaid {
    FZ_SAID_NOTHING, /* the child ended, or was stopped after FZ_SECONDS */
    FZ_SAID_RAN,
    FZ_SAID_NOT_LINKED,
    FZ_SAID_FAULT,
    FZ_SAID_TOO_LARGE, /* the object */
} FzSaid;
typedef struct FzAnswer {
    FzSaid said;
    int32_t status;      /* that main_call returned */
    int32_t signal;      /* of a fault */
    const uint8_t *slot; /* begin of the one that it touched, NULL: none */
    int64_t byte;        /* from the slot's begin; without a slot the address */
    int64_t offset;      /* of the instruction, from main_body */
    char text[512];      /* why it was not linked */
} FzAnswer;

typedef union FzWord { /* as ml_Word */
    void *p;
    int64_t i;
} FzWord;

bool fz_runner_open(void);
void fz_runner_close(void);
/* The k-th of the smallest slots that hold so many bytes, at most FZ_ROOM; *room: theirs. */
uint8_t *fz_slot(uint32_t k, size_t bytes, size_t *room);
/* Links the object through ll (in the child) and calls main_call with words, which are at
 * most FZ_SLOTS. */
void fz_runner_run(ml_Codegen *ll, const ml_Bytes *object, const FzWord *words, uint32_t n,
                   FzAnswer *out);

/* The handler of SIGSEGV and the like, for this process and what it forks. */
void fz_handle_faults(void (*f)(int, siginfo_t *, void *));

#endif
