/* restore - terminals as they were, whatever ends the program. Source: interaction 2, 9. */
#ifndef ML_REPL_SCREEN_RESTORE_H
#define ML_REPL_SCREEN_RESTORE_H

/* Called first thing by whoever ends the program, also in a signal handler: puts a terminal
 * back. At most four. */
void ml_restore_by(void (*restore)(void));
/* Puts every terminal back. */
void ml_restore_all(void);

#endif
