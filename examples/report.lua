-- What the schedules by hand end with: the schedule is checked against its start, then timed by turns with
-- the draft, which no hand wrote and no measurement chose, and set against the bound that the machine has
-- for the program (:time and :why-slow tell the same one). moonloop loads it: dofile, as the examples do.
local limits = { compute = "the peak" }
for _, level in ipairs { "L1", "L2", "L3", "memory" } do limits[level] = "the bandwidth of " .. level end

return function(program, s, result)
    local check = moon.check(s)
    assert(check.ok, "the schedule does not compute what the program computes")
    print(("checked: %s equals the start, %d steps"):format(result, s:version()))

    -- The draft is taken with the schedule, not after it: what else runs meets both. The best of three.
    local names, best = { "by hand", "the draft" }, {}
    local schedules = { s, moon.draft(program) }
    for _ = 1, 3 do
        for k, what in ipairs(schedules) do
            local t = moon.time(what, { alone = true })
            if not best[k] or t.median < best[k].median then best[k] = t end
        end
    end
    for k, t in ipairs(best) do
        local bound = t.share_of_bound
        print(("%-10s %10.1f us   %s   %s"):format(names[k], t.median * 1e6, t.speed, not bound and
            "the machine's bound is not known here" or ("%.0f %% of the bound: %s"):format(bound * 100,
            limits[t.roof] or t.roof)))
    end
    print(("%d threads; the draft takes %.2f times as long"):format(best[1].threads, best[2].median / best[1].median))
end
