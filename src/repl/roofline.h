/*
 * roofline - the measured roofs of this machine and the versions that were timed, as a plot
 * in characters, both axes logarithmic. For :roofline and pane 6. Source: interaction
 * 8, 10.
 */
#ifndef ML_REPL_ROOFLINE_H
#define ML_REPL_ROOFLINE_H

#include "repl/bind/timing.h"

typedef struct ml_RoofPoint {
    int version;
    double seconds;
    bool current;
} ml_RoofPoint;
typedef ML_VEC(ml_RoofPoint) ml_RoofPoints;

typedef struct ml_Roofline {
    const char *cpu;
    ml_Dtype type;
    uint32_t threads;
    double peak;                         /* operations per second; NAN: not measured */
    double bandwidth[ML_MACHINE_LEVELS]; /* bytes per second; NAN: not measured */
    double flop, bytes;                  /* of the start; 0: no schedule, or not known */
    ml_Roof roof;                        /* of that */
    ml_RoofPoints points;                /* timed versions, ascending */
} ml_Roofline;

/* Of function `at` of s (NULL: the machine alone). Measures the machine when it is not
 * known: ml_machine_known tells before. Lives in cx. false: cx's error. */
bool ml_roofline_of(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                    const ml_TimingOpts *o, ml_Roofline *out);

/* The plot in at most that many columns (from 24 on) and lines (from 6 on), without colour;
 * a newline after each line. Slopes are written in the figures 1, 2, 3 of the caches and m
 * for memory, the peak as a line. Outside ASCII it has ─ ┤ └ ┴ and ●. */
void ml_roofline_draw(const ml_Roofline *r, int width, int height, ml_Text *out);

#endif
