/* from_halide - a chapter for who knows Halide: what one types here for what one knows, each
 * line run and checked. See play.h. */
#include "repl/manual/play.h"

/* A blur in two stages, as in the worked example: bx along a row, by along a column. */
#define BLUR                                                                               \
    "te = moon.te\n"                                                                       \
    "input = te.placeholder({66, 66}, \"float32\", \"input\")\n"                           \
    "bx = te.compute({66, 64}, function(y, x)\n"                                           \
    "  return (input(y, x) + input(y, x + 1) + input(y, x + 2)) / 3 end, \"bx\")\n"        \
    "by = te.compute({64, 64}, function(y, x)\n"                                           \
    "  return (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3 end, \"by\")\n"                 \
    "s = schedule(te.func({input, by}, \"blur\"))\n"
#define BLUR_TILED BLUR "split(\"y_1\", {auto, 8}) compute_at(\"bx\", \"y_1_0\")"
#define MATMUL     "s = schedule(workload.matmul(64, 64, 64))"

static const ml_ManualPair ALGORITHM[] = {
    {"Var x, y; Func bx;\nbx(x, y) = (in(x, y) + in(x + 1, y)) / 2;",
     "te = moon.te\ninput = te.placeholder({64, 65}, \"float32\", \"input\")\n"
     "bx = te.compute({64, 64}, function(y, x)\n"
     "  return (input(y, x) + input(y, x + 1)) / 2 end, \"bx\")\n"
     "s = schedule(te.func{input, bx})",
     "The last index is the one whose neighbours lie side by side: x stands last. Shapes "
     "are "
     "said, not inferred.",
     "local x"},
    {"RDom k(0, 64);\nC(j, i) += A(k, i) * B(j, k);",
     "te = moon.te\nA = te.placeholder({64, 64}, \"float32\", \"A\")\n"
     "B = te.placeholder({64, 64}, \"float32\", \"B\")\nk = te.reduce_axis(64, \"k\")\n"
     "C = te.compute({64, 64}, function(i, j)\n"
     "  return te.sum(A(i, k) * B(k, j), k) end, \"C\")\n"
     "s = schedule(te.func{A, B, C})",
     "The zero of the sum is the block's init.", "local x"},
    {"f.print_loop_nest();", ":tree",
     "`:show` prints the program, `:graph loops` draws it.", NULL},
};

static const ml_ManualPair LOOPS[] = {
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

static const ml_ManualPair STAGES[] = {
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

static const ml_ManualPair REST[] = {
    {"f.realize({64, 64});", "k = moon.build(s)",
     "k(a, b) runs on moon.tensor. :check compares with the start.", NULL},
    {"f.compile_to_lowered_stmt(...);", ":ir", "", NULL},
    {"f.compile_to_static_library(...);", "moon.build(s):save(\"blur.o\")",
     "Also .so, .ll, .s, and a header .h.", NULL},
};

static const ml_ManualStep BY_HAND[] = {
    {ML_DO_TITLE, "A worked example: the blur"},
    {ML_DO_SAY, "There, the schedule that every introduction shows:"},
    {ML_DO_THERE, "bx(x, y) = (input(x, y) + input(x + 1, y) + input(x + 2, y)) / 3;\n"
                  "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;\n"
                  "by.split(y, yo, yi, 8).vectorize(x, 16).parallel(yo);\n"
                  "bx.compute_at(by, yo).vectorize(x, 16);"},
    {ML_DO_SAY, "Here:"},
    {ML_DO_TYPE, BLUR ":set echo brief\n"
                      "split(\"y_1\", {auto, 8})\n"
                      "split(\"x_1\", {auto, 16})\n"
                      "vectorize(\"x_1_1\")\n"
                      "compute_at(\"bx\", \"y_1_0\")\n"
                      "parallel(\"y_1_0\")\n"
                      ":tree\n"},
    {ML_DO_SAY,
     "bx stands under y_1_0 now and computes ten rows for eight of by. Its loops are "
     "new; the inner one becomes a vector:"},
    {ML_DO_TYPE, "loops = s:get_loops(\"bx\")\n"
                 "xo, xi = table.unpack(s:split(loops[#loops], {auto, 16}))\n"
                 "s:vectorize(xi)\n"
                 ":check\n"},
    {ML_DO_PICTURE, "loops"},
    {ML_DO_SAY, "And who uses whose results:"},
    {ML_DO_PICTURE, "deps"},
    {ML_DO_TITLE, "A worked example: an update stage"},
    {ML_DO_THERE, "C(j, i) += A(k, i) * B(j, k);\n"
                  "C.vectorize(j, 16);\n"
                  "C.update().reorder(j, k, i).vectorize(j, 16).parallel(i);"},
    {ML_DO_SAY, "reorder names loops from the outside in, so that it reads the other way "
                "round; decompose_reduction then makes the init a stage of its own."},
    {ML_DO_TYPE, MATMUL "\n:set echo brief\n"
                        "split(\"j\", {auto, 16})\n"
                        "reorder(\"i\", \"k\", \"j_0\", \"j_1\")\n"
                        "vectorize(\"j_1\") parallel(\"i\")\n"
                        "decompose_reduction(\"C\", \"k\")\n"
                        ":check\n"
                        ":tree\n"},
};

bool ml_manual_from_halide(ml_ManualPage *p, ml_Text *why)
{
    static const struct {
        const char *title;
        const ml_ManualPair *pairs;
        size_t n;
    } TABLES[] = {
        {"The algorithm", ALGORITHM, ML_COUNT(ALGORITHM)},
        {"Loops", LOOPS, ML_COUNT(LOOPS)},
        {"Stages", STAGES, ML_COUNT(STAGES)},
        {"Running it", REST, ML_COUNT(REST)},
    };

    p->form->chapter(p, "from-halide", "From Halide");
    p->form->paragraph(
        p,
        "There, a schedule is a description from which the loops are made when the program "
        "is compiled. Here, each primitive rewrites a program that you can see, at once: "
        "you are told what changed, or why not, and may take it back. A Func with its "
        "stages is a function with a block for each stage; a Var is a loop, by its name in "
        "quotes; indices stand the other way round, with the innermost last. The "
        "algorithm is written with moon.te, or as text (:open FILE.py). What is wrong is "
        "refused when it is typed, and :check compares with the start. Each line at the "
        "right was run when this page was made, where nothing else is said on the blur of "
        "the first worked example, and compared with the program before.");
    for (size_t k = 0; k < ML_COUNT(TABLES); k++) {
        p->form->group(p, TABLES[k].title);
        if (!ml_manual_pairs(p, "Halide", BLUR, TABLES[k].pairs, TABLES[k].n, why))
            return false;
    }
    return ml_manual_play(p, BY_HAND, ML_COUNT(BY_HAND), why);
}
