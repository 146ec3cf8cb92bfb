@T.prim_func
def vec(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((16,), "int8x4")):
    for i in range(16):
        B[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] * T.broadcast(T.float32(2), 4)
    for i in T.vectorized(32):
        B[i] = A[i * 2]
    B[0:64:16] = A[T.ramp(1, 2, 4)]
    for i in range(16):
        C[i] = T.Broadcast(T.int8(1), 4)
    A.vstore([T.Ramp(0, 1, 4)], B.vload([4], "float32x4"))
    A[0] = T.Shuffle([B[0:2], B[4:6]], [3])
