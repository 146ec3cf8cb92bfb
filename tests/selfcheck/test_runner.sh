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
    check 'a program over the time limit fails' 1 '1 passed, 2 failed' ML_LIMIT=4 FAKE=sleep $run fake_crash
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

# Of a failure the reason stands below its line and at the end, without the tests that passed.
told() { # NAME STATUS
    if [ "$2" = 0 ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        printf 'found:\n%s\n' "$got" | tail -n 90 | sed 's/^/    /'
    fi
}
below() { sed -n '/^FAIL/,/^$/p' <<<"$got"; }  # up to the empty line before what comes at the end
atend() { sed -n '/^==== /,$p' <<<"$got"; }
both() { below | grep -q -e "$1" && atend | grep -q -e "$1"; }
neither() { ! below | grep -q -e "$1" && ! atend | grep -q -e "$1"; }
# shellcheck disable=SC2086
{
    got=$($run test_bad.sh fake_fail 2>&1)
    both '^    not ok two$' && neither '^ *ok one'
    told 'of a script that fails the lines that are not ok are shown' $?
    both 'ERROR' && both '\[  FAILED  \] fails' && neither '\[       OK \]' && neither 'RUN      \] passes'
    told 'of a program that fails the error is shown' $?
    printf 'echo ok one\necho "ok two"\necho "leaked 64 bytes" >&2\nexit 1\n' >test_leaks.sh
    got=$($run test_leaks.sh 2>&1)
    both '^    leaked 64 bytes$' && neither ' ok one'
    told 'of an exit status alone what was said is shown' $?
    got=$(FAKE=abort $run fake_crash 2>&1)
    both 'RUN      \] leaves'
    told 'of a test that dies the name is shown' $?
    printf 'for k in $(seq 1000); do echo "line $k"; done; echo not ok\n' >test_long.sh
    got=$($run test_long.sh 2>&1)
    [ "$(below | grep -c '^    line ')" = 59 ] && below | grep -q '^    line 1000$' && below | grep -q '941 lines are left out here, see .*test_long.*log' &&
        [ "$(atend | grep -c '^    line ')" = 199 ] && atend | grep -q '^    line 80$' && atend | grep -q '801 lines are left out here'
    told 'of a long log the first and the last lines are shown, and what was cut' $?
}

# What failed beside others runs once more, alone; what fails then has failed.
# shellcheck disable=SC2086
{
    again='again test_once.sh: failed beside others, passed alone'
    printf 'if [ -e once ]; then rm once; echo ok one; else touch once; echo not ok one; fi\n' >test_once.sh
    check 'a test that fails beside others and passes alone has passed' 0 '2 passed, 0 failed, 1 skipped' $run test_good.sh test_once.sh
    got=$($run test_good.sh test_once.sh 2>&1)
    [ "$(grep -cx "$again" <<<"$got")" = 2 ] && grep -q '^FAIL test_once.sh' <<<"$got" && tail -n 2 <<<"$got" | head -n 1 | grep -qx "$again" &&
        grep -qx 'not ok one' out/test-logs/test_once.sh.first.log && [ ! -e once ]
    told 'and that is told' $?
    check 'a test that fails alone, too, has failed' 1 '2 passed, 1 failed, 1 skipped' $run test_good.sh test_bad.sh
    got=$($run test_good.sh test_bad.sh 2>&1)
    [ "$(grep -c '^FAIL test_bad.sh' <<<"$got")" = 2 ] && ! grep -q ^again <<<"$got"
    told 'and was run twice' $?
    check 'a test that had the machine for itself is not run again' 1 '0 passed, 1 failed' $run test_once.sh
    check 'an end by a signal is no matter of load' 1 '2 passed, 1 failed, 1 skipped' $run test_good.sh test_dies.sh
    printf 'if [ -e once ]; then rm once; echo ok one; else touch once; echo "x.c:1:2: runtime error: overflow"; echo not ok one; fi\n' >test_ub.sh
    rm -f once
    check 'a sanitizer is right the first time' 1 '1 passed, 1 failed, 1 skipped' $run test_good.sh test_ub.sh
    rm once
    check 'of many that fail none is run again' 1 '2 passed, 2 failed, 1 skipped' ML_AGAIN=1 $run test_good.sh test_bad.sh test_once.sh
    rm once
    printf 'if [ -e once ]; then rm once; sleep 5; echo ok one; else touch once; sleep 100; fi\n' >test_slow.sh
    check 'over the time limit there is more of it' 0 '2 passed, 0 failed, 1 skipped' ML_LIMIT=4 $run test_good.sh test_slow.sh
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
