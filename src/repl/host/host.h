/* host - the session's Lua state: running lines and files, printing results, telling
 * errors. Source: interaction 3, 4, 7. */
#ifndef ML_REPL_HOST_HOST_H
#define ML_REPL_HOST_HOST_H

#include "moonloop/codegen/machine/engine.h"
#include "repl/session/frame.h"

/* Opens the state with moon and the names of the prompt; NULL never. It ends with the
 * session. */
ml_Host *ml_host_new(ml_Session *ss);

/* One line or chunk with the names of the prompt: first as `return LINE`, then as a chunk.
 * false: the error was printed. */
bool ml_host_eval(ml_Host *h, const char *text);
/* A primitive on the focus (there is one), with results and errors as if a line had called
 * it: no Lua is read, and no name of the user's is in the way. */
bool ml_host_apply(ml_Host *h, const ml_RunCall *call);
/* Whether Lua would want more lines. */
bool ml_host_incomplete(ml_Host *h, const char *text);
/* Whether it is a line of Lua or Python, or the beginning of one. */
bool ml_host_reads(ml_Host *h, const char *text);
/* Whether there are steps in Python in it, which run whole, and no program. */
bool ml_host_is_python(const char *text);
/* The values of the last line, as the prompt shows them; `_` keeps the first. */
void ml_host_print_result(ml_Host *h, bool silent);
/* Forgets those values: they are not to be shown. */
void ml_host_drop_result(ml_Host *h);
/* Appends what the global `name` (_PROMPT, _PROMPT2) gives for a prompt; false: it is not
 * set, or it failed, which is told once for each value. */
bool ml_host_prompt(ml_Host *h, const char *name, const char *usual, ml_Text *out);
/* A script file with plain rules and `arg`; path NULL: standard input. A schedule that it
 * returns becomes the focus. */
bool ml_host_file(ml_Host *h, const char *path, int argc, char **argv);
/* require NAME into a global. */
bool ml_host_require(ml_Host *h, const char *name);
/* A typed or pasted TVMScript text: parsed, scheduled, focused. */
bool ml_host_open_text(ml_Host *h, const char *text);
/* A file by its suffix: .py .tir .tvm a program, .json a saved schedule, .lua a script that
 * returns one; focused. */
bool ml_host_open(ml_Host *h, const char *path);
/* A schedule made anew from what an autosave says of its start; the session keeps it, and
 * it is the focus. NULL: *why says what is wrong. */
typedef struct ml_HostStart {
    const char *program, *func, *name; /* the last two may be NULL */
    const ml_Value *target;            /* or NULL */
    bool check;
} ml_HostStart;
ml_Schedule *ml_host_start(ml_Host *h, ml_HostStart *from, ml_Text *why);
/* A saved schedule from its text, called `name`, with the schedule's switches; focused. */
bool ml_host_open_saved(ml_Host *h, const char *text, const char *name, bool no_check,
                        bool unchecked);
/* A schedule built aside from what :save writes, JSON or (lua) a script. NULL: *why says
 * why it cannot be; *stopped: because Ctrl-C came. */
ML_GIVES ml_Schedule *ml_host_rebuild(ml_Host *h, ml_Str text, bool lua, ml_Text *why,
                                      bool *stopped);
/* A piece of Lua on a small schedule `s` of its own: what it prints, or its error, goes to
 * out. */
bool ml_host_example(ml_Host *h, const char *code, ml_Text *out);
/* Whether Lua has a global of that name, or (method) the focus such a method. */
bool ml_host_knows(ml_Host *h, const char *name, bool method);
/* What moon.help knows of a name; false: nothing. Fields that are not there are empty. */
typedef struct ml_HostTopic {
    ml_Text name, signature, summary, text;
    ml_Text example; /* Lua for ml_host_example */
    ml_Text lines;   /* or lines for ml_scratch_run */
    ml_Text others;  /* names of other topics with the same last part */
} ml_HostTopic;
bool ml_host_topic(ml_Host *h, const char *name, ml_HostTopic *out);
void ml_host_topic_free(ml_HostTopic *t);
/* All of them, in the order of the manual. */
typedef void ml_HostTopicFn(const char *name, const char *summary, const char *text,
                            void *user);
void ml_host_topics(ml_Host *h, ml_HostTopicFn *fn, void *user);
/* Why the code exists, and an example of each kind that is no case of a primitive, run now.
 */
bool ml_host_explain(ml_Host *h, const char *code, ml_Text *why, ml_Text *examples);
/* Whether the expression or chunk, called with the focus when it is a function, gives
 * something true; an error is no, and what it says stands in *why. */
bool ml_host_test(ml_Host *h, const char *code, ml_Text *why);
/* Names for completion: calls fn for each global, field or method that begins with
 * `prefix`, where `path` is what stands before the last . or : ("" for globals, ":"
 * for methods of schedules). No metamethod is run. */
void ml_host_names(ml_Host *h, const char *path, const char *prefix,
                   void (*fn)(const char *name, const char *what, void *user), void *user);
/* The same for what moon.PATH() gives: a list of names, or of {name, what it is}. Runs it. */
void ml_host_words(ml_Host *h, const char *path, const char *prefix,
                   void (*fn)(const char *name, const char *what, void *user), void *user);
/* What the global of that name holds, looked up without running Lua. */
typedef enum ml_HostHolds {
    ML_HOLDS_NOTHING,
    ML_HOLDS_FOCUS, /* the schedule in focus */
    ML_HOLDS_OTHER,
} ml_HostHolds;
ml_HostHolds ml_host_holds(ml_Host *h, ml_Str name);
/* The same as an argument of a primitive of the focus, in cx; element: of the list that it
 * holds, or 0. false: it is none. */
bool ml_host_held_arg(ml_Host *h, ml_Str name, int64_t element, ml_Ctx *cx, ml_Arg *out);
struct ml_Intrins *ml_host_intrins(ml_Host *h); /* what was registered in its Lua state */
ml_Engine *ml_host_engine(ml_Host *h);          /* of its Lua state: the session's */
size_t ml_host_memory(ml_Host *h);              /* bytes that Lua holds */

#endif
