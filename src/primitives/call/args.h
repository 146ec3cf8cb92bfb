/* args - raw arguments of a call made into what a primitive's function sees.
 * Source: primitives 1.2. */
#ifndef ML_PRIMITIVES_ARGS_H
#define ML_PRIMITIVES_ARGS_H

#include "moonloop/primitives/schedule/schedule_impl.h"

/* Fills given[] and raw[] (one each per parameter; raw is never NULL) or sets bad-argument,
 * expired-handle, ...; during a call. */
bool ml_args_resolve(ml_Schedule *s, const ml_Primitive *prim, const ml_Arg *args, size_t n,
                     const ml_Arg **raw, ml_Given *given);
/* A constant made of a raw argument; expression handles are their value. NULL: error set.
 */
const ml_Value *ml_arg_value(ml_Schedule *s, const char *what, const ml_Arg *a);
/* An index map, given as an object or a text, in the schedule's context, with variables of
 * its own; marks: axis separators may stand between its results. NULL: error set. */
const ml_IndexMap *ml_arg_map(ml_Schedule *s, const char *what, const ml_Arg *a,
                              bool marks);
/* The same of a map to values of any type. */
const ml_IndexMap *ml_arg_pad(ml_Schedule *s, const char *what, const ml_Arg *a);
/* A Lua function; moon.index_map(...) when there is an inverse, or what Lua's operators
 * cannot say. cx is for scratch. */
void ml_map_lua(ml_Ctx *cx, ml_Text *out, const ml_IndexMap *m);
/* Sets bad-argument for `got` arguments, of which `odd`, at position `at` from 0, finds no
 * parameter; false. */
bool ml_too_many(ml_Ctx *cx, const ml_Primitive *prim, size_t at, size_t got,
                 const ml_Arg *odd);
const char *ml_arg_kind_name(const ml_Arg *a);

#endif
