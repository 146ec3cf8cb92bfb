@T.prim_func
def control(A: T.Buffer((8,), "int32"), n: T.int32) -> T.int32:
    assert n <= 8, "n is too large"
    assert n >= 0, ("ValueError", ["n", "is negative"])
    i = T.decl_buffer((1,), "int32", scope="local")
    i[0] = 0
    while i[0] < n:
        if A[i[0]] == 3:
            break
        elif A[i[0]] > 3:
            A[i[0]] = A[i[0]] - 1
        else:
            A[i[0]] = -A[i[0]]
            i[0] += 2
            continue
        i[0] += 1
    return i[0]
