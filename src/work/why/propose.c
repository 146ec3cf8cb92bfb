/* propose - see propose.h. */
#include "moonloop/work/why/propose.h"

#include "moonloop/primitives/schedule.h"

static bool is_plain(const ml_WhyNestLoop *l)
{
    return l->kind == ML_FOR_SERIAL && l->extent != 1;
}

static bool is_spatial(const ml_WhyNestLoop *l)
{
    return is_plain(l) && !l->reduce;
}

/* The last loop that is neither a vector nor unrolled; -1: none. */
static int innermost(const ml_WhyNest *n)
{
    for (int k = (int)n->n - 1; k >= 0; k--)
        if (n->loop[k].kind != ML_FOR_VECTORIZED && n->loop[k].kind != ML_FOR_UNROLLED)
            return k;
    return -1;
}

/* The k-th spatial loop by how many accesses move along it by one element, none by more
 * than that; inner ones first. */
static int smoothest(const ml_WhyNest *n, unsigned k)
{
    for (unsigned least = n->accesses + 1; least-- > 1;)
        for (int l = (int)n->n - 1; l >= 0; l--)
            if (is_spatial(&n->loop[l]) && n->loop[l].wide == 0 &&
                n->loop[l].unit == least && k-- == 0)
                return l;
    return -1;
}

/* `reorder("a", …, "last")`: the loops from `from` on that `part` is not, then `part`, then
 * those that stay innermost. */
static bool move_in(ml_WhyTry *t, const ml_WhyNest *n, int from, ml_Uid part, bool last)
{
    ml_Text call = {0};
    bool ok;
    int moved = 0;

    ml_text_add(&call, "reorder(");
    for (int pass = 0; pass < 2; pass++) {
        for (int k = from; k < (int)n->n; k++) {
            bool stays = !last && (n->loop[k].kind == ML_FOR_VECTORIZED ||
                                   n->loop[k].kind == ML_FOR_UNROLLED);

            if (n->loop[k].uid == part || stays != (pass == 1))
                continue;
            if (pass == 1 && !stays)
                continue;
            ml_text_fmt(&call, "%s\"%s\"", moved++ ? ", " : "",
                        ml_why_name(t, n->loop[k].uid));
        }
        if (pass == 0)
            ml_text_fmt(&call, "%s\"%s\"", moved++ ? ", " : "", ml_why_name(t, part));
    }
    ml_text_add(&call, ")");
    ok = moved < 2 || ml_why_call(t, "%s", ml_text_z(&call));
    ml_text_free(&call);
    return ok;
}

/* Splits; *part: the inner one. */
static bool split(ml_WhyTry *t, ml_Uid loop, int64_t factor, ml_Uid *part)
{
    if (!ml_why_call(t, "split(\"%s\", {auto, %lld})", ml_why_name(t, loop),
                     (long long)factor) ||
        t->r.n != 2)
        return false;
    *part = t->r.v[1].uid;
    return true;
}

/* One after the other, none of them divides the loop when none is told. */
static int64_t factor_of(const ml_WhyNestLoop *l, const int64_t *v, size_t n, unsigned k)
{
    for (size_t j = 0; j < n; j++)
        if (l->extent > 0 && l->extent % v[j] == 0 && k-- == 0)
            return v[j];
    return 0;
}

bool ml_why_vectorize(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;
    int last = innermost(&n), l = smoothest(&n, k / 2);
    ml_Uid part;

    if (l < 0)
        return false;
    if (l == last && (k & 1) == 0)
        return ml_why_call(t, "vectorize(\"%s\")", ml_why_name(t, n.loop[l].uid));
    part = n.loop[l].uid;
    if ((k & 1) && n.loop[l].extent > 2 * t->lanes) {
        int64_t by = n.loop[l].extent % (2 * t->lanes) == 0 ? 2 * t->lanes : t->lanes;

        if (!split(t, part, by, &part))
            return false;
    } else if (k & 1)
        return false;
    return (l == (int)n.n - 1 || move_in(t, &n, l + 1, part, true)) &&
           ml_why_call(t, "vectorize(\"%s\")", ml_why_name(t, part));
}

bool ml_why_accumulate(ml_WhyTry *t, unsigned k)
{
    static const int64_t BY[] = {8, 4, 6, 7, 5, 10, 12, 3, 2};
    const ml_WhyNest n = t->nest;
    int reduce = 0, l;
    int64_t by;
    ml_Uid part;

    while (reduce < (int)n.n && !n.loop[reduce].reduce)
        reduce++;
    for (l = reduce - 1; l >= 0 && !is_spatial(&n.loop[l]); l--)
        ;
    if (reduce == (int)n.n || l < 0)
        return false;
    by = factor_of(&n.loop[l], BY, ML_COUNT(BY), k);
    return by && split(t, n.loop[l].uid, by, &part) && move_in(t, &n, l + 1, part, false) &&
           ml_why_call(t, "unroll(\"%s\")", ml_why_name(t, part));
}

bool ml_why_parts(ml_WhyTry *t, unsigned k)
{
    static const int64_t BY[] = {64, 128, 32, 16, 8};
    const ml_WhyNest n = t->nest;
    int last = innermost(&n);
    int64_t by = last >= 0 ? factor_of(&n.loop[last], BY, ML_COUNT(BY), k) : 0;
    ml_Uid part, block;
    ml_WhyNest own;

    if (by == 0 || !n.loop[last].reduce || !split(t, n.loop[last].uid, by, &part) ||
        !ml_why_call(t, "rfactor(\"%s\", -1)", ml_why_name(t, part)) || t->r.n < 1)
        return false;
    block = t->r.v[0].uid;
    return ml_why_look(t->s, block, &own) && own.n > 0 &&
           ml_why_call(t, "vectorize(\"%s\")", ml_why_name(t, own.loop[own.n - 1].uid));
}

bool ml_why_narrow(ml_WhyTry *t, unsigned k)
{
    static const int64_t BY[] = {8, 6, 4, 2};
    const ml_WhyNest n = t->nest;
    int64_t by;
    ml_Uid part;
    int l, reduce = 0;

    while (reduce < (int)n.n && !n.loop[reduce].reduce)
        reduce++;
    for (l = reduce + 1; l < (int)n.n; l++)
        if (is_spatial(&n.loop[l]) && n.loop[l].extent > 2)
            break;
    if (l >= (int)n.n || (by = factor_of(&n.loop[l], BY, ML_COUNT(BY), k)) == 0 ||
        by >= n.loop[l].extent || !split(t, n.loop[l].uid, by, &part))
        return false;
    return ml_why_call(t, "reorder(\"%s\", \"%s\")", ml_why_name(t, t->r.v[0].uid),
                       ml_why_name(t, n.loop[reduce].uid)) &&
           ml_why_call(t, "unroll(\"%s\")", ml_why_name(t, part));
}

bool ml_why_unroll(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;
    int last = innermost(&n) - (int)k;

    return last >= 0 && is_plain(&n.loop[last]) && n.loop[last].extent <= 16 &&
           n.loop[last].extent > 1 &&
           ml_why_call(t, "unroll(\"%s\")", ml_why_name(t, n.loop[last].uid));
}

bool ml_why_take_init(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;

    for (uint32_t l = 0; l < n.n && n.init && k == 0; l++)
        if (n.loop[l].reduce)
            return ml_why_call(t, "decompose_reduction(\"%s\", \"%s\")",
                               ml_why_name(t, n.block), ml_why_name(t, n.loop[l].uid));
    return false;
}

bool ml_why_parallel(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;
    uint32_t first = 0; /* of more than one iteration */
    ml_Uid loop;

    for (uint32_t l = 0; l < n.n; l++)
        if (n.loop[l].kind == ML_FOR_PARALLEL)
            return false;
    while (first < n.n && n.loop[first].extent == 1)
        first++;
    if (k > 1 || first + k >= n.n || !is_spatial(&n.loop[first]) ||
        !is_spatial(&n.loop[first + k]))
        return false;
    loop = n.loop[first].uid;
    if (k == 1) {
        if (!ml_why_call(t, "fuse(\"%s\", \"%s\")", ml_why_name(t, loop),
                         ml_why_name(t, n.loop[first + 1].uid)) ||
            t->r.n != 1)
            return false;
        loop = t->r.v[0].uid;
    }
    return ml_why_call(t, "parallel(\"%s\")", ml_why_name(t, loop));
}

bool ml_why_along(ml_WhyTry *t, unsigned k)
{
    static const int64_t BY[] = {16, 8, 32};
    const ml_WhyNest n = t->nest;
    int l = smoothest(&n, 0);

    if (k < 2) {
        ml_Uid inner;

        for (int most = (int)n.n - 1; l < 0 && most >= 0; most--)
            if (is_spatial(&n.loop[most]) && n.loop[most].unit > 0)
                l = most;
        if (l < 0 || l == (int)n.n - 1)
            return false;
        inner = n.loop[l].uid;
        return move_in(t, &n, l + 1, inner, true) &&
               (k == 0 || ml_why_call(t, "vectorize(\"%s\")", ml_why_name(t, inner)));
    }
    if (n.n >= 2 && k < 2 + ML_COUNT(BY)) { /* square blocks */
        const ml_WhyNestLoop *a = &n.loop[n.n - 2], *b = &n.loop[n.n - 1];
        int64_t by = BY[k - 2];
        ml_Uid in[2], out;

        if (!is_plain(a) || !is_plain(b) || a->extent % by || b->extent % by ||
            !split(t, a->uid, by, &in[0]) || !split(t, b->uid, by, &in[1]))
            return false;
        out = t->r.v[0].uid;
        return ml_why_call(t, "reorder(\"%s\", \"%s\")", ml_why_name(t, out),
                           ml_why_name(t, in[0]));
    }
    return false;
}

bool ml_why_swap(ml_WhyTry *t, unsigned k)
{
    static const int64_t BY[] = {256, 128, 64};
    const ml_WhyNest n = t->nest;

    for (uint32_t l = 0; k < 3 && l + 1 < n.n; l++)
        if (is_spatial(&n.loop[l]) && is_spatial(&n.loop[l + 1]) && k-- == 0)
            return ml_why_call(t, "reorder(\"%s\", \"%s\")",
                               ml_why_name(t, n.loop[l + 1].uid),
                               ml_why_name(t, n.loop[l].uid));
    for (uint32_t l = 0; k >= 3 && l < n.n; l++)
        if (n.loop[l].reduce && is_plain(&n.loop[l])) { /* a part of the sum at a time */
            int64_t by = factor_of(&n.loop[l], BY, ML_COUNT(BY), k - 3);
            ml_Uid part;

            return l > 0 && by && by < n.loop[l].extent &&
                   split(t, n.loop[l].uid, by, &part) &&
                   ml_why_call(t, "reorder(\"%s\", \"%s\")", ml_why_name(t, t->r.v[0].uid),
                               ml_why_name(t, n.loop[0].uid));
        }
    return false;
}

/* Copies of parameters it reads, under the k-th loop: one after the other. */
static bool pack(ml_WhyTry *t, unsigned k, bool turned)
{
    const ml_WhyNest n = t->nest;
    unsigned loops = turned ? 1 : 3;
    uint32_t at = k / loops, loop = k % loops;
    ml_WhyNest copy;
    ml_Uid block;

    if (at >= n.n_reads || loop + 1 >= n.n)
        return false;
    if (!ml_why_call(t, "cache_read(\"%s\", \"%s\", \"global\")", ml_why_name(t, n.block),
                     ml_why_name(t, n.reads[n.n_reads - 1 - at].uid)) ||
        t->r.n != 1)
        return false;
    block = t->r.v[0].uid;
    if (turned) {
        if (!ml_why_call(
                t, "transform_layout(\"%s\", {\"write\", 0}, \"lambda i, j: (j, i)\")",
                ml_why_name(t, block)))
            return false;
    } else if (!ml_why_call(t, "compute_at(\"%s\", \"%s\")", ml_why_name(t, block),
                            ml_why_name(t, n.loop[loop].uid)))
        return false;
    if (ml_why_look(t->s, block, &copy)) { /* the copy itself by vectors, where that goes */
        const ml_WhyNestLoop *l = &copy.loop[copy.n - 1];

        if (l->wide == 0 && l->unit > 0)
            (void)ml_why_call(t, "vectorize(\"%s\")", ml_why_name(t, l->uid));
    }
    return true;
}

bool ml_why_pack(ml_WhyTry *t, unsigned k)
{
    return pack(t, k, false);
}

bool ml_why_turn(ml_WhyTry *t, unsigned k)
{
    return pack(t, k, true);
}

/* A child block that writes what it reads; 0: none. */
static ml_Uid writer_of(ml_WhyTry *t, unsigned k)
{
    ml_Program p = ml_schedule_program(t->s);

    for (uint32_t r = 0; r < t->nest.n_reads; r++) {
        const ml_Stmt *me = ml_index_node(p.index, t->nest.block);
        const ml_Block *b = me ? ml_as_block(me) : NULL;
        ml_Tags users;

        for (uint32_t q = 0; b && q < b->n_reads; q++) {
            if (b->reads[q].buffer->uid != t->nest.reads[r].uid || t->nest.reads[r].param)
                continue;
            users = ml_index_users(p.index, b->reads[q].buffer);
            for (size_t u = 0; u < users.n; u++) {
                const ml_Stmt *w = ml_index_node(p.index, users.v[u]);

                if (w && ml_as_block(w)->n_iters &&
                    ml_write_of(ml_as_block(w), b->reads[q].buffer) && k-- == 0)
                    return users.v[u];
            }
        }
    }
    return 0;
}

bool ml_why_inline(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;
    ml_Uid w = writer_of(t, k / 3);
    ml_WhyNest own;

    if (w == 0)
        return false;
    if (k % 3 == 0)
        return ml_why_call(t, "compute_inline(\"%s\")", ml_why_name(t, w));
    if (k % 3 == 1)
        return ml_why_call(t, "reverse_compute_inline(\"%s\")", ml_why_name(t, n.block));
    return n.n > 0 && ml_why_look(t->s, w, &own) &&
           ml_why_call(t, "compute_at(\"%s\", \"%s\")", ml_why_name(t, w),
                       ml_why_name(t, n.loop[0].uid));
}

bool ml_why_move(ml_WhyTry *t, unsigned k)
{
    const ml_WhyNest n = t->nest;

    return k + 1 < n.n &&
           ml_why_call(t, "compute_at(\"%s\", \"%s\")", ml_why_name(t, n.block),
                       ml_why_name(t, n.loop[k].uid));
}
