# Names of the file in signatures, shapes and bodies.
from tvm.script import tir as T

ROWS, COLS = 16, 4 * 8
SHAPE = [ROWS, COLS]
dtype = "float32"
EPS: float = 0.5
rows = T.Var("rows", "int32")


@T.prim_func
def scaled(A: T.Buffer(SHAPE, dtype), B: T.Buffer((ROWS, COLS), dtype)):
    for i, j in T.grid(ROWS, COLS):
        with T.block("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(EPS) + T.float32(COLS)


@T.prim_func
def summed(a: T.handle, B: T.Buffer((COLS,), dtype)):
    A = T.match_buffer(a, (rows, COLS), dtype)
    for i, j in T.grid(COLS, rows):
        with T.block("summed"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vj, vi] * T.float32(len(SHAPE))
