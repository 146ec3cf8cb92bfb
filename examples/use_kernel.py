#!/usr/bin/env python3
"""use_kernel - calls a kernel that moonloop saved from Python: ctypes and numpy, nothing of moonloop.

    build/moonloop examples/use_kernel.lua        saves matmul.so
    python3 use_kernel.py ./matmul.so
"""
import ctypes
import sys

import numpy as np


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):  # moonloop_tensor, as DLPack's
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("p", ctypes.c_void_p),
                ("tensor", ctypes.POINTER(Tensor))]


class Arg(ctypes.Structure):
    _anonymous_ = ["value"]
    _fields_ = [("kind", ctypes.c_int32), ("value", Value)]


class Error(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("text", ctypes.c_char * 240)]


CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def argument(x):
    """A number or an array; the array is not copied and must outlive the call."""
    if isinstance(x, bool):
        return Arg(3, Value(i=int(x)))
    if isinstance(x, int):
        return Arg(1, Value(i=x))
    if isinstance(x, float):
        return Arg(2, Value(f=x))
    size = x.dtype.itemsize
    shape = (ctypes.c_int64 * x.ndim)(*x.shape)
    strides = (ctypes.c_int64 * x.ndim)(*[s // size for s in x.strides])
    kind = Type(CODES[x.dtype.kind], size * 8, 1)
    return Arg(5, Value(tensor=ctypes.pointer(Tensor(x.ctypes.data, Device(1, 0), x.ndim, kind, shape, strides, 0))))


def aligned(shape, dtype="float32"):
    """An array that begins at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype="uint8")
    start = -raw.ctypes.data % 64
    return raw[start:start + size].view(dtype).reshape(shape)


def load(path, name):
    """NAME_packed of a saved library, as a function that raises what it refuses."""
    f = getattr(ctypes.CDLL(path), name + "_packed")
    f.restype = ctypes.c_int32
    f.argtypes = [ctypes.POINTER(Arg), ctypes.c_int32, ctypes.POINTER(Error)]
    kinds = {1: TypeError, 2: ValueError, 3: AssertionError, 4: MemoryError}

    def call(*xs):
        args = (Arg * len(xs))(*[argument(x) for x in xs])
        err = Error()
        if f(args, len(xs), ctypes.byref(err)) != 0:
            raise kinds[err.kind](err.text.decode())

    return call


def main():
    matmul = load(sys.argv[1], "matmul")
    rng = np.random.default_rng(1)
    a, b, c = aligned((64, 32)), aligned((32, 48)), aligned((64, 48))
    a[:] = rng.standard_normal(a.shape)
    b[:] = rng.standard_normal(b.shape)
    matmul(a, b, c)
    print("largest difference", float(abs(c - a @ b).max()))
    assert np.allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    try:
        matmul(a, b, c.astype("float64"))
    except TypeError as e:
        print("refused:", e)
    else:
        raise SystemExit("a wrong dtype was taken")


main()
