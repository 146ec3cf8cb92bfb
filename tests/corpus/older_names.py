# Names that older texts use.
import tvm
from tvm.script import tir as T


@T.prim_func
def declared(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]) -> None:
    T.func_attr({"global_symbol": "declared"})
    for i in T.serial(0, 16):
        B_data = T.allocate([16], "float32", "global")
        B = T.buffer_decl(shape=[16], dtype="float32", data=B_data, strides=[1])
        for j in T.serial(0, 16):
            B[j] = A[i, j] + 1.0
        for j in T.serial(0, 16):
            C[i, j] = B[j] * 2.0

@T.prim_func
def scoped(A: T.Buffer[16, "float32"]):
    with T.allocate([16], "float32", "global") as data:
        B = T.Buffer(16, "float32", data=data)
        B[0] = A[0]
        A[1] = B[0]
    with T.allocate_const([1, 2, 3], "int32", [3]) as k:
        K = T.Buffer([3], "int32", data=k)
        A[0] = T.cast(K[1], "float32")
    with T.decl_buffer([8], "float32") as D:
        D[0] = A[0]
        A[1] = D[0]


@T.prim_func
def launched(a: T.handle, b: T.handle) -> None:
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    A = T.match_buffer(a, (256,), "float32")
    B = T.match_buffer(b, (256,), "float32")
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    vx = T.env_thread("vthread")
    with T.launch_thread(bx, 4):
        with T.launch_thread(vx, 2):
            with T.launch_thread(tx, 32):
                B[bx * 64 + vx * 32 + tx] = A[bx * 64 + vx * 32 + tx]

@T.prim_func
def iter_vars(A: T.Buffer((256,), "float32")):
    bx = T.var("int32")
    T.attr(T.iter_var(bx, T.Range(0, 4), "ThreadIndex", "blockIdx.x"), "thread_extent", 4)
    tx = T.int32()
    with T.attr(T.iter_var(tx, None, "ThreadIndex", "threadIdx.x"), "thread_extent", 64):
        with T.attr(A.data, "storage_alignment", 128):
            A[bx * 64 + tx] = 0.0
    T.attr("default", "async_scope", 1)
    A[0] = 1.0

@T.prim_func
def attributes(A: T.Buffer((256,), "float32")):
    with T.attr(0, "pragma_import_llvm", "define void @f()"):
        T.evaluate(0)
    with T.attr([A], "layout", 1):
        A[0] = 0.0


@T.prim_func
def floats(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "bfloat16"), C: T.Buffer((64,), "float8_e4m3fn"), E: T.Buffer((64,), "e4m3_float8")):
    A[0] = T.float32("inf")
    A[1] = T.float32("-inf")
    A[2] = T.float32("nan")
    A[3] = T.float32(-3.4028234663852886e+38)
    A[4] = T.float32(1.0000000000000001e-05)
    A[5] = T.float32(1e-5)
    A[6] = 1e-5
    A[7] = T.Cast("float32", B[0] * T.bfloat16(2))
    A[8] = T.float32(0x10)
    A[9] = T.min_value("float16")
    A[10] = T.float32(.5) + 5.
    C[0] = T.float8_e4m3fn(1.0)


@T.prim_func
def packed(A: T.Buffer((4,), "float32")):
    y = T.var("float32")
    z = T.var("float32")
    A[0] = T.let(y, A[1], y * y)
    with T.let(z, A[1]):
        A[2] = z
    s: T.handle = T.tvm_stack_alloca("tvm_value", 4)
    c: T.handle = T.tvm_stack_alloca("arg_tcode", 4)
    T.call_packed_lowered("device.sync", s, c, 0, 1)
    T.tvm_call_cpacked_lowered("device.sync", s, c, 0, 1)
    T.tvm_check_return(0, -1, T.call_extern("int32", "start", A.data))
