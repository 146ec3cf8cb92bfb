-- A matrix product of bytes, u8 times s8 into s32, with the dot product instruction of AVX512
-- VNNI: each takes 4 bytes of a row of A and 16 x 4 bytes of the packed B. The weights are
-- packed as (n // 16, k // 4, n % 16, k % 4), so that a tile of B is 64 bytes in a row.
local M, N, K = 64, 64, 128
local s = schedule(moon.parse(string.format([[
@T.prim_func
def main(A: T.Buffer((%d, %d), "uint8"), B: T.Buffer((%d, %d, 16, 4), "int8"),
         C: T.Buffer((%d, %d), "int32")):
    for i, j, k in T.grid(%d, %d, %d):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj %% 16, vk %% 4])
]], M, K, N // 16, K // 4, M, N, M, N, K)))

print("intrinsics: " .. table.concat(moon.intrins(), ", "))

-- What the intrinsic computes, and what it becomes.
local dot = moon.intrin("dot_16x4_vnni")
print(dot.desc:script())

-- A register tile of 8 rows and 2 x 16 columns; the reduction in steps of 4 bytes.
local C = s:get_block("C")
local i, j, k = table.unpack(s:get_loops(C))
local io, ii = table.unpack(s:split(i, {auto, 8}))
local jo, jm, jv = table.unpack(s:split(j, {auto, 2, 16}))
local ko, kv = table.unpack(s:split(k, {auto, 4}))
s:reorder(io, jo, ko, ii, jm, jv, kv)

-- A tile accumulates in a buffer of its own, and is stored when it is done.
local out = s:cache_write(C, 0, "global")
s:reverse_compute_at(out, jo)
s:parallel(io)

-- With the init the tile is no dot product: the error says so.
local ok, why = pcall(s.tensorize, s, jv, "dot_16x4_vnni")
assert(not ok and why.code == "intrin-mismatch")
print("with the init: " .. why.message)

-- The init goes before the reduction; what is left is the intrinsic's description.
local init = s:decompose_reduction(C, ko)
s:tensorize(jv, "dot_16x4_vnni")
s:vectorize(s:get_loops(init)[5])
s:vectorize(s:get_loops(out)[4])
s:unroll(ii)
s:unroll(jm)

print(s:script())

local result = moon.check(s)
assert(result.ok, "the schedule changed the result")
print(string.format("ok: %d steps", s:version()))
