# Allocations that name a pointer, as lowered programs had them.
@T.prim_func
def shared_tile(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    with T.attr(T.iter_var("bx", (0, 16), "ThreadIndex", "blockIdx.x"), "thread_extent", 16):
        with T.allocate([16], "float32", "shared") as tile, T.allocate([1], "float32", "local") as acc:
            S = T.Buffer((16,), "float32", data=tile, scope="shared")
            R = T.decl_buffer((1,), data=acc, scope="local")
            flat = T.decl_buffer((16,), "uint32", data=tile, scope="shared")
            R[0] = T.float32(0)
            for i in range(16):
                S[i] = A[i]
                R[0] = R[0] + S[i]
            B[0] = R[0] + T.reinterpret("float32", flat[1])


@T.prim_func
def table(A: T.Buffer((8,), "int32"), n: T.int32):
    weights = T.allocate_const([[k * k - j for k in range(4)] for j in range(2)], "int32", [2, 4])
    W = T.decl_buffer((2, 4), "int32", data=weights)
    scratch = T.allocate((n, 4), "int32", "global", True)
    for i in range(n):
        row = T.allocate([8], "int32", annotations={"disable_lower_builtin": 1})
        for j in range(8):
            C = T.decl_buffer((8,), "int32", data=row)
            C[j] = W[j // 4, j % 4] * i
            A[j] = C[j]
        T.call_extern("int32", "consume", scratch, n)
