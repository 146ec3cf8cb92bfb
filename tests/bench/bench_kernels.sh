#!/bin/sh
# bench_kernels - compiled code. Alone: its figures (bench_kernels.lua), with a fresh database. With set=NAME and
# more (scripts/bench.mk): rows of a set beside rivals (bench_kernels_table.lua).
set -eu
if ! "$MOONLOOP" --features | grep -q '^llvm=[0-9]'; then
    echo "bench_kernels: skipped: libLLVM 19 is not there" >&2
    exit 0
fi
case ${1-} in
set=*)
    python=${RIVALS_FOLDER:-build/rivals}/bin/python
    [ -x "$python" ] || python=python3
    exec "$MOONLOOP" --private -b tests/bench/bench_kernels_table.lua python="$python" "$@"
    ;;
esac
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
XDG_DATA_HOME=$home "$MOONLOOP" -b tests/bench/bench_kernels.lua "$@"
