-- A padded convolution scheduled by hand, checked, saved in two forms and replayed from both.
-- The structure is that of the workload C2D-2, the sizes are smaller.
local m = workload.conv2d{h = 14, w = 14, ci = 32, co = 32, k = 3, s = 1, p = 1}
local s = schedule(m)

-- The padding stage is folded into the reads of the convolution.
s:compute_inline("Xp")

-- Tiles of 2 x 7 pixels and 8 channels; the reduction in steps of 4 channels.
local Y = s:get_block("Y")
local n, h, w, o, r, t, c = table.unpack(s:get_loops(Y))
local h0, h1 = table.unpack(s:split(h, {auto, 2}))
local w0, w1 = table.unpack(s:split(w, {auto, 7}))
local o0, o1 = table.unpack(s:split(o, {auto, 8}))
local r0, r1 = table.unpack(s:split(r, {3, 1}))
local t0, t1 = table.unpack(s:split(t, {1, 3}))
local c0, c1 = table.unpack(s:split(c, {auto, 4}))
s:reorder(n, h0, w0, o0, r0, t0, c0, r1, t1, c1, h1, w1, o1)

-- Accumulate each tile in a buffer of its own, and store it when it is done.
local out = s:cache_write(Y, 0, "local")
s:reverse_compute_at(out, o0)

-- The weights of one step of the reduction are copied where they are used.
local wc = s:cache_read(Y, "W", "global")
s:compute_at(wc, c0)

-- Tiles run on all cores, channels as lanes of a vector, the init once per tile.
local tiles = s:fuse(n, h0, w0)
s:parallel(tiles)
s:vectorize(o1)
s:decompose_reduction(Y, r0)

print(s:script())

local result = moon.check(s)
assert(result.ok, "the schedule changed the result")
print(string.format("ok: %d steps, hash %s", s:version(), s:hash()))

-- Saved as Lua and as JSON, both replay to the same program. The files get names of their own
-- and go away with the block, whatever happens in it.
do
    local stem = os.tmpname()
    local files <close> = setmetatable({stem, stem .. ".lua", stem .. ".json"}, {
        __close = function(names)
            for _, name in ipairs(names) do os.remove(name) end
        end,
    })
    focus(s)
    assert(moon.cmd("save", files[2]).ok)
    assert(moon.cmd("save", files[3]).ok)
    dofile(files[2])
    local again = moon.open(files[3])
    assert(again:hash() == s:hash(), "the replay from JSON gives another program")
    print("replayed from Lua and from JSON to hash " .. again:hash(8))
end

print("\nThe trace in Python:")
print(s:trace():python())
