@T.prim_func
def root_twice(A: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,))
    with T.block("root"):
        T.reads()
        T.writes()
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                S[vi] = A[vi]
