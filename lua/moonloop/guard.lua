-- guard - functions of moon that are written in Lua answer with an error object, whatever they are given:
-- what an argument does to the code of these files (no table where one is indexed, a table that holds
-- itself) becomes bad-argument. What a function of the caller's raises goes on as it is.
local core = ...

-- Of Lua's message the kind of value and, where Lua knows it, the name of the argument.
local function reason(text)
    if text:find("stack overflow", 1, true) then return "an argument is nested too deep, or holds itself" end
    local needed, got = text:match("%((%a+) expected, got (.-)%)$")
    if needed then return ("a %s is needed, got %s"):format(needed, (got:gsub("^moonloop%.", "a "))) end
    local kind, name = text:match("a (%a+) value %(local '([%a_]+)'%)$")
    if kind then return ("%s: not what is needed, it is %s"):format(name, kind == "nil" and "missing" or "a " .. kind) end
    return "an argument is not of the kind that is needed"
end

-- What Lua said of these files, and not of the caller's; else false.
local _, here = pcall(function() error("") end)
here = here:match("^(.*)guard%.lua:%d+: $")
local function is_ours(e)
    if type(e) ~= "string" then return false end
    local file, text = e:match("^([^\n:]*%.lua):%d+: (.*)$")
    if file then return file:sub(1, #here) == here and file:find("^[%a_]+%.lua$", #here + 1) ~= nil and text end
    return (e:find("^bad argument #") or e:find("stack overflow", 1, true) or e:find("^error in error handling")) and e
end

local function finish(name, ok, ...)
    if ok then return ... end
    local e = ...
    local text = is_ours(e)
    if text then core.fail("bad-argument", name .. ": " .. reason(text)) end
    if type(e) ~= "string" and type(e) ~= "userdata" then
        core.fail("bad-argument", name .. ": a function that was given raises " .. (e == nil and "nothing" or "a " .. type(e)))
    end
    error(e, 0)
end

local function guarded(name, f)
    return function(...) return finish(name, pcall(f, ...)) end
end

-- Every function of the table that is written in Lua, those of tables in it too; the first name of each counts.
local done = setmetatable({}, { __mode = "k" })
local function guard(prefix, t)
    if done[t] then return t end
    done[t] = true
    local names = {}
    for k in next, t do
        if type(k) == "string" then names[#names + 1] = k end
    end
    table.sort(names)
    for _, k in ipairs(names) do
        local v = t[k]
        if type(v) == "function" and not core.is_c(v) then
            done[v] = done[v] or guarded(prefix .. k, v)
            t[k] = done[v]
            done[t[k]] = t[k]
        elseif type(v) == "table" then
            guard(prefix .. k .. ".", v)
        end
    end
    local mt = getmetatable(t)
    if type(mt) == "table" and type(mt.__call) == "function" and not done[mt] then
        done[mt] = true
        mt.__call = guarded(prefix:gsub("%.$", ""), mt.__call)
    end
    return t
end

return guard
