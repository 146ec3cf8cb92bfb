/* transcript - replays transcripts and compares. Source: interaction 15. */
#ifndef ML_REPL_RUN_TRANSCRIPT_H
#define ML_REPL_RUN_TRANSCRIPT_H

#include <stdbool.h>

/* Exit status: 0 all equal, 1 a difference, 3 a file is missing. */
int ml_transcript_run(char **files, int n, bool update);

#endif
