/*
 * story - the first chapter: from nothing to a tuned product of matrices, played while the
 * manual is written, with a picture at each turn. See play.h.
 */
#include "repl/manual/play.h"

static const ml_ManualStep STORY[] = {
    {ML_DO_SAY,
     "This chapter goes from nothing to a product of matrices that runs about as fast as "
     "the "
     "machine can. You need build/moonloop and ten minutes: start it, and type what stands "
     "behind the prompts. Everything below was run when this page was made, on the machine "
     "that made it; your times are others. Pictures are what :graph draws."},

    {ML_DO_TITLE, "1. A program"},
    {ML_DO_SAY,
     "A program is a function over buffers: loops, and blocks in them. Some are built in. "
     "This one multiplies two matrices of 384 rows and columns. What you make becomes the "
     "focus, which the prompt names with its version: v0, the start. A name that ends in a "
     "question mark is explained (try matmul?, split?), and Tab completes."},
    {ML_DO_TYPE, "s = schedule(workload.matmul(384, 384, 384))\n:show\n"},
    {ML_DO_SAY, "Three loops, i, j and k, and in them one block, C. A block has iters of "
                "its own, here "
                "vi, vj and vk: i and j are spatial, each of their steps writes another "
                "element; k is a "
                "reduction, its steps add to the same one. The picture says the same:"},
    {ML_DO_PICTURE, "loops"},

    {ML_DO_TITLE, "2. How fast is it?"},
    {ML_DO_SAY,
     "Before you change anything, measure. :time compiles the program, runs it until the "
     "median is steady, and tells it beside what the machine could do."},
    {ML_DO_MEASURE, ":time\n"},
    {ML_DO_SAY,
     "Less than a hundredth of the peak. Why? :counts tells what each loop touches, "
     "and how far apart, without running anything."},
    {ML_DO_TYPE, ":counts\n"},
    {ML_DO_SAY,
     "Look at the line load B[vk, vj]: with each step of k, the innermost loop, it goes "
     "384 "
     "elements on, down a column. Nothing of that can be a vector, and every step wants "
     "another line of the cache. And C is loaded and stored in every step of k."},

    {ML_DO_TITLE, "3. Tiles"},
    {ML_DO_SAY,
     "So let the computer work on a small tile of C, 8 rows of 32 columns, which fits in "
     "its "
     "registers, and go through all of k for that tile before it turns to the next. split "
     "cuts a loop: auto is whatever is left, and the new loops get the old name and a "
     "number. Then reorder: first the tiles, then k, then what is within a tile. Each step "
     "is told with what changed in the program."},
    {ML_DO_TYPE, "split(\"i\", {auto, 8})\nsplit(\"j\", {auto, 32})\n"
                 "reorder(\"i_0\", \"j_0\", \"k\", \"i_1\", \"j_1\")\n"},
    {ML_DO_SAY, "What is new since the start, drawn with :graph loops --diff v0:"},
    {ML_DO_PICTURE, "loops v0"},

    {ML_DO_TITLE, "4. What is refused"},
    {ML_DO_SAY, "A step that would change what the program computes is refused, and you "
                "are told why and "
                "what to do instead. Could the steps of k run on several threads?"},
    {ML_DO_REFUSED, "parallel(\"k\")\n"},
    {ML_DO_SAY, "No: they add to the same elements. :explain tells the whole rule, with an "
                "example that keeps it. Nothing has happened to the program; go on."},

    {ML_DO_TITLE, "5. Registers, vectors, threads"},
    {ML_DO_SAY,
     "The tile gets a buffer of its own, C_local, which is copied to C when the tile is "
     "done: "
     "cache_write makes it, reverse_compute_at brings the copy to where the tile ends. "
     "decompose_reduction takes the zeros out of the inner loops. From here on steps are "
     "told in a line each."},
    {ML_DO_TYPE,
     ":set echo brief\ncache_write(\"C\", 0, \"local\")\n"
     "reverse_compute_at(\"C_local\", \"j_0\")\ndecompose_reduction(\"C\", \"k\")\n"},
    {ML_DO_SAY,
     "Who uses whose results is a picture, too (:graph deps), and the parameters "
     "are named in it:"},
    {ML_DO_PICTURE, "deps"},
    {ML_DO_SAY,
     "Now the columns of a tile become lanes of a vector, its rows are written out "
     "one below the other, and the threads share the rows of tiles."},
    {ML_DO_TYPE, "vectorize(\"j_1\") unroll(\"i_1\") parallel(\"i_0\")\n:tree\n"},
    {ML_DO_PICTURE, "loops"},

    {ML_DO_TITLE, "6. Is it right? Is it fast?"},
    {ML_DO_SAY,
     ":check runs the start and this version on the same random inputs and compares every "
     "element, within what rounding may do. Then the time."},
    {ML_DO_TYPE, ":check\n"},
    {ML_DO_MEASURE, ":time\n"},
    {ML_DO_SAY,
     "Every version is kept. :undo takes the last line back, :redo does it again, :goto v3 "
     "goes anywhere; going on from an older version makes a branch, and nothing is lost."},
    {ML_DO_TYPE, ":versions\n"},

    {ML_DO_TITLE, "7. Let it search"},
    {ML_DO_SAY,
     "When you are tired of numbers, hand it over. :tune tries schedules and measures "
     "them; 24 "
     "are enough here. Without --db the records are kept, so that a later search goes on "
     "from "
     "them; with --background you work on meanwhile, and are told when it is done."},
    {ML_DO_SAY,
     "What it finds comes back as ordinary steps on a branch (:adopt). You can read "
     "them, check them, time them, and go on by hand from there."},
    {ML_DO_MEASURE, ":goto v0\n:tune --trials 24 --seed 1 --db story.db\n:adopt\n"},
    {ML_DO_TYPE, ":check\n"},
    {ML_DO_MEASURE, ":time\n"},
    {ML_DO_PICTURE, "loops"},

    {ML_DO_TITLE, "8. Keep it"},
    {ML_DO_SAY, ":save writes a script that rebuilds this very version, and it is replayed "
                "before it is "
                "written. Run it again with moonloop tuned.lua, or take the last step as "
                "TVM would write "
                "it: :trace --python. :view shows all of this in panes."},
    {ML_DO_TYPE, ":save tuned.lua\n!tail -n 3 tuned.lua\n"},
    {ML_DO_SAY,
     "You come from TVM, or from Halide? The next two chapters say what you type here for "
     "what you know there. :help lists the rest, :help NAME runs an example of it."},
};

bool ml_manual_story(ml_ManualPage *p, ml_Text *why)
{
    p->form->chapter(p, "story", "From nothing to a tuned product");
    return ml_manual_play(p, STORY, ML_COUNT(STORY), why);
}
