-- Layer norm of rows by hand: two sums and a formula over rows that fit the first cache.
-- Usage: moonloop -b examples/layer_norm.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("LNM-1") -- 384 x 1024 float32; stages sum, mean, centred, square, deviation, Y
local s = schedule(program)
local lanes = moon.machine().vector_bits // 32

-- The difference from the mean is one subtraction: computed again where it is squared it costs less
-- than a matrix that is written and read.
s:compute_inline("centred")

-- A sum of a row is one chain of additions, each of which waits for the one before. rfactor gives
-- every lane of a vector, then each of 4 vectors, a chain of its own: NAME_rf_rf[4, lanes] runs
-- through the row, NAME_rf[lanes] joins the 4, the block itself the lanes.
local lane_parts, parts = {}, {}
for _, name in ipairs { "sum", "square" } do
    local _, k = table.unpack(s:get_loops(name))
    local _, four, lane = table.unpack(s:split(k, { moon.auto, 4, lanes }))
    lane_parts[name] = s:rfactor(lane, 1)
    parts[name] = s:rfactor(s:get_loops(lane_parts[name])[3], 1)
end

-- All stages of a row go where the row of results is stored, those used last first: X is read from
-- far away once, and the two later passes find its 4 KiB in the first cache.
local row = s:get_loops("Y")[1]
for _, b in ipairs { "deviation", "square", lane_parts.square, parts.square, "mean", "sum", lane_parts.sum, parts.sum } do
    s:compute_at(b, row)
    if b == "deviation" or b == "mean" then s:set_scope(b, 0, "local") end
end

-- The chains: 4 vectors side by side inside, in registers, for all steps of the row. They begin
-- before the row, not under a condition of its first step.
local function vector_tile(block)
    local l = s:get_loops(block)
    s:vectorize(l[#l])
    if #l > 2 then s:unroll(l[#l - 1]) end
end
for _, name in ipairs { "sum", "square" } do
    local _, four, lane, steps = table.unpack(s:get_loops(parts[name]))
    s:reorder(steps, four, lane)
    vector_tile(s:decompose_reduction(parts[name], steps))
    vector_tile(parts[name])
    local _, joined = table.unpack(s:get_loops(lane_parts[name]))
    vector_tile(s:decompose_reduction(lane_parts[name], joined))
    vector_tile(lane_parts[name])
    for _, b in ipairs { parts[name], lane_parts[name], name } do s:set_scope(b, 0, "local") end
end

-- The formula: vectors, four at a time, for its division is long and its loads are many.
local _, j = table.unpack(s:get_loops("Y"))
s:split(j, { moon.auto, 4, lanes })
vector_tile("Y")
s:parallel(row)

report(program, s, "Y")
