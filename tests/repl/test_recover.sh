#!/bin/bash
# Nothing is lost: a session that is killed at any moment, crashes, or loses its terminal comes
# back with :recover; damaged, foreign and unwritable files cost one message. Transcripts that
# :record writes replay. --safe has no way round. Source: interaction 2, 6, 9, 16.
. tests/repl/session.sh
flags=(-i)
export XDG_STATE_HOME=$TMPDIR/state
kept=$XDG_STATE_HOME/moonloop/sessions

left() { find "$kept" -name '*.ended' 2>/dev/null | wc -l; }
saves() { find "$kept" -name '*.autosave' 2>/dev/null | wc -l; }
printed() { # PATTERN, HOW OFTEN
    local n
    n=$(grep -c "$1" out 2>/dev/null)
    [ "${n:-0}" -ge "$2" ]
}
begin() { # FILE: a session that is given the lines of FILE and then waits for more
    rm -f in
    mkfifo in
    "$ml" -i <in >out 2>err &
    pid=$!
    exec 3>in
    cat "$1" >&3
}
end() { # SIGNAL: leaves status
    kill "-$1" "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    exec 3>&-
}
until_lines() { within printed '^at ' "$1"; }

# ---- any moment
at='; print("at " .. focus():hash(8))'
cat >lines <<E
s = schedule(workload.matmul(64, 64, 64))$at
split("j", {auto, 16})$at
:mark wide
sample_perfect_tile("i", 2, 16)$at
l = loops("C") split(l[1], sample_perfect_tile(l[1], 2, 16))$at
reorder("j_0", "i_0")$at
s:undo(1)$at
parallel("i_0")$at
split("nothing", {1, 2})
parallel("k")
unroll("j_1") parallel("k")
:branch other
:goto wide
vectorize("j_1")$at
decompose_reduction("C", "k")$at
:check
:undo
cache_read("C", "A", "global")$at
:set echo brief
compute_at("A_global", "j_0")$at
annotate("C", "note", "with \"quotes\", ×")$at
:redo
:goto failed
t = s:copy() focus(t)$at
unroll("i_0")$at
u = schedule(workload.matmul(32, 32, 32), {name = "small"})$at
for k = 1, 5 do split(loops("C")[1], {auto, 2}) end print("at " .. focus():hash(8))
transform_layout("C", {"read", 0}, function(i, j) return i // 4, j, i % 4 end)$at
:focus 1
:mark here
fuse("i_0", "i_1")$at
E
whole=$(grep -c '"at ' lines)
# What a session shows that got as far as the k-th of these.
shown=(':focus' ':versions' ':show' 'print("hash", focus():hash())' ':set echo' ':focus 1' ':versions' ':show' ':trace --python')
to_line() { awk -v k="$1" '{ print } /"at / { if (++n == k) exit }' lines; }
keeps_nothing_but() { sed -n '/THE END/,$p' "$1" | sed 1d | sed -e 's/[0-9.]* ms$//' -e '/^brought back/d' -e '/^note: /d'; }
killed_at() { # K
    to_line "$1" >first
    begin first
    until_lines "$1" || return 1
    tail -n "+$(($(wc -l <first) + 1))" lines >&3 # at work on these, or about to be
    end KILL
    local n
    n=$(grep -c '^at' out)
    [ "$(saves)" = 1 ] || return 1
    { printf '%s\n' ':recover' 'print("THE END")' "${shown[@]}"; } | timeout "$limit" "$ml" -i >got 2>got.err || return 1
    grep -q '^brought back' got && [ "$(saves)" = 0 ] || return 1
    keeps_nothing_but got >got.tail
    for k in "$n" $((n + 1)) $((n - 1)); do # the line at work may be there or not
        [ "$k" -ge 2 ] || continue
        { to_line "$k"; printf '%s\n' 'print("THE END")' "${shown[@]}"; } | timeout "$limit" "$ml" -i --private >want 2>/dev/null
        keeps_nothing_but want | sed '/^matmul.*> print("THE END")$/d' >want.tail
        cmp -s got.tail want.tail && return 0
        # commands without a mark of their own, behind the k-th line
        for more in 1 2 3 4 5; do # from parallel("i_0") to :goto wide
            { awk -v k="$k" -v more="$more" '{ print } /"at / { n++ } n >= k && m++ == more { exit }' lines
              printf '%s\n' 'print("THE END")' "${shown[@]}"; } | timeout "$limit" "$ml" -i --private >want 2>/dev/null
            keeps_nothing_but want >want.tail
            cmp -s got.tail want.tail && return 0
        done
    done
    diff got.tail want.tail >err
    return 1
}
ok=0
for k in 2 5 $((3 + RANDOM % 12)) 13 $((8 + RANDOM % (whole - 9))) "$whole"; do
    killed_at "$k" || { echo "    killed at $k of $whole"; ok=1; break; }
done
[ $ok = 0 ]
verdict 'a session killed at any moment comes back: programs, all versions, marks, branches, settings'

# ---- what was registered
cat >registered <<'E'
double = function(loop) return "@T.prim_func\ndef d(A: T.Buffer((4,), \"float32\", offset_factor=1), C: T.Buffer((4,), \"float32\", offset_factor=1)):\n    with T.block(\"root\"):\n        T.reads(A[0:4])\n        T.writes(C[0:4])\n        for i in " .. loop .. "(4):\n            with T.block(\"b\"):\n                vi = T.axis.spatial(4, i)\n                C[vi] = A[vi] * T.float32(2)\n" end
moon.intrin("mine", double("range"), double("T.vectorized"))
moon.register_reducer(1, moon.te.bitwise_xor, { 0 })
@T.prim_func
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("b"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] * T.float32(2)

split("i", {auto, 4})
tensorize("i_1", "mine")
@T.prim_func
def g(A: T.Buffer((16,), "int32"), C: T.Buffer((1,), "int32")):
    for i in range(16):
        with T.block("b"):
            vk = T.axis.reduce(16, i)
            with T.init():
                C[0] = 0
            C[0] = T.bitwise_xor(C[0], A[vk])

split("i", {auto, 4})
rfactor("i_1", 0)
print("at " .. focus():hash(8))
E
rm -rf "$XDG_STATE_HOME"
begin registered
until_lines 1 && cp out first.out && end KILL
typed ':recover' 'print("at " .. focus():hash(8))' 'split("i_0", {2, 2})' ':focus 1' ':show'
[ "$(grep '^at ' out)" = "$(grep '^at ' first.out)" ] && grep -q 'for i in T.vectorized(4)' out && grep -q '^\[3\] split' out
verdict 'intrinsics and reducers that were registered come back with what used them'

# ---- names that later steps go by: parameters of index maps, a root block of another name
forget() { rm -rf "$XDG_STATE_HOME"; }
forget
cat >named <<'E'
@T.prim_func
def main(X: T.Buffer((4, 9), "int32"), Y: T.Buffer((4, 9), "int32")):
    with T.block("all"):
        B = T.alloc_buffer((4, 9), "int32")
        for i, j in T.grid(4, 9):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = X[v, w] + 1
        for i, j in T.grid(4, 9):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v, w] = B[v, w]

s = focus() s:transform_block_layout("B", "lambda p, q: (q, p)")
s:transform_layout("B", {"write", 0}, function(row, col) return col // 2, row, col % 2 end, 1)
loop_partition(s:get_loops("buffer_B_padding")[2], {1, auto})
add_unit_loop("buffer_B_padding_row0") annotate("all", "seen", 1) print("at " .. focus():hash(8))
E
begin named
until_lines 1 && end KILL && at=$(sed -n 's/^at //p' out)
typed ':recover' 'print(focus():hash(8))'
[ "$status" = 0 ] && grep -q '^brought back 5 steps of main' out && [ "$(tail -n 1 out)" = "$at" ]
verdict 'blocks that are called after parameters come back, and a root of another name'

# ---- how sessions end
steps=('s = schedule(workload.matmul(64, 64, 64))' 'split("j", {auto, 16})' 'parallel("i")' 'print("at " .. focus():hash(8))')
printf '%s\n' "${steps[@]}" >few
ended_by() { # SIGNAL STATUS
    forget
    begin few
    until_lines 1 && end "$1" && [ "$status" = "$2" ] && [ "$(saves)" = 1 ]
}
ended_by TERM 143 && ended_by HUP 129
verdict 'SIGTERM and SIGHUP end with 128 + signal and keep the autosave'
typed 'print(1)'
[ "$status" = 0 ] && grep -qE '^2 steps of matmul from [0-9]{2}:[0-9]{2} were not saved; :recover$' err && [ "$(saves)" = 1 ]
verdict 'the next start says in one line what was not saved'
typed ':recover' 'print(focus():hash(8))' ':undo' 'print(focus():version())' ':undo' 'print(focus():version())'
[ "$status" = 0 ] && grep -q '^brought back 2 steps of matmul; matmul is at v2, hash [0-9a-f]*\. Variables of Lua are not: s = focus()$' out &&
    grep -qx "$(sed -n 's/^at //p' <<<"$(printf '%s\n' "${steps[@]}" | "$ml" --private -i 2>/dev/null)")" out &&
    [ "$(grep -xc '[01]' out)" = 2 ] && [ "$(saves)" = 0 ]
verdict 'lines that were brought back can be undone'
[ "$(left)" = 1 ] && grep -qx '2 steps of matmul are not saved; :recover brings them back' err
verdict 'what is left unsaved can be brought back, and one line says so'
typed ':recover' 'print("at v" .. focus():version())' ':save whole.lua' 'unroll("k")' ':save whole.json'
! grep -q 'not saved' err && grep -qx 'brought back 2 steps of matmul.*' out && grep -qx 'at v0' out && [ "$(saves)$(left)" = 00 ]
verdict 'it is brought back where it was, is not announced, and goes when all is saved'
typed ':open whole.lua' ':open whole.json' 's = open("whole.json")'
! grep -q 'not saved' err && [ "$(left)" = 0 ]
verdict 'what was opened and not worked on is saved'
typed ':open whole.lua' 'unroll("k")' ':save whole.py'
grep -qx '1 step of matmul is not saved; :recover brings it back' err && [ "$(left)" = 1 ]
verdict 'a program keeps no steps'
begin few
until_lines 1 && end KILL
typed ':recover list' ':recover' 'print(focus():version())'
grep -q '^2 steps of matmul from .* were not saved; :recover$' err && grep -qE '^1 .* kB$' out && grep -qE '^2 .* kB  left with :quit$' out &&
    [ "$(tail -n 1 out)" = 2 ]
verdict 'beside sessions that were left, :recover means the one that was lost'
forget
for k in {1..23}; do printf '%s\n' 's = schedule(workload.matmul(8, 8, 8))' "split(\"i\", {auto, $k})" | "$ml" -i >/dev/null 2>&1; done
[ "$(left)" = 20 ] && typed ':recover 1' ':trace' && [ "$(tail -n 1 out)" = '[1] split("i", {auto, 23})' ]
verdict 'the last 20 sessions are kept'
forget
typed ':recover'
[ "$status" = 0 ] && grep -q '^nothing is to be brought back' out && [ ! -s err ]
verdict 'without an orphan nothing is said, and :recover says so'
typed "${steps[@]}" '!stat -c %a:%n '"$kept $kept/*"
grep -q "^700:$kept$" out && grep -q "^600:$kept/.*\.autosave$" out && [ "$(saves)" = 0 ]
verdict 'folder and file are for the user alone'
for how in --private --batch; do
    forget
    printf '%s\n' "${steps[@]}" "!ls $XDG_STATE_HOME" | timeout "$limit" "$ml" -i "$how" >out 2>&1
    ! grep -q moonloop/ out && ! grep -q 'not saved' out && [ ! -e "$kept" ]
    verdict "with $how nothing is kept"
done

# ---- two sessions at once
forget
begin few
until_lines 1 && cp out first.out && typed ':recover' "${steps[@]}" ':recover list'
[ "$status" = 0 ] && ! grep -q 'were not saved' err && [ "$(grep -c '^nothing is to be brought back' out)" = 2 ] && [ "$(saves)" = 1 ]
verdict 'what a living session writes is no orphan, and two sessions have two files'
typed ":recover $(echo "$kept"/*.autosave)"
grep -q 'another session is at work on' err
verdict 'nor can it be taken by its path'
end KILL
begin few
until_lines 1 && end KILL
rm "$kept"/*.ended
typed ':recover'
grep -q 'of matmul from .*, and 1 older session, were not saved; :recover lists them' err &&
    grep -qE '^1  [0-9:]{5}  2 steps of matmul  [0-9]+ kB$' out && grep -qE '^2  ' out && [ "$(saves)" = 2 ]
verdict 'several orphans are listed'
typed ':recover 2' 'print(focus():version())' ':recover drop 1' ':recover 3' ':recover drop x'
grep -qx 2 out && grep -q '^1 session forgotten' out && grep -q '^nothing is to be' out && [ "$(saves)" = 0 ]
verdict 'and brought back by number, or dropped'

# ---- damage
damaged() { # what the file became: PLACE TEXT: the message; then what stands before is there
    typed ':recover' 'print("v" .. (focus() and focus():version() or "none"))'
    grep -qE "$1" err || return 1
    grep -qx "$2" out && [ "$(find "$kept" -name '*.damaged' | wc -l)" = 1 ] && [ "$(saves)" = 0 ]
}
orphan() {
    forget
    begin few
    until_lines 1 && end KILL
    file=$(echo "$kept"/*.autosave)
}
orphan && truncate -s -20 "$file"
damaged 'autosave, line 3: it was cut off' v1 && has out 'what stands before the damage is there, up to line 2 of the session: split("j", {auto, 16})'
verdict 'a file that was cut off gives what stands before'
orphan && sed -i '3s/Parallel/parallel/' "$file"
damaged 'autosave, line 3: its sum does not fit' v1
verdict 'a changed byte is noticed'
orphan && head -c 3000 /dev/urandom >"$file"
damaged 'this is (a binary file|no autosave)' vnone
verdict 'a binary file is none'
orphan && : >"$file"
damaged 'this is no autosave' vnone
verdict 'nor is an empty one'
orphan && sum() { python3 -c 'import sys
h = 2166136261
for c in sys.stdin.buffer.read(): h = ((h ^ c) * 16777619) & 0xffffffff
print("%08x" % h, end="")' 2>/dev/null; } && [ -n "$(sum </dev/null)" ] && {
    head -n 1 "$file"
    for body in '[]' '{' '{"schedules": 3}' '{"schedules": [{"id": 7}]}' '{"schedules": [{"id": 1, "start": {"program": "x"}}]}'; do
        printf '%s' "$body" >body
        printf '%s %s\n' "$(sum <body)" "$body" >>bodies
    done
    true
} >/dev/null
if [ -s bodies ]; then
    ok=0
    while read -r bad; do
        orphan && { head -n 1 "$file"; echo "$bad"; } >new && cp new "$file"
        typed ':recover' 'print("alive")'
        grep -q 'autosave, line 2: ' err && grep -qx alive out || ok=1
    done <bodies
    [ $ok = 0 ]
    verdict 'lines that say nothing of use are told, with their number'
fi

# ---- where nothing can be written
forget
printf '%s\n' "${steps[@]}" 'vectorize("j_1")' | XDG_STATE_HOME=/proc/none timeout "$limit" "$ml" -i >out 2>err
[ $? = 0 ] && [ "$(grep -c 'nothing is autosaved' err)" = 1 ] && grep -q '^\[3\] vectorize' out
verdict 'a home that cannot be written is one note, and the session goes on'
big=$(printf 's:annotate("C", "note%d", ("x"):rep(4000)); ' 1 2 3 4 5 6 7 8)
(ulimit -f 8 && printf '%s\n' "${steps[@]}" ':set echo off' "$big" 'unroll("j_1")' 'print("end " .. focus():version())' |
    timeout "$limit" "$ml" -i 2>&1 | cat >all)
grep -q '^end 11$' all && [ "$(grep -c 'nothing is autosaved from here on' all)" = 1 ] && [ "$(saves)" = 0 ]
verdict 'a file that may not grow is one note, and the session goes on'

# ---- a crash of the program's own
forget
begin few
until_lines 1 && end SEGV
if [ -n "${ML_SAN:-}" ]; then
    echo 'skip a crash leaves a report: the sanitizer has the signal'
else
    report=$(echo "$kept"/*.crash)
    [ "$status" = 4 ] && grep -q "internal error: SIGSEGV; the report is $report" err && grep -q ':recover brings it back' err &&
        grep -q '^ended by SIGSEGV' "$report" && grep -q "^autosave: $kept/" "$report" && [ "$(stat -c %a "$report")" = 600 ] && [ "$(saves)" = 1 ]
    verdict 'a crash leaves a report beside the autosave, says where, and ends with 4'
    typed ':recover'
    grep -q '^brought back 2 steps' out
    verdict 'and the session comes back'
fi

# ---- :record
forget
cat >session <<'E'
s = schedule(workload.matmul(64, 64, 64))
split("j", {auto, 16})
for k = 1, 2 do
  print(k)
end
split("nothing", {1, 2})
@T.prim_func
def twice(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = X[vi] * T.float32(2)

!echo outside
print({}, print)
print("twice v3> no prompt")
:record one.transcript
:check
:versions
:record stop
:tree
:record two.transcript stop
E
timeout "$limit" "$ml" -i <session >out 2>err
[ $? = 0 ] && ! grep -q ':tree' one.transcript && grep -q ':tree' two.transcript && ! grep -q 'outside$' two.transcript | grep -v echo &&
    grep -q '^wrote one.transcript: ' out && timeout "$limit" "$ml" --transcript one.transcript two.transcript >out 2>err
verdict 'transcripts hold the session from its first line, and replay'
rm -f one.transcript two.transcript private.cast && forget
sed -e 's/:record stop/&\n:record private.cast\nprint(6 * 7)\n:record stop/' session | timeout "$limit" "$ml" --private -i >out 2>err
[ $? = 0 ] && [ ! -e "$kept" ] && grep -q '"42' private.cast && timeout "$limit" "$ml" --transcript one.transcript two.transcript >out 2>err
verdict 'with --private too, where nothing else is kept'
sed 's/^split/:set echo brief\n&/' session | timeout "$limit" "$ml" --width 70 -i >out 2>err
head -n 1 two.transcript | grep -qx '\$ moonloop -i --width 70' && timeout "$limit" "$ml" --transcript two.transcript >out 2>err
verdict 'of another width too'
printf '%s\n' ':record r.cast' 'print(6 * 7)' ':record stop' | timeout "$limit" "$ml" -i >out 2>err
head -n 1 r.cast | grep -qE '^\{"version": 2, "width": 100, "height": [0-9]+, "timestamp": [0-9]+, "env": \{"TERM": "[^"]*"\}\}$' &&
    grep -qE '^\[[0-9.]+, "o", "> print\(6 \* 7\)\\u000d\\n"\]$' r.cast && grep -qE '^\[[0-9.]+, "o", "42\\u000d\\n"\]$' r.cast && [ "$(wc -l <r.cast)" = 3 ]
verdict 'a .cast is an asciinema recording'
# Inputs that never end by themselves: the record holds them as comments, and what they did.
cat >few.lines <<'L'
s = schedule(workload.matmul(64, 64, 64))
:record int.cast
:set atomic off
print("at 1") split("j", {auto, 16}) while true do end
:set atomic on
print("at 2") unroll("j_1") while true do end
print(pcall(function() print("at 3")
while true do end end))
:goto failed
:goto v1
:record stop
vectorize("j_1")
print("end " .. focus():hash(8))
:record int.transcript stop
L
begin few.lines
for k in 1 2 3; do within printed "^at $k" 1 && kill -INT "$pid"; done
exec 3>&-
wait "$pid"
[ $? = 0 ] && [ "$(grep -c '^error: interrupted' err)" -ge 2 ] &&
    grep -qx 'matmul v0> -- interrupted: print("at 1") split("j", {auto, 16}) while true do end' int.transcript &&
    grep -qx 'matmul v1> -- interrupted: while true do end end))' int.transcript &&
    grep -qx 'matmul v2> :mark failed' int.transcript && grep -q '^end ' int.transcript &&
    timeout "$limit" "$ml" --transcript int.transcript >out 2>err
verdict 'a record passes over what Ctrl-C ended, and replays to the same program'
[ "$(grep -c ', "m", "interrupted"\]$' int.cast)" = 3 ]
verdict 'a .cast has a marker there'
printf '%s\n' ':record /nowhere/x' ':record /dev/full' 'print(6 * 7)' ':record' | timeout "$limit" "$ml" -i >out 2>err
grep -q 'cannot write /nowhere/x' err && grep -q 'the recording ends here: cannot write /dev/full: No space left' err && grep -qx 42 out && grep -q '^nothing is being recorded' out
verdict 'a recording on a full disk ends with one error'

# ---- :bug
printf '%s\n' "${steps[@]}" 'split("nothing", {1, 2})' ':bug' ':bug report.txt' ':bug report.txt' | timeout "$limit" "$ml" -i >out 2>err
[ "$(grep -c '^-- versions$' out)" = 3 ] && grep -q '^-- the focus as a script$' report.txt && grep -q 'no loop is named nothing' report.txt &&
    grep -q 'cannot write report.txt: File exists' err && sed -n '/^local moon/,/^assert/p' report.txt >again.lua && timeout "$limit" "$ml" again.lua
verdict ':bug shows a report, saves it where told, and its script rebuilds the focus'

# ---- what was brought back has no transcript
forget
begin few
until_lines 1 && end KILL
typed ':recover' ':record out.txt stop' ':bug'
grep -q '^error: out.txt would be a transcript that does not replay: what :recover brought back was not typed here' err &&
    sed -n '/^-- last error/,/^-- /p' out | grep -q '^error: out.txt would be' && ! grep -q "ScheduleError\|'?'" out && [ ! -e out.txt ]
verdict 'says why what was brought back has no transcript, in :bug too'

# ---- --safe
printf 'return 42\n' >text.lua
"$ml" -b -e 'local f <close> = io.open("bytes.lua", "wb") f:write(string.dump(load("return 666")))' || echo 'not ok no bytecode to try'
cat >ext.py <<'E'
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.call_extern("int32", "system", "touch got-out")
E
cat >safe.lua <<'E'
local gone = { "io", "debug", "dofile", "loadfile" }
for _, k in ipairs(gone) do assert(_G[k] == nil, k) assert(not pcall(require, k), k) end
for _, k in ipairs { "execute", "remove", "rename", "tmpname", "getenv", "exit" } do assert(os[k] == nil, k) end
assert(package.loadlib == nil and package.searchpath == nil and string.dump == nil)
local bytes = "\27Lua" .. ("\0"):rep(60)
assert(not load(bytes) and not load(bytes, "x", "b") and not load(bytes, "x", "bt"))
assert(not load(function() local b = bytes bytes = nil return b end, "x", "b"))
assert(load("return 6 * 7")() == 42 and load("return x", "n", "t", { x = 5 })() == 5 and not load("return x +"))
assert(require "text" == 42)
assert(not pcall(require, "bytes"))
focus(schedule(workload.matmul(4, 4, 4)))
for _, c in ipairs { { "shell", "touch got-out" }, { "help > got-out" }, { "help >> got-out" }, { "help | touch got-out" },
    { "save", "got-out.lua" }, { "save", "got-out.json" }, { "graph", "loops", "got-out.dot" }, { "record", "got-out" },
    { "bug", "got-out" }, { "db", "got-out" }, { "tune", "--trials", "1", "--db", "got-out" }, { "dashboard", "got-out" } } do
    assert(not moon.cmd(table.unpack(c)).ok, c[1])
end
local ok, e = pcall(moon.build, moon.open("ext.py"))
assert(not ok and (e.code == "not-supported" or e.code == "codegen-failed" or e.code == "no-target"), e.code)
print("all well")
E
timeout "$limit" "$ml" --safe safe.lua >out 2>err
grep -qx 'all well' out && ! ls | grep -q got-out
verdict 'there is no way round --safe: files, commands, compiled chunks, C modules, foreign routines'
printf '%s\n' '!touch got-out' ':help > got-out' ':save got-out.lua' | timeout "$limit" "$ml" --safe >out 2>err
[ "$(grep -c 'under --safe' err)" = 1 ] && timeout "$limit" "$ml" --safe --keep-going < <(printf '%s\n' 's = schedule(workload.matmul(4, 4, 4))' '!touch got-out' ':help > got-out' ':save got-out.lua') >out 2>err
[ "$(grep -c 'under --safe' err)" = 3 ] && ! ls | grep -q got-out
verdict 'nor for what is typed'

# ---- the init file
mkdir -p "$HOME/.config/moonloop"
cat >"$HOME/.config/moonloop/init.lua" <<'E'
moon.set { echo = "brief", context = 1 }
moon.alias { e = "set echo", gone = ":help" }
moon.alias { gone = false }
function tile(n) return split("j", { auto, n }) end
error("here it ends")
E
printf '%s\n' ':e' ':e tree' ':e' ':gone' 'print(pcall(moon.alias, {help = "quit"}))' ':set context' 'print("alive")' | timeout "$limit" "$ml" -i >out 2>err
[ $? = 0 ] && grep -q 'here it ends' err && grep -q 'init.lua:5' err && grep -q 'no command :gone' err &&
    grep -qE '^echo +tree' out && grep -q 'alias help: :help is a command' out && grep -q 'the init file failed' err && grep -qE '^echo +brief' out &&
    grep -qE '^context +1' out && grep -qx alive out
verdict 'an error in the init file is told with its place; what stands before counts, and the prompt appears'
printf '%s\n' ':set echo' | timeout "$limit" "$ml" -i --no-init >out 2>err
grep -qE '^echo +diff' out && [ ! -s err ] && printf 'moon.set{echo = "tree"}\n' >other.lua && printf '%s\n' ':set echo' | timeout "$limit" "$ml" -i --init other.lua >out 2>err && grep -qE '^echo +tree' out
verdict 'another one, or none'

printf '%s\n' ':record first.txt' 'print(1)' ':record stop' | timeout "$limit" "$ml" -i --no-init >out 2>err
[ "$(grep -c '^\$ moonloop' first.txt)" = 1 ] && grep -qx '> print(1)' first.txt
verdict 'a record that begins with the session has one head'

# ---- :dashboard
if command -v script >/dev/null && script -qc true seen </dev/null >/dev/null 2>&1; then
    rm -f seen name
    script -qfc 'stty cols 80 rows 24; echo $$ >inner; tty >name.new; mv name.new name; exec sleep 600' seen </dev/null >/dev/null 2>&1 &
    other=$!
    within [ -s name ]
    tty=$(cat name 2>/dev/null)
    printf '%s\n' 's = schedule(workload.matmul(64, 64, 64))' ":dashboard $tty" 'split("j", {auto, 16})' 'parallel("i")' 'print("at one")' >few
    begin few
    within grep -q 'at one' out && within grep -q 'matmul v2   \[2\] parallel' seen && grep -q 'i 64' seen && grep -q 'for i in T.parallel(64)' seen
    verdict 'the dashboard follows in another terminal'
    kill "$(cat inner)" "$other" 2>/dev/null
    wait "$other" 2>/dev/null
    gone() { ! { : >"$tty"; } 2>/dev/null || [ ! -c "$tty" ]; }
    within gone
    printf '%s\n' 'vectorize("j_1")' 'unroll("k")' ':dashboard' 'print("at two")' >&3
    within grep -q 'at two' out && [ "$(grep -c 'the dashboard is off' err)" = 1 ] && grep -q '^off; :dashboard TTY' out && grep -q '^\[4\] unroll' out
    verdict 'a terminal that is gone is one note, and the dashboard is off'
    end TERM
else
    echo 'skip the dashboard: script(1) opens no terminal'
fi
typed ':dashboard /dev/null' ':dashboard /nowhere' ':dashboard off' ':dashboard'
grep -q '/dev/null is no terminal' err && grep -q 'cannot open /nowhere' err && grep -q '^off;' out
verdict 'what is no terminal is refused'
