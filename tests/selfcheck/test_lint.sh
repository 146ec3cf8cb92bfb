#!/bin/bash
# The test of scripts/lint.sh: each rule, broken once, is found at its place.
set -u
lint=$PWD/scripts/lint.sh
cd "$TMPDIR" || exit 1
mkdir -p src/core src/verify src/repl

clean() { # writes files that keep all rules
    rm -f src/*/*.[ch]
    printf '/*\n * a - a module that keeps the rules: no strcpy(), no malloc().\n */\n#include "core/a.h"\n\n#include <stdio.h>\n' >src/core/a.c
    printf 'const char *ml_a = "gets(x)"; // sprintf(y)\n' >>src/core/a.c
    printf '/* a - a header. */\n#ifndef ML_CORE_A_H\n#define ML_CORE_A_H\nextern const char *ml_a;\n#endif\n' >src/core/a.h
}
finds() { # NAME WORDS: the lint is red and says WORDS
    local said
    if said=$(bash "$lint") || ! grep -q -- "$2" <<<"$said"; then
        echo "not ok finds $1" && sed 's/^/    /' <<<"$said"
    else
        echo "ok finds $1"
    fi
}

clean
bash "$lint" >out && echo 'ok accepts what keeps the rules' || { echo 'not ok accepts what keeps the rules'; cat out; }
clean && echo '#include "repl/b.h"' >>src/core/a.c
finds 'an upward include' 'src/core/a.c:8: core may not include repl'
clean && echo '#include "a.h"' >>src/core/a.c
finds 'an include without its folder' 'a.h" by its path'
clean && echo '#include <lua.h>' >>src/core/a.c
finds 'a library in the wrong place' '<lua.h> belongs to'
clean && echo '#include "config.h"' >>src/core/a.h
finds 'the configuration in a header' 'config.h is for .c files'
clean && sed -i 's/^#include "core.*/#include <string.h>/' src/core/a.c
finds 'a .c file without its own header first' 'its own header (core/a.h) first'
clean && sed 's/extern.*//' src/core/a.h >src/core/b.h
finds 'a wrong include guard' 'src/core/b.h:1: the include guard'
clean && cp src/core/a.h src/verify/a.h
finds 'two guards alike' 'is that of src/core/a.h'
clean && echo 'int f(void) { return atoi(ml_a); }' >>src/core/a.c
finds 'a banned function' 'src/core/a.c:8: banned function'
clean && echo 'void *f(void) { return malloc(1); }' >>src/core/a.c
finds 'memory outside of the arena' 'src/core/a.c:8: memory comes from the context'
clean && sed -i 1,3d src/core/a.c
finds 'a missing head' 'src/core/a.c:1: no comment at the head'
