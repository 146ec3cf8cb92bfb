-- A long dot product on several cores and in vector lanes. One accumulator is one chain of
-- additions: no two iterations of its loop may run at the same time. rfactor gives each part
-- a sum of its own, once for the cores and once for the lanes.
local s = schedule(moon.parse [[
@T.prim_func
def main(A: T.Buffer((65536,), "float32"), B: T.Buffer((65536,), "float32"),
         S: T.Buffer((1,), "float32")):
    for k in range(65536):
        with T.block("S"):
            vk = T.axis.reduce(65536, k)
            with T.init():
                S[0] = T.float32(0)
            S[0] = S[0] + A[vk] * B[vk]
]])

-- As it stands the loop cannot run in parallel.
local ok, why = pcall(s.parallel, s, "k")
assert(not ok and why.code == "iter-not-parallel")
print("before: " .. why.code)

-- 64 parts for the cores: S_rf[64, 1] holds their sums.
local part = table.unpack(s:split("k", {64, auto}))
local sums = s:rfactor(part, 0)

-- In each part 16 sums for the lanes of a vector: S_rf_rf[64, 1, 16].
local p, rest = table.unpack(s:get_loops(sums))
local _, lane = table.unpack(s:split(rest, {auto, 16}))
local lanes = s:rfactor(lane, 2)

-- Now the parts are independent, and so are the lanes.
p, rest, lane = table.unpack(s:get_loops(lanes))
s:parallel(p)
s:vectorize(lane)
s:decompose_reduction(lanes, rest)
s:parallel(s:get_loops(sums)[1])

print(s:script())

local result = moon.check(s)
assert(result.ok, "the schedule changed the result")
print(string.format("ok: %d steps", s:version()))
