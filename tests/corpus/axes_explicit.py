@T.prim_func
def axes(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((64,), "float32")):
    for io, ii in T.grid(4, 4):
        for k in T.serial(32):
            with T.block("sum"):
                vi = T.axis.spatial(16, io * 4 + ii)
                vk = T.axis.reduce(32, k)
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = 0.0
                B[vi] += A[vi, vk]
    for i in range(64):
        with T.block("scan"):
            vi = T.axis.scan((1, 64), i)
            T.where(i < 63)
            C[vi] = C[vi - 1] * 0.5
    for i in range(64):
        with T.block("opaque"):
            vi = T.axis.opaque(T.Range(0, 64), i)
            C[vi] = C[vi] + 1.0
