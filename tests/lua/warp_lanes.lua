-- What the lanes of a warp hold: ldmatrix and mma.sync against the fragments as PTX's manual has them, element by
-- element, and the intrinsics that are made of them.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function run(text, ...) moon.interpret(moon.parse(text), { ... }) end

-- A function in which 32 lanes do `lines`: registers R, of scope warp, come from or go to the parameters.
local function ldmatrix(what, rows, cols, dtype, n)
    return ([[
@T.prim_func
def main(X: T.Buffer((%d, %d), "%s"), Y: T.Buffer((32, %d), "%s")):
    S = T.alloc_buffer((%d, %d), "%s", scope="shared")
    R = T.alloc_buffer((32, %d), "%s", scope="warp")
    for i, j in T.grid(%d, %d):
        S[i, j] = X[i, j]
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        %s
    for i, j in T.grid(32, %d):
        Y[i, j] = R[i, j]
]]):format(rows, cols, dtype, n, dtype, rows, cols, dtype, n, dtype, rows, cols, what, n)
end

-- Of which lane's row and which of its elements element e of matrix m is, in a lane.
local function of_matrix(lane, e, per, trans)
    local g, t = lane // 4, lane % 4
    if trans then return t * 2 + e, g end
    return g, t * per + e
end

test("ldmatrix gives each lane the elements that PTX says", function()
    for _, x in ipairs { { "float16", 2 }, { "bfloat16", 2 }, { "int8", 4 } } do
        local dtype, per = x[1], x[2]
        local cols = 16 * per -- four rows of 16 bytes beside one another
        local X = moon.tensor({ 32, cols }, dtype)
        for i = 0, 31 do
            for j = 0, cols - 1 do X[{ i, j }] = (i * 37 + j * 11) % 128 end
        end
        for _, n in ipairs { 1, 2, 4 } do
            for _, trans in ipairs(per == 2 and { false, true } or { false }) do
                local Y = moon.tensor({ 32, n * per }, dtype)
                -- lane l gives row 7 l + 3 and column block 5 l: no order of its own
                local at = ("(tx * 7 + 3) %% 32 * %d + tx * 5 %% 4 * %d"):format(cols, 4 * per)
                run(ldmatrix(([[T.evaluate(T.ptx_ldmatrix("%s", %s, %d, ".b16", R.data, tx * %d, S.access_ptr("r"), %s))]])
                    :format(dtype, trans and "True" or "False", n, n * per, at), 32, cols, dtype, n * per), X, Y)
                for lane = 0, 31 do
                    for r = 0, n * per - 1 do
                        local m = r // per
                        local row, col = of_matrix(lane, r % per, per, trans)
                        local of = 8 * m + row
                        local want = X[{ (of * 7 + 3) % 32, of * 5 % 4 * 4 * per + col }]
                        assert(Y[{ lane, r }] == want, ("%s x%d %s: lane %d, element %d"):format(dtype, n, trans, lane, r))
                    end
                end
            end
        end
    end
end)

-- ---- fragments of mma.sync, as the manual's figures have them: row, column of element i of a lane
local function halves(i) return i < 2 or i >= 4 and i < 6 end

local fragments = {
    { shape = "m16n8k8", type = "float16", name = "fp16", k = 8, sum = "float32", out = "fp32",
        a = function(g, t, i) return i < 2 and g or g + 8, t * 2 + i % 2 end,
        b = function(g, t, i) return t * 2 + i % 2, g end },
    { shape = "m16n8k16", type = "float16", name = "fp16", k = 16, sum = "float32", out = "fp32",
        a = function(g, t, i) return halves(i) and g or g + 8, t * 2 + i % 2 + (i < 4 and 0 or 8) end,
        b = function(g, t, i) return t * 2 + i % 2 + (i < 2 and 0 or 8), g end },
    { shape = "m16n8k16", type = "int8", name = "int8", k = 16, sum = "int32", out = "int32",
        a = function(g, t, i) return i < 4 and g or g + 8, t * 4 + i % 4 end,
        b = function(g, t, i) return t * 4 + i % 4, g end },
    { shape = "m16n8k32", type = "int8", name = "int8", k = 32, sum = "int32", out = "int32",
        a = function(g, t, i) return (i < 4 or i >= 8 and i < 12) and g or g + 8, t * 4 + i % 4 + (i < 8 and 0 or 16) end,
        b = function(g, t, i) return t * 4 + i % 4 + (i < 4 and 0 or 16), g end },
}
for _, more in ipairs { { "float16", "fp16", "float16", "fp16" }, { "bfloat16", "bf16", "float32", "fp32" } } do
    local f = {}
    for k, v in pairs(fragments[2]) do f[k] = v end
    f.type, f.name, f.sum, f.out = table.unpack(more)
    fragments[#fragments + 1] = f
end
local function of_sum(g, t, i) return i < 2 and g or g + 8, t * 2 + i % 2 end

-- Registers of all lanes from a matrix, by a figure.
local function spread(dtype, n, figure, at)
    local R = moon.tensor({ 32, n }, dtype)
    for lane = 0, 31 do
        for i = 0, n - 1 do R[{ lane, i }] = at(figure(lane // 4, lane % 4, i)) end
    end
    return R
end

test("mma.sync multiplies the fragments that PTX says", function()
    for _, f in ipairs(fragments) do
        local n_a, n_b = 16 * f.k // 32, 8 * f.k // 32
        local function of_a(i, k) return (i * 5 + k * 3) % 7 - 3 end
        local function of_b(k, j) return (k * 2 + j * 11) % 5 - 2 end
        local function of_c(i, j) return i - j end
        local A, B = spread(f.type, n_a, f.a, of_a), spread(f.type, n_b, f.b, of_b)
        local C = spread(f.sum, 4, of_sum, of_c)
        run(([[
@T.prim_func
def main(X: T.Buffer((32, %d), "%s"), Y: T.Buffer((32, %d), "%s"), Z: T.Buffer((32, 4), "%s")):
    A = T.alloc_buffer((32, %d), "%s", scope="warp")
    B = T.alloc_buffer((32, %d), "%s", scope="warp")
    C = T.alloc_buffer((32, 4), "%s", scope="warp")
    for i, j in T.grid(32, %d):
        A[i, j] = X[i, j]
    for i, j in T.grid(32, %d):
        B[i, j] = Y[i, j]
    for i, j in T.grid(32, 4):
        C[i, j] = Z[i, j]
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        T.evaluate(T.ptx_mma("%s", "%s", "row", "col", "%s", "%s", "%s", A.data, tx * %d, B.data, tx * %d, C.data, tx * 4, False))
    for i, j in T.grid(32, 4):
        Z[i, j] = C[i, j]
]]):format(n_a, f.type, n_b, f.type, f.sum, n_a, f.type, n_b, f.type, f.sum, n_a, n_b, f.sum, f.shape, f.name, f.name,
            f.out, n_a, n_b), A, B, C)
        for lane = 0, 31 do
            for e = 0, 3 do
                local i, j = of_sum(lane // 4, lane % 4, e)
                local want = of_c(i, j)
                for k = 0, f.k - 1 do want = want + of_a(i, k) * of_b(k, j) end
                assert(C[{ lane, e }] == want, ("%s of %s: lane %d, element %d"):format(f.shape, f.type, lane, e))
            end
        end
    end
end)

test("descriptions of loads, fills and stores have the lanes that PTX has", function()
    local seen = 0
    local figures = { f16 = fragments[2], bf16 = fragments[2], i8 = fragments[4], e4m3 = fragments[4], e5m2 = fragments[4] }
    for _, name in ipairs(moon.intrins("^mma_ldmatrix_")) do
        local kind, side = name:match("^mma_ldmatrix_(%w+)_(%a)")
        local f, trans = figures[kind], name:find("_trans") ~= nil
        local e8 = kind:find("^e") ~= nil
        local rows, cols = side == "a" and 16 or f.k, side == "a" and f.k or 16
        local function number(i, j) return e8 and (i + j) % 8 or (i * 16 + j) % 128 end
        local dtype = ({ f16 = "float16", bf16 = "bfloat16", i8 = "int8", e4m3 = "float8_e4m3fn", e5m2 = "float8_e5m2" })[kind]
        local S = moon.tensor(trans and { cols, rows } or { rows, cols }, dtype)
        for i = 0, rows - 1 do
            for j = 0, cols - 1 do S[trans and { j, i } or { i, j }] = number(i, j) end
        end
        for _, what in ipairs { "desc", "impl" } do
            local n = 16 * f.k // 32
            local W = moon.tensor({ 32, n }, dtype)
            moon.interpret(moon.intrin(name)[what], { S, W })
            for lane = 0, 31 do
                for e = 0, n - 1 do
                    local row, col
                    if side == "a" then
                        row, col = f.a(lane // 4, lane % 4, e)
                    else -- two halves of 8 columns
                        row, col = f.b(lane // 4, lane % 4, e % (n // 2))
                        col = col + e // (n // 2) * 8
                    end
                    assert(W[{ lane, e }] == number(row, col), ("%s, %s: lane %d, element %d"):format(name, what, lane, e))
                end
            end
            seen = seen + 1
        end
    end
    assert(seen == 68, seen)
    for _, name in ipairs(moon.intrins("^mma_store_16x16_")) do
        local dtype = ({ f32 = "float32", f16 = "float16", i32 = "int32" })[name:match("16x16_(%w+)")]
        local W, D = moon.tensor({ 32, 8 }, dtype), moon.tensor({ 16, 16 }, dtype)
        for lane = 0, 31 do
            for e = 0, 7 do W[{ lane, e }] = lane * 8 + e end
        end
        moon.interpret(moon.intrin(name).desc, { W, D })
        for lane = 0, 31 do
            for e = 0, 7 do
                local i, j = of_sum(lane // 4, lane % 4, e % 4)
                assert(D[{ i, j + e // 4 * 8 }] == lane * 8 + e, name)
            end
        end
    end
end)

-- ---- whole products

local te = moon.te

-- C[m, n] = A[m, k] * B[k, n], or A[k, m], or B[n, k].
local function product(m, n, k, a, c, trans_a, trans_b)
    local A = te.placeholder(trans_a and { k, m } or { m, k }, a, "A")
    local B = te.placeholder(trans_b and { n, k } or { k, n }, a, "B")
    local r = te.reduce_axis(k, "k")
    local C = te.compute({ m, n }, function(i, j)
        return te.sum(te.cast(trans_a and A(r, i) or A(i, r), c) * te.cast(trans_b and B(j, r) or B(r, j), c), r)
    end, "C")
    return moon.module(te.func({ A, B, C }, "main"))
end

-- The layout of a matrix in fragments whose lines (rows of a and c, columns of b) are `l` and whose sum runs along `k`.
local function lanes(names, rows, cols, l, k, per, is_b)
    local chunk, half = is_b and per or 2 * per, is_b and 2 * per or per
    return ("lambda %s: (%s // %d, %s // %d, %s %% 8 * 4 + %s %% %d // %d, %s %% %d // %d * %d + %s %% 16 // 8 * %d + %s %% %d)"):format(
        names, names:match("^%a"), rows, names:match("%a$"), cols, l, k, 4 * per, per, k, 8 * per, 4 * per, chunk, l, half, k, per)
end

local function tile(s, b, rows, cols)
    local l = s:get_loops(b)
    local i, j = table.unpack(l, #l - 1)
    local io, ii = table.unpack(s:split(i, { moon.auto, rows }))
    local jo, ji = table.unpack(s:split(j, { moon.auto, cols }))
    s:reorder(io, jo, ii, ji)
    return ii
end

test("products of registers compute what the program does", function()
    for _, x in ipairs { { "f16f16f32", "f16", "float16", "f32", "float32", 16 }, { "f16f16f16", "f16", "float16", "f16", "float16", 16 },
        { "bf16bf16f32", "bf16", "bfloat16", "f32", "float32", 16 }, { "i8i8i32", "i8", "int8", "i32", "int32", 32 } } do
        local name, kind, a, sum, c, depth = table.unpack(x)
        local per = depth // 8
        for way = 0, per == 2 and 3 or 1 do
            local trans_b, trans_a = way % 2 == 1, way > 1
            local s = moon.schedule(product(32, 48, 2 * depth, a, c, trans_a, trans_b))
            local i, j, k = table.unpack(s:get_loops("C"))
            local io, ii = table.unpack(s:split(i, { moon.auto, 16 }))
            local jo, ji = table.unpack(s:split(j, { moon.auto, 16 }))
            local ko, ki = table.unpack(s:split(k, { moon.auto, depth }))
            s:reorder(io, jo, ko, ii, ji, ki)
            local block = s:blockize(ii)
            local out, inside = s:cache_write(block, 0, "warp"), {}
            s:bind(io, "blockIdx.y")
            s:bind(jo, "blockIdx.x")
            s:reverse_compute_at(out, jo)
            for n = 0, 1 do
                local copy = s:cache_read(block, n, "shared.dyn")
                inside[n] = s:cache_read(block, n, "warp")
                s:compute_at(inside[n], ko)
                s:compute_at(copy, ko)
            end
            s:transform_layout(inside[0], { "write", 0 }, trans_a and lanes("k, i", depth, 16, "i", "k", per)
                or lanes("i, k", 16, depth, "i", "k", per))
            s:transform_layout(inside[1], { "write", 0 }, trans_b and lanes("j, k", 16, depth, "j", "k", per, true)
                or lanes("k, j", depth, 16, "j", "k", per, true))
            s:transform_layout(out, { "read", 0 }, lanes("i, j", 16, 16, "i", "j", 2))
            local init = s:decompose_reduction(block, ko)
            s:tensorize(init, "mma_fill_16x16_" .. sum)
            s:tensorize(block, "mma_" .. name .. (trans_a and "_trans_a" or "") .. (trans_b and "_trans_b" or ""))
            s:tensorize(tile(s, inside[0], trans_a and depth or 16, trans_a and 16 or depth),
                ("mma_ldmatrix_%s_a%s_dyn"):format(kind, trans_a and "_trans" or ""))
            s:tensorize(tile(s, inside[1], trans_b and 16 or depth, trans_b and depth or 16),
                ("mma_ldmatrix_%s_b%s_dyn"):format(kind, trans_b and "_trans" or ""))
            s:tensorize(tile(s, out, 16, 16), ("mma_store_16x16_%s_global"):format(sum))
            assert(moon.check(s).ok, name .. way)
        end
    end
end)

test("what lanes cannot do together is refused", function()
    local X, Y = moon.tensor({ 32, 8 }, "float16", 1), moon.tensor({ 32, 2 }, "float16")
    local function refused(line, text, code)
        local ok, e = pcall(run, line and ldmatrix(line, 32, 8, "float16", 2) or text, X, Y)
        assert(not ok and e.code == (code or "not-supported"), tostring(e))
    end
    local load = 'T.evaluate(T.ptx_ldmatrix("float16", False, 1, ".b16", R.data, tx * 2, S.access_ptr("r"), %s))'
    run(ldmatrix(load:format("tx % 8 * 8"), 32, 8, "float16", 2), X, Y)
    refused(load:format("tx % 8 * 8 + 4"), nil, "assert-failed") -- rows of 16 bytes
    refused("at = T.bind(tx * 8)\n        " .. load:format("at")) -- another lane's `at` is not known
    refused((load:format("tx * 8"):gsub("False, 1", "False, 3")))
    refused(nil, (ldmatrix(load:format("tx * 8"), 32, 8, "float16", 2):gsub("thread_binding%(32", "thread_binding(16")))
end)

return tests
