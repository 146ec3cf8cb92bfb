#!/bin/bash
# The C interface as another program sees it: examples/embed.c, the public headers and the library.
set -u
root=$PWD out=${ML_OUT:-}
[ -n "$out" ] || { echo 'not ok the build folder is known'; exit 1; }
case $out in /*) ;; *) out=$root/$out ;; esac
include=$TMPDIR/include
sh scripts/install-headers.sh "$(dirname "$out")/include" "$include" || echo 'not ok the headers are installed'
cd "$TMPDIR" || exit 1
san=${ML_SAN:+-fsanitize=$ML_SAN}

report() { # STATUS SENTENCE
    if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
}

# shellcheck disable=SC2086
${CC:-gcc} -std=c11 -Wall -Wextra -Werror $san -I"$include" -o embed "$root/examples/embed.c" \
    "$out/libmoonloop.a" -lm -lpthread -ldl
report $? 'examples/embed.c compiles against the installed headers'
MOONLOOP_WORKER= PATH=/usr/bin:/bin ./embed >text 2>err
report $? 'it loads, schedules, checks and prints'
grep -q '^interpreted: ' text && grep -qE 'not timed: LLVM|no-worker' text err
report $? 'what it needs to compile and to time is told where it is missing'
grep -q '^check: ok$' text && grep -q 'T.vectorized(16)' text && grep -q 'T.parallel(64)' text
report $? 'the printed program has its steps'
MOONLOOP_WORKER=$out/moonloop ./embed >text 2>err
if grep -q 'not timed: LLVM' text; then
    echo 'ok the library alone checks compiled code and times it (skip: no LLVM)'
else
    ! grep -q interpreted text && grep -q '^check: ok$' text &&
        grep -qE '^time: start [0-9.]+ .FLOP/s.*, now [0-9.]+ .FLOP/s.*: x[0-9.e+]+$' text
    report $? 'the library alone checks compiled code and times it'
fi

# Every primitive of the table has its function, and a wrong call is a value.
cat >all.c <<'END'
#include <moonloop/moonloop.h>
#include <moonloop/primitives.h>
#include <stdio.h>
int main(void)
{
    const char *text = "@T.prim_func\ndef f(A: T.Buffer((8,)), B: T.Buffer((8,))):\n    for i in range(8):\n"
                       "        with T.block(\"B\"):\n            vi = T.axis.spatial(8, i)\n            B[vi] = A[vi]\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    ml_Schedule *s = ml_schedule_new(cx, p.mod, NULL, NULL);
    ml_Arg two[] = {ML_ARG_INT(2), ML_ARG_INT(2)};
    ml_Handle b;
    bool good = !ml_split(s, ML_ARG_STR("i"), two, 2, true, false, NULL) &&
                ml_schedule_error(s)->code == ML_E_FACTORS_TOO_SMALL &&
                ml_get_block(s, "B", NULL, &b) && b.kind == ML_H_BLOCK;
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
    return good ? 0 : 1;
}
END
# shellcheck disable=SC2086
${CC:-gcc} -std=c11 -Wall -Wextra -Werror $san -I"$include" -o all all.c "$out/libmoonloop.a" -lm -lpthread -ldl && ./all
report $? 'a failed call is a value and changes nothing'
missing=$(sed -n 's/^ML_PRIMITIVE(\(.*\))$/\1/p' "$root/src/primitives/primitives.def" | while read -r p; do
    grep -q "ml_apply(s, \"$p\"" "$include/moonloop/primitives.h" || echo "$p"
done)
[ -z "$missing" ]
report $? "every primitive has a typed function${missing:+ ($missing)}"

# Each header is enough by itself, in a program that knows nothing of this tree.
export CC=${CC:-gcc} include
# shellcheck disable=SC2016
bad=$(cd "$include" && find moonloop -name '*.h' | sort | xargs -P "$(nproc)" -I{} sh -c '
    echo "#include <{}>" | $CC -xc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$include" - 2>&1 | grep -m 1 error')
[ -z "$bad" ] && [ "$(find "$include" -name '*.h' | wc -l)" -gt 100 ]
report $? "every installed header compiles alone${bad:+ ($bad)}"
[ -z "$(cd "$include" && grep -rhE '^#[ \t]*include "' . | grep -v '"moonloop/')" ] && [ -z "$(find "$include" -type l)" ]
report $? 'installed headers include each other below moonloop/, and are files'
