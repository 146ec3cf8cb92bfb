# Functions that a header of src/ declares and that nobody else names, no code, test, example or chapter;
# and those of the library that no other file than their own names: they are static ones.
# Needs strip.awk. Give it all sources, tests and examples, and the tables (.def) and chapters (.md).
# Prints FILE:LINE: what is wrong.
FNR == 1 {
    strip_start()
    prose = FILENAME ~ /\.md$/
    header = FILENAME ~ /^src\/.*\.h$/
}
{
    out = prose ? $0 : strip($0)
    # A declaration begins its line; a function that is written in the header is named once, as it is there.
    if (header && out ~ /^[a-z].*[ *](ml|bind)_[a-z0-9_]+\(/ && out !~ /=/) {
        match(out, /(ml|bind)_[a-z0-9_]+\(/)
        name = substr(out, RSTART, RLENGTH - 1)
        if (!(name in at)) {
            at[name] = FILENAME ":" FNR ": "
            inside[name] = out ~ /^static /
            home[name] = FILENAME
        }
    }
    while (match(out, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(out, RSTART, RLENGTH)
        if (word ~ /^(ml|bind)_/) {
            count[word]++
            if (!((word, FILENAME) in seen)) { seen[word, FILENAME] = 1; files[word]++ }
            here[word, FILENAME]++
        }
        out = substr(out, RSTART + RLENGTH)
    }
}
END {
    for (name in at)
        if (count[name] <= (inside[name] ? 1 : 2))
            print at[name] name " is named nowhere else: remove it"
        else if (home[name] !~ /^src\/repl\// && !inside[name] && files[name] == 2 && here[name, home[name]] == 1)
            print at[name] name " is used in one file: make it static there"
}
