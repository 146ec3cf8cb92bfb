@T.prim_func
def stages(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (256, 256))
    B = T.match_buffer(b, [256, 256], dtype="float32", align=128, offset_factor=1)
    S = T.alloc_buffer((256, 256), scope="shared")
    L = T.alloc_buffer([256, 256], "float32", scope="local")
    for i, j in T.grid(256, 256):
        with T.block("shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]], "note": "x", "auto": 1, "f": 0.5})
            S[vi, vj] = A[vi, vj]
    for i, j in T.grid(256, 256):
        with T.block("local"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vi, vj] = T.max(S[vi, vj], T.float32(0)) + T.min(S[vj, vi], T.float32(6))
    for i, j in T.grid(256, 256):
        with T.block("out"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Select(vi < vj, L[vi, vj], T.float32(0))
