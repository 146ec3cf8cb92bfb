# A two-stage 3x3 box blur: each stage averages three neighbours along one axis.
from tvm.script import tir as T


@T.prim_func
def main(X: T.Buffer((34, 66), "float32"), Y: T.Buffer((32, 64), "float32")):
    bx = T.alloc_buffer((34, 64), "float32")
    for i, j in T.grid(34, 64):
        with T.block("bx"):
            vi, vj = T.axis.remap("SS", [i, j])
            bx[vi, vj] = (X[vi, vj] + X[vi, vj + 1] + X[vi, vj + 2]) * 0.25
    for i, j in T.grid(32, 64):
        with T.block("by"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = (bx[vi, vj] + bx[vi + 1, vj] + bx[vi + 2, vj]) * 0.25
