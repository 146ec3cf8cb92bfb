# Quantised weights, caches of attention, dynamic sizes.
from tvm.script import tir as T


@T.prim_func
def fused_decode_gemv(B0: T.Buffer((512, 4096), "uint32"), S: T.Buffer((128, 4096), "float16"), A: T.Buffer((1, 1, 4096), "float16"), out: T.Buffer((1, 1, 4096), "float16")):
    T.func_attr({"tir.noalias": T.bool(True)})
    dec = T.alloc_buffer((4096, 4096), "float16")
    for i, j in T.grid(4096, 4096):
        with T.block("decode"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            dec[v_i, v_j] = (T.Cast("float16", T.bitwise_and(T.shift_right(B0[v_i // 8, v_j], T.Cast("uint32", v_i % 8) * T.uint32(4)), T.uint32(15))) - T.float16(7)) * S[v_i // 32, v_j]
    for i0, i1, i2, k in T.grid(1, 1, 4096, 4096):
        with T.block("matmul"):
            v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
            with T.init():
                out[v_i0, v_i1, v_i2] = T.float16(0)
            out[v_i0, v_i1, v_i2] += A[v_i0, v_i1, v_k] * dec[v_k, v_i2]


LOAD_VEC = 8
bdx, bdy, tile = 32, 4, 16
dtype = "float16"
scale = 1.4426950408889634

@T.prim_func
def attn(var_q: T.handle, O: T.Buffer((64, 32), "float16"), sm: T.float32):
    q = T.match_buffer(var_q, (64, 32), dtype)
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for ty in T.thread_binding(bdy, thread="threadIdx.y"):
            for tx in T.thread_binding(bdx, thread="threadIdx.x"):
                with T.block("attn"):
                    b = T.axis.spatial(4, bx)
                    y, x = T.axis.remap("SS", [ty, tx])
                    T.reads(q[0:64, 0:32])
                    T.writes(O[0:64, 0:32])
                    m_val = T.alloc_buffer([1], "float32", scope="local")
                    S_s = T.alloc_buffer((tile, bdx), "float32", scope="shared")
                    O_local = T.alloc_buffer((tile,), "float32", scope="local")
                    m_val[0] = -5e4
                    for i in T.serial(T.ceildiv(tile, bdy)):
                        row: T.int32 = i * bdy + y
                        if row < tile:
                            S_s[row, x] = T.cast(q[b * tile + row, x], "float32") * sm * scale
                    T.tvm_storage_sync("shared")
                    for k in T.unroll(LOAD_VEC):
                        for v in T.vectorized(2):
                            O_local[k * 2 + v] = T.exp2(S_s[k * 2 + v, x] - m_val[0])
                    for i in range(tile // bdy):
                        with T.block("store"):
                            vi = T.axis.spatial(4, i)
                            O[b * tile + vi * bdy + y, x] = T.cast(O_local[vi], dtype)


@T.prim_func(private=True)
def softmax(var_A: T.handle, var_T_softmax: T.handle):
    T.func_attr({"op_pattern": 4, "tir.noalias": T.bool(True)})
    n, m = T.int64(), T.int64(is_size_var=True)
    A = T.match_buffer(var_A, (T.int64(1), T.int64(32), n, m), "float16")
    T_softmax_norm = T.match_buffer(var_T_softmax, (T.int64(1), T.int64(32), n, m), "float16")
    # with T.block("root"):
    T_softmax_maxelem = T.alloc_buffer((T.int64(1), T.int64(32), n), "float16")
    T_softmax_exp = T.alloc_buffer((T.int64(1), T.int64(32), n, m), "float16")
    T_softmax_expsum = T.alloc_buffer((T.int64(1), T.int64(32), n), "float16")
    for i0, i1, i2, k in T.grid(T.int64(1), T.int64(32), n, m):
        with T.block("T_softmax_maxelem"):
            v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
            T.reads(A[v_i0, v_i1, v_i2, v_k])
            T.writes(T_softmax_maxelem[v_i0, v_i1, v_i2])
            with T.init():
                T_softmax_maxelem[v_i0, v_i1, v_i2] = T.float16(-65504)
            T_softmax_maxelem[v_i0, v_i1, v_i2] = T.max(T_softmax_maxelem[v_i0, v_i1, v_i2], A[v_i0, v_i1, v_i2, v_k])
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(32), n, m):
        with T.block("T_softmax_exp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(A[v_i0, v_i1, v_i2, v_i3], T_softmax_maxelem[v_i0, v_i1, v_i2])
            T.writes(T_softmax_exp[v_i0, v_i1, v_i2, v_i3])
            T_softmax_exp[v_i0, v_i1, v_i2, v_i3] = T.exp(A[v_i0, v_i1, v_i2, v_i3] - T_softmax_maxelem[v_i0, v_i1, v_i2])
    for i0, i1, i2, k in T.grid(T.int64(1), T.int64(32), n, m):
        with T.block("T_softmax_expsum"):
            v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
            with T.init():
                T_softmax_expsum[v_i0, v_i1, v_i2] = T.float16(0)
            T_softmax_expsum[v_i0, v_i1, v_i2] = T_softmax_expsum[v_i0, v_i1, v_i2] + T_softmax_exp[v_i0, v_i1, v_i2, v_k]
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(32), n, m):
        with T.block("T_softmax_norm"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.block_attr({"axis": 3})
            T_softmax_norm[v_i0, v_i1, v_i2, v_i3] = T_softmax_exp[v_i0, v_i1, v_i2, v_i3] / T_softmax_expsum[v_i0, v_i1, v_i2]
@T.prim_func
def kv_append(var_pages: T.handle, var_k: T.handle, var_pos: T.handle):
    T.func_attr({"tir.noalias": T.bool(True)})
    ntoken = T.SizeVar("num_tokens_excluding_cache", "int64")
    num_pages = T.int64()
    pages = T.match_buffer(var_pages, (num_pages, 2, 8, 16, 128), "float16")
    k_data = T.match_buffer(var_k, (ntoken, 8, 128), "float16")
    position_map = T.match_buffer(var_pos, (ntoken,), "int32")
    for global_pos, h, f in T.grid(ntoken, 8, 128):
        if position_map[global_pos] != T.int32(-1):
            with T.block("k_transpose_append"):
                vgpos, vh, vf = T.axis.remap("SSS", [global_pos, h, f])
                T.reads(position_map[vgpos], k_data[vgpos, vh, vf])
                position: T.int32 = position_map[vgpos]
                T.writes(pages[position_map[vgpos] // 16, 0, vh, position_map[vgpos] % 16, vf])
                pages[T.floordiv(position, 16), 0, vh, T.floormod(position, 16), vf] = k_data[vgpos, vh, vf]
