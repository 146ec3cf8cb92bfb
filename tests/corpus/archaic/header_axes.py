# Blocks of 2020: the axes stand in the header, T.bind binds them.
from tvm.script import ty


@tvm.script.tir
def matmul(a: ty.handle, b: ty.handle, c: ty.handle) -> None:
    A = tir.match_buffer(a, [16, 16])
    B = tir.match_buffer(b, [16, 16])
    C = tir.match_buffer(c, [16, 16])
    with tir.block([], "root"):
        for i, j in tir.grid(16, 16):
            for ko, ki in tir.grid(4, 4):
                with tir.block([16, 16, tir.reduce_axis(0, 16)], "update") as [vi, vj, vk]:
                    tir.bind(vi, i)
                    tir.bind(vj, j)
                    tir.bind(vk, ko * 4 + ki)
                    tir.where(i < 15)
                    tir.reads([C[vi, vj], A[vi, vk], B[vk, vj]])
                    tir.writes([C[vi, vj]])
                    with tir.init():
                        C[vi, vj] = tir.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@tvm.script.tir
def scan(a: ty.handle, n: ty.int32) -> None:
    A = tir.match_buffer(a, [n, 4])
    with tir.block([tir.scan_axis(1, n), 4], "scan") as [vi, vj]:
        x = T.bind(A[vi - 1, vj])
        A[vi, vj] = A[vi, vj] + x
    with tir.block([tir.opaque_axis(0, 4)]) as vk:
        A[0, vk] = 0.0
