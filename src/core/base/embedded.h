/*
 * embedded - the texts that are compiled in, so that the program works from any folder.
 *
 * Both arrays are made by scripts/embed.sh at build time, sorted by name, and end with an
 * entry whose name is NULL. The library carries the cases of the primitives (their first
 * case is the example of the help); the Lua part belongs to the REPL and the Lua module and
 * is not in libmoonloop.a.
 */
#ifndef ML_CORE_EMBEDDED_H
#define ML_CORE_EMBEDDED_H

#include <stddef.h>

typedef struct ml_EmbeddedFile ml_EmbeddedFile;

struct ml_EmbeddedFile {
    const char *name; // "fuse.case", "moonloop/init.lua": below the folder it came from
    const char *text; // byte for byte the file, ended by a NUL that size does not count
    size_t size;
};

extern const ml_EmbeddedFile ml_case_files[]; // src/primitives/cases/*.case
extern const ml_EmbeddedFile ml_lua_files[];  // lua/**/*.lua

#endif
