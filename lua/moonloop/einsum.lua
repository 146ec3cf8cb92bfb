-- einsum - programs of one contraction from a line: moon.einsum("bmk,bkn->bmn", {b = 12, m = 128, k = 64, n = 128}).
--
-- A letter is a loop; one that is not in the result is reduced, in the order of the text. Twice in an operand it is
-- the diagonal. "..." are dimensions without letters, lined up at their ends. Without "->" the result has the letters
-- that occur once, sorted. Sizes are given by letter, or by the shape of each operand; where another operand has more
-- a dimension of 1 is read at 0.
local moon, core = ...
local te, base = moon.te, moon.workload and core.workload_base

local MOST = 16 -- dimensions

-- ---- the text

-- Refuses the text, with the place in it.
local function refuse(spec, at, fmt, ...)
    local _, before = spec:sub(1, at - 1):gsub("[^\x80-\xbf]", "") -- characters
    core.fail("bad-argument", ("einsum: %s\n   %s\n   %s^"):format(fmt:format(...), spec, (" "):rep(before)))
end

-- The terms of one side from `at` on: lists of {letter or "...", at}; a comma parts them.
local function read_terms(spec, at, last)
    local terms, dots = { {} }, nil
    while at <= last do
        local c = spec:sub(at, at)
        local term = terms[#terms]
        if c:find("%a") then
            term[#term + 1] = { c, at = at }
        elseif c == "," then
            terms[#terms + 1], dots = {}, nil
        elseif spec:sub(at, at + 2) == "..." then
            if dots then refuse(spec, at, "a second ... in one operand") end
            term[#term + 1], dots = { "...", at = at }, at
            at = at + 2
        elseif not c:find("%s") then
            refuse(spec, at, "a letter, ... or a comma is needed")
        end
        at = at + 1
    end
    return terms
end

-- The operands and the result, as terms.
local function read(spec)
    if type(spec) ~= "string" then core.fail("bad-argument", "einsum: a text is needed, such as \"ij,jk->ik\"") end
    local arrow = spec:find("->", 1, true)
    local again = arrow and spec:find("->", arrow + 2, true)
    if again then refuse(spec, again, "a second ->") end
    local operands = read_terms(spec, 1, (arrow or #spec + 1) - 1)
    local count, seen, dots = {}, {}, nil
    for _, term in ipairs(operands) do
        for _, e in ipairs(term) do
            count[e[1]] = (count[e[1]] or 0) + 1
            if e[1] == "..." then dots = true end
        end
    end
    local result = { { "...", at = 1 } }
    if not dots then result = {} end
    if not arrow then
        local once = {}
        for letter, n in pairs(count) do
            if n == 1 and letter ~= "..." then once[#once + 1] = letter end
        end
        table.sort(once)
        for _, letter in ipairs(once) do result[#result + 1] = { letter, at = 1 } end
        return operands, result
    end
    local terms = read_terms(spec, arrow + 2, #spec)
    if #terms > 1 then refuse(spec, spec:find(",", arrow, true), "a second result") end
    for _, e in ipairs(terms[1]) do
        if not count[e[1]] then refuse(spec, e.at, "%s of the result is in no operand", e[1]) end
        if seen[e[1]] then refuse(spec, e.at, "%s is in the result already", e[1]) end
        seen[e[1]] = true
    end
    return operands, terms[1]
end

-- ---- sizes

local function check_size(spec, at, size, what)
    if type(size) == "string" then
        if not size:find("^[%a_][%w_]*$") then refuse(spec, at, "size of %s: a name or a number is needed", what) end
    elseif math.type(size) ~= "integer" or size < 1 or size > (1 << 31) - 1 then
        local is = size ~= size and "no number" or type(size) == "number" and tostring(size) or "a " .. type(size)
        refuse(spec, at, "size of %s: an integer from 1 to %d is needed, not %s", what, (1 << 31) - 1, is)
    end
    return size
end

-- Sizes by letter: the shape of each operand from them. given["..."]: the list of those without letters.
local function shapes_of(spec, operands, given)
    local shapes, used = {}, {}
    for k, term in ipairs(operands) do
        local shape = {}
        for _, e in ipairs(term) do
            local size = given[e[1]]
            used[e[1]] = true
            if size == nil then refuse(spec, e.at, "the size of %s is missing", e[1]) end
            if e[1] == "..." then
                if type(size) ~= "table" then refuse(spec, e.at, "size of ...: a list is needed") end
                for _, n in ipairs(size) do shape[#shape + 1] = n end
            else
                shape[#shape + 1] = size
            end
        end
        shapes[k] = shape
    end
    for letter in pairs(given) do
        if not used[letter] then
            core.fail("bad-argument", ("einsum: a size is given for %s, which is not in %s"):format(tostring(letter), spec))
        end
    end
    return shapes
end

-- Each operand as a list of loops, one a dimension ("e1" and so on for those of "..."), and the size of each loop.
local function line_up(spec, operands, shapes)
    local dims, extent, widest = {}, {}, 0
    for k, term in ipairs(operands) do
        local shape, list, letters = shapes[k], {}, 0
        for _, e in ipairs(term) do letters = letters + (e[1] == "..." and 0 or 1) end
        local start = term[1] and term[1].at or #spec
        if type(shape) ~= "table" then
            core.fail("bad-argument", ("einsum: the shape of operand %d is a list: {{64, 32}, …}, one for each operand"):format(k))
        end
        local extra = #shape - letters
        local has_dots = letters < #term
        if extra < 0 or (extra > 0 and not has_dots) then
            refuse(spec, start, "operand %d has %d letters%s, its shape %d dimensions", k, letters,
                has_dots and " and ..." or "", #shape)
        end
        if #shape > MOST then refuse(spec, start, "operand %d has more than %d dimensions", k, MOST) end
        widest = math.max(widest, extra)
        for _, e in ipairs(term) do
            for d = 1, e[1] == "..." and extra or 1 do
                local name = e[1] == "..." and "e" .. (extra - d + 1) or e[1]
                local size = check_size(spec, e.at, shape[#list + 1], e[1])
                local have = extent[name]
                if have == nil or have == 1 then
                    extent[name] = size
                elseif size ~= have and size ~= 1 then
                    refuse(spec, e.at, "%s is %s here and %s before", e[1], size, have)
                end
                list[#list + 1] = name
            end
        end
        dims[k] = list
    end
    return dims, extent, widest
end

-- ---- the module

local function names_of(opts, n)
    core.want(opts.names, "table?", "einsum: names")
    local names, seen = {}, {}
    for k = 1, n + 1 do
        local name = opts.names and opts.names[k]
        if opts.names and (type(name) ~= "string" or not name:find("^[%a_][%w_]*$") or seen[name]) then
            core.fail("bad-argument", ("einsum: names: %d different names are needed, the last one of the result"):format(n + 1))
        end
        names[k] = name or (n < 26 and string.char(64 + k)) or ("A%d"):format(k)
        seen[names[k]] = true
    end
    return names
end

-- The reference: operands one after the other; what is only in those that were read is summed at once.
local function reference(dims, result, extent)
    local function where(tensor, list, ix)
        local view = { tensor }
        for d, name in ipairs(list) do view[d + 1] = tensor.shape[d] == 1 and ix(0, {}) or ix(name) end
        return view
    end
    return function(out, inputs)
        local left, left_dims = core.tensor({}, out.dtype, "ones"), {}
        for k, list in ipairs(dims) do
            local loops, seen, wanted, keep, shape = {}, {}, {}, {}, {}
            for _, l in ipairs { left_dims, list } do
                for _, name in ipairs(l) do
                    if not seen[name] then
                        seen[name], loops[#loops + 1] = true, name
                    end
                end
            end
            for n = k + 1, #dims do
                for _, name in ipairs(dims[n]) do wanted[name] = true end
            end
            for _, name in ipairs(result) do wanted[name] = true end
            for _, name in ipairs(loops) do
                if wanted[name] then
                    keep[#keep + 1], shape[#shape + 1] = name, extent[name]
                end
            end
            local target = out
            if k == #dims then
                keep = result
            else
                target = core.tensor(shape, out.dtype:find("float") and "float64" or "int64")
            end
            local extents = {}
            for n, name in ipairs(loops) do extents[n] = extent[name] end
            if #loops == 0 then loops, extents = { "" }, { 1 } end
            local ix = base.indexer(loops)
            core.contract(extents, where(target, keep, ix), where(left, left_dims, ix), where(inputs[k], list, ix))
            left, left_dims = target, keep
        end
    end
end

local function build(spec, dims, result, extent, opts)
    local dtype, acc = base.dtypes(opts)
    local names = names_of(opts, #dims)
    local symbols, inputs = {}, {}
    local function size(e)
        if type(e) ~= "string" then return e end
        symbols[e] = symbols[e] or te.size_var(e)
        return symbols[e]
    end
    local kept, reduced, loop = {}, {}, {}
    for _, name in ipairs(result) do kept[name] = true end
    for _, list in ipairs(dims) do
        for _, name in ipairs(list) do
            if not kept[name] and not loop[name] then
                loop[name] = te.reduce_axis(size(extent[name]), name)
                reduced[#reduced + 1] = loop[name]
            end
        end
    end
    -- A single operand that is only moved keeps its type.
    local moved = #dims == 1 and #reduced == 0 and not opts.acc
    local shape = {}
    for d, name in ipairs(result) do shape[d] = size(extent[name]) end
    for k, list in ipairs(dims) do
        local own = {}
        for d in ipairs(list) do own[d] = size(opts.shapes[k][d]) end
        inputs[k] = te.placeholder(own, dtype, names[k])
    end
    local out = te.compute(shape, function(...)
        local at, product = { ... }, nil
        for d, name in ipairs(result) do loop[name] = at[d] end
        for k, list in ipairs(dims) do
            local index = {}
            for d, name in ipairs(list) do index[d] = opts.shapes[k][d] == 1 and extent[name] ~= 1 and 0 or loop[name] end
            local e = inputs[k](table.unpack(index))
            e = moved and e or te.cast(e, acc)
            product = product and product * e or e
        end
        return #reduced > 0 and te.sum(product, reduced) or product
    end, names[#names], result)
    return inputs, out, #reduced > 0, next(symbols) ~= nil
end

return function(spec, sizes, opts)
    core.want(sizes, "table", "einsum: sizes by letter, or a list of shapes")
    if type(opts) == "table" and #opts > 0 then
        core.fail("bad-argument", "einsum: the shapes are one list: {{64, 32}, {32, 64}}")
    end
    base.option_names(opts, { dtype = true, acc = true, names = true })
    local operands, terms = read(spec)
    local shapes, by_letter = sizes, rawlen(sizes) == 0 and (next(sizes) ~= nil or #operands[1] > 0)
    for key in pairs(sizes) do
        if not by_letter and math.type(key) ~= "integer" then
            core.fail("bad-argument", "einsum: sizes by letter or a list of shapes, not both")
        end
    end
    if by_letter then shapes = shapes_of(spec, operands, sizes) end
    if #shapes ~= #operands then
        core.fail("bad-argument", ("einsum: %d shapes are given for the %d operands of %s"):format(#shapes, #operands, spec))
    end
    local dims, extent, widest = line_up(spec, operands, shapes)
    local result = {}
    for _, e in ipairs(terms) do
        for d = 1, e[1] == "..." and widest or 1 do
            result[#result + 1] = e[1] == "..." and "e" .. (widest - d + 1) or e[1]
        end
    end
    if #result > MOST then refuse(spec, #spec, "the result has more than %d dimensions", MOST) end
    local inputs, out, reduces, symbolic = build(spec, dims, result, extent, base.with(opts or {}, { shapes = shapes }))
    if symbolic then
        local params = base.with(inputs)
        params[#params + 1] = out
        return core.module(te.func(params, "main"))
    end
    local points, done = 1, {}
    for _, list in ipairs(dims) do
        for _, name in ipairs(list) do
            if not done[name] then points = base.times(points, extent[name]) end
            done[name] = true
        end
    end
    local each = #dims - 1 + (reduces and 1 or 0)
    local refer = reference(dims, result, extent)
    return base.finish {
        id = "einsum", inputs = inputs, outputs = { out }, flop = each > 0 and base.times(each, points) or 0,
        reference = function(t)
            local given = {}
            for k, x in ipairs(inputs) do given[k] = t[x.name] end
            refer(t[out.name], given)
        end,
    }
end
