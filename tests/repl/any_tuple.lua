-- Tuples of arguments of any type for every primitive, and for what else a schedule can be told:
-- most of a tuple may well be right, so that calls come further than the first check.
-- Called with the functions of test_any_tuple.c and how many tuples each call gets; returns how
-- many of each were accepted and refused.
local probe, per_call, seed = ...

local state = seed
local function below(n)
    state = (state * 48271) % 2147483647
    return state % n
end
local function chance(percent) return below(100) < percent end
local function one(list) return list[below(#list) + 1] end

-- Small, so that calls are fast; each has what the others lack.
local programs = {
    -- a product
    moon.workload.matmul(8, 12, 4),
    -- a pipeline with a reduction
    moon.parse([[
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6, 8))
    C = T.alloc_buffer((6,))
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vj]
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = C[vi] + T.float32(1)
]]),
    -- padding, symbolic sizes, an update in place
    moon.parse([[
@T.prim_func
def main(a: T.handle, C: T.Buffer((10,), "float32"), U: T.Buffer((8,), "float32"), n: T.int32):
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.alloc_buffer((n, 8))
    for i, j in T.grid(n, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range(8):
        with T.block("U"):
            vi = T.axis.spatial(8, i)
            T.reads(U[vi])
            T.writes(U[vi])
            U[vi] = U[vi] * T.float32(2)
    for i in range(10):
        with T.block("C"):
            v = T.axis.spatial(10, i)
            C[v] = T.if_then_else(1 <= v and v < 9, U[v - 1], T.float32(0))
]]),
    -- a dot product, rank 0, nested blocks, a guard, two functions
    moon.parse([[
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 4), "uint8"), B: T.Buffer((2, 16, 4), "int8"), C: T.Buffer((8, 32), "int32"),
             Z: T.Buffer((), "int32")):
        for i, j_0, j_1, k in T.grid(8, 2, 16, 4):
            with T.block("C"):
                vi, vo, vj, vk = T.axis.remap("SSSR", [i, j_0, j_1, k])
                T.reads(C[vi, vo * 16 + vj], A[vi, vk], B[vo, vj, vk])
                T.writes(C[vi, vo * 16 + vj])
                C[vi, vo * 16 + vj] = C[vi, vo * 16 + vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vo, vj, vk])
        with T.block("Z"):
            Z[()] = 3
    @T.prim_func
    def second(A: T.Buffer((100,), "float32"), C: T.Buffer((100,), "float32")):
        for i in range(13):
            with T.block("O"):
                vo = T.axis.spatial(13, i)
                for j, k in T.grid(8, 1):
                    with T.block("C"):
                        v = T.axis.spatial(8, j)
                        T.where(vo * 8 + j < 100)
                        C[vo * 8 + v] = A[vo * 8 + v]
]]),
}

local foreign = moon.schedule(moon.workload.matmul(4, 4, 4))
local foreign_loop, foreign_block = foreign:get_loops("C")[1], foreign:get_block("C")
foreign:split("i", { 2, 2 }) -- ends foreign_loop
local x, P = moon.te.var("x"), moon.te.placeholder({ 4, 4 }, "float32", "P")

local function nested(depth)
    local t = 1
    for _ = 1, depth do t = { t } end
    return t
end

local NOTHING = {} -- stands for nil
local ints = { 0, 1, 2, 3, 4, 8, 16, -1, -2, 64, 1000, math.mininteger, math.maxinteger, 1 << 31, 1 << 32, 1 << 62 }
local anything = {
    NOTHING, false, true, 2.0, 2.5, -0.0, 1e300, 1 / 0, 0 / 0, "", "i", "j", "B", "C", "C@1", "C@-1", "C/*", "**", "/@",
    "root", "main", "second", "global", "nothing", "float16", "int33", "\0", "\xff\xfe", ("x"):rep(300), "%s%n",
    "blockIdx.x", "dot_16x4_vnni", "lambda i, j: (j, i)", "lambda", "lambda i: (i // 0,)", {}, { 1, 2 }, { 2, moon.auto },
    { moon.auto, moon.auto }, { "i", "j" }, { [1] = 1, [3] = 3 }, { loop = "i" }, { block = "C", 2 }, nested(5), nested(70),
    nested(500), setmetatable({}, { __index = function() error("inside") end }), tostring, function() end,
    function(i, j) return j, i end, function(...) return ... end, function() error("inside") end,
    function() error({}) end, coroutine.create(tostring), io.stdout, moon.auto, moon, programs[1], programs[1].main,
    foreign, foreign_loop, foreign_block, foreign:get_loops("C")[1], foreign:trace(), x, x + 1, moon.te.lt(x, 1), x // 2,
    moon.te.const(2), P, P.buffer, programs[1].main.buffers[1], moon.index_map(function(i) return i end),
    moon.tensor({ 2 }, "float32"), select(2, pcall(foreign.split, foreign, "i", { 3 })),
}
for _, v in ipairs(ints) do anything[#anything + 1] = v end

local scopes, threads = { "global", "shared", "local", "warp" }, { "threadIdx.x", "blockIdx.y", "vthread" }
local maps = { "lambda i, j: (j, i // 4, i % 4)", "lambda *i: i", function(...) return ... end, function(i, j) return j, i end,
    "lambda i: (i // 2, i % 2)" }

local s, blocks, loops, made, numbers -- of the schedule at work

local function start()
    s = moon.schedule(one(programs))
    if chance(30) then pcall(s.work_on, s, "second") end
    blocks, loops, made, numbers = {}, {}, {}, {}
end

-- Live loops and blocks of the current version.
local function look_again()
    local ok, list = pcall(s.get_child_blocks, s, "root")
    blocks, loops = ok and #list > 0 and list or { "C" }, {}
    for _, b in ipairs(blocks) do
        local found, inside = pcall(s.get_loops, s, b)
        for _, l in ipairs(found and inside or {}) do loops[#loops + 1] = l end
    end
    if #loops == 0 then loops[1] = "i" end
end

local function some(list, most)
    local t = {}
    for k = 1, 1 + below(most) do t[k] = one(list) end
    return t
end

local likely = {
    ["block"] = function() return one(blocks) end,
    ["loop"] = function() return one(loops) end,
    ["block or loop"] = function() return one(chance(50) and blocks or loops) end,
    ["loop or mark"] = function() return one(loops) end,
    ["loops"] = function() return some(loops, 3) end,
    ["blocks"] = function() return some(blocks, 2) end,
    ["loop or blocks"] = function() return chance(60) and one(loops) or some(blocks, 2) end,
    ["factors"] = function() return chance(50) and { moon.auto, 1 + below(5) } or some(ints, 3) end,
    ["integer"] = function() return chance(70) and below(4) - 1 or one(ints) end,
    ["boolean"] = function() return chance(50) end,
    ["string"] = function() return one { "float16", "int8", "dot_16x4_vnni", "read", "write" } end,
    ["storage scope"] = function() return one(scopes) end,
    ["thread axis"] = function() return one(threads) end,
    ["read buffer"] = function() return below(2) end,
    ["write buffer"] = function() return 0 end,
    ["buffer"] = function() return { chance(50) and "read" or "write", below(2) } end,
    ["value"] = function() return one { 1, "text", true, { 1, 2 } } end,
    ["annotation key"] = function() return one { "key", "pragma_auto_unroll_max_step", "buffer_dim_align" } end,
    ["integers"] = function() return some({ 0, 1, 2, 4 }, 3) end,
    ["numbers"] = function() return { 0.5, 0.5 } end,
    ["decision"] = function() return NOTHING end,
    ["block name"] = function() return one { "C", "B" } end,
    ["index map"] = function() return one(maps) end,
    ["pad value"] = function() return chance(50) and 0 or 0.0 end,
    ["handle"] = function() return one(chance(50) and blocks or loops) end,
}

local function any_value()
    if #made > 0 and chance(15) then return one(made) end -- alive, ended or undone
    return one(anything)
end

local args = {}
local function fill(p)
    local n = #p.args
    for k = 1, n do
        local optional = p.optional and p.optional[p.args[k]]
        local make = likely[p.kinds and p.kinds[k] or "handle"]
        args[k] = optional and chance(60) and NOTHING or make()
    end
    if chance(75) then -- one or two are anything, or one is too many
        args[below(n + 1) + 1] = any_value()
        if args[n + 1] ~= nil then n = n + 1 end
        if n > 0 and chance(40) then args[below(n) + 1] = any_value() end
    end
    if chance(5) then n = below(n + 2) end
    for k = 1, n do
        if args[k] == NOTHING then args[k] = nil end
    end
    return n
end

local function call(p)
    local n = fill(p)
    if #p.args > 0 and chance(10) then -- by name
        local named = {}
        for k = 1, n do named[p.args[k] or "no_such_name"] = args[k] end
        if chance(20) then named[chance(50) and 1 or "extra"] = any_value() end
        return s[p.name](s, named)
    end
    return s[p.name](s, table.unpack(args, 1, n))
end

local function keep(v)
    if type(v) == "table" then
        for k = 1, math.min(#v, 4) do keep(v[k]) end
    elseif type(v) == "userdata" then
        made[#made < 40 and #made + 1 or below(40) + 1] = v
    end
end

local deck, counts = {}, {}
for _, p in ipairs(moon.primitives()) do
    deck[#deck + 1] = p
    counts[p.name] = { left = per_call, accepted = 0, refused = 0 }
end

local calls = 0
while #deck > 0 do
    if calls % 200 == 0 then start() end
    if calls % 10 == 0 then look_again() end
    calls = calls + 1
    local at = below(#deck) + 1
    local p, count = deck[at], nil
    count = counts[p.name]
    probe.look(s, made)
    local ok, result = pcall(call, p)
    if ok then
        count.accepted = count.accepted + 1
        keep(result)
        probe.settle(s, below(6))
    else
        count.refused = count.refused + 1
        probe.refused(s, made, result, p.name, calls)
        args[1] = nil
    end
    for k = 1, #p.args + 2 do args[k] = nil end
    count.left = count.left - 1
    if count.left == 0 then
        deck[at] = deck[#deck]
        deck[#deck] = nil
    end
end
return counts
