@T.prim_func
def raw(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "bool")):
    for i in range(8):
        A[i] = T.Add(3, 4) + T.Mul(i, 1) - T.Sub(0, i) + T.Div(i, 2) + T.Mod(i, 2) + T.FloorDiv(i, 1) + T.FloorMod(i, 1)
        A[i] = T.Min(i, i) + T.Max(1, 2)
        B[i] = T.And(T.LT(0, 8), T.Or(T.GE(i, 3), T.Not(T.EQ(i, 1))))
        B[i] = not (i < 3 or i > 5) and 0 <= i < 7 and i != 4 and (i < 3) == (i > 1)
        v = T.int32()
        A[i] = T.Let(v * v + 1, where={v: i + 2})
