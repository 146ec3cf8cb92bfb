/* shape - the option --shape n=127 of commands that need sizes. Source: interaction 8. */
#ifndef ML_REPL_CMD_SHAPE_H
#define ML_REPL_CMD_SHAPE_H

#include "codegen/params/count.h"
#include "repl/session/session.h"

/* `n=127`; the name is kept in cx. false: an error was printed. */
bool ml_read_shape(ml_Session *ss, ml_Ctx *cx, const char *text, ml_Size *out);

#endif
