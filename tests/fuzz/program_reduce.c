/* program_reduce - the init and the update of a reduction of a random program, in the many
 * ways in which people write them. */
#include "program_impl.h"

static void emit_init(Gen *g, int in, const char *a, const char *from_a, const char *b,
                      const char *from_b, const char *at)
{
    fz_line(g, in, "with T.init():");
    fz_line(g, in + 1, "%s[%s] = %s", a, at, from_a);
    if (b)
        fz_line(g, in + 1, "%s[%s] = %s", b, at, from_b);
}

static void emit_two_sums(Gen *g, const Stage *s, const char *at, int in)
{
    const Buf *b = &g->bufs[s->out];
    const char *one = b->name, *two = g->bufs[s->pair].name;
    bool lets = below(g, 2);
    char num[40];

    fz_literal(b->dtype, 2, num);
    emit_init(g, in, one, s->init, two, s->init, at);
    if (lets) {
        fz_line(g, in, "x%d: T.%s = %s[%s] + %s", s->k, b->dtype, one, at, s->value);
        fz_line(g, in, "y%d: T.%s = %s[%s] + %s * %s", s->k, b->dtype, two, at, s->value,
                num);
        fz_line(g, in, "%s[%s] = x%d", one, at, s->k);
        fz_line(g, in, "%s[%s] = y%d", two, at, s->k);
        return;
    }
    fz_line(g, in, "%s[%s] = %s[%s] + %s", one, at, one, at, s->value);
    fz_line(g, in, "%s[%s] = %s[%s] + %s * %s", two, at, two, at, s->value, num);
}

/* The index of the greatest or smallest value: the first of equal ones, or the one of the
 * lower or higher index. */
static void emit_arg(Gen *g, const Stage *s, const char *at, int in)
{
    const Buf *b = &g->bufs[s->out];
    Buf *two = &g->bufs[s->pair];
    int k = s->n_it - 1, way = below(g, 5);
    char old[100], index[100], cond[400], low[40], num[40];

    while (!s->it[k].reduce)
        k--;
    if (two->mag < 12)
        two->mag = 12;
    fz_put(old, sizeof old, "%s[%s]", b->name, at);
    fz_put(index, sizeof index, "%s[%s]", two->name, at);
    emit_init(g, in, b->name, fz_literal(b->dtype, -below(g, 3), low), two->name,
              fz_literal(b->dtype, below(g, 5), num), at);
    fz_line(g, in, "val%d: T.%s = %s", s->k, b->dtype, s->value);
    fz_line(g, in, "pos%d: T.%s = T.Cast(\"%s\", v%d)", s->k, b->dtype, b->dtype, k);
    switch (way) {
    case 0: fz_put(cond, sizeof cond, "%s >= val%d", old, s->k); break; /* the first */
    case 1:
    case 2: /* the lower, the higher */
        fz_put(cond, sizeof cond, "%s > val%d or (%s == val%d and %s %s pos%d)", old, s->k,
               old, s->k, index, way == 1 ? "<" : ">", s->k);
        break;
    case 3: /* the lower */
        fz_put(cond, sizeof cond, "%s >= val%d and (%s != val%d or %s <= pos%d)", old, s->k,
               old, s->k, index, s->k);
        break;
    default: /* the lower */
        fz_put(cond, sizeof cond, "not (%s < val%d or (%s == val%d and pos%d < %s))", old,
               s->k, old, s->k, s->k, index);
    }
    fz_line(g, in, "x%d: T.%s = T.Select(%s, %s, pos%d)", s->k, b->dtype, cond, index,
            s->k);
    if (below(g, 2))
        fz_line(g, in, "y%d: T.%s = T.max(val%d, %s)", s->k, b->dtype, s->k, old);
    else
        fz_line(g, in, "y%d: T.%s = T.if_then_else(%s > val%d, %s, val%d)", s->k, b->dtype,
                old, s->k, old, s->k);
    fz_line(g, in, "%s[%s] = x%d", two->name, at, s->k);
    fz_line(g, in, "%s[%s] = y%d", b->name, at, s->k);
}

/* What a transposed convolution adds: nothing but where a remainder of a reduce iter, and
 * of another one, has some value. false: the stage has no reduce iter. */
static bool emit_between_zeros(Gen *g, const Stage *s, const char *at, int in)
{
    const char *b = g->bufs[s->out].name, *type = g->bufs[s->out].dtype;
    int r = s->n_it - 1, step = 2 + below(g, 3);
    char zero[40], factor[40];

    while (r >= 0 && !s->it[r].reduce)
        r--;
    if (r < 0)
        return false;
    fz_line(g, in, "%s[%s] = %s[%s] + T.Select((v%d * %d + v%d) %% %d == %d, %s, %s) * %s",
            b, at, b, at, below(g, s->n_it), below(g, 3), r, step, below(g, step), s->value,
            fz_literal(type, 0, zero), fz_literal(type, 1, factor));
    return true;
}

static void emit_sum(Gen *g, const Stage *s, const char *at, int in)
{
    const char *b = g->bufs[s->out].name, *type = g->bufs[s->out].dtype;
    char num[40];

    if (ON(g, FZ_LET, 30) && emit_between_zeros(g, s, at, in))
        return;
    fz_literal(type, 1, num);
    switch (ON(g, FZ_LET, 40) ? below(g, 5) : -1) {
    case 0: fz_line(g, in, "%s[%s] = %s[%s] - %s", b, at, b, at, s->value); break;
    case 1: fz_line(g, in, "%s[%s] = %s + %s[%s] - %s", b, at, s->value, b, at, num); break;
    case 2:
        fz_line(g, in, "r%d: T.%s = %s", s->k, type, s->value);
        fz_line(g, in, "%s[%s] = %s[%s] + r%d", b, at, b, at, s->k);
        break;
    case 3:
        fz_line(g, in, "r%d: T.%s = %s[%s] - %s", s->k, type, b, at, s->value);
        fz_line(g, in, "%s[%s] = r%d - %s", b, at, s->k, num);
        break;
    default: fz_line(g, in, "%s[%s] = %s[%s] + %s", b, at, b, at, s->value);
    }
}

void fz_emit_reduction(Gen *g, const Stage *s, const char *at, int in)
{
    Buf *b = &g->bufs[s->out];
    char num[40];

    if (s->pair) {
        if (below(g, 2))
            emit_arg(g, s, at, in);
        else
            emit_two_sums(g, s, at, in);
        return;
    }
    if (!s->started) {
        bool other = ON(g, FZ_LET, 15);

        emit_init(g, in, b->name, other ? fz_literal(b->dtype, 7, num) : s->init, NULL,
                  NULL, at);
    }
    if (s->reduce[0] == '+')
        emit_sum(g, s, at, in);
    else
        fz_line(g, in, "%s[%s] = T.%s(%s[%s], %s)", b->name, at, s->reduce, b->name, at,
                s->value);
}
