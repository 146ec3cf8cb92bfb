"""OpenBLAS: products of float32 matrices, a batch as one call after the other."""
import ctypes
import os
import subprocess
import sys

import numpy

lib = None
ROWS, PLAIN, TURNED = 101, 111, 112


def name_core():
    """A processor younger than the library is taken for the oldest one: it is told which kernels to use."""
    ask = "import ctypes as c; l = c.CDLL('libopenblas.so.0'); f = l.openblas_get_corename; f.restype = c.c_char_p; print(f())"
    taken_for = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout
    with open("/proc/cpuinfo") as f:
        has = f.read().split()
    for flag, core in ("avx512f", "SkylakeX"), ("avx2", "Haswell"):
        if "Prescott" in taken_for and flag in has:
            os.environ.setdefault("OPENBLAS_CORETYPE", core)


def begin(threads):
    global lib
    name_core()
    lib = ctypes.CDLL("libopenblas.so.0")
    lib.openblas_set_num_threads(threads)
    lib.openblas_get_config.restype = ctypes.c_char_p


def version():
    return lib.openblas_get_config().decode().split(" NO_")[0].split(" DYN")[0]


def sgemm(turned, m, n, k, a, lda, b, ldb, c, ldc):
    """The arguments of a call, made once."""
    i, p, f = ctypes.c_int, ctypes.c_void_p, ctypes.c_float
    args = (i(ROWS), i(PLAIN), i(TURNED if turned else PLAIN), i(m), i(n), i(k), f(1), p(a), i(lda), p(b), i(ldb),
            f(0), p(c), i(ldc))
    fn = lib.cblas_sgemm
    return lambda: fn(*args)


def run_all(calls):
    if len(calls) == 1:
        return calls[0]

    def run():
        for call in calls:
            call()

    return run


def product(row):
    x, y = row["arrays"].values()
    z = numpy.empty((x.shape[0], x.shape[1], y.shape[2]), numpy.float32)
    calls = [sgemm(False, *z[b].shape, x.shape[2], x[b].ctypes.data, x.shape[2], y[b].ctypes.data, y.shape[2],
                   z[b].ctypes.data, y.shape[2]) for b in range(x.shape[0])]
    yield "sgemm x %d" % len(calls), run_all(calls), lambda _: z


def product_of_transposed(row):
    q, v = row["arrays"].values()
    n, s, h, d = q.shape
    c = numpy.empty((n, h, s, s), numpy.float32)
    calls = [sgemm(True, s, s, d, q[b, :, k].ctypes.data, h * d, v[b, :, k].ctypes.data, h * d,
                   c[b, k].ctypes.data, s) for b in range(n) for k in range(h)]
    yield "sgemm x %d" % len(calls), run_all(calls), lambda _: c


FAMILIES = {"GMM": product, "BMM": product, "MM": product, "TBG": product_of_transposed}
