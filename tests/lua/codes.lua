-- Every error code: why its rule exists, an example that breaks it and one that does not, run.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

test("every code says why its rule exists", function()
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        assert(e.why and #e.why > 20 and e.why:find("[%.?]$"), code)
    end
end)

test("examples break the rule, counter-examples do not", function()
    local shown, without = 0, {}
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        if not e.form then without[#without + 1] = code end
        if e.run then
            local what, fine = e.run("example"), e.run("counter_example")
            local got = type(what) == "string" and "lua-error" or what and what.code
            assert(got == code, code .. ": " .. tostring(got))
            assert(fine == nil, code .. ": " .. tostring(fine and fine.text or fine))
            shown = shown + 1
        end
    end
    assert(shown > 80, shown)
    -- What no small text shows: states of the machine, warnings, nodes that cannot be written.
    assert(#without <= 46, #without .. " codes have no example: " .. table.concat(without, " "))
end)

return tests
