-- Every error code: why its rule exists, an example that breaks it and one that does not, run.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- What no small text shows: states of the machine, warnings, nodes that cannot be written.
local without = {}
for code in ([[
    no-insertion-point undeclared-write loop-extent bad-file no-space no-device no-worker worker-crashed
    worker-timeout bad-database out-of-memory interrupted work-limit ill-formed lowering-failed
    codegen-failed call-refused threads-cooperate mismatch accumulated-twice execution-scope barrier
    memory-limit region-missing loop-variable-in-block multiple-definition undefined-variable undefined-buffer
    thread-variable ill-typed bad-match buffer-ambiguous pad-foreign-load
    E415 E416 E417 E418 E419 E517 E519 E703 E704 E705 E706
    W101 W102 W103 W112 W401 W403 W504 W511 W603]]):gmatch("%S+") do
    without[code] = true
end

test("every code says why its rule exists", function()
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        assert(e.why and #e.why > 20 and e.why:find("[%.?]$"), code)
    end
end)

test("examples break the rule, counter-examples do not", function()
    local shown = 0
    for _, code in ipairs(moon.codes()) do
        local e = moon.explain(code)
        assert(e.form or without[code], code .. " has no example")
        if e.run then
            local what, fine = e.run("example"), e.run("counter_example")
            local got = type(what) == "string" and "lua-error" or what and what.code
            assert(got == code, code .. ": " .. tostring(got))
            assert(fine == nil, code .. ": " .. tostring(fine and fine.text or fine))
            shown = shown + 1
        end
    end
    assert(shown > 80, shown)
end)

return tests
