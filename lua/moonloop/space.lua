-- space - design spaces: schedules of a program whose sampling decisions are left open.
--
-- A rule looks at the program and the target, never at measurements. It gives sketches:
-- schedules on the start version, whose traces the search replays with other decisions; the
-- decisions they carry are the rule's own choice, tried first and used by moon.draft. The
-- rules of a family are one file of space/, a row below: a family adds sketches to the list
-- where it knows the structure of the program, and says so where the plain ones may be faster
-- (list.narrow), or where no other family has anything to add (list.known). Source: auto-scheduler 2 to 6; lowering-and-codegen 8.
local moon, core = ...

local space = { name = "cpu-1" }
local facts = core.load("space/facts")(moon, core)
local plain = core.load("space/plain")(moon, core, facts)

local families = {} -- asked in this order: the first sketch of the list is the draft
for k, name in ipairs {
    "quant",
    "scan",
    "rows",
    "columns",
    "attention",
    "depthwise",
    "narrow",
    "conv",
    "pack",
    "tile",
} do
    families[k] = core.load("space/" .. name)(moon, core, facts, plain)
end

-- A family that is refused while it looks at the program leaves it to the others.
local function ask(family, list, ...)
    local ok, e = pcall(family.sketches, list, ...)
    if ok then return end
    if type(e) ~= "userdata" or e.code == "interrupted" then error(e, 0) end
    list.refused[#list.refused + 1] = { name = "a family", error = e }
end

-- The sketches of a program for a target; never empty. opts: threads; target, facts that differ from this
-- machine's.
function space.sketches(program, opts)
    local json, target = core.tune_target()
    for k, v in pairs(opts and opts.target or {}) do target[k] = v end
    local threads = opts and opts.threads ~= 0 and opts.threads or target.threads
    local list = { refused = {}, target = json, threads = threads }
    for _, family in ipairs(families) do
        if not list.known then ask(family, list, program, target, threads) end
    end
    if #list == 0 or list.narrow then plain.sketches(list, program, target, threads) end
    if #list == 0 then facts.sketch(list, program, "as it is", function() end) end
    return list
end

return space
