-- own_rule - a schedule rule of one's own, and what it gains.
-- Usage: moonloop -b examples/own_rule.lua [TRIALS [SIZE]]
--
-- A filter of four passes over an image: sums of 3 neighbours along the lines, then the columns, and both again. The
-- stock rules put a sum and one before it together at most; what is between is a whole image, which no cache holds.
-- The rule computes all passes for some lines at a time, where the last one needs them.
local trials = math.tointeger(tonumber(arg and arg[1])) or 24
local te = moon.te
local n, taps = math.tointeger(tonumber(arg and arg[2])) or 4096, 3
local A, w = te.placeholder({ n + 4, n + 4 }, "float32", "A"), te.placeholder({ taps }, "float32", "w")
local image = A
for pass = 1, 4 do
    local from, along, t = image, pass % 2, te.reduce_axis(taps, "t")
    local lines, columns = n + (pass == 1 and 4 or pass < 4 and 2 or 0), n + (pass < 3 and 2 or 0)
    image = te.compute({ lines, columns }, function(i, j)
        return te.sum(from(along == 1 and i or i + t, along == 1 and j + t or j) * w(t), t)
    end, "P" .. pass)
end
local program = moon.module(te.func({ A, w, image }))

-- One of a list, left to the search.
local function choose(s, list)
    local p = {}
    for k = 1, #list do p[k] = 1 / #list end
    return s:sample_categorical { candidates = list, probs = p }
end

-- The sums of block in vectors that stay in registers until they are complete.
local function vectors(s, block)
    local l = s:get_loops(block)
    local outer, lanes = table.unpack(s:split(l[#l - 1], { moon.auto, choose(s, { 64, 16, 32, 128 }) }))
    s:reorder(outer, l[#l], lanes)
    local sums = s:cache_write(block, 0, "local")
    s:reverse_compute_at(sums, outer)
    s:decompose_reduction(block, l[#l])
    s:vectorize(lanes)
    local out = s:get_loops(sums)
    s:vectorize(out[#out])
end

-- The sums that block follows from, one from the other, all over two dimensions; the last first.
local function chain(s, block)
    local list = { block }
    repeat
        local before = s:get_producers(list[#list])
        if #before == 1 and #s:get(before[1]).iters == 3 then list[#list + 1] = before[1] end
    until list[#list] ~= before[1]
    return list
end

-- Where a chain of sums ends; other blocks stay as they are.
local function some_lines(s, block)
    local info = s:get(block)
    if #info.iters ~= 3 or #s:get_consumers(block) > 0 then return s end
    local all = chain(s, block)
    if #all < 2 then return s end
    local c = s:copy()
    local some = c:split(c:get_loops(block)[1], { moon.auto, choose(c, { 32, 8, 16, 64 }) })[1]
    for k = 2, #all do c:compute_at(all[k], some, true) end
    for _, b in ipairs(all) do vectors(c, b) end
    c:parallel(some)
    return { s, c } -- as it was, and with the idea: what is faster is found out
end

local function best(what)
    local r = moon.tune(program, { trials = trials, db = ":memory:", fresh = true })
    if not r.best then error(what .. ": no candidate was measured") end
    print(("%-14s %.3f ms, the best of %d"):format(what, r.best.min * 1e3, #r.records))
    return r.schedule()
end

local stock = best("stock rules")
moon.tune.rule { name = "some-lines", apply = some_lines }
local own = best("and this one")
if not moon.check(own).ok then error("the schedule computes something else") end

-- By turns: a machine that others use is not equally fast all the time.
local times = { {}, {} }
for _ = 1, 3 do
    for k, s in ipairs { stock, own } do table.insert(times[k], moon.time(s).median) end
end
for k = 1, 2 do table.sort(times[k]) end
print(("by turns: %.3f ms and %.3f ms, %.1f times as fast"):format(times[1][2] * 1e3, times[2][2] * 1e3,
    times[1][2] / times[2][2]))
