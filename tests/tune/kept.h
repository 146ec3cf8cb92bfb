/* kept - what tests share that search with a database of their own: its folder, a small space, the
 * text of an error, whether there is a worker. */
#ifndef ML_TESTS_TUNE_KEPT_H
#define ML_TESTS_TUNE_KEPT_H

#include "moonloop/core/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a product's sum: six programs, no more. */
#define SIX_PROGRAMS                                                                       \
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"                                     \
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"                              \
    "[\"SampleCategorical\", [], [[2, 4, 8, 16, 6, 3], [0.2, 0.2, 0.2, 0.2, 0.1, "         \
    "0.1]], [\"v4\"]],"                                                                    \
    "[\"Split\", [\"l3\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]]],"           \
    "[[2, 0]]]"

typedef struct Kept {
    char dir[180], path[256]; /* the folder; the database in it */
} Kept;

static inline bool kept_make(Kept *k)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(k->dir, sizeof k->dir, "%s/ml-tune.XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(k->dir) == NULL)
        return false;
    snprintf(k->path, sizeof k->path, "%s/t.db", k->dir);
    return true;
}

/* 0: nothing else was in it, and it is gone. */
static inline int kept_remove(const Kept *k)
{
    static const char *const names[] = {"t.db",
                                        "t.db-wal",
                                        "t.db-shm",
                                        "t.db-journal",
                                        "t.log.jsonl",
                                        "out/database_workload.json",
                                        "out/database_tuning_record.json",
                                        "out"};
    char path[300];

    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        snprintf(path, sizeof path, "%s/%s", k->dir, names[m]);
        remove(path);
    }
    return rmdir(k->dir);
}

static inline const char *text_of_error(const ml_Ctx *cx)
{
    const ml_Error *e = ml_error(cx);

    if (e == NULL)
        return "no error";
    return e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text
                                                          : ml_error_code(e->code);
}

#define NEED_WORKER()                                                                      \
    do {                                                                                   \
        if (!ml_backend_find("llvm") || !getenv("MOONLOOP_WORKER")) {                      \
            print_message("skip: there is no libLLVM 19, or no MOONLOOP_WORKER\n");        \
            skip();                                                                        \
        }                                                                                  \
    } while (0)

#endif
