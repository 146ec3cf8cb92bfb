@T.prim_func
def math(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.exp(A[i]) + T.sqrt(A[i]) * T.rsqrt(A[i]) - T.sigmoid(A[i]) / T.tanh(A[i])
        B[i] = T.floor(A[i]) + T.ceil(A[i]) + T.round(A[i]) + T.abs(A[i]) + T.pow(A[i], T.float32(2))
        I[i] = T.floordiv(i, 3) + T.floormod(i, 3) + T.truncdiv(i, 3) + T.truncmod(i, 3) + T.ceildiv(i, 3)
        I[i] = (i << 2) + (i >> 1) + (i & 3) + (i | 4) + (i ^ 5) + ~i + -i
        B[i] = T.max(T.min_value("float32"), T.min(A[i], T.max_value("float32")))
        B[i] = T.fma(A[i], B[i], A[i]) + T.atan2(A[i], B[i]) + T.erf(A[i]) + T.log1p(A[i])
        I[i] = T.popcount(i) + T.clz(i) + T.abs(i)
        B[i] = T.if_then_else(T.isnan(A[i]) or T.isinf(A[i]), T.float32("inf"), A[i])
        B[i] = T.reinterpret("float32", I[i]) + T.Cast("float32", T.likely(i < 4))
