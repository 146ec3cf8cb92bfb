/* step_chain - schedules that split and fuse one nest in turn, as long as a trial may be. */
#include "step_impl.h"

bool fz_is_chain(uint64_t seed)
{
    uint64_t rnd = seed ^ 0x9b05688c2b3e6c1fU;

    return fz_chance(&rnd, 4);
}

/* The outermost loop of the first block that has some: split, or fused with the next where
 * it has just been split. false: there is none. */
bool fz_add_chain(const View *v, ml_Text *out)
{
    static const char *const factors[] = {"2, auto", "auto, 2", "3, auto",
                                          "auto, 3", "auto, 5", "2, auto, 2"};
    const ml_For *outer = v->loops.n ? ml_as_for(v->loops.v[0]) : NULL;
    const ml_For *inner =
        outer && outer->body->kind == ML_STMT_FOR ? ml_as_for(outer->body) : NULL;

    if (!outer)
        return false;
    if (inner && (chance(v, 20) || ml_streq(v->focus->last, "split"))) {
        if (chance(v, 20))
            ml_text_fmt(out, "reorder(\"%s\", \"%s\")", name(v, &inner->base),
                        name(v, &outer->base));
        else
            ml_text_fmt(out, "fuse(\"%s\", \"%s\")", name(v, &outer->base),
                        name(v, &inner->base));
    } else
        ml_text_fmt(out, "split(\"%s\", {%s})", name(v, &outer->base),
                    factors[below(v, (int)ML_COUNT(factors))]);
    return true;
}
