-- auto-inline - blocks that only rename or combine elements go into their consumers, or their producer.
--
-- opts: into_producer, into_consumer, constants (blocks that read nothing), no_branch, injective, ordered,
-- disallowed (names of operators). Source: auto-scheduler 6.3.
local _, core, is = ...

local rule = {}

-- Decides in the order of the chapter: "consumer", "producer" or nil, which keeps the block.
function rule.decide(s, block, opts)
    local view = core.block_view(s, s:handle(block))
    if #view.writes > 1 or view.root then return nil end
    local consumers = #s:get_consumers(block) > 0
    local function legal(name) return not is.refused(s, function(c) c[name](c, block) end) end
    if opts.constants and #view.reads == 0 and consumers and legal("compute_inline") then return "consumer" end
    if not is.spatial_function(s) then
        for _, name in ipairs(opts.disallowed or {}) do
            if view.calls[name] then return nil end
        end
        if opts.no_branch and (view.guarded or view.branch or view.select) then return nil end
        if opts.injective or opts.ordered then
            for _, r in ipairs(view.reads) do
                local p = view.writes[1] and is.pattern(r, view.writes[1])
                if not p or opts.injective and not p.injective or opts.ordered and not p.ordered then return nil end
            end
        end
    end
    if view.annotations["meta_schedule.inline_rule"] == "disable" then return nil end
    if opts.into_consumer and consumers and legal("compute_inline") then return "consumer" end
    if opts.into_producer then
        local producers = s:get_producers(block)
        if #producers == 1 and core.info(s, producers[1]).complete and
            core.block_view(s, producers[1]).annotations["meta_schedule.auto_tensorize"] == nil and
            legal("reverse_compute_inline") then
            return "producer"
        end
    end
end

function rule.inline(s, block, opts)
    local way = rule.decide(s, block, opts)
    if way == "consumer" then s:compute_inline(block) end
    if way == "producer" then s:reverse_compute_inline(block) end
    return { s }
end

return setmetatable(rule, {
    __call = function(_, opts)
        return function(s, block) return rule.inline(s, block, opts) end
    end,
})
