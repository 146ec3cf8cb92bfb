#!/bin/bash
# examples/crash.lua: four kernels that crash, hang, overrun a buffer and eat memory give four
# messages, the next one works, and the exit status is 0.
#   Prints `ok NAME`, `not ok NAME`, or `skip NAME: reason`.
set -u
: "${MOONLOOP:=build/moonloop}"

name='a kernel that goes wrong costs one message'
out=$("$MOONLOOP" examples/crash.lua 2>&1)
status=$?
case $out in *libLLVM*)
    echo "skip $name: libLLVM 19 is not there"
    exit 0 ;;
esac
want='crashes: SIGSEGV, line 8 of the program: access of A at element 1000000, it has 1000
hangs: it did not end within 3 s
overruns: C: element 1000 was written, it has 1000
eats_memory: out of workspace memory: 17179869184 bytes more were asked for, the limit is 4294967296
works: timed'
if [ "$out" = "$want" ] && [ "$status" = 0 ]; then
    echo "ok $name"
else
    printf 'status %s, wanted:\n%s\ngot:\n%s\n' "$status" "$want" "$out"
    echo "not ok $name"
fi
