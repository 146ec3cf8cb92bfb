/* live - the board of a search at the terminal, below the line that began it, and its keys.
 * Source: interaction 11. */
#ifndef ML_REPL_TUNING_LIVE_H
#define ML_REPL_TUNING_LIVE_H

#include "repl/session/session.h"
#include "repl/tuning/board.h"

typedef struct ml_Live ml_Live;

/* What is the caller's to do: `user` is handed to it. */
typedef struct ml_LiveCalls {
    void *user;
    /* Makes a record a branch of the focus and says so; the text is shown. */
    void (*adopt)(void *user, int64_t record, ml_Text *said);
    /* What is known of a record, as a page; and how it differs from another one. */
    void (*inspect)(void *user, int64_t record, int64_t best, ml_Text *out);
    void (*diff)(void *user, int64_t record, int64_t best, ml_Text *out);
    void (*failures)(void *user, ml_Text *out);
    void (*pause)(void *user, bool on);
    /* Of several programs: `k` skips a task, `+` and `-` shift the budget to it or away; and what is
     * known of it, as a page. NULL: it is one program. */
    void (*task)(void *user, size_t task, char key, ml_Text *said);
    void (*show_task)(void *user, size_t task, ml_Text *out);
} ml_LiveCalls;

/* The board is the caller's. NULL: there is no terminal for it (a pipe, one that cannot place
 * its cursor). Nothing is printed until it is closed. */
ml_Live *ml_live_open(ml_Session *ss, ml_Board *b, const ml_LiveCalls *calls);
/* Answers keys and draws what has changed; waits at most so many seconds for a key. false:
 * the person wants the search to stop, or the terminal is gone. */
bool ml_live_step(ml_Live *l, double seconds);
/* The last picture stays, without its keys. NULL is fine. */
void ml_live_close(ml_Live *l);

/* One key, and the picture for a size: for tests without a terminal. */
ml_Live *ml_live_new(ml_Session *ss, ml_Board *b, const ml_LiveCalls *calls);
void ml_live_key(ml_Live *l, const char *name, const char *ch);
void ml_live_draw(ml_Live *l, ml_Grid *g);
void ml_live_free(ml_Live *l);

#endif
