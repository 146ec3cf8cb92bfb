-- explain - what moon.explain and :explain tell of a code: why its rule exists, an example that
-- breaks it and one that does not; run(which) runs them. Source: interaction 7.
local moon, core, e = ...

-- The first thing that is wrong with a program, as an error object or a finding; nil: nothing.
local function judge(text, code, opts)
    local ok, m = pcall(moon.parse, text, opts)
    if not ok then return m end
    for _, w in ipairs(m.warnings or {}) do
        if w:find("[" .. code .. "]", 1, true) then return { code = code, message = w } end
    end
    local found = moon.verify(m, { what = { "well-formed", "regions", "threading", "out-of-bounds", "order", "gpu" } })
    for _, f in ipairs(found) do
        if f.code == code then return f end
    end
    local tensors, env = {}, {}
    for _, b in ipairs(m.f.buffers) do
        local shape = {}
        for d, n in ipairs(b.shape) do shape[d] = math.tointeger(n) or 8 end
        tensors[#tensors + 1] = moon.tensor(shape, b.dtype):fill(1)
    end
    local ran, e = pcall(moon.interpret, m, tensors)
    if not ran and e.code == code then return e end
end

local codes = core.load("codes")()
local one = codes[e.code] or {}
local reasons = core.load("reasons")()
e.why = reasons.of(e.code)
e.reason = e.why or e.says
if not one.bad then
    e.form = e.example and "case"
    e.no_example = not e.form and reasons.no_example[e.code] or nil
    return e
end
e.form, e.example, e.counter_example = one.kind, one.bad, one.good
-- run("example") or run("counter_example"): nil, or what is wrong; of typed lines also all that is shown
function e.run(which)
    if one.kind == "text" then return judge(e[which], e.code, one.opts) end
    if one.kind == "typed" then
        if not moon.hooks.typed then
            core.fail("not-supported", "lines are run by the program moonloop; here only the library runs")
        end
        local code, session = moon.hooks.typed(e[which])
        return code and { code = code, text = session }, session
    end
    local env = { moon = moon, s = core.schedule(moon.workload.matmul(8, 8, 8)), table = table, print = print }
    local ok, what = pcall(load(e[which], "=" .. which, "t", env))
    if not ok then return what end
end
return e
