# What the rules of scripts/lint.sh and scripts/reach.sh share: C without its comments and texts.
# Call strip_start() at the first line of each file, then strip() on every line.

function strip_start() { in_comment = 0; in_function = ""; opened = 0 }

# The code of a line: comments left out, texts and characters as "". Sets `said`, the words of its
# comments, and `in_comment`, whether one goes on in the next line.
function strip(s,   out, k, token) {
    said = out = ""
    while (s != "") {
        if (in_comment) {
            k = index(s, "*/")
            said = said " " (k ? substr(s, 1, k - 1) : s)
            if (!k) return out
            s = substr(s, k + 2); in_comment = 0
        } else if (match(s, /"([^"\\]|\\.)*"|\/\*|\/\/|\047([^\047\\]|\\.)+\047/)) {
            token = substr(s, RSTART, 2)
            out = out substr(s, 1, RSTART - 1)
            if (token == "//") { said = said " " substr(s, RSTART + 2); return out }
            if (token == "/*") in_comment = 1
            else out = out "\"\""
            s = substr(s, token == "/*" ? RSTART + 2 : RSTART + RLENGTH)
        } else
            return out s
    }
    return out
}

# Follows the functions of a file by its stripped lines: `in_function` is the name of the last one whose
# head was seen, `head` the line of that head, `opened` the line of its opening brace (0: not in a body).
function follow(out) {
    if (out ~ /^[A-Za-z_]/ && out !~ /;$/ && match(out, /[A-Za-z_0-9]+\(/)) {
        in_function = substr(out, RSTART, RLENGTH - 1); head = FNR
    }
    if (out ~ /^\{/) opened = FNR
}
