-- A trace as TVM's tuner writes it (JSON: instructions, then decisions), replayed on a program of the same
-- shape, checked, and the program printed in the spelling that TVM reads today. Run: moonloop examples/from_tvm.lua
local moon = moon or require "moonloop"

local trace = [==[
[[["GetSBlock", [], ["C", "main"], ["b0"]],
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
 [[3, [8, 2, 4, 2]], [5, [4, 1, 4, 8]], [7, [32, 4]], [14, 2]]]
]==]

local s = moon.schedule(moon.workload.matmul(128, 128, 128))
moon.trace(trace):apply(s)
local check = moon.check(s)
assert(check.ok, check.first_at)

print(("%d instructions, of which a search would replay %d"):format(#s:trace(),
    #s:trace():simplified { remove_postproc = true }))
print(s:script { spelling = "newest" })
