@T.prim_func
def shadow(A: T.Buffer((8, 8), "float32"), lam: T.int32, range_: T.int32):
    for i in range(8):
        for j in range(lam):
            A[i, j] = 1.0
    for i in range(range_):
        for i in range(2):
            A[i, i] = 2.0
