"""oneDNN's forms of the rows, through its C functions: one primitive each, with what it can fuse.

Memory is described by the row's own strides; a constant operand that the primitive wants in another layout is
reordered in the timed call. Source: the C interface of oneDNN 3 (dnnl.h, dnnl_types.h).
"""
import ctypes
import os
import sys

import numpy

lib = None
engine = stream = None

TYPES = {"float32": 3, "int32": 4, "int8": 5, "uint8": 6}
ANY = 1  # format tag
INFERENCE = 96  # kind of propagation
CONV_AUTO, DECONV, RELU, GELU, POOL_MAX, POOL_MEAN = 3, 0xA, 0x20, 49, 0x1FF, 0x3FF
SOFTMAX, SUM, NORM, ADD, MUL = 0x30000, 196596, 196600, 0x1FFF0, 0x1FFF1
USE_SCALE_AND_SHIFT = 6
SRC, SRC1, DST, WEIGHTS, BIAS, SCALE, SHIFT, POST = 1, 2, 17, 33, 41, 51, 52, 32768
FROM, TO = SRC, DST
QUERY_WEIGHTS = 131


class ExecArg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


def ok(status):
    if status != 0:
        raise RuntimeError({2: "bad arguments", 3: "not there for this"}.get(status, "status %d" % status))


def begin(threads):
    global lib, engine, stream
    path = os.path.join(sys.prefix, "lib", "libdnnl.so.3")
    lib = ctypes.CDLL(path if os.path.exists(path) else "libdnnl.so.3")
    engine, stream = ctypes.c_void_p(), ctypes.c_void_p()
    ok(lib.dnnl_engine_create(ctypes.byref(engine), 1, ctypes.c_size_t(0)))
    ok(lib.dnnl_stream_create(ctypes.byref(stream), engine, 1))
    lib.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int),
                ("hash", ctypes.c_char_p), ("cpu_runtime", ctypes.c_uint), ("gpu_runtime", ctypes.c_uint)]


def version():
    lib.dnnl_version.restype = ctypes.POINTER(Version)
    v = lib.dnnl_version().contents
    return "oneDNN %d.%d.%d" % (v.major, v.minor, v.patch)


def longs(values):
    return (ctypes.c_int64 * 12)(*values)


def md_like(view):
    """Of an array as it lies: its order of axes is the primitive's."""
    md = ctypes.c_void_p()
    strides = [s // view.itemsize for s in view.strides]
    ok(lib.dnnl_memory_desc_create_with_strides(ctypes.byref(md), view.ndim, longs(view.shape),
                                                TYPES[view.dtype.name], longs(strides)))
    return md


def md_any(view):
    md = ctypes.c_void_p()
    ok(lib.dnnl_memory_desc_create_with_tag(ctypes.byref(md), view.ndim, longs(view.shape), TYPES[view.dtype.name],
                                            ANY))
    return md


def memory(md, view=None):
    """Over an array; without one, memory of its own."""
    m = ctypes.c_void_p()
    at = ctypes.c_void_p(view.ctypes.data if view is not None else -1)  # -1: DNNL_MEMORY_ALLOCATE
    ok(lib.dnnl_memory_create(ctypes.byref(m), md, engine, at))
    return m


def attributes(post):
    """post: ("relu",) or ("mul" or "add", md)."""
    attr, ops = ctypes.c_void_p(), ctypes.c_void_p()
    ok(lib.dnnl_primitive_attr_create(ctypes.byref(attr)))
    ok(lib.dnnl_post_ops_create(ctypes.byref(ops)))
    for p in post:
        if p[0] == "relu":
            ok(lib.dnnl_post_ops_append_eltwise(ops, RELU, ctypes.c_float(0), ctypes.c_float(0)))
        else:
            ok(lib.dnnl_post_ops_append_binary(ops, MUL if p[0] == "mul" else ADD, p[1]))
    ok(lib.dnnl_primitive_attr_set_post_ops(attr, ops))
    return attr


def described(create, *args):
    pd = ctypes.c_void_p()
    ok(create(ctypes.byref(pd), *args))
    return pd


def prepared(pd, args):
    """A call that runs the primitive; args: {argument: memory}."""
    prim = ctypes.c_void_p()
    ok(lib.dnnl_primitive_create(ctypes.byref(prim), pd))
    v = (ExecArg * len(args))(*[ExecArg(k, m) for k, m in args.items()])
    n, execute = ctypes.c_int(len(args)), lib.dnnl_primitive_execute
    wait, kept = lib.dnnl_stream_wait, (args, pd)

    def call(kept=kept):
        if execute(prim, stream, n, v) or wait(stream):
            raise RuntimeError("it does not run")

    return call


def reordered(view, md):
    """(memory in layout md, the call that fills it from view)."""
    to, of = memory(md), md_like(view)
    pd = described(lib.dnnl_reorder_primitive_desc_create, of, engine, md, engine, None)
    return to, prepared(pd, {FROM: memory(of, view), TO: to})


def with_weights(row, make, w, args):
    """Forms of a primitive with a constant operand w: as it lies, and in the layout that the primitive asks for.
    make(md of w) gives the description."""
    out = row["result"]

    def as_it_lies():
        md = md_like(w)
        return prepared(make(md), {**args, WEIGHTS: memory(md, w)})

    def asked_for():
        pd = make(md_any(w))
        md = ctypes.c_void_p(lib.dnnl_primitive_desc_query_md(pd, QUERY_WEIGHTS, 0))
        packed, pack = reordered(w, md)
        run = prepared(pd, {**args, WEIGHTS: packed})
        if row["prepack"]:
            pack()
            return run

        def both():
            pack()
            run()

        return both

    for name, maker in (("its layout", asked_for), ("as given", as_it_lies)):
        try:
            call = maker()
        except RuntimeError:
            continue
        yield name, call, lambda _: out


def single(row, name, pd, args):
    out = row["result"]
    yield name, prepared(pd, args), lambda _: out


# ---- convolutions


def channels_second(x):
    return numpy.moveaxis(x, -1, 1)


def conv_sizes(row, dims):
    a = row["args"]
    s, p, d = a.get("s", 1), a.get("p", 0), a.get("d", 1)
    return longs([s] * dims), longs([d - 1] * dims), longs([p] * dims)


def conv(row, depthwise=False, transposed=False, bias=False):
    a = row["args"]
    x, w, *rest = row["arrays"].values()
    dims = x.ndim - 2
    g = x.shape[-1] if depthwise else a.get("g", 1)
    s, d, p = conv_sizes(row, dims)
    k = w.shape[1] if depthwise else w.shape[0]
    n_out = g if depthwise else w.shape[-1]
    if transposed:
        size = [(n - 1) * a["s"] - 2 * a["p"] + k for n in x.shape[1:-1]]
    else:
        size = [(n + 2 * a.get("p", 0) - a.get("d", 1) * (k - 1) - 1) // a.get("s", 1) + 1 for n in x.shape[1:-1]]
    acc = numpy.int32 if x.dtype.itemsize == 1 else numpy.float32
    row["result"] = y = numpy.zeros([x.shape[0]] + size + [n_out], acc)
    if depthwise:  # (1, k, k, C): groups of one
        view = numpy.moveaxis(w[0], -1, 0)[:, None, None]
    else:
        view = numpy.moveaxis(numpy.moveaxis(w, -1, 0), -1, 1)  # output, input, taps
        if g > 1:
            view = view.reshape((g, n_out // g) + view.shape[1:])
    xv, yv = channels_second(x), channels_second(y)
    src, dst = md_like(xv), md_like(yv)
    args = {SRC: memory(src, xv), DST: memory(dst, yv)}
    b, post = None, []
    if bias:
        b = md_like(rest[0])
        args[BIAS] = memory(b, rest[0])
        for at, (kind, v) in enumerate((("mul", rest[2]), ("add", rest[1]))):
            v = v.reshape(1, -1, 1, 1)
            post.append((kind, md_like(v)))
            args[POST * (at + 1) | SRC1] = memory(post[-1][1], v)
        post.append(("relu",))
    attr = attributes(post) if post else None

    def make(md):
        if transposed:
            return described(lib.dnnl_deconvolution_forward_primitive_desc_create, engine, INFERENCE, DECONV, src, md,
                             b, dst, s, d, p, p, attr)
        far = longs([(o - 1) * a.get("s", 1) + a.get("d", 1) * (k - 1) + 1 - n - a.get("p", 0)
                     for o, n in zip(size, x.shape[1:-1])])  # padding behind: what is left
        return described(lib.dnnl_convolution_forward_primitive_desc_create, engine, INFERENCE, CONV_AUTO, src, md, b,
                         dst, s, d, p, far, attr)

    return with_weights(row, make, view, args)


# ---- products


def product_of(row, x, w, y, bias=None, post=()):
    src, dst = md_like(x), md_like(y)
    args = {SRC: memory(src, x), DST: memory(dst, y)}
    b = None
    if bias is not None:
        b = md_like(bias)
        args[BIAS] = memory(b, bias)
    attr = attributes(post) if post else None
    return with_weights(row, lambda md: described(lib.dnnl_matmul_primitive_desc_create, engine, src, md, b, dst,
                                                  attr), w, args)


def product(row):
    x, y = row["arrays"].values()
    row["result"] = z = numpy.zeros((x.shape[0], x.shape[1], y.shape[2]), numpy.float32)
    if x.shape[0] == 1:
        yield from product_of(row, x[0], y[0], z[0])
    else:
        yield from product_of(row, x, y, z)


def product_of_transposed(row):
    q, v = row["arrays"].values()
    n, s, h, _ = q.shape
    row["result"] = c = numpy.zeros((n, h, s, s), numpy.float32)
    return product_of(row, q.transpose(0, 2, 1, 3), v.transpose(0, 2, 3, 1), c)


def int8_product(row):
    a, b = row["arrays"].values()
    row["result"] = c = numpy.zeros((a.shape[0], b.shape[1]), numpy.int32)
    return product_of(row, a, b, c)


def dense(row):
    x, w, b = row["arrays"].values()
    row["result"] = y = numpy.zeros((x.shape[0], w.shape[1]), numpy.float32)
    return product_of(row, x, w, y, bias=b.reshape(1, -1), post=[("relu",)])


# ---- rows, sums, elements


def two(row, shape):
    (x,) = row["arrays"].values()
    row["result"] = y = numpy.zeros(shape(x), x.dtype)
    src, dst = md_like(x), md_like(y)
    return src, dst, {SRC: memory(src, x), DST: memory(dst, y)}


def softmax(row):
    src, dst, args = two(row, lambda x: x.shape)
    return single(row, "softmax", described(lib.dnnl_softmax_forward_primitive_desc_create, engine, INFERENCE, SOFTMAX,
                                            src, dst, 1, None), args)


def gelu(row):
    src, dst, args = two(row, lambda x: x.shape)
    return single(row, "eltwise", described(lib.dnnl_eltwise_forward_primitive_desc_create, engine, INFERENCE, GELU,
                                            src, dst, ctypes.c_float(0), ctypes.c_float(0), None), args)


def layer_norm(row):
    names = list(row["arrays"])
    x, g, b = row["arrays"].values()
    if names[1][0] in "bo":
        g, b = b, g
    row["result"] = y = numpy.zeros_like(x)
    src, dst = md_like(x), md_like(y)
    pd = described(lib.dnnl_layer_normalization_forward_primitive_desc_create, engine, INFERENCE, src, dst, None,
                   ctypes.c_float(1e-5), ctypes.c_uint(USE_SCALE_AND_SHIFT), None)
    return single(row, "layer_normalization", pd,
                  {SRC: memory(src, x), DST: memory(dst, y), SCALE: memory(md_like(g), g),
                   SHIFT: memory(md_like(b), b)})


def reduction(alg, dims, p=0.0):
    def maker(row):
        (x,) = row["arrays"].values()
        y = numpy.zeros([1 if k in dims else n for k, n in enumerate(x.shape)], numpy.float32)
        row["result"] = y.reshape([n for k, n in enumerate(x.shape) if k not in dims] or [1])
        src, dst = md_like(x), md_like(y)
        pd = described(lib.dnnl_reduction_primitive_desc_create, engine, alg, src, dst, ctypes.c_float(p),
                       ctypes.c_float(0), None)
        return single(row, "reduction", pd, {SRC: memory(src, x), DST: memory(dst, y)})

    return maker


def pooling(alg):
    def maker(row):
        a, (x,) = row["args"], row["arrays"].values()
        mean = alg == POOL_MEAN
        k = x.shape[1] if mean else a["k"]
        s, p = (1, 0) if mean else (a["s"], a["p"])
        out = [(n + 2 * p - k) // s + 1 for n in x.shape[1:3]]
        y = numpy.zeros([x.shape[0]] + out + [x.shape[3]], numpy.float32)
        row["result"] = y.reshape(x.shape[0], -1) if mean else y
        xv, yv = channels_second(x), channels_second(y)
        src, dst = md_like(xv), md_like(yv)
        far = longs([(o - 1) * s + k - n - p for o, n in zip(out, x.shape[1:3])])
        pd = described(lib.dnnl_pooling_forward_primitive_desc_create, engine, INFERENCE, alg, src, dst,
                       longs([s, s]), longs([k, k]), longs([0, 0]), longs([p, p]), far, None)
        return single(row, "pooling", pd, {SRC: memory(src, xv), DST: memory(dst, yv)})

    return maker


def add(row):
    a, b = row["arrays"].values()
    row["result"] = c = numpy.zeros_like(a)
    mds = [md_like(v) for v in (a, b, c)]
    pd = described(lib.dnnl_binary_primitive_desc_create, engine, ADD, *mds, None)
    return single(row, "binary", pd, {SRC: memory(mds[0], a), SRC1: memory(mds[1], b), DST: memory(mds[2], c)})


def transpose(row):
    (a,) = row["arrays"].values()
    row["result"] = b = numpy.zeros((a.shape[1], a.shape[0]), a.dtype)
    of, to = md_like(a.T), md_like(b)
    pd = described(lib.dnnl_reorder_primitive_desc_create, of, engine, to, engine, None)
    return single(row, "reorder", pd, {FROM: memory(of, a.T), TO: memory(to, b)})


FAMILIES = {
    "C1D": conv, "C2D": conv, "C3D": conv, "GRP": conv, "DIL": conv, "QCV": conv, "CONV": conv,
    "DEP": lambda row: conv(row, depthwise=True), "DWCONV": lambda row: conv(row, depthwise=True),
    "T2D": lambda row: conv(row, transposed=True), "CBR": lambda row: conv(row, bias=True),
    "GMM": product, "BMM": product, "MM": product, "TBG": product_of_transposed, "QMM": int8_product, "DBR": dense,
    "SFM": softmax, "GEL": gelu, "LNM": layer_norm, "NRM": reduction(NORM, (1, 2), 2.0), "SUMR": reduction(SUM, (1,)),
    "SUMC": reduction(SUM, (0,)), "SUMA": reduction(SUM, (0, 1)), "MXP": pooling(POOL_MAX), "AVP": pooling(POOL_MEAN),
    "ADD": add, "TRN": transpose,
}
