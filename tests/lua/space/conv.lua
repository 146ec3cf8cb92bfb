-- Convolutions: the family takes them by their structure, and each sketch computes the same
-- with whatever decisions; sums over zeros are left out of transposed ones of any stride.
local tests = {}
local w = moon.workload
local sketches = dofile("tests/lua/shared/sketches.lua")

local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- Each sketch as the rule decides it, and with decisions by lot.
local function is_right(p, threads, lots) return (sketches(p, threads, lots or 1)) end

local function ours(name)
    return name:find("^panels of weights") or name:find("^blocks of the sum") or name:find("^rows of the image") or name:find("each thread pads its own", 1, true)
end

-- The first sketch is one of the family.
local function taken(p, threads, lots)
    local names = is_right(p, threads or 2, lots)
    assert(ours(names[1]), table.concat(names, ", "))
end

test("convolutions of one to three dimensions", function()
    taken(w.conv1d { l = 40, ci = 6, co = 32, k = 3, s = 2, p = 1 })
    taken(w.conv2d { h = 9, w = 11, ci = 5, co = 48, k = 3, p = 1 })
    taken(w.conv2d { h = 9, w = 9, ci = 3, co = 20, k = 5, s = 2, p = 2 }, 1)
    taken(w.conv3d { depth = 4, h = 5, w = 6, ci = 4, co = 32, k = 3, p = 1 })
end)

test("dilated and grouped ones, in batches, with what follows", function()
    taken(w.conv2d { h = 9, w = 9, ci = 4, co = 32, k = 3, d = 2, p = 1, n = 2 })
    taken(w.conv2d { h = 7, w = 7, ci = 16, co = 64, k = 3, p = 1, g = 4 })
    taken(w.conv2d_bias_relu { h = 8, w = 8, ci = 3, co = 32, k = 3, p = 1 })
    taken(w.capsule { h = 6, w = 6, ci = 4, co = 16, k = 3, p = 1 })
end)

test("vectors across groups, or mostly empty, are left to others", function()
    for _, p in ipairs { w.conv2d { h = 6, w = 6, ci = 6, co = 24, k = 3, g = 3 }, w.conv2d { h = 6, w = 9, ci = 6, co = 5, k = 3 } } do
        assert(not ours(is_right(p, 2, 0)[1]))
    end
end)

test("parity classes of transposed ones", function()
    taken(w.conv2d_transposed { h = 4, w = 5, ci = 4, co = 32, k = 4, s = 2, p = 1 })
    taken(w.conv2d_transposed { h = 3, w = 3, ci = 4, co = 16, k = 6, s = 3, p = 0, n = 2 })
    taken(w.conv2d_transposed { h = 4, w = 4, ci = 8, co = 32, k = 2, s = 2, p = 0 }) -- one tap each
    taken(w.conv2d_transposed { h = 4, w = 5, ci = 8, co = 32, k = 5, s = 3, p = 1 }) -- one or two
end)

test("sizes that the stride does not divide have classes, the last results of which nobody copies", function()
    for _, o in ipairs { { k = 3, s = 2, p = 1 }, { k = 2, s = 3, p = 0 }, { k = 5, s = 2, p = 2 }, { k = 3, s = 2, p = 0 } } do
        local p = w.conv2d_transposed { h = 4, w = 5, ci = 8, co = 32, k = o.k, s = o.s, p = o.p }
        taken(p)
        assert(not moon.draft(p):script():find("T.Select", 1, true))
    end
end)

test("transposed ones of whatever size, stride, window and padding", function()
    math.randomseed(18)
    for _ = 1, 8 do
        local s, k = math.random(2, 4), math.random(2, 6)
        local o = { h = math.random(3, 6), w = math.random(3, 6), ci = 3, co = math.random(1, 2) * 16, k = k, s = s, p = math.random(0, k // 2) }
        taken(w.conv2d_transposed(o), math.random(1, 2), 1)
    end
end)

test("a window of one tap that leaves nothing to be summed has a draft", function()
    is_right(w.conv2d_transposed { h = 3, w = 6, ci = 1, co = 3, k = 2, s = 4, p = 0 }, 2, 1)
    is_right(w.conv2d_transposed { h = 3, w = 6, ci = 1, co = 32, k = 2, s = 2, p = 0 }, 2, 1)
end)

test("loops of one step lie along no dimension of the weights", function()
    local p = w.conv2d { h = 6, w = 14, ci = 31, co = 100, k = 1, s = 2, d = 2, p = 0 }
    local small = { lanes = 4, vector_bits = 128, registers = 16, l1 = 1 << 10, l2 = 2 << 10, l3 = 4 << 10 }
    assert(ours(moon.space.sketches(p, { threads = 1, target = small })[1].name))
end)

-- An infinite weight reaches the results that it is a factor of, and no other.
test("what lies between the elements of an image is no factor", function()
    for _, o in ipairs { { k = 4, p = 1 }, { k = 3, p = 1 } } do
        local p = w.conv2d_transposed { h = 4, w = 4, ci = 2, co = 32, k = o.k, s = 2, p = o.p }
        local t = p:inputs()
        t.W[{ 1, 1, 0, 7 }] = math.huge
        t.W[{ 0, 1, 1, 9 }] = 0 / 0
        local want, got, by_start = p:reference(t)[1], p:outputs()[1], p:outputs()[1]
        moon.interpret(p, { t.X, t.W, by_start })
        moon.build(moon.draft(p))(t.X, t.W, got)
        local odd, shape = 0, want.shape
        for h = 0, shape[2] - 1 do
            for v = 0, shape[3] - 1 do
                for c = 0, shape[4] - 1 do
                    local at = { 0, h, v, c }
                    local x, y, z = want[at], got[at], by_start[at]
                    if x ~= x or math.abs(x) == math.huge then odd = odd + 1 end
                    local same = x ~= x and y ~= y or x == y or math.abs(x - y) < 1e-5
                    assert(same or y ~= y and z ~= z or y == z or math.abs(y - z) < 1e-5, ("%d %d %d: %g, the start %g"):format(h, v, c, y, z))
                    assert(same or c == 7 or c == 9, ("%d %d %d: %g, by definition %g"):format(h, v, c, y, x))
                end
            end
        end
        assert(odd > 0)
    end
end)

-- Programs whose padding is beside whole tiles, beside pixels of written-out tiles, beside lines; all sketches.
local function padded_ones()
    return {
        w.conv2d { h = 7, w = 7, ci = 8, co = 32, k = 3, p = 1 }, -- a line is a tile
        w.conv2d { h = 9, w = 20, ci = 8, co = 32, k = 3, s = 1, p = 1, n = 2 }, -- two tiles are one
        w.conv2d { h = 13, w = 11, ci = 4, co = 48, k = 5, s = 2, p = 2, d = 1 },
        w.conv2d { h = 5, w = 5, ci = 16, co = 16, k = 3, p = 2, d = 2 },
        w.conv2d { h = 5, w = 5, ci = 16, co = 64, k = 3, p = 1, g = 2 },
        w.conv2d { h = 4, w = 70, ci = 3, co = 32, k = 3, p = 1 }, -- lines of few channels, padded
        w.conv1d { l = 28, ci = 8, co = 32, k = 5, p = 2 },
        w.conv3d { depth = 4, h = 6, w = 6, ci = 4, co = 32, k = 3, p = 1 },
        w.conv2d_bias_relu { h = 7, w = 7, ci = 8, co = 32, k = 3, p = 1 },
        w.capsule { h = 4, w = 4, ci = 16, co = 16, k = 3, p = 1 },
        w.conv2d_transposed { h = 4, w = 5, ci = 8, co = 32, k = 4, s = 2, p = 1 },
    }
end

test("zeros beside the image are left out: lines, pixels, depths", function()
    local unpadded, lines = 0, 0
    for _, p in ipairs(padded_ones()) do
        for _, name in ipairs((is_right(p, #p:func("main").buffers % 2 + 1, 1))) do
            unpadded = unpadded + (name:find("unpadded", 1, true) and 1 or 0)
            lines = lines + (name:find("left out", 1, true) and 1 or 0)
        end
    end
    assert(unpadded >= 10 and lines >= 5, unpadded .. " " .. lines)
end)

test("an infinite weight does not reach results by way of the padding", function()
    if not moon.features.llvm then return print("skip: no LLVM") end
    local odd = 0
    for _, p in ipairs(padded_ones()) do
        local t = p:inputs()
        local last = t.W.shape
        for k, n in ipairs(last) do last[k] = k < #last and 0 or n // 2 end
        t.W[last] = math.huge
        local want = p:reference(t)[1]
        for _, sketch in ipairs(moon.space.sketches(p, { threads = 2 })) do
            if sketch.name:find("unpadded", 1, true) then
                local got, args = p:outputs()[1], {}
                for k, x in ipairs(p:func("main").buffers) do args[k] = t[x.name] or got end
                moon.build(sketch.schedule, { threads = 2 })(table.unpack(args))
                local c = want:compare(got, { rtol = 1e-4, atol = 1e-4 })
                assert(c.ok, sketch.name)
                odd = odd + 1
            end
        end
    end
    assert(odd > 3, "found: " .. odd)
end)

test("lines of the image are vectors where a pixel has few results", function()
    for _, p in ipairs { w.conv2d_transposed { h = 5, w = 18, ci = 6, co = 3, k = 4, s = 2, p = 1 }, w.conv2d { h = 6, w = 37, ci = 4, co = 5, k = 3, p = 1 },
        w.conv2d { h = 5, w = 20, ci = 4, co = 2, k = 3, n = 2 } } do
        local names = is_right(p, 2, 1)
        assert(names[1] == "lines of the image are vectors", names[1])
    end
end)

test("weights beyond the second cache are asked for ahead: in place, and for the next block of the sum", function()
    local p = w.conv2d { h = 5, w = 5, ci = 256, co = 256, k = 3 }
    local names, ahead, spread = is_right(p, 2, 1), 0, 0
    for _, sketch in ipairs(moon.space.sketches(p, { threads = 2 })) do
        if sketch.schedule:script():find('"prefetch": [{"buffer": "W", "distance": 2}]', 1, true) then ahead = ahead + 1 end
        if sketch.schedule:script():find('"spread": 1', 1, true) then spread = spread + 1 end
    end
    local far = 4 * 9 * 256 * 256 > moon.machine().caches.L2
    assert(ahead == (far and 2 or 0) and spread > 0 == far, ahead .. " " .. spread)
    assert(not far or names[1]:find("^blocks of the sum, for all panels"), names[1])
end)

test("a copy of interleaved parts has all of them, and is no draft", function()
    local list = moon.space.sketches(w.conv2d_transposed { h = 4, w = 4, ci = 512, co = 512, k = 4, s = 2, p = 1 }, { threads = 2 })
    assert(not list[1].name:find("copied", 1, true), list[1].name)
end)

test("each thread pads what it reads: lines, groups, or all of it for its panels", function()
    local function first(p, part)
        for _, name in ipairs((is_right(p, 2, 2))) do -- of those that pad
            if name:find("pads its own", 1, true) then
                return assert(name:find(part .. ", each thread pads its own", 1, true) == 1, part .. ": " .. name)
            end
        end
        error("no thread pads its own")
    end
    first(w.conv2d { h = 8, w = 5, ci = 16, co = 32, k = 3, p = 1 }, "lines")
    first(w.conv1d { l = 64, ci = 16, co = 32, k = 3, s = 2, p = 1 }, "lines")
    first(w.conv1d { l = 7, ci = 32, co = 128, k = 5, p = 2 }, "panels")
    first(w.capsule { h = 4, w = 4, ci = 16, co = 16, k = 3, p = 1 }, "shared")
    local names = is_right(w.conv2d { h = 8, w = 5, ci = 16, co = 32, k = 3, p = 1 }, 1, 0)
    assert(ours(names[1]) and not names[1]:find("thread"), names[1])
end)

-- What the compiled sketch, with decisions by lot, leaves is what the interpreted program leaves.
local function compiled(p, lots)
    local a = {}
    for k, x in ipairs(p:func("main").buffers) do a[k] = moon.tensor(x.shape, x.dtype):random(k, -1, 1) end
    local list = moon.space.sketches(p, { threads = 2 })
    local function filled()
        local b = {}
        for k, x in ipairs(a) do b[k] = x:copy() end
        return b
    end
    local want = filled()
    moon.interpret(p, want)
    for _, sketch in ipairs(list) do
        for lot = 0, lots do
            local s, got = moon.schedule(p), filled()
            sketch.schedule:trace():apply(s, { decide = function(instruction, decision)
                if lot == 0 or instruction.kind ~= "SampleCategorical" then return decision end
                return math.random(0, #instruction.attrs[1] - 1)
            end })
            moon.build(s, { threads = 2 })(table.unpack(got))
            local c = want[#want]:compare(got[#got], { rtol = 1e-4, atol = 1e-4 })
            assert(c.ok, sketch.name .. "\n" .. s:script())
        end
    end
    return list
end

test("of few channels, pixels below each other are a tile: their lines share nothing", function()
    if not moon.features.llvm then return print("skip: no LLVM") end
    local list = compiled(w.conv2d { h = 33, w = 17, ci = 3, co = 32, k = 5, s = 2, p = 0 }, 3)
    local text = list[1].schedule:script()
    assert(text:find("for w_1_init in T.unroll(1):", 1, true) and not text:find("for h_1_init in T.unroll(1):", 1, true), text)
    compiled(w.conv3d { depth = 4, h = 9, w = 8, ci = 2, co = 20, k = 3, s = 1, p = 1 }, 2)
end)

test("the sum is cut into blocks where a panel of weights is larger than the first cache", function()
    local small = { l1 = 4 << 10, l2 = 128 << 10 }
    local function blocks(p, threads, lots)
        local names = sketches(p, threads, lots, nil, small)
        local n = 0
        for _, name in ipairs(names) do n = n + (name:find("^blocks of the sum") and 1 or 0) end
        assert(n >= 2, p:script() .. table.concat(names, ", "))
    end
    blocks(w.conv2d { h = 7, w = 6, ci = 48, co = 32, k = 3, p = 1 }, 2, 3) -- padding left out
    blocks(w.conv2d { h = 8, w = 8, ci = 64, co = 64, k = 3, s = 1, p = 1, g = 2, n = 2 }, 1, 2)
    blocks(w.conv2d_bias_relu { h = 8, w = 4, ci = 48, co = 32, k = 3, p = 1 }, 2, 2)
    blocks(w.conv1d { l = 75, ci = 48, co = 32, k = 3, p = 1 }, 2, 2)
    blocks(w.conv3d { depth = 4, h = 4, w = 4, ci = 32, co = 32, k = 3, p = 1 }, 2, 1)
    blocks(w.conv2d_transposed { h = 6, w = 6, ci = 64, co = 32, k = 4, s = 2, p = 1 }, 2, 2)
    blocks(w.capsule { h = 6, w = 6, ci = 32, co = 32, k = 3, p = 1 }, 2, 1)
end)

test("weights from far away are asked for ahead, past their end too", function()
    if not moon.features.llvm then return print("skip: no LLVM") end
    compiled(w.conv2d { h = 4, w = 4, ci = 256, co = 256, k = 3 }, 1)
end)

test("windows over channels by themselves", function()
    local first = {}
    for k, p in ipairs { w.depthwise { h = 9, w = 10, c = 32, k = 3, p = 1 }, w.depthwise { h = 11, w = 9, c = 48, k = 3, s = 2, p = 1, n = 2 },
        w.depthwise { h = 7, w = 9, c = 20, k = 5, d = 1 }, w.depthwise { h = 40, w = 36, c = 32, k = 3, s = 2, p = 1 },
        w.depthwise { h = 7, w = 7, c = 256, k = 3, p = 1 }, w.depthwise { h = 6, w = 6, c = 512, k = 3, s = 2, p = 1 } } do
        first[k] = is_right(p, 2, 2)[1]
    end
    local copied, unpadded = "taps in registers", "taps in registers, unpadded"
    local short = unpadded .. ", by pixels"
    local got, want = table.concat(first, "; "), table.concat({ short, short, copied .. ", by pixels", short, copied, unpadded }, "; ")
    assert(got == want, got)
end)

-- What the block adds up, without zeros: extents of its loops.
local function extents(s, name)
    local out = {}
    for k, l in ipairs(s:get_loops(name)) do out[k] = s:get(l).extent end
    return table.concat(out, " ")
end

test("zeros are left out for whatever stride, window and padding", function()
    math.randomseed(18)
    for _ = 1, 12 do
        local s, k = math.random(2, 4), math.random(1, 6)
        local p = math.random(0, k - 1)
        local h = math.random(2, 4)
        if (h - 1) * s - 2 * p + k >= 1 then
            local sch = moon.schedule(w.conv2d_transposed { h = h, w = h, ci = 2, co = 3, k = k, s = s, p = p })
            sch:skip_zeros("Y", true)
            local r = (k + s - 1) // s
            local out = (h - 1) * s - 2 * p + k
            local want = ("1 %d %d 3 %d %d 2"):format(out, out, r, r)
            assert(extents(sch, "Y") == want, extents(sch, "Y") .. " for " .. want)
            assert(moon.check(sch).ok, sch:script())
        end
    end
end)

return tests
