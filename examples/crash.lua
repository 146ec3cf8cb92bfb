-- Four kernels that go wrong, each in its own way: none of them hurts the session. Compiled
-- code runs in a process of its own, with pages around every buffer that nobody may touch.
local function kernel(name, body)
   return schedule(moon.parse(([[
@T.prim_func
def %s(A: T.Buffer((1000,), "float32"), C: T.Buffer((1000,), "float32")):
    for i in range(1000):
        with T.block("C"):
            vi = T.axis.spatial(1000, i)
            T.reads(A[0:1000])
            T.writes(C[0:1000])
%s]]):format(name, (body:gsub("[^\n]+", "            %0")))))
end

local kernels = {
   -- Reads on and on behind the end of A.
   kernel("crashes", "C[vi] = A[vi * 1000000]\n"),
   -- Never ends.
   kernel("hangs", "while T.bool(True):\n    C[vi] = A[vi]\n"),
   -- Writes a few elements more than C has: too near to crash, and found all the same.
   kernel("overruns", "C[vi + 3] = A[vi]\n"),
   -- Wants 16 GiB for itself.
   kernel("eats_memory", [[
B = T.alloc_buffer((4294967296,), "float32")
for k in range(2):
    B[k * T.int64(4294967295)] = A[vi]
C[vi] = B[T.int64(4294967295)]
]]),
}

for _, s in ipairs(kernels) do
   local ok, e = pcall(moon.time, s, {limit = 3, alone = true})
   print(ok and "it ran" or e.message)
end

-- And the next one works.
local s = kernel("works", "C[vi] = A[vi] + T.float32(1)\n")
local t = moon.time(s, {alone = true})
print(t.runs >= 5 and "works: timed" or "works: too few runs")
