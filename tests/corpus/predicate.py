@T.prim_func
def predicate(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("b"):
            vi = T.axis.spatial(30, i * 8 + j)
            T.where(i * 8 + j < 30)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] + 1.0
