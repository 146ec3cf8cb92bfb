-- bench_why - of each planted cause (tests/work/why_planted.lua): what :why-slow names first, the gain that it
-- predicts, and the one that is measured by turns. WHY_FROM and WHY_TO choose some.
local planted = dofile("tests/work/why_planted.lua")
local from, to = tonumber(os.getenv("WHY_FROM") or 1), tonumber(os.getenv("WHY_TO") or #planted)
local json = os.getenv("WHY_JSON") == "1"

for k = from, to do
    local p = planted[k]
    focus(p.make())
    local r = moon.cmd("why-slow", "--try")
    local c = r.causes and r.causes[1] or {}
    if json then
        print(('{"name": "why %d", "planted": "%s", "first": "%s", "seconds": %.3g, "predicted": %.3g, "measured": %.3g}')
            :format(k, p.cause, c.cause or "", r.median or 0, c.gain or 0, c.measured_gain or 0))
    else
        print(("why %2d %-16s first %-16s %8.1f us   predicted %5.2f   measured %5.2f   %s")
            :format(k, p.cause, c.cause or "-", (r.median or 0) * 1e6, c.gain or 0, c.measured_gain or 0, c.step or "-"))
    end
end
