/* from_halide - for who knows Halide: what one types here for what one knows, each
 * line run and checked. See from.h. */
#include "repl/cmd/from.h"

#define BLUR       ML_FROM_BLUR
#define BLUR_TILED BLUR "split(\"y_1\", {auto, 8}) compute_at(\"bx\", \"y_1_0\")"
#define MATMUL     "s = schedule(workload.matmul(64, 64, 64))"

static const ml_FromPair ALGORITHM[] = {
    {"Var x, y; Func bx;\nbx(x, y) = (in(x, y) + in(x + 1, y)) / 2;",
     "te = moon.te\ninput = te.placeholder({64, 65}, \"float32\", \"input\")\n"
     "bx = te.compute({64, 64}, function(y, x)\n"
     "  return (input(y, x) + input(y, x + 1)) / 2 end, \"bx\")\n"
     "s = schedule(te.func{input, bx})",
     "The last index is the one whose neighbours lie side by side: x stands last. Shapes "
     "are "
     "said, not inferred.",
     ""},
    {"RDom k(0, 64);\nC(j, i) += A(k, i) * B(j, k);",
     "te = moon.te\nA = te.placeholder({64, 64}, \"float32\", \"A\")\n"
     "B = te.placeholder({64, 64}, \"float32\", \"B\")\nk = te.reduce_axis(64, \"k\")\n"
     "C = te.compute({64, 64}, function(i, j)\n"
     "  return te.sum(A(i, k) * B(k, j), k) end, \"C\")\n"
     "s = schedule(te.func{A, B, C})",
     "The zero of the sum is the block's init.", ""},
    {"f.print_loop_nest();", ":tree",
     "`:show` prints the program, `:graph loops` draws it.", NULL},
};

static const ml_FromPair LOOPS[] = {
    {"by.split(x, xo, xi, 16);", "split(\"x_1\", {auto, 16})",
     "A stage is a block, and its loops have names of their own: those of by are y_1 and "
     "x_1. "
     "The parts are x_1_0 and x_1_1. Where 16 does not divide the extent, a guard is made.",
     NULL},
    {"by.reorder(xi, y, xo);", "reorder(\"x_1_0\", \"y_1\", \"x_1_1\")",
     "From the outside in: the other way round.", BLUR "split(\"x_1\", {auto, 16});"},
    {"by.tile(x, y, xo, yo, xi, yi, 16, 8);",
     "split(\"y_1\", {auto, 8}) split(\"x_1\", {auto, 16})\n"
     "reorder(\"y_1_0\", \"x_1_0\", \"y_1_1\", \"x_1_1\")",
     "", NULL},
    {"by.fuse(x, y, t);", "fuse(\"y_1\", \"x_1\")", "", NULL},
    {"by.vectorize(x, 16);", "split(\"x_1\", {auto, 16}) vectorize(\"x_1_1\")", "", NULL},
    {"by.unroll(x, 4);", "split(\"x_1\", {auto, 4}) unroll(\"x_1_1\")", "", NULL},
    {"by.parallel(y);", "parallel(\"y_1\")", "", NULL},
    {"by.gpu_blocks(y).gpu_threads(x);",
     "bind(\"y_1\", \"blockIdx.x\") bind(\"x_1\", \"threadIdx.x\")", "", NULL},
};

static const ml_FromPair STAGES[] = {
    {"bx.compute_root();", ":tree", "That is the start: every stage has loops of its own.",
     NULL},
    {"// nothing said: bx is inlined", "compute_inline(\"bx\")", "Inlining is said.", NULL},
    {"bx.compute_at(by, yo);", "split(\"y_1\", {auto, 8})\ncompute_at(\"bx\", \"y_1_0\")",
     "What is needed there is found out, and the buffer shrinks when the code is made.",
     NULL},
    {"bx.store_root().compute_at(by, yo);", "rolling_buffer(\"bx\", 0)",
     "Rows that the step before has computed are kept.", BLUR_TILED},
    {"bx.store_in(MemoryType::Stack);", "set_scope(\"bx\", 0, \"local\")", "", BLUR_TILED},
    {"in.in(bx).compute_at(by, y);", "cache_read(\"bx\", \"input\", \"global\")",
     "A copy that is then placed by compute_at(\"input_global\", ...).", NULL},
    {"by.compute_at(by.in(), xo);", "cache_write(\"by\", 0, \"local\")",
     "Placed by reverse_compute_at(\"by_local\", ...).", NULL},
    {"C.update().reorder(j, k, i);",
     "decompose_reduction(\"C\", \"i\")\nreorder(\"k\", \"j\")",
     "Pure and update stages are one block until decompose_reduction makes them two: "
     "C_init "
     "and C_update.",
     MATMUL},
    {"C.update().rfactor(ko, u);", "rfactor(\"k_0\", 0)", "",
     MATMUL "\nsplit(\"k\", {auto, 16});"},
    {"bx.reorder_storage(y, x);",
     "transform_layout(\"bx\", {\"write\", 0}, function(y, x) return x, y end)", "", NULL},
};

static const ml_FromPair REST[] = {
    {"f.realize({64, 64});", "k = moon.build(s)",
     "k(a, b) runs on moon.tensor. :check compares with the start.", NULL},
    {"f.compile_to_lowered_stmt(...);", ":ir", "", NULL},
    {"f.compile_to_static_library(...);", "moon.build(s):save(\"blur.o\")",
     "Also .so, .ll, .s, and a header .h.", NULL},
};

static const ml_FromTable TABLES[] = {
    {"The algorithm", ALGORITHM, ML_COUNT(ALGORITHM)},
    {"Loops", LOOPS, ML_COUNT(LOOPS)},
    {"Stages", STAGES, ML_COUNT(STAGES)},
    {"Running it", REST, ML_COUNT(REST)},
};

const ml_From ml_from_halide = {
    "Halide",
    "halide",
    "There, a schedule is a description from which the loops are made when the program "
    "is compiled. Here, each primitive rewrites a program that you can see, at once: "
    "you are told what changed, or why not, and may take it back. A Func with its "
    "stages is a function with a block for each stage; a Var is a loop, by its name in "
    "quotes; indices stand the other way round, with the innermost last. The "
    "algorithm is written with moon.te, or as text (:open FILE.py). What is wrong is "
    "refused when it is typed, and :check compares with the start.",
    BLUR,
    TABLES,
    ML_COUNT(TABLES),
};
