-- Every error code: why its rule exists, an example that breaks it and one that does not, run.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

test("every code says why its rule exists", function()
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        assert(e.why and #e.why > 20 and e.why:find("[%.?]$"), code)
    end
end)

test("every code has an example, or says why no program can show one", function()
    local without = {}
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        assert((e.form ~= nil) ~= (e.no_example ~= nil), code)
        if e.no_example then
            assert(#e.no_example > 20 and e.no_example:find("%.$"), code)
            if not e.codes then without[#without + 1] = code end -- the codes of a family have theirs
        end
    end
    assert(#without <= 6, table.concat(without, " "))
end)

test("a family lists its codes, which say whose they are", function()
    local family = moon.explain("unsound")
    assert(family.family == "unsound" and #family.codes >= 12)
    for _, code in ipairs(family.codes) do
        local e = moon.explain(code)
        assert(e.family == "unsound" and not e.codes and #e.primitives > 0, code)
    end
    assert(not moon.explain("not-leaf").family)
end)

test("no reason is given to two codes that have nothing in common", function()
    local seen, often = {}, {}
    for _, code in ipairs(moon.codes()) do
        local why = moon.explain(code).why
        seen[why] = (seen[why] or 0) + 1
        if not code:find("^[EW]%d") and seen[why] > 2 then often[#often + 1] = code .. ": " .. why end
    end
    assert(#often == 0, table.concat(often, "\n"))
end)

test("examples break the rule, counter-examples do not", function()
    local shown = 0
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        if e.run and e.form ~= "typed" then -- those need the program: tests/repl/test_help.c
            local what, fine = e.run("example"), e.run("counter_example")
            local got = type(what) == "string" and "lua-error" or what and what.code
            assert(got == code, code .. ": " .. tostring(got))
            assert(fine == nil, code .. ": " .. tostring(fine and fine.message or fine))
            shown = shown + 1
        end
    end
    assert(shown > 80, shown)
end)

-- Calls and tables with names, f(…) and {a = b}, as they stand in sentences for people.
local function each_code(text, fn)
    local at = 1
    while true do
        local a, b = text:find("[%a_][%w_.:]*%b()", at)
        local c, d = text:find("%b{}", at)
        if not a and not c then return end
        if c and (not a or c < a) then a, b = c, d end
        local z = text:sub(a, b)
        if z:find('[{"]') and (z:sub(1, 1) ~= "{" or z:find(" = ", 1, true)) then fn((z:gsub("…", "nil"))) end
        at = b + 1
    end
end

-- Of a primitive: a loop or block stands in quotes.
local function has_bare_name(z)
    for w in z:match("[({].*"):gsub('"[^"]*"', '""'):gsub("[%w_]+ =", ""):gmatch("[%a_][%w_]*") do
        if not ({ auto = 1, ["true"] = 1, ["false"] = 1, ["nil"] = 1 })[w] then return true end
    end
end

test("code in rules, errors and help is Lua as it is typed", function()
    local n, s = 0, moon.schedule(moon.workload.matmul(8, 8, 8))
    local function check(where, text)
        each_code(text or "", function(z)
            local name = z:match("^[%a_][%w_]*")
            assert(load("return " .. z), where .. ": " .. z)
            local step = name and pcall(function() return s[name] end)
            assert(not step or not has_bare_name(z), where .. ": " .. z)
            n = n + 1
        end)
    end
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        check(code, e.rule)
        check(code, e.why)
        local what = e.run and e.form ~= "typed" and e.run("example")
        if type(what) == "userdata" then
            check(code, what.message)
            for _, note in ipairs(what.notes) do check(code, note) end
            for _, way in ipairs(what.suggestions) do check(code, way.call) end
        end
    end
    for _, name in ipairs(moon.help()) do check(name, moon.help(name).text) end
    assert(n > 20, n)
end)

return tests
