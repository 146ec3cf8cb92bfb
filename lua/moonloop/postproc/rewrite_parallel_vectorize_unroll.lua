-- rewrite-parallel-vectorize-unroll - loops become what the annotations of their root ask for.
-- Source: auto-scheduler 7.4.
local moon, core, is = ...

local keys = { parallel = "meta_schedule.parallel", vector = "meta_schedule.vectorize",
    explicit = "meta_schedule.unroll_explicit", implicit = "meta_schedule.unroll_implicit" }

-- How many of the innermost loops walk memory without a gap, in every access.
local function contiguous(s, view, loops)
    local least = #loops
    local function look(access)
        if not access.strides then
            least = 0
            return
        end
        local n, used, extent = 0, nil, nil
        for k = #loops, 1, -1 do
            local stride = access.strides[k]
            if stride ~= 0 then
                if used == nil then
                    if not (stride == 1 or k == #loops) then break end
                elseif extent == nil or stride ~= used * extent then
                    break
                end
                used, extent = stride, s:get(loops[k]).extent
            end
            n = n + 1
        end
        least = math.min(least, n)
    end
    for _, r in ipairs(view.reads) do look(r) end
    for _, r in ipairs(view.writes) do look(r) end
    return least
end

-- A loop that may change its kind: its extent; else nil.
local function free(s, loop)
    local info = s:get(loop)
    if info.thread or info.annotations and next(info.annotations) ~= nil then return nil end
    return info.extent
end

local function front(s, loops, types, limit)
    local n, product = 0, 1
    for k, l in ipairs(loops) do
        local extent = types[k] == "S" and free(s, l)
        if not extent then break end
        n, product = k, product * extent
        if product > limit or core.loop_body(s, l) ~= 1 then break end
    end
    return product > 1 and n or 0
end

local function back(s, loops, types, limit, most)
    local n, product = 0, 1
    for k = #loops, 1, -1 do
        local l = loops[k]
        local extent = n < most and types[k] == "S" and core.loop_body(s, l) == 1 and free(s, l)
        if not extent or product * extent > limit then break end
        n, product = n + 1, product * extent
    end
    return product > 1 and n or 0
end

local function rewrite(s, block, ask)
    local view, loops = core.block_view(s, s:handle(block)), s:loops(block)
    if #loops == 0 then return end
    local types, most = is.loop_types(s, block), contiguous(s, view, loops)
    local parallel = ask.parallel and front(s, loops, types, ask.parallel) or 0
    local vector = ask.vector and back(s, loops, types, ask.vector, most) or 0
    local whole = 0
    for k, l in ipairs(loops) do
        if not (types[k] == "S" and free(s, l) and core.loop_body(s, l) == 1) then break end
        whole = k
    end
    if parallel > 0 and vector > 0 and whole == #loops and most == #loops then
        local parts = s:split(s:fuse(table.unpack(s:get_loops(block))), { moon.auto, ask.vector })
        s:parallel(parts[1])
        s:vectorize(parts[2])
    else
        parallel = math.min(parallel, #loops - vector)
        if parallel > 0 then
            s:parallel(s:fuse(table.unpack(s:get_loops(block), 1, parallel)))
        end
        if vector > 0 then
            local now = s:get_loops(block)
            s:vectorize(s:fuse(table.unpack(now, #now - vector + 1)))
        end
    end
    local step = ask.explicit or ask.implicit
    if step and step ~= 0 and not is.spatial(view) then
        local outer = s:get_loops(block)[1]
        s:annotate(outer, "pragma_auto_unroll_max_step", step)
        s:annotate(outer, "pragma_unroll_explicit", ask.explicit and 1 or 0)
    end
end

return function()
    return function(s)
        for _, name in ipairs(s:mod().names) do
            local any = s:blocks()[1]
            local root = any
            while root and s:get_sref(root).parent do root = s:get_sref(root).parent end
            local said = root and s:get(root).annotations or {}
            local ask, found = {}, false
            for what, key in pairs(keys) do
                if said and said[key] ~= nil then
                    ask[what], found = said[key], true
                end
            end
            if found then
                local r = s:get_block(root.name, name)
                for _, what in ipairs { "parallel", "vector", "explicit", "implicit" } do
                    if ask[what] ~= nil then s:unannotate(r, keys[what]) end
                end
                for _, b in ipairs(s:get_child_blocks(r)) do
                    if s:handle(b).alive then rewrite(s, b, ask) end
                end
            end
        end
        return true
    end
end
