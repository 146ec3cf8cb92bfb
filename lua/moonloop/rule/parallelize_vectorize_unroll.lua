-- parallelize-vectorize-unroll - the root says how far the postprocessor of this name may go.
--
-- opts: jobs (per core) and vector (largest extents of one parallel and one vectorised loop; -1: none), steps (of
-- unrolling), explicit. Source: auto-scheduler 6.8.
local _, core, is = ...

return function(opts)
    return function(s, block, target)
        if not core.block_view(s, s:handle(block)).root then return { s } end
        if opts.jobs ~= -1 then s:annotate(block, "meta_schedule.parallel", target.cores * opts.jobs) end
        if opts.vector ~= -1 then s:annotate(block, "meta_schedule.vectorize", opts.vector) end
        if #opts.steps > 0 and not is.spatial_function(s) then
            s:annotate(block, opts.explicit and "meta_schedule.unroll_explicit" or "meta_schedule.unroll_implicit",
                is.choice(s, opts.steps))
        end
        return { s }
    end
end
