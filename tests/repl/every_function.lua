-- Paths as arguments of every function that a script can reach: those of the globals, of moon, of
-- the methods of every kind of object, and every command. What comes of it is for the caller to
-- see: nothing may be opened, made or changed in `folder`. A line that sets `folder` and `commands`
-- goes before this: what is named on the command line may be read.
local paths = {}
for _, name in ipairs { "secret", "secret.lua", "secret.py", "secret.json", "secret.npy", "pipe", "pipe.lua", "pipe.py",
    "pipe.json", "pipe.npy", "pipe.txt", "new", "new.lua", "new.py", "new.json", "new.npy", "new.db", "new/" } do
    paths[#paths + 1] = folder .. "/" .. name
end

local s = moon.schedule(moon.workload.matmul(4, 4, 4))
local m = moon.workload.matmul(4, 4, 4)
local db = moon.db(":memory:")
local objects = { s, m, m.main, m.main.buffers[1], s:trace(), s:get_block("C"), s:get_loops("C")[1], moon.tensor({ 2 }, "float32"),
    db, moon.build(m), moon.te.var("x"), moon.te.var("x") + 1, moon.te.placeholder({ 4 }, "float32", "A"), moon.auto,
    moon.index_map(function(i) return i end), select(2, pcall(s.split, s, "nothing", { 2, 2 })) }
s:split("i", { 2, 2 })
moon.focus(s)

-- Functions by name, each once; those of objects want one as their first argument.
local found, names, seen = {}, {}, {}
local skipped = { ["collectgarbage"] = true, ["error"] = true, ["coroutine.yield"] = true, ["coroutine.close"] = true }
local function note(name, f)
    if seen[f] or skipped[name] then return end
    seen[f] = true
    found[#found + 1], names[#names + 1] = f, name
end
local function walk(name, t, depth)
    if seen[t] or depth > 4 then return end
    seen[t] = true
    for k, v in pairs(t) do
        if type(k) == "string" then
            local path = name == "" and k or name .. "." .. k
            if type(v) == "function" then note(path, v) end
            if type(v) == "table" then walk(path, v, depth + 1) end
        end
    end
end
walk("", _G, 0)
for _, o in ipairs(objects) do
    pcall(function() -- some have nothing to show
        for k, v in pairs(o) do
            if type(v) == "function" then note(tostring(k), v) end
        end
    end)
end

local calls = 0
local function call(f, ...)
    calls = calls + 1
    local r = table.pack(pcall(f, ...))
    for k = 1, r.n do -- what it says or holds is seen, too
        if type(r[k]) == "string" or type(r[k]) == "userdata" then
            local ok, text = pcall(tostring, r[k])
            if ok and text:find("SECRET-7261", 1, true) then print(text) end
        end
    end
end
local quiet = print
for at, f in ipairs(found) do
    if f ~= quiet then
        for k, p in ipairs(paths) do
            call(f, p)
            if k % 3 == 1 then
                call(f, p, p)
                call(f, p, p, p)
                call(f, { p })
                call(f, { path = p, db = p, file = p, program = p, name = p })
                call(f, m, { path = p, db = p, file = p, program = p })
                call(f, m, p)
            end
            for _, o in ipairs(objects) do
                if names[at]:find(".", 1, true) == nil then call(f, o, p) end
            end
        end
    end
end
for name in commands:gmatch("%S+") do
    for _, p in ipairs(paths) do
        call(moon.cmd, name, p)
        call(moon.cmd, name, "--db", p)
        call(moon.cmd, name, "all", p)
        call(moon.cmd, name .. " > " .. p)
        call(moon.cmd, name .. " | tee " .. p)
    end
end
print(("%d calls of %d functions"):format(calls, #found))
