# Macros of the file and of the function, hygienic or not.
@T.macro
def copy(X, Y, n, name="copy"):
    for i in range(n):
        with T.sblock(name):
            v = T.axis.spatial(n, i)
            Y[v] = X[v]


@T.inline(hygienic=False)
def touch(k):
    if k > 0:
        touch(k - 1)
    C[k] = T.float32(k)


@T.prim_func(s_tir=True)
def f[m](A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), D: T.Buffer((m,), "float32")):
    C = T.sblock_alloc_buffer((16,))
    copy(A, C, 16)
    copy(C, B, 16)
    copy(D, D, m, name=f"copy_{3}")


@T.prim_func(s_tir=True)
def g(A: T.Buffer((16,), "float32"), n: T.int32):
    C = T.alloc_local((4,))
    total = A[0]

    @T.macro
    def add(cell, at=0):
        cell = cell + A[at]
        A[at] = cell

    @T.macro(hygienic=True)
    def fill(f, count=4):
        for i in range(count):
            A[i] = f(A[i], lambda: i)

    touch(3)
    add(total)
    fill(lambda x, at: x * C[1] + T.Cast("float32", n))
    fill(lambda x, at: x + C[at()], count=2)
    for i in range(n):
        add(total, at=i)
        copy(C, A, 4, "")
