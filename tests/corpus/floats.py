@T.prim_func
def floats(A: T.Buffer((8,), "float64"), B: T.Buffer((8,), "float16"), C: T.Buffer((8,), "bfloat16")):
    A[0] = T.float64(0.1) + T.float64(1e-05) + T.float64(3.5e100) + T.float64("-inf") + T.float64("nan")
    B[0] = T.float16(65504) * T.float16(0.5)
    C[0] = T.bfloat16(1.5) + C[1]
    A[1] = T.Cast("float64", B[0]) + A[2]
    B[1] = T.Cast("float16", T.float32(2) * T.Cast("float32", B[2]))
