#!/bin/bash
# Every function of the program that reaches a file, a process or native code is in the table
# src/repl/reach.def, and nothing else is: reach.sh (from the root)
# Prints FILE:LINE: what is missing there, and rows that nothing answers to. Exit 1 when there is any.
set -u
table=src/repl/reach.def
rules=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/lint
# core/file is how the others reach files: its callers are what the table lists.
mapfile -t sources < <(find src -name '*.c' ! -path 'src/draw/*' ! -path src/core/base/file.c | sort)

# FILE FUNCTION LINE CALL of each call; comments and texts are left out.
calls() {
    awk -f "$rules/strip.awk" -f /dev/stdin "${sources[@]}" <<'RULE'
        FNR == 1 { strip_start() }
        {
            out = strip($0)
            follow(out)
            while (match(out, /(^|[^A-Za-z0-9_.>])(fopen|freopen|open|openat|creat|popen|system|exec[lv]p?e?|fexecve|posix_spawnp?|fork|vfork|dlopen|opendir|scandir|nftw|glob|mkstemp|mkdtemp|tmpfile|unlink|unlinkat|rename|renameat|remove|mkdir|rmdir|symlink|link|chmod|chown|truncate|utime|mkfifo|mknod|chdir|fchdir|shm_open|socket|connect|process_vm_[a-z]+|ptrace|setenv|putenv|sqlite3_open[a-z0-9_]*|luaL_loadfilex?|luaL_dofile|ml_file_read|ml_file_folders|ml_file_begin|ml_file_write[a-z_]*|ml_session_write)[ \t]*\(/)) {
                call = substr(out, RSTART, RLENGTH)
                gsub(/[^A-Za-z0-9_]/, "", call)
                print FILENAME, in_function, FNR, call
                out = substr(out, RSTART + RLENGTH)
            }
        }
RULE
}

# FILE FUNCTION of each row of the table.
rows() {
    sed -nE 's/^ML_REACH\("([^"]+)", "([^"]+)".*/\1 \2/p' "$table"
}

found=$(mktemp) listed=$(mktemp) || exit 1
trap 'rm -f "$found" "$listed"' EXIT
calls >"$found"
rows | sort >"$listed"
awk -v table="$table" -v found="$found" '
    FILENAME != found { row[$1 " " $2]++; next }
    { seen[$1 " " $2] = 1 }
    !(($1 " " $2) in row) { print $1 ":" $3 ": " $2 " calls " $4 " and is not in " table; bad = 1 }
    END {
        for (k in row) {
            if (k !~ /^lua / && !(k in seen)) { print table ": " k " reaches nothing any more"; bad = 1 }
            if (k !~ /^lua / && row[k] > 1) { print table ": " k " stands there twice"; bad = 1 }
        }
        exit bad
    }' "$listed" "$found"
