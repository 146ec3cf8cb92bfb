# Lists and strings that the reader computes.
TILES = [2 ** k for k in range(3)]
PAIRS = [(i, j) for i in range(3) for j in range(i)]
NAMES = {"int8": [f"{n}_{t:02d}" for n in ("load", "store") for t in TILES if t > 1]}


@T.prim_func
def tiles(A: T.Buffer((16, 8), "float32"), B: T.Buffer([d // 2 for d in (16, 8)], "float32")):
    dims = T.alloc_buffer([extent for extent in A.shape], "float32")
    for loops in T.grid(*[extent for extent in B.shape]):
        with T.block(f"half_{TILES[1]}"):
            v = T.axis.remap("SS", [i for i in loops])
            dims[[x * 2 for x in v]] = sum([A[v[0], v[1] + k] for k in TILES])
    for i, j in T.grid(8, 4):
        with T.block(NAMES["int8"][0] + f"_{len(PAIRS)}"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = dims[vi * 2, vj * 2] + T.cast(T.call_pure_extern("int32", f'{NAMES["int8"][1]}', vi), f"float{32}")


@T.prim_func
def text(n: T.int32):
    T.evaluate(T.call_extern("int32", f"{TILES}|{TILES[2]:>4}|{7.5:.2f}|{{}}|{'x'!r}|{True}{None}"))
    T.evaluate(T.call_extern("int32", f"""{[
        k for k in range(2)
    ]}""" "end", *[n + k for k in (1, 2)]))
    assert n > 0, f"n must be positive, not {-1:+d}"
