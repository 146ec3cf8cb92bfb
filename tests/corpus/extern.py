@T.prim_func
def extern(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16")):
    for i in range(1):
        with T.block("call"):
            vi = T.axis.spatial(1, i)
            T.reads(A[0:16, 0:16])
            T.writes(B[0:16, 0:16])
            T.evaluate(T.call_extern("int32", "kernel", A.access_ptr("r"), B.access_ptr("w", offset=16), T.address_of(A[0, vi]), A.elem_offset))
    T.call_extern("f", A.data, 1.5, "text", dtype="void")
    T.evaluate(T.tvm_access_ptr("float16", A.data, 0, 256, 1))
    T.call_packed("moon.print", A.data)
    B[0, 0] = T.call_pure_extern("g", A[0, 0], dtype="float16")
    B[0, 1] = T.call_intrin("float16", "tir.some_op", A[0, 1])
    B[0, 2] = T.call_llvm_pure_intrin("float16", "llvm.fabs.f16", T.uint32(1), A[0, 2])
    T.assume(A[0, 0] < T.float16(1))
