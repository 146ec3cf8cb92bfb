/* start_notes - what is told of a program when it becomes the focus for the first time. */
#ifndef ML_REPL_SHOW_START_NOTES_H
#define ML_REPL_SHOW_START_NOTES_H

#include "moonloop/core/json/data.h"
#include "moonloop/primitives/schedule.h"

/* Lines "note: ..."; nothing once a step was made. */
void ml_start_notes(ml_Schedule *s, ml_Text *out);
/* The same as a list "notes". */
void ml_start_notes_data(ml_Schedule *s, ml_Data *d);

#endif
