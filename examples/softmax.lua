-- Softmax of rows by hand: four passes over a matrix become one over rows that stay in the cache.
-- Usage: moonloop -b examples/softmax.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("SFM-2") -- 1024 x 1024 float32; stages max, exp, sum, Y
local s = schedule(program)
local lanes = moon.machine().vector_bits // 32

-- A maximum or a sum of a row is one chain: each step waits for the one before. rfactor gives
-- every lane of a vector, then each of 4 vectors, a chain of its own: block_rf_rf[4, lanes] runs
-- through the row, block_rf[lanes] joins the 4, the block itself the lanes.
local lane_parts, parts = {}, {}
for _, name in ipairs { "max", "sum" } do
    local _, k = table.unpack(s:get_loops(name))
    local _, four, lane = table.unpack(s:split(k, { moon.auto, 4, lanes }))
    lane_parts[name] = s:rfactor(lane, 1)
    parts[name] = s:rfactor(s:get_loops(lane_parts[name])[3], 1)
end

-- All stages of a row go where the row of results is stored, those used last first: the row of exp
-- stays in the first cache, and the matrix is read and written once.
local row = s:get_loops("Y")[1]
for _, b in ipairs { "sum", lane_parts.sum, parts.sum, "exp", "max", lane_parts.max, parts.max } do
    s:compute_at(b, row)
end

local function vector_tile(block)
    local l = s:get_loops(block)
    s:vectorize(l[#l])
    if #l > 2 then s:unroll(l[#l - 1]) end
end

-- exp and the chains of its sum in one loop: what was computed is added while it is in a register.
local _, j = table.unpack(s:get_loops("exp"))
local steps = s:split(j, { moon.auto, 4, lanes })[1]
s:reverse_compute_at(parts.sum, steps)
s:decompose_reduction(parts.sum, steps)
vector_tile("exp")

-- The chains: 4 vectors side by side inside, in registers, for all steps of the row. They begin
-- before the row, not under a condition of its first step.
local _, four, lane, across = table.unpack(s:get_loops(parts.max))
s:reorder(across, four, lane)
s:decompose_reduction(parts.max, across)
for _, name in ipairs { "max", "sum" } do
    vector_tile(name .. "_rf_rf_init")
    vector_tile(parts[name])
    local _, joined = table.unpack(s:get_loops(lane_parts[name]))
    vector_tile(s:decompose_reduction(lane_parts[name], joined))
    vector_tile(lane_parts[name])
    for _, b in ipairs { parts[name], lane_parts[name], name } do s:set_scope(b, 0, "local") end
end

-- The rest are vectors, two at a time.
local _, j = table.unpack(s:get_loops("Y"))
s:split(j, { moon.auto, 2, lanes })
vector_tile("Y")
s:parallel(row)

report(program, s, "Y")
