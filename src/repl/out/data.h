/*
 * data - what the command at work tells (core/json/data.h), whenever somebody asked: --json
 * prints it, one JSON object a line, in place of the text, and moon.cmd gives it as a table.
 * Source: interaction 2, 4.
 */
#ifndef ML_REPL_OUT_DATA_H
#define ML_REPL_OUT_DATA_H

#include "core/json/data.h"
#include "repl/session/session.h"

ml_Data *ml_session_data(ml_Session *ss); /* of the command at work; NULL: not wanted */

#endif
