/*
 * tilings - factors to propose for a split: divisors that machines like, the tiles of
 * intrinsics, three levels. Source: interaction 10.
 */
#include <stdlib.h>

#include "moonloop/core/targets.h"
#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/intrin/tile_intrin.h"
#include "repl/view/act/act_impl.h"

enum { MAX_TILINGS = 64 };

/* Sizes that machines like come first. */
static int64_t liking(int64_t d)
{
    static const int64_t FIRST[] = {16, 8, 32, 4, 64, 2, 128, 256, 512};

    for (size_t k = 0; k < ML_COUNT(FIRST); k++)
        if (d == FIRST[k])
            return (int64_t)k;
    return 100 + d;
}

static int by_liking(const void *a, const void *b)
{
    int64_t x = liking(*(const int64_t *)a), y = liking(*(const int64_t *)b);

    return (x > y) - (x < y);
}

typedef struct Tilings {
    ML_VEC(const char *) text;
    ML_VEC(const char *) note;
} Tilings;

static void add(ml_Ctx *cx, Tilings *t, const char *text, const char *note)
{
    for (size_t k = 0; k < t->text.n; k++)
        if (ml_streq(t->text.v[k], text)) {
            if (*note)
                t->note.v[k] =
                    *t->note.v[k] ? ml_format(cx, "%s, %s", t->note.v[k], note) : note;
            return;
        }
    ml_push(cx, &t->text, text);
    ml_push(cx, &t->note, note);
}

static bool reads_type(const ml_Block *b, ml_Dtype type)
{
    for (uint32_t k = 0; k < b->n_reads; k++)
        if (ml_dtype_eq(b->reads[k].buffer->type, type))
            return true;
    return false;
}

/* Whether the intrinsic computes on elements of the types that the block has. */
static bool same_types(const ml_Block *b, const ml_Intrin *in)
{
    const ml_Block *root = ml_func_root(in->desc);

    if (!root || !root->n_writes || !b->n_writes ||
        !ml_dtype_eq(root->writes[0].buffer->type, b->writes[0].buffer->type))
        return false;
    for (uint32_t k = 0; k < b->n_reads; k++)
        if (!reads_type(root, b->reads[k].buffer->type))
            return false;
    return true;
}

/* What makes the loop one of the intrinsic's nest. */
static void add_intrinsics(const ml_View *v, ml_Ctx *cx, const ml_For *f, Tilings *t)
{
    ml_Schedule *s = v->ss->focus;
    const ml_Block *b = ml_act_block_here(v, f->var->uid, NULL);
    const char *const *names;
    size_t n = b ? ml_intrin_names(cx, s->space->intrins, &names) : 0;
    const ml_TargetKind *target = ml_target_row(ml_schedule_opts(s)->target);
    bool gpu = target && target->pipeline == ML_PIPE_GPU;

    for (size_t k = 0; k < n; k++) {
        ml_IntrinTiling tile = {0};

        if (!gpu && ml_intrin_sm(names[k]) > 0)
            continue;
        if (!same_types(b, ml_intrin_find(s->space->intrins, names[k])) ||
            !ml_intrin_tiling(s, (ml_Handle){ML_H_BLOCK, b->tag}, names[k], false, cx,
                              &tile))
            continue;
        for (size_t i = 0; i < tile.n; i++)
            if (tile.loops[i].loop == f->var->uid && tile.loops[i].tile > 1 &&
                tile.loops[i].tile < ml_act_extent(f))
                add(cx, t, ml_format(cx, "auto, %lld", (long long)tile.loops[i].tile),
                    names[k]);
    }
    ml_error_clear(ml_schedule_ctx(s));
}

size_t ml_act_tilings(const ml_View *v, ml_Ctx *cx, const ml_For *f,
                      const char *const **out, const char *const **notes)
{
    int64_t n = ml_act_extent(f), divs[MAX_TILINGS];
    size_t n_divs = 0;
    Tilings list = {0};

    for (int64_t d = 2; d <= 1024 && n_divs < ML_COUNT(divs); d++)
        if (n < 0 ? (d & (d - 1)) == 0 : d < n && n % d == 0)
            divs[n_divs++] = d;
    if (n_divs == 0) /* nothing divides it: these need a guard */
        for (int64_t d = 2; d <= 64; d *= 2)
            if (n < 0 || d < n)
                divs[n_divs++] = d;
    if (notes) { /* what was measured comes first */
        const char *seen[8];
        size_t n_seen = ml_act_seen(cx, n, seen, ML_COUNT(seen));

        for (size_t k = 0; k < n_seen; k++)
            add(cx, &list, seen[k], "tuned");
    }
    qsort(divs, n_divs, sizeof *divs, by_liking);
    for (size_t k = 0; k < n_divs; k++)
        add(cx, &list, ml_format(cx, "auto, %lld", (long long)divs[k]), "");
    if (notes)
        add_intrinsics(v, cx, f, &list);
    for (size_t i = 0; i < n_divs; i++) /* three levels */
        for (size_t k = 0; k < n_divs && list.text.n < MAX_TILINGS; k++)
            if (n > 0 && divs[i] <= 64 && divs[k] <= 64 && (n / divs[i]) % divs[k] == 0 &&
                n / divs[i] / divs[k] > 1)
                add(cx, &list,
                    ml_format(cx, "auto, %lld, %lld", (long long)divs[k],
                              (long long)divs[i]),
                    "");
    *out = list.text.v;
    if (notes)
        *notes = list.note.v;
    return list.text.n;
}
