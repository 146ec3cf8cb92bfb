#!/bin/bash
# The test of scripts/lint.sh: each rule, broken once, is found at its place; what only looks like an
# offence is none.
set -u
lint=$PWD/scripts/lint.sh
cd "$TMPDIR" || exit 1
mkdir -p src/core src/verify src/repl doc

readme() { # FOLDER ALLOWED
    printf '# %s\n\n- May include: `%s` and its folders.\n- Start with: `a.h`.\n' "$1" "$2" >"src/$1/README.md"
}
clean() { # writes files that keep all rules
    rm -rf src/*/*.[ch] src/*/*.def src/*/*/ doc/* lua
    for d in core verify repl; do readme $d core; done
    printf '/*\n * a - a module that keeps the rules: no strcpy(), no malloc().\n */\n#include "moonloop/core/a.h"\n\n#include <stdio.h>\n' >src/core/a.c
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

accepts() { # NAME: the lint is green
    if bash "$lint" >out 2>&1; then
        echo "ok accepts $1"
    else
        echo "not ok accepts $1" && sed 's/^/    /' out
    fi
}
body() { # LINES: a function of so many lines, braces included, in the file for it
    printf 'int f(int x)\n{\n'
    for ((k = 2; k < $1; k++)); do echo '    x++;'; done
    echo '}'
}
room() { # FOLDER NAME INCLUDES...: a header in a folder of the library
    mkdir -p "src/$1" && readme "$1" "${1%%/*}"
    [ "${1%%/*}" != repl ] || sed -i 's/`repl` and/`core` and its folders, `repl` and/' "src/$1/README.md"
    printf '/* %s - a header. */\n#ifndef ML_%s_H\n#define ML_%s_H\n' "$2" "${2^^}" "${2^^}" >"src/$1/$2.h"
    printf '#include "%s"\n' "${@:3}" | sed '/"repl/! s|"|&moonloop/|' >>"src/$1/$2.h" && echo '#endif' >>"src/$1/$2.h"
}
chapter() { # a chapter with its index
    printf '# Chapters\n\n- [lowering.md](lowering.md)\n- [design.md](design.md)\n' >doc/README.md
    printf '# Lowering\n\n## 2. Passes\n\n### 2.1 One\n\n### 2.2 Two\n\n### 2.4 Four\n' >doc/lowering.md
    printf '# Design\n\n## 3. Data\n' >doc/design.md
}

clean
bash "$lint" >out && echo 'ok accepts what keeps the rules' || { echo 'not ok accepts what keeps the rules'; cat out; }
clean && echo '#include "repl/b.h"' >>src/core/a.c
finds 'an upward include' 'src/core/a.c:8: core may not include repl'
clean && echo '#include "core/a.h"' >>src/core/a.c
finds 'an include of the library that is not as it is installed' 'src/core/a.c:8: include "moonloop/core/a.h"'
clean && echo '#include <repl/b.h>' >>src/core/a.c
finds 'an include of ours as if it were of the system' 'src/core/a.c:8: <repl/b.h> is ours'
clean && echo '#include "a.h"' >>src/core/a.c
finds 'an include without its folder' 'a.h" by its path'
clean && echo '#include <lua.h>' >>src/core/a.c
finds 'a library in the wrong place' '<lua.h> belongs to'
clean && echo '#include "config.h"' >>src/core/a.h
finds 'the configuration in a header' 'config.h is for .c files'
clean && sed -i 's/^#include "moonloop.*/#include <string.h>/' src/core/a.c
finds 'a .c file without its own header first' 'its own header (core/a.h) first'
clean && sed 's/extern.*//' src/core/a.h >src/core/b.h
finds 'a wrong include guard' 'src/core/b.h:1: the include guard'
clean && cp src/core/a.h src/verify/a.h
finds 'two guards alike' 'is that of src/core/a.h'
clean && echo 'int f(void) { return atoi(ml_a); }' >>src/core/a.c
finds 'a banned function' 'src/core/a.c:8: banned function'
clean && echo 'void f(int x) { assert(x); }' >>src/core/a.c
finds 'a function that ends the session' 'src/core/a.c:8: banned function:  assert'
clean && echo 'void f(void) { abort(); }' >>src/core/a.c
finds 'a call of abort' 'src/core/a.c:8: banned function:  abort'
clean && echo 'void *f(void) { return malloc(1); }' >>src/core/a.c
finds 'memory outside of the arena' 'src/core/a.c:8: memory comes from the context'
clean && sed -i 1,3d src/core/a.c
finds 'a missing head' 'src/core/a.c:1: no comment at the head'

clean && room core/low low core/a.h
room core/high high core/low/low.h core/a.h
accepts 'folders that include each other one way'
room core/low low core/a.h core/high/high.h
finds 'a circle of two folders' 'circle: core/low -> core/high -> core/low\|circle: core/high -> core/low -> core/high'
finds 'an include of each edge of a circle' 'src/core/high/high.h:4: "core/low/low.h"'
clean && room core/low low core/high/high.h
room core/high high core/top/top.h
room core/top top core/low/low.h
finds 'a circle of three folders' 'circle: core/[a-z]* -> core/[a-z]* -> core/[a-z]* -> core/'
clean && room repl/view view repl/bind/bind.h
room repl/bind bind repl/view/view.h
finds 'a circle of folders of the prompt' 'circle: repl/view -> repl/bind -> repl/view\|circle: repl/bind -> repl/view -> repl/bind'
clean && room repl/bind bind core/a.h
printf '/* b - no word of it. */\nint ml_b;\n' >src/repl/bind/b.c
finds 'a file of the bindings that has nothing to do with Lua' 'src/repl/bind/b.c: a file of repl/bind/'
clean && room repl/view view core/a.h
rm src/repl/view/README.md
finds 'a folder of the prompt without a README' 'src/repl/view: no README.md'
clean && room core/low low core/a.h
rm src/core/low/README.md
finds 'a folder of the library without a README' 'src/core/low: no README.md'
clean && room core/low low core/a.h
echo '# low' >src/core/low/README.md
finds 'a README without its two lines' 'src/core/low/README.md:1: no lines'
clean && room core/low low core/a.h
sed -i 's/^- May.*/- May include: `core`, and much of\n  `core\/base`./' src/core/low/README.md
accepts 'includes of what the README names'
room core/high high core/low/low.h core/a.h
readme core/high core/base
finds 'an include that the README does not name' 'src/core/high/high.h:4: the README.md of core/high does not name core/low'

clean && body 100 >>src/core/a.c
accepts 'a function of 100 lines'
clean && body 101 >>src/core/a.c
finds 'a function of 101 lines' 'src/core/a.c:8: f has 101 lines'
clean && { echo '/* long: one case a kind */' && body 300; } >>src/core/a.c
accepts 'a long switch that says why'
clean && { echo '/* long: */' && body 300; } >>src/core/a.c
finds 'a long switch that does not say why' 'f has 300 lines'
clean && { echo '/* long: one case a kind */' && body 50 && echo && body 101; } >>src/core/a.c
finds 'a long function behind an excused one' 'src/core/a.c:61: f has 101 lines'

exports() { # FILE...: who names the function that the header declares, besides where it is defined
    clean && sed -i 's/^extern/int ml_b(void);\n&/' src/core/a.h
    printf 'int ml_b(void)\n{\n    return 0;\n}\n' >>src/core/a.c
    for f; do printf '/* f - a file. */\n#include "moonloop/core/a.h"\nint f(void) { return ml_b(); }\n' >"$f"; done
}
exports
finds 'a function that nobody calls' 'src/core/a.h:4: ml_b is named nowhere else'
exports && echo 'int ml_c(void) { return ml_b(); }' >>src/core/a.c
finds 'a function that its own file alone calls' 'src/core/a.h:4: ml_b is used in one file'
exports src/verify/f.c
accepts 'a function that another file calls'
mkdir -p examples && exports examples/f.c
accepts 'a function that an example calls'
rm -r examples

clean && chapter && echo '/* Source: lowering 2.1, 2.2 and 2.4; DESIGN section 3. See lowering.md 2.' >>src/core/a.c
echo ' * Prose (lowering 2.1 "One", 2.4), design 3. In 9 lines. */' >>src/core/a.c
accepts 'citations of headings that exist'
clean && chapter && echo '/* Source: lowering 2.3. */' >>src/core/a.c
finds 'a citation of no heading' 'src/core/a.c:8: lowering 2.3 is no heading of doc/lowering.md'
clean && chapter && printf '/* As it is in lowering\n * 7; so it is. */\n' >>src/core/a.c
finds 'a citation broken by the end of a line' 'src/core/a.c:9: lowering 7 is'
clean && chapter && cp doc/lowering.md doc/low-level.md && echo '- [low-level.md](low-level.md)' >>doc/README.md
printf '/* As it is in low-\n * level 7. */\n' >>src/core/a.c
finds 'a name broken at its hyphen' 'src/core/a.c:9: low-level 7 is'
clean && chapter && echo '/* Source: lowering 2.1 (one), 2.5. */' >>src/core/a.c
finds 'a second number' 'src/core/a.c:8: lowering 2.5 is'
clean && chapter && echo '/* Source: lowering 2.1 to 2.4. */' >>src/core/a.c
finds 'a hole in a range' 'src/core/a.c:8: lowering 2.3 is'
clean && chapter && echo '/* Source: DESIGN 4. */' >>src/core/a.c
finds 'a citation of the design' 'src/core/a.c:8: DESIGN 4 is no heading of doc/design.md'
clean && chapter && mkdir -p lua && printf -- '-- a module\nlocal a = 1 -- Source: lowering 8\n' >lua/a.lua
finds 'a citation in a script' 'lua/a.lua:2: lowering 8 is'
clean && chapter && printf '/* what is where */\nML_ROW(a) /* lowering 8 */\n' >src/core/rows.def
finds 'a citation in a table' 'src/core/rows.def:2: lowering 8 is'
clean && chapter && echo 'const char *ml_b = "lowering 8";' >>src/core/a.c
accepts 'a text that reads like a citation'
clean && chapter && rm doc/lowering.md
finds 'a chapter that is gone' 'the index names what is not there: lowering.md'
clean && chapter && echo '# More' >doc/more.md
finds 'a chapter that the index leaves out' 'does not name more.md'
