# What is said of types, threads, offsets and targets is printed as it was said.
from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(data: T.handle("float32"), n: T.int32) -> T.int32:
        X = T.decl_buffer((16,), data=data)
        for i in range(n):
            X[i] = X[i] * T.float32(2)
        return n

    @T.prim_func(private=True)
    def note(n: T.int32):
        T.evaluate(T.call_extern("int32", "note", n))

    @T.prim_func
    def calls(A: T.Buffer((16,), "float32")):
        T.func_attr({"target": T.target({"kind": "cuda", "arch": "sm_90", "max_num_threads": 1024}), "tir.host": T.target("cuda", host="llvm"), "name": "cuda"})
        cls.note(Module.scale(A.data, 4) + 1)
        assert Module.scale(A.data, 8) == 8, "all of them"

    @T.prim_func
    def pointers(a: T.handle(storage_scope="shared"), b: T.handle("float16", "shared"), c: T.handle):
        A = T.match_buffer(a, (16,), scope="shared", elem_offset=0)
        B = T.match_buffer(b, (T.int64(16),), "float16", elem_offset=0, scope="shared")
        C = T.match_buffer(c, (16,), elem_offset=0, offset_factor=4)
        p: T.handle(storage_scope="shared") = A.data
        D = T.decl_buffer((4,), data=p, scope="shared", elem_offset=0)
        bx = T.launch_thread("blockIdx.x", T.int64(1))
        with T.launch_thread("threadIdx.x", T.int64(16)) as tx:
            B[tx + bx] = T.float16(1)
        C[0] = D[0]

    @T.prim_func
    def units(A: T.Buffer((16,), "float32")):
        for i in range(T.int64(16)):
            with T.block("units"):
                u = T.axis.spatial(1, T.int64(0))
                v = T.axis.spatial(T.int64(16), i)
                w = T.axis.reduce(T.int64(1), 0)
                A[v] = A[v] + T.Cast("float32", u) + T.Cast("float32", w)
