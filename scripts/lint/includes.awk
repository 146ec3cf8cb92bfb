# Includes: which folder may include which, where a library is included, own header first, no circles,
# and of the library nothing that the README.md of the folder does not name.
# Give it all sources. Prints FILE:LINE: what is wrong.
BEGIN {
    # What each folder may include. The public header stands above all of the library.
    may["core"] = "core"
    may["verify"] = "core verify"
    may["primitives"] = "core verify primitives"
    may["codegen"] = "core verify codegen"
    may["tune"] = "core verify primitives codegen tune"
    may["model"] = may["tune"] " model"
    may["work"] = may["model"] " work"
    may["repl"] = may["work"] " repl"
    may["draw"] = "draw"
    may["moonloop.h"] = may["work"]
    only["lua.h"] = only["lauxlib.h"] = only["lualib.h"] = "^src/repl/(bind|host)/"
    only["readline/readline.h"] = only["readline/history.h"] = "^src/repl/line/line(_[a-z]+)?\\.c$"
    only["curses.h"] = only["ncurses.h"] = only["ncursesw/curses.h"] = only["term.h"] = "^src/repl/screen/terminal\\.c$"
    only["cgraph.h"] = only["gvc.h"] = only["graphviz/cgraph.h"] = only["graphviz/gvc.h"] = "^src/draw/"
    only["xgboost/c_api.h"] = "^src/tune/model/xgb/"
    only["sqlite3.h"] = "^src/tune/db/"
}

# What the README.md of a folder allows: the folders in backticks behind "- May include:".
function read_allowed(folder,   file, line, inside, text, name) {
    file = "src/" folder "/README.md"
    while ((getline line < file) > 0) {
        if (line ~ /^- May include:/) inside = 1
        else if (line !~ /^  /) inside = 0
        if (inside) { text = text " " line; has_list[folder] = 1 }
    }
    close(file)
    gsub(/ +/, " ", text)
    while (match(text, /`[a-z_\/]+`/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        allowed[folder, name] = 1
        if (text ~ /^ and its folders/) allowed[folder, name "/*"] = 1
    }
}
function is_allowed(folder, other,   up) {
    if (!(folder in seen)) { seen[folder] = 1; read_allowed(folder) }
    if (!(folder in has_list) || (folder, other) in allowed) return 1
    for (up = other; sub(/\/[^\/]*$/, "", up);)
        if ((folder, up "/*") in allowed) return 1
    return (folder, other "/*") in allowed
}

function folder_of(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }

FNR == 1 {
    split(FILENAME, part, "/"); first = 1
    here = FILENAME
    sub(/^src\//, "", here)
    own = here
    sub(/\.c$/, ".h", own)
    here = folder_of(here)
}
!/^[ \t]*#[ \t]*include/ { next }
{
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    quoted = name ~ /^"/
    name = substr(name, 2)
    sub(/[">].*$/, "", name)
    at = FILENAME ":" FNR ": "
    # The library is included as it is installed, below moonloop/.
    installed = sub(/^moonloop\//, "", name)
    if (quoted && !installed && name ~ /^(core|verify|primitives|codegen|tune|model|work)\/|^moonloop\.h$/)
        print at "include \"moonloop/" name "\", as it is installed"
    if (quoted && (name == "config.h" || name == "version.h")) {
        if (FILENAME ~ /\.h$/)
            print at "headers are installed; " name " is for .c files"
    } else if (quoted) {
        split(name, to, "/")
        if (!(to[1] in may))
            print at "include \"" name "\" by its path below src/"
        else if (index(" " may[part[2]] " ", " " to[1] " ") == 0)
            print at part[2] " may not include " to[1] " (an upward include)"
        there = folder_of(name)
        if (here != there && !is_allowed(here, there))
            print at "the README.md of " here " does not name " there " among what it may include"
        if (here != there && !((here, there) in edge)) {
            edge[here, there] = at "\"" name "\""
            n_to[here]++
            to_of[here, n_to[here]] = there
            node[here] = node[there] = 1
        }
    }
    split(name, to, "/")
    if (!quoted && to[1] != name && to[1] in may)
        print at "<" name "> is ours: include \"" name "\""
    if (name in only && FILENAME !~ only[name])
        print at "<" name "> belongs to " only[name]
    if (name ~ /^llvm-c\// && FILENAME !~ /^src\/codegen\/llvm\//)
        print at "<" name "> belongs to src/codegen/llvm/"
    if (FILENAME ~ /\.c$/ && first && name != own) {
        if ((getline line < ("src/" own)) >= 0)
            print at "a .c file includes its own header (" own ") first"
        close("src/" own)
    }
    first = 0
}

# Depth first: a folder that is met again while it is on the way closes a circle, which is printed with
# one include of each edge.
function visit(v, depth,   k, w, i, round) {
    way[depth] = v
    place[v] = depth
    for (k = 1; k <= n_to[v]; k++) {
        w = to_of[v, k]
        if (!(w in place))
            visit(w, depth + 1)
        else if (place[w] > 0) {
            round = ""
            for (i = place[w]; i <= depth; i++) round = round way[i] " -> "
            print "src: folders include each other in a circle: " round w
            for (i = place[w]; i < depth; i++) print "    " edge[way[i], way[i + 1]]
            print "    " edge[v, w]
        }
    }
    place[v] = 0
}
END { for (v in node) if (!(v in place)) visit(v, 1) }
