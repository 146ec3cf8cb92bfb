-- topics - what help says of every name that is no primitive: the functions and tables of moon, the
-- methods and fields of its objects, commands and settings. moon.help reads it, :help shows it and
-- runs the examples. Source: interaction 4 (Help).
--
-- An example is Lua that prints what it shows, with a schedule s of an 8 × 8 × 8 matrix product;
-- of a command or setting, lines as they are typed.
local moon, core = ...
local by_name, names = {}, {}

-- The name is the signature up to its arguments: moon.check(s [, opts]) is moon.check.
local function topic(signature, summary, text, example)
    local name = signature:match("^:?[^%s({]+")
    local t = { name = name, signature = signature, summary = summary, text = text ~= "" and text or nil }
    if summary == nil then t.lines = example else t.example = example end
    if name:find("^set:") then t.signature = ":set " .. signature:sub(5) end
    if name:find("^te%.") or name:find("^ir%.") or name:find("^workload%.") then
        name, t.name, t.signature = "moon." .. name, "moon." .. name, "moon." .. signature
    end
    assert(not by_name[name], name)
    by_name[name] = t
    names[#names + 1] = name
end

for _, file in ipairs { "topics_moon", "topics_schedule", "topics_objects", "topics_te", "topics_session" } do
    core.load(file)(topic)
end
if moon.hooks.topics then moon.hooks.topics(topic) end -- of the program around Lua: its commands

-- What the name without its table is; the first of several is the one that help shows.
local by_last = {}
for _, name in ipairs(names) do
    local last = name:match("[^.:]+$")
    if last ~= name then
        by_last[last] = by_last[last] or {}
        table.insert(by_last[last], name)
    end
end

-- The topic of a name, or nil; other topics whose last part is the same are listed in `others`.
return function(name)
    if name == nil then return names end
    local list = by_last[name:match("[^.:]+$") or name] or {}
    local t = by_name[name] or by_name["moon." .. name] or (not name:find("[.:]") and by_name[list[1]]) or nil
    if not t then return nil end
    local out = { others = {} }
    for k, v in pairs(t) do out[k] = v end
    for _, other in ipairs(list) do
        if other ~= t.name then table.insert(out.others, other) end
    end
    return out
end
