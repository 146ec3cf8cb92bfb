/* searched - see searched.h. Source: interaction 11, 12. */
#include "repl/session/searched.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/core/ctx.h"

struct ml_SearchedKept {
    ml_Ctx *cx;
    ml_Searched s;
};

void ml_searched_keep(ml_Session *ss, const ml_Searched *s)
{
    ml_searched_free(ss);
    ml_Ctx *cx = ml_ctx_new(0);
    struct ml_SearchedKept *k = ml_zalloc(cx, sizeof *k);

    k->cx = cx;
    k->s = *s;
    k->s.program = ml_strdup(cx, ml_str(s->program));
    k->s.v = ml_zalloc(cx, (s->n + 1) * sizeof *s->v);
    for (size_t c = 0; c < s->n; c++) {
        const ml_SearchCurve *from = &s->v[c];
        double *best = ml_zalloc(cx, (from->n + 1) * sizeof *best);

        if (from->n)
            memcpy(best, from->best, from->n * sizeof *best);
        k->s.v[c] = (ml_SearchCurve){from->name ? ml_strdup(cx, ml_str(from->name)) : NULL,
                                     from->n, best};
    }
    ss->searched = k;
}

const ml_Searched *ml_searched(const ml_Session *ss)
{
    return ss->searched ? &ss->searched->s : NULL;
}

void ml_searched_free(ml_Session *ss)
{
    if (ss->searched)
        ml_ctx_unref(ss->searched->cx); /* it is in it */
    ss->searched = NULL;
}
