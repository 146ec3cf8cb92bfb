-- Measures random candidates into a database, for the model that is shipped (make train-model):
--   train_model.lua db=FILE [n=1000] [rows=C1D-1,...] [seconds=300]
-- Each row is searched by chance (:tune --with random) in two spaces, that of its family and loops tiled on all
-- levels; what the database has counts, so that it goes on where it was stopped. The rows are short ones.
-- Source: auto-scheduler 15.
local opt = { n = 1000, rows = "", seconds = 300 }
for _, a in ipairs(arg) do
    local key, value = a:match("^(%w+)=(.*)$")
    if key and value ~= "" then opt[key] = tonumber(value) or value end
end
local rows = {}
for name in opt.rows:gmatch("[^,]+") do rows[#rows + 1] = name end
if #rows == 0 then
    rows = { "C1D-1", "C2D-1", "GRP-1", "DIL-3", "DEP-2", "T2D-3", "GMM-0", "C3D-1", "C1D-3", "GRP-3", "DEP-3", "GMM-1" }
end

local function names_of(s)
    local list = {}
    for _, b in ipairs(s:blocks()) do list[#list + 1] = s:get(b).name end
    return list
end

-- What can be inlined is; the rest is tiled.
local function inlined(program)
    local s = moon.schedule(program)
    local again = true
    while again do
        again = false
        for _, name in ipairs(names_of(s)) do
            local c = s:copy()
            if pcall(c.compute_inline, c, name) then
                s, again = c, true
                break
            end
        end
    end
    return s
end

local function is_reduction(s, name)
    for _, it in ipairs(s:get(s:get_block(name)).iters) do
        if it.kind == "reduce" then return true end
    end
    return false
end

-- SSRSRS of the reduction with most iterations: parts of a spatial loop, with or without the result staged.
local function tiled(program, staged, parts)
    local s = inlined(program)
    local name, most
    for _, n in ipairs(names_of(s)) do
        local points = 1
        for _, l in ipairs(s:get_loops(s:get_block(n))) do points = points * (s:get(l).extent or 1) end
        if is_reduction(s, n) and (not most or points > most) then name, most = n, points end
    end
    if not name then error("there is no reduction", 0) end
    for _, n in ipairs(names_of(s)) do
        local loops = s:get_loops(s:get_block(n))
        if n ~= name and #loops > 1 then
            s:vectorize(loops[#loops])
            s:parallel(loops[1])
        end
    end
    local b = s:get_block(name)
    local back = staged and s:cache_write(b, 0, "local")
    local iters, S, R = s:get(b).iters, { {}, {}, {}, {} }, { {}, {} }
    for k, l in ipairs(s:get_loops(b)) do
        local reduce = iters[k].kind == "reduce"
        if not reduce and s:get(l).extent == 1 then
            table.insert(S[1], l)
        else
            local n = reduce and 2 or parts
            local loops = s:split(l, s:sample_perfect_tile(l, n, 64))
            for j = 1, n do
                local to = reduce and R[j] or S[j == 1 and 1 or j + 4 - parts]
                table.insert(to, loops[j])
            end
        end
    end
    local order = {}
    for _, group in ipairs { S[1], S[2], R[1], S[3], R[2], S[4] } do table.move(group, 1, #group, #order + 1, order) end
    s:reorder(table.unpack(order))
    if back then
        local at = #S[2] > 0 and S[2] or S[1]
        s:reverse_compute_at(back, at[#at], true)
    end
    s:decompose_reduction(b, R[1][1])
    s:vectorize(S[4][#S[4]])
    s:annotate(R[1][1], "pragma_auto_unroll_max_step",
        s:sample_categorical({ 0, 16, 64, 512 }, { 0.25, 0.25, 0.25, 0.25 }))
    for k = 1, #S[4] - 1 do s:unroll(S[4][k]) end
    s:parallel(#S[1] > 1 and s:fuse(table.unpack(S[1])) or S[1][1])
    return s
end

local function space(program)
    local list = {}
    for _, how in ipairs { { true, 4 }, { false, 4 }, { true, 3 } } do
        local ok, s = pcall(tiled, program, table.unpack(how))
        if ok then list[#list + 1] = { name = "tiled " .. #list, schedule = s } end
    end
    return list
end

for _, name in ipairs(rows) do
    for _, of in ipairs { { "default" }, { space } } do
        local ok, r = pcall(moon.tune, moon.workload(name), { trials = opt.n, seconds = opt.seconds, with = "random",
            db = opt.db, name = name, seed = 1, space = of[1] })
        print(("%-8s %-10s %s"):format(name, of[1] == space and "tiled" or "default",
            ok and ("%d of %d%s"):format(r.done, opt.n, r.exhausted and ", no more programs" or "") or tostring(r)))
    end
end
