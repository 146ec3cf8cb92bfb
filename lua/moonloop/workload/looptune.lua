-- workload/looptune - the matrix products of LoopTune, mm_m112_n208_k256: sizes from 64 to 256 in steps of 16.
-- Source: workloads 3.
local moon, core, base = ...

local sizes = 13 -- of each

base.family { name = "mm", about = "matrix product of LoopTune",
    builder = "matmul", rows = {},
    hint = "sizes are multiples of 16 from 64 to 256, as in mm_m112_n208_k256", parse = function(name)
    local m, n, k = name:match("^mm_m(%d+)_n(%d+)_k(%d+)$")
    local args = { m = tonumber(m), n = tonumber(n), k = tonumber(k) }
    for _, letter in ipairs { "m", "n", "k" } do
        local e = args[letter]
        if not e or e % 16 ~= 0 or e < 64 or e > 256 then return nil end
    end
    return args
end }

local function name_of(i)
    return ("mm_m%d_n%d_k%d"):format(64 + i // (sizes * sizes) * 16, 64 + i // sizes % sizes * 16, 64 + i % sizes * 16)
end

-- The first output of splitmix64 from that state.
local function key(i)
    local z = (1 << 32) + i + 0x9e3779b97f4a7c15 -- seed 1
    z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ~ (z >> 27)) * 0x94d049bb133111eb
    return z ~ (z >> 31)
end

-- Published as evaluation examples: always tested on.
local published = [[112_208_256 112_224_128 112_256_64 112_256_80 128_160_224 160_224_192 176_128_160 176_144_160 176_192_160
    192_192_80 192_256_256 208_128_256 208_160_80 208_80_224 224_112_176 224_208_224 224_224_256 224_64_240 240_208_144
    256_160_112 64_240_64 80_176_224 96_160_256 96_224_240 96_240_128]]

local list = {}
for m, n, k in published:gmatch("(%d+)_(%d+)_(%d+)") do list[#list + 1] = ("mm_m%s_n%s_k%s"):format(m, n, k) end

-- Names: the published, those to test on (440: the published and the 415 of the least keys), those to train on.
local function split()
    local seen, rest, test, train = {}, {}, { table.unpack(list) }, {}
    for _, name in ipairs(list) do seen[name] = true end
    for i = 0, sizes ^ 3 // 1 - 1 do
        local name = name_of(math.tointeger(i))
        if not seen[name] then rest[#rest + 1] = { name, key(math.tointeger(i)) } end
    end
    table.sort(rest, function(a, b) return math.ult(a[2], b[2]) end)
    for k, r in ipairs(rest) do table.insert(k <= 415 and test or train, r[1]) end
    return test, train
end

return { published = list, split = split }
