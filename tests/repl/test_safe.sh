#!/bin/bash
# --safe: every way out of src/repl/reach.def is tried, each in a session of its own; then every
# function that a script can reach is given paths outside. Nothing outside is read, made or changed.
. tests/repl/session.sh
table=$root/src/repl/reach.def
work=$PWD

mkdir away in && cd away || exit 1
for f in secret secret.lua secret.txt; do echo 'return "SECRET-7261"' >$f; done
cat >secret.py <<'P'
# SECRET-7261
@T.prim_func
def SECRET_7261(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.float32(1)
P
cd "$work" || exit 1
"$ml" -b --private -e 'moon.tensor({2}, "float32"):save("away/secret.npy") s = moon.schedule(moon.workload.matmul(4, 4, 4))' -e 's:split("i", {2, 2})' -e 'moon.focus(s)' -e ':save away/secret.json' >/dev/null || echo 'not ok nothing to read was made'
mkdir inner && cp away/secret.py inner
ln -s ../away in/link
ln -s ../away/secret.py in/link.py
cat >in/extern.py <<'P'
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.call_extern("int32", "system", "touch away/new")
P
print_prelude() {
    printf 'local OUT, LINK = "%s", "%s"\n' "$work/away" "$work/in/link"
    cat <<'L'
local function cmd(...)
    local r = moon.cmd(...)
    if not r.ok then error("refused, as said above", 0) end
    return r
end
L
}
state() { # of what lies outside
    (cd "$work" && find away in -printf '%p %s %l\n' | sort && cat away/secret* | cksum)
}
before=$(state)

# ---- the table
tried=0 wrong=0
while IFS=$'\t' read -r where answer how; do
    tried=$((tried + 1))
    { print_prelude; printf 'print(select(2, assert(pcall(function() %s end))))\n' "$how"; } >in/way.lua
    before=$(state)
    run --private --no-init -b --safe in/way.lua </dev/null
    case ${how#return } in # what Lua's own functions say of it
    *require\(\'io\'* | *require\(\'debug\'*) grep -q 'module .* not found' err ;;
    *package.loaded.io*) grep -q "attempt to index a nil value (field 'io')\|not-supported" err ;;
    load\(*) grep -q 'attempt to call a nil value' err ;;
    *) grep -qe '--safe' err ;;
    esac && [ "$status" = 1 ] && ! grep -q SECRET-7261 out err && [ "$before" = "$(state)" ] && continue
    wrong=$((wrong + 1))
    { echo "$where: $answer: $how: status $status"; cat out err; diff <(echo "$before") <(state); } >>"$TMPDIR/wrong"
done < <(sed -nE 's/^ML_REACH\("([^"]+)", "([^"]+)", "[^"]+", (GONE|REFUSED|CONFINED), "(.*)"\)$/\1 \2\t\3\t\4/p' "$table" | sed 's/\\\\/\\/g')
why() { cat "$TMPDIR/wrong" 2>/dev/null || cat out err 2>/dev/null; }
[ $tried -ge 40 ] && [ $wrong = 0 ]
verdict "refuses each of the $tried ways out of the table"

# ---- all of them in one script, which goes on after each
{
    print_prelude
    echo 'local tried, refused = 0, 0'
    echo 'local function way(name, f) tried = tried + 1 if pcall(f) then print("got out", name) else refused = refused + 1 end end'
    sed -nE 's/^ML_REACH\("([^"]+)", "([^"]+)", "[^"]+", (GONE|REFUSED|CONFINED), "(.*)"\)$/way("\1 \2", function() \4 end)/p' "$table" | sed 's/\\\\/\\/g'
    echo 'print(refused, tried)'
} >in/ways.lua
before=$(state)
run --private --no-init -b --safe in/ways.lua </dev/null
why() { cat out err; }
[ "$(cat out)" = "$tried	$tried" ] && [ "$before" = "$(state)" ]
verdict 'refuses them to one script, too'

# ---- whatever the table does not know: paths as arguments of every function
commands=$(sed -nE 's/^ML_COMMAND\("([a-z-]+)".*/\1/p' "$root/src/repl/command/commands.def" | grep -vx 'quit' | tr '\n' ' ')
{
    printf 'local folder, commands = "%s", "%s"\n' "$work/away" "$commands"
    cat "$root/tests/repl/every_function.lua"
} >in/every_function.lua
mkfifo away/pipe.py away/pipe.npy away/pipe.json away/pipe.lua away/pipe.txt away/pipe
for p in away/pipe*; do # a reader lets the writer go on
    { exec 7>"$p" && echo "$p was opened" >>"$TMPDIR/opened"; } 2>/dev/null &
done
writers=$(jobs -p)
before=$(state)
run --private --no-init -b --safe in/every_function.lua </dev/null
kill $writers 2>/dev/null
why() { tail -n 5 out err; diff <(echo "$before") <(state); cat "$TMPDIR/opened" 2>/dev/null; }
[ "$status" -le 1 ] && grep -q '^[0-9]* calls of [0-9]* functions' out && ! grep -q SECRET-7261 out err &&
    [ ! -e "$TMPDIR/opened" ] && [ "$before" = "$(state)" ]
verdict 'no function that a script can reach opens, makes or changes what lies outside'

# ---- compiled programs are shut in, and work: new arguments for a runner that is there
cat >in/runs.lua <<'L'
local s = moon.schedule(moon.workload.matmul(64, 64, 64))
s:parallel("i")
for k = 1, 8 do
    assert(moon.check(s:copy()).ok)
    assert(moon.time(s, { report = true, runs = 2 }))
end
local k, m = moon.build(s), moon.workload.matmul(64, 64, 64)
local all = m.arguments(1)
k(table.unpack(all))
assert(#moon.tune(moon.workload.matmul(16, 16, 16), { trials = 2 }).records == 2)
print("all well")
L
run --private --no-init -b --safe in/runs.lua </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 'all well' ]
verdict 'compiled programs are checked, timed, called and tuned'
mkdir -p "$HOME/.local/share" && run --no-init -b --safe -e 'moon.tune(moon.workload.matmul(4, 4, 4), { trials = 1 })' </dev/null
[ "$status" = 0 ] && [ -z "$(find "$HOME" -name '*.db*' -o -name '*.jsonl')" ]
verdict 'the database of the user is left alone'
run --private --no-init --keep-going --safe < <(printf '%s\n' 's = schedule(workload.matmul(4, 4, 4))' ':check --background' ':jobs --wait' ':tune --trials 1 --background' ':tune --trials 1' ':best')
grep -q 'check of matmul v0: ok' out && grep -q '^error: :tune --background under --safe' err && grep -q '^rank' out
verdict 'work in the background is under --safe, too'

# ---- memory
printf 'local t = {} for k = 1, 64 do t[k] = ("x"):rep(1 << 26) .. k end print("all of it")\n' >in/much.lua
run --private --no-init -b --safe in/much.lua </dev/null
[ "$status" = 1 ] && grep -q 'out-of-memory' err && ! grep -q 'all of it' out
verdict 'a script has 2 GiB'
run --private --no-init -b --safe --memory-limit=64 -e 'x = ("x"):rep(1 << 27)' </dev/null
[ "$status" = 1 ] && grep -q 'out-of-memory' err
verdict 'or what the command line says'
run --private --no-init -b --safe -e 'moon.set { memory_limit = 4096 }' </dev/null
[ "$status" = 1 ] && grep -q 'only lowered under --safe' err
verdict 'which no script raises'
printf '%s\n' 'local ok, e = pcall(moon.tensor, {1 << 29}, "float64")' 'print(ok, e.code)' \
    "if '${ML_SAN-}' ~= '' then print(false, 'too-large', 0) return end -- a sanitizer's own memory has no limit" \
    'local kept = {}' 'ok, e = pcall(function() for k = 1, 100 do kept[k] = moon.tensor({1 << 25}, "float64") end end)' \
    'print(ok, e.code, #kept)' >in/tensors.lua
run --private --no-init -b --safe in/tensors.lua </dev/null
[ "$status" = 0 ] && [ "$(sed -n 1p out)" = 'false	out-of-memory' ] && grep -q '^false	too-large	[0-9]$' out
verdict 'tensors count'
# ---- what is named
run --private --no-init -b --safe -e 'moon.open("away/secret.py")' </dev/null
why() { cat out err; }
[ "$status" = 1 ] && grep -q 'under --safe only files named' err
verdict 'where nothing is named nothing is read'
mkdir -p "$HOME/.config/moonloop" lib && echo 'ours = "of the init file"' >"$HOME/.config/moonloop/init.lua"
printf 'return { say = require "beside" }\n' >lib/mine.lua
printf 'return "beside it"\n' >lib/beside.lua
run --private --safe -i -e 'print(ours)' </dev/null
why() { cat out err; }
grep -qx 'of the init file' out && ! grep -q . err
verdict 'the init file is read'
LUA_PATH='lib/?.lua' run --private --no-init -b --safe -l mine -e 'print(mine.say)' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 'beside it' ]
verdict 'so is the module of -l, and what lies beside it'
MOONLOOP_PATH=lib run --private --no-init -b --safe -l mine -e 'print(mine.say)' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 'beside it' ]
verdict 'also below MOONLOOP_PATH'
cat >lib/bad.lua <<L
package.path = "$work/away/secret.lua"
package.preload.other = function() package.preload.other = nil package.loaded.other = nil return require "other" end
L
LUA_PATH='lib/?.lua' run --private --no-init -b --safe -l bad -l other </dev/null
[ "$status" = 1 ] && grep -q "module 'other' not found" err && ! grep -q SECRET out err
verdict 'no module gives another its name'
echo 'print(moon.tensor.load(arg[1]).shape[1], pcall(moon.tensor.load, "away/secret.json"))' >in/args.lua
run --private --no-init -b --safe in/args.lua away/secret.npy </dev/null
[ "$status" = 0 ] && grep -q '^2' out
verdict 'and a file that is an argument'
run --safe --transcript nothing.txt </dev/null
[ "$status" = 2 ] && grep -q 'does not go with' err
verdict '--transcript, which runs commands, does not go with --safe'
run --help </dev/null
grep -q '^--safe: what Lua and commands read are FILE' out && grep -q 2048 out
verdict '--help says what is so'
in_root() { (cd "$root" && "$@"); }
in_root bash scripts/reach.sh >out 2>err
verdict 'every function that reaches a file, a process or native code is in the table'
