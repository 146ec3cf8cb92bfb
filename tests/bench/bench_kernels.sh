#!/bin/sh
# bench_kernels - the figures of compiled code (bench_kernels.lua), with a fresh database.
set -eu
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
if ! "$MOONLOOP" --features | grep -q '^llvm=[0-9]'; then
    echo "bench_kernels: skipped: libLLVM 19 is not there" >&2
    exit 0
fi
XDG_DATA_HOME=$home "$MOONLOOP" -b tests/bench/bench_kernels.lua "$@"
