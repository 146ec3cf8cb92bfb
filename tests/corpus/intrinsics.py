# Descriptions and implementations of tensor intrinsics.
from tvm.script import tir as T


@T.prim_func
def wmma_sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 16), "float16", align=64, offset_factor=16, scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "float16", align=64, offset_factor=16, scope="wmma.matrix_b")
    C = T.match_buffer(c, (16, 16), "float32", align=64, offset_factor=16, scope="wmma.accumulator")

    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block(""):
                vii, vjj, vkk = T.axis.remap("SSR", [i, j, k])
                C[vii, vjj] = C[vii, vjj] + T.cast(A[vii, vkk], "float32") * T.cast(B[vkk, vjj], "float32")


@T.prim_func
def wmma_sync_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    s1 = T.int32()
    s0 = T.int32()
    A = T.match_buffer(a, (16, 16), "float16", align=64, offset_factor=16, scope="wmma.matrix_a", strides=[s1, s0])
    B = T.match_buffer(b, (16, 16), "float16", align=64, offset_factor=16, scope="wmma.matrix_b", strides=["t1", "t0"])
    C = T.match_buffer(c, (16, 16), "float32", align=64, offset_factor=16, scope="wmma.accumulator")

    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.evaluate(
            T.tvm_mma_sync(
                C.data,
                C.elem_offset // 256 + T.floordiv(T.floormod(C.elem_offset, 256), 16),
                A.data,
                A.elem_offset // A.strides[0] // 16 * (A.strides[0] // 16) + A.elem_offset % s1 // 16,
                B.data,
                B.elem_offset // 256 + T.floordiv(T.floormod(B.elem_offset, 256), 16),
                C.data,
                C.elem_offset // 256 + T.floordiv(T.floormod(C.elem_offset, 256), 16),
                dtype="handle",
            )
        )

@T.prim_func
def wmma_load_impl(a: T.handle, c: T.handle) -> None:
    s1 = T.var("int32")
    s0 = T.var("int32")
    A = T.match_buffer(a, (16, 16), "float16", align=128, offset_factor=16, scope="shared", strides=[s1, s0])
    C = T.match_buffer(c, (16, 16), "float16", align=128, offset_factor=16, scope="wmma.matrix_a")
    with T.block("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.evaluate(T.tvm_load_matrix_sync(
            C.data, 16, 16, 16, C.elem_offset // 256 + T.floordiv(T.floormod(C.elem_offset, 256), 16),
            A.access_ptr("r"), A.strides[0], "row_major", dtype="handle"))


@T.prim_func
def ldmatrix_impl(warp_handle: T.handle, shared_handle: T.handle) -> None:
    s0 = T.int32()
    s1 = T.int32()
    shared = T.match_buffer(shared_handle, (16, 16), "float16", align=64, offset_factor=16, scope="shared", strides=[s0, s1])
    warp = T.match_buffer(warp_handle, (32, 8), "float16", align=64, offset_factor=16, scope="warp")
    with T.block("root"):
        T.reads(shared[0:16, 0:16])
        T.writes(warp[0:32, 0:8])
        for tx in T.thread_binding(0, 32, "threadIdx.x"):
            T.evaluate(
                T.ptx_ldmatrix(
                    0,
                    4,
                    ".b16",
                    warp.data,
                    warp.elem_offset + 8 * tx,
                    shared.access_ptr("r"),
                    s0 * (tx % 16) + 8 * (tx // 16),
                    dtype="float16",
                )
            )

@T.prim_func
def mma_sync_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (32, 8), "float16", align=64, offset_factor=16, scope="warp")
    B = T.match_buffer(b, (32, 8), "float16", align=64, offset_factor=16, scope="warp")
    C = T.match_buffer(c, (32, 8), "float32", align=64, offset_factor=16, scope="warp")
    with T.block("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:8], B[0:32, 0:8])
        T.writes(C[0:32, 0:8])
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 32)
        T.evaluate(T.ptx_mma("m16n8k16", "row", "col", "fp16", "fp16", "fp32", A.data, A.elem_offset + tx * 8, B.data, B.elem_offset + tx * 8, C.data, C.elem_offset + tx * 8, False, dtype="float32"))
        T.evaluate(T.ptx_mma("m16n8k16", "row", "col", "fp16", "fp16", "fp32", A.data, A.elem_offset + tx * 8, B.data, B.elem_offset + tx * 8 + 4, C.data, C.elem_offset + tx * 8 + 4, False, dtype="float32"))

@T.prim_func
def mma_fill_impl(a: T.handle) -> None:
    C_warp = T.match_buffer(a, [32, 8], dtype="float32", scope="warp", offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C_warp[0:32, 0:8])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.mma_fill(8, C_warp.data, C_warp.elem_offset, dtype="float32"))

@T.prim_func
def mma_store_impl(a: T.handle, c: T.handle) -> None:
    s0 = T.int32()
    s1 = T.int32()
    C_warp = T.match_buffer(a, [32, 8], dtype="float32", scope="warp", offset_factor=1)
    C = T.match_buffer(c, [16, 16], dtype="float32", scope="global", offset_factor=1, strides=[s0, s1])
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.mma_store(16, 16, C.access_ptr("w"), C_warp.data, C_warp.elem_offset, s0, dtype="float32"))


@T.prim_func
def dot_product_16x4_u8i8i32_desc(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i in T.serial(0, 16):
            for k in T.serial(0, 4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")


@T.prim_func
def dot_product_16x4_u8i8i32_vnni(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])

        A_u8x4 = A.vload([0], "uint8x4")
        A_i32 = T.reinterpret("int32", A_u8x4)
        A_brdcst = T.broadcast(A_i32, 16)

        B_i8x64 = B.vload([0, 0], dtype="int8x64")
        B_i32x16 = T.reinterpret("int32x16", B_i8x64)

        C_i32x16 = C.vload([0], "int32x16")

        C[T.ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            "int32x16",
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
            T.uint32(3),
            C_i32x16,
            T.broadcast(A_i32, 16),
            B_i32x16,
        )


@T.prim_func
def blockized_matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (128, 128), elem_offset=0, align=64, offset_factor=1)
    B = T.match_buffer(b, (128, 128), elem_offset=0, align=64, offset_factor=1)
    C = T.match_buffer(c, (128, 128), elem_offset=0, align=64, offset_factor=1)
    for i_outer, j_outer in T.grid(8, 8):
        for k_outer in T.serial(0, 8):
            with T.block("update_o"):
                vio, vjo, vko = T.axis.remap("SSR", [i_outer, j_outer, k_outer])
                T.reads([C[vio * 16 : vio * 16 + 16, vjo * 16 : vjo * 16 + 16], A[vio * 16 : vio * 16 + 16, vko * 16 : vko * 16 + 16], B[vjo * 16 : vjo * 16 + 16, vko * 16 : vko * 16 + 16]])
                T.writes([C[vio * 16 : vio * 16 + 16, vjo * 16 : vjo * 16 + 16]])
                A_elem_offset = T.int32()
                B_elem_offset = T.int32()
                C_elem_offset = T.int32()
                A_sub = T.match_buffer(A[vio * 16 : vio * 16 + 16, vko * 16 : vko * 16 + 16], [16, 16], elem_offset=A_elem_offset, strides=[128, 1])
                B_sub = T.match_buffer(B[vjo * 16 : vjo * 16 + 16, vko * 16 : vko * 16 + 16], [16, 16], elem_offset=B_elem_offset, strides=[128, 1])
                C_sub = T.match_buffer(C[vio * 16 : vio * 16 + 16, vjo * 16 : vjo * 16 + 16], [16, 16], elem_offset=C_elem_offset, offset_factor=1, strides=["s0", "s1"])
                T.evaluate(T.tvm_mma_sync(C_sub.data, T.floordiv(C_sub.elem_offset, 256), A_sub.data, T.floordiv(A_sub.elem_offset, 256), B_sub.data, T.floordiv(B_sub.elem_offset, 256), C_sub.data, T.floordiv(C_sub.elem_offset, 256), dtype="handle"))
