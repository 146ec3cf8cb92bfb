# Kernels after lowering.
from tvm.script import tir as T


@T.prim_func
def dynamic_shared(A: T.Buffer((1024,), "float32")):
    T.func_attr({"calling_conv": 2, "thread_extent": {"blockIdx.x": 4, "threadIdx.x": 256}, "tir.kernel_launch_params": ["blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"]})
    bx, tx = T.launch_thread("blockIdx.x", 4), T.launch_thread("threadIdx.x", 256)
    buf_dyn_shmem = T.allocate([1024], "uint8", "shared.dyn")
    s = T.Buffer((256,), data=buf_dyn_shmem, scope="shared.dyn")
    s_1 = T.decl_buffer((128,), "float16", data=buf_dyn_shmem, scope="shared.dyn", elem_offset=64)
    with T.launch_thread("threadIdx.y", 1) as ty, T.launch_thread("threadIdx.z", 1) as tz:
        s[tx] = A[bx * 256 + tx + ty + tz]
    T.tvm_storage_sync("shared.dyn")
    A[bx * 256 + tx] = s[255 - tx] + T.Cast("float32", s_1[0])


@T.prim_func
def rowsum(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i in T.thread_binding(128, thread="blockIdx.x"):
        with T.launch_thread("threadIdx.x", 32) as tx:
            normal_reduce_temp0 = T.decl_buffer([1], dtype="float32", strides=[1], scope="local")
            reduce_temp0 = T.decl_buffer([1], strides=[1], scope="local")
            normal_reduce_temp0[0] = T.float32(0)
            for k in range(4):
                normal_reduce_temp0[0] = normal_reduce_temp0[0] + A[i, k * 32 + tx]
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), normal_reduce_temp0[0], True, reduce_temp0[0], tx)
            if tx == 0:
                B[i] = reduce_temp0[0]


@T.prim_func
def ptx_cp_async(A: T.Buffer((32, 128), "float16"), B: T.Buffer((32, 128), "float16")) -> None:
    T.func_attr({"global_symbol": "default_function", "tir.noalias": True})
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    T.launch_thread(bx, 1)
    T.launch_thread(tx, 32)
    with T.block():
        A_shared = T.alloc_buffer([32, 128], "float16", scope="shared")
        T.reads(A[0:32, 0:128])
        T.writes(B[0:32, 0:128])

        for i in range(16):
            T.evaluate(
                T.ptx_cp_async(
                    A_shared.data, tx * 128 + 8 * i, A.data, tx * 128 + 8 * i, 16, dtype="float16"
                )
            )

        T.evaluate(T.ptx_commit_group(dtype=""))
        T.evaluate(T.ptx_wait_group(0, dtype=""))

        for i in range(128):
            B[tx, i] = A_shared[tx, i]
