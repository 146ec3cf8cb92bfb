-- add-rfactor - a reduction with few results is divided: its outer or its inner part becomes results of its own.
--
-- opts: jobs (per core), inner (the largest inner factor). Source: auto-scheduler 6.4.
local _, _, is = ...

return function(opts)
    return function(s, block, target)
        if not is.worth_dividing(s, block, target.cores * opts.jobs) then return { s } end
        local results, whole = {}, s:copy()
        local fused, spatial = is.fuse_reductions(s, block)
        local parts = s:split(fused, s:sample_perfect_tile(fused, 2, opts.inner))
        for k = 1, 2 do
            local c = s:copy()
            if is.done(c.rfactor, c, parts[k], spatial) then
                c:annotate(block, "meta_schedule.random_compute_producer", 1)
                results[#results + 1] = c
            end
        end
        results[#results + 1] = whole
        return results
    end
end
