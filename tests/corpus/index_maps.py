@T.prim_func
def maps(A: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("m"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"layout": T.index_map(lambda x, y: (y, x // 4, x % 4), index_dtype="int32"), "bufs": [A]})
            A[vi, vj] = T.float32(0)
