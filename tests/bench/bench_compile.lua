-- bench_compile - programs for bench_compile.c: of each row of a set, what a search proposes before it has measured
-- anything: its sketches, then random candidates.
--
--   moonloop -b bench_compile.lua ROWS N THREADS        ROWS: suite, or GMM-2,SFM-0
--
-- Each is a line "ROW NUMBER BYTES" and the text of the program.
local rows, n, threads = arg[1], tonumber(arg[2]), tonumber(arg[3])
local suite = " C1D C2D C3D DEP DIL GMM GRP T2D CAP NRM SFM CBR TBG WIN "

local list = {}
for id in rows:gmatch("[^,%s]+") do if id ~= "suite" then list[#list + 1] = id end end
if rows:find("suite", 1, true) then
    for _, id in ipairs(workload.list()) do
        if suite:find(" " .. id:match("^(%a+%d*%a*)") .. " ", 1, true) then list[#list + 1] = id end
    end
end
for _, id in ipairs(list) do
    local t <close> = moon.tuning.search(workload(id), { trials = n, seed = 1, threads = threads, db = moon.db(":memory:") })
    for k = 1, n do
        local p = t:propose()
        if not p then break end
        io.stdout:write(string.format("%s %d %d\n", id, k, #p.program), p.program)
    end
end
