from tvm.script import ir as I
from tvm.script import tir as T

N = 16
SHAPE = (N, N * 2)

@I.ir_module
class Pair:
    I.module_attrs({"version": 3})

    @T.prim_func(private=True)
    def helper(A: T.Buffer(SHAPE, "float32"), k: T.int32) -> T.int32:
        A[0, 0] = T.float32(1)
        return k + 1

    @T.prim_func
    def main(A: T.Buffer(SHAPE, "float32")):
        T.evaluate(cls.helper(A.data, 3))
        for i in range(N):
            A[i, N] = A[i, 0] + T.float32(N)
