#!/bin/bash
# The test of the test runner: fed with programs that fail, crash, hang, leave early or run nothing,
# scripts/run-tests.sh must end red and count right. A runner that cannot fail proves nothing.
set -u

check() { # NAME STATUS LASTLINE ENV-AND-PROGRAMS...: what the runner says of the programs
    local name=$1 status=$2 last=$3 got rc
    shift 3
    mkdir -p "$TMPDIR/out"
    got=$(env "$@" 2>&1)
    rc=$?
    if [ "$rc" = "$status" ] && [ "$(tail -n 1 <<<"$got")" = "$last" ]; then
        echo "ok $name"
    else
        echo "not ok $name"
        printf 'wanted status %s and "%s", found status %s and:\n%s\n' "$status" "$last" "$rc" "$got" | sed 's/^/    /'
    fi
}
# The runner starts programs by a path relative to the current folder.
here=$PWD
cp "$ML_OUT"/tests/selfcheck/fake_fail "$ML_OUT"/tests/selfcheck/fake_crash "$TMPDIR" || exit 1
export ML_SUPP=$here/tests/lsan.supp
cd "$TMPDIR" || exit 1
run="bash $here/scripts/run-tests.sh out"

printf 'echo ok one\necho skip two: no moon\n' >test_good.sh
printf 'echo ok one\necho not ok two\n' >test_bad.sh
printf 'echo ok one\nexit 3\n' >test_exit.sh
printf 'true\n' >test_nothing.sh
printf 'echo ok one\nkill -SEGV $$\n' >test_dies.sh

# shellcheck disable=SC2086
{
    check 'counts passed, failed and skipped tests of a program' 1 '1 passed, 1 failed, 1 skipped' $run fake_fail
    check 'a program that dies fails, and so does what it never ran' 1 '1 passed, 2 failed' FAKE=abort $run fake_crash
    check 'a program that leaves early with status 0 fails' 1 '1 passed, 2 failed' FAKE=exit $run fake_crash
    check 'a program over the time limit fails' 1 '1 passed, 2 failed' ML_LIMIT=1 FAKE=sleep $run fake_crash
    check 'a program without tests fails' 1 '0 passed, 1 failed' FAKE=none $run fake_crash
    check 'a good script passes and its skips are counted' 0 '1 passed, 0 failed, 1 skipped' $run test_good.sh
    check 'a script with a not ok line fails' 1 '1 passed, 1 failed' $run test_bad.sh
    check 'a script with an exit status fails' 1 '1 passed, 1 failed' $run test_exit.sh
    check 'a script without tests fails' 1 '0 passed, 1 failed' $run test_nothing.sh
    check 'a script killed by a signal fails' 1 '1 passed, 1 failed' $run test_dies.sh
    check 'sums over several programs' 1 '3 passed, 2 failed, 2 skipped' $run fake_fail test_good.sh test_bad.sh
    check 'a program that was not built fails' 1 '1 passed, 1 failed, 1 skipped' $run test_good.sh test_absent
    check 'a build that broke fails' 1 '1 passed, 1 failed, 1 skipped' ML_BUILT=no $run test_good.sh
    check 'no test at all fails' 1 '0 passed, 1 failed' $run
}

# T=WORDS picks the tests whose paths hold one of the words, also where there are several.
# shellcheck disable=SC2016
printf 'picked:\n\t@echo $(TEST_PICK)\n' >picked.mk
picked() { # T
    (cd "$here" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s -f Makefile -f "$TMPDIR/picked.mk" BUILD="$TMPDIR/b" picked T="$1")
}
name='two words pick what holds one of them'
got=$(picked 'selfcheck/test_lint primitives/test_cases')
if [ "$got" = 'tests/primitives/test_cases.c tests/selfcheck/test_lint.sh' ]; then
    echo "ok $name"
else
    echo "not ok $name"
    printf 'found %s\n' "$got" | cut -c1-300 | sed 's/^/    /'
fi
