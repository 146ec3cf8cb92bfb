/* from_tvm - for who knows TVM's schedules: what one types here for what one knows,
 * each line run and checked. See from.h. */
#include "repl/cmd/from.h"

#define START   "s = schedule(workload.matmul(64, 64, 64))"
#define SPLIT_K START "\nsplit(\"k\", {auto, 4});"
#define TWO                                                                                \
    "te = moon.te\n"                                                                       \
    "A = te.placeholder({64, 64}, \"float32\", \"A\")\n"                                   \
    "B = te.compute({64, 64}, function(i, j) return A(i, j) * 2 end, \"B\")\n"             \
    "C = te.compute({64, 64}, function(i, j) return B(i, j) + 1 end, \"C\")\n"             \
    "s = schedule(te.func{A, C})"

static const ml_FromPair PROGRAMS[] = {
    {"sch = tvm.tir.Schedule(mod)", START,
     "At the prompt the newest schedule is the focus, and primitives are bare names. "
     "`:open FILE.py` reads TVMScript, and a program can be pasted: it ends at an empty "
     "line.",
     ""},
    {"A = te.placeholder((64, 64), name=\"A\")\nB = te.compute((64, 64), lambda i, j: A[i, "
     "j] "
     "* 2)\nfunc = te.create_prim_func([A, B])",
     "te = moon.te\nA = te.placeholder({64, 64}, \"float32\", \"A\")\n"
     "B = te.compute({64, 64}, function(i, j) return A(i, j) * 2 end, \"B\")\n"
     "s = schedule(te.func{A, B})",
     "Elements are calls, A(i, j): Lua has one index only.", ""},
    {"sch.mod.show()", ":show", "", NULL},
    {"sch.work_on(\"main\")", "work_on(\"main\")", "", NULL},
};

static const ml_FromPair NAMES[] = {
    {"block = sch.get_block(\"C\")", "block = s:get_block(\"C\")",
     "Seldom needed: a name in quotes does wherever a block, loop or buffer is wanted.",
     NULL},
    {"i, j, k = sch.get_loops(block)", "i, j, k = table.unpack(s:get_loops(\"C\"))",
     "Lists are tables, counted from 1. Positions of buffers and axes count from 0, as "
     "there.",
     NULL},
    {"i0, i1 = sch.split(i, factors=[None, 8])", "split(\"i\", {auto, 8})",
     "`auto` is None. New loops get the old name and a number: i_0, i_1. By handle: i0, i1 "
     "= "
     "table.unpack(s:split(i, {auto, 8})).",
     NULL},
    {"sch.split(loop=i, factors=[None, 8])", "s:split{loop = \"i\", factors = {auto, 8}}",
     "Arguments by name are one table, in braces.", NULL},
    {"for l in sch.get_loops(block):\n    print(sch.get(l).extent)",
     "for _, l in ipairs(s:get_loops(\"C\")) do print(s:get(l).extent) end", "", NULL},
    {"sch.reorder(i, k, j)", "reorder(\"i\", \"k\", \"j\")", "", NULL},
    {"sch.fuse(i, j)", "fuse(\"i\", \"j\")", "", NULL},
    {"sch.parallel(i); sch.vectorize(j)", "parallel(\"i\") vectorize(\"j\")", "",
     START "\nreorder(\"i\", \"k\", \"j\");"},
    {"sch.unroll(k)", "unroll(\"k\")", "", NULL},
    {"sch.bind(i, \"blockIdx.x\")", "bind(\"i\", \"blockIdx.x\")", "", NULL},
    {"sch.annotate(i, \"pragma_auto_unroll_max_step\", 16)",
     "annotate(\"i\", \"pragma_auto_unroll_max_step\", 16)", "", NULL},
};

static const ml_FromPair BLOCKS[] = {
    {"sch.compute_at(B, i)", "compute_at(\"B\", \"i_1\")",
     "Loops of two nests may not share a name here: the second i is i_1.", TWO},
    {"sch.reverse_compute_at(C, i)", "reverse_compute_at(\"C\", \"i\")", "", TWO},
    {"sch.compute_inline(B)", "compute_inline(\"B\")", "", TWO},
    {"sch.cache_read(C, 0, \"global\")", "cache_read(\"C\", 0, \"global\")",
     "The buffer by position or by name: cache_read(\"C\", \"A\", \"global\").", NULL},
    {"sch.cache_write(C, 0, \"local\")", "cache_write(\"C\", 0, \"local\")", "", NULL},
    {"sch.decompose_reduction(C, k)", "decompose_reduction(\"C\", \"k\")", "", NULL},
    {"sch.rfactor(k1, factor_axis=0)", "rfactor(\"k_1\", 0)", "", SPLIT_K},
    {"sch.blockize(k1)", "blockize(\"k_1\")", "", SPLIT_K},
    {"sch.transform_layout(C, (\"read\", 1), lambda i, j: (j, i))",
     "transform_layout(\"C\", {\"read\", 1}, function(i, j) return j, i end)",
     "Refused for a parameter of the function, whose layout its caller knows: copy it "
     "first.",
     START "\ncache_read(\"C\", 1, \"global\");"},
    {"sch.set_scope(B, 0, \"local\")", "set_scope(\"B\", 0, \"local\")", "", TWO},
    {"sch.pad_einsum(C, [16, 16, 16])", "pad_einsum(\"C\", {16, 16, 16})", "",
     "s = schedule(workload.matmul(60, 60, 60))"},
};

static const ml_FromPair REST[] = {
    {"v = sch.sample_perfect_tile(i, n=4)\nsch.split(i, v)",
     "v = s:sample_perfect_tile(\"i\", 4)\ns:split(\"i\", v)",
     "Decisions are part of the trace, and :edit changes them.", NULL},
    {"sch.trace.show()", ":trace --python", "As Lua without --python, as JSON with --json.",
     START "\nsplit(\"i\", {auto, 8});"},
    {"sch.copy()", "t = s:copy()",
     "For most of it :branch and :goto do: versions are kept.", NULL},
    {"try:\n    sch.parallel(k)\nexcept ScheduleError: ...",
     "ok, why = s:can_parallel(\"k\")",
     "Every primitive has its can_. pcall(s.parallel, s, \"k\") gives the error as an "
     "object: "
     "e.code, e.rule.",
     NULL},
    {"mod.time_evaluator(...)", ":time",
     "Beside the start and the machine's peak; moon.time(s) in a "
     "script.",
     NULL},
    {"np.testing.assert_allclose(...)", ":check",
     "Against the start, on random inputs; the tolerance follows from the sums.",
     START "\nsplit(\"i\", {auto, 8});"},
    {"tvm.build(sch.mod)", "f = moon.build(s)",
     "f(a, b, c) runs on moon.tensor; f:save writes an object or a library.", NULL},
    {"lowered = tvm.lower(sch.mod)", ":ir",
     "`:ir PASS` after one pass, `:ir --list` names them, `:llvm` and `:asm` the code.",
     NULL},
};

static const ml_FromTable TABLES[] = {
    {"Programs", PROGRAMS, ML_COUNT(PROGRAMS)},
    {"Names and loops", NAMES, ML_COUNT(NAMES)},
    {"Blocks", BLOCKS, ML_COUNT(BLOCKS)},
    {"Traces, checks, code", REST, ML_COUNT(REST)},
};

const ml_From ml_from_tvm = {
    "TVM",
    "tvm",
    "Programs are TensorIR, read and printed as TVMScript in both its spellings; "
    "primitives have the names, arguments and order of arguments that you know. The "
    "language around them is Lua: lists are tables in braces, {16, 4}; a function is "
    "function(i, j) return j, i end; methods have a colon, s:split(...); names stand in "
    "quotes.",
    START,
    TABLES,
    ML_COUNT(TABLES),
};
