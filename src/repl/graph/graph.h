/* graph - pictures of a schedule: what their nodes and edges are (DOT text), and handing
 * them to moonloop-draw. Source: interaction 12. */
#ifndef ML_REPL_GRAPH_GRAPH_H
#define ML_REPL_GRAPH_GRAPH_H

#include "moonloop/primitives/schedule.h"

/* In the order of the legend. */
typedef enum ml_GraphLook {
    ML_LOOK_SERIAL,
    ML_LOOK_PARALLEL,
    ML_LOOK_VECTORIZED,
    ML_LOOK_UNROLLED,
    ML_LOOK_THREAD,
    ML_LOOK_BLOCK,
    ML_LOOK_ITERS,
    ML_LOOK_INIT,
    ML_LOOK_PARAM,
    ML_LOOK_USE, /* a line to or from a parameter */
    ML_LOOK_RAW,
    ML_LOOK_WAW,
    ML_LOOK_ALSO_WAW, /* a word on a line of another kind */
    ML_LOOK_WAR,
    ML_LOOK_ALSO_WAR,
    ML_LOOK_NEW, /* since another version */
    ML_LOOK_CHANGED,
    ML_LOOK_GONE,
    ML_LOOKS
} ml_GraphLook;

typedef struct ml_Graph {
    ml_Text dot;
    size_t nodes, edges;
    bool dark;               /* light on dark */
    const ml_Module *before; /* what changed since then is told; NULL: nothing is */
    uint32_t occurs;         /* of each look a bit */
    ml_Text gone;            /* names of what was there before */
    const char *layout;      /* of moonloop-draw; NULL: layers */
    ml_Text chars;           /* what it is in characters, when that is not laid out */
} ml_Graph;

typedef struct ml_GraphWhy { /* why there is no picture, in one line */
    ml_Text message;
    ml_ErrorCode code;
} ml_GraphWhy;

/* Kinds that exist now: "loops", "deps". since: a version, what changed from there on is
 * marked; -1: nothing is. false: *why says that there is no such kind, or none yet. g is freed
 * by the caller in any case. */
bool ml_graph_build(ml_Schedule *s, const char *kind, int since, bool dark, ml_Graph *g,
                    ml_GraphWhy *why);
void ml_graph_free(ml_Graph *g);
void ml_graph_loops(ml_Schedule *s, ml_Graph *g);
void ml_graph_deps(ml_Schedule *s, ml_Graph *g);
typedef struct ml_GraphCurve {
    const char *name;
    size_t n;
    const double *speed; /* after 1 to n trials, never falling; 0: none yet */
} ml_GraphCurve;
/* Speed over trials, a line each; in characters at most so wide. g: as ml_graph_build leaves
 * it, but for `dark` empty. */
void ml_graph_search(const char *title, const char *unit, const ml_GraphCurve *v, size_t n,
                     int width, bool ascii, ml_Graph *g);

/* The edges between the blocks of one scope, in the order of the text: for each pair and
 * kind, each buffer that both name, unless a block between has overwritten all of it. */
typedef void ml_DepFn(const ml_Block *from, const ml_Block *to, const ml_Buffer *buffer,
                      ml_DepKind kind, void *user);
void ml_dep_edges(const ml_StmtVec *blocks, ml_DepFn *fn, void *user);
const char *ml_dep_name(ml_DepKind kind); /* RAW, WAW, WAR */

/* Calls fn for the function worked on or, when none is chosen, for each of the module, in
 * a cluster of its own that bears its name. */
void ml_graph_funcs(ml_Schedule *s, ml_Graph *g, void (*fn)(const ml_Func *f, void *user),
                    void *user);

/* ---- look.c */

/* An expression in a label, by the schedule's names. */
void ml_graph_expr(ml_Graph *g, ml_Schedule *s, const ml_Expr *e); /* dot.c */
/* Beginning and end of a graph, the latter with its legend; the label of a cluster, a
 * label's text escaped for DOT. */
void ml_graph_begin(ml_Graph *g, const char *title);
void ml_graph_end(ml_Graph *g);
void ml_graph_cluster(ml_Graph *g, const char *label);
void ml_graph_escape(ml_Text *out, const char *text);
/* The attributes of a node or line of that look, which the legend then tells of. */
void ml_graph_look(ml_Graph *g, ml_GraphLook look);
/* What ml_changes_of gives: before a label; behind the attributes of its node. */
void ml_graph_add_change(ml_Graph *g, ml_GraphLook change);
void ml_graph_change_look(ml_Graph *g, ml_GraphLook change);
/* Below a picture in characters. */
void ml_graph_legend(ml_Graph *g, ml_Text *out);

/* ---- changes.c: how a function differs from what it was in another version */
typedef struct ml_Changes ml_Changes;
/* before: NULL where there was none. It lives in cx. */
const ml_Changes *ml_changes_new(ml_Ctx *cx, const ml_Func *before, const ml_Func *now);
/* Of a loop or block that is there now: new, changed (also: moved), or ML_LOOKS. */
ml_GraphLook ml_changes_of(const ml_Changes *c, ml_Uid uid);
/* Appends the names of blocks, and of loops, that are there no more. */
void ml_changes_gone(const ml_Changes *c, bool loops, ml_Schedule *s, ml_Text *out);

/* ---- writing */

/* The graph in characters: boxes and lines, an arrow where `kind` has a direction. false:
 * *why says why. */
bool ml_graph_text(ml_Graph *g, const char *kind, bool ascii, ml_Text *out,
                   ml_GraphWhy *why);
/* chars.c: the same from what moonloop-draw writes as `plain`. */
bool ml_graph_chars(const char *plain, bool arrows, bool ascii, ml_Text *out,
                    ml_Text *message);

/* Writes the graph to `file`: the suffix chooses .svg, .png, .pdf (through moonloop-draw,
 * found beside the program, then in PATH), .txt (in characters) or .dot. false: *why says
 * why, and where the DOT text was kept. */
bool ml_graph_write(ml_Graph *g, const char *kind, const char *file, ml_GraphWhy *why);

#endif
