# What lowering leaves on the host: packed arguments and calls.
from tvm.script import ir as I
from tvm.script import tir as T


@T.prim_func
def packed_api(args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32, out_ret_value: T.handle("void"), out_ret_tcode: T.handle("int32"), resource_handle: T.handle) -> T.int32:
    T.func_attr({"calling_conv": 1, "tir.is_entry_func": True, "target": T.target("llvm -mcpu=skylake-avx512")})
    assert num_args == 2, "f: num_args should be 2"
    assert not T.isnullptr(args), "null"
    arg_type_ids_1 = T.decl_buffer((2,), "int32", data=arg_type_ids)
    A_code: T.int32 = arg_type_ids_1[0]
    assert A_code == 3 or A_code == 13 or A_code == 7 or A_code == 4, "f: Expect arg[0] to be pointer"
    A: T.handle = T.tvm_struct_get(args, 0, 12, "handle")
    A_shape: T.handle("int64") = T.tvm_struct_get(A, 0, 2, "handle")
    A_shape_1 = T.decl_buffer((1,), "int64", data=A_shape)
    A_data: T.handle("float32", "global") = T.tvm_struct_get(A, 0, 1, "handle")
    T.attr(A_data, "storage_alignment", 64)
    dev_id: T.int32 = T.tvm_struct_get(A, 0, 9, "int32")
    A_1 = T.decl_buffer((16,), data=A_data)
    assert T.Cast("int32", A_shape_1[0]) == 16, "shape"
    assert T.tvm_struct_get(A, 0, 5, "uint8") == T.uint8(2) and T.tvm_struct_get(A, 0, 6, "uint8") == T.uint8(32), "dtype"
    T.attr("default", "device_id", dev_id)
    T.attr("default", "device_type", 1)
    with T.attr(0, "compute_scope", "f_compute_"):
        for i in T.parallel(16):
            A_1[i] = A_1[i] + T.float32(1)
    T.tvm_check_return(0, -1, T.call_extern("int32", "TVMFoo", A_data))
    T.evaluate(T.tvm_throw_last_error())
    return 0
