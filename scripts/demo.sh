#!/bin/sh
# demo - the main job on a screen: a program loaded, steps by hand with their diffs, refused
# steps with their ways out, the check against the start, compiled code timed against the start
# and the machine's peak, versions, a picture, a tuning run and what it gained.
set -eu
: "${MOONLOOP:=build/moonloop}"
log=$(mktemp)
home=$(mktemp -d)
trap 'rm -rf "$log" "$home"' EXIT

# Records of the demonstration are its own; a later one begins anew.
export XDG_DATA_HOME=$home
echo "moonloop: what follows is a session; lines behind a prompt were typed."
echo
"$MOONLOOP" -i --no-init --private --no-history <examples/demo.mls 2>&1 | tee "$log"
echo

# The demo shows what it says, or it fails.
missing=0
for want in 'focus: matmul' '[1] split' 'iter-not-parallel' '  try ' 'ok   C equals v0' \
    'FLOP/s' 'of the measured peak' 'wrote build/demo-loops.svg' 'trials' 'best ' 'branch tuned-1' \
    'against the start'; do
    if ! grep -qF -- "$want" "$log"; then
        echo "demo: the session did not show: $want" >&2
        missing=1
    fi
done
[ "$missing" = 0 ] || exit 1
echo "A convolution scheduled by a script (examples/conv_by_hand.lua):"
"$MOONLOOP" -b examples/conv_by_hand.lua | grep -E '^(ok|replayed)'
echo
echo "A matrix product scheduled by hand, beside OpenBLAS (examples/gemm.lua):"
"$MOONLOOP" -b examples/gemm.lua
echo
echo "Next: build/moonloop, then :help, or :view for the panes"
