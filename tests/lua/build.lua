-- moon.build: calling kernels, the checks of their arguments, failures, code and options.
local tests = {}

local probe, why = pcall(moon.build, moon.workload.matmul(2, 2, 2))
local without = not probe and type(why) == "userdata" and why.code == "no-target"

-- Where nothing can be compiled, there is one thing to test.
local function test(name, fn)
    if not without then tests[#tests + 1] = { name, fn } end
end
if without then
    tests[1] = { "without LLVM there is no kernel", function()
        assert(why.message:find("LLVM"), why.message)
    end }
end

local function fails(code, words, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "the call did not fail")
    assert(type(e) == "userdata", tostring(e))
    assert(e.code == code, ("%s instead of %s: %s"):format(e.code, code, e.message))
    assert(not words or e.message:find(words, 1, true), e.message)
    return e
end

local function tensor(shape, dtype, init) return moon.tensor(shape, dtype or "float32", init) end
local function parse(text) return moon.parse(text) end

local function copy_of(params, body)
    return parse("@T.prim_func\ndef f(" .. params .. "):\n" .. body)
end

-- B[i, j] = A[i, j] * x + n
local scale = parse [[
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32, x: T.float32, flag: T.bool):
    k = T.int32()
    A = T.match_buffer(a, (k, 8), "float32")
    B = T.match_buffer(b, (k, 8), "float32")
    assert n > 0, "n is positive"
    for i, j in T.grid(k, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(flag, A[vi, vj] * x + T.Cast("float32", n), T.float32(-1))
]]
local both = { false, true } -- inprocess

local function each(fn)
    for _, inprocess in ipairs(both) do fn(inprocess) end
end

test("a size that the program has not is refused", function()
    local k = moon.build(scale)
    fails("bad-argument", "there is no size m; the program has", k.time, k, { shape = { k = 3, m = 3 } })
end)

test("a kernel computes what the interpreter computes", function()
    each(function(inprocess)
        local s = moon.schedule(moon.workload.matmul(33, 17, 9))
        s:split("j", { moon.auto, 4 })
        s:vectorize("j_1")
        local k = moon.build(s, { inprocess = inprocess, contract = false })
        local A, B = tensor({ 33, 9 }):random(1), tensor({ 9, 17 }):random(2)
        local C, R = tensor { 33, 17 }, tensor { 33, 17 }
        moon.interpret(s, { A, B, R })
        k(A, B, C)
        assert(C:compare(R).ok)
        assert(k.name == "main" and k.inprocess == inprocess)
        assert(k.flop == 2 * 33 * 17 * 9)
    end)
end)

test("modules, functions and schedules are built", function()
    local m = copy_of('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")',
        "    for i in range(4):\n        B[i] = A[i] + 1\n")
    local A = tensor({ 4 }, "int32", { 1, 2, 3, 4 })
    for _, p in ipairs { m, m.f, moon.schedule(m) } do
        local B = tensor({ 4 }, "int32")
        moon.build(p)(A, B)
        assert(B[3] == 5)
    end
    local two = moon.parse [[
@I.ir_module
class Module:
    @T.prim_func
    def one(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = 1

    @T.prim_func
    def two(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = 2
]]
    local T = tensor({ 4 }, "int32")
    moon.build(two, { func = "two" })(T)
    assert(T[0] == 2)
    moon.build(two.one)(T)
    assert(T[0] == 1)
    fails("no-function", nil, moon.build, two)
    fails("unknown-function", "three", moon.build, two, { func = "three" })
    fails("bad-argument", nil, moon.build, 7)
end)

test("scalars are integers, floats and booleans as the parameters ask", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        local A, B = tensor({ 3, 8 }, nil, 2), tensor { 3, 8 }
        k(A, B, 1, 0.5, true)
        assert(B[{ 2, 7 }] == 2)
        k(A, B, 3.0, 2, 1)
        assert(B[{ 2, 7 }] == 7)
        k(A, B, true, true, true)
        assert(B[{ 2, 7 }] == 3)
        k(A, B, 1, 1, false)
        assert(B[{ 2, 7 }] == -1)
        k(A, B, 1, 0 / 0, true)
        assert(B[{ 0, 0 }] ~= B[{ 0, 0 }])
        k(A, B, 1, -math.huge, true)
        assert(B[{ 0, 0 }] == -math.huge)
        k(A, B, 2147483647, 0, true)
        assert(B[{ 0, 0 }] == 2147483648)
    end)
    local wide = copy_of('C: T.Buffer((2,), "int64"), a: T.int64, b: T.uint8',
        '    C[0] = a\n    C[1] = T.Cast("int64", b)\n')
    each(function(inprocess)
        local k = moon.build(wide, { inprocess = inprocess })
        local C = tensor({ 2 }, "int64")
        k(C, math.mininteger, 255)
        assert(C[0] == math.mininteger and C[1] == 255)
        fails("call-refused", "'b': 256 does not fit uint8", k, C, 0, 256)
        fails("call-refused", "'b': -1 does not fit uint8", k, C, 0, -1)
        fails("call-refused", "expected int, got float", k, C, 2.0 ^ 63, 0)
    end)
end)

test("NaN and infinities pass through unchanged", function()
    local m = copy_of('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")',
        "    for i in range(4):\n        B[i] = A[i] * T.float32(2)\n")
    each(function(inprocess)
        local A, B = tensor({ 4 }, nil, { 0 / 0, math.huge, -math.huge, -0.0 }), tensor { 4 }
        moon.build(m, { inprocess = inprocess })(A, B)
        assert(B[0] ~= B[0] and B[1] == math.huge and B[2] == -math.huge and 1 / B[3] == -math.huge)
    end)
end)

test("symbolic shapes are found from the tensors, call by call", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        for round = 1, 2 do
            for n = 1, 7 do
                local A, B = tensor({ n, 8 }, nil, n), tensor { n, 8 }
                k(A, B, round, 1, true)
                for i = 0, n - 1 do assert(B[{ i, i }] == n + round) end
            end
        end
    end)
end)

test("empty tensors are arguments like others", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        k(tensor { 0, 8 }, tensor { 0, 8 }, 1, 1, true)
        fails("assert-failed", "n is positive", k, tensor { 0, 8 }, tensor { 0, 8 }, 0, 1, true)
    end)
end)

test("what a kernel reads and writes keeps what it does not write", function()
    local m = copy_of('A: T.Buffer((8,), "float32")',
        "    for i in range(4):\n        A[i * 2] = A[i * 2] + T.float32(1)\n")
    each(function(inprocess)
        local k = moon.build(m, { inprocess = inprocess })
        local A = tensor({ 8 }, nil, 5)
        for round = 1, 20 do
            k(A)
            assert(A[6] == 5 + round and A[7] == 5)
        end
        assert(k.params[1].written)
    end)
end)

test("calls see the contents of the moment", function()
    local m = copy_of('A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")',
        "    for i in range(16):\n        B[i] = A[i]\n")
    each(function(inprocess)
        local k = moon.build(m, { inprocess = inprocess })
        local one, other, B = tensor({ 16 }, nil, 1), tensor({ 16 }, nil, 2), tensor { 16 }
        for i = 1, 10 do
            one:fill(i)
            k(one, B)
            assert(B[15] == i)
            k(other, B)
            assert(B[15] == 2)
        end
        assert(not k.params[1].written and k.params[2].written)
    end)
end)

test("parameters without dimensions, vectors and narrow types are passed", function()
    local m = copy_of('A: T.Buffer((), "float32"), B: T.Buffer((), "float32")',
        "    B[()] = A[()] + T.float32(1)\n")
    local half = copy_of('A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "bool")',
        "    for i in range(4):\n        B[i] = A[i] < T.float16(2)\n")
    each(function(inprocess)
        local A, B = tensor({}, nil, 41), tensor {}
        moon.build(m, { inprocess = inprocess })(A, B)
        assert(B[{}] == 42)
        local H, R = tensor({ 4 }, "float16", "iota"), tensor({ 4 }, "bool")
        moon.build(half, { inprocess = inprocess })(H, R)
        assert(R[0] and R[1] and not R[2] and not R[3])
    end)
end)

-- ---- the table of checks, row by row

test("the number of arguments is checked, with the signature", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        local A = tensor { 3, 8 }
        local sig = "signature f(A: Tensor([k, 8], float32), B: Tensor([k, 8], float32), n: int32, x: float32, flag: bool)"
        fails("call-refused", "f: expected 5 arguments, got 0; " .. sig, k)
        fails("call-refused", "f: expected 5 arguments, got 1; " .. sig, k, A)
        fails("call-refused", "f: expected 5 arguments, got 6; " .. sig, k, A, A, 1, 1, true, nil)
        fails("call-refused", "f: expected 5 arguments, got 1", k, "a text")
    end)
    local none = moon.build(copy_of("", "    T.evaluate(0)\n"))
    none()
    fails("call-refused", "f: expected 0 arguments, got 1; signature f()", none, 1)
end)

test("the kind of each argument is checked, the first wrong one is told", function()
    local k = moon.build(scale)
    local A, B = tensor { 3, 8 }, tensor { 3, 8 }
    local rows = {
        { "argument #0 'A': expected tensor, got int", 1, B, 1, 1, true },
        { "argument #0 'A': expected tensor, got float", 1.5, {}, 1, 1, true },
        { "argument #1 'B': expected tensor, got null", A, nil, 1, 1, true },
        { "argument #1 'B': expected tensor, got bool", A, true, 1, 1, true },
        { "argument #1 'B': expected tensor, got a table", A, {}, 1, 1, true },
        { "argument #1 'B': expected tensor, got kernel", A, k, 1, 1, true },
        { "argument #2 'n': expected int, got tensor", A, B, A, 1, true },
        { "argument #2 'n': expected int, got float", A, B, 2.5, 1, true },
        { "argument #2 'n': expected int, got float", A, B, 0 / 0, 1, true },
        { "argument #2 'n': expected int, got float", A, B, math.huge, 1, true },
        { "argument #2 'n': expected int, got a string", A, B, "1", 1, true },
        { "argument #3 'x': expected float, got null", A, B, 1, nil, true },
        { "argument #3 'x': expected float, got a function", A, B, 1, print, true },
        { "argument #4 'flag': expected bool, got float", A, B, 1, 1, 0.5 },
        { "argument #4 'flag': expected bool, got null", A, B, 1, 1, nil },
    }
    for _, r in ipairs(rows) do
        fails("call-refused", r[1], k, r[2], r[3], r[4], r[5], r[6])
    end
end)

test("number of dimensions, dtype and shape are checked", function()
    local k = moon.build(scale)
    local A, B = tensor { 3, 8 }, tensor { 3, 8 }
    local rows = {
        { "'A'.ndim: expected 2, got 1", tensor { 8 }, B },
        { "'B'.ndim: expected 2, got 3", A, tensor { 3, 8, 1 } },
        { "'A'.dtype: expected float32, got float64", tensor({ 3, 8 }, "float64"), B },
        { "'A'.dtype: expected float32, got int32", tensor({ 3, 8 }, "int32"), B },
        { "'B'.dtype: expected float32, got float16", A, tensor({ 3, 8 }, "float16") },
        { "'A'.shape[1]: expected 8, got 9", tensor { 3, 9 }, B },
        { "'B'.shape[0]: expected 3 (= A.shape[0]), got 4", A, tensor { 4, 8 } },
    }
    for _, r in ipairs(rows) do fails("call-refused", r[1], k, r[2], r[3], 1, 1, true) end
    -- ranks come before dtypes, dtypes before shapes, of all tensors
    fails("call-refused", "'B'.ndim", k, tensor({ 3, 8 }, "float64"), tensor { 8 }, 1, 1, true)
    fails("call-refused", "'B'.dtype", k, tensor { 3, 9 }, tensor({ 3, 8 }, "int8"), 1, 1, true)
    local double = moon.build(parse [[
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n * 2,), "float32")
    for i in range(n):
        B[i * 2] = A[i]
        B[i * 2 + 1] = A[i]
]])
    double(tensor { 4 }, tensor { 8 })
    fails("call-refused", "'B'.shape[0]: expected 8", double, tensor { 4 }, tensor { 9 })
    local narrow = moon.build(copy_of('A: T.Buffer((4,), "bool")',
        "    for i in range(4):\n        A[i] = not A[i]\n"))
    narrow(tensor({ 4 }, "bool"))
    fails("call-refused", "'A'.dtype: expected bool, got ", narrow, tensor({ 4 }, "int8"))
    fails("call-refused", "'A'.dtype: expected bool, got ", narrow, tensor({ 4 }, "int32"))
end)

test("declared strides are those of the tensor", function()
    local function strided(s)
        return moon.build(copy_of('A: T.Buffer((4, 8), "float32", strides=(' .. s .. ', 1))',
            "    for i, j in T.grid(4, 8):\n        A[i, j] = T.float32(1)\n"))
    end
    local A = tensor { 4, 8 }
    strided("8")(A)
    assert(A[{ 3, 7 }] == 1)
    fails("call-refused", "'A'.strides", strided("16"), A)
end)

test("tensors hold the view that an offset declares", function()
    local m = copy_of('A: T.Buffer((4,), "float32", elem_offset=16)',
        "    for i in range(4):\n        A[i] = A[i] + T.float32(1)\n")
    each(function(inprocess)
        local A = tensor({ 4 }, nil, 1)
        moon.build(m, { inprocess = inprocess })(A)
        assert(A[0] == 2 and A[3] == 2)
    end)
end)

test("an alignment that tensors do not have is refused, unless the code needs none", function()
    local m = copy_of('A: T.Buffer((64,), "float32", align=256)',
        "    for i in T.vectorized(64):\n        A[i] = A[i] + T.float32(1)\n")
    each(function(inprocess)
        local A = tensor({ 64 }, nil, 1)
        fails("call-refused", "'A'.data: misaligned, expected 256 bytes", moon.build(m, { inprocess = inprocess }), A)
        assert(A[0] == 1)
        moon.build(m, { inprocess = inprocess, unaligned = true })(A)
        assert(A[0] == 2 and A[63] == 2)
    end)
end)

test("a tensor that is written is not another argument too", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        local A = tensor { 3, 8 }
        fails("call-refused", "'B'.data overlaps 'A', and is written", k, A, A, 1, 1, true)
    end)
    local shift = copy_of('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
        '    T.func_attr({"tir.noalias": False})\n    for i in range(7):\n        B[i] = A[i + 1]\n')
    local A = tensor({ 8 }, nil, "iota")
    fails("call-refused", "inprocess", moon.build(shift), A, A)
    moon.build(shift, { inprocess = true })(A, A)
    assert(A[0] == 1 and A[6] == 7 and A[7] == 7)
    local read = copy_of('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
        "    for i in range(8):\n        C[i] = A[i] + B[i]\n")
    local C = tensor { 8 }
    moon.build(read)(A, A, C)
    assert(C[0] == 2)
end)

-- ---- failures

test("an assertion that fails leaves the tensors as they were", function()
    local m = copy_of('A: T.Buffer((4,), "int32"), n: T.int32', [[
    for i in range(4):
        A[i] = 7
    assert n != 3, "n is not three"
    for i in range(4):
        A[i] = 8
]])
    each(function(inprocess)
        local k = moon.build(m, { inprocess = inprocess })
        local A = tensor({ 4 }, "int32", 5)
        fails("assert-failed", "n is not three", k, A, 3)
        for i = 0, 3 do assert(A[i] == 5) end
        k(A, 4)
        assert(A[0] == 8)
    end)
end)

test("a crash is an error that names the place, and the next call works", function()
    local m = copy_of('A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")',
        "    for i in range(4):\n        A[i] = 1\n        B[A[i] * 4096 * (A[i] + 2047) * B[i]] = A[i]\n")
    local k = moon.build(m)
    local A, B = tensor({ 4 }, "int32", 7), tensor({ 4 }, "int32", 1)
    local e = fails("worker-crashed", "B", k, A, B)
    assert(e.message:find("line"), e.message)
    assert(A[0] == 7 and B[0] == 1)
    B:fill(0)
    k(A, B)
    assert(A[0] == 1 and B[0] == 1)
end)

test("a call that does not end is ended", function()
    local m = copy_of('A: T.Buffer((4,), "int32")', "    A[0] = 1\n    while A[0] > 0:\n        A[0] = A[0] % 5 + 1\n")
    local k = moon.build(m, { limit = 0.3 })
    local A = tensor({ 4 }, "int32", 9)
    fails("worker-timeout", nil, k, A)
    assert(A[0] == 9)
end)

test("a program that cannot be compiled is refused when it is built", function()
    local gpu = copy_of('A: T.Buffer((4,), "float32")',
        '    for i in T.thread_binding(4, thread="threadIdx.x"):\n        A[i] = T.float32(1)\n')
    for _, inprocess in ipairs(both) do
        local ok, e = pcall(moon.build, gpu, { inprocess = inprocess })
        assert(not ok and e.code == "no-device", e)
    end
end)

-- ---- options

test("options are read and wrong ones named", function()
    local m = moon.workload.matmul(8, 8, 8)
    fails("bad-argument", "no option is named thread; did you mean threads", moon.build, m, { thread = 2 })
    fails("bad-argument", "one of light, O0, O1, O2, O3", moon.build, m, { opt = "O4" })
    fails("bad-argument", "threads", moon.build, m, { threads = 5000 })
    fails("bad-argument", "limit", moon.build, m, { limit = -1 })
    fails("bad-argument", nil, moon.build, m, { inprocess = 1 })
    fails("no-target", "cuda", moon.build, m, { target = "cuda" })
    fails("no-target", "cuda", moon.build, m, { target = { kind = "cuda", arch = "sm_90a" } })
    fails("no-target", nil, moon.build, m, { target = "llvm -nonsense=1" })
    fails("no-target", "colour", moon.build, m, { target = { kind = "llvm", colour = 1 } })
    fails("bad-argument", nil, moon.build, m, { target = 5 })
    fails("bad-argument", nil, moon.build, m, { target = {} })
    assert(moon.build(m, { threads = 3 }).threads == 3)
end)

test("every level of optimization computes the same", function()
    local s = moon.schedule(moon.workload.matmul(20, 12, 7))
    local A, B, R = tensor({ 20, 7 }):random(1), tensor({ 7, 12 }):random(2), tensor { 20, 12 }
    moon.interpret(s, { A, B, R })
    for _, opt in ipairs { "light", "O0", "O1", "O2", "O3" } do
        local C = tensor { 20, 12 }
        moon.build(s, { opt = opt, contract = false })(A, B, C)
        assert(C:compare(R).ok, opt)
    end
end)

test("targets are given as text and as tables", function()
    local m = moon.workload.matmul(8, 8, 8)
    for _, t in ipairs { "native", "llvm", moon.target("llvm -num-cores=1"), { kind = "llvm", vector_bits = 128 } } do
        local C = tensor { 8, 8 }
        moon.build(m, { target = t })(tensor({ 8, 8 }, nil, 1), tensor({ 8, 8 }, nil, 1), C)
        assert(C[{ 7, 7 }] == 8)
    end
    local k = moon.build(m, { target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+neon" })
    assert(k:asm():find("ret"))
    fails("not-supported", "aarch64-linux-gnu", k, tensor { 8, 8 }, tensor { 8, 8 }, tensor { 8, 8 })
end)

test("parallel kernels run", function()
    local s = moon.schedule(moon.workload.matmul(64, 32, 16))
    s:parallel("i")
    local A, B, R = tensor({ 64, 16 }):random(1), tensor({ 16, 32 }):random(2), tensor { 64, 32 }
    moon.interpret(s, { A, B, R })
    each(function(inprocess)
        local k = moon.build(s, { threads = 2, contract = false, inprocess = inprocess })
        for _ = 1, 5 do
            local C = tensor { 64, 32 }
            k(A, B, C)
            assert(C:compare(R).ok)
        end
    end)
end)

test("a kernel outlives its schedule, and several live at once", function()
    local kernels = {}
    for n = 1, 40 do
        local m = copy_of('A: T.Buffer((4,), "int32")', ("    for i in range(4):\n        A[i] = %d\n"):format(n))
        kernels[n] = moon.build(moon.schedule(m))
    end
    collectgarbage()
    local A = tensor({ 4 }, "int32")
    for round = 1, 2 do
        for n = 1, 40 do
            kernels[n](A)
            assert(A[0] == n, round)
        end
    end
end)

-- ---- what is known of a kernel

test("a kernel shows its parameters", function()
    local k = moon.build(scale)
    assert(tostring(k) == "kernel f(A: Tensor([k, 8], float32), B: Tensor([k, 8], float32), n: int32, x: float32, flag: bool)")
    local p = k.params
    assert(#p == 5 and p[1].name == "A" and p[1].dtype == "float32" and p[1].shape[1] == "k" and p[1].shape[2] == 8)
    assert(p[1].written == false and p[2].written == true and p[3].written == nil and p[5].dtype == "bool")
    fails("unknown-name", "zoo", function() return k.zoo end)
end)

test("a kernel that was closed says so", function()
    local k
    do
        local inner <close> = moon.build(scale)
        k = inner
    end
    assert(tostring(k) == "kernel (closed)" and k.name == nil)
    fails("bad-argument", "closed", k, 1)
    fails("bad-argument", "closed", k.asm, k)
end)

test("the code of a kernel is text", function()
    each(function(inprocess)
        local k = moon.build(scale, { inprocess = inprocess })
        assert(k:asm():find("f_body:", 1, true))
        assert(k:llvm():find("define i32 @f_call", 1, true))
        assert(k:llvm { opt = true }:find("define i32 @f_body", 1, true))
        assert(not k:asm():find(".loc", 1, true))
        assert(moon.build(scale, { inprocess = inprocess, lines = true }):asm():find(".loc", 1, true))
        assert(k:source():find("int32_t f_body(", 1, true))
        fails("bad-argument", nil, k.llvm, k, { optimized = true })
    end)
end)

test("what a program calls is declared in its C, and hidden by no name", function()
    local text = moon.build(moon.parse [[
@T.prim_func
def f(fabsf: T.Buffer((4,), "float32"), cube: T.Buffer((4,), "float32")):
    for i in range(4):
        cube[i] = T.call_pure_extern("float32", "fabsf", fabsf[i]) + T.call_pure_extern("float32", "cube", fabsf[i])
]]):source()
    assert(text:find("float cube(float);", 1, true) and not text:find("float fabsf(", 1, true), text)
    assert(text:find("fabsf((fabsf_1[i])) + cube((fabsf_1[i]))", 1, true), text)
end)

test("buffers that may share memory are read in order", function()
    for _, body in ipairs {
        "    for k in range(8):\n        C[0] = C[0] + A[7 - k]\n",
        "    for k in range(16):\n        C[T.Ramp(k * 16, 1, 16)] = A[T.Ramp(k, 17, 16)] * T.float32(2)\n",
        "    for i in range(1, 64):\n        C[i] = C[i - 1] + A[64 - i]\n",
    } do
        local p = moon.parse("@T.prim_func\ndef f(A: T.Buffer((272,), \"float32\"), C: T.Buffer((272,), \"float32\")):\n"
            .. "    T.func_attr({\"tir.noalias\": False})\n" .. body)
        local want, got = moon.tensor({ 272 }, "float32"), moon.tensor({ 272 }, "float32")
        for i = 0, 271 do
            want[{ i }] = i % 7
            got[{ i }] = i % 7
        end
        moon.interpret(p, { want, want })
        moon.build(p, { inprocess = true })(got, got)
        for i = 0, 271 do assert(want[{ i }] == got[{ i }], body .. i) end
    end
end)

test("a kernel is timed as a schedule is", function()
    local k = moon.build(moon.workload.matmul(32, 32, 32), { threads = 1 })
    local t = k:time()
    assert(t.median > 0 and t.min <= t.median and t.median <= t.p90 and t.runs >= 5)
    assert(t.threads == 1 and t.flop == 2 * 32 ^ 3 and t.flop_rate > 0 and t.bytes == 3 * 4 * 32 * 32 and not t.start_seconds)
    local sized = moon.build(scale)
    assert(sized:time { shape = { k = 64, n = 3 } }.median > 0)
    fails("bad-argument", "no option", k.time, k, { against = "openblas" })
end)

test("the form of a saved file is its suffix", function()
    local k = moon.build(scale)
    fails("not-yet", "(.cu)", k.save, k, "x.cu")
    fails("bad-argument", ".o, .so, .s, .ll", k.save, k, "x.obj")
    fails("bad-argument", nil, k.save, k, "a.o/x")
    fails("bad-argument", "path", k.save, k)
    fails("no-file", "/no/such/folder/x.o cannot be written", k.save, k, "/no/such/folder/x.o")
end)

return tests
