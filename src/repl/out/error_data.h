/* error_data - an error of the session as data. Source: interaction 2, 7. */
#ifndef ML_REPL_OUT_ERROR_DATA_H
#define ML_REPL_OUT_ERROR_DATA_H

#include "primitives/call/render.h"
#include "repl/out/data.h"

/* One row: {"error": code, "message": …, "place": …, "suggestions": […], …}. at: lines that
 * stand below the text of the error, may be NULL. */
void ml_error_data(ml_Data *d, ml_Failure *f, const char *at, bool suggestions);

#endif
