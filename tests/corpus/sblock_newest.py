# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def blocks(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", "n * 2"), "float32"), n: T.int32):
    S = T.sblock_alloc_buffer((n, 4), scope="shared")
    for i, j in T.grid(n, 4):
        with T.sblock("s"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({"k": 1})
            S[vi, vj] = A[vi, vj]
    for i, j in T.grid(n, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = S[vi, vj]
