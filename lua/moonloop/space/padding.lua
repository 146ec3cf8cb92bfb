-- padding - taps of a convolution that meet zeros beside the image, and how they are left out.
--
-- The stage that pads stores a value or 0, by bounds. Where it says that its zeros stand for
-- what is not there, skip_padding leaves out the instances that meet them: of an axis whose
-- results a tile has one of, they are whole iterations of the loop over its taps; of the axis
-- that a tile covers, written-out taps know which results they are of. Where all are left out,
-- nothing is left to be padded. Source: workloads 2; lowering-and-codegen 3.6a.
local moon, core, facts = ...

local padding = {}

-- The dimension of a buffer along which a step of so many elements goes, and the elements of a step of one.
function padding.dimension(access, step)
    local stride = 1
    for d = #access.shape, 1, -1 do
        local inner = stride
        stride = stride * access.shape[d]
        if step < stride then return d, inner end
    end
end

-- The part of the taps that meet the image: of results of extent n, which lie `s` apart, and k
-- taps `dilation` apart, where `front` of zeros come before `inside` elements.
local function live(n, s, k, dilation, front, inside)
    local met = 0
    for i = 0, n - 1 do
        for r = 0, k - 1 do
            local at = i * s + r * dilation - front
            if at >= 0 and at < inside then met = met + 1 end
        end
    end
    return met / (n * k)
end

-- What pads the image (an access) of block `name`: {stage = its name, elements = of the padded image, taps = a list of
-- {tap = reduce iterator, row = spatial one, live = part of the taps that meet the image}, all = each padded axis is
-- one of these}; nil: nothing, or zeros that are factors.
function padding.of(s, name, f, image)
    for _, p in ipairs(s:get_producers(s:get_block(name))) do
        local g = facts.of(s, p)
        local x = g and #g.reduce == 0 and #g.reads == 1 and g.write.buffer == image.buffer and g.reads[1]
        if x and #x.shape == #g.write.shape and #s:get_consumers(p) == 1 then
            local out, padded = { stage = s:get(p).name, elements = g.write.elements, taps = {} }, 0
            for d, extent in ipairs(g.write.shape) do
                padded = padded + (extent > x.shape[d] and 1 or 0)
                for _, k in ipairs(extent > x.shape[d] and f.reduce or {}) do
                    local of, inner = padding.dimension(image, image.strides[k] or 0)
                    for _, row in ipairs(of == d and not image.by[k] and f.spatial or {}) do
                        local step = image.strides[row]
                        if step and not image.by[row] and padding.dimension(image, step) == d and
                            pcall(function() s:copy():skip_padding(name, f.iters[k].loop) end) then
                            out.taps[#out.taps + 1] = { tap = k, row = row,
                                live = live(f.iters[row].extent, step // inner, f.iters[k].extent, image.strides[k] // inner,
                                    (extent - x.shape[d]) // 2, x.shape[d]) }
                        end
                    end
                end
            end
            out.all = #out.taps == padded
            return #out.taps > 0 and out or nil
        end
    end
end

-- Leaves the zeros of these taps out of block `name`; unpadded: the name of the stage, which goes.
function padding.leave(s, name, taps, unpadded)
    for _, t in ipairs(taps) do
        s:skip_padding(name, facts.of(s, s:get_block(name)).iters[t.tap].loop)
    end
    if unpadded then s:compute_inline(unpadded) end
end

-- The part of the work that is left of it.
function padding.part(taps)
    local part = 1
    for _, t in ipairs(taps) do part = part * t.live end
    return part
end

return padding
