-- rewrite-layout - operands that the function says are free of layout take the order in which they are read.
--
-- The attribute layout_free_buffers lists the positions of such parameters. A copy annotated layout_rewrite_preproc
-- puts the operand into the new order; it is a part of the program, and of what is measured. What is read in more than
-- one place, or not as digits of the loops, stays. Source: auto-scheduler 7.7.
local moon, core, is = ...

local preproc = "meta_schedule.layout_rewrite_preproc"

-- The only block that reads the buffer for which fn says yes, and which of its reads; nil: several do, or none.
local function reader(s, fn)
    local block, at
    for _, b in ipairs(s:blocks()) do
        local view = core.block_view(s, b)
        for k, r in ipairs(view.leaf and view.reads or {}) do
            if fn(r) then
                if block then return nil end
                block, at = b, k
            end
        end
    end
    return block, at
end

-- Sizes and steps of the new dimensions, in the order of the loops; nil: the digits are not those of one number.
local function dimensions(digits, elements)
    local step = 1
    local list = {}
    for k = #digits, 1, -1 do
        local d = digits[k]
        if d.scale ~= step then return nil end
        step = step * d.extent
        list[#list + 1] = d
    end
    if step ~= elements then return nil end
    table.sort(list, function(a, b)
        if a.loop ~= b.loop then return a.loop < b.loop end
        return a.lower > b.lower
    end)
    return list
end

-- The index map of a buffer of that shape to these dimensions.
local function map_of(shape, dims)
    local names, flat, out = {}, nil, {}
    for k in ipairs(shape) do
        names[k] = "i" .. k
        flat = flat and ("(%s) * %d + %s"):format(flat, shape[k], names[k]) or names[k]
    end
    for k, d in ipairs(dims) do out[k] = ("(%s) // %d %% %d"):format(flat, d.scale, d.extent) end
    return moon.index_map(("lambda %s: (%s,)"):format(table.concat(names, ", "), table.concat(out, ", ")))
end

local function rewrite(s, param)
    local block, at = reader(s, function(r) return r.param == param end)
    local first, first_at, chain = block, at, {}
    while block do -- copies on the way
        local view, body = core.block_view(s, block), core.block_body(s, block)
        if not (body and body.copy and #view.reads == 1 and #view.writes == 1) then break end
        chain[#chain + 1] = block
        local id = view.writes[1].id
        block, at = reader(s, function(r) return r.id == id end)
    end
    local digits = block and core.index_digits(s, block, at)
    local buffer = s:func().buffers[param + 1]
    local shape, elements = buffer.shape, 1
    for _, n in ipairs(shape) do elements = elements * (math.type(n) == "integer" and n or 0) end
    local dims = digits and dimensions(digits, elements)
    if not dims then return end
    local map = map_of(shape, dims)
    local copy = s:cache_read(first, first_at - 1, "global", { first })
    s:annotate(copy, preproc, true)
    s:transform_layout(copy, { "write", 0 }, map)
    for _, b in ipairs(chain) do s:transform_layout(b, { "write", 0 }, map) end
end

return function()
    return function(s)
        for _, k in ipairs(s:func().attrs.layout_free_buffers or {}) do
            -- an order that cannot be shown to keep all elements is none
            if not is.refused(s, function(c) rewrite(c, k) end) then rewrite(s, k) end
        end
        return true
    end
end
