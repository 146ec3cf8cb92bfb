# Calls of devices that nobody here can run, kept as they are.
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def cuda(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    with T.sblock("root"):
        T.reads(A[0:128])
        T.writes(B[0:128])
        bar = T.alloc_shared((1,), "uint64")
        tx = T.launch_thread("threadIdx.x", 128)
        T.cuda.cta_sync()
        T.cuda.warpgroup_sync(8)
        B[tx] = T.cuda.__shfl_xor_sync(T.cuda.__activemask(), A[tx], 1, 32)
        B[tx] = B[tx] + T.cuda.cta_sum(A[tx], 4, B.ptr_to([0]))
        B[tx] = T.cuda.func_call("twice", B[tx], "float twice(float x) { return 2 * x; }", dtype="float32")
        T.cuda.atomic_add(T.address_of(B[0]), T.float32(1))
        T.ptx.mbarrier.init(bar.data, 1)
        T.ptx.mbarrier.arrive.expect_tx(bar.data, 512)
        T.ptx.cp_async.commit_group()
        T.ptx.mbarrier.try_wait(bar.data, 0)


@T.prim_func(s_tir=True)
def barriers(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
    with T.sblock("root"):
        T.reads(A[0:64])
        T.writes(B[0:64])
        T.create_barriers(2)
        T.ptx_init_barrier_thread_count(0, 32)
        T.ptx_arrive_barrier_expect_tx(0, 128)
        T.ptx_wait_barrier(0)
        C = A.view(8, 8)
        with T.attr(0, "async_commit_queue_scope", 0):
            with T.attr(0, "async_scope", 1):
                for i in range(8):
                    B[i] = C[i, 0]
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 1):
                B[63] = A[63]


@T.prim_func(s_tir=True)
def metal(a: T.handle("float16", "metal.simdgroup"), B: T.Buffer((8, 8), "float16")):
    A = T.match_buffer(a, (8, 8), "float16", scope="metal.simdgroup")
    with T.sblock("root"):
        T.reads(B[0:8, 0:8])
        T.writes(A[0:8, 0:8])
        T.metal.simdgroup_load(A.data, 0, B.data, 8, 8, 8, False)
        T.metal.simdgroup_store(A.data, 0, B.data, 8, 8, 8, False)
