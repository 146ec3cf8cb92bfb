# from tvm.script import ir as I
# from tvm.script import tirx as T

n = TypeVar("n")


@T.prim_func
def cells(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    total: T.float32 = 0.5
    total = total + A[0]
    for i in T.vectorized(4):
        B[i] = total
    B[0:4] = A[T.Ramp(0, 1, 4)] + A[T.Ramp(4, 2, 4)] * T.Broadcast(T.float32(2), 4)
    B[4:12:2] = A[4:8]
    A.vstore([0], B[8:12] * B[T.Ramp(12, 1, 4)])


@T.prim_func(s_tir=True)
def sized(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32", elem_offset=0)):
    for i, j in T.grid(n, 4):
        with T.sblock("sized"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
