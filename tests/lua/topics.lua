-- moon.help: every name that a script can reach has a topic of its own.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- Names of primitives and of calls like them have their help in the table of primitives; can_NAME is
-- made from it.
local function is_primitive(name) return moon.primitives()[name] ~= nil end
local other = { get_sblock = true, get_axes = true, get_child_sblocks = true, pragma = true, set_dtype = true }

local function names_of_moon()
    local list, seen = {}, {}
    local function walk(t, prefix)
        seen[t] = true
        for k, v in pairs(t) do
            if type(k) == "string" then
                list[#list + 1] = prefix .. k
                if type(v) == "table" and not seen[v] then walk(v, prefix .. k .. ".") end
            end
        end
        seen[t] = nil
    end
    walk(moon, "moon.")
    return list
end

local function names_of_classes()
    local list, n = {}, 0
    for class, t in pairs(debug.getregistry()) do
        local of = type(class) == "string" and type(t) == "table" and class:match("^moonloop%.(.*)$")
        if of and rawget(t, "methods") then
            of = of == "schedule" and "s" or of
            n = n + 1
            for name in pairs(t.methods) do list[#list + 1] = of .. ":" .. name end
            for _, name in pairs(t.fields or {}) do
                if type(name) == "string" then list[#list + 1] = of .. "." .. name end
            end
            for name in pairs(t.fields or {}) do
                if type(name) == "string" then list[#list + 1] = of .. "." .. name end
            end
        end
    end
    assert(n > 10, n)
    return list
end

local function has_topic(name)
    local bare = name:match("^s:(.*)$")
    if bare and (is_primitive(bare) or other[bare]) then return true end
    if bare and bare:find("^can_") and (is_primitive(bare:sub(5)) or other[bare:sub(5)]) then return true end
    local t = moon.help(name)
    return t and t.name == name
end

test("every name below moon, and every method and field of an object, has a topic", function()
    local missing, n = {}, 0
    for _, list in ipairs { names_of_moon(), names_of_classes() } do
        for _, name in ipairs(list) do
            n = n + 1
            if not has_topic(name) then missing[#missing + 1] = name end
        end
    end
    assert(n > 350, n)
    table.sort(missing)
    assert(#missing == 0, #missing .. " have none: " .. table.concat(missing, " "))
end)

test("every topic is of something that is there, and says it in a line of its own", function()
    local there, seen = { numbers = true }, {} -- that one is a chapter
    for _, list in ipairs { names_of_moon(), names_of_classes() } do
        for _, name in ipairs(list) do there[name] = true end
    end
    for _, name in ipairs(moon.help()) do
        local t = moon.help(name)
        assert(t.name == name and t.signature, name)
        if not name:find("^:") and not name:find("^set:") then
            assert(there[name] or name == "error.suggestions", name)
            assert(#t.summary > 6 and #t.summary < 100 and not t.summary:find("%.$"), name .. ": " .. t.summary)
            if t.signature:find("[({]") then assert(t.example, name .. " has no example") end
        end
        local words = tostring(t.summary) .. tostring(t.text)
        if words ~= "nilnil" and seen[words] then -- moon.ir and moon.te share constructors, two objects a method
            assert(t.name:match("[^.:]+$") == seen[words]:match("[^.:]+$") or name:find("IndexMap"), name .. " and " .. seen[words])
        end
        seen[words] = name
    end
end)

test("a name alone finds its topic, and tells of the others", function()
    assert(moon.help("build").name == "moon.build")
    assert(moon.help("te.exp").name == "moon.te.exp")
    assert(moon.help("time").name == "moon.time" and moon.help("time").others[1] == "kernel:time")
    assert(moon.help("no such name") == nil and moon.help("") == nil and moon.help(".") == nil)
    assert(select(2, pcall(moon.help, 3)).code == "bad-argument")
end)

return tests
