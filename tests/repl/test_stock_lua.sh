#!/bin/bash
# The Lua module in a stock lua5.4, and MOONLOOP_PATH.
set -u
root=$PWD
lua=$(command -v lua5.4 || command -v lua) || { echo 'skip stock Lua: no lua5.4 on this machine'; exit 0; }
case $("$lua" -v 2>&1) in *5.4*) ;; *) echo "skip stock Lua: $lua is not Lua 5.4"; exit 0 ;; esac
[ -z "${ML_SAN:-}" ] || { echo 'skip stock Lua: the module needs the sanitizer in the host'; exit 0; }
export LUA_CPATH="$ML_OUT/?.so"
cd "$TMPDIR" || exit 1

check() { # SENTENCE EXPECTED CODE
    got=$("$lua" -e "$3" 2>&1)
    if [ "$got" = "$2" ]; then echo "ok $1"; else echo "not ok $1"; printf '  got: %s\n' "$got"; fi
}

check 'require gives moon' 'table' 'print(type(require "moonloop"))'
check 'require writes no global' '' \
    'local t = {} for k in pairs(_G) do t[k] = 1 end require "moonloop" for k in pairs(_G) do if not t[k] then print(k) end end'
check 'a program is scheduled and checked' 'true' \
    'local moon = require "moonloop" local s = moon.schedule(moon.workload.matmul(16, 16, 16)) s:split("i", {4, 4}) s:parallel("i_0") print(moon.check(s).ok)'
check 'an error is an object' 'factors-too-small' \
    'local moon = require "moonloop" local s = moon.schedule(moon.workload.matmul(16, 16, 16)) local ok, e = pcall(s.split, s, "i", {3, 4}) print(e.code)'
check 'the parts written in Lua are found' 'table' \
    'require "moonloop" print(type(package.searchers[5] and require "moonloop" .te))'

mkdir -p other/moonloop other/mine
echo 'return {answer = 42}' >other/mine/init.lua
echo 'local moon = ... return {list = function() return "mine" end}' >other/moonloop/workload.lua
export MOONLOOP_PATH="$TMPDIR/other"
check 'MOONLOOP_PATH puts its files first' 'mine' 'print(require "moonloop".workload.list())'
check 'MOONLOOP_PATH serves require' '42' 'require "moonloop" print(require "mine".answer)'
echo 'this is no Lua' >other/moonloop/workload.lua
got=$("$lua" -e 'print(require "moonloop".workload)' 2>&1)
case $got in *workload.lua:1:*) echo 'ok a broken file says its name and line' ;; *) echo 'not ok a broken file says its name and line'; echo "$got" ;; esac
