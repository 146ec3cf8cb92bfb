-- Tensor intrinsics that a warp of CUDA computes on fragments: each computes what it describes.
local te = moon.te
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- C[m, n] = A[m, k] * B[k, n], or B[n, k], so many tiles of each.
local function product(sizes, a, c, trans)
    local m, n, k = sizes[1], sizes[2], sizes[3]
    local A = te.placeholder({ m, k }, a, "A")
    local B = te.placeholder(trans and { n, k } or { k, n }, a, "B")
    local r = te.reduce_axis(k, "k")
    local C = te.compute({ m, n }, function(i, j)
        return te.sum(te.cast(A(i, r), c) * te.cast(trans and B(j, r) or B(r, j), c), r)
    end, "C")
    return moon.module(te.func({ A, B, C }, "main"))
end

-- All that a tile needs by its intrinsics: names.init, load_a, load_b, sync, store; from and to: scopes of the operands
-- and of the result outside of fragments.
local function with_fragments(p, names, scopes, from, to)
    local s = moon.schedule(p)
    local block = s:blockize(s:tile_with_intrinsic("C", names.sync))
    if to ~= "global" then s:cache_write(block, 0, to) end
    local out = s:cache_write(block, 0, scopes[3])
    local inside = {}
    for k = 0, 1 do
        if from ~= "global" then s:cache_read(block, k, from) end
        inside[k] = s:cache_read(block, k, scopes[k + 1])
    end
    local init = s:decompose_reduction(block, s:get_loops(block)[3])
    local function put(b, name) s:tensorize(s:tile_with_intrinsic(b, name), name) end
    s:tensorize(init, names.init)
    s:tensorize(block, names.sync)
    put(inside[0], names.load_a)
    put(inside[1], names.load_b)
    put(out, names.store)
    return s
end

local wmma = { "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator" }
local types = { f16 = "float16", bf16 = "bfloat16", f32 = "float32", s8 = "int8", u8 = "uint8", s32 = "int32" }
local out = { f16f16f32 = "f32", f16f16f16 = "f16", bf16bf16f32 = "f32", s8s8s32 = "s32", u8u8s32 = "s32" }

-- The names that wmma has for one product of that shape.
local function names_of(shape, operands, trans, from, to)
    local function at(scope) return scope:gsub("%.", "_") end
    local kind = operands:match("^b?%a%d+")
    return {
        init = ("wmma_fill_%s_%s"):format(shape, out[operands]),
        load_a = ("wmma_load_%s_%s_a_%s"):format(shape, kind, at(from)),
        load_b = ("wmma_load_%s_%s_b%s_%s"):format(shape, kind, trans and "_trans" or "", at(from)),
        sync = ("wmma_sync_%s_%s%s"):format(shape, operands, trans and "_trans" or ""),
        store = ("wmma_store_%s_%s_%s"):format(shape, out[operands], at(to)),
    }, types[kind], types[out[operands]]
end

test("products of fragments compute what they describe", function()
    local n = 0
    for _, shape in ipairs { "16x16x16", "32x8x16", "8x32x16" } do
        local m, w, k = shape:match("(%d+)x(%d+)x(%d+)")
        for operands in pairs(out) do
            for _, trans in ipairs { false, true } do
                local names, a, c = names_of(shape, operands, trans, "shared.dyn", "shared.dyn")
                local p = product({ 2 * m, 2 * w, 2 * k }, a, c, trans)
                local s = with_fragments(p, names, wmma, "shared.dyn", "shared.dyn")
                assert(moon.check(s).ok, names.sync)
                n = n + 1
            end
        end
    end
    assert(n == 30)
end)

test("fragments are loaded from each scope and stored to each", function()
    for _, scope in ipairs { "shared", "shared.dyn", "global" } do
        local names, a, c = names_of("16x16x16", "f16f16f32", false, scope, scope)
        local s = with_fragments(product({ 32, 16, 16 }, a, c), names, wmma, scope, scope)
        assert(moon.check(s).ok, scope)
    end
end)

test("mma.sync loads as many fragments at once as one ldmatrix does", function()
    for _, kind in ipairs { "f16", "f32" } do
        for _, to in ipairs { "global", "shared.dyn" } do
            local s = with_fragments(product({ 64, 32, 16 }, "float16", types[kind]), {
                init = "mma_init_m16n8k8_" .. kind, load_a = "mma_load_m16n8k8_f16_A_shared_dyn",
                load_b = "mma_load_m16n8k8_f16_B_shared_dyn", sync = "mma_sync_m16n8k8_f16f16" .. kind,
                store = ("mma_store_m16n8k8_%s_%s"):format(kind, to:gsub("%.", "_")) },
                { "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC" }, "shared.dyn", to)
            assert(moon.check(s).ok, kind)
        end
    end
end)

test("a fragment of another number is found", function()
    local name = "wmma_sync_16x16x16_f16f16f32"
    local text = moon.intrin(name).impl:script()
    local number = "A.elem_offset % A.strides[0] // 16"
    assert(text:find(number, 1, true))
    moon.intrin("wmma_test_wrong", moon.intrin(name).desc, (text:gsub(number:gsub("%p", "%%%0"), "0")), { override = true })
    local names, a, c = names_of("16x16x16", "f16f16f32", false, "shared.dyn", "shared.dyn")
    names.sync = "wmma_test_wrong"
    local s = with_fragments(product({ 32, 32, 32 }, a, c), names, wmma, "shared.dyn", "shared.dyn")
    local ok, e = pcall(moon.check, s)
    assert(not ok and e.code == "outside-region", tostring(e))
end)

return tests
