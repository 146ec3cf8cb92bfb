@T.prim_func
def conv(X: T.Buffer((1, 16, 14, 14), "float32"), W: T.Buffer((32, 16, 3, 3), "float32"), Y: T.Buffer((1, 32, 14, 14), "float32")):
    P = T.alloc_buffer((1, 16, 16, 16))
    for n, c, h, w in T.grid(1, 16, 16, 16):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 15 and 1 <= vw and vw < 15, X[vn, vc, vh - 1, vw - 1], T.float32(0), dtype="float32")
    for n, o, h, w, c, r, s in T.grid(1, 32, 14, 14, 16, 3, 3):
        with T.block("conv"):
            vn, vo, vh, vw, vc, vr, vs = T.axis.remap("SSSSRRR", [n, o, h, w, c, r, s])
            with T.init():
                Y[vn, vo, vh, vw] = 0
            Y[vn, vo, vh, vw] += P[vn, vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]
