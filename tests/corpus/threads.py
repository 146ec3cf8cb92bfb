@T.prim_func
def copy(A: T.Buffer((1024,), "float16"), B: T.Buffer((1024,), "float16")):
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for vx in T.thread_binding(2, "vthread.x"):
            for tx in T.thread_binding(0, 64, "threadIdx.x", annotations={"warp": 2}):
                with T.block("copy"):
                    vi = T.axis.S(1024, bx * 128 + vx * 64 + tx)
                    B[vi] = A[vi]
