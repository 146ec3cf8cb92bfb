/* thread - the tables of thread tags and storage scopes, and who shares what. */
#include "moonloop/core/base/thread.h"

static const struct {
    const char *name;
    int rank;
} AXES[] = {
    {NULL, -1}, {"blockIdx", 0}, {"threadIdx", 1}, {"vthread", 1}, {"clusterCtaIdx", 2}};

/* By rank, each with its zero. */
static const char SCOPES[] =
    "global\0shared\0warp\0local\0wmma.matrix_a\0wmma.matrix_b\0wmma.accumulator\0texture\0"
    "amx.tmm\0m16n8k8.matrixA\0m16n8k8.matrixB\0m16n8k8.matrixC\0metal.simdgroup\0"
    "metal.cooperative_tensor\0trn.sbuf\0trn.psum\0";

ml_Thread ml_thread(const char *tag)
{
    ml_Thread t = {tag, ML_AXIS_OTHER, ML_DIM_OTHER};

    if (!tag)
        return (ml_Thread){0};
    for (int a = ML_AXIS_BLOCK; a < ML_AXIS_OTHER; a++) {
        size_t n = strlen(AXES[a].name);

        if (strncmp(tag, AXES[a].name, n) != 0 || (tag[n] && tag[n] != '.'))
            continue;
        t.axis = (uint8_t)a;
        if (!tag[n])
            t.dim = ML_DIM_BARE;
        else if (tag[n + 1] >= 'x' && tag[n + 1] <= 'z' && !tag[n + 2])
            t.dim = (uint8_t)(tag[n + 1] - 'x');
        break;
    }
    return t;
}

bool ml_thread_eq(ml_Thread a, ml_Thread b)
{
    return a.axis == b.axis && a.dim == b.dim &&
           (a.dim != ML_DIM_OTHER || ml_streq(a.name, b.name));
}

static bool is_bare_vthread(ml_Thread t)
{
    return ml_is_thread(t, ML_AXIS_VTHREAD, ML_DIM_BARE);
}

int ml_thread_rank(ml_Thread t)
{
    return t.dim <= ML_DIM_Z || is_bare_vthread(t) ? AXES[t.axis].rank : -1;
}

const char *ml_thread_key(ml_Thread t)
{
    return is_bare_vthread(t) ? "virtual_thread" : "thread_extent";
}

ml_Scope ml_scope(const char *text)
{
    int8_t rank = 0;

    if (!text || !*text)
        text = SCOPES;
    for (const char *z = SCOPES; *z; z += strlen(z) + 1, rank++) {
        size_t n = strlen(z);

        if (strncmp(text, z, n) == 0)
            return (ml_Scope){text[n] ? text : z, rank, !text[n]};
    }
    return (ml_Scope){text, ML_SCOPE_UNKNOWN, false};
}

bool ml_scope_spans(ml_Scope s, ml_Thread t)
{
    if (s.rank == ML_SCOPE_WARP)
        return ml_is_thread(t, ML_AXIS_THREAD, ML_DIM_X);
    return s.rank >= 0 && s.rank <= ml_thread_rank(t);
}
