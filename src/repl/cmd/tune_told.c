/*
 * tune_told - what a search that is a job says to its session, and hears from it: the board, and
 * whether it is to pause. Source: interaction 9, 11.
 */
#include "moonloop/core/base/arena.h"
#include "moonloop/core/json/data.h"
#include "repl/cmd/tune_words.h"
#include "repl/job/job.h"
#include "repl/session/progress.h"

struct ml_TuneTold {
    ml_Session *ss;
    ml_Tuner *t;
    ml_Board b;
    ml_BoardTold told;
    ml_JobWords words;
    double at;
};

static void tell(ml_TuneTold *n)
{
    ml_Data d = {.schema = true};

    ml_board_read(&n->b, n->t, n->ss->focus);
    ml_data_row(&d);
    ml_board_tell(&n->b, &n->told, &d);
    ml_err(&n->ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

ml_TuneTold *ml_tune_told_open(ml_Session *ss, ml_Tuner *t, ml_Board *b)
{
    ml_TuneTold *n;

    if (!ss->job) {
        ml_board_free(b);
        return NULL;
    }
    n = ml_heap_zalloc(sizeof *n);
    n->ss = ss;
    n->t = t;
    n->b = *b;
    tell(n);
    return n;
}

void ml_tune_told_step(ml_TuneTold *n)
{
    const char *word;

    if (!n)
        return;
    while ((word = ml_job_word(&n->words, n->b.paused ? 0.1 : 0)) != NULL) {
        n->b.paused = ml_streq(word, "pause");
        ml_tuner_pause(n->t, n->b.paused);
        n->at = 0; /* is seen at once */
    }
    if (ml_progress_due(n->ss, &n->at))
        tell(n);
}

void ml_tune_told_close(ml_TuneTold *n)
{
    if (!n)
        return;
    tell(n);
    ml_board_free(&n->b);
    ml_heap_free(n);
}
