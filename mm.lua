local moon = moon or require "moonloop"
local program = moon.parse([=[
# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        # with T.block("root"):
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
]=])
local sch = moon.schedule(program, {func = "main", name = "matmul"})
local b0 = sch:get_block{name = "C", func_name = "main"}
local l1, l2, l3 = table.unpack(sch:get_loops{block = b0})
local l4, l5 = table.unpack(sch:split{loop = l2, factors = {moon.auto, 16}})
sch:reorder(l1, l4, l3, l5)
sch:vectorize{loop = l5}
sch:parallel{loop = l1}
local b6 = sch:decompose_reduction{block = b0, loop = l3}
assert(sch:hash(8) == "6f98731b")
