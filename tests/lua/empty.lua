-- A program of which most loops have no iteration: what each primitive makes of it. Done, the
-- result runs as before. Refused, the reason names the emptiness (or that what is not written
-- would be overwritten), or it is the one that the same program of four iterations gives.
local tests = {}

local source = [[
@T.prim_func
def main(A: T.Buffer((N, 8), "float32"), D: T.Buffer((N, 8), "float32"), R: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((N, 8), "float32")
    C = T.alloc_buffer((N, 8), "float32")
    for i, j in T.grid(N, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(N, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(N, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
    for j, k in T.grid(8, N):
        with T.block("R"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                R[vj] = T.float32(0)
            R[vj] = R[vj] + A[vk, vj]
]]

local rows = { -- step, "ok" or the code, words of the reason
    { 'split("B/i", {auto, 2})', "ok" },
    { 'split("B/i", {2, auto})', "ok" },
    { 'split("B/i", {2,2})', "ok" },
    { 'split("B/j", {auto, 4})', "ok" },
    { 'split("R/k",{auto,2})', "ok" },
    { 'loop_partition("B/i", {2})', "factors-too-large", "extent 0" },
    { 'loop_partition("B/j", {2})', "ok" },
    { 'merge("B/i","C/i")', "ok" },
    { 'fuse("B/i","B/j")', "ok" },
    { 'fuse("R/j","R/k")', "ok" },
    { 'reorder("B/j","B/i")', "not-affine", "empty domain" },
    { 'reorder("R/k","R/j")', "not-affine", "empty domain" },
    { 'reorder_block_iter_var("B",{1,0})', "ok" },
    { 'add_unit_loop("B")', "ok" },
    { 'add_unit_loop("B/i")', "ok" },
    { 'parallel("B/i")', "ok" },
    { 'parallel("B/j")', "ok" },
    { 'vectorize("B/j")', "ok" },
    { 'vectorize("B/i")', "ok" },
    { 'unroll("B/i")', "ok" },
    { 'bind("B/i","blockIdx.x")', "ok" },
    { 'bind("B/i","threadIdx.x")', "ok" },
    { 'compute_at("B","C/i")', "ok" },
    { 'compute_at("B","C/j")', "ok" },
    { 'reverse_compute_at("C","B/i")', "ok" },
    { 'reverse_compute_at("C","B/j")', "ok" },
    { 'compute_inline("B")', "ok" },
    { 'reverse_compute_inline("C")', "inline-pattern", "domain is empty" },
    { 'reverse_compute_inline("D")', "inline-pattern", "domain is empty" },
    { 'fuse_reduction_epilogue("R","D")', "not-reduction", "empty domain" },
    { 'cache_read("C",0,"shared")', "ok" },
    { 'cache_write("B",0,"shared")', "ok" },
    { 'cache_write("R",0,"local")', "part-written", "overwritten" },
    { 'cache_read("R",0,"local")', "ok" },
    { 'reindex_cache_read("C",0,"shared","lambda i, j: (j, i)")', "instances-lost", "is empty: nothing is copied" },
    { 'reindex_cache_write("B",0,"shared","lambda i, j: (j, i)")', "instances-lost", "is empty: nothing is copied" },
    { 'cache_inplace("R",0,"global")', "not-read-write" },
    { 'cache_index("B","global")', "ok" },
    { 'reindex("C",{"read",0})', "instances-lost", "is empty: nothing is copied" },
    { 'reindex("B",{"write",0})', "instances-lost", "is empty: nothing is copied" },
    { 'read_at("C/i","C",0,"shared")', "ok" },
    { 'read_at("R/j","R",0,"shared")', "ok" },
    { 'write_at("B/i","B",0,"shared")', "ok" },
    { 'write_at("R/j","R",0,"shared")', "part-written", "overwritten" },
    { 'decompose_reduction("R","R/j")', "not-reduction", "empty domain" },
    { 'decompose_reduction("R","R/k")', "not-reduction", "empty domain" },
    { 'rfactor("R/k",0)', "not-reduction", "empty domain" },
    { 'merge_reduction("C","R")', "has-init" },
    { 'skip_zeros("R",true)', "no-zeros" },
    { 'skip_padding("R","R/k",true)', "no-zeros" },
    { 'lift_factor("R",0)', "buffer-not-allocated" },
    { 'blockize("B/i")', "ok" },
    { 'blockize("B/j")', "ok" },
    { 'blockize("R/k")', "not-reduction", "empty domain" },
    { 'blockize("R/j")', "not-reduction", "empty domain" },
    { 'tensorize("B/j","x")', "no-such-intrinsic" },
    { 'specialize("n=4")', "bad-argument", "has no symbolic sizes" },
    { 'annotate("B/i","x",1)', "ok" },
    { 'annotate("B","x",1)', "ok" },
    { 'unannotate("B","x")', "no-such-annotation" },
    { 'sample_perfect_tile("B/i",2,4)', "bad-argument", "extent is 0" },
    { 'sample_partitioned_tile("B/i",2)', "bad-argument", "extent is 0" },
    { 'sample_compute_location("B")', "ok" },
    { 'transform_layout("B",{"write",0},"lambda i, j: (j, i)")', "map-not-invertible", "empty domain" },
    { 'transform_layout("B",{"write",0},"lambda i, j: (i, j // 4, j % 4)")', "map-not-invertible", "empty domain" },
    { 'transform_layout("B",{"write",0},"lambda i, j: (i // 2, j, i % 2)")', "map-not-invertible", "empty domain" },
    { 'transform_layout("B",{"write",0},"lambda i, j: (i*8+j,)")', "map-not-invertible", "empty domain" },
    { 'transform_layout("C","A","lambda i, j: (j, i)")', "buffer-not-found" },
    { 'transform_block_layout("B","lambda i, j: (j, i)")', "map-not-bijective", "domain is empty" },
    { 'transform_block_layout("B","lambda i, j: (i*8+j,)")', "map-not-bijective", "domain is empty" },
    { 'transform_block_layout("B","lambda i, j: (i//2, i%2, j)")', "map-not-bijective", "domain is empty" },
    { 'pad_einsum("B",{2,8})', "ok" },
    { 'pad_einsum("R",{8,4})', "ok" },
    { 'decompose_padding("B","B/i")', "padding-pattern" },
    { 'set_axis_separator("B",{"write",0},{1})', "ok" },
    { 'set_scope("B",0,"shared")', "ok" },
    { 'storage_align("B",0,0,16,4)', "ok" },
    { 'unsafe_set_dtype("B",0,"float16")', "ok" },
    { 'rolling_buffer("B",0)', "not-tiled" },
    { 'annotate_buffer_access("B",0,"read","lambda i, j: (i, i+1, j, j+1)")', "ok" },
}

-- The schedule after the step, or nil and the error.
local function try(n, step)
    local s = moon.schedule(moon.parse((source:gsub("N", tostring(n)))))
    local ok, e = pcall(function() load("local s, auto = ... s:" .. step)(s, moon.auto) end)
    if not ok then return nil, e end
    return s
end

for _, row in ipairs(rows) do
    local step, code, words = row[1], row[2], row[3]
    tests[#tests + 1] = { step, function()
        local s, e = try(0, step)
        assert((s and "ok" or e.code) == code, s and "accepted" or e.code .. ": " .. e.message)
        if s then
            local r = moon.check(s)
            assert(r.ok, r.problem or r.first_at)
        elseif words then
            assert(e.message:find(words, 1, true), e.message)
        else
            local full, f = try(4, step)
            assert(not full and f.code == code, full and "accepted with four iterations" or f.code)
        end
    end }
end

tests[#tests + 1] = { "a loop's own extent is not simplified by what holds inside of it", function()
    local s = moon.schedule(moon.parse [[
@T.prim_func
def main(A: T.Buffer((11, 1), "int32"), B: T.Buffer((11, 1), "int32")):
    for i in range(11):
        for j in range(1):
            with T.block("B"):
                v0 = T.axis.spatial(11, i)
                v1 = T.axis.spatial(1, j)
                B[v0, v1] = A[v0, v1]
]])
    s:split("i", { 2, 5, moon.auto })
    s:cache_read("B", 0, "local")
    s:compute_at("A_local", "j")
    s:cache_read("B", 0, "shared.dyn")
    s:split("i_1", { moon.auto, 4 }, false)
    s:cache_read("B", 0, "local", { "B" })
    s:split("i_1_0", { moon.auto, 3 }, false)
    s:split("i_1_0_0", { 4, 5 }, false)
    -- the copy runs where its extent is above 0: a guard of its own it has not
    assert(not s:script():find("in T.grid(1, 1)", 1, true))
    assert(moon.check(s).ok)
end }

return tests
