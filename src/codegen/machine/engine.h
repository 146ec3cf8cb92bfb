/*
 * engine - what a session compiles, runs and times with: a target, threads, workers that
 * are started when they are first needed, and what was measured before.
 */
#ifndef ML_CODEGEN_ENGINE_H
#define ML_CODEGEN_ENGINE_H

#include "moonloop/codegen/measure/compiled.h"

typedef struct ml_Engine ml_Engine;
ML_GIVES ml_Engine *ml_engine_new(void);
void ml_engine_free(ml_Engine *e); /* NULL is fine; ends the workers */

/* Target and threads of code from now on; threads 0: MOONLOOP_THREADS, else the cores. */
void ml_engine_set_target(ml_Engine *e, const ml_Target *t);
/* The GPU that new schedules are for; NULL: none. Code is made for the target all the same. */
void ml_engine_set_device(ml_Engine *e, const ml_TargetKind *kind);
const ml_TargetKind *ml_engine_device(const ml_Engine *e);
void ml_engine_set_threads(ml_Engine *e, uint32_t threads);
const ml_Target *ml_engine_target(const ml_Engine *e);
uint32_t ml_engine_threads(const ml_Engine *e);

/* Worker k (0: of the session; others: contenders and builders). NULL: cx's error. */
ml_Worker *ml_engine_worker(ml_Engine *e, ml_Ctx *cx, unsigned k);
enum { ML_ENGINE_WORKERS = 8 };
/* Kills what runs; the next job starts anew. */
void ml_engine_stop(ml_Engine *e);

/* Median seconds measured before under this key (the hash of program, arguments, target and
 * threads); NAN: none. */
double ml_engine_known(const ml_Engine *e, uint64_t key);
/* The relative spread of that measurement (compiled.h); 0: none. */
double ml_engine_spread(const ml_Engine *e, uint64_t key);
/* The least and the largest of all medians under this key in this session, and how many
 * there were; 0: none. */
uint32_t ml_engine_range(const ml_Engine *e, uint64_t key, double *least, double *most);
/* The reference of the last check. */
ml_Reference **ml_engine_reference(ml_Engine *e);
void ml_engine_remember(ml_Engine *e, uint64_t key, double seconds, double spread);
/* What machine.h keeps of the machine; all zero at first. */
struct ml_Machine *ml_engine_machine(ml_Engine *e);

#endif
