#!/bin/bash
# moon.cmd: words are what they are, numbers and handles too, whatever they hold; commands that take code
# or a line of the shell get theirs. Source: interaction 4.
. tests/repl/session.sh

cat >words.lua <<'E'
local s = moon.schedule(moon.workload.matmul(8, 8, 8))
moon.focus(s)
local failed = 0
local function is(what, got, want)
    if got ~= want then
        failed = failed + 1
        print(what, got, want)
    end
end
local function cmd(...) return moon.cmd(...).ok end
local function text(...) return (moon.cmd(...).text:gsub("\n$", "")) end

-- numbers
s:split("i", {moon.auto, 4})
is("goto 0", cmd("goto", 0) and s:version(), 0)
is("goto 1.0", cmd("goto", 1.0) and s:version(), 1)
is("goto -1", cmd("goto", -1) and s:version(), 0)
is("goto 1", cmd("goto", 1) and s:version(), 1)
is("focus", cmd("focus", 1), true)
is("width", cmd("set", "width", 90) and moon.get("width"), 90)
is("stats", cmd("set", "stats", true) and moon.get("stats"), true)
is("no stats", cmd("set stats", false) and moon.get("stats"), false)
-- code, of one word and of several
is("edit", cmd("edit", 1, 'split("i", {2, moon.auto})') and #s:get_loops("C"), 4)
is("before", cmd("before", s:version(), 'unroll("k")') and s:trace():lua():match("unroll") ~= nil, true)
is("edit in words", cmd("edit", s:version(), 'split("j",', "{2, 2, 2})") and #s:get_loops("C"), 5)
is("drop", cmd("drop", s:version()) and #s:get_loops("C"), 3)
is("bisect", text("bisect", "return", "true"), "v" .. s:version() .. " passes: there is nothing to look for")
-- blanks, quotes, backslashes, redirections
for _, name in ipairs{"a b", "it's", 'say "x"', [[back\slash]], "a > b", "x | y", "$HOME", "tab\there", " edge "} do
    is(name, cmd("mark", name) and table.concat(s:versions()[s:version() + 1].marks, "\n"):find(name, 1, true) ~= nil, true)
    is(name, cmd("goto", 0) and cmd("goto", name) and s:version() > 0, true)
end
local odd = [[a b'c"d\e.json]]
is("save", cmd("save", odd) and cmd("open", odd), true)
is("mark of no letters", cmd("mark", ""), false)
-- the shell: one word is a command, several are its words
is("shell line", text("shell", "echo one   two"), "one two")
is("shell words", text("shell", "printf", "[%s]", "one   two", "it's", "$HOME \\ \"", ""), "[one   two][it's][$HOME \\ \"][]")
is("shell more", text("shell echo", "a  b"), "a  b")
-- a colon that somebody typed, here and in an alias
moon.focus(s)
is("colon", cmd(":goto", 0) and moon.focus():version(), 0)
is("colon and words", cmd(" :goto 1") and moon.focus():version(), 1)
is("two colons", cmd("::goto", 0), false)
moon.alias { back = ":goto 0" }
is("alias", cmd(":back") and moon.focus():version(), 0)
is("alias as a line", cmd("back") and cmd("goto 1") and moon.focus():version(), 1)
is("bisect", text("bisect", ":check"), "v1 passes: there is nothing to look for")
-- how a child ended
is("child", cmd("shell", "kill -9 $$"), false)
-- handles, nothing, too much
is("block", text("block", s:get_block("C")):match("^block C") ~= nil, true)
is("nil", cmd("versions", nil), true)
for _, w in ipairs{{}, print, setmetatable({}, {__tostring = function() return "1" end}), "zero\0byte"} do
    local ok, e = pcall(moon.cmd, "goto", w)
    is(tostring(w), not ok and e.code, "bad-argument")
end
local ok, e = pcall(moon.cmd, "goto", nil, 1)
is("nil first", not ok and e.code, "bad-argument")
local many = {}
for k = 1, 33 do many[k] = k end
ok, e = pcall(moon.cmd, "goto", table.unpack(many))
is("many", not ok and e.code, "bad-argument")
ok = moon.cmd("goto 1", table.unpack(many, 1, 32)).ok
is("many in all", ok, false)
print(failed == 0 and "all well" or failed)
E
run --no-init -b words.lua
[ "$(tail -n 1 out)" = 'all well' ] && grep -q '!kill -9 \$\$: ended by signal 9' err
verdict 'words are what they are'
typed ':for i = 1, 3 do print(i) end'
[ "$status" = 1 ] && grep -q 'no command :for; Lua and primitives begin without a colon' err && typed ':split("i", {auto, 4})' &&
    grep -q 'no command :split; Lua and' err && typed ':local x = 3' && grep -q 'no command :local; Lua and' err &&
    typed ':x' && grep -q 'no command :x; :help commands lists them' err && typed ':chekc' && grep -q 'did you mean :check' err
verdict 'a colon before Lua is told'
