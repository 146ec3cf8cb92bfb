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

return tests
