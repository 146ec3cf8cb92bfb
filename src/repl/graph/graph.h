/* graph - pictures of a schedule: what their nodes and edges are (DOT text), and handing
 * them to moonloop-draw. Source: interaction 12. */
#ifndef ML_REPL_GRAPH_GRAPH_H
#define ML_REPL_GRAPH_GRAPH_H

#include "moonloop/primitives/schedule.h"

typedef struct ml_Graph {
    ml_Text dot;
    size_t nodes, edges;
} ml_Graph;

/* Kinds that exist now: "loops", "deps". false: cx's error of the schedule is not-yet or
 * bad-argument. g->dot is freed by the caller. */
bool ml_graph_build(ml_Schedule *s, const char *kind, ml_Graph *g);
void ml_graph_loops(ml_Schedule *s, ml_Graph *g);
void ml_graph_deps(ml_Schedule *s, ml_Graph *g);

/* The edges between the blocks of one scope, in the order of the text: for each pair and
 * kind, each buffer that both name. */
typedef void ml_DepFn(const ml_Block *from, const ml_Block *to, const ml_Buffer *buffer,
                      ml_DepKind kind, void *user);
void ml_dep_edges(const ml_StmtVec *blocks, ml_DepFn *fn, void *user);
const char *ml_dep_name(ml_DepKind kind); /* RAW, WAW, WAR */

/* Calls fn for the function worked on or, when none is chosen, for each of the module, in
 * a cluster of its own that bears its name. */
void ml_graph_funcs(ml_Schedule *s, ml_Graph *g,
                    void (*fn)(const ml_Block *root, void *user), void *user);

/* Beginning and end of a graph, a label's text escaped for DOT. */
void ml_graph_begin(ml_Graph *g, const char *title);
void ml_graph_end(ml_Graph *g);
void ml_graph_escape(ml_Text *out, const char *text);

typedef struct ml_GraphWhy { /* why there is no picture, in one line */
    ml_Text message;
    ml_ErrorCode code;
} ml_GraphWhy;
/* The graph in characters: boxes and lines, an arrow where `kind` has a direction. false:
 * *why says why. */
bool ml_graph_text(const ml_Graph *g, const char *kind, bool ascii, ml_Text *out,
                   ml_GraphWhy *why);
/* chars.c: the same from what moonloop-draw writes as `plain`. */
bool ml_graph_chars(const char *plain, bool arrows, bool ascii, ml_Text *out,
                    ml_Text *message);

/* Writes the graph to `file`: the suffix chooses .svg, .png, .pdf (through moonloop-draw,
 * found beside the program, then in PATH), .txt (in characters) or .dot. false: *why says
 * why, and where the DOT text was kept. */
bool ml_graph_write(const ml_Graph *g, const char *kind, const char *file,
                    ml_GraphWhy *why);

#endif
