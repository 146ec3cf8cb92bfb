@T.prim_func
def decl(A: T.Buffer((16,), "float32"), p: T.handle("float32", "global")):
    T.func_attr({"global_symbol": "decl_it", "tir.is_scheduled": 1})
    V = T.decl_buffer((4, 4), data=A.data)
    W = T.Buffer((16,), "float32", data=p)
    X = T.decl_buffer((1,), scope="local")
    X[0] = V[0, 0]
    W[V.shape[1]] = X[0]
    for i in range(2, 10, 3):
        W[i] = A[i]
