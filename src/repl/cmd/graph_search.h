/* graph_search - curves of searches as a picture. Source: interaction 11, 12. */
#ifndef ML_REPL_CMD_GRAPH_SEARCH_H
#define ML_REPL_CMD_GRAPH_SEARCH_H

#include "repl/graph/graph.h"
#include "repl/session/session.h"

/* Of the focus; as ml_graph_build. db: a database whose records are wanted; NULL: what was
 * searched last, else the usual one. false: an empty message was printed already. */
bool ml_graph_of_search(ml_Session *ss, const char *db, bool dark, ml_Graph *g,
                        ml_GraphWhy *why);

#endif
