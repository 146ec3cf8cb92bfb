/* ssrsrs - the steps of a product's sketch: SSRSRS with the result staged, fused and parallel outside, vectors
 * inside. Behind them stand its decisions: those of three tiles (instructions 3, 5, 7) and a choice (14). */
#ifndef ML_TESTS_TUNE_SSRSRS_H
#define ML_TESTS_TUNE_SSRSRS_H

#define SSRSRS_STEPS                                                                       \
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"                                     \
    "[\"CacheWrite\", [\"b0\"], [0, \"local\"], [\"b50\"]],"                               \
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"                              \
    "[\"SamplePerfectTile\", [\"l1\"], [4, 64], [\"v4\", \"v5\", \"v6\", \"v7\"]],"        \
    "[\"Split\", [\"l1\", \"v4\", \"v5\", \"v6\", \"v7\"], [true, false], "                \
    "[\"l8\", \"l9\", \"l10\", \"l11\"]],"                                                 \
    "[\"SamplePerfectTile\", [\"l2\"], [4, 64], [\"v12\", \"v13\", \"v14\", \"v15\"]],"    \
    "[\"Split\", [\"l2\", \"v12\", \"v13\", \"v14\", \"v15\"], [true, false], "            \
    "[\"l16\", \"l17\", \"l18\", \"l19\"]],"                                               \
    "[\"SamplePerfectTile\", [\"l3\"], [2, 64], [\"v20\", \"v21\"]],"                      \
    "[\"Split\", [\"l3\", \"v20\", \"v21\"], [true, false], [\"l22\", \"l23\"]],"          \
    "[\"Reorder\", [\"l8\", \"l16\", \"l9\", \"l17\", \"l22\", \"l10\", \"l18\", "         \
    "\"l23\", "                                                                            \
    "\"l11\", \"l19\"], [], []],"                                                          \
    "[\"ReverseComputeAt\", [\"b50\", \"l17\"], [true, -1], []],"                          \
    "[\"DecomposeReduction\", [\"b0\", \"l22\"], [], [\"b24\"]],"                          \
    "[\"Vectorize\", [\"l19\"], [], []],"                                                  \
    "[\"Unroll\", [\"l11\"], [], []],"                                                     \
    "[\"SampleCategorical\", [], [[0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25]], "           \
    "[\"v25\"]],"                                                                          \
    "[\"Annotate\", [\"l22\", \"v25\"], [\"pragma_auto_unroll_max_step\"], []],"           \
    "[\"Fuse\", [\"l8\", \"l16\"], [true], [\"l26\"]],"                                    \
    "[\"Parallel\", [\"l26\"], [], []]],"

#endif
