@T.prim_func(s_tir=True)
def cells(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    acc: T.float32 = 0.0
    n: T.int32
    n = 0
    for i in range(8):
        acc = acc + A[i]
        n += 1
        if acc > 100.0:
            break
        else:
            continue
    k = 3
    B[0] = acc + T.Cast("float32", n * k)
    tmp: T.float32[4]
    tmp[0] = acc
    B[0] += tmp[0]
