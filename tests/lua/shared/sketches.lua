-- sketches - what the tests of the design space ask of every sketch; dofile gives the function.
--
-- Each sketch, as the rule decides it and `lots` times by lot, computes what the program does; runs(s, name, lot), if
-- given, is called for each of these schedules; target: facts that differ from this machine's. Gives the names, and for
-- each how many decisions were drawn.
return function(p, threads, lots, runs, target)
    local list = moon.space.sketches(p, { threads = threads, target = target })
    local names, open = {}, {}
    for _, refused in ipairs(list.refused) do error(refused.name .. ": " .. tostring(refused.error)) end
    for k, sketch in ipairs(list) do
        names[k], open[k] = sketch.name, 0
        for lot = 0, lots do
            local s = lot == 0 and sketch.schedule or moon.schedule(p)
            if lot > 0 then
                sketch.schedule:trace():apply(s, { decide = function(instruction, decision)
                    if instruction.kind ~= "SampleCategorical" then return decision end
                    open[k] = open[k] + 1
                    return math.random(0, #instruction.attrs[1] - 1)
                end })
            end
            assert(moon.check(s).ok, sketch.name .. "\n" .. s:script())
            if runs then runs(s, sketch.name, lot) end
        end
    end
    return names, open
end
