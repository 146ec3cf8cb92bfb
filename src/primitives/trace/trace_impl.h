/* trace_impl - what the forms of a trace share: names of variables, places of arguments. */
#ifndef ML_PRIMITIVES_TRACE_IMPL_H
#define ML_PRIMITIVES_TRACE_IMPL_H

#include "moonloop/core/json/json.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

/* Number of variables: one more than the largest. */
uint32_t ml_trace_n_vars(const ml_Trace *t);
/* By number: the output that made it (kind NONE: nobody). */
const ml_TVar *ml_trace_vars(ml_Ctx *cx, const ml_Trace *t);
/* "b0", "l1", "v2" */
const char *ml_trace_var_name(ml_Ctx *cx, const ml_TVar *v);
/* For printing expressions: symbol uid -> "v2". */
ml_Names ml_trace_names(ml_Ctx *cx, const ml_Trace *t);
bool ml_is_enter_postproc(const ml_Primitive *prim);
/* Whether the primitive's results are a list, also when there is one. */
bool ml_returns_list(const ml_Primitive *prim);

/* The k-th argument of an instruction by parameter: n values from v (several for LOOPS and
 * FACTORS; position and side for BUFFER), none when it was not given. */
typedef struct ml_TVArg {
    size_t n;
    const ml_TV *v;
} ml_TVArg;
bool ml_takes_many(const ml_Param *pa); /* loops, factors: several values */
/* out has room for n_params; false: more inputs or attrs than parameters, or too few. */
bool ml_inst_args(const ml_Inst *in, ml_TVArg *out);
/* Whether the value is the parameter's default. */
bool ml_tv_is_default(const ml_Param *pa, const ml_TVArg *a);

/* The text T.index_map(lambda ...) of an index map as TVM's traces have it; NULL: it is
 * none. */
const char *ml_trace_node_map(ml_Ctx *cx, const char *json);
/* The map in that form; false, and nothing added: it has parts that the form has not. */
bool ml_trace_map_nodes(ml_Text *out, const ml_IndexMap *m);
/* Variable k becomes variable to[k] in copies of the instructions. */
void ml_trace_renumber(ml_Ctx *cx, const ml_Inst **insts, size_t n, const uint32_t *to);
/* Lua of the instructions from `first` on; variables are fields of the table v. */
void ml_trace_lua_part(ml_Text *out, const ml_Trace *t, size_t first);
/* All versions with marks and branches, ending at the current one. */
void ml_trace_lua_tree(ml_Schedule *s, ml_Text *out);

/* JSON of the instructions from `first` on, [[instructions], [decisions]]; `between` stands
 * before each. */
void ml_trace_json_part(ml_Text *out, const ml_Trace *t, size_t first, const char *between);

/* Reading that list; what one call has defined later ones may use. */
typedef struct ml_TraceReader {
    ml_Ctx *cx;
    ML_VEC(const char *) names;     /* by number */
    ML_VEC(const ml_Var *) symbols; /* by number; NULL for loops and blocks */
} ml_TraceReader;
/* false: cx's error says where. */
bool ml_trace_read(ml_TraceReader *r, const ml_Json *j, ml_Trace *out);
bool ml_bad_json(ml_Ctx *cx, const ml_Json *j, const char *what);

/* One instruction after the other applied to a schedule; the caller moves it between them.
 */
typedef struct ml_Replayer ml_Replayer;
ML_GIVES ml_Replayer *ml_replayer_new(ml_Schedule *s);
void ml_replayer_free(ml_Replayer *p);
/* false: s's error says why, and s is where it was. */
bool ml_replayer_next(ml_Replayer *r, const ml_Inst *in);

enum { ML_MAX_PARAMS = 16 };

#endif
