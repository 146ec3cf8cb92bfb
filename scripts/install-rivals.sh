#!/bin/sh
# Installs what `make bench-kernels` compares with, into a folder of its own, and prints the versions:
#   install-rivals.sh FOLDER [openblas] [onednn] [torch] [xgboost]   (the first three when none is named)
# OpenBLAS is Debian's; oneDNN (with GNU OpenMP) and PyTorch are PyPI's, in a virtual environment of Python.
# xgboost is no rival but the libxgboost of PyPI, which tests run with beside that of Debian.
# What cannot be had is named, and is no failure: the comparison leaves it out.
set -u
[ $# -ge 1 ] || { echo "usage: install-rivals.sh FOLDER [openblas] [onednn] [torch] [xgboost]" >&2; exit 2; }
folder=$1
shift
[ $# -gt 0 ] || set -- openblas onednn torch
here=$(dirname "$0")
python=$folder/bin/python

if [ ! -x "$python" ]; then
    python3 -m venv "$folder" || { echo "install-rivals: no Python with venv (Debian package python3-venv)" >&2; exit 1; }
fi
need() { # MODULE PACKAGE...
    "$python" -c "import $1" 2>/dev/null && return
    shift
    echo "install-rivals: installing $*"
    "$python" -m pip install -q --disable-pip-version-check "$@" || echo "install-rivals: absent: $*" >&2
}
need numpy numpy
for rival; do
    case $rival in
    openblas) ls /usr/lib/*/libopenblas.so.0 >/dev/null 2>&1 || sh "$here/install-deps.sh" build ;;
    onednn)
        if [ ! -e "$folder/lib/libdnnl.so.3" ]; then
            echo "install-rivals: installing oneDNN"
            "$python" -m pip install -q --disable-pip-version-check --no-deps onednn-cpu-gomp ||
                echo "install-rivals: absent: onednn-cpu-gomp" >&2
        fi
        ;;
    torch) need torch torch ;;
    xgboost)
        if ! ls "$folder"/lib/python3*/site-packages/xgboost/lib/libxgboost.so >/dev/null 2>&1; then
            echo "install-rivals: installing xgboost-cpu"
            "$python" -m pip install -q --disable-pip-version-check --no-deps 'xgboost-cpu>=2.1' ||
                echo "install-rivals: absent: xgboost-cpu" >&2
        fi
        continue
        ;;
    *) echo "install-rivals: no rival is named $rival: openblas, onednn, torch and xgboost are" >&2; exit 2 ;;
    esac
    printf '%s: ' "$rival"
    echo version | "$python" "$here/../tests/bench/rivals/rival.py" "$rival" 1 2>/dev/null |
        sed -n 's/^version //p; s/^absent/absent:/p'
done
