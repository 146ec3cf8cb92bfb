#!/bin/sh
# Prints C source that holds the given text files as one array of ml_EmbeddedFile
# (src/core/base/embedded.h), ended by an entry without a name:
#   embed.sh ARRAY PREFIX FILE...     PREFIX is cut off the names
# The text is byte for byte that of the file. A NUL byte is refused: these are texts.
set -eu
array=$1 prefix=$2
shift 2
LC_ALL=C
export LC_ALL

printf '/* Written by scripts/embed.sh. Do not edit. */\n#include "moonloop/core/base/embedded.h"\n\n'
k=0
for f in "$@"; do
    if [ "$(tr -d '\000' <"$f" | wc -c)" != "$(wc -c <"$f")" ]; then
        echo "embed: $f holds a NUL byte" >&2
        exit 1
    fi
    printf 'static const char text_%d[] = ""\n' "$k"
    # The x keeps a missing last newline visible to awk; it is taken off again at the end.
    { cat "$f" && printf 'x\n'; } | awk '
        function quoted(s) {
            gsub(/\\/, "&&", s)
            gsub(/"/, "\\\\&", s)
            gsub(/\?/, "\\\\&", s)
            gsub(/\t/, "\\t", s)
            gsub(/\r/, "\\r", s)
            return s
        }
        NR > 1 { printf "    \"%s\\n\"\n", quoted(last) }
        { last = $0 }
        END {
            last = substr(last, 1, length(last) - 1)
            if (last != "") printf "    \"%s\"\n", quoted(last)
        }'
    printf '    "";\n'
    k=$((k + 1))
done

printf '\nconst ml_EmbeddedFile %s[] = {\n' "$array"
k=0
for f in "$@"; do
    printf '    {"%s", text_%d, sizeof text_%d - 1},\n' "${f#"$prefix"}" "$k" "$k"
    k=$((k + 1))
done
printf '    {0, 0, 0},\n};\n'
