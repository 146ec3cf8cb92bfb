-- An instruction that moonloop does not know, taught from Lua: pmaddwd multiplies pairs of
-- 16-bit integers and adds the two products into 32 bits. A description says in scalar code
-- what a tile computes, an implementation calls LLVM's intrinsic by its name, and tensorize
-- takes them from there. No other file knows of it.
local lanes = 4 -- of 32 bits: the 128-bit form, which every x86-64 has

local head = [[
@T.prim_func
def dot(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (2,), "int16", offset_factor=1)
    B = T.match_buffer(b, (4, 2), "int16", offset_factor=1)
    C = T.match_buffer(c, (4,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:2], B[0:4, 0:2])
        T.writes(C[0:4])
]]
local desc = head .. [[
        for i, k in T.grid(4, 2):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])
]]

-- The two elements of A as one integer for all lanes; B as eight in a row.
local impl = head .. [[
        C[0:4] = C[0:4] + T.call_llvm_pure_intrin("int32x4", "llvm.x86.sse2.pmadd.wd", T.reinterpret("int16x8", T.Broadcast(T.reinterpret("int32", A[0:2]), 4)), B[0, 0:8])
]]
moon.intrin("dot_4x2_s16", desc, impl)
print("intrinsics of 16 bits: " .. table.concat(moon.intrins("s16$"), ", "))

-- B is packed as (n // 4, k // 2, n % 4, k % 2).
local M, N, K = 16, 32, 24
local program = moon.parse(string.format([[
@T.prim_func
def main(A: T.Buffer((%d, %d), "int16"), B: T.Buffer((%d, %d, 4, 2), "int16"), C: T.Buffer((%d, %d), "int32")):
    for i, j, k in T.grid(%d, %d, %d):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 4, vk // 2, vj %% 4, vk %% 2])
]], M, K, N // lanes, K // 2, M, N, M, N, K))
local s = schedule(program)

local C = s:get_block("C")
local i, j, k = table.unpack(s:get_loops(C))
local jo, jl = table.unpack(s:split(j, { auto, lanes }))
local ko, kl = table.unpack(s:split(k, { auto, 2 }))
s:reorder(i, jo, ko, jl, kl)
s:decompose_reduction(C, ko)
s:tensorize(jl, "dot_4x2_s16")
print(s:script())

-- Compiled, the instruction itself does the work; the program as it was, interpreted, checks it.
local a = moon.tensor({ M, K }, "int16"):random(1, -30000, 30000)
local b = moon.tensor({ N // lanes, K // 2, lanes, 2 }, "int16"):random(2, -200, 200)
local got, want = moon.tensor({ M, N }, "int32"), moon.tensor({ M, N }, "int32")
moon.build(s, { threads = 1 })(a, b, got)
moon.interpret(program, { a, b, want })
for x = 0, M - 1 do
    for y = 0, N - 1 do assert(got[{ x, y }] == want[{ x, y }], "the instruction computes something else") end
end
print(string.format("ok: %d steps", s:version()))
