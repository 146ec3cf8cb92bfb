# Citations in comments: `NAME N.M` is the heading N.M of doc/NAME.md, `DESIGN 3` that of doc/design.md.
# Needs strip.awk, and in the variable `chapters` the files of doc/ but its index. Give it any text files.
# Prints FILE:LINE: what is wrong; with all=1 every citation as FILE:LINE: NAME N.M instead.
BEGIN {
    n = split(chapters, path, " ")
    names = "DESIGN"
    for (k = 1; k <= n; k++) {
        name = path[k]
        sub(/^doc\//, "", name); sub(/\.md$/, "", name)
        names = names "|" name
        while ((getline line < path[k]) > 0)
            if (match(line, /^#+ [0-9]+(\.[0-9]+)*([. ]|$)/)) {
                split(line, word, " ")
                sub(/\.$/, "", word[2])
                heading[name " " word[2]] = 1
            }
        close(path[k])
    }
    cited = "(^|[^A-Za-z0-9_/-])(" names ")(\\.md)?,?( sections?)? +[0-9]+(\\.[0-9]+)*"
    another = "^( \\([^)]*\\)| rule [0-9]+)?(,? and|,| to) +[0-9]+(\\.[0-9]+)*"
}

function resolve(name, number, where) {
    if (all)
        print where name " " number
    else if (!((name == "DESIGN" ? "design" : name) " " number in heading))
        print where name " " number " is no heading of doc/" (name == "DESIGN" ? "design" : name) ".md"
}

# Every number from `low` to `high`, when they differ in their last part only.
function range(name, low, high, where,   a, b, stem) {
    stem = low
    if (!sub(/[0-9]+$/, "", stem) || substr(high, 1, length(stem)) != stem) return
    a = substr(low, length(stem) + 1) + 0
    b = substr(high, length(stem) + 1)
    if (b ~ /^[0-9]+$/)
        for (a++; a < b + 0; a++) resolve(name, stem a, where)
}

# The citations in `text`, whose k-th line begins at from[k] and is line[k] of the file.
function scan(text,   at, base, k, name, number, last, piece, where) {
    base = 0
    while (match(text, cited)) {
        piece = substr(text, RSTART, RLENGTH)
        at = base + RSTART + RLENGTH - 1
        for (k = lines; k > 1 && from[k] > at; k--);
        where = FILE ":" line_of[k] ": "
        text = substr(text, RSTART + RLENGTH)
        base = at
        if (text ~ /^[A-Za-z0-9_%]/) continue
        match(piece, /[A-Za-z][A-Za-z-]*/)
        name = substr(piece, RSTART, RLENGTH)
        number = piece
        sub(/.* /, "", number)
        resolve(name, number, where)
        while (match(text, another)) {
            piece = substr(text, 1, RLENGTH)
            if (substr(text, RLENGTH + 1) ~ /^[A-Za-z0-9_%]/) break
            text = substr(text, RLENGTH + 1)
            base += RLENGTH
            last = number
            number = piece
            sub(/.* /, "", number)
            if (piece ~ / to +[0-9.]+$/) range(name, last, number, where)
            resolve(name, number, where)
        }
    }
}

function add(words) {
    sub(/^[ \t]*(\*|#|--)*[ \t]*/, "", words)
    if (text !~ /[a-z]-$/) text = text " " # a name may be broken at its hyphen
    lines++
    line_of[lines] = FNR
    from[lines] = length(text) + 1
    text = text words
}
function flush() { if (text != "") scan(text); text = ""; lines = 0 }

FNR == 1 {
    flush()
    FILE = FILENAME
    strip_start()
    is_c = FILE ~ /\.([ch]|def)$/
    mark = FILE ~ /\.lua$/ ? "--" : "#"
    prose = FILE ~ /\.md$/
    brief = FILE == "src/primitives/prim/README.md"
}
is_c {
    strip($0)
    if (said != "") add(said)
    if (!in_comment) flush()
    next
}
prose {
    if (brief) { # there P2.2 is primitives 2.2, A2.4 ir-and-analysis 2.4
        rest = $0
        while (match(rest, /(^|[ ,(])[PA][0-9]+(\.[0-9]+)*/)) {
            piece = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            sub(/^[ ,(]/, "", piece)
            resolve(piece ~ /^P/ ? "primitives" : "ir-and-analysis", substr(piece, 2), FILE ":" FNR ": ")
        }
    }
    if ($0 == "") flush()
    else add($0)
    next
}
{
    k = index($0, mark)
    if (!k) { flush(); next }
    if ($0 !~ /^[ \t]*(#|--)/) flush()
    add(substr($0, k))
}
END { flush() }
