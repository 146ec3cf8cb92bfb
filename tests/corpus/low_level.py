# Calls that the core keeps by name.
from tvm.script import tir as T


@T.prim_func
def wmma(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (256,), "float16", scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "float16")
    with T.block("root"):
        T.reads(B[0:16, 0:16])
        T.writes(A[0:256])
        T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(0), dtype="handle")
        T.tvm_load_matrix_sync(A.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "row_major")
        T.tvm_mma_sync(A.data, 0, A.data, 0, A.data, 0, A.data, 0)
        T.tvm_bmma_sync(A.data, 0, A.data, 0, A.data, 0, A.data, 0)
        T.tvm_store_matrix_sync(A.data, 16, 16, 16, 0, B.access_ptr("w"), 16, "col_major")


@T.prim_func
def ptx(A: T.Buffer((64,), "float16"), C: T.Buffer((64,), "float32")):
    T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", A.data, 0, A.access_ptr("r"), 8)
    T.ptx_mma("m16n8k16", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 32, C.data, 0, False, dtype="float32")
    T.ptx_cp_async("float16", A.data, 0, A.data, 32, 16)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    T.ptx.mma("float32", "m16n8k16", A.data)
    T.ptx_legacy.mma("float32", "m16n8k16", A.data)
    T.ptx.fence()
    T.mma_fill("float32", 8, C.data, 0)
    T.mma_store("float32", 16, 16, C.data, C.data, 0, 16)
    C[0] = T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), C[1], 1, 32, 32)
    C[0:2] = T.vectorlow("float32x2", C[0:4])
    C[0:4] = T.vectorcombine("float32x4", T.vectorhigh("float32x2", C[4:8]), C[0:2])
    C[0] = C[0] * T.cast(T.vscale(), "float32")
    C[1] = T.cast(T.dp4a("int32", T.broadcast(T.int8(1), 4), T.broadcast(T.int8(2), 4), 3), "float32")
    C[2] = T.call_llvm_pure_intrin("float32", T.llvm_lookup_intrinsic_id("llvm.sqrt"), T.uint32(1), C[3])


@T.prim_func
def packed(args: T.handle, n: T.int32) -> T.int32:
    stack: T.handle = T.tvm_stack_alloca("arg_value", 8)
    shape: T.handle = T.tvm_stack_make_shape(n, 16)
    array: T.handle = T.tvm_stack_make_array(args, shape, 0, 2, T.float32(0), 0)
    T.tvm_struct_set(stack, 0, 12, array)
    code: T.int32 = T.tvm_struct_get(stack, 0, 13, "int32")
    assert not T.isnullptr(T.lookup_param("weights")), "weights are missing"
    T.start_profile_intrinsic(1)
    work: T.handle = T.TVMBackendAllocWorkspace(1, 0, T.uint64(1024), 2, 32)
    T.evaluate(T.tvm_tuple(code, n))
    if T.TVMBackendFreeWorkspace(1, 0, work) != 0:
        T.ret(-1)
    T.end_profile_intrinsic(1)
    T.ret(0)
