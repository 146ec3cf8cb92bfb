/* trace_value - what the three texts of a trace (Lua, Python, JSON) have in common: one
 * walk over the inputs, outputs and arguments of instructions; a form says what differs. */
#ifndef ML_PRIMITIVES_TRACE_VALUE_H
#define ML_PRIMITIVES_TRACE_VALUE_H

#include "moonloop/core/json/value_text.h"
#include "moonloop/primitives/trace/trace_impl.h"

typedef struct ml_TraceWriter ml_TraceWriter;
typedef struct ml_TraceForm {
    const ml_Notation *notation; /* of constants; its list and none are the trace's too */
    /* A name, a printed expression or map: added as it is, or in quotes. */
    void (*word)(ml_Text *out, const char *z);
    void (*map)(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m);
} ml_TraceForm;
struct ml_TraceWriter {
    ml_Ctx *cx; /* scratch, the writer's own */
    ml_Text *out;
    const ml_TraceForm *form;
    const ml_TVar *vars; /* by number */
    ml_Names names;      /* of the symbols inside expressions */
    const char *prefix;  /* before the name of a variable: "" or "v." */
};

ml_TraceWriter ml_trace_writer(ml_Text *out, const ml_Trace *t, const ml_TraceForm *form);
void ml_trace_writer_end(ml_TraceWriter *w);
/* All names of variables begin so from now on; at most once. */
void ml_trace_writer_prefix(ml_TraceWriter *w, const char *prefix);

void ml_write_input(const ml_TraceWriter *w, const ml_TV *v);
void ml_write_inputs(const ml_TraceWriter *w, const ml_TV *v, size_t n); /* a, b, c */
/* An argument; factors are a list, other parameters of several values are none. */
void ml_write_arg(const ml_TraceWriter *w, const ml_Param *pa, const ml_TVArg *a);
void ml_write_outputs(const ml_TraceWriter *w, const ml_Inst *in); /* l1, _, l3 */
void ml_write_constant(const ml_TraceWriter *w, const ml_Value *v);
/* Writes "i, j"; the names, for the map's expressions. */
ml_Names ml_write_map_vars(const ml_TraceWriter *w, ml_Text *out, const ml_IndexMap *m);

#endif
