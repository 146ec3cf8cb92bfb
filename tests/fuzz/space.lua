-- space - programs for the test of the design spaces: every workload in small and odd sizes and all
-- dtypes, by itself or between element-wise stages.
--
-- make(seed, k, facts) gives the k-th program of a seed for a target of these facts: a table with the
-- module, the operator, a line that describes it and the search over its space. The same numbers
-- give the same program.
local moon, wanted = ...

local w = moon.workload

-- ---- random numbers

local function generator(seed, k)
    local state = (seed * 0x9e3779b97f4a7c15) ~ (k * 0xd1342543de82ef95 + 1)
    local function next_number()
        state = state + 0x9e3779b97f4a7c15
        local z = state
        z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
        z = (z ~ (z >> 27)) * 0x94d049bb133111eb
        return (z ~ (z >> 31)) >> 1
    end
    local r = {}
    function r.below(n) return next_number() % n end
    function r.from(lo, hi) return lo + r.below(hi - lo + 1) end
    function r.chance(percent) return r.below(100) < percent end
    function r.pick(list) return list[r.below(#list) + 1] end
    return r
end

-- ---- sizes

local channels = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 16, 17, 20, 24, 31, 32, 32, 32, 33, 36, 40, 48, 63, 64, 64, 65, 80, 96,
    100, 128, 192 }
local lines = { 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 130, 192, 197, 250, 256, 257, 333, 512,
    1000, 1024, 2048, 4099 }

local function image(r) return r.chance(10) and r.pick { 24, 32, 40, 57 } or r.from(1, 19) end
local function extent(r) return r.chance(25) and r.pick(lines) or r.pick(channels) end

-- A window, its stride, dilation and padding.
local function window(r, s)
    s.k = r.pick { 1, 1, 2, 3, 3, 3, 3, 4, 5, 7 }
    s.s = r.pick { 1, 1, 1, 2, 2, 3 }
    s.p = r.chance(30) and 0 or r.chance(60) and s.k // 2 or r.below(s.k)
    return s
end

local function with_batch(r, s)
    if r.chance(20) then s.n = r.pick { 2, 3, 4 } end
    return s
end

local function groups(r, s)
    s.d = r.chance(20) and 2 or 1
    if r.chance(20) then
        s.g = r.pick { 2, 3, 4 }
        s.ci, s.co = s.ci * s.g, s.co * s.g
    end
    return with_batch(r, s)
end

local floats = { "float32", "float32", "float32", "float32", "float64", "float16", "bfloat16", "f16.acc16", "bf16.acc16" }
local numbers = { "float32", "float32", "float32", "float32", "float32", "float64", "float16", "bfloat16", "f16.acc16", "int8", "uint8",
    "int16", "int32", "int64" }

local function conv(r) return window(r, { ci = r.pick(channels), co = r.pick(channels), dtype = r.pick(numbers) }) end
local function plane(r, s)
    s.h, s.w = image(r), image(r)
    return s
end
local function matrix(r, dtypes) return { m = extent(r), n = extent(r), dtype = r.pick(dtypes) } end
local function product(r)
    local s = matrix(r, numbers)
    s.k = extent(r)
    return s
end

-- By the name of the builder: its options. flags of quantized ones stand among them.
local operators = {
    conv1d = function(r)
        local s = groups(r, conv(r))
        s.l = r.chance(30) and r.pick(lines) or r.from(1, 40)
        return s
    end,
    conv2d = function(r) return plane(r, groups(r, conv(r))) end,
    conv3d = function(r)
        local s = plane(r, groups(r, conv(r)))
        s.depth = r.from(1, 6)
        s.k = math.min(s.k, 3)
        s.p = math.min(s.p, 1)
        return s
    end,
    conv2d_bias_relu = function(r)
        local s = plane(r, groups(r, conv(r)))
        s.dtype = r.pick { "float32", "float32", "float16", "bfloat16", "float64" }
        return s
    end,
    depthwise = function(r)
        local s = plane(r, window(r, { c = r.pick(channels), dtype = r.pick(numbers), d = r.chance(20) and 2 or 1 }))
        return with_batch(r, s)
    end,
    conv2d_transposed = function(r)
        local s = conv(r)
        if r.chance(20) then s.co = r.pick { 1, 2, 3, 4 } end
        s.k, s.s = r.from(1, 6), r.from(1, 4)
        s.p = r.below(s.k)
        s.h, s.w = r.from(1, 9), r.chance(20) and r.from(10, 40) or r.from(1, 9)
        return with_batch(r, s)
    end,
    capsule = function(r)
        local s = window(r, { h = r.from(1, 7), w = r.from(1, 7), ci = r.pick { 1, 2, 3, 4, 8 }, co = r.pick { 1, 3, 4, 8, 16, 17, 32 },
            dtype = r.pick(numbers) })
        return with_batch(r, s)
    end,
    winograd = function(r)
        return with_batch(r, { h = r.from(1, 11), w = r.from(1, 11), ci = r.pick { 1, 2, 3, 4, 8, 12 }, co = r.pick { 1, 3, 8, 16, 20, 32 },
            dtype = r.pick(floats), pre = r.chance(40) })
    end,
    matmul = product,
    batch_matmul = function(r)
        local s = product(r)
        s.b = r.pick { 1, 1, 2, 3, 5 }
        return s
    end,
    dense_relu = product,
    transpose_batch_matmul = function(r)
        return { b = r.pick { 1, 1, 2 }, s = r.pick(channels), h = r.from(1, 5), d = r.pick(channels), dtype = r.pick(numbers) }
    end,
    attention = function(r)
        return { h = r.from(1, 4), s = r.pick(channels), d = r.pick { 1, 3, 4, 8, 15, 16, 32, 33, 40, 64 }, dtype = r.pick(floats) }
    end,
    norm = function(r)
        local s = matrix(r, floats)
        s.b = r.pick { 1, 1, 2, 3, 8 }
        return s
    end,
    softmax = function(r)
        local s = matrix(r, floats)
        if r.chance(30) then s.scale = 0.125 end
        if r.chance(30) then s.mask = true end
        return s
    end,
    layer_norm = function(r) return matrix(r, floats) end,
    gelu = function(r) return matrix(r, floats) end,
    sum_rows = function(r) return matrix(r, numbers) end,
    sum_columns = function(r) return matrix(r, numbers) end,
    sum_all = function(r) return matrix(r, numbers) end,
    add = function(r)
        local s = matrix(r, numbers)
        if r.chance(40) then s.relu = true end
        return s
    end,
    bias_add = function(r) return matrix(r, numbers) end,
    transpose = function(r) return matrix(r, numbers) end,
    cumsum = function(r) return matrix(r, numbers) end,
    cumsum_blocked = function(r)
        local s = { m = r.from(1, 40), block = r.pick { 1, 3, 8, 16, 32, 100, 256 }, dtype = r.pick(numbers) }
        s.n = s.block * r.from(1, 12)
        return s
    end,
    argmax = function(r) return matrix(r, numbers) end,
    max_pool = function(r) return with_batch(r, plane(r, window(r, { c = r.pick(channels), dtype = r.pick(numbers) }))) end,
    mean_pool = function(r) return with_batch(r, plane(r, { c = r.pick(channels), dtype = r.pick(floats) })) end,
    embedding = function(r)
        local s = matrix(r, numbers)
        s.vocabulary, s.kinds = r.from(1, 40), r.from(1, 3)
        return s
    end,
    quantized_matmul = function(r)
        local s = { m = extent(r), n = extent(r), k = extent(r), dtype = r.pick { "uint8", "uint8", "int8" } }
        if r.chance(40) then s.packed = true end
        if r.chance(40) then s.rq = true end
        return s
    end,
    quantized_conv2d = function(r)
        local s = window(r, { h = image(r), w = image(r), ci = r.pick(channels), co = r.pick(channels), dtype = r.pick { "uint8", "uint8", "int8" } })
        if r.chance(40) then
            s.packed = true
            s.ci, s.co = 16 * r.from(1, 3), 16 * r.from(1, 4)
        end
        if r.chance(40) then s.rq = true end
        return with_batch(r, s)
    end,
}

-- Sums of products that are no workload: letters by lot, some in one operand alone, some in the result alone.
local function einsum(r)
    local letters, sizes, used = { "a", "b", "c", "d", "e" }, {}, {}
    local n = r.from(1, #letters)
    for k = 1, n do sizes[letters[k]] = r.chance(15) and 1 or r.pick(channels) end
    local operands = {}
    for k = 1, r.pick { 1, 2, 2, 2, 3 } do
        local list = {}
        for i = 1, n do
            if r.chance(60) then table.insert(list, r.from(1, #list + 1), letters[i]) end
        end
        if #list == 0 then list[1] = letters[r.from(1, n)] end
        for _, l in ipairs(list) do used[l] = true end
        operands[k] = table.concat(list)
    end
    local result = {}
    for i = 1, n do
        if used[letters[i]] and r.chance(55) then table.insert(result, r.from(1, #result + 1), letters[i]) end
        if not used[letters[i]] then sizes[letters[i]] = nil end
    end
    local spec, dtype = table.concat(operands, ",") .. "->" .. table.concat(result), r.pick(numbers)
    local told = {}
    for letter, size in pairs(sizes) do told[#told + 1] = letter .. " = " .. size end
    table.sort(told)
    return moon.einsum(spec, sizes, { dtype = dtype }), ("einsum %s { %s, %s }"):format(spec, table.concat(told, ", "), dtype)
end

-- A sum over an image with zeros between its elements, in one dimension, product or choice outermost.
local function zeros(r)
    local s, k, n = r.from(2, 4), r.from(1, 6), r.from(1, 9)
    local co, ci = r.pick(channels), r.pick(channels)
    local dtype = r.pick { "float32", "float32", "float64", "int32" }
    local out, zero = math.max(1, n * s - k + 1), ("T.%s(0)"):format(dtype)
    n = (out + k - 2) // s + 1
    local x, weight = ("X[(vh + vr) // %d, vc]"):format(s), ("W[%d - vr, vc, vo]"):format(k - 1)
    local inside = r.chance(50)
    local term = inside and ("T.Select((vh + vr) %% %d == 0, %s * %s, %s)"):format(s, x, weight, zero)
        or ("T.Select((vh + vr) %% %d == 0, %s, %s) * %s"):format(s, x, zero, weight)
    return moon.parse(([[
@T.prim_func
def main(X: T.Buffer((%d, %d), %q), W: T.Buffer((%d, %d, %d), %q), Y: T.Buffer((%d, %d), %q)):
    for h, o, r, c in T.grid(%d, %d, %d, %d):
        with T.block("Y"):
            vh, vo, vr, vc = T.axis.remap("SSRR", [h, o, r, c])
            with T.init():
                Y[vh, vo] = %s
            Y[vh, vo] = Y[vh, vo] + %s
]]):format(n, ci, dtype, k, ci, co, dtype, out, co, dtype, out, co, k, ci, zero, term)),
        ("zeros { s = %d, k = %d, n = %d, ci = %d, co = %d, %s, %s }"):format(s, k, n, ci, co, dtype, inside and "no factor" or "a factor")
end

local others = { einsum = einsum, zeros = zeros }

local no_operators = { list = true, set = true, args = true, about = true }

-- Names of the operators, sorted; a builder that this file does not know is an error.
local function known()
    local names = {}
    for name, v in pairs(w) do
        if type(v) == "function" and not no_operators[name] then
            assert(operators[name], name .. ": tests/fuzz/space.lua knows no sizes of this workload")
            names[#names + 1] = name
        end
    end
    for name in pairs(operators) do assert(w[name], name .. " is no workload any more") end
    for name in pairs(others) do names[#names + 1] = name end
    table.sort(names)
    return names
end
local names = known()

-- ---- element-wise stages before and after

local function is_float(dtype) return dtype:find("float", 1, true) ~= nil end

local function buffer(name, shape, dtype)
    local sizes = table.concat(shape, ", ") .. (#shape == 1 and "," or "")
    return ("%s: T.Buffer((%s), %q)"):format(name, sizes, dtype)
end

local function stage(name, shape, value)
    if #shape == 0 then return ("    with T.block(%q):\n        %s[()] = %s\n"):format(name, name, value) end
    local loops, iters, extents = {}, {}, {}
    for d, n in ipairs(shape) do
        loops[d], iters[d], extents[d] = "e" .. d, "v" .. d, n
    end
    local axes
    if #shape == 1 then
        axes = ("v1 = T.axis.spatial(%d, e1)"):format(shape[1])
    else
        axes = ("%s = T.axis.remap(%q, [%s])"):format(table.concat(iters, ", "), ("S"):rep(#shape), table.concat(loops, ", "))
    end
    return ("    for %s in T.grid(%s):\n        with T.block(%q):\n            %s\n            %s[%s] = %s\n"):format(
        table.concat(loops, ", "), table.concat(extents, ", "), name, axes, name, table.concat(iters, ", "), value)
end

local function index(shape)
    local v = {}
    for d in ipairs(shape) do v[d] = "v" .. d end
    return #v == 0 and "()" or table.concat(v, ", ")
end

-- The function's text as a head of parameters and lines of the body, indented by 4.
local function taken_apart(p)
    local text = p:func("main"):script()
    local head, body = text:match("def main%((.-)%):\n(.*)$")
    local params, at = {}, {}
    for name, shape, dtype in head:gmatch("(%w+): T%.Buffer%(%(([%d, ]-)%),? ?(\"?[%w]*\"?)%)") do
        local sizes = {}
        for n in shape:gmatch("%d+") do sizes[#sizes + 1] = tonumber(n) end
        dtype = dtype:match("%w+") or "float32"
        params[#params + 1] = { name = name, shape = sizes, dtype = dtype }
        at[name] = params[#params]
    end
    return params, at, body
end

local casts = { "float32", "float64", "float16", "bfloat16", "int32", "int8" }

-- A value of the element x of dtype, by a kind; extra: parameters that it needs.
local function after(r, x, shape, dtype, k, extra)
    local kind = r.pick(#shape > 0 and { "relu", "bias", "scale", "residual", "clip", "chain", "cast" } or
        { "relu", "residual", "clip", "cast" })
    local function number(v)
        if is_float(dtype) then v = v .. ".0" end
        return ("T.%s(%s)"):format(dtype, v)
    end
    local function another(name, sizes, at)
        extra[#extra + 1] = { name = name .. k, shape = sizes, dtype = dtype }
        return ("%s%d[%s]"):format(name, k, at)
    end
    local last = "v" .. #shape
    if kind == "relu" then return ("T.max(%s, %s)"):format(x, number(0)), dtype, kind end
    if kind == "clip" then return ("T.max(T.min(%s, %s), %s)"):format(x, number(6), number(0)), dtype, kind end
    if kind == "bias" then return x .. " + " .. another("bias", { shape[#shape] }, last), dtype, kind end
    if kind == "scale" then return x .. " * " .. another("scale", { shape[#shape] }, last), dtype, kind end
    if kind == "residual" then return x .. " + " .. another("more", shape, index(shape)), dtype, kind end
    if kind == "chain" then
        local sum = x .. " + " .. another("bias", { shape[#shape] }, last)
        return ("T.max(%s + %s, %s)"):format(sum, another("more", shape, index(shape)), number(0)), dtype, kind
    end
    -- a float is kept one: what is rounded to an integer may be another where the sum has another order
    local to = r.pick(casts)
    while to == dtype or is_float(dtype) ~= is_float(to) do to = r.pick(casts) end
    return ('T.Cast("%s", %s)'):format(to, x), to, "to " .. to
end

-- The program with stages behind its last result (and the result itself given back, sometimes), and before
-- its first input; what they are.
local function surrounded(r, p)
    local params, at, body = taken_apart(p)
    for _, q in ipairs(params) do
        if #q.shape == 0 then return p, "" end -- of no dimension: there are no loops to write
    end
    local outs, ins = {}, {}
    for name in pairs(p:outputs()) do
        if type(name) == "string" then outs[name] = true end
    end
    for _, q in ipairs(params) do
        if not outs[q.name] and q.dtype ~= "bool" then ins[#ins + 1] = q end
    end
    local told, extra, lines_before, allocs = {}, {}, {}, {}
    local function alloc(q) allocs[#allocs + 1] = ("    %s = T.alloc_buffer((%s), %q)\n"):format(q.name,
        table.concat(q.shape, ", ") .. (#q.shape == 1 and "," or ""), q.dtype) end
    local dropped = {}
    if r.chance(35) and p.id ~= "embedding" then
        local q = r.pick(ins)
        local raw = { name = q.name .. "_in", shape = q.shape, dtype = q.dtype }
        local x = ("%s_in[%s]"):format(q.name, index(q.shape))
        local value, kind
        if is_float(q.dtype) and r.chance(40) then
            raw.dtype = r.pick { "float16", "bfloat16", "float32" }
            value, kind = ('T.Cast("%s", %s)'):format(q.dtype, x), "from " .. raw.dtype
            if raw.dtype == q.dtype then value, kind = ("T.max(%s, T.%s(0.0))"):format(x, q.dtype), "relu" end
        elseif r.chance(50) then
            value = ("T.max(%s, T.%s(%s))"):format(x, q.dtype, is_float(q.dtype) and "0.0" or "0")
            kind = "relu"
        else
            value, kind = x .. " + " .. x, "twice"
        end
        alloc(q)
        dropped[q.name] = raw
        lines_before[1] = stage(q.name, q.shape, value)
        told[#told + 1] = kind .. " before " .. q.name
    end
    local lines_after = {}
    local out = params[#params]
    for _, q in ipairs(params) do
        if outs[q.name] then out = q break end
    end
    local results = {}
    if r.chance(75) then
        local kept = r.chance(10) -- given back itself, too
        local from, n = out, r.pick { 1, 1, 1, 2, 3 }
        if not kept then
            alloc(out)
            dropped[out.name] = false
        end
        for k = 1, n do
            local x = ("%s[%s]"):format(from.name, index(out.shape))
            local value, dtype, kind = after(r, x, out.shape, from.dtype, k, extra)
            local z = { name = "Z" .. k, shape = out.shape, dtype = dtype }
            if k < n then alloc(z) else results[1] = z end
            lines_after[#lines_after + 1] = stage(z.name, z.shape, value)
            told[#told + 1] = kind
            from = z
        end
        if kept then told[#told + 1] = "the result given back, too" end
    end
    local head = {}
    for _, q in ipairs(params) do
        if dropped[q.name] == nil then
            head[#head + 1] = buffer(q.name, q.shape, q.dtype)
        elseif dropped[q.name] then
            head[#head + 1] = buffer(dropped[q.name].name, q.shape, dropped[q.name].dtype)
        end
    end
    for _, list in ipairs { extra, results } do
        for _, q in ipairs(list) do head[#head + 1] = buffer(q.name, q.shape, q.dtype) end
    end
    local text = "@T.prim_func\ndef main(" .. table.concat(head, ", ") .. "):\n" .. table.concat(allocs) .. table.concat(lines_before)
        .. body .. table.concat(lines_after)
    return moon.parse(text), table.concat(told, ", ")
end

-- ---- the k-th program

local function described(name, s)
    local list = {}
    for key, v in pairs(s) do list[#list + 1] = key .. " = " .. (type(v) == "string" and ("%q"):format(v) or tostring(v)) end
    table.sort(list)
    return ("%s { %s }"):format(name, table.concat(list, ", "))
end

-- Small enough to be interpreted: multiply-adds and bytes.
local function small(p, most)
    local ok, flop = pcall(function() return p.flop end)
    if not ok or not flop then return moon.schedule(p):flops() <= 2 * most end
    return p.flop <= 2 * most and p.bytes <= 4 * most and p.bytes < 1 << 19
end

local function drawn(r, name)
    local most = r.pick { 3000, 20000, 60000, 60000, 150000, 400000 }
    for _ = 1, 300 do
        local ok, p, line
        if others[name] then
            ok, p, line = pcall(others[name], r)
        else
            local s = operators[name](r)
            ok, p = pcall(w[name], s)
            line = described(name, s)
        end
        if ok and small(p, most) then return p, line end
        if not ok and (type(p) ~= "userdata" or p.code ~= "bad-argument") then error(p, 0) end
    end
    return nil
end

local function make(seed, k, facts)
    local r = generator(seed, k)
    local name = wanted ~= "" and wanted or names[k % #names + 1]
    local p, line = drawn(r, name)
    if not p then return nil end
    local around = "alone"
    if r.chance(50) and name ~= "zeros" then p, around = surrounded(r, p) end
    if around ~= "alone" and around ~= "" then line = line .. ", " .. around end
    local threads = r.pick { 1, 2, 2, 3 }
    -- caches so small that what is decided by them comes up at these sizes
    if r.chance(50) then
        facts.l1 = r.pick { 1 << 10, 4 << 10, 32 << 10 }
        facts.l2 = facts.l1 * r.pick { 2, 8 }
        facts.l3 = facts.l2 * r.pick { 2, 16 }
    end
    local ok, search, list = pcall(moon.tuning.search, p, { threads = threads, seed = r.from(1, 1 << 30), space = function(program, o)
        return moon.space.sketches(program, { threads = o.threads, target = facts })
    end })
    if not ok then error(line .. "\n" .. tostring(search), 0) end
    local sketches = {}
    for n, x in ipairs(list) do sketches[n] = x.name end
    local refused = {}
    for n, x in ipairs(list.refused) do refused[n] = x.name .. ": " .. tostring(x.error) end
    return { program = p, operator = name, line = line, search = search, threads = threads, sketches = sketches,
        refused = refused, plain = not list.known, alone = around == "alone" or around == "" }
end

return make
