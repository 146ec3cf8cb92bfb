/* The functions of Lua's library that the prompt has of its own: they give what Lua's give,
 * errors too, and Ctrl-C ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/bind/bind.h"
#include "repl/host/host_impl.h"

static const char BEGIN[] = "theirs = {}\n"
                            "for k, v in pairs(string) do theirs[k] = v end\n"
                            "for k, v in pairs(table) do theirs[k] = v end\n";

static const char SAME[] =
    "local function show(t)\n"
    "  local out = {}\n"
    "  for k = 1, t.n do out[k] = math.type(t[k]) and tostring(t[k]) or type(t[k]) ..\n"
    "      ':' .. tostring(t[k]) end\n"
    "  return theirs.concat(out, '|')\n"
    "end\n"
    "function same(lib, name, ...)\n"
    "  local a = table.pack(pcall(theirs[name], ...))\n"
    "  local b = table.pack(pcall(lib[name], ...))\n"
    "  if not a[1] and not b[1] then -- the rest of the words changes from 5.4.x to 5.4.y\n"
    "    a[2] = theirs.match(a[2], '^[%a ]*')\n"
    "    b[2] = theirs.match(b[2], '^[%a ]*')\n"
    "  end\n"
    "  if show(a) ~= show(b) then\n"
    "    error(theirs.format('%s(%q): %q and %q', name, show(table.pack(...)), show(a),\n"
    "      show(b)), 0)\n"
    "  end\n"
    "end\n";

/* Patterns of every item, most of them wrong somewhere; subjects of few letters. */
static const char PATTERNS[] =
    "local items = {'a', 'b', '.', '%a', '%d', '%W', '%z', '[ab]', '[^a]', '[a-c%d]', "
    "'[]',\n"
    "  '[%]a]', '(', ')', '()', '%1', '%2', '%b()', '%bab', '%b', '%f[a]', '%f', "
    "'%f[^%w]',\n"
    "  '*', '+', '-', '?', '^', '$', '%', '%%', '[', ']', 'c', '-', '*', ' ', '\\0', "
    "'\\xe9'}\n"
    "local letters = {'a', 'b', 'c', '(', ')', '1', ' ', '\\0', '\\xe9', '%'}\n"
    "local function any(list, most)\n"
    "  local t = {}\n"
    "  for k = 1, math.random(0, most) do t[k] = list[math.random(#list)] end\n"
    "  return theirs.concat(t)\n"
    "end\n"
    "math.randomseed(7)\n"
    "local replacements = {'<%0>', '%1', '%2', '%', '%x', '%%', '', 'x', 5, {a = 'A', b = "
    "false,\n"
    "  c = 7}, {a = {}}, function(x) return x end, function() end, true}\n"
    "for k = 1, rounds do\n"
    "  local s, p = any(letters, 9), any(items, 5)\n"
    "  local init = math.random(4) == 1 and math.random(-11, 11) or nil\n"
    "  same(string, 'find', s, p, init)\n"
    "  same(string, 'find', s, p, init, true)\n"
    "  same(string, 'match', s, p, init)\n"
    "  same(string, 'gsub', s, p, replacements[math.random(#replacements)],\n"
    "    math.random(3) == 1 and math.random(-1, 3) or nil)\n"
    "  local ours, their = {}, {}\n"
    "  local function all(lib, to)\n"
    "    for a, b in lib.gmatch(s, p, init) do\n"
    "      to[#to + 1] = tostring(a) .. ',' .. tostring(b)\n"
    "    end\n"
    "  end\n"
    "  local ok, why = pcall(all, string, ours)\n"
    "  local ok2, why2 = pcall(all, theirs, their)\n"
    "  if ok ~= ok2 or why ~= why2 or theirs.concat(ours, ';') ~= theirs.concat(their, "
    "';') then\n"
    "    error('gmatch ' .. s .. ' ' .. p .. ': ' .. tostring(why) .. ' and ' .. "
    "tostring(why2))\n"
    "  end\n"
    "end\n"
    "same(string, 'find', theirs.rep('a', 300), theirs.rep('a?', 300) .. theirs.rep('a', "
    "300))\n"
    "same(string, 'match', 'x', theirs.rep('()', 40))\n"
    "same(string, 'find') same(string, 'gsub', 'a', 'b') same(string, 'match', {}, 'a')\n"
    "same(string, 'gsub', 12321, 2, 'x') same(string, 'find', 'abc', 'b', 'x')\n";

static const char OTHERS[] =
    "for n = -1, 9 do\n"
    "  for _, s in ipairs{'', 'a', 'abc', theirs.rep('xyz', 400000)} do\n"
    "    same(string, 'rep', s, n) same(string, 'rep', s, n, '') same(string, 'rep', s, n, "
    "', ')\n"
    "  end\n"
    "end\n"
    "same(string, 'rep', 'ab', 1 << 62) same(string, 'rep', 'ab', math.maxinteger, 'c')\n"
    "same(string, 'rep', 'ab') same(string, 'rep', {}, 2) same(string, 'rep', 'ab', 1.5)\n"
    "assert(string.rep('', math.maxinteger) == '')\n"
    "for _, t in ipairs{{}, {1}, {1, 'b', 2.5}, {1, nil, 3}, {{}}, {1, 2, true}} do\n"
    "  for i = -1, 4 do\n"
    "    same(table, 'concat', t) same(table, 'concat', t, ', ', i)\n"
    "    for j = -1, 4 do same(table, 'concat', t, '-', i, j) end\n"
    "  end\n"
    "end\n"
    "same(table, 'concat', {'m'}, '', math.maxinteger, math.maxinteger)\n"
    "same(table, 'concat', 'x') same(table, 'concat') same(table, 'concat', {1, 2}, {})\n"
    "for f = -2, 6 do for e = -2, 6 do for t = -2, 6 do for two = 0, 1 do\n"
    "  local function run(lib)\n"
    "    local a, b = {1, 2, 3, 4, 5}, two == 1 and {9, 8, 7} or nil\n"
    "    local r = lib.move(a, f, e, t, b)\n"
    "    local out = {tostring(r == (b or a))}\n"
    "    for k = -9, 14 do out[#out + 1] = tostring(r[k]) end\n"
    "    return theirs.concat(out, ' ')\n"
    "  end\n"
    "  assert(run(table) == run(theirs))\n"
    "end end end end\n"
    "same(table, 'move', {}, math.mininteger, 2, 3) same(table, 'move', {}, 1, 5, "
    "math.maxinteger)\n"
    "same(table, 'move', 5, 1, 2, 3) same(table, 'move', {}, 1, 2, 3, 4) same(table, "
    "'move', {})\n"
    "for _, n in ipairs{0, 1, 2, 100, 70000} do\n"
    "  local a, b = {}, {}\n"
    "  for k = 1, n do a[k] = math.random(n) b[k] = a[k] end\n"
    "  for _, less in ipairs{false, math.ult, function(x, y) return x > y end} do\n"
    "    table.sort(a, less or nil) theirs.sort(b, less or nil)\n"
    "    assert(theirs.concat(a, ' ') == theirs.concat(b, ' '))\n"
    "  end\n"
    "end\n"
    "same(table, 'sort', {1, 'x'}) same(table, 'sort', 7) same(table, 'sort', {2, 1}, 7)\n"
    "same(table, 'sort', {3, 2, 1, 4, 5, 6, 7}, function() return true end)\n";

/* Each would run for hours. */
static const char *const ENDLESS[] = {
    "return string.rep('x', 100000000):find('.-.-.-y')",
    "return string.rep('x', 100000):match('.*.*.*y')",
    "return string.gsub(string.rep('x', 100000), '.-.-.-y', '')",
    "for w in string.gmatch(string.rep('x', 100000), '.-.-.-y') do end",
    "return string.rep('(', 1000000):gsub('%b()', '')",
    "return table.move({}, 1, 1 << 60, 2)",
    "return table.concat(setmetatable({}, {__index = string, __len = function() return 1 "
    "<< 60 "
    "end}), string.rep('', 1), 1 << 61, 1 << 62)",
};

static lua_State *open(void)
{
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    assert_int_equal(luaL_dostring(L, BEGIN), LUA_OK);
    luaopen_moonloop(L);
    ml_host_add_long(L);
    assert_int_equal(luaL_dostring(L, SAME), LUA_OK);
    lua_pushinteger(L, getenv("ML_QUICK") ? 3000 : 15000);
    lua_setglobal(L, "rounds");
    return L;
}

static void run(const char *code)
{
    lua_State *L = open();

    if (luaL_dostring(L, code) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    lua_close(L);
}

static void patterns_do_what_those_of_lua_do(void **state)
{
    (void)state;
    run(PATTERNS);
}

static void the_others_do_what_those_of_lua_do(void **state)
{
    (void)state;
    run(OTHERS);
}

/* The flag is set before the call, so that only a look at it can end the call: the hook
 * would raise first, so it is taken away. */
static void ctrl_c_ends_what_would_take_hours(void **state)
{
    static volatile sig_atomic_t flag;

    (void)state;
    for (size_t k = 0; k + 1 < ML_COUNT(ENDLESS); k++) {
        lua_State *L = open();

        ml_lua_set_interrupt(L, &flag);
        lua_sethook(L, NULL, 0, 0);
        assert_int_equal(luaL_loadstring(L, ENDLESS[k]), LUA_OK);
        flag = ML_INTERRUPT;
        assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
        assert_int_equal(flag, 0);
        assert_non_null(ml_lua_to_failure(L, -1));
        lua_close(L);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_do_what_those_of_lua_do),
        cmocka_unit_test(the_others_do_what_those_of_lua_do),
        cmocka_unit_test(ctrl_c_ends_what_would_take_hours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
