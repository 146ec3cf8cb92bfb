# dense matrix product with an init
from tvm.script import tir as T

@T.prim_func
def matmul(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 96), "float32"), C: T.Buffer((128, 96), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(128, 96, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
