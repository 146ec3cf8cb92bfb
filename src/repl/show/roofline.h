/*
 * roofline - the roofs of this machine and the versions that were timed (roofs.h), as a plot
 * in characters, both axes logarithmic. For :roofline and pane 6. Source: interaction
 * 8, 10.
 */
#ifndef ML_REPL_SHOW_ROOFLINE_H
#define ML_REPL_SHOW_ROOFLINE_H

#include "moonloop/work/roofs.h"

/* The plot in at most that many columns (from 24 on) and lines (from 6 on), without colour;
 * a newline after each line. Slopes are written in the figures 1, 2, 3 of the caches and m
 * for memory, the peak as a line. Outside ASCII it has ─ ┤ └ ┴ and ●. */
void ml_roofline_draw(const ml_Roofline *r, int width, int height, ml_Text *out);

#endif
