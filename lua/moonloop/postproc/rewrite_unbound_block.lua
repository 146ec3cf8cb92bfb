-- rewrite-unbound-block - what no thread runs yet is bound. opts: blocks. Source: auto-scheduler 7.3.
local _, core, _, bind = ...

local function is_bound(s, block)
    local blocks, threads
    local at = s:get_sref(block).parent
    while at do
        local thread = at.kind == "loop" and s:get(at).thread or ""
        blocks = blocks or thread:find("^blockIdx")
        threads = threads or thread:find("^threadIdx")
        at = s:get_sref(at).parent
    end
    return blocks and threads
end

return function(opts, target)
    return function(s)
        local again = true
        while again do
            again = false
            for _, b in ipairs(s:blocks()) do
                local scope = s:get_sref(b).parent
                while scope and scope.kind ~= "block" do scope = s:get_sref(scope).parent end
                if scope and core.block_view(s, scope).root and not is_bound(s, b) then
                    bind.block(s, b, opts.blocks or 256, target.max_threads or 1024, function(_, limit) return limit end)
                    again = true
                    break
                end
            end
        end
        return true
    end
end
