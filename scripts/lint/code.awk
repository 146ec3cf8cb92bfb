# One file at a time: heads, include guards, banned functions, where memory comes from, long functions.
# Needs strip.awk. Give it sources and tests. Prints FILE:LINE: what is wrong.
BEGIN {
    longest = 100
}

# The guard of src/core/expr.h is ML_CORE_EXPR_H: folders may be left out, the file's own name not.
function own_name(path) {
    sub(/.*\//, "", path); sub(/\.h$/, "", path)
    gsub(/[.-]/, "_", path)
    return toupper(path)
}

function end_of_file() {
    if (file ~ /^src\/.*\.h$/) {
        if (!guarded)
            print file ":1: the include guard must be like ML_CORE_" own_name(file) "_H"
        else if (wanted in guard_of)
            print file ":1: the include guard " wanted " is that of " guard_of[wanted]
        else
            guard_of[wanted] = file
    }
}

FNR == 1 {
    if (file != "") end_of_file()
    file = FILENAME
    wanted = ""; guarded = 0
    strip_start()
    if ($0 !~ /^\/[*\/]/) print file ":1: no comment at the head that says what the file is"
}
wanted == "" && /^#ifndef ML_[A-Z0-9_]+_H$/ && $2 ~ ("^ML_([A-Z0-9_]+_)?" own_name(file) "_H$") { wanted = $2 }
/^#define / && $2 == wanted && NF == 2 { guarded = 1 }
{
    out = strip($0)
    at = FILENAME ":" FNR ": "
    if (match(out, /(^|[^A-Za-z0-9_])(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|strtok|atoi|atol|atoll|atof|gets|alloca)[ \t]*\(/))
        print at "banned function: " substr(out, RSTART, RLENGTH) "...)"
    if (FILENAME ~ /^src\// && match(out, /(^|[^A-Za-z0-9_])(abort|assert|rand|srand)[ \t]*\(/))
        print at "banned function: " substr(out, RSTART, RLENGTH) "...)"
    if (FILENAME ~ /^src\/(core|verify|primitives|codegen\/lower)\// && FILENAME != "src/core/base/arena.c" &&
        match(out, /(^|[^A-Za-z0-9_])(malloc|calloc|realloc|strdup|strndup)[ \t]*\(/))
        print at "memory comes from the context: " substr(out, RSTART, RLENGTH) "...)"

    if (FILENAME ~ /^src\/repl\// && FILENAME != "src/repl/screen/terminal.c" && /"[^"]*\\(x1[bB]|033)/)
        print at "escape sequences stand in src/repl/screen/terminal.c alone"

    # A long function, from brace to brace, is a long switch that says so on the line before its head.
    follow(out)
    if (head == FNR) excused = before ~ /^\/\* long: [^ ].*\*\/$/
    before = $0
    if (opened && out ~ /^\}/) {
        if (FILENAME ~ /^src\// && FNR - opened + 1 > longest && !excused)
            print FILENAME ":" head ": " in_function " has " FNR - opened + 1 " lines, " longest \
                " at most; a long switch says /* long: why */ on the line before"
        opened = 0
    }
}
END { if (file != "") end_of_file() }
