# Bounds that are loaded.
from tvm.script import tir as T


@T.prim_func
def spmm(a: T.handle, b: T.handle, c: T.handle, indptr: T.handle, indices: T.handle, M: T.int32, N: T.int32, K: T.int32, nnz: T.int32):
    T.func_attr({"global_symbol": "spmm", "tir.noalias": True})
    A = T.match_buffer(a, (nnz,), "float32")
    B = T.match_buffer(b, (N * K,), "float32")
    C = T.match_buffer(c, (M * K,), "float32")
    A_indptr = T.match_buffer(indptr, (M + 1,), "int32")
    A_indices = T.match_buffer(indices, (nnz,), "int32")
    for i, k in T.grid(M, K):
        with T.block("spmm_outer"):
            vi, vk = T.axis.remap("SS", [i, k])
            with T.init():
                C[vi * K + vk] = 0.
            for j in T.serial(0, A_indptr[vi + 1] - A_indptr[vi]):
                with T.block("spmm_inner"):
                    T.block_attr({"sparse": True})
                    vj = T.axis.R(A_indptr[vi + 1] - A_indptr[vi], j)
                    C[vi * K + vk] = C[vi * K + vk] + A[A_indptr[vi] + vj] * B[A_indices[A_indptr[vi] + vj] * K + vk]


@T.prim_func
def topk(idx: T.Buffer((8,), "int64"), X: T.Buffer((100, 4), "float16"), out: T.Buffer((8, 4), "float16"), cnt: T.Buffer((1,), "int32")):
    for i, j in T.grid(T.int64(8), T.int64(4)):
        with T.block("gather"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[idx[vi], vj], idx[vi])
            T.writes(out[vi, vj])
            out[vi, vj] = T.Select(T.int64(0) <= idx[vi] and idx[vi] < T.int64(100), X[idx[vi], vj], T.float16(0))
    for i in range(8):
        with T.block("count"):
            vi = T.axis.opaque(8, i)
            if out[vi, 0] > T.float16(0.5):
                cnt[0] = cnt[0] + 1
                out[vi, 0] = T.Cast("float16", T.call_extern("int32", "atomicAdd", T.address_of(cnt[0]), 1))
