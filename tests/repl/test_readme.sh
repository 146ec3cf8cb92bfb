#!/usr/bin/env bash
# test_readme - every transcript in the README is what the program says, every file that it
# names is there, every target that it names exists.
set -u
dir=${TMPDIR:-/tmp}
out=$dir/readme.transcript

awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >"$out"
if [ -s "$out" ] && "$MOONLOOP" --transcript "$out"; then
    echo "ok the_session_in_the_readme_is_what_the_program_says"
else
    echo "not ok the_session_in_the_readme_is_what_the_program_says"
fi

missing=
for name in $(grep -oE '\((matmul|blur|conv_by_hand|embed)\.[a-z]+|`(matmul|blur|conv_by_hand|embed)\.[a-z]+`' README.md | tr -d '(`'); do
    [ -f "examples/$name" ] || missing="$missing examples/$name"
done
for name in src/README.md COPYING; do
    [ -f "$name" ] || missing="$missing $name"
done
if [ -z "$missing" ]; then
    echo "ok the_files_that_the_readme_names_are_there"
else
    echo "missing:$missing"
    echo "not ok the_files_that_the_readme_names_are_there"
fi

bad=
for target in $(grep -oE '`make [a-z]+`|^    make [a-z]+' README.md | tr -d '\140' | sed 's/.*make //'); do
    grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile || bad="$bad $target"
done
if [ -z "$bad" ]; then
    echo "ok the_targets_that_the_readme_names_exist"
else
    echo "no such target:$bad"
    echo "not ok the_targets_that_the_readme_names_exist"
fi
