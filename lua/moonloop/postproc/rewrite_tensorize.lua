-- rewrite-tensorize - blocks that rules chose an intrinsic for are computed by it.
--
-- opts: vectorize_init. A block that the intrinsic does not fit fails the candidate. Source: auto-scheduler 7.6.
local _, core = ...

local key = "meta_schedule.auto_tensorize"

-- The one block in the init and its loop become a vector.
local function vectorize_inside(s, block)
    local inside = s:get_child_blocks(block)
    if #inside ~= 1 then return end
    local loops = s:get_loops(inside[1])
    if #loops == 1 then s:vectorize(loops[1]) end
end

return function(opts)
    return function(s)
        local list = {}
        for _, b in ipairs(s:blocks()) do
            local name = core.block_view(s, b).annotations[key]
            if name then list[#list + 1] = { b, name } end
        end
        for k = #list, 1, -1 do -- what is inside comes first
            local block, name = table.unpack(list[k])
            if s:handle(block).alive then
                s:unannotate(block, key)
                if name ~= "" then
                    s:tensorize(block, name)
                elseif opts.vectorize_init and block.name:find("init", 1, true) then
                    vectorize_inside(s, block)
                end
            end
        end
        return true
    end
end
