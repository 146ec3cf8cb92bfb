@T.prim_func
def scale_sum(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n, 48), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    S = T.alloc_buffer((n, 48))
    for r, c in T.grid(n, 48):
        with T.block("scale"):
            vr, vc = T.axis.remap("SS", [r, c])
            S[vr, vc] = X[vr, vc] * 0.5
    for r in range(n):
        for co, ci in T.grid(12, 4):
            with T.block("sum"):
                vr = T.axis.S(n, r)
                vc = T.axis.R(48, co * 4 + ci)
                with T.init():
                    Y[vr] = 0
                Y[vr] += S[vr, vc]
