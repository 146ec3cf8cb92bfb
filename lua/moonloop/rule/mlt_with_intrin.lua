-- mlt-with-intrin - multi-level tiling around the tile that a tensor intrinsic computes.
--
-- opts: as multi-level-tiling, and intrin (its name). A block that the intrinsic does not compute stays as it is, and
-- stays in the list beside those that it does compute: loops alone compete. Source: auto-scheduler 6.6.
local _, _, is, mlt = ...

-- Whether the intrinsic computes the block, once its init stands elsewhere; the same for all tiles around it.
local function fits(s, block, name)
    return not is.refused(s, function(c)
        local types, loops = is.loop_types(c, block)
        for k, l in ipairs(loops) do
            if types[k] ~= "S" then
                c:decompose_reduction(block, l)
                break
            end
        end
        c:tensorize(block, name)
    end)
end

local function tile_with_intrin(state, opts)
    local s = state.s
    local loop = s:tile_with_intrinsic(state.block, opts.intrin)
    if not loop then return {} end
    local outer = s:blockize(loop)
    if not fits(s, outer, opts.intrin) then return {} end
    s:annotate(outer, "meta_schedule.auto_tensorize", opts.intrin)
    state.block = outer
    return { state }
end

local steps = { tile_with_intrin, table.unpack(mlt.steps) }

return function(opts)
    return function(s, block, target)
        if not mlt.applies(s, block, opts) then return { s } end
        local whole = s:copy()
        local results = mlt.apply(s:copy(), block, opts, target, steps)
        if #results == 1 and results[1]:hash() == whole:hash() then return { whole } end
        results[#results + 1] = whole
        return results
    end
end
