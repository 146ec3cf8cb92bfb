-- choices - what mutators ask of a trace, and do to it. Source: auto-scheduler 8.
local moon = ...

local choices = {}

-- Positions of the SampleCategorical instructions for which fn(instruction, position of its use, the use) says yes.
function choices.feeding(trace, fn)
    local made, found, seen = {}, {}, {}
    for k = 1, #trace do
        local inst = trace[k]
        for _, x in ipairs(inst.inputs) do
            local from = made[x]
            if from and not seen[from] and fn(inst, x, k) then
                seen[from] = true
                found[#found + 1] = from
            end
        end
        if inst.kind == "SampleCategorical" then made[inst.outputs[1]] = k end
    end
    table.sort(found)
    return found
end

-- The trace with another option of the choice at k, by the probabilities of those that are left; nil: there is none.
function choices.redraw(trace, k, rand)
    local inst = trace[k]
    local p, sum = inst.attrs[2], 0
    local count = #inst.attrs[1]
    if count < 2 then return nil end
    for j = 1, count do
        if j - 1 ~= inst.decision then sum = sum + p[j] end
    end
    local x, last = sum * rand(1 << 30) / (1 << 30), nil
    for j = 1, count do
        if j - 1 ~= inst.decision then
            last = j - 1
            x = x - (sum > 0 and p[j] or 0)
            if x < 0 then break end
        end
    end
    return trace:with_decision(k, last, { remove_postproc = true })
end

-- The first n instructions as a trace; change(instruction, position) may give another one.
function choices.rebuilt(trace, n, change)
    local list = {}
    for k = 1, n do
        local inst = trace[k]
        if inst.kind == "EnterPostproc" then break end
        list[k] = change and change(inst, k) or inst
    end
    return moon.trace(list)
end

-- A program replayed as far as that, or nil.
function choices.replayed(core, program, trace)
    local s = core.schedule(program, { name = "mutant" })
    return pcall(trace.apply, trace, s) and s or nil
end

function choices.pick(list, rand) return list[rand(#list) + 1] end

return choices
