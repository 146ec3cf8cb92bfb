#!/bin/bash
# Targets that nothing runs yet: what a search says of them, and what works without running.
# Source: interaction 4; auto-scheduler 4, 9, 10.
. tests/repl/session.sh
flags=(--no-init)
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1
half='s = schedule(workload.matmul{m = 32, n = 32, k = 32, dtype = "f16.acc32"})'

typed "$half" ':tune --target cuda-sm_80' && [ "$status" = 3 ] && has err 'the target is cuda-sm_80' &&
    has err 'nothing here builds or times programs for it yet' && has err 'moon.tune.space{target = "cuda-sm_80"}' &&
    grep -q 'no-device' err
verdict 'a search for a GPU says that nothing runs it, and what works'
typed "$half" ':tune --target cuda-sm_77' && [ "$status" = 3 ] && has err "no target is named 'cuda-sm_77'"
verdict 'a target that is none is refused'
typed 's = schedule(workload.matmul(16, 16, 16), {target = {kind = "cuda", arch = "sm_90a"}})' ':tune --trials 2'
[ "$status" = 3 ] && has err "the schedule's target is cuda-sm_90"
verdict "a schedule's architecture is named"
typed 'moon.tune(workload.matmul(16, 16, 16), {space = moon.tune.space{target = "cuda-sm_80"}})'
grep -q 'no-device' err && has err 'programs for cuda-sm_80'
verdict 'a space for a GPU is not searched'
typed 'print(#moon.tune.space{target = "cuda-sm_80"}.sketches(workload.matmul{m = 32, n = 32, k = 32, dtype = "f16.acc32"}))'
[ "$status" = 0 ] && [ "$(cat out)" = 8 ]
verdict 'its sketches are made'

typed "$half" ':intrinsics --target cuda-sm_75'
[ "$status" = 0 ] && has out 'wmma_sync_16x16x16_f16f16f32' && has out 'mma_sync_m16n8k8_f16f16f32'
verdict 'what a block maps to on a GPU'
typed 's = schedule(workload.matmul{m = 32, n = 32, k = 32, dtype = "bf16.acc32"})' ':intrinsics --target cuda-sm_75'
[ "$status" = 0 ] && ! grep -q '^wmma' out && has out 'no intrinsic of cuda-sm_75 describes'
verdict 'what an older GPU has not is not shown'
typed "$half" ':intrinsics C wmma_sync_16x16x16_f16f16f32 --target llvm' && [ "$status" = 3 ] &&
    has err 'llvm has no wmma_sync_16x16x16_f16f16f32'
verdict 'an intrinsic of another target is refused by its name'
typed "$half" 's:map_to_intrinsic("C", "wmma_sync_16x16x16_f16f16f32_trans")' ':check' && [ "$status" = 0 ] &&
    has out 'ok'
verdict 'a mapping to a GPU is checked without one'

# ---- a target of a GPU is one everywhere
typed ':set target cuda-sm_80' 's = schedule(workload.matmul(16, 16, 16))' 'print(s.target.kind)'
[ "$status" = 0 ] && has out cuda-sm_80
verdict 'new schedules are for the GPU that is set'
typed 's = schedule(workload.matmul(16, 16, 16), {target = "cuda-sim"})' ':ir sync_threads'
[ "$status" = 0 ] && has out 'for i, j, k in T.grid(16, 16, 16)'
verdict 'a schedule for cuda-sim is lowered for it'
typed ':set target cuda-sm_77'
[ "$status" = 3 ] && has err 'no target is named cuda-sm_77: native, llvm, cuda'
verdict 'an architecture that is none is refused'
typed 's = schedule(workload.matmul(16, 16, 16), {target = "cuda-sm_77"})'
[ "$status" != 0 ] && has err 'no target is named cuda-sm_77'
verdict 'so it is for a schedule'

# ---- kernels are checked with their threads side by side
cat >"$TMPDIR/tiles.lua" <<'EOF'
s = moon.schedule(moon.workload.matmul(64, 64, 64), {target = "cuda-sm_80"})
local i, j, k = table.unpack(s:get_loops("C"))
local by, ty = table.unpack(s:split(i, {false, 16}))
local bx, tx = table.unpack(s:split(j, {false, 16}))
local ko, ki = table.unpack(s:split(k, {false, 16}))
s:reorder(by, bx, ty, tx, ko, ki)
s:bind(by, "blockIdx.y") s:bind(bx, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(tx, "threadIdx.x")
s:reverse_compute_at(s:cache_write("C", 0, "local"), tx)
for n = 0, 1 do
    local a = s:cache_read("C", n, "shared")
    s:compute_at(a, ko)
    local l = s:get_loops(a)
    local _, y, x = table.unpack(s:split(s:fuse(l[#l - 1], l[#l]), {false, 16, 16}))
    s:bind(y, "threadIdx.y") s:bind(x, "threadIdx.x")
end
EOF
typed "dofile('$TMPDIR/tiles.lua')" ':check' ':ir sync_threads'
[ "$status" = 0 ] && has out 'ok C equals v0' && has out 'T.tvm_storage_sync("shared")' &&
    has out 'barrier before loop k_1: a thread writes A_shared'
verdict 'a product in tiles is checked, its barriers are told'
typed 's = schedule(workload.matmul(16, 16, 32))' 'l = s:get_loops("C")' 's:bind(l[1], "blockIdx.x")' \
    's:bind(l[3], "threadIdx.x")' ':check'
[ "$status" = 0 ] && has out 'ok C equals v0' && has err 'checked loop by loop' && has err 'reduces over loop k'
verdict 'what is not lowered yet is checked loop by loop, and said'
typed 's = schedule(workload.matmul(512, 256, 256), {target = "cuda-sm_75"})' 'i = s:get_loops("C")[1]' \
    'b, t = table.unpack(s:split(i, {false, 256}))' 's:bind(b, "blockIdx.x") s:bind(t, "threadIdx.x")' \
    's:compute_at(s:cache_read("C", 0, "shared.dyn"), b)' ':check'
[ "$status" != 0 ] && has err 'shared memory of a kernel is 262144 bytes, the limit is 65536'
verdict 'a kernel beyond the limits of its target is refused'
