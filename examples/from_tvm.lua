-- Records of another tuner, in the two files that TVM's tuner writes, taken in for a program of the same shape:
-- the traces are replayed, checked, and timed beside a search of our own. Run: moonloop examples/from_tvm.lua
local moon = moon or require "moonloop"
local program = moon.workload.matmul(128, 128, 128)

-- What such a tuner sampled (three factors lists and an index), and what it measured on its machine, in seconds.
local measured = {
    { "[8, 2, 4, 2]", "[4, 1, 4, 8]", "[32, 4]", 2, "9.1e-05" },
    { "[4, 4, 2, 4]", "[2, 2, 1, 32]", "[16, 8]", 3, "6.4e-05" },
    { "[32, 1, 1, 4]", "[1, 2, 4, 16]", "[128, 1]", 1, "7.7e-05" },
}
local record = ([==[
[0, [[[["GetSBlock", [], ["C", "main"], ["b0"]],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["Annotate", ["b0", "\"SSRSRS\""], ["meta_schedule.tiling_structure"], []],
  ["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5", "v6", "v7"]],
  ["Split", ["l1", "v4", "v5", "v6", "v7"], [1, 0], ["l8", "l9", "l10", "l11"]],
  ["SamplePerfectTile", ["l2"], [4, 64], ["v12", "v13", "v14", "v15"]],
  ["Split", ["l2", "v12", "v13", "v14", "v15"], [1, 0], ["l16", "l17", "l18", "l19"]],
  ["SamplePerfectTile", ["l3"], [2, 64], ["v20", "v21"]],
  ["Split", ["l3", "v20", "v21"], [1, 0], ["l22", "l23"]],
  ["Reorder", ["l8", "l16", "l9", "l17", "l22", "l10", "l18", "l23", "l11", "l19"], [], []],
  ["CacheWrite", ["b0", []], [0, "global"], ["b24"]],
  ["ReverseComputeAt", ["b24", "l17"], [1, -1], []],
  ["Annotate", ["b0", 160], ["meta_schedule.parallel"], []],
  ["Annotate", ["b0", 64], ["meta_schedule.vectorize"], []],
  ["SampleCategorical", [], [[0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25]], ["v25"]],
  ["Annotate", ["b0", "v25"], ["meta_schedule.unroll_explicit"], []],
  ["EnterPostproc", [], [], []],
  ["Unannotate", ["b0"], ["meta_schedule.parallel"], []],
  ["Unannotate", ["b0"], ["meta_schedule.vectorize"], []],
  ["Unannotate", ["b0"], ["meta_schedule.unroll_explicit"], []],
  ["Fuse", ["l8", "l16"], [1], ["l26"]],
  ["Parallel", ["l26"], [], []],
  ["Vectorize", ["l19"], [], []],
  ["Annotate", ["l26", 64], ["pragma_auto_unroll_max_step"], []],
  ["Annotate", ["l26", 1], ["pragma_unroll_explicit"], []],
  ["GetSBlock", [], ["C", "main"], ["b27"]],
  ["DecomposeReduction", ["b27", "l22"], [], ["b28"]]],
 [[3, %s], [5, %s], [7, %s], [14, %d]]], [%s], {"kind": "llvm", "num-cores": 4},
 [["TENSOR", "float32", [128, 128]], ["TENSOR", "float32", [128, 128]], ["TENSOR", "float32", [128, 128]]]]]
]==]):gsub("\n", "")

-- The files. The program stands there as a graph of the other system's, which nothing here reads.
local folder = os.tmpname()
os.remove(folder)
local empty <close> = moon.db(":memory:")
empty:export(folder) -- makes the folder
local workloads <close> = assert(io.open(folder .. "/database_workload.json", "w"))
workloads:write('["5217303911822091573", "eyJyb290IjogMX0="]\n')
workloads:flush()
local records <close> = assert(io.open(folder .. "/database_tuning_record.json", "w"))
for _, m in ipairs(measured) do records:write(record:format(table.unpack(m)), "\n") end
records:write('[0, [[[["GetSBlock", [], ["C", "ma\n') -- cut off, as by a full disk
records:flush()

local db <close> = moon.db(":memory:")
local ok, why = pcall(db.import, db, folder)
assert(not ok)
print("without a program: " .. why.message)
local n, skipped = db:import(folder, program) -- it is told what the line stands for
print(("%d records came, %d line passed over"):format(n, skipped))
for _, name in ipairs { "workload", "tuning_record" } do os.remove(folder .. "/database_" .. name .. ".json") end
os.remove(folder)

-- Replayed on the program, checked, and timed here.
print("theirs, fastest there first:")
local fastest, best = math.huge, nil
for k, r in ipairs(db:records { program = program, valid = true, best = true }) do
    local s = moon.tuning.apply(program, r)
    local check = moon.check(s)
    assert(check.ok, check.first_at)
    local here = moon.time(s, { runs = 5 }).min
    if here < fastest then fastest, best = here, s end
    print(("  %d  %6.1f us there  %7.1f us here  %d instructions, %d of them found by the search"):format(k, r.min * 1e6,
        here * 1e6, #s:trace(), #s:trace():simplified { remove_postproc = true }))
end

local ours = moon.tune(program, { trials = 16, db = db })
local here = moon.time(ours.schedule(), { runs = 5 }).min
print(("ours, 16 trials: %.1f us, %.2f times as fast as the best of theirs"):format(here * 1e6, fastest / here))

-- The best of theirs, in the spelling that TVM reads today.
print(best:script { spelling = "newest" })
