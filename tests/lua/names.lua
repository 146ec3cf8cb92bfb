-- Names that are not there: every class of objects, and every table of moon, says so with the
-- catalogue's error, with the nearest name, whose method it is, or what is typed in its place.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function says(words, fn)
    local ok, e = pcall(fn)
    assert(not ok, "it is accepted")
    assert(type(e) == "userdata" and e.code == "unknown-name", tostring(e))
    assert(e.message:find(words, 1, true), e.message)
end

local function objects()
    local s = moon.schedule(moon.workload.matmul(8, 8, 8))
    local t = s:sample_perfect_tile("i", 2)
    s:split("j", { 2, 4 })
    local _, e = pcall(s.split, s, "i", { 2, 2 })
    return { schedule = s, handle = s:handle("i"), number = t[1] * 2, trace = s:trace(), module = s:mod(), ["function"] = s:func(),
        buffer = s:func().buffers[1], expression = moon.te.var("i") + 1, tensor = moon.tensor { 2 }, error = e, auto = moon.auto,
        statement = moon.ir.evaluate(moon.ir.var("i")), index_map = moon.index_map(function(i) return i end),
        db = moon.db(":memory:"), kernel = moon.build(s), tuner = moon.tuning.search(s, { trials = 1, db = ":memory:" }) }
end

test("every class of objects tells a method or field that it has not", function()
    local n = 0
    for kind, x in pairs(objects()) do
        local words = (kind:find("^[aeiou]") and "an " or "a ") .. kind .. " has no method or field nonesuch"
        says(words, function() return x:nonesuch() end)
        says(words, function() return x.nonesuch end)
        local ok, e = pcall(function() x.nonesuch = 1 end)
        assert(not ok and (type(e) ~= "userdata" or e.code), tostring(e))
        n = n + 1
    end
    assert(n == 16)
end)

test("fields that an object may lack are nil", function()
    local o = objects()
    assert(o.schedule.target == nil and o.handle.value == nil and o.handle.ended_by == nil and o.module.flop == nil)
    assert(o.expression.value == nil and o.error.element == nil)
end)

test("a near name is told, and whose method it is", function()
    local o = objects()
    says("did you mean split?", function() o.schedule:spilt("i", { 2, 4 }) end)
    says("did you mean script?", function() o.module:scrpt() end)
    says("did you mean fill?", function() o.tensor:fil(1) end)
    says("s = schedule(m), then s:split(…)", function() o.module:split("i", { 2, 4 }) end)
    says("s = schedule(m), then s:split(…)", function() moon.workload.matmul(8, 8, 8):split("i", { 2, 4 }) end)
    says("s:vectorize(handle, …)", function() o.handle:vectorize() end)
    says("a schedule has no element [", function() return o.schedule[o.handle].op end)
    says("instead: split each loop, then reorder", function() o.schedule:tile("i", "j", 8, 8) end)
    says("instead: parallel", function() o.schedule:parallelize("i") end)
end)

test("tables of moon tell a name that they have not", function()
    says("moon has no nonesuch", function() return moon.nonesuch end)
    says("moon.workload has no matmull; did you mean matmul?", function() moon.workload.matmull(2, 2, 2) end)
    says("moon.te has no comput; did you mean compute?", function() moon.te.comput() end)
    for _, name in ipairs { "ir", "tir", "space", "tuning", "features", "tensor" } do
        says(" has no nonesuch", function() return moon[name].nonesuch end)
    end
    assert(moon[1] == nil and moon.hooks.nonesuch == nil and rawget(moon, "nonesuch") == nil)
    moon.own = 3
    assert(moon.own == 3)
    moon.own = nil
    assert(require "moonloop.te" == moon.te and not pcall(require, "moonloop.nonesuch"))
end)

return tests
