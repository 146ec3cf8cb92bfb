/*
 * show - what the session shows of programs: their text, trees and blocks, what a step
 * changed, what comes into focus; and the pager. Source: interaction 3.
 */
#ifndef ML_REPL_SHOW_SHOW_H
#define ML_REPL_SHOW_SHOW_H

#include "repl/session/session.h"

/* `focus: matmul v0   block C   loops i, j, k   2.15 GFLOP` on standard error. */
void ml_session_announce(ml_Session *ss);
/* After steps: headline and diff of each from one version to another. */
void ml_echo_steps(ml_Session *ss, ml_Schedule *s, int from, int to);
/* Prints the program of a version with display names, as the screen shows it. */
void ml_show_program(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out);
/* What is kept of programs for the next step's diff is dropped; so it is at the end. */
void ml_program_forget(ml_Session *ss);
void ml_show_tree(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out);
/* The same with what each loop touches, as far as the screen is wide enough. */
void ml_show_tree_sizes(ml_Session *ss, ml_Schedule *s, int version, ml_Text *out);
/* The same as rows: a loop or a block each. */
void ml_tree_data(ml_Schedule *s, int version, ml_Data *d);
/* One block with its ancestors. */
void ml_show_block(ml_Session *ss, ml_Schedule *s, ml_Uid block, ml_Text *out);
/* Through the pager when it is longer than the screen. */
void ml_page(ml_Session *ss, const char *text);
/* The same, of what is made for the screen; raw: what there would be without one. */
void ml_page_as(ml_Session *ss, const char *text, const char *raw);
/* The same, folded as ml_out_prose does. */
void ml_page_prose(ml_Session *ss, const char *text);
/* The same, folded as ml_out_code does. */
void ml_page_code(ml_Session *ss, const char *text, const char *mark);

#endif
