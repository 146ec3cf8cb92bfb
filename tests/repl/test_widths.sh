#!/bin/bash
# test_widths - every command, and a selection of errors, on narrow screens: no line is wider than
# the screen unless it is one word that fits in none, and nothing is broken inside a word.
. tests/repl/session.sh
flags=(--private --no-init --keep-going)
widths='40 60 80'
[ "${ML_QUICK-}" ] && widths='40 60'

# A row that the screen would break: FILE WIDTH.
cat >"$TMPDIR/wide.lua" <<'EOF'
local file, width = arg[1], tonumber(arg[2])
local said, bad = "", 0
local columns
local function breaks(line, width) -- between words, each of which fits in a line
    if not line:gsub(" \\$", ""):match("^%s*%S+%s+%S") then return false end
    for word in line:gmatch("%S+") do
        if columns(word) > width then return false end
    end
    return true
end
function columns(z)
    local n = 0
    for _, c in utf8.codes(z) do
        n = n + ((c >= 0x1100 and c <= 0x115f or c >= 0x2e80 and c <= 0xffdc) and 2 or 1)
    end
    return n
end
for line in io.lines(file) do
    if line:sub(1, 3) == "@@ " then
        said = line:sub(4)
    elseif line:find('─', 1, true) or line:find('│', 1, true) then -- a picture: the pager scrolls it sideways
    elseif columns(line) > width and breaks(line, width) and not line:match("^%S* ?v?%d*> ") then
        print(("%d  %s: %s"):format(width, said, line))
        bad = bad + 1
    end
end
os.exit(bad == 0)
EOF
lines() { # LINES...: each one after its name, in a session
    for one; do printf "print('@@ ' .. [==[%s]==])\n%s\n" "$one" "$one"; done
}
script() {
    cat <<'EOF'
a_matmul_with_a_name_of_some_length = schedule(workload.matmul(64, 64, 64), {name = "a_matmul_with_a_name_of_some_length"})
split("i", {auto, 4})
EOF
    # every command with its example, then what takes nothing
    sed -nE 's/^ML_COMMAND\("([a-z]+)".*/\1/p' "$root/src/repl/command/commands.def" |
        grep -vE '^(quit|view|shell|record|machine|roofline|bisect|bug|tune)$' |
        while read -r name; do lines ":$name" ":$name --nosuch" ":help $name" ":help :$name"; done
    lines ':time --runs 5' ':time --runs 3 --report' ':profile --runs 3' ':check' ':check --inputs ones' ':counts --all' \
        ':tree' ':versions' ':diff v0' ':diff v0 --tree' ':diff v0 --trace' ':diff v0 --counts' ':trace --python' ':trace --json' \
        ':buffers' ':deps' ':block C' ':where i_1' ':memory C' ':ir --list' ':ir' ':ir --diff' ':llvm --diff v0' ':asm --diff v0' ':asm j' \
        ':graph loops' ':graph deps' ':machine' ':roofline' ':focus' ':set' ':help' ':help commands' ':help primitives' ':help settings' \
        ':help names' ':help facts' ':help errors' ':help tvm' ':help halide' ':help set width' ':help moon.check' ':help s:tree' ':help split' \
        ':tune --trials 2 --db r.db' ':best 2 --db r.db' ':adopt --db r.db' ':db r.db' ':jobs' ':apropos buffer' ':recover list' ':history' \
        ':explain' ':save p.py' ':save p.lua' ':save p.json' ':open p.py' ':open p.json' ':source p.lua' ':replay p.json'
    printf 'schedule(moon.open("many.py"))\n'
    lines ':tree' ':counts' ':counts --all' ':buffers' ':deps' ':block sum' ':show' ':trace' ':versions' ':time --runs 3' ':profile --runs 3' ':memory the_input_of_that_program_0'
    lines ':focus 1'
    # errors
    lines 'split("i", {auto, 4, 5, 1000})' 'parallel("k")' ':explain' 'split("nosuch", {2, 4})' 'reorder("k", "nosuch")' \
        'vectorize("i")' 'compute_at("C", "nosuch")' 'foo' 'a_matmul_with_a_name_of_some_length:foo()' 'workload.nosuch(3)' ':nosuch' \
        ':set nosuch 3' ':set echo nosuch' ':open /nowhere/of/such/a/rather/long/path.py' ':goto v99' ':best --nosuch' ':asm nosuch' \
        'fuse("i_0", "k")' 'cache_read("C", "NOSUCH", "global")' 'workload' 'moon' 'schedule' 's = 3 +' 'for i in range(3):' \
        'error("a sentence of one\'"'"'s own that goes on for longer than a narrow screen has room for it on a line")' \
        'x = {1, 2, {a = "a text that is somewhat long", b = 3}}' 'x' 'split' ':help nosuchthing' 'moon.check' 'return focus()'
}
awk 'BEGIN { # fourteen buffers with long names
    print "from tvm.script import tir as T\n@T.prim_func"
    printf "def main("
    for (k = 0; k < 13; k++) printf "the_input_of_that_program_%d: T.Buffer((8, 8), \"float32\"), ", k
    print "the_result_of_that_program: T.Buffer((8, 8), \"float32\")):"
    print "    for the_first_loop, the_second_loop in T.grid(8, 8):\n        with T.block(\"sum\"):"
    print "            vi, vj = T.axis.remap(\"SS\", [the_first_loop, the_second_loop])"
    printf "            the_result_of_that_program[vi, vj] = the_input_of_that_program_0[vi, vj]"
    for (k = 1; k < 13; k++) printf " + the_input_of_that_program_%d[vi, vj]", k
    print ""
}' >many.py
script >script
for width in $widths; do
    timeout "$limit" "$ml" "${flags[@]}" --width="$width" <script >"all.$width" 2>&1
    "$ml" --private --no-init "$TMPDIR/wide.lua" "all.$width" "$width" >out 2>err
    verdict "what_commands_say_fits_into_${width}_columns"
done
