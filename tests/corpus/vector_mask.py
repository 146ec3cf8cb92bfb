@T.prim_func
def masked(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    A.vstore([T.Ramp(0, 1, 4)], B.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast(T.bool(True), 4)), predicate=T.Broadcast(T.bool(True), 4))
