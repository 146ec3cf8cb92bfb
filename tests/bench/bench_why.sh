#!/bin/bash
# bench_why - the planted causes of :why-slow: named first, predicted and measured gain. To reach: 17 of 19 first,
# each gain within a factor of 2 of its prediction.
set -u
json=0
[ "${1-}" = --json ] && json=1
WHY_JSON=$json exec "$MOONLOOP" --no-init --private -b tests/bench/bench_why.lua 2>/dev/null
