#!/bin/sh
# Looks at the compiler and the libraries, and writes DIR/config.h (for the sources) and
# DIR/config.mk (for the Makefile); a file that would not change keeps its time. Run by make:
#   configure.sh DIR                 both files; fails when something required is missing. Beside DIR stands
#                                    include/moonloop/, with links to the headers of the library
#   configure.sh --version-header F  the git description, as a header of its own
# Nothing machine-specific (paths, dates) goes into config.h: builds are reproducible.
set -u
CC=${CC:-gcc} PKG_CONFIG=${PKG_CONFIG:-pkg-config} VERSION=${VERSION:-0}
LLVM_CONFIG=${LLVM_CONFIG:-llvm-config-19}

# replace FILE: standard input becomes FILE unless FILE already says the same.
replace() {
    cat >"$1.new.$$" && if cmp -s "$1.new.$$" "$1"; then rm -f "$1.new.$$"; else mv "$1.new.$$" "$1"; fi
}

if [ "${1:-}" = --version-header ]; then
    about=$(GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --tags 2>/dev/null)
    printf '/* The commit this was built from; empty outside of git. */\n#ifndef ML_VERSION_H\n#define ML_VERSION_H\n#define ML_GIT_DESCRIPTION "%s"\n#endif\n' \
        "$(printf %s "$about" | tr -cd 'A-Za-z0-9._+-')" | replace "$2"
    exit
fi

out=$1
mkdir -p "$out" || exit 1
if ! command -v "${CC%% *}" >/dev/null 2>&1; then
    echo "configure: the compiler '${CC%% *}' is not installed" >&2
    exit 1
fi
if ! command -v "${PKG_CONFIG%% *}" >/dev/null 2>&1; then
    echo "configure: pkg-config is not installed (Debian package pkg-config)" >&2
    exit 1
fi

# find NAME PACKAGE...: sets NAME_pc to the first package that pkg-config knows, or to nothing.
find_pc() {
    name=$1 found=
    shift
    for p in "$@"; do
        if $PKG_CONFIG --exists "$p" 2>/dev/null; then found=$p && break; fi
    done
    eval "${name}_pc=\$found"
}
# Headers of others are system headers: their warnings are not ours. Macros that a package sets
# for its own examples (-D_XOPEN_SOURCE of Readline) are left out.
cflags() {
    for f in $([ -n "$1" ] && $PKG_CONFIG --cflags-only-I "$1"); do printf -- '-isystem %s ' "${f#-I}"; done
}
libs() {
    [ -n "$1" ] && $PKG_CONFIG --libs "$@"
}
version() {
    [ -n "$1" ] && $PKG_CONFIG --modversion "$1"
}
have() {
    [ -n "$1" ] && echo 1 || echo 0
}

find_pc lua lua5.4 lua-5.4 lua54
find_pc readline readline
find_pc curses ncursesw
find_pc cmocka cmocka
find_pc gvc libgvc
find_pc cgraph libcgraph
find_pc sqlite sqlite3
[ -n "$cgraph_pc" ] || gvc_pc=

# LLVM is opened at run time, never linked: building needs the C headers alone. Other versions
# lack functions of the table (src/codegen/llvm/llvm.def).
llvm_version= llvm_include=
if command -v "${LLVM_CONFIG%% *}" >/dev/null 2>&1; then
    llvm_version=$($LLVM_CONFIG --version 2>/dev/null)
    llvm_include=$($LLVM_CONFIG --includedir 2>/dev/null)
fi
case $llvm_version in
19.*) [ -e "$llvm_include/llvm-c/Orc.h" ] || llvm_version= ;;
*) llvm_version= ;;
esac

# The library is included as "moonloop/core/error.h", by its own sources as by programs that use it.
include=${out%/*}/include/moonloop
mkdir -p "$include" || exit 1
for f in src/*; do
    case $f in src/repl | src/draw | *.md) continue ;; esac
    [ "$include/${f#src/}" -ef "$f" ] || { rm -rf "$include/${f#src/}" && ln -sr "$f" "$include"; }
done

missing=
[ -n "$lua_pc" ] || missing="$missing liblua5.4-dev"
[ -n "$readline_pc" ] || missing="$missing libreadline-dev"
[ -n "$sqlite_pc" ] || missing="$missing libsqlite3-dev"
if [ -n "$missing" ]; then
    echo "configure: missing packages (Debian names):$missing" >&2
    exit 1
fi

replace "$out/config.h" <<END
/* Written by scripts/configure.sh: what this configuration was built with. Do not edit. */
#ifndef ML_CONFIG_H
#define ML_CONFIG_H
#define ML_VERSION "$VERSION"
#define HAVE_READLINE $(have "$readline_pc")
#define HAVE_CURSES $(have "$curses_pc")
#define HAVE_GRAPHVIZ $(have "$gvc_pc")
#define HAVE_LLVM $(have "$llvm_version")
#define ML_LUA_VERSION "$(version "$lua_pc")"
#define ML_READLINE_VERSION "$(version "$readline_pc")"
#define ML_SQLITE_VERSION "$(version "$sqlite_pc")"
#define ML_CURSES_VERSION "$(version "$curses_pc")"
#define ML_GRAPHVIZ_VERSION "$(version "$gvc_pc")"
#endif
END

replace "$out/config.mk" <<END
# Written by scripts/configure.sh. Do not edit.
HAVE_GRAPHVIZ := $(have "$gvc_pc")
HAVE_CMOCKA := $(have "$cmocka_pc")
HAVE_LLVM := $(have "$llvm_version")
LUA_CFLAGS := $(cflags "$lua_pc")
LUA_LIBS := $(libs "$lua_pc")
READLINE_CFLAGS := $(cflags "$readline_pc")
READLINE_LIBS := $(libs "$readline_pc")
SQLITE_CFLAGS := $(cflags "$sqlite_pc")
SQLITE_LIBS := $(libs "$sqlite_pc")
CURSES_CFLAGS := $(cflags "$curses_pc")
CURSES_LIBS := $(libs "$curses_pc")
CMOCKA_CFLAGS := $(cflags "$cmocka_pc")
CMOCKA_LIBS := $(libs "$cmocka_pc")
LLVM_CFLAGS := $([ -n "$llvm_version" ] && printf -- '-isystem %s' "$llvm_include")
GRAPHVIZ_CFLAGS := $([ -n "$gvc_pc" ] && cflags "$gvc_pc")
GRAPHVIZ_LIBS := $([ -n "$gvc_pc" ] && libs "$gvc_pc" "$cgraph_pc")
END
