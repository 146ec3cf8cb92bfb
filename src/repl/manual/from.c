/*
 * from - the chapters for who comes from another scheduler: the tables of repl/cmd/from.h,
 * each pair run and checked, then worked examples. See play.h.
 */
#include "repl/cmd/from.h"
#include "repl/manual/play.h"

static const ml_ManualStep TVM[] = {
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
    {ML_DO_TITLE, "A worked example: a schedule in Python, pasted"},
    {ML_DO_SAY,
     "What sch.trace.show() prints there, or :trace --python here, runs on the focus "
     "when it is pasted; it ends at an empty line, too."},
    {ML_DO_TYPE, "s = schedule(workload.matmul(64, 64, 64))\n"
                 "def apply_trace(sch: tir.Schedule) -> None:\n"
                 "  b0 = sch.get_block(name=\"C\", func_name=\"main\")\n"
                 "  l1, l2, l3 = sch.get_loops(block=b0)\n"
                 "  l4, l5 = sch.split(loop=l2, factors=[None, 16])\n"
                 "  sch.reorder(l1, l4, l3, l5)\n"
                 "  sch.vectorize(loop=l5)\n"
                 "\n"
                 ":check\n"
                 ":trace\n"},
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

#define MATMUL "s = schedule(workload.matmul(64, 64, 64))"

static const ml_ManualStep HALIDE[] = {
    {ML_DO_TITLE, "A worked example: the blur"},
    {ML_DO_SAY, "There, the schedule that every introduction shows:"},
    {ML_DO_THERE, "bx(x, y) = (input(x, y) + input(x + 1, y) + input(x + 2, y)) / 3;\n"
                  "by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;\n"
                  "by.split(y, yo, yi, 8).vectorize(x, 16).parallel(yo);\n"
                  "bx.compute_at(by, yo).vectorize(x, 16);"},
    {ML_DO_SAY, "Here:"},
    {ML_DO_TYPE, ML_FROM_BLUR ":set echo brief\n"
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

static bool chapter(ml_ManualPage *p, const ml_From *f, const ml_ManualStep *steps,
                    size_t n, ml_Text *why)
{
    ml_Text id = {0}, title = {0};

    ml_text_fmt(&id, "from-%s", f->topic);
    ml_text_fmt(&title, "From %s", f->name);
    p->form->chapter(p, ml_text_z(&id), ml_text_z(&title));
    p->form->paragraph(p, f->intro);
    p->form->paragraph(
        p, "Each line at the right was run when this page was made, and what it "
           "made of the program was compared with the program before. The tables begin "
           "with:");
    p->form->verbatim(p, f->start);
    ml_text_free(&id);
    ml_text_free(&title);
    for (size_t k = 0; k < f->n; k++) {
        p->form->group(p, f->tables[k].title);
        if (!ml_manual_pairs(p, f, &f->tables[k], why))
            return false;
    }
    return ml_manual_play(p, steps, n, why);
}

bool ml_manual_from(ml_ManualPage *p, ml_Text *why)
{
    return chapter(p, &ml_from_tvm, TVM, ML_COUNT(TVM), why) &&
           chapter(p, &ml_from_halide, HALIDE, ML_COUNT(HALIDE), why);
}
