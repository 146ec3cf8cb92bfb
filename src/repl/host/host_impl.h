/* host_impl - what the files of the session's Lua state share. */
#ifndef ML_REPL_HOST_HOST_IMPL_H
#define ML_REPL_HOST_HOST_IMPL_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "repl/host/host.h"

struct ml_Host {
    ml_Session *ss;
    ml_Observer observer;
    lua_State *L;
    int env;          /* registry references */
    int result;       /* table of the last line's values, or LUA_NOREF */
    int error;        /* the last error object */
    const char *line; /* what is being run, or NULL */
    char nothing[80]; /* the name that it read last which is nothing; or empty */
    ml_Text typed;    /* of the last result: the name that the line was, `a.b`; or empty */
    ml_Text kept;     /* the line that was asked about last; empty: none */
    ml_Text preamble; /* imports that were typed before a program */
    int kept_chunk;   /* what Lua made of it: a function, or (by kept_status) an error */
    int kept_status;
    ml_Text functions; /* the typed lines that hold some, as they run later */
    ml_Text python;    /* what the kept line is in Lua, when it is Python; else empty */
    unsigned habits;   /* of Python that the kept line shows, */
    unsigned told;     /* and that were told */
    size_t bytes;      /* held by Lua */
    size_t limit;      /* 0: none */
    const char *named; /* the module of -l until its file is looked for; else NULL */
};

ml_Host *ml_host_of(lua_State *L);
/* lua_pcall within reach of Ctrl-C: the status. Where Ctrl-C went past every pcall the error
 * is `interrupted`, whatever the code made of it. */
int ml_host_call(ml_Host *h, int n_args, int n_results);
/* lua_pcall of fn with `user` as its argument: what it raises is nobody's to know. The stack is
 * as before. */
bool ml_host_protected(ml_Host *h, lua_CFunction fn, void *user);
/* Appends what the error value on top says, and pops it. */
void ml_host_add_why(lua_State *L, ml_Text *why);
/* Calls what is on the stack; false: the error was printed. */
bool ml_host_run(ml_Host *h, int n_args, int n_results, bool typed);
/* Calls the function below its arguments and keeps the values for ml_host_print_result; false:
 * the error was printed. And forgets what the line before gave. */
bool ml_host_run_for_result(ml_Host *h, int n_args);
/* A script file (ml_host_file); *returned: a schedule, which is the focus now. */
bool ml_host_run_script(ml_Host *h, const char *path, int argc, char **argv,
                        bool *returned);
/* Pushes the script's function, or what is wrong with it: Lua's *status; path NULL:
 * standard input. A script that 0.1.0 saved returns its schedule, too. false: the file
 * cannot be read, errno says why, and nothing is pushed. */
bool ml_host_load_script(lua_State *L, const char *path, int *status);
/* Keeps the text of the script, whose chunk's name is on top: what its functions read when they run
 * is looked for in it. */
void ml_host_keep_script(lua_State *L, ml_Str text);
/* The error value is on top; it is printed and popped. typed: the chunk stands before one's
 * eyes, so no place is given. */
void ml_host_report(ml_Host *h, bool typed);
/* io.write goes the way of print. */
void ml_host_take_writes(lua_State *L);
/* The functions of the prompt into the table moon, on top, and the globals; leaves moon. */
void ml_host_add_functions(lua_State *L);
/* --safe: takes away what reaches beyond the session. */
void ml_host_make_safe(lua_State *L);
/* What is wrong with the name of a global that is nothing, with what may be meant. */
void ml_host_unknown(ml_Host *h, const char *name, bool called, ml_Text *out);
/* What a value of its own names is at the prompt: the names in a table of moon, what a function
 * does; name: as it was typed, or NULL. false: it is shown as any value. Runs no code that is
 * not ours. */
bool ml_host_list(lua_State *L, int idx, const char *name, ml_Text *out);
/* What the function or table is where it is moonloop's: a signature, a list of its objects, a table
 * of moon with its names. false: it is none, or it has a text of its own. */
bool ml_host_add_own(lua_State *L, int idx, ml_Text *out);
/* "function f(a, b)"; name may be NULL. */
void ml_host_add_function(lua_State *L, int idx, const char *name, ml_Text *out);
/* Pushes a list of the keys of the table that are strings, sorted; at most that many. */
void ml_host_push_keys(lua_State *L, int idx, lua_Integer most);
/* Once a typed line has run: the name a.b that it was into h->typed, and whether that is nothing
 * (an error was printed). */
bool ml_host_is_something(ml_Host *h, const char *text);
/* Whether the text has the name, which is nothing, only as an element of lists given to
 * primitives, and as the last of one: Lua would drop it there without a word. */
bool ml_host_is_dropped(ml_Host *h, const char *text, const char *name);
/* Pushes the line as a function, or what is wrong with it: Lua's status. */
int ml_host_load_line(ml_Host *h, const char *text, bool typed);
/* How the line that was Python is written in Lua: once for each habit. */
void ml_host_note_python(ml_Host *h);
/* `i, j, k = CALL` as a line that gives each name its element where the call gives one list, as
 * Python does: it calls its `...`, which is ml_host_spread_values, with how many names there are and
 * what the call gave. false: the line is another. */
bool ml_host_spread(const char *text, ml_Text *out);
int ml_host_spread_values(lua_State *L);
/* What an assignment leaves to be said: a module is no schedule. */
void ml_host_note_assigned(ml_Host *h, const char *text);
/* Once package.path is what the environment says: the modules of -l are found there. */
void ml_host_keep_path(lua_State *L);
/* The name that --safe took away, when that is what a message of Lua's is about; or NULL.
 */
const char *ml_host_gone(const char *message);
/* __index of the environment of typed lines: unknown names are methods of the focus. */
int ml_host_name(lua_State *L);
void ml_host_push_moon(lua_State *L); /* ours, whatever globals hold */
/* moon.hooks.typed: lines of an example in a session of their own. */
int ml_host_typed(lua_State *L);
/* Pushes the table of methods of schedules: primitives, can_NAME and all others. */
void ml_host_push_methods(lua_State *L);
bool ml_host_is_method(lua_State *L, const char *name);
int ml_host_bind_key(lua_State *L); /* moon.bind_key */
int ml_host_theme(lua_State *L);    /* moon.theme */

#endif
