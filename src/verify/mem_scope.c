/* mem_scope - storage scopes and thread tags: ranks, and who shares what.
 * Source: ir-and-analysis 5.4, primitives 2.3 and 3. */
#include "verify/verify.h"

static const struct {
    const char *prefix;
    int rank;
} SCOPES[] = {
    {"global", 0},
    {"shared", 1},
    {"warp", 2},
    {"local", 3},
    {"wmma.matrix_a", 4},
    {"wmma.matrix_b", 5},
    {"wmma.accumulator", 6},
    {"texture", 7},
    {"amx.tmm", 8},
    {"m16n8k8.matrixA", 9},
    {"m16n8k8.matrixB", 10},
    {"m16n8k8.matrixC", 11},
    {"metal.simdgroup", 12},
    {"metal.cooperative_tensor", 13},
    {"trn.sbuf", 14},
    {"trn.psum", 15},
};

bool ml_scope_parse(const char *scope, ml_Scope *out)
{
    if (scope[0] == '\0') {
        *out = (ml_Scope){0, ""};
        return true;
    }
    for (size_t k = 0; k < ML_COUNT(SCOPES); k++) {
        size_t n = strlen(SCOPES[k].prefix);

        if (strncmp(scope, SCOPES[k].prefix, n) == 0) {
            *out = (ml_Scope){SCOPES[k].rank, scope + n};
            return true;
        }
    }
    return false;
}

static bool has_axis(const char *tag, const char *base)
{
    size_t n = strlen(base);

    return strncmp(tag, base, n) == 0 && tag[n] == '.' && tag[n + 1] >= 'x' &&
           tag[n + 1] <= 'z' && tag[n + 2] == '\0';
}

int ml_thread_rank(const char *tag)
{
    if (has_axis(tag, "blockIdx"))
        return 0;
    if (has_axis(tag, "threadIdx") || has_axis(tag, "vthread") || ml_streq(tag, "vthread"))
        return 1;
    if (has_axis(tag, "clusterCtaIdx"))
        return 2;
    return -1;
}

bool ml_thread_known(const char *tag)
{
    return ml_thread_rank(tag) >= 0;
}

bool ml_scope_spans(ml_Scope s, const char *thread_tag)
{
    int t = ml_thread_rank(thread_tag);

    if (t < 0)
        return false;
    if (s.rank == 2)
        return ml_streq(thread_tag, "threadIdx.x");
    return s.rank <= t;
}
