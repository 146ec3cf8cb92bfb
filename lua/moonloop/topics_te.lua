-- topics_te - help on moon.te, moon.ir and moon.workload: building programs. See topics.
local topic = ...

-- ---- tensors and reductions
local sum = [[
local te = moon.te
local A, B = te.placeholder({8, 8}, "float32", "A"), te.placeholder({8, 8}, "float32", "B")
local k = te.reduce_axis(8, "k")
]]
topic("te.placeholder(shape, dtype [, name])", "an input: a tensor that the caller gives", "As in Python a table may stand behind the shape: te.placeholder({8, 8}, {name = \"A\"}), float32 unless it has dtype; so behind the arguments of te.reduce_axis and te.compute, where annotations are those of the block, and te.sum(x, {axis = k}).", sum .. "print(A)")
topic("te.reduce_axis(extent [, name])", "an axis to reduce over: the index that te.sum, te.max and te.min run through", "", sum .. 'print(te.sum(A(0, k), k) ~= nil)')
topic("te.compute(shape, function(i, j) ... end [, name [, loops]])", "a tensor computed from others: its element at each index",
    "The function is called once with index variables and gives an expression or a reduction. Names of its parameters become names of loops; loops is a list of other names.",
    sum .. 'local C = te.compute({8, 8}, function(i, j) return te.sum(A(i, k) * B(k, j), k) end, "C")\nprint(te.func{A, B, C}:script())')
topic("te.extern({{shape, dtype, name}, ...}, function(Y, ...) ... end)", "tensors that one statement of moon.ir computes",
    "For what te.compute has no form for: a scan, a reduction to several values. The function gets the tensors; Y.buffer is what ir.store writes. It is called once here and once for each te.func.", sum .. [[
local ir = moon.ir
local Y = te.extern({{{8, 8}, "float32", "Y"}}, function(Y)
    local i, j = ir.var("i"), ir.var("j")
    local body = ir.store(Y.buffer, A(j, i), {i, j})
    return ir.loop{var = i, extent = 8, body = ir.loop{var = j, extent = 8, body = body}}
end)
print(te.func{A, Y}:script())]])
topic("te.func(tensors [, name])", "the function that computes tensors: these are its parameters, in order", "Tensors computed on the way are allocated inside. moon.schedule takes it as it is.",
    sum .. 'local C = te.compute({8, 8}, function(i, j) return A(i, j) + B(i, j) end, "C")\nprint(te.func({A, B, C}, "add"):script())')
topic("te.sum(value, axis, ...)", "the sum over reduction axes, for te.compute", "", sum .. 'local C = te.compute({8}, function(i) return te.sum(A(i, k), k) end, "C")\nprint(te.func{A, C}:script())')
topic("te.max(value, axis, ...), te.max(a, b)", "the maximum over reduction axes, or of two values", "", sum .. 'local C = te.compute({8}, function(i) return te.max(A(i, k), k) end, "C")\nprint(te.func{A, C}:script())')
topic("te.min(value, axis, ...), te.min(a, b)", "the minimum over reduction axes, or of two values", "", sum .. "print(te.min(te.var('n'), 4))")
topic("te.load(name, index, ... [, dtype])", "in padding values of transform_layout: an element of the old layout", "", [[print(moon.te.load("B", 0, 1))]])

-- ---- expressions: name, arguments, what it is
local function value(name, args, what, call)
    topic("te." .. name .. "(" .. args .. ")", what, "", "local te = moon.te\nlocal x, y = te.var(\"x\", \"float32\"), te.var(\"y\", \"float32\")\n" ..
        "local i, j = te.var(\"i\"), te.var(\"j\")\nprint(te." .. name .. "(" .. (call or args) .. "))")
end
value("var", "name [, dtype]", "a variable; int32 without a dtype", '"n"')
value("size_var", "name [, dtype]", "a variable that is never negative: the size of something", '"n"')
value("const", "value [, dtype]", "a constant of that type", '2.5, "float32"')
value("cast", "e, dtype", "the value converted to another type", 'i, "float32"')
value("select", "condition, a, b", "a where the condition holds, else b; both are evaluated", "te.lt(i, j), x, y")
value("if_then_else", "condition, a, b", "a where the condition holds, else b; only that one is evaluated", "te.lt(i, j), x, y")
for _, f in ipairs {
    { "div", "the quotient of two floats; integers are divided by floordiv or truncdiv", "x, y" },
    { "floordiv", "the quotient rounded down, as // in Lua and Python" }, { "floormod", "the rest of floordiv: it has the divisor's sign" },
    { "truncdiv", "the quotient rounded towards zero, as / of integers in C" }, { "truncmod", "the rest of truncdiv: it has the dividend's sign" },
    { "lt", "whether a is less than b" }, { "le", "whether a is at most b" }, { "gt", "whether a is more than b" }, { "ge", "whether a is at least b" },
    { "eq", "whether two values are equal; == on expressions compares structure instead" }, { "ne", "whether two values differ" },
    { "bitwise_and", "the bits that both have" }, { "bitwise_or", "the bits that either has" }, { "bitwise_xor", "the bits that one of them has" },
    { "shift_left", "the bits moved up, zeros come in" }, { "shift_right", "the bits moved down; the sign stays" },
    { "pow", "x to the power of y", "x, y" }, { "fmod", "the rest of x / y, with the sign of x", "x, y" },
    { "atan2", "the angle of the point (y, x)", "y, x" }, { "hypot", "the square root of x * x + y * y", "x, y" },
    { "copysign", "x with the sign of y", "x, y" },
} do
    value(f[1], f[3] or "a, b", f[2], f[3] or "i, j")
end
for _, f in ipairs {
    { "exp", "e to the power of x" }, { "exp2", "2 to the power of x" }, { "exp10", "10 to the power of x" }, { "log", "the natural logarithm" },
    { "log2", "the logarithm to base 2" }, { "log10", "the logarithm to base 10" }, { "log1p", "the natural logarithm of 1 + x, exact for small x" },
    { "sqrt", "the square root" }, { "rsqrt", "1 divided by the square root" }, { "sigmoid", "1 / (1 + exp(-x))" }, { "tanh", "the hyperbolic tangent" },
    { "sinh", "the hyperbolic sine" }, { "cosh", "the hyperbolic cosine" }, { "tan", "the tangent of an angle in radians" },
    { "sin", "the sine of an angle in radians" }, { "cos", "the cosine of an angle in radians" }, { "asin", "the angle whose sine is x" },
    { "acos", "the angle whose cosine is x" }, { "atan", "the angle whose tangent is x" }, { "asinh", "the inverse of sinh" },
    { "acosh", "the inverse of cosh" }, { "atanh", "the inverse of tanh" }, { "erf", "the error function" }, { "fabs", "x without its sign" },
    { "abs", "x without its sign; another name of fabs" }, { "floor", "the largest integer that is not more" },
    { "ceil", "the smallest integer that is not less" }, { "round", "the nearest integer, halves away from zero" },
    { "trunc", "the integer next towards zero" }, { "nearbyint", "the nearest integer, halves to the even one" },
    { "isnan", "whether it is no number" }, { "isinf", "whether it is infinite" }, { "isfinite", "whether it is a finite number" },
    { "popcount", "how many bits are set", "i" }, { "bitwise_not", "all bits the other way round", "i" },
} do
    value(f[1], f[3] or "x", f[2])
end
value("all", "condition, ...", "whether all conditions hold; a list will do", "te.lt(i, 4), te.lt(j, 4)")
value("any", "condition, ...", "whether one of the conditions holds; a list will do", "te.lt(i, 4), te.lt(j, 4)")
value("and_", "a, b", "whether both conditions hold", "te.lt(i, 4), te.lt(j, 4)")
value("or_", "a, b", "whether one of two conditions holds", "te.lt(i, 4), te.lt(j, 4)")
value("not_", "a", "whether the condition does not hold", "te.lt(i, 4)")

-- ---- moon.ir: one to one with the IR
local function ir(signature, what, code, text)
    topic("ir." .. signature, what, text or "", 'local ir = moon.ir\nlocal A, i, j = ir.buffer("A", {8}), ir.var("i"), ir.var("j")\n' .. code)
end
local function body(code) return "print(ir.func{params = {A}, body = " .. code .. "}:script())" end
ir("var(name [, dtype])", "a variable; int32 without a dtype", "print(i)")
ir("size(name [, dtype])", "a variable that is never negative", 'print(ir.size("n"))')
ir("const(value [, dtype])", "a constant", 'print(ir.const(2, "int64"))')
ir("limit(dtype, highest)", "the largest finite value of a type, or the smallest", 'print(ir.limit("int8", true), ir.limit("int8", false))')
ir("cast(e, dtype)", "a value converted to another type", 'print(ir.cast(i, "float32"))')
ir("select(condition, a, b)", "one of two values; both are evaluated", "print(ir.select(ir.lt(i, j), i, j))")
ir("if_then_else(condition, a, b)", "one of two values; only that one is evaluated", "print(ir.if_then_else(ir.lt(i, j), i, j))")
ir("call(op [, dtype], arg, ...)", "a call of an operator; nil for the dtype of the first argument", 'print(ir.call("exp", nil, ir.const(1.0, "float32")))')
ir("load(buffer, index, ...)", "an element of a buffer", "print(ir.load(A, i))")
ir("subst(e, v1, to1, ...)", "the expression with variables replaced, all at once", "print(ir.subst(i + j, i, j, j, i))")
ir("parse_expr(text, names)", "an expression from its text, with names for what occurs in it", 'print(ir.parse_expr("i * 2 + j", {i = i, j = j}))')
ir("index_map(function [, inverse])", "the same as moon.index_map", "print(ir.index_map(function(a, b) return b, a end))")
for _, f in ipairs {
    { "add", "the sum of two values" }, { "sub", "the difference of two values" }, { "mul", "the product of two values" },
    { "truncdiv", "the quotient towards zero" }, { "truncmod", "the rest of truncdiv" }, { "floordiv", "the quotient rounded down" },
    { "floormod", "the rest of floordiv" }, { "min", "the smaller of two values" }, { "max", "the larger of two values" }, { "eq", "whether two values are equal" },
    { "ne", "whether two values differ" }, { "lt", "whether a is less than b" }, { "le", "whether a is at most b" }, { "gt", "whether a is more than b" }, { "ge", "whether a is at least b" },
} do
    ir(f[1] .. "(a, b)", f[2], "print(ir." .. f[1] .. "(i, j))")
end
ir("div(a, b)", "the quotient of two floats; integers are divided by floordiv or truncdiv", 'print(ir.div(ir.const(1.0, "float32"), ir.var("x", "float32")))')
ir("and_(a, b)", "whether both conditions hold", "print(ir.and_(ir.lt(i, 4), ir.lt(j, 4)))")
ir("or_(a, b)", "whether one of two conditions holds", "print(ir.or_(ir.lt(i, 4), ir.lt(j, 4)))")
ir("not_(a)", "whether a condition does not hold", "print(ir.not_(ir.lt(i, 4)))")
ir("neg(a)", "a with the other sign", "print(ir.neg(i))")
ir("buffer(name, shape [, dtype [, scope]])", "a buffer, to be a parameter or an allocation", 'print(ir.buffer("B", {4, 4}, "int32", "shared"))')
ir("store(buffer, value, indices)", "the statement that writes one element", body("ir.store(A, 1.0, {0})"))
ir("seq{statement, ...}", "statements one after the other", body("ir.seq{ir.store(A, 1.0, {0}), ir.store(A, 2.0, {1})}"))
ir("loop{var = v, extent = n, body = s, ...}", "a loop; also min, kind, thread, annotations", body("ir.loop{var = i, extent = 8, body = ir.store(A, 0.0, {i})}"), "kind: serial, parallel, vectorized, unrolled, thread_binding.")
ir("if_(condition, then [, else])", "a statement that runs where the condition holds", body("ir.loop{var = i, extent = 8, body = ir.if_(ir.lt(i, 4), ir.store(A, 0.0, {i}))}"))
ir("while_(condition, body)", "a loop that runs while a condition holds", body("ir.while_(ir.lt(ir.load(A, 0), 4.0), ir.store(A, ir.load(A, 0) + 1.0, {0}))"))
ir("evaluate(e)", "an expression as a statement", body("ir.evaluate(ir.load(A, 0))"))
ir("bind(variable, value)", "a variable for the statements after it", body("ir.seq{ir.bind(j, 3), ir.store(A, 0.0, {j})}"))
ir("block{name = n, iters = list, body = s, ...}", "a block with its iters and regions", [[
local v = ir.var("v")
]] .. body('ir.loop{var = i, extent = 8, body = ir.block{name = "b",\n    iters = {{var = v, extent = 8, value = i}}, body = ir.store(A, 0.0, {v})}}'),
    "An iter is a table of var, extent, min, kind (spatial, reduce, scan, opaque) and value. Also predicate, reads, writes, allocs, annotations, init; regions that are not given are worked out.")
ir("func{params = list, body = s, ...}", "a function; it is checked as a text would be", body("ir.store(A, 0.0, {0})"), "Also name, attrs, private.")

-- ---- workloads
local function work(signature, what, call)
    topic("workload." .. signature, what, "Options beside the sizes: dtype, acc.", "print(moon.workload." .. call .. ".flop)")
end
work("matmul(m, n, k [, opts])", "C = A B: A (m, k), B (k, n), loops i, j, k", "matmul(8, 8, 8)")
work("batch_matmul{b = 1, n =, m =, k =}", "Z[b, i, j] = sum over k of X[b, i, k] Y[b, k, j]", "batch_matmul{b = 2, n = 8, m = 8, k = 8}")
work("conv1d{l =, ci =, co =, k =, s = 1, p = 0, ...}", "a convolution of one dimension", "conv1d{l = 16, ci = 4, co = 4, k = 3}")
work("conv2d{h =, w =, ci =, co =, k =, s = 1, p = 0, d = 1, g = 1, n = 1}", "a convolution of two dimensions: stride s, padding p, dilation d, g groups", "conv2d{h = 8, w = 8, ci = 4, co = 4, k = 3}")
work("conv3d{depth =, h =, w =, ci =, co =, k =, ...}", "a convolution of three dimensions", "conv3d{depth = 4, h = 4, w = 4, ci = 2, co = 2, k = 3}")
work("conv2d_bias_relu{...}", "conv2d, then relu((c + bias) * scale + offset)", "conv2d_bias_relu{h = 8, w = 8, ci = 4, co = 4, k = 3}")
work("conv2d_transposed{h =, w =, ci =, co =, k =, s = 1, p = 0, n = 1}", "the transposed convolution", "conv2d_transposed{h = 4, w = 4, ci = 4, co = 4, k = 3}")
work("depthwise{h =, w =, c =, k =, s = 1, p = 0, n = 1}", "a convolution of each channel by itself", "depthwise{h = 8, w = 8, c = 4, k = 3}")
work("capsule{h =, w =, ci =, co =, k =, s = 1, p = 0, n = 1}", "a convolution of 4 × 4 matrices", "capsule{h = 4, w = 4, ci = 2, co = 2, k = 3}")
work("winograd{h =, w =, ci =, co =, n = 1, pre =}", "the convolution of 3 × 3 as F(4 × 4, 3 × 3); pre: the kernel comes transformed", "winograd{h = 8, w = 8, ci = 4, co = 4}")
work("norm{b = 1, m =, n =}", "the square root of the sum of squares of each matrix", "norm{m = 8, n = 8}")
work("softmax{m =, n =, scale =, mask =}", "softmax along the rows, of A scale + mask[j]", "softmax{m = 8, n = 8}")
work("dense_relu{m =, n =, k =}", "a matrix product, then a bias and relu", "dense_relu{m = 8, n = 8, k = 8}")
work("layer_norm{m =, n =}", "each row less its mean, over its deviation, times gamma, plus beta", "layer_norm{m = 8, n = 8}")
work("gelu{m =, n =}", "x (1 + erf(x / sqrt 2)) / 2 of each element", "gelu{m = 8, n = 8}")
work("sum_rows{m =, n =}", "the sum of each row", "sum_rows{m = 8, n = 8}")
work("sum_columns{m =, n =}", "the sum of each column", "sum_columns{m = 8, n = 8}")
work("sum_all{m =, n =}", "the sum of a matrix", "sum_all{m = 8, n = 8}")
work("add{m =, n =, relu =}", "the sum of two matrices, at least 0 for relu", "add{m = 8, n = 8}")
work("bias_add{m =, n =}", "a matrix with a vector added to each row", "bias_add{m = 8, n = 8}")
work("embedding{m =, n =, vocabulary =, kinds = 2}", "rows of a table by number, with those of two others added", "embedding{m = 4, n = 8, vocabulary = 16}")
work("transpose{m =, n =}", "a matrix, transposed", "transpose{m = 8, n = 8}")
work("argmax{m =, n =}", "the greatest of each row, and its first index: two results", "argmax{m = 8, n = 8}")
work("max_pool{h =, w =, c =, k =, s = 1, p = 0, n = 1}", "the greatest of each window, -infinity around", "max_pool{h = 8, w = 8, c = 4, k = 3, s = 2, p = 1}")
work("mean_pool{h =, w =, c =, n = 1}", "the mean of each channel", "mean_pool{h = 4, w = 4, c = 8}")
work("cumsum{m =, n =}", "the running sums of each row, one after the other", "cumsum{m = 8, n = 8}")
work("cumsum_blocked{m =, n =, block = 256}", "the running sums by blocks: their sums, a scan of those, scans within", "cumsum_blocked{m = 2, n = 16, block = 4}")
work("attention{h =, s =, d =}", "softmax(Q K / sqrt(d)) V of each head", "attention{h = 2, s = 8, d = 4}")
work("quantized_matmul{m =, n =, k =, packed =, rq =, u7 =}", "C = A B in 8 bits, sums in 32; packed in blocks, requantised, data of 7 bits", "quantized_matmul{m = 8, n = 16, k = 8, rq = true}")
work("quantized_conv2d{h =, w =, ci =, co =, k =, s = 1, p = 0, n = 1, packed =, rq =, u7 =}", "conv2d in 8 bits, sums in 32", "quantized_conv2d{h = 4, w = 4, ci = 16, co = 16, k = 3, packed = true}")
work("transpose_batch_matmul{b = 1, s =, h =, d =}", "the products of attention: heads transposed, then multiplied", "transpose_batch_matmul{s = 8, h = 2, d = 4}")
topic("workload.set([name])", "the names of a set that is measured together", "Without a name: the names of the sets. paper8 (the eight operators of TensorIR), suite (those and their like), ops, int8, ln, nets (layers of networks), smoke (one small of each), mm: those to test on and those to train on.", [[print(#moon.workload.set("suite"))]])
topic("workload.about([name])", "what a workload is, in a line: its kind and sizes", "Without a name: a list of {name, line} for all of them.", [[print(moon.workload.about("C2D-2"))]])
topic("workload.list([pattern [, extended]])", "names of the workloads; extended: those of longer runs too", "moon.workload(NAME) gives one. Shown with the kind and sizes of each.", [[print(table.concat(moon.workload.list("^GMM"), " "))]])
topic("workload.args(name)", "the sizes of a workload by name", "What its builder was given: h, w, ci, co, k, s, p of a convolution.", [[print(moon.workload.args("GMM-2").k)]])
