-- rewrite-reduction-block - the init of a reduction that threads do not share gets a nest of its own.
-- Source: auto-scheduler 7.5.
local _, core, is = ...

-- The first loop of the block that is not spatial; nil: none, or threads share its terms.
local function first_loop(s, block, view)
    if not view.init then return nil end
    local types, loops = is.loop_types(s, block)
    local first
    for k, l in ipairs(loops) do
        if types[k] ~= "S" then
            local info = s:get(l)
            if info.thread then return nil end
            first = first or l
        end
    end
    return first
end

return function()
    return function(s)
        for _, b in ipairs(s:blocks()) do -- the inits that come have none themselves
            local view = core.block_view(s, b)
            local loop = first_loop(s, b, view)
            if loop then
                local init = s:decompose_reduction(b, loop)
                if view.annotations["meta_schedule.auto_tensorize"] then
                    local said = view.annotations["meta_schedule.auto_tensorize_init"] or ""
                    if s:get(init).annotations["meta_schedule.auto_tensorize"] then
                        s:unannotate(init, "meta_schedule.auto_tensorize")
                    end
                    s:annotate(init, "meta_schedule.auto_tensorize", said)
                end
            end
        end
        return true
    end
end
