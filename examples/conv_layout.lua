-- A padded convolution in other layouts, and one whose channels do not fill a tile: each
-- schedule is checked against the program it began with.

local function checked(title, s)
    local result = moon.check(s)
    assert(result.ok, title .. ": the schedule changed the result")
    print(string.format("ok: %s, %d steps, hash %s", title, s:version(), s:hash()))
end

-- Channels in blocks: the input as n, c/8, h, w, c%8, the weights as the reduction walks
-- through them, the output by tiles of 8 channels. Parameters keep their layouts; the copies
-- of weights and output are what is packed.
do
    local s = moon.schedule(moon.workload.conv2d{h = 14, w = 14, ci = 16, co = 16, k = 3, s = 1, p = 1})
    local Y = s:get_block("Y")
    local weights = s:cache_read(Y, "W", "global")
    local out = s:cache_write(Y, 0, "global")

    s:transform_layout("Xp", {"write", 0}, function(n, h, w, c) return n, c // 8, h, w, c % 8 end)
    s:transform_layout(Y, {"read", 1}, function(r, t, c, o) return o // 8, c // 8, r, t, c % 8, o % 8 end)
    s:transform_layout(Y, {"write", 0}, function(n, h, w, o) return n, o // 8, h, w, o % 8 end)

    -- Loops in the order of the layouts, one for each of the new axes.
    s:transform_block_layout(Y, function(n, h, w, o, r, t, c)
        return n, o // 8, h, w, c // 8, r, t, c % 8, o % 8
    end)
    local n, o0, h, w, c0, r, t, c1, o1 = table.unpack(s:get_loops(Y))

    -- The padded rows that one row of output needs, in front of it; its packed weights in
    -- front of all rows; the row is unpacked when it is done.
    s:compute_at("Xp", h)
    s:compute_at(weights, o0)
    s:reverse_compute_at(out, h)
    s:parallel(o0)
    s:vectorize(o1)
    s:decompose_reduction(Y, c0)
    print(s:script())
    checked("blocked channels", s)
end

-- The padding as a fill and a copy, so that the copy has no conditions.
do
    local s = moon.schedule(moon.workload.conv2d{h = 14, w = 14, ci = 8, co = 8, k = 3, s = 1, p = 1})
    local Y = s:get_block("Y")

    s:transform_layout("Xp", {"write", 0}, function(n, h, w, c) return n, h, c, w end)
    local n, h = table.unpack(s:get_loops(Y))
    s:compute_at("Xp", h)
    local rows = s:get_loops("Xp")
    s:decompose_padding("Xp", rows[3])
    checked("padding decomposed", s)
end

-- 3 input and 10 output channels, in tiles of 4 and 8. The windows of the input are gathered
-- first, so that every index of the sum is an iter of its own; then the channels are padded.
do
    local s = moon.schedule(moon.workload.conv2d{h = 10, w = 10, ci = 3, co = 10, k = 3, s = 2, p = 1})
    local Y = s:get_block("Y")

    local windows = s:reindex(Y, {"read", 0})
    s:compute_inline("Xp")
    s:pad_einsum(Y, {1, 1, 1, 8, 1, 1, 4})

    -- The tiles, with what they use at the loops where it fits.
    local n, h, w, o, r, t, c = table.unpack(s:get_loops(Y))
    local o0, o1 = table.unpack(s:split(o, {moon.auto, 8}))
    s:reorder(n, h, o0, w, r, t, c, o1)
    local padded = s:get_producers(Y)
    s:compute_at(padded[1], h)
    s:compute_inline(windows)
    s:reverse_compute_at(s:get_consumers(Y)[1], o0)
    s:transform_layout(Y, {"read", 1}, function(r, t, c, o) return o // 8, r, t, c, o % 8 end)
    s:vectorize(o1)
    print(s:script())
    checked("padded channels", s)
end
