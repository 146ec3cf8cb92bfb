-- shapes - a matrix product with symbolic rows, tuned for some sizes and kept as one kernel.
-- Usage: moonloop -b examples/shapes.lua [TRIALS [SIZE]]
--
-- n is how many rows there are: one when a network answers a single request, many when it answers a batch. A schedule of
-- the program as it is holds for every n and is best for none. Here it is tuned for some of them: one function, in which
-- `if n == 16:` leads to the schedule that was found for 16 rows, and a last arm computes all other sizes.
local trials = math.tointeger(tonumber(arg and arg[1])) or 96 -- of all sizes together
local size = math.tointeger(tonumber(arg and arg[2])) or 512
local listed, others = { 1, 16, 127, 2 * size }, { 2, 17, 128, 2 * size + 1 }

local te = moon.te
local n = te.var("n")
local A, B = te.placeholder({ n, size }, "float32", "A"), te.placeholder({ size, size }, "float32", "B")
local k = te.reduce_axis(size, "k")
local C = te.compute({ n, size }, function(i, j) return te.sum(A(i, k) * B(k, j), k) end, "C")
local program = moon.module(te.func({ A, B, C }))

-- What can be done without knowing n: rows in parallel, vectors along the columns.
local by_hand = moon.schedule(program, { name = "by hand" })
local loops = by_hand:get_loops(by_hand:get_block("C"))
local jo, ji = table.unpack(by_hand:split(loops[2], { moon.auto, 16 }))
by_hand:reorder(loops[1], jo, loops[3], ji)
local init = by_hand:get_loops(by_hand:decompose_reduction(by_hand:get_block("C"), loops[3]))
by_hand:vectorize(init[#init])
by_hand:vectorize(ji)
by_hand:parallel(loops[1])

local result = moon.tune(program, { shape = { n = listed }, trials = trials, db = ":memory:" })
local kernel = result.schedule()
print(("%d trials in %.1f s; sizes that are not listed: %s"):format(result.done, result.elapsed, result.other))

print(("%6s  %10s  %10s  %10s  %6s"):format("n", "as it is", "by hand", "one kernel", "gain"))
local function row(rows, mark)
    local o = { shape = { n = rows }, alone = true }
    if not moon.check(kernel, { shape = { n = rows } }).ok then error("n = " .. rows .. " computes something else") end
    local start = moon.schedule(program, { name = "start" })
    local was, hand, now = moon.time(start, { shape = o.shape, alone = true, runs = 1 }), moon.time(by_hand, o), moon.time(kernel, o)
    print(("%6d  %7.1f us  %7.1f us  %7.1f us  %5.1fx %s"):format(rows, was.median * 1e6, hand.median * 1e6, now.median * 1e6,
        hand.median / now.median, mark))
    return math.log(hand.median / now.median)
end
local sum = 0
for _, rows in ipairs(listed) do sum = sum + row(rows, "tuned for it") end
for _, rows in ipairs(others) do row(rows, "another size") end
print(("over by hand, sizes that it was tuned for: %.2f times as fast"):format(math.exp(sum / #listed)))
