#!/bin/bash
# The rules of the house that neither compiler nor clang-format knows: lint.sh (from the root)
#   includes  point downwards (core <- verify <- primitives <- tune <- work <- repl, core <- codegen);
#             a .c file includes its own header first; a header has the guard of its path
#   libraries each is included in one place
#   banned    functions that overflow, that hide state, or that abort
#   heads     every file opens with a comment that says what it is
#   reach     what reaches a file, a process or native code is in src/repl/reach.def
#   names     what the library exports begins with ml_ (checked when it is built)
# Prints FILE:LINE: what is wrong. Exit 1 when anything is.
set -u
bad=$(mktemp) || exit 1
trap 'rm -f "$bad"' EXIT
mapfile -t sources < <(find src -name '*.[ch]' | sort)
mapfile -t tests < <(find tests -name '*.[ch]' 2>/dev/null | sort)
mapfile -t scripts < <(find scripts lua examples tests .ci/run \( -name '*.sh' -o -name '*.lua' -o -path .ci/run \) 2>/dev/null | sort)
[ ${#sources[@]} != 0 ] || exit 0

# What each folder may include. The public header stands above all of the library.
awk '
    BEGIN {
        may["core"] = "core"
        may["verify"] = "core verify"
        may["primitives"] = "core verify primitives"
        may["codegen"] = "core verify codegen"
        may["tune"] = "core verify primitives codegen tune"
        may["model"] = may["tune"] " model"
        may["work"] = may["model"] " work"
        may["repl"] = may["work"] " repl"
        may["draw"] = "draw"
        may["moonloop.h"] = may["work"]
        only["lua.h"] = only["lauxlib.h"] = only["lualib.h"] = "^src/repl/bind/"
        only["readline/readline.h"] = only["readline/history.h"] = "^src/repl/line(_[a-z]+)?\\.c$"
        only["curses.h"] = only["ncurses.h"] = only["ncursesw/curses.h"] = "^src/repl/screen/curses\\.c$"
        only["cgraph.h"] = only["gvc.h"] = only["graphviz/cgraph.h"] = only["graphviz/gvc.h"] = "^src/draw/"
        only["xgboost/c_api.h"] = "^src/tune/model/xgb\\.c$"
        only["sqlite3.h"] = "^src/tune/db/"
    }
    FNR == 1 { split(FILENAME, part, "/"); first = 1 }
    !/^[ \t]*#[ \t]*include/ { next }
    {
        name = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
        quoted = name ~ /^"/
        name = substr(name, 2)
        sub(/[">].*$/, "", name)
        at = FILENAME ":" FNR ": "
        if (quoted && (name == "config.h" || name == "version.h")) {
            if (FILENAME ~ /\.h$/)
                print at "headers are installed; " name " is for .c files"
        } else if (quoted) {
            split(name, to, "/")
            if (!(to[1] in may))
                print at "include \"" name "\" by its path below src/"
            else if (index(" " may[part[2]] " ", " " to[1] " ") == 0)
                print at part[2] " may not include " to[1] " (an upward include)"
        }
        if (name in only && FILENAME !~ only[name])
            print at "<" name "> belongs to " only[name]
        if (name ~ /^llvm-c\// && FILENAME !~ /^src\/codegen\/llvm\//)
            print at "<" name "> belongs to src/codegen/llvm/"
        own = FILENAME
        sub(/^src\//, "", own); sub(/\.c$/, ".h", own)
        if (FILENAME ~ /\.c$/ && first && name != own) {
            if ((getline line < ("src/" own)) >= 0)
                print at "a .c file includes its own header (" own ") first"
            close("src/" own)
        }
        first = 0
    }' "${sources[@]}" >>"$bad"

# Include guards: ML_CORE_EXPR_H for src/core/expr.h (folders may be left out, the file's own name
# not), and no two alike.
for f in "${sources[@]}"; do
    [[ $f == *.h ]] || continue
    name=$(basename "$f" .h | tr 'a-z.-' 'A-Z__')
    guard=$(sed -nE "s/^#ifndef (ML_([A-Z0-9_]+_)?${name}_H|ML_${name}_H)\$/\1/p" "$f" | head -n 1)
    if [ -z "$guard" ] || ! grep -qx "#define $guard" "$f"; then
        echo "$f:1: the include guard must be like ML_CORE_${name}_H" >>"$bad"
    else
        echo "$guard $f"
    fi
done | sort | awk '$1 == last { print $2 ":1: the include guard " $1 " is that of " file } { last = $1; file = $2 }' >>"$bad"

# Code without comments and texts, so that a banned word in a sentence is no offence.
awk '
    FNR == 1 { comment = 0 }
    {
        s = $0
        out = ""
        while (s != "") {
            if (comment) {
                k = index(s, "*/")
                if (!k) break
                s = substr(s, k + 2); comment = 0
            } else if (match(s, /"([^"\\]|\\.)*"|\/\*|\/\/|\047([^\047\\]|\\.)+\047/)) {
                token = substr(s, RSTART, 2)
                out = out substr(s, 1, RSTART - 1)
                if (token == "//") break
                if (token == "/*") comment = 1
                s = substr(s, token == "/*" ? RSTART + 2 : RSTART + RLENGTH)
            } else {
                out = out s
                break
            }
        }
        at = FILENAME ":" FNR ": "
        if (match(out, /(^|[^A-Za-z0-9_])(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|strtok|atoi|atol|atoll|atof|gets|alloca)[ \t]*\(/))
            print at "banned function: " substr(out, RSTART, RLENGTH) "...)"
        if (FILENAME ~ /^src\/(core|verify|primitives|codegen\/lower)\// && FILENAME != "src/core/base/arena.c" &&
            match(out, /(^|[^A-Za-z0-9_])(malloc|calloc|realloc|strdup|strndup)[ \t]*\(/))
            print at "memory comes from the context: " substr(out, RSTART, RLENGTH) "...)"
    }' "${sources[@]}" ${tests[@]+"${tests[@]}"} >>"$bad"

# Heads. A script may have its #! line first.
for f in "${sources[@]}" ${tests[@]+"${tests[@]}"}; do
    awk -v f="$f" '
        NR == 1 && !/^\/[*\/]/ { print f ":1: no comment at the head that says what the file is"; exit }
        { exit }' "$f"
done >>"$bad"
for f in ${scripts[@]+"${scripts[@]}"}; do
    sed -n '/^#!/d; p; q' <(head -n 2 "$f" | sed '1{/^#!/d}') | grep -qE '^(#|--)' ||
        echo "$f:1: no comment at the head that says what the file is" >>"$bad"
done

# What reaches a file, a process or native code is in the table of --safe.
bash scripts/reach.sh >>"$bad"

lib=build/libmoonloop.a
if [ -e $lib ] && command -v nm >/dev/null; then
    nm -g --defined-only $lib 2>/dev/null | awk -v lib=$lib '
        NF == 3 && $3 !~ /^ml_/ && $3 !~ /^(__|_GLOBAL_)/ { print lib ": exported name without ml_: " $3 }' >>"$bad"
fi

if [ -s "$bad" ]; then
    cat "$bad"
    echo "lint: $(wc -l <"$bad") offences"
    exit 1
fi
echo "lint: ${#sources[@]} sources, ${#tests[@]} tests and ${#scripts[@]} scripts keep the rules"
