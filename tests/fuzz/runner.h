/*
 * runner - a forked child that links objects and runs them, one after the other.
 *
 * Arguments lie in slots shared with the child, each between guard pages at the same
 * address in both. A program that faults or does not end costs the child; the next request
 * starts another. The parent never enters a parallel region, so that it may fork.
 */
#ifndef ML_TESTS_FUZZ_RUNNER_H
#define ML_TESTS_FUZZ_RUNNER_H

#include "moonloop/codegen/code/code.h"

#include <signal.h>

enum {
    FZ_PAGE = 4096,
    FZ_ROOM = 4 * FZ_PAGE, /* of a slot */
    FZ_SLOTS = 32,
    FZ_SECONDS = 60 /* that a program may take */
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
    int32_t status; /* that main_call returned */
    int32_t signal; /* of a fault */
    int64_t slot;   /* that it touched, -1: none */
    int64_t byte;   /* from the slot's begin; without a slot the address */
    int64_t offset; /* of the instruction, from main_body */
    char text[512]; /* why it was not linked */
} FzAnswer;

typedef union FzWord { /* as ml_Word */
    void *p;
    int64_t i;
} FzWord;

bool fz_runner_open(void);
void fz_runner_close(void);
uint8_t *fz_slot(uint32_t k); /* FZ_ROOM bytes */
/* Links the object through ll (in the child) and calls main_call with words, which are at
 * most FZ_SLOTS. */
void fz_runner_run(ml_Codegen *ll, const ml_Bytes *object, const FzWord *words, uint32_t n,
                   FzAnswer *out);

/* The handler of SIGSEGV and the like, for this process and what it forks. */
void fz_handle_faults(void (*f)(int, siginfo_t *, void *));

#endif
