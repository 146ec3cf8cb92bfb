@T.prim_func
def attrs(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    T.launch_thread(bx, 4)
    T.launch_thread(tx, 32)
    with T.attr(A, "pragma_layout", "row"):
        B[bx * 32 + tx] = A[bx * 32 + tx]
    T.attr(0, "pragma_debug", 1)
    B[tx] = A[tx] + 1.0
