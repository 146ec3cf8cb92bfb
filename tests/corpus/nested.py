@T.prim_func
def nested(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        with T.block("outer"):
            vi = T.axis.spatial(16, i)
            R = T.alloc_buffer((4,), scope="local")
            for j in T.unroll(4):
                with T.block("part"):
                    vj = T.axis.spatial(4, j)
                    R[vj] = A[vi, vj * 4] + A[vi, vj * 4 + 1]
            for j in range(4):
                with T.block(""):
                    vj = T.axis.reduce(4, j)
                    with T.init():
                        B[vi] = 0.0
                    B[vi] += R[vj]
