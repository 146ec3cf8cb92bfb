/* random - scores that are drawn: what the other kinds are compared with. Source:
 * auto-scheduler 15. */
#include "moonloop/tune/model/model.h"

#include "moonloop/codegen/tensor/tensor.h"

#include <stdlib.h>

typedef struct Drawn {
    ml_Model model;
    ml_Random r;
} Drawn;

static bool score(ml_Model *m, ml_Ctx *cx, const ml_Samples *s, double *out)
{
    Drawn *d = (Drawn *)m;

    (void)cx;
    for (size_t k = 0; k < s->n; k++)
        out[k] = s->begin[k] < s->begin[k + 1]
                     ? (double)ml_random_below(&d->r, UINT64_C(1) << 32) * 0x1p-32 * 100
                     : -1;
    return true;
}

static void close_random(ml_Model *m)
{
    free(m);
}

ml_Model *ml_model_random(uint64_t seed)
{
    static const ml_ModelKind kind = {
        .name = "random", .score = score, .close = close_random};
    Drawn *d = calloc(1, sizeof *d);

    if (d == NULL)
        ml_out_of_memory();
    d->model.kind = &kind;
    d->r = ml_random("moonloop.model", 0, seed);
    return &d->model;
}
