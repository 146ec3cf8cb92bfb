/* help_impl - what the files of help share: the text of one name each. */
#ifndef ML_REPL_CMD_HELP_IMPL_H
#define ML_REPL_CMD_HELP_IMPL_H

#include "moonloop/primitives/prim.h"
#include "moonloop/work/fact/fact.h"
#include "repl/bind/schedule/calls.h"
#include "repl/command/command.h"

size_t ml_help_width(const ml_Session *ss); /* columns of a line of help */
const char *ml_help_kind(ml_ParamKind k);   /* of a parameter, in words */
/* The rows of a primitive, or of `primitives`; text: all that :help prints. */
void ml_help_tell(ml_Data *d, const char *name, const char *text);
void ml_help_primitive(ml_Session *ss, ml_Text *t, const ml_Primitive *p);
/* can_NAME of a primitive; false: it is none. */
bool ml_help_can(ml_Session *ss, ml_Text *t, const char *name);
void ml_help_call(ml_Session *ss, ml_Text *t, const ml_ScheduleCall *c);
void ml_help_command(ml_Session *ss, ml_Text *t, const ml_Command *c);
void ml_help_setting(ml_Session *ss, ml_Text *t, int id);
/* What :explain CODE tells. */
void ml_help_code(ml_Session *ss, ml_Text *t, ml_ErrorCode code);
/* The rule that the code says was broken, in a line. */
const char *ml_help_code_note(ml_ErrorCode code);
void ml_help_setting_name(ml_Text *t, int id); /* with dashes, as it is typed */
/* On the facts of --json and Lua; the line on one of them. */
extern const char ml_help_facts[];
const ml_FieldTable *ml_help_facts_at(size_t k); /* NULL: there are no more tables */
void ml_help_field(ml_Text *t, const ml_Field *f);
/* A name that moon.help knows; false: it does not. */
bool ml_help_topic(ml_Session *ss, ml_Text *t, const char *name);

#endif
