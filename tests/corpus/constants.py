M = 4
DT = "float16"
USE = True
TILES = [2, M // 2, M ** 2]
CFG = {"a": 1, "b": [1, 2]}
W = T.Var("W", "int32")

@T.prim_func
def consts(A: T.Buffer((M * 4,), DT), B: T.Buffer((len(TILES) * 8,), DT)):
    if USE and not (M > 5):
        for i in range(TILES[2]):
            A[i] = T.Cast(DT, i) if M == 4 else T.Cast(DT, 0)
    else:
        A[0] = A[1]
    step = T.meta_var(max(M, 3) * 2)
    for j in range(int(24 / 8)):
        with T.block("b"):
            vj = T.axis.spatial(3, j)
            T.block_attr({"cfg": CFG["b"], "s": "a" "b", "neg": -1})
            B[vj * step] = A[vj]
