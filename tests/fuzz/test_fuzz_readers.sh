#!/bin/bash
# A moment of the fuzzers of program texts, saved schedules and session text; `make fuzz` runs
# more of them. Source: style 10.
set -u
sessions=150
[ -z "${ML_QUICK:-}" ] || sessions=40
try() { # PROGRAM N
    if timeout 250 "$ML_OUT/tests/fuzz/$1" "$2" 1 >"$TMPDIR/log" 2>&1; then
        echo "ok $1 finds nothing in $2 tries"
    else
        echo "not ok $1 finds nothing in $2 tries"
        tail -n 60 "$TMPDIR/log" | sed 's/^/    /'
    fi
}
try fuzz_parse 500
try fuzz_misspell 300
try fuzz_json 3000
try fuzz_session "$sessions"
