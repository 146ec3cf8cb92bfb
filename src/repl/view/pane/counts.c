/*
 * pane_counts - what loops touch and compute, worked out bit by bit.
 *
 * The answers for one version are kept; loops that were asked for wait in a list until
 * there is time. Source: interaction 8, 10.
 */
#include "repl/view/pane/counts.h"

#include "codegen/worker/pack.h"
#include "core/base/arena.h"
#include "repl/show/footprint.h"

struct ml_PaneCounts {
    ml_Ctx *cx;
    ml_Schedule *s; /* counted */
    int version;
    ml_Map *of; /* loop -> ml_LoopCount */
    ml_UidVec wanted;
    size_t done; /* of wanted */
};

static void clear(struct ml_PaneCounts *c)
{
    ml_schedule_unref(c->s);
    ml_ctx_unref(c->cx);
    *c = (struct ml_PaneCounts){0};
}

void ml_pane_counts_free(ml_View *v)
{
    if (v->kept && v->kept->counts)
        clear(v->kept->counts);
    if (v->kept) {
        ml_heap_free(v->kept->counts);
        v->kept->counts = NULL;
    }
}

/* Those of the version that is shown. */
static struct ml_PaneCounts *counts_of(ml_View *v, ml_Schedule *s, int version)
{
    struct ml_PaneKept *k = ml_pane_kept(v);
    struct ml_PaneCounts *c = k->counts;

    if (!c)
        c = k->counts = ml_heap_zalloc(sizeof *c);
    if (c->s != s || c->version != version) {
        if (c->s)
            clear(c);
        c->cx = ml_ctx_new(0);
        c->s = ml_schedule_ref(s);
        c->version = version;
        c->of = ml_map_new(c->cx);
    }
    return c;
}

const ml_LoopCount *ml_pane_count(ml_View *v, const ml_Shown *sh, ml_Uid loop)
{
    struct ml_PaneCounts *c = counts_of(v, sh->s, sh->version);

    if (!ml_map_has(c->of, loop)) {
        ml_map_set(c->cx, c->of, loop, NULL);
        ml_push(c->cx, &c->wanted, loop);
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

static const char *text_of(struct ml_PaneCounts *c, ml_Ctx *cx, ml_Number n, ml_Unit unit)
{
    ml_Text t = {0};
    const char *z;

    ml_text_number(cx, &t, n, unit, ml_version_names(c->s, c->version), false);
    z = ml_strdup(c->cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static void work_out(struct ml_PaneCounts *c, ml_Uid loop)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(c->s));
    ml_LoopCount *n = ML_NEW(c->cx, ml_LoopCount);
    ml_LoopFacts f;

    ml_ctx_set_limit(cx, 0);
    *n = (ml_LoopCount){"?", "?"};
    if (ml_counts_loop(cx, ml_version_program(c->s, c->version), loop, &f) && f.loop) {
        n->bytes = text_of(c, cx, all_bytes(&f), ML_UNIT_BYTES);
        n->flops = text_of(c, cx, f.flops, ML_UNIT_SHORT);
    }
    ml_map_set(c->cx, c->of, loop, n);
    ml_ctx_unref(cx);
}

bool ml_pane_counts_idle(ml_View *v, int ms)
{
    double end = ml_clock() + ms * 1e-3;
    struct ml_PaneCounts *c;
    bool any = false;

    if (!v->kept || !v->kept->counts || !v->ss->focus)
        return false;
    c = v->kept->counts;
    if (c->s != v->ss->focus || c->version != ml_schedule_version(c->s))
        return false;
    while (c->done < c->wanted.n && (!any || ml_clock() < end)) {
        work_out(c, c->wanted.v[c->done++]);
        any = true;
    }
    if (any && c->done == c->wanted.n)
        v->pane[ML_PANE_LOOPS].fresh = false;
    return c->done < c->wanted.n;
}
