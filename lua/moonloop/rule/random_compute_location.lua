-- random-compute-location - a producer that was not inlined is computed at a loop of its consumer, by lot.
-- Source: auto-scheduler 6.9.
local _, core, is = ...

-- Moves it to a sampled place: a mark inlines it or leaves it.
local function move(s, block)
    s:compute_at(block, s:sample_compute_location(block), true)
end

return function()
    return function(s, block)
        local view = core.block_view(s, s:handle(block))
        if view.root or is.tiled(view) then return { s } end
        local loops = s:loops(block)
        if #loops == 0 or #s:get_child_blocks(loops[1]) > 1 or #s:get_consumers(block) == 0 then return { s } end
        local around = s:get_sref(loops[1]).parent
        if not around or not core.block_view(s, around).root then return { s } end
        local producer
        if view.annotations["meta_schedule.random_compute_producer"] then
            local list = s:get_producers(block)
            if #list ~= 1 then
                core.fail("bad-argument", "random-compute-location: the reduction has " .. #list .. " producers, one is needed")
            end
            producer = list[1]
            s:unannotate(block, "meta_schedule.random_compute_producer")
        end
        move(s, block)
        if producer then move(s, producer) end
        return { s }
    end
end
