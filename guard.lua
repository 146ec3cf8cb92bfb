local s = schedule(workload.matmul(100, 100, 100))
local ok, e = pcall(s.split, s, "i", {3, 33})
print(ok, e.code, e.numbers.product, e.numbers.extent)
