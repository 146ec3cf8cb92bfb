@T.prim_func
def allreduce(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    with T.launch_thread("threadIdx.x", 32) as tx:
        r = T.decl_buffer((1,), scope="local")
        with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), r.data, tx)
        if tx == 0:
            B[0] = r[0]
        T.evaluate(T.tvm_storage_sync("shared"))
