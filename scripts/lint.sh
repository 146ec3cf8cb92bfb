#!/bin/bash
# The rules of the house that neither compiler nor clang-format knows: lint.sh (from the root)
#   includes  point downwards (core <- verify <- primitives <- tune <- work <- repl,
#             core <- codegen), and no folders include each other in a circle;
#             a .c file includes its own header first; a header has the guard of its path
#   libraries each is included in one place
#   banned    functions that overflow, that hide state, or that abort
#   long      a function has at most 100 lines, but for a long switch that says why
#   unused    a function that a header declares is named elsewhere, too
#   heads     every file opens with a comment that says what it is
#   rooms     every folder has a README.md: what is in it, what it may include (and it includes nothing
#             else), where to start reading; in repl/bind/ no file is without Lua
#   citations in comments name headings of doc/ that exist
#   escapes   of the terminal stand in src/repl/screen/terminal.c alone
#   reach     what reaches a file, a process or native code is in src/repl/reach.def
#   names     what the library exports begins with ml_ (checked when it is built)
# Prints FILE:LINE: what is wrong. Exit 1 when anything is. `lint.sh --cites` lists all citations.
set -u
rules=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lint
bad=$(mktemp) || exit 1
trap 'rm -f "$bad"' EXIT
mapfile -t sources < <(find src -name '*.[ch]' | sort)
mapfile -t tests < <(find tests -name '*.[ch]' 2>/dev/null | sort)
mapfile -t scripts < <(find scripts lua examples tests .ci/run \( -name '*.sh' -o -name '*.awk' -o -name '*.lua' -o -path .ci/run \) 2>/dev/null | sort)
mapfile -t others < <(find src lua examples tests scripts Makefile \( -name '*.def' -o -name '*.case' -o -name '*.py' -o -name '*.md' -o -name '*.mk' -o -name Makefile \) 2>/dev/null | sort)
mapfile -t users < <(find src examples scripts -name '*.def' -o -name '*.c' ! -path 'src/*' 2>/dev/null | sort)
mapfile -t chapters < <(find doc -name '*.md' ! -name README.md 2>/dev/null | sort)
[ ${#sources[@]} != 0 ] || exit 0

cites() { # [-v all=1]
    [ ${#chapters[@]} = 0 ] || awk -v chapters="${chapters[*]}" "$@" -f "$rules/strip.awk" -f "$rules/cites.awk" \
        "${sources[@]}" ${tests[@]+"${tests[@]}"} ${scripts[@]+"${scripts[@]}"} ${others[@]+"${others[@]}"}
}
if [ "${1:-}" = --cites ]; then
    cites -v all=1
    exit
fi

{
    awk -f "$rules/includes.awk" "${sources[@]}"
    awk -f "$rules/strip.awk" -f "$rules/code.awk" "${sources[@]}" ${tests[@]+"${tests[@]}"}
    awk -f "$rules/strip.awk" -f "$rules/unused.awk" "${sources[@]}" ${tests[@]+"${tests[@]}"} \
        ${users[@]+"${users[@]}"} ${chapters[@]+"${chapters[@]}"} | sort
    # A script may have its #! line first.
    [ ${#scripts[@]} = 0 ] || awk '
        FNR == 1 && /^#!/ { skipped = 1; next }
        (FNR == 1 || (FNR == 2 && skipped)) && !/^(#|--)/ {
            print FILENAME ":1: no comment at the head that says what the file is"
        }
        { skipped = 0 }' "${scripts[@]}"
    # moonloop-draw is one file.
    find src -mindepth 1 -type d ! -path 'src/draw' | sort | while read -r room; do
        if [ ! -e "$room/README.md" ]; then
            echo "$room: no README.md that says what is in the folder and where to start reading"
        elif ! grep -q '^- May include: ' "$room/README.md" || ! grep -q '^- Start with: ' "$room/README.md"; then
            echo "$room/README.md:1: no lines \`- May include: ...' and \`- Start with: ...'"
        fi
    done
    [ ! -e src/repl/bind ] || grep -rLE 'luaL?_' --include='*.c' src/repl/bind | sed 's|$|: a file of repl/bind/ that has nothing to do with Lua|'
    cites
    # The index of the chapters names each, and nothing else.
    if [ ${#chapters[@]} != 0 ]; then
        diff <(printf '%s\n' "${chapters[@]##*/}" | sort) \
            <(grep -oE '\]\([a-z-]+\.md\)' doc/README.md | tr -d ']()' | sort -u) |
            sed -nE 's|^< |doc/README.md:1: the index does not name |p; s|^> |doc/README.md:1: the index names what is not there: |p'
    fi
    # What reaches a file, a process or native code is in the table of --safe.
    [ ! -e src/repl/reach.def ] || bash "${rules%/*}/reach.sh"
} >>"$bad"

lib=build/libmoonloop.a
if [ -e $lib ] && command -v nm >/dev/null; then
    nm -g --defined-only $lib 2>/dev/null | awk -v lib=$lib '
        NF == 3 && $3 !~ /^ml_/ && $3 !~ /^(__|_GLOBAL_)/ { print lib ": exported name without ml_: " $3 }' >>"$bad"
fi

if [ -s "$bad" ]; then
    cat "$bad"
    echo "lint: $(grep -vc '^    ' "$bad") offences"
    exit 1
fi
echo "lint: ${#sources[@]} sources, ${#tests[@]} tests and ${#scripts[@]} scripts keep the rules"
