@T.prim_func
def wide(A: T.Buffer((T.int64(8), T.int64(16)), "int8"), B: T.Buffer((T.int64(8), T.int64(16)), "int32")):
    for i, j in T.grid(T.int64(8), T.int64(16)):
        with T.block("cast"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.cast(A[vi, vj], "int32") * 2 + T.Cast("int32", A[vi, T.int64(15) - vj])
    for i in range(T.int64(8), T.int64(8) + 4):
        B[i - 8, 0] = A[i - 8, 0].astype("int32") // 3 % 5
