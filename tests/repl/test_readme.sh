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
    grep -qsE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile scripts/*.mk || bad="$bad $target"
done
if [ -z "$bad" ]; then
    echo "ok the_targets_that_the_readme_names_exist"
else
    echo "no such target:$bad"
    echo "not ok the_targets_that_the_readme_names_exist"
fi

# ---- the table of src/primitives/prim/README.md names cases that exist
missing=
n=0
while IFS='|' read -r file title; do
    n=$((n + 1))
    grep -qxF "== $title" "src/primitives/cases/$file" || missing="$missing; $file: $title"
done <<E
$(sed -n 's/^.*| `\([a-z_]*\.case\)`: \(.*\) |$/\1|\2/p' src/primitives/prim/README.md)
E
if [ -z "$missing" ] && [ "$n" -gt 20 ]; then echo "ok the table of what is refused names cases that exist"
else echo "not ok the table of what is refused names cases that exist: $n$missing"; fi
