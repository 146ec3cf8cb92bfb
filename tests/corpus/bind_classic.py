# moonloop: spelling=classic
@T.prim_func
def bind(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        x = A[i] * 2.0
        y: T.int32 = i * 2
        with T.LetStmt(x + 1.0) as z:
            B[y % 8] = z
        w = T.int32()
        with T.let(w, i + 1):
            B[w % 8] = x
