-- mlt-wide-vector - multi-level tiling whose innermost part of the last dimension of the result is one whole register.
--
-- opts: as multi-level-tiling, and bits (of a register). Source: auto-scheduler 6.7.
local moon, core, _, mlt = ...

local function split(s, block, loop, n, opts)
    local view = core.block_view(s, s:handle(block))
    local write = view.writes[1]
    local last = write and write.dims[write.rank]
    local bound = last and last.iter and last.shift == 0 and view.iters[last.iter].loop
    if bound ~= s:handle(loop) then return mlt.split(s, block, loop, n, opts) end
    local lanes, extent = opts.bits // tonumber(write.dtype:match("%d+")), s:get(loop).extent
    if extent and extent > lanes then
        local outer, vector = table.unpack(s:split(loop, { moon.auto, lanes }))
        local factors, parts = mlt.split(s, block, outer, n - 1, opts)
        local f, p = { table.unpack(factors) }, { table.unpack(parts) }
        f[n], p[n] = lanes, vector
        return f, p
    end
    local factors = {}
    for k = 1, n do factors[k] = k == n and (extent or moon.auto) or 1 end
    return factors, s:split(loop, factors)
end

return function(opts)
    local with = { split = split }
    for k, v in pairs(opts) do with[k] = v end
    return function(s, block, target) return mlt.apply(s, block, with, target) end
end
