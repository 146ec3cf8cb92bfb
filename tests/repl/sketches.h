/*
 * sketches - what the families of lua/moonloop/space give for sets of workloads, as programs
 * and traces that C can replay.
 */
#ifndef ML_TESTS_REPL_SKETCHES_H
#define ML_TESTS_REPL_SKETCHES_H

#include <lua.h>

#include "moonloop/primitives/trace.h"

typedef struct Sketches Sketches;
typedef struct OneSketch {
    ml_Ctx *cx;
    ml_Schedule *start;
    ml_Trace trace;
    const char *name;     /* "GMM-0 in place, rows outermost" */
    const char *posts[8]; /* postprocessors of its space, run by sketch_post */
    size_t n_posts, k;
    lua_State *L;
} OneSketch;

/* sets: names of sets or workloads, spaces between; rules:GMM-0 are those that rules make. */
Sketches *sketches_of(const char *sets);
size_t sketches_count(const Sketches *v);
OneSketch sketch_open(Sketches *v, size_t k);
/* user: the sketch. false: they make no program of it. */
bool sketch_post(ml_Schedule *s, void *user);
void sketch_close(OneSketch *s);
void sketches_free(Sketches *v);

#endif
