@T.prim_func
def buffers(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (4, 8), "float32", strides=[16, 1], elem_offset=4, scope="shared.dyn", align=16, offset_factor=2)
    B = T.match_buffer(b, (m, 8), "uint8x4", axis_separators=[1])
    C = T.match_buffer(c, (1, 8), buffer_type="auto")
    D = T.match_buffer(d, (4,), offset_factor=8)
    A[0, 0] = C[0, 1] + D[2] + A[1, 1]
    B[0, 0] = B[1, 0]
    D[0] = T.Cast("float32", A.strides[0] + C.strides[1])
