from tvm.script import tirx as T

@T.prim_func
def bind(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        x: T.let = A[i] * 2.0
        y: T.let[T.int32] = i * 2
        z = T.bind(x + 1.0)
        B[y % 8] = z
        w = T.int32()
        T.bind(i + 1, var=w)
        B[w % 8] = x
