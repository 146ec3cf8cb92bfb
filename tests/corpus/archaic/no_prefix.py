# The spelling of the paper: names without a prefix.
@script
def fuse_add_exp(A: Buffer[(64, 64), "float32"], C: Buffer[(64, 64), "float32"]):
    B = alloc_buffer((64, 64))
    for i, j in grid(64, 64):
        with block("add"):
            vi = spatial_axis(64, i)
            vj = spatial_axis(64, j)
            B[vi, vj] = A[vi, vj] + 1.0
    for yo in parallel(8):
        for xo, yi, xi in grid(8, 8, 8):
            with block("exp"):
                vi = spatial_axis(64, xo * 8 + xi)
                vj = spatial_axis(64, yo * 8 + yi)
                reads(B[vi, vj])
                writes(C[vi, vj])
                block_attr({"k": [1, 2]})
                C[vi, vj] = exp(B[vi, vj])


@script
def rows(A: Buffer[(64, 64), "float32"], R: Buffer[(64,), "float32"], n: int32):
    for i in thread_binding(64, thread="threadIdx.x"):
        for k in range(64):
            with block("sum"):
                vi = spatial_axis(64, i)
                vk = reduce_axis(64, k)
                where(i < n)
                with init():
                    R[vi] = float32(0)
                R[vi] = R[vi] + if_then_else(vk < 60, sqrt(A[vi, vk]), cast(vk, "float32"))
