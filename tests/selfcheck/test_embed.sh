#!/bin/bash
# The test of scripts/embed.sh: what is compiled in is byte for byte the file, under its short name.
set -u
embed=$PWD/scripts/embed.sh include=${ML_OUT%/*}/include
cd "$TMPDIR" || exit 1
mkdir -p lua/a
printf 'return "quoted\\n", 1 // 2 -- ??= \303\251\t%%s\r\n\n\nlast line without its end' >lua/a/odd.lua
printf 'x\n' >lua/plain.lua
: >lua/empty.lua
cat >main.c <<'END'
#include <stdio.h>
#include <string.h>
#include "moonloop/core/base/embedded.h"
int main(int argc, char **argv)
{
    for (const ml_EmbeddedFile *f = ml_lua_files; f->name; f++)
        if (argc < 2)
            puts(f->name);
        else if (strcmp(f->name, argv[1]) == 0)
            return fwrite(f->text, 1, f->size, stdout) != f->size || f->text[f->size] != '\0';
    return argc != 1;
}
END
sh "$embed" ml_lua_files lua/ lua/a/odd.lua lua/empty.lua lua/plain.lua >files.c &&
    ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -I"$include" -o show main.c files.c ||
    { echo 'not ok compiles'; exit 1; }

[ "$(./show)" = $'a/odd.lua\nempty.lua\nplain.lua' ] && echo 'ok lists the names below the folder' ||
    echo 'not ok lists the names below the folder'
for f in a/odd.lua empty.lua plain.lua; do
    ./show $f | cmp - lua/$f && echo "ok $f is byte for byte the file" || echo "not ok $f is byte for byte the file"
done

printf 'a\0b' >nul.lua
! sh "$embed" ml_lua_files '' nul.lua >nul.c 2>err && grep -q 'NUL' err && echo 'ok a NUL byte is refused' ||
    echo 'not ok a NUL byte is refused'
