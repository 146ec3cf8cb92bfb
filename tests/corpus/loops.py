@T.prim_func
def loops(A: T.Buffer((16, 16), "int32")):
    for iters in T.grid(16, (2, 12)):
        A[iters] = 0
    for i, *rest in T.grid(2, 2, 2):
        A[i, rest[0] + rest[1]] = 1
    for i in T.serial(2, 14, annotations={"pragma_x": 1}, step=2):
        A[i, i] = i
    for i in T.serial(4, annotations={"pragma_unroll": 2}):
        for j in T.unroll(i, i + 3):
            A[i, j] += j; A[j, i] -= i
    for i in range(3):
        pass
