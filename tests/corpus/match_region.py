@T.prim_func
def tile(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    with T.block("root"):
        for i, j in T.grid(4, 4):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
                T.writes(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
                X = T.match_buffer(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), offset_factor=1)
                Y = T.match_buffer(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16], (16, 16), strides=["t0", "t1"], offset_factor=1)
                for x, y in T.grid(16, 16):
                    with T.block("inner"):
                        vx, vy = T.axis.remap("SS", [x, y])
                        Y[vx, vy] = X[vy, vx]
