-- use_kernel: a kernel for other programs, in the folder where this is run; then see use_kernel.c and
-- use_kernel.py, which need nothing of moonloop.
local s = moon.draft(workload.matmul(64, 48, 32))
local k <close> = moon.build(s)
for _, suffix in ipairs {"o", "so", "c", "h"} do
    k:save("matmul." .. suffix, {name = "matmul"})
    print("matmul." .. suffix)
end
