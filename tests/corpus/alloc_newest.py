@T.prim_func(private=True, s_tir=True)
def alloc(A: T.Buffer((8,), "float32")):
    S = T.alloc_shared((8,))
    L = T.alloc_local((4,), "int32")
    G = T.alloc_buffer((8,), "float32", annotations={"pool": 1})
    D = T.decl_buffer((2, 4), data=A.data)
    for i in range(8):
        S[i] = A[i]
        G[i] = S[i] + D[i // 4, i % 4]
        L[i % 4] = i
