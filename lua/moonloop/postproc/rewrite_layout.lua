-- rewrite-layout - operands that the function says are free of layout. Source: auto-scheduler 7.7.
local _, core = ...

return function()
    return function(s)
        local free = s:func().attrs.layout_free_buffers
        if free and #free > 0 then core.fail("not-yet", "rewrite-layout of the buffers in layout_free_buffers") end
        return true
    end
end
