-- workload/networks - the distinct layers of ResNet-50, MobileNet-V2, BERT-large and ViT-B/16, by the names R1, M1, B1,
-- V1 and so on, and the matrix products of LoopTune. Each row has how often its network has it (times).
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- ---- what networks have between their products

-- bias_add{m=, n=}: Y[i,j] = X[i,j] + bias[j]
function workload.bias_add(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.dtypes(opts)
    local X, bias = te.placeholder({ s.m, s.n }, dtype, "X"), te.placeholder({ s.n }, acc, "bias")
    local Y = te.compute({ s.m, s.n }, function(i, j) return te.cast(X(i, j), acc) + bias(j) end, "Y")
    return base.finish {
        id = s.id or "bias_add", inputs = { X, bias }, outputs = { Y }, flop = base.times(s.m, s.n),
        reference = function(t) core.bias_add(t.Y, t.X, t.bias) end,
    }
end

-- embedding{m=, n=, vocabulary=, kinds=2}: Y[i,j] = word[ids[i],j] + position[i,j] + kind[kinds[i],j]
function workload.embedding(opts)
    local s = base.sizes(opts, { m = true, n = true, vocabulary = true, kinds = 2 })
    local dtype, acc = base.dtypes(opts)
    local ids, types = te.placeholder({ s.m }, "int32", "ids"), te.placeholder({ s.m }, "int32", "types")
    local word = te.placeholder({ s.vocabulary, s.n }, dtype, "word")
    local position = te.placeholder({ s.m, s.n }, dtype, "position")
    local kind = te.placeholder({ s.kinds, s.n }, dtype, "kind")
    local Y = te.compute({ s.m, s.n }, function(i, j)
        return te.cast(word(ids(i), j), acc) + te.cast(position(i, j), acc) + te.cast(kind(types(i), j), acc)
    end, "Y")
    return base.finish {
        id = s.id or "embedding", inputs = { ids, types, word, position, kind }, outputs = { Y },
        flop = base.times(2, s.m, s.n), ranges = { ids = { 0, s.vocabulary }, types = { 0, s.kinds } },
        reference = function(t)
            local sum = core.tensor({ s.m, s.n }, acc:find("float") and "float64" or "int64")
            core.gather(sum, t.word, t.ids)
            core.add(sum, sum, t.position)
            local more = core.tensor({ s.m, s.n }, sum.dtype)
            core.gather(more, t.kind, t.types)
            core.add(t.Y, sum, more)
        end,
    }
end

-- ---- ResNet-50 v1.5: input size, channels, kernel, stride, times

local function row(builder, names, times, ...)
    local r = base.rows(names, { { ... } })[1]
    r.builder, r.times = builder, times
    return r
end
local function conv(h, ci, co, k, s, times)
    return row("conv2d", { "h", "w", "ci", "co", "k", "s", "p" }, times, h, h, ci, co, k, s, k // 2)
end
local function dw(h, c, k, s, times)
    return row("depthwise", { "h", "w", "c", "k", "s", "p" }, times, h, h, c, k, s, k // 2)
end
local function product(b, n, k, m, times) return row("batch_matmul", { "b", "n", "m", "k" }, times, b, n, m, k) end

base.family { name = "R", about = "layer of ResNet-50",
    form = "%s%d", first = 1, batch = "n", set = "nets", rows = {
    conv(224, 3, 64, 7, 2, 1), conv(56, 64, 64, 1, 1, 1), conv(56, 64, 64, 3, 1, 3), conv(56, 64, 256, 1, 1, 4),
    conv(56, 256, 64, 1, 1, 2), conv(56, 256, 128, 1, 1, 1), conv(56, 128, 128, 3, 2, 1), conv(28, 128, 512, 1, 1, 4),
    conv(56, 256, 512, 1, 2, 1), conv(28, 512, 128, 1, 1, 3), conv(28, 128, 128, 3, 1, 3), conv(28, 512, 256, 1, 1, 1),
    conv(28, 256, 256, 3, 2, 1), conv(14, 256, 1024, 1, 1, 6), conv(28, 512, 1024, 1, 2, 1), conv(14, 1024, 256, 1, 1, 5),
    conv(14, 256, 256, 3, 1, 5), conv(14, 1024, 512, 1, 1, 1), conv(14, 512, 512, 3, 2, 1), conv(7, 512, 2048, 1, 1, 3),
    conv(14, 1024, 2048, 1, 2, 1), conv(7, 2048, 512, 1, 1, 2), conv(7, 512, 512, 3, 1, 2) } }

base.family { name = "M", about = "layer of MobileNet-V2",
    form = "%s%d", first = 1, batch = "n", set = "nets", rows = {
    conv(224, 3, 32, 3, 2, 1), dw(112, 32, 3, 1, 1), conv(112, 32, 16, 1, 1, 1), conv(112, 16, 96, 1, 1, 1),
    dw(112, 96, 3, 2, 1), conv(56, 96, 24, 1, 1, 1), conv(56, 24, 144, 1, 1, 2), dw(56, 144, 3, 1, 1),
    conv(56, 144, 24, 1, 1, 1), dw(56, 144, 3, 2, 1), conv(28, 144, 32, 1, 1, 1), conv(28, 32, 192, 1, 1, 3),
    dw(28, 192, 3, 1, 2), conv(28, 192, 32, 1, 1, 2), dw(28, 192, 3, 2, 1), conv(14, 192, 64, 1, 1, 1),
    conv(14, 64, 384, 1, 1, 4), dw(14, 384, 3, 1, 4), conv(14, 384, 64, 1, 1, 3), conv(14, 384, 96, 1, 1, 1),
    conv(14, 96, 576, 1, 1, 3), dw(14, 576, 3, 1, 2), conv(14, 576, 96, 1, 1, 2), dw(14, 576, 3, 2, 1),
    conv(7, 576, 160, 1, 1, 1), conv(7, 160, 960, 1, 1, 3), dw(7, 960, 3, 1, 3), conv(7, 960, 160, 1, 1, 2),
    conv(7, 960, 320, 1, 1, 1), conv(7, 320, 1280, 1, 1, 1) } }

-- ---- BERT-large for sequences of S, ViT-B/16

-- Rows that say "S" have the length of the sequence there: 128, with .s384 that.
base.family { name = "B", about = "layer of BERT-large",
    form = "%s%d", first = 1, set = "nets", flags = { s384 = { seq = 384 } }, rows = {
    product(1, "S", 1024, 1024, 96), product(16, "S", 64, "S", 24), product(16, "S", "S", 64, 24),
    product(1, "S", 1024, 4096, 24), product(1, "S", 4096, 1024, 24), product(1, 1, 1024, 1024, 1) },
    resolve = function(o)
        local seq = o.seq or 128
        o.seq = nil
        for k, v in pairs(o) do
            if v == "S" then o[k] = seq end
        end
    end }
local patches = conv(224, 3, 768, 16, 16, 1)
patches.p = 0
base.family { name = "V", about = "layer of ViT-B/16",
    form = "%s%d", first = 1, set = "nets", rows = { patches, product(1, 197, 768, 768, 48),
    product(12, 197, 64, 197, 12), product(12, 197, 197, 64, 12), product(1, 197, 768, 3072, 12),
    product(1, 197, 3072, 768, 12), product(1, 1, 768, 1000, 1) } }
