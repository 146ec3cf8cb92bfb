#!/bin/sh
# Copies the headers of the library as they are: install-headers.sh FROM TO
# FROM is the build's include folder, TO holds moonloop/ afterwards. Those of codegen/llvm stay: they are
# for its own files and want LLVM's headers.
set -eu
mkdir -p "$2"
to=$(cd "$2" && pwd)
cd "$1"
find -L moonloop -path moonloop/codegen/llvm -prune -o \( -name '*.h' -o -name '*.def' \) -print |
    xargs cp -L --parents -t "$to"
