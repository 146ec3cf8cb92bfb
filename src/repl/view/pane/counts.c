/*
 * counts - what loops touch and compute, worked out bit by bit.
 *
 * The answers for one version are kept; loops that were asked for wait in a list until
 * there is time. Source: interaction 8, 10.
 */
#include "repl/view/pane/counts.h"

#include "moonloop/codegen/worker/pack.h"
#include "moonloop/core/base/arena.h"
#include "repl/show/footprint.h"

typedef struct Counts {
    ml_PaneMemo m;
    ml_Map *of; /* loop -> ml_LoopCount */
    ml_UidVec wanted;
    size_t done; /* of wanted */
} Counts;

const ml_LoopCount *ml_pane_count(ml_View *v, const ml_Shown *sh, ml_Uid loop)
{
    bool made;
    Counts *c = ml_pane_memo(v, &ml_pane_kept(v)->counts, sh->s, sh->version, 0, sizeof *c,
                             1, &made);

    if (made)
        c->of = ml_map_new(c->m.cx);
    if (!ml_map_has(c->of, loop)) {
        ml_map_set(c->m.cx, c->of, loop, NULL);
        ml_push(c->m.cx, &c->wanted, loop);
    }
    return ml_map_get(c->of, loop);
}

/* All buffers together. */
static ml_Number all_bytes(const ml_LoopFacts *f)
{
    ml_Number n = {.how = ML_EXACT};

    for (uint32_t k = 0; k < f->n_touched; k++) {
        ml_Number b = f->touched[k].bytes;

        if (b.how == ML_UNKNOWN || b.expr || __builtin_add_overflow(n.n, b.n, &n.n))
            return (ml_Number){.how = ML_UNKNOWN};
        n.how = b.how == ML_AT_MOST ? ML_AT_MOST : n.how;
    }
    return n;
}

static const char *text_of(Counts *c, ml_Ctx *cx, ml_Number n, ml_Unit unit)
{
    ml_Text t = {0};

    ml_text_number(cx, &t, n, unit, ml_version_names(c->m.s, c->m.version), false);
    return ml_text_into(c->m.cx, &t);
}

static void work_out(Counts *c, ml_Uid loop)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(c->m.s));
    ml_LoopCount *n = ML_NEW(c->m.cx, ml_LoopCount);
    ml_LoopFacts f;

    ml_ctx_set_limit(cx, 0);
    *n = (ml_LoopCount){"?", "?"};
    if (ml_counts_loop(cx, ml_version_program(c->m.s, c->m.version), loop, &f) && f.loop) {
        n->bytes = text_of(c, cx, all_bytes(&f), ML_UNIT_BYTES);
        n->flops = text_of(c, cx, f.flops, ML_UNIT_SHORT);
    }
    ml_map_set(c->m.cx, c->of, loop, n);
    ml_ctx_unref(cx);
}

bool ml_pane_counts_idle(ml_View *v, int ms)
{
    double end = ml_clock() + ms * 1e-3;
    Counts *c = v->kept ? (Counts *)v->kept->counts : NULL;
    bool any = false;

    if (!c || !v->ss->focus || c->m.s != v->ss->focus ||
        c->m.version != ml_schedule_version(c->m.s))
        return false;
    while (c->done < c->wanted.n && (!any || ml_clock() < end)) {
        work_out(c, c->wanted.v[c->done++]);
        any = true;
    }
    if (any && c->done == c->wanted.n)
        v->pane[ML_PANE_LOOPS].fresh = false;
    return c->done < c->wanted.n;
}
