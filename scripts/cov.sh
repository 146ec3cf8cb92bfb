#!/bin/bash
# Prints the lines reached by the tests, by file: cov.sh OUT (a folder built with COV=1).
# Only gcov is needed. Files of which nothing ran are listed with 0 %.
set -u
root=$PWD
cd "$1" || exit 1
find src -name '*.gcno' | sort | while read -r f; do
    (cd "$root" && gcov -n -o "$1/${f%/*}" "$1/$f" 2>/dev/null) | awk -v want="${f%.gcno}.c" '
        /^File / { file = $0; gsub(/^File .|.$/, "", file); next }
        /^Lines executed:/ && file == want {
            sub(/^Lines executed:/, ""); sub(/% of /, " "); seen = 1; printf "%s %s %s\n", $1, $2, file; file = ""
        }
        END { if (!seen) printf "0 0 %s\n", want }'
done | awk '{ printf "%6.1f %% of %5d  %s\n", $1, $2, $3; hit += $1 * $2 / 100; all += $2 }
    END { if (all) printf "%6.1f %% of %5d  all\n", 100 * hit / all, all }'
