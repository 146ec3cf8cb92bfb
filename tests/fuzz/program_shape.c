/* program_shape - what a stage of a random program computes: its iterators, how it indexes
 * its source, its other operands and its value. */
#include "program_impl.h"

#include <stdio.h>

bool fz_shape_stage(Gen *g, Stage *s, int kind)
{
    const Buf *b = &g->bufs[s->src];
    int r = b->rank, d = r ? below(g, r) : 0, e = r ? below(g, r) : 0;

    s->n_it = r;
    for (int k = 0; k < r; k++) {
        s->it[k] = (It){b->dims[k], false};
        fz_put(s->idx[k], sizeof s->idx[k], "v%d", k);
    }
    if (r == 0 || kind == 0)
        return true;
    Dim *x = &s->it[d].dom;

    switch (kind) {
    case 1: { /* transposed */
        It t = s->it[d];
        s->it[d] = s->it[e];
        s->it[e] = t;
        fz_put(s->idx[d], sizeof s->idx[d], "v%d", e);
        fz_put(s->idx[e], sizeof s->idx[e], "v%d", d);
        return true;
    }
    case 2: /* a window, reduced */
    case 3: /* a window, its points added */
        if (x->v < 3 || x->sym == DOUBLED || (x->sym && x->v - base_of(g, *x) < 2))
            return false;
        x->v -= 2;
        if (kind == 2) {
            s->it[s->n_it] = (It){{3, false}, true};
            fz_put(s->idx[d], sizeof s->idx[d], "v%d + v%d", d, s->n_it++);
        } else {
            s->n_points = 2 + below(g, 2);
            fz_put(s->idx[d], sizeof s->idx[d], "v%d @", d);
        }
        return true;
    case 4: { /* padded */
        char t[40];
        if (x->sym == DOUBLED)
            return false;
        fz_put(s->guard, sizeof s->guard, "1 <= v%d and v%d < %s + 1", d, d,
               fz_dim_text(g, *x, t));
        x->v += 2;
        fz_put(s->idx[d], sizeof s->idx[d], "v%d - 1", d);
        return true;
    }
    case 5: /* reduced over one dimension, or two */
        s->it[d].reduce = true;
        if (below(g, 3) == 0)
            s->it[e].reduce = true;
        return true;
    case 6: /* broadcast along a new dimension */
        if (r == 3)
            return false;
        s->it[s->n_it++] = (It){{fz_extent(g), false}, false};
        return true;
    case 7: { /* two dimensions as one */
        if (r < 2 || s->it[0].dom.sym || s->it[1].dom.sym)
            return false;
        int w = s->it[1].dom.v;
        s->it[0].dom.v *= w;
        fz_put(s->idx[0], sizeof s->idx[0], "v0 // %d", w);
        fz_put(s->idx[1], sizeof s->idx[1], "v0 %% %d", w);
        for (int k = 2; k < r; k++) {
            s->it[k - 1] = s->it[k];
            fz_put(s->idx[k], sizeof s->idx[k], "v%d", k - 1);
        }
        s->n_it--;
        return true;
    }
    case 8: { /* one dimension as two */
        int f = 2 + below(g, 3);
        if (x->sym || x->v % f || r == 3)
            return false;
        x->v /= f;
        s->it[s->n_it] = (It){{f, false}, false};
        fz_put(s->idx[d], sizeof s->idx[d], "v%d * %d + v%d", d, f, s->n_it++);
        return true;
    }
    case 9: /* every second one */
        if (x->sym || x->v < 2)
            return false;
        fz_put(s->idx[d], sizeof s->idx[d], "v%d * 2%s", d, x->v % 2 ? "" : " + 1");
        x->v /= 2;
        return true;
    case 10: /* backwards */
        if (x->sym)
            return false;
        fz_put(s->idx[d], sizeof s->idx[d], "%d - v%d", x->v - 1, d);
        return true;
    case 11: /* a product of matrices: the new operand is made by second_operand */
        s->it[r - 1].reduce = true;
        s->it[s->n_it++] = (It){{fz_extent(g), false}, false};
        return true;
    case 13: { /* a window with strides, its points apart, reduced */
        int by = 1 + below(g, 3), gap = 1 + below(g, 3), w = 2 + below(g, 2);
        if (x->sym || x->v < (w - 1) * gap + 1 || (g->plan->off & FZ_STRIDES))
            return false;
        x->v = (x->v - (w - 1) * gap - 1) / by + 1;
        s->it[s->n_it] = (It){{w, CONSTANT}, true};
        fz_put(s->idx[d], sizeof s->idx[d], "v%d * %d + v%d * %d", d, by, s->n_it, gap);
        s->n_it++;
        return true;
    }
    case 14: { /* where an index buffer says */
        int at = fz_index_buffer(g, s, (Dim){fz_extent(g), CONSTANT});
        char load[16];

        if (x->sym || at < 0)
            return false;
        fz_put(load, sizeof load, "%s[v%d]", g->bufs[at].name, d);
        fz_loaded_index(g, load, d, x->v, g->bufs[at].input, s->idx[d], sizeof s->idx[d]);
        *x = g->bufs[at].dims[0];
        return true;
    }
    default: /* one place of a dimension */
        if (r < 2)
            return false;
        fz_put(s->idx[d], sizeof s->idx[d], "%d", x->v - 1);
        if (x->sym)
            return false;
        for (int k = d + 1; k < r; k++) {
            s->it[k - 1] = s->it[k];
            fz_put(s->idx[k], sizeof s->idx[k], "v%d", k - 1);
        }
        s->n_it--;
        return true;
    }
}

void fz_by_floats(Gen *g, Stage *s)
{
    int d = below(g, MAX_RANK), v;
    char z[40];

    if (d >= g->bufs[s->src].rank || sscanf(s->idx[d], "v%d", &v) != 1)
        return;
    fz_put(z, sizeof z, "v%d", v);
    if (strcmp(z, s->idx[d]) == 0)
        fz_put(s->idx[d], sizeof s->idx[d], "T.Cast(\"int%d\", T.Cast(\"float32\", v%d))",
               g->i64 ? 64 : 32, v);
}

bool fz_second_operand(Gen *g, Stage *s, const char *type, bool all, char *out, size_t n,
                       int *mag)
{
    char idx[MAX_RANK][40];
    int at = -1;

    if (!all && g->n_bufs > 0 && below(g, 2)) {
        const Buf *b = &g->bufs[at = below(g, g->n_bufs)];
        for (int d = 0; d < b->rank && at >= 0; d++) {
            int v = s->n_it ? below(g, s->n_it) : 0;
            if (s->n_it && s->it[v].dom.sym == b->dims[d].sym &&
                s->it[v].dom.v <= b->dims[d].v)
                fz_put(idx[d], sizeof idx[d], "v%d", v);
            else if (s->n_it && !b->dims[d].sym && !s->it[v].dom.sym && below(g, 2))
                fz_put(idx[d], sizeof idx[d], "v%d %% %d", v, b->dims[d].v);
            else if (!b->dims[d].sym)
                fz_put(idx[d], sizeof idx[d], "%d", below(g, b->dims[d].v));
            else
                at = -1;
        }
        if (b->closed)
            at = -1;
    }
    if (at < 0) {
        Dim d[MAX_RANK];
        int r = 0;
        for (int v = s->n_it; v-- > 0 && r < 3;)
            if (all ? v >= s->n_it - 2 : below(g, 2)) {
                d[r] = s->it[v].dom;
                fz_put(idx[r++], sizeof idx[0], "v%d", v);
            }
        while (r > 0 && elements(d, r) > MAX_ELEMENTS)
            r--;
        if (r == 0 || g->n_bufs >= MAX_BUFS - 2)
            return false;
        at = fz_new_buf(g, true, fz_dtype(g, 2), d, r, 2);
    }
    fz_access(&g->bufs[at], idx, type, out, n);
    g->bufs[at].consumed = true;
    *mag = g->bufs[at].mag;
    return true;
}

int fz_value_of(Gen *g, Stage *s, const char *type, bool product)
{
    Buf *b = &g->bufs[s->src];
    char first[800] = "", other[200], one[260], num[40];
    int mag = b->mag, m2 = 0;

    b->consumed = true;
    for (int p = 0; p < (s->n_points ? s->n_points : 1); p++) {
        char idx[MAX_RANK][40];
        for (int d = 0; d < b->rank; d++) {
            char *cut;
            memcpy(idx[d], s->idx[d], sizeof idx[d]);
            cut = strchr(idx[d], '@');
            if (cut && p)
                fz_put(cut - 1, 20, " + %d", p);
            else if (cut)
                cut[-1] = '\0';
        }
        fz_access(b, idx, type, one, sizeof one);
        if (p)
            fz_append(first, sizeof first, " + ");
        fz_append(first, sizeof first, one);
    }
    mag *= s->n_points ? s->n_points : 1;
    if (s->n_points) {
        memmove(first + 1, first, sizeof first - 2);
        first[0] = '(';
        fz_append(first, sizeof first, ")");
    }
    if (s->guard[0]) {
        fz_put(s->value, sizeof s->value, "T.if_then_else(%s, %s, %s)", s->guard, first,
               fz_literal(type, 0, num));
        return mag;
    }
    if (product && fz_second_operand(g, s, type, true, other, sizeof other, &m2) &&
        mag * m2 <= LIMIT) {
        fz_put(s->value, sizeof s->value, "%s * %s", first, other);
        return mag * m2;
    }
    if (!ON(g, FZ_OPERANDS, 60) ||
        !fz_second_operand(g, s, type, false, other, sizeof other, &m2)) {
        m2 = 1 + below(g, 3);
        fz_literal(type, m2, other);
    }
    switch (below(g, 8)) {
    case 0:
        if (mag * m2 <= LIMIT) {
            fz_put(s->value, sizeof s->value, "%s * %s", first, other);
            return mag * m2;
        }
        __attribute__((fallthrough));
    case 1:
        fz_put(s->value, sizeof s->value, "T.max(%s, %s)", first, other);
        return mag > m2 ? mag : m2;
    case 2:
        fz_put(s->value, sizeof s->value, "T.min(%s, %s)", other, first);
        return mag > m2 ? mag : m2;
    case 3:
        fz_put(s->value, sizeof s->value, "T.Select(%s < %s, %s, %s)", other, first, first,
               fz_literal(type, 2, num));
        return mag + 2;
    case 4:
        if (is_int(type)) {
            fz_put(s->value, sizeof s->value,
                   below(g, 2) ? "%s // %s + %s" : "%s %% %s + %s", first,
                   fz_literal(type, 2 + below(g, 3), num), other);
            return mag + m2 + 4;
        }
        __attribute__((fallthrough));
    case 5: fz_put(s->value, sizeof s->value, "%s - %s", first, other); return mag + m2;
    case 6: fz_put(s->value, sizeof s->value, "%s", first); return mag;
    default: fz_put(s->value, sizeof s->value, "%s + %s", first, other); return mag + m2;
    }
}
