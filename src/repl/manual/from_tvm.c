/* from_tvm - a chapter for who knows TVM's schedules: what one types here for what one knows,
 * each line run and checked. See play.h. */
#include "repl/manual/play.h"

#define START   "s = schedule(workload.matmul(64, 64, 64))"
#define SPLIT_K START "\nsplit(\"k\", {auto, 4});"
#define TWO                                                                                \
    "local te = moon.te local A = te.placeholder({64, 64}, \"float32\", \"A\") "           \
    "local B = te.compute({64, 64}, function(i, j) return A(i, j) * 2 end, \"B\") "        \
    "local C = te.compute({64, 64}, function(i, j) return B(i, j) + 1 end, \"C\") "        \
    "s = schedule(te.func{A, C})"

static const ml_ManualPair PROGRAMS[] = {
    {"sch = tvm.tir.Schedule(mod)", START,
     "At the prompt the newest schedule is the focus, and primitives are bare names. "
     "`:open FILE.py` reads TVMScript, and a program can be pasted: it ends at an empty "
     "line.",
     "local x"},
    {"A = te.placeholder((64, 64), name=\"A\")\nB = te.compute((64, 64), lambda i, j: A[i, "
     "j] "
     "* 2)\nfunc = te.create_prim_func([A, B])",
     "te = moon.te\nA = te.placeholder({64, 64}, \"float32\", \"A\")\n"
     "B = te.compute({64, 64}, function(i, j) return A(i, j) * 2 end, \"B\")\n"
     "s = schedule(te.func{A, B})",
     "Elements are calls, A(i, j): Lua has one index only.", "local x"},
    {"sch.mod.show()", ":show", "", NULL},
    {"sch.work_on(\"main\")", "work_on(\"main\")", "", NULL},
};

static const ml_ManualPair NAMES[] = {
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
    {"sch.reorder(i, k, j)", "reorder(\"i\", \"k\", \"j\")", "", NULL},
    {"sch.fuse(i, j)", "fuse(\"i\", \"j\")", "", NULL},
    {"sch.parallel(i); sch.vectorize(j)", "parallel(\"i\") vectorize(\"j\")", "",
     START "\nreorder(\"i\", \"k\", \"j\");"},
    {"sch.unroll(k)", "unroll(\"k\")", "", NULL},
    {"sch.bind(i, \"blockIdx.x\")", "bind(\"i\", \"blockIdx.x\")", "", NULL},
    {"sch.annotate(i, \"pragma_auto_unroll_max_step\", 16)",
     "annotate(\"i\", \"pragma_auto_unroll_max_step\", 16)", "", NULL},
};

static const ml_ManualPair BLOCKS[] = {
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

static const ml_ManualPair REST[] = {
    {"v = sch.sample_perfect_tile(i, n=4)\nsch.split(i, v)",
     "v = s:sample_perfect_tile(\"i\", 4)\ns:split(\"i\", v)",
     "Decisions are part of the trace, and :edit changes them.", NULL},
    {"sch.trace.show()", ":trace --python", "As Lua without --python, as JSON with --json.",
     START "\nsplit(\"i\", {auto, 8});"},
    {"sch.copy()", "t = s:copy()",
     "For most of it :branch and :goto do: versions are kept.", NULL},
    {"np.testing.assert_allclose(...)", ":check",
     "Against the start, on random inputs; the tolerance follows from the sums.",
     START "\nsplit(\"i\", {auto, 8});"},
    {"tvm.build(sch.mod)", "f = moon.build(s)",
     "f(a, b, c) runs on moon.tensor; f:save writes an object or a library.", NULL},
    {"lowered = tvm.lower(sch.mod)", ":ir",
     "`:ir PASS` after one pass, `:ir --list` names them, `:llvm` and `:asm` the code.",
     NULL},
};

static const ml_ManualStep BY_HAND[] = {
    {ML_DO_TITLE, "A worked example: a program, pasted and scheduled"},
    {ML_DO_SAY, "There:"},
    {ML_DO_THERE, "sch = tvm.tir.Schedule(dense)\n"
                  "block = sch.get_block(\"Y\")\n"
                  "i, j, k = sch.get_loops(block)\n"
                  "j0, j1 = sch.split(j, factors=[None, 16])\n"
                  "sch.reorder(i, j0, k, j1)\n"
                  "sch.vectorize(j1)\n"
                  "sch.parallel(i)\n"
                  "init = sch.decompose_reduction(block, k)"},
    {ML_DO_SAY, "Here. The program is pasted as it is; it ends at the empty line."},
    {ML_DO_TYPE,
     "@T.prim_func\n"
     "def dense(X: T.Buffer((64, 64), \"float32\"), W: T.Buffer((64, 64), \"float32\"), Y: "
     "T.Buffer((64, 64), \"float32\")):\n"
     "    for i, j, k in T.grid(64, 64, 64):\n"
     "        with T.block(\"Y\"):\n"
     "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
     "            with T.init():\n"
     "                Y[vi, vj] = T.float32(0)\n"
     "            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj]\n"
     "\n"
     ":set echo brief\n"
     "split(\"j\", {auto, 16})\n"
     "reorder(\"i\", \"j_0\", \"k\", \"j_1\")\n"
     "vectorize(\"j_1\") parallel(\"i\")\n"
     "decompose_reduction(\"Y\", \"k\")\n"
     ":check\n"
     ":trace --python\n"},
    {ML_DO_PICTURE, "loops"},
    {ML_DO_TITLE, "A worked example: a trace of TVM's tuner"},
    {ML_DO_SAY, "The tuner's records are JSON: instructions, then decisions. :replay "
                "applies such a file "
                "to the focus, as far as it goes, and names the first step that does not "
                "fit. Here one "
                "is made, so that there is a file, and replayed on a fresh program."},
    {ML_DO_TYPE, "s = schedule(workload.matmul(128, 128, 128))\n"
                 "split(\"i\", s:sample_perfect_tile(\"i\", 4))\n"
                 "parallel(\"i_0\")\n"
                 ":trace --json > tuned.json\n"
                 "!head -c 60 tuned.json; echo\n"
                 "s = schedule(workload.matmul(128, 128, 128))\n"
                 ":replay tuned.json\n"
                 ":check\n"},
    {ML_DO_TITLE, "A worked example: tuning"},
    {ML_DO_THERE, "database = ms.tune_tir(mod, target, work_dir, max_trials_global=8)\n"
                  "sch = ms.tir_integration.compile_tir(database, mod, target)"},
    {ML_DO_SAY, "The result comes back as steps, which you may read and change."},
    {ML_DO_MEASURE, "s = schedule(workload.matmul(128, 128, 128))\n"
                    ":tune --trials 8 --seed 1 --db tvm.db\n:adopt\n"},
    {ML_DO_TYPE, ":check\n"},
};

bool ml_manual_from_tvm(ml_ManualPage *p, ml_Text *why)
{
    static const struct {
        const char *title;
        const ml_ManualPair *pairs;
        size_t n;
    } TABLES[] = {
        {"Programs", PROGRAMS, ML_COUNT(PROGRAMS)},
        {"Names and loops", NAMES, ML_COUNT(NAMES)},
        {"Blocks", BLOCKS, ML_COUNT(BLOCKS)},
        {"Traces, checks, code", REST, ML_COUNT(REST)},
    };

    p->form->chapter(p, "from-tvm", "From TVM");
    p->form->paragraph(
        p,
        "Programs are TensorIR, read and printed as TVMScript in both its spellings; "
        "primitives have the names, arguments and order of arguments that you know. The "
        "language around them is Lua: lists are tables in braces, {16, 4}; a function is "
        "function(i, j) return j, i end; methods have a colon, s:split(...); what a name "
        "means is said in quotes. Each line at the right was run when this page was made, "
        "and what it made of the program was compared with the program before.");
    for (size_t k = 0; k < ML_COUNT(TABLES); k++) {
        p->form->group(p, TABLES[k].title);
        if (!ml_manual_pairs(p, "TVM", START, TABLES[k].pairs, TABLES[k].n, why))
            return false;
    }
    return ml_manual_play(p, BY_HAND, ML_COUNT(BY_HAND), why);
}
