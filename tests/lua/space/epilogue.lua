-- What stands before and behind an operator: its draft is of the family of the operator alone, and
-- computes the same.
local tests = {}
local w = moon.workload

local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function sizes(shape) return table.concat(shape, ", ") .. "," end

-- Parameters of the function, by name and in order, and its text below the head.
local function taken_apart(p)
    local head, body = p:func("main"):script():match("def main%((.-)%):\n(.*)$")
    local params = {}
    for name, shape, dtype in head:gmatch('(%w+): T%.Buffer%(%(([%d, ]+)%), "(%w+)"%)') do
        local one = { name = name, dtype = dtype }
        for n in shape:gmatch("%d+") do one[#one + 1] = tonumber(n) end
        params[#params + 1] = one
    end
    return params, body
end

local function stage(name, shape, value)
    local loops, iters, at = {}, {}, {}
    for d, n in ipairs(shape) do
        loops[d], at[d] = "e" .. d, "v" .. d
        iters[d] = ("            v%d = T.axis.spatial(%d, e%d)\n"):format(d, n, d)
    end
    return ("    for %s in T.grid(%s):\n        with T.block(%q):\n%s            %s[%s] = %s\n"):format(table.concat(loops, ", "),
        table.concat(shape, ", "), name, table.concat(iters), name, table.concat(at, ", "), value)
end

local function element(q)
    local at = {}
    for d in ipairs(q) do at[d] = "v" .. d end
    return ("%s[%s]"):format(q.name, table.concat(at, ", "))
end

local function buffer(name, shape, dtype) return ("%s: T.Buffer((%s), %q)"):format(name, sizes(shape), dtype) end
local function local_buffer(q) return ("    %s = T.alloc_buffer((%s), %q)\n"):format(q.name, sizes(q), q.dtype) end

-- How the last result goes on: the value of Z, its dtype and another parameter, where there are such.
local behind = {
    ["a relu"] = function(y) return ("T.max(%s, T.%s(0))"):format(element(y), y.dtype) end,
    ["a bias"] = function(y) return ("%s + more[v%d]"):format(element(y), #y), nil, buffer("more", { y[#y] }, y.dtype) end,
    ["another tensor"] = function(y)
        return ("%s + %s"):format(element(y), element(y):gsub("^%w+", "more")), nil, buffer("more", y, y.dtype)
    end,
    ["a cast"] = function(y)
        local to = y.dtype == "float32" and "float64" or "float32"
        return ('T.Cast("%s", %s)'):format(to, element(y)), to
    end,
}

-- The program with Z behind its first result, which is given back, too, where kept says so.
local function followed(p, value_of, kept)
    local params, body = taken_apart(p)
    local head, y = {}, nil
    for _, q in ipairs(params) do
        if not y and p:outputs()[q.name] then
            y = q
            if kept then head[#head + 1] = buffer(q.name, q, q.dtype) end
        else
            head[#head + 1] = buffer(q.name, q, q.dtype)
        end
    end
    local value, dtype, more = value_of(y)
    head[#head + 1] = more
    head[#head + 1] = buffer("after", y, dtype or y.dtype)
    return moon.parse(("@T.prim_func\ndef main(%s):\n%s%s%s"):format(table.concat(head, ", "), kept and "" or local_buffer(y), body,
        stage("after", y, value)))
end

-- The program with a relu before its first input.
local function preceded(p)
    local params, body = taken_apart(p)
    local x, head = params[1], {}
    for k, q in ipairs(params) do head[k] = buffer(k == 1 and "raw" or q.name, q, q.dtype) end
    local value = ("T.max(%s, T.%s(0))"):format(element(x):gsub("^%w+", "raw"), x.dtype)
    return moon.parse(("@T.prim_func\ndef main(%s):\n%s%s%s"):format(table.concat(head, ", "), local_buffer(x), stage(x.name, x, value), body))
end

local function draft_of(p) return moon.space.sketches(p, { threads = 2 })[1] end

local function same_family(p, also)
    local want = draft_of(p).name
    local function check(q, what)
        local got = draft_of(q)
        assert(got.name == want, ("%s: %s, alone %s"):format(what, got.name, want))
        assert(moon.check(got.schedule).ok, what .. "\n" .. got.schedule:script())
    end
    for what, value_of in pairs(behind) do check(followed(p, value_of), what) end
    check(followed(p, behind["a relu"], true), "a relu, and the result itself")
    if also then check(preceded(p), "a relu before") end
end

test("windows of each channel", function()
    same_family(w.depthwise { h = 9, w = 10, c = 32, k = 3, p = 1 }, true)
    same_family(w.depthwise { h = 18, w = 20, c = 32, k = 3, s = 2, p = 1 })
    same_family(w.max_pool { h = 12, w = 12, c = 32, k = 3, s = 2, p = 1 })
end)

test("convolutions", function()
    same_family(w.conv1d { l = 40, ci = 6, co = 32, k = 3, s = 2, p = 1 }, true)
    same_family(w.conv2d { h = 9, w = 11, ci = 5, co = 48, k = 3, p = 1 }, true)
    same_family(w.conv2d { h = 6, w = 37, ci = 4, co = 5, k = 3, p = 1 }, true)
    same_family(w.conv2d_transposed { h = 4, w = 5, ci = 4, co = 32, k = 4, s = 2, p = 1 }, true)
    same_family(w.conv2d_transposed { h = 5, w = 18, ci = 6, co = 3, k = 4, s = 2, p = 1 })
end)

test("products", function()
    same_family(w.matmul { m = 48, n = 64, k = 32 })
    same_family(w.transpose_batch_matmul { s = 32, h = 3, d = 32 })
    same_family(w.quantized_matmul { m = 48, n = 64, k = 32 })
    same_family(w.attention { h = 2, s = 64, d = 32 }, true)
end)

test("rows and columns", function()
    same_family(w.argmax { m = 32, n = 64 })
    same_family(w.softmax { m = 32, n = 64 })
    same_family(w.sum_columns { m = 64, n = 64 })
    same_family(w.mean_pool { h = 7, w = 7, c = 64 })
end)

return tests
