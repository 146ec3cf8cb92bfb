-- guard - what the error e of a function of moon that is written in Lua becomes: what an argument did to the
-- code of these files (no table where one is indexed, a table that holds itself) is bad-argument. What a function
-- of the caller's has raised goes on as it is.
local core, name, e = ...

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
    if file then return file:sub(1, #here) == here and file:find("^[%a_/]+%.lua$", #here + 1) ~= nil and text end
    return (e:find("^bad argument #") or e:find("stack overflow", 1, true) or e:find("^error in error handling")) and e
end

local text = is_ours(e)
if text then core.fail("bad-argument", name .. ": " .. reason(text)) end
if type(e) ~= "string" then
    core.fail("bad-argument", name .. ": a function that was given raises " .. (e == nil and "nothing" or "a " .. type(e)))
end
error(e, 0)
