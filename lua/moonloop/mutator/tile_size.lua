-- tile-size - a factor of a tile goes to another part of it, or a cooperative load gets another length.
-- Source: auto-scheduler 8.
local _, _, _, choices = ...

local key = "meta_schedule.cooperative_fetch"

local function divisors(n)
    local list = {}
    for d = 2, n do
        if n % d == 0 then list[#list + 1] = d end
    end
    return list
end

-- Whether the parts from `at` on (counted from 0) are together a multiple of `inner`.
local function is_kept(tile, at, inner)
    local product = 1
    for k = at + 1, #tile do product = product * tile[k] end
    return product % inner == 0
end

local function move(inst, rand)
    local partitioned = inst.kind == "SamplePartitionedTile"
    local most = not partitioned and inst.attrs[2] or -1
    for _ = 1, 64 do -- a tile whose parts do not take anything from each other stays
        local tile = { table.unpack(inst.decision) }
        local big = {}
        for k, f in ipairs(tile) do
            if f > 1 then big[#big + 1] = k end
        end
        local x = choices.pick(big, rand)
        local y = rand(#tile - 1) + 1
        if y >= x then y = y + 1 end
        local fits = {}
        for _, d in ipairs(divisors(tile[x])) do
            if y < #tile or most == -1 or d * tile[y] <= most then fits[#fits + 1] = d end
        end
        if #fits > 0 then
            local d = choices.pick(fits, rand)
            tile[x], tile[y] = tile[x] // d, tile[y] * d
            if not partitioned or is_kept(tile, inst.attrs[2], inst.attrs[3]) then return tile end
        elseif #tile == 2 then
            return nil
        end
    end
end

return function()
    return function(trace, rand)
        local list = choices.feeding(trace, function(use) return use.kind == "Annotate" and use.attrs[1] == key end)
        local kept = {}
        for _, k in ipairs(list) do
            if #trace[k].attrs[1] >= 2 then kept[#kept + 1] = k end
        end
        for k = 1, #trace do
            local inst = trace[k]
            if inst.kind == "EnterPostproc" then break end
            if inst.kind == "SamplePerfectTile" or inst.kind == "SamplePartitionedTile" then
                local product = 1
                for _, f in ipairs(inst.decision) do product = product * f end
                if #inst.decision >= 2 and product >= 2 then kept[#kept + 1] = k end
            end
        end
        if #kept == 0 then return nil end
        local k = choices.pick(kept, rand)
        if trace[k].kind == "SampleCategorical" then return choices.redraw(trace, k, rand) end
        local tile = move(trace[k], rand)
        return tile and trace:with_decision(k, tile, { remove_postproc = true })
    end
end
