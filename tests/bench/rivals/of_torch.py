"""PyTorch's forms of the rows: what one writes in eager mode, the result in the row's layout.

Each maker gives (name, call, result to array). Where no single call does it, a sequence of calls counts.
"""
import torch
import torch.nn.functional as F


def begin(threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)


def version():
    return "PyTorch " + torch.__version__


def tensors(row):
    return [torch.from_numpy(a) for a in row["arrays"].values()]


def array(y):
    return y.numpy()


def forms(*list_of):
    for name, call in list_of:
        yield name, call, array


# ---- convolutions: channels last is the row's layout, seen in the order that PyTorch wants


def seen_from(x):
    """N, spatial, C as N, C, spatial."""
    return x.movedim(-1, 1)


def laid(y):
    """The result in the row's layout; nothing is moved where it lies so already."""
    return y.movedim(1, -1).contiguous()


def weight_forms(w, prepack):
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(w.dim())
    makers = [("as given", lambda: w), ("contiguous", lambda: w.contiguous())]
    if last:
        makers.append(("channels last", lambda: w.contiguous(memory_format=last)))
    for name, make in makers:
        if prepack:
            kept = make()
            yield name + ", before", (lambda v: lambda: v)(kept)
        else:
            yield name, make


def conv(row, dims, groups=None, after=None):
    a, (x, w, *rest) = row["args"], tensors(row)
    if groups:  # depthwise: W is (1, k, k, C)
        w = w.movedim(-1, 0)
    else:
        w = w.movedim(-1, 0).movedim(-1, 1)
    x = seen_from(x)
    fn = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[dims]
    s, p, d = a.get("s", 1), a.get("p", 0), a.get("d", 1)
    g = groups or a.get("g", 1)

    def call(weight):
        if after:
            return lambda: laid(after(fn(x, weight(), rest[0], s, p, d, g), rest))
        return lambda: laid(fn(x, weight(), None, s, p, d, g))

    for name, weight in weight_forms(w, row["prepack"]):
        yield name, call(weight), array
    if dims == 1:  # as a picture of one line, which may lie channels last
        x2, w2 = x.unsqueeze(2), w.unsqueeze(2)
        for name, weight in weight_forms(w2, row["prepack"]):
            yield "2d, " + name, (lambda v: lambda: laid(
                F.conv2d(x2, v(), None, (1, s), (0, p), (1, d), g)).squeeze(1))(weight), array


def conv_bias_relu(row):
    def chain(y, rest):
        _, offset, scale = rest
        return y.mul_(scale.view(1, -1, 1, 1)).add_(offset.view(1, -1, 1, 1)).relu_()

    def fused(y, rest):
        _, offset, scale = rest
        return torch.addcmul(offset.view(1, -1, 1, 1), y, scale.view(1, -1, 1, 1)).relu_()

    for name, call, result in conv(row, 2, after=chain):
        yield "in place, " + name, call, result
    for name, call, result in conv(row, 2, after=fused):
        yield "addcmul, " + name, call, result


def depthwise(row):
    return conv(row, 2, groups=row["arrays"]["X"].shape[-1])


def conv_transposed(row):
    a, (x, w) = row["args"], tensors(row)
    x, w = seen_from(x), w.permute(2, 3, 0, 1)
    for name, weight in weight_forms(w, row["prepack"]):
        yield name, (lambda v: lambda: laid(F.conv_transpose2d(x, v(), None, a["s"], a["p"])))(weight), array


# ---- products


def product(row):
    x, y = tensors(row)
    out = torch.empty(x.shape[0], x.shape[1], y.shape[2])
    yield "bmm", lambda: torch.bmm(x, y, out=out), array
    if x.shape[0] == 1:
        yield "mm", lambda: torch.mm(x[0], y[0], out=out[0]), lambda z: z.numpy()[None]


def product_of_transposed(row):
    q, v = tensors(row)
    qt, vt = q.permute(0, 2, 1, 3), v.permute(0, 2, 3, 1)
    return forms(("matmul", lambda: torch.matmul(qt, vt)),
                 ("contiguous, matmul", lambda: torch.matmul(qt.contiguous(), vt.contiguous())),
                 ("einsum", lambda: torch.einsum("bihd,bjhd->bhij", q, v)))


def dense(row):
    x, w, b = tensors(row)
    out = torch.empty(x.shape[0], w.shape[1])
    wt = w.t().contiguous() if row["prepack"] else w.t()
    return forms(("addmm, relu", lambda: torch.addmm(b, x, w, out=out).relu_()),
                 ("linear, relu", lambda: F.linear(x, wt, b).relu_()))


def attention(row):
    q, k, v = (t.unsqueeze(0) for t in tensors(row))

    def chain():
        return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5, -1), v)[0]

    return forms(("scaled_dot_product_attention", lambda: F.scaled_dot_product_attention(q, k, v)[0]),
                 ("matmul, softmax, matmul", chain))


def int8_product(row):
    a, b = tensors(row)
    if a.dtype == torch.uint8:  # it has signed bytes only: the same work on other numbers, not compared
        s = (a.to(torch.int16) - 128).to(torch.int8)
        yield "_int_mm, signed (not compared)", lambda: torch._int_mm(s, b), lambda y: None
    else:
        yield "_int_mm", lambda: torch._int_mm(a, b), array


# ---- rows, sums, elements


def norm(row):
    (a,) = tensors(row)
    flat = a.reshape(a.shape[0], -1)
    yield "vector_norm", lambda: torch.linalg.vector_norm(a, dim=(1, 2)), array
    yield "flat vector_norm", lambda: torch.linalg.vector_norm(flat, dim=1), array
    yield "square, sum, sqrt", lambda: (a * a).sum((1, 2)).sqrt_(), array
    if a.shape[0] == 1:
        yield "dot, sqrt", lambda: torch.dot(flat[0], flat[0]).sqrt_(), lambda y: y.numpy().reshape(1)


def softmax(row):
    (a,) = tensors(row)
    out = torch.empty_like(a)
    return forms(("softmax", lambda: torch.softmax(a, 1)), ("softmax, out", lambda: torch.softmax(a, 1, out=out)))


def layer_norm(row):
    x, g, b = tensors(row)
    if list(row["arrays"])[1][0] in "bo":  # beta or offset comes first
        g, b = b, g
    return forms(("layer_norm", lambda: F.layer_norm(x, x.shape[-1:], g, b, 1e-5)))


def gelu(row):
    (x,) = tensors(row)
    out = torch.empty_like(x)
    return forms(("gelu", lambda: F.gelu(x)), ("gelu, out", lambda: torch._C._nn.gelu(x, out=out)))


def total(*dims):
    def maker(row):
        (a,) = tensors(row)
        out = torch.empty([n for k, n in enumerate(a.shape) if k not in dims])
        return forms(("sum", lambda: torch.sum(a, dims)), ("sum, out", lambda: torch.sum(a, dims, out=out)))

    return maker


def argmax(row):
    (a,) = tensors(row)

    def result(y):
        return y[0].numpy()

    yield "max", lambda: torch.max(a, 1), result


def scan(row):
    (a,) = tensors(row)
    out = torch.empty_like(a)
    axis = a.dim() - 1
    return forms(("cumsum", lambda: torch.cumsum(a, axis)), ("cumsum, out", lambda: torch.cumsum(a, axis, out=out)))


def max_pool(row):
    a, (x,) = row["args"], tensors(row)
    v = seen_from(x)
    return forms(("max_pool2d", lambda: laid(F.max_pool2d(v, a["k"], a["s"], a["p"]))))


def mean(row):
    (x,) = tensors(row)
    dims = (1, 2) if x.dim() == 4 else (0, 1)
    v = seen_from(x) if x.dim() == 4 else None
    yield "mean", lambda: x.mean(dims), array
    if v is not None:
        yield "adaptive_avg_pool2d", lambda: F.adaptive_avg_pool2d(v, 1), lambda y: y.numpy().reshape(x.shape[0], -1)


def add(row):
    a, b = tensors(row)
    out = torch.empty_like(a)
    return forms(("add", lambda: a + b), ("add, out", lambda: torch.add(a, b, out=out)))


def transpose(row):
    (a,) = tensors(row)
    out = torch.empty(a.shape[1], a.shape[0])
    return forms(("contiguous", lambda: a.t().contiguous()), ("copy_", lambda: out.copy_(a.t())))


FAMILIES = {
    "C1D": lambda row: conv(row, 1), "C2D": lambda row: conv(row, 2), "C3D": lambda row: conv(row, 3),
    "GRP": lambda row: conv(row, 2), "DIL": lambda row: conv(row, 2), "DEP": depthwise, "CBR": conv_bias_relu,
    "T2D": conv_transposed, "GMM": product, "BMM": product, "MM": product, "TBG": product_of_transposed,
    "DBR": dense, "ATT": attention, "QMM": int8_product, "NRM": norm, "SFM": softmax, "LNM": layer_norm,
    "GEL": gelu, "SUMR": total(1), "SUMC": total(0), "SUMA": total(0, 1), "ARG": argmax, "CUM": scan, "CUB": scan,
    "MXP": max_pool, "AVP": mean, "ADD": add, "TRN": transpose,
    "CONV": lambda row: conv(row, 2), "DWCONV": depthwise,
}
