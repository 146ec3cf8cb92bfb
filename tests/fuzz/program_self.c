/*
 * program_self - stages of a random program whose instances depend on each other: updates
 * in place, of scattered elements, too, running remainders, several instances on one
 * element, and a pair of blocks that read and write one buffer in an iteration. Some of
 * them may run in any order; the oracle is the judge.
 */
#include "program_impl.h"

typedef struct Self {
    Gen *g;
    int n;         /* iterators */
    int v[3];      /* their extents */
    char kinds[4]; /* 'S' or 'R' */
    int order[3];  /* of the loops */
    bool fused;    /* the first two as one */
    int tile;      /* > 0: the last loop in two */
} Self;

/* The loops; how far in the block stands. */
static int emit_loops(const Self *s, int in)
{
    Gen *g = s->g;

    if (s->fused) {
        fz_line(g, in++, "for f in range(%d):", s->v[0] * s->v[1]);
        if (s->n > 2)
            fz_line(g, in++, "for %c in range(%d):", LOOPS[2], s->v[2]);
        return in;
    }
    for (int o = 0; o < s->n; o++) {
        int k = s->order[o];

        if (k == s->n - 1 && s->tile) {
            fz_line(g, in++, "for %c_0 in range(%d):", LOOPS[k],
                    (s->v[k] + s->tile - 1) / s->tile);
            fz_line(g, in++, "for %c_1 in range(%d):", LOOPS[k], s->tile);
        } else {
            fz_line(g, in++, "for %c in range(%d):", LOOPS[k], s->v[k]);
        }
    }
    return in;
}

static void emit_axes(const Self *s, int in, const char *name)
{
    Gen *g = s->g;
    char at[48];

    fz_line(g, in, "with T.block(\"%s\"):", name);
    for (int k = 0; k < s->n; k++) {
        fz_put(at, sizeof at, "%c", LOOPS[k]);
        if (s->fused && k < 2)
            fz_put(at, sizeof at, k ? "f %% %d" : "f // %d", s->v[1]);
        else if (!s->fused && k == s->n - 1 && s->tile)
            fz_put(at, sizeof at, "%c_0 * %d + %c_1", LOOPS[k], s->tile, LOOPS[k]);
        fz_line(g, in + 1, "v%d = T.axis.%s(%d, %s)", k,
                s->kinds[k] == 'R' ? "reduce" : "spatial", s->v[k], at);
    }
    if (!s->fused && s->tile && s->v[s->n - 1] % s->tile)
        fz_line(g, in + 1, "T.where(%c_0 * %d + %c_1 < %d)", LOOPS[s->n - 1], s->tile,
                LOOPS[s->n - 1], s->v[s->n - 1]);
}

static Self new_self(Gen *g, bool reduces)
{
    Self s = {.g = g, .n = 2 + (below(g, 4) == 0)};

    for (int k = 0; k < s.n; k++) {
        s.v[k] = fz_extent(g);
        if (s.v[k] > 6)
            s.v[k] = 1 + s.v[k] % 6;
        s.kinds[k] = reduces && k > 0 ? 'R' : 'S';
        s.order[k] = k;
    }
    if (reduces && below(g, 3) == 0)
        s.kinds[0] = 'R';
    if (below(g, 3) == 0) {
        s.order[0] = 1;
        s.order[1] = 0;
    }
    s.fused = below(g, 5) == 0;
    s.tile = below(g, 4) == 0 ? 2 + below(g, 2) : 0;
    return s;
}

static int input_over(Gen *g, const Self *s)
{
    Dim d[3];

    for (int k = 0; k < s->n; k++)
        d[k] = (Dim){s->v[k], CONSTANT};
    int at = fz_new_buf(g, true, "int32", d, s->n, 2);

    g->bufs[at].consumed = true;
    return at;
}

/* A result that is there before, too, and is not read by other stages. */
static int own_buffer(Gen *g, int rank, int a, int b, bool fresh)
{
    Dim d[2] = {{a, CONSTANT}, {b, CONSTANT}};
    int at = fz_new_buf(g, !fresh, "int32", d, rank, 1000);

    g->bufs[at].closed = g->bufs[at].output = !fresh;
    return at;
}

static const char *all_iters(const Self *s)
{
    return s->n > 2 ? "v0, v1, v2" : "v0, v1";
}

/* S[a + x, b + y] = S[a + z, b + w] + ... */
static void emit_in_place(Gen *g, int in)
{
    Self s = new_self(g, false);
    int at = own_buffer(g, 2, s.v[0] + 1, s.v[1] + 1, false);
    const char *z = g->bufs[at].name;
    int off[4];

    for (int k = 0; k < 4; k++)
        off[k] = below(g, 2);
    in = emit_loops(&s, in);
    emit_axes(&s, in, z);
    fz_line(g, in + 1, "%s[v0 + %d, v1 + %d] = (%s[v0 + %d, v1 + %d] * %d + %d) %% 1000", z,
            off[0], off[1], z, off[2], off[3], 1 + below(g, 3), 1 + below(g, 2));
}

/* The same at every second element, on diagonals, from the end, in rows. */
static void emit_placed(Gen *g, int in)
{
    Self s = new_self(g, false);
    int rows = 2 * s.v[0] + s.v[1], columns = s.v[0] + 2 * s.v[1], x = below(g, 2);
    int at = own_buffer(g, 2, rows, columns, false);
    const char *z = g->bufs[at].name;
    char row[32], column[32];

    switch (below(g, 4)) {
    case 0: fz_put(row, sizeof row, "v0 * 2"); break;
    case 1: fz_put(row, sizeof row, "v0 + v1"); break;
    case 2: fz_put(row, sizeof row, "%d - v0", rows - 2); break;
    default: fz_put(row, sizeof row, "v0");
    }
    switch (below(g, 4)) {
    case 0: fz_put(column, sizeof column, "v1 * 2"); break;
    case 1: fz_put(column, sizeof column, "v0 + 1"); break;
    case 2: fz_put(column, sizeof column, "v0 + v1"); break;
    default: fz_put(column, sizeof column, "v1");
    }
    in = emit_loops(&s, in);
    emit_axes(&s, in, z);
    fz_line(g, in + 1, "%s[%s, %s] = (%s[%s + %d, %s] * %d + %d) %% 1000", z, row, column,
            z, row, x, column, 1 + below(g, 3), 1 + below(g, 2));
}

/* S[a + x, b + y] = S[a + z, b + w] + A[a, b], or the other way round: an addition of rows,
 * of which a tile may be made an intrinsic's. Its operands overlap, or are one, or lie in
 * other rows. */
static void emit_shifted_row(Gen *g, int in)
{
    Self s = new_self(g, false);
    int off[4];

    s.n = 2;
    s.fused = false;
    s.order[0] = 0;
    s.order[1] = 1;
    s.v[1] = 1 + below(g, 4) + 4 * below(g, 2);
    s.tile = s.v[1] % 4 ? 0 : 4;
    int from = input_over(g, &s);
    int at = own_buffer(g, 2, s.v[0] + 1, s.v[1] + 1, false);
    const char *z = g->bufs[at].name, *a = g->bufs[from].name;

    for (int k = 0; k < 4; k++)
        off[k] = below(g, 2);
    in = emit_loops(&s, in);
    emit_axes(&s, in++, z);
    if (below(g, 2))
        fz_line(g, in, "%s[v0 + %d, v1 + %d] = %s[v0, v1] + %s[v0 + %d, v1 + %d]", z,
                off[0], off[1], a, z, off[2], off[3]);
    else
        fz_line(g, in, "%s[v0 + %d, v1 + %d] = %s[v0 + %d, v1 + %d] + %s[v0, v1]", z,
                off[0], off[1], z, off[2], off[3], a);
}

/* A sum, a running remainder; over all iterators that are 'R'; the spatial one may share
 * elements. */
static void emit_running(Gen *g, int in)
{
    Self s = new_self(g, true);
    int from = input_over(g, &s), share = below(g, 3) ? 0 : 1 + below(g, 3);
    bool init = below(g, 4) > 0, spatial = s.kinds[0] == 'S';
    int rows = !spatial ? 1 : share && share < s.v[0] ? share : s.v[0];
    int at = own_buffer(g, 1, rows, 0, init);
    const char *z = g->bufs[at].name, *a = g->bufs[from].name;
    char idx[24];

    fz_put(idx, sizeof idx, rows < s.v[0] ? spatial ? "v0 %% %d" : "0" : "v0", rows);
    if (!spatial)
        fz_put(idx, sizeof idx, "0");
    in = emit_loops(&s, in);
    emit_axes(&s, in++, z);
    if (init) {
        fz_line(g, in, "with T.init():");
        fz_line(g, in + 1, "%s[%s] = %d", z, idx, below(g, 2));
    }
    switch (below(g, 4)) {
    case 0:
        fz_line(g, in, "%s[%s] = %s[%s] + %s[%s]", z, idx, z, idx, a, all_iters(&s));
        break;
    case 1:
        fz_line(g, in, "%s[%s] = T.max(%s[%s], %s[%s])", z, idx, z, idx, a, all_iters(&s));
        break;
    default:
        fz_line(g, in, "%s[%s] = (%s[%s] * 3 + %s[%s]) %% 1000", z, idx, z, idx, a,
                all_iters(&s));
    }
}

/* Several instances store into one element, the same value or others. */
static void emit_shared(Gen *g, int in)
{
    Self s = new_self(g, false);
    int from = input_over(g, &s), m = 1 + below(g, s.v[0]), form = below(g, 3);
    int at = own_buffer(g, 1, form == 0 ? m : s.v[0] + s.v[1] - 1, 0, true);
    const char *z = g->bufs[at].name, *a = g->bufs[from].name;

    in = emit_loops(&s, in);
    emit_axes(&s, in++, z);
    if (form == 0)
        fz_line(g, in, "%s[(v0 + v1) %% %d] = %s[%s]", z, m, a, all_iters(&s));
    else if (form == 1)
        fz_line(g, in, "%s[v0 + v1] = %s[%s]", z, a, all_iters(&s));
    else
        fz_line(g, in, "%s[v0 + v1] = (v0 + v1) * %d", z, 1 + below(g, 3));
}

/* One block reads what the next one overwrites, in this iteration or in another. */
static void emit_ahead(Gen *g, int in)
{
    Self s = new_self(g, false);
    int at = own_buffer(g, 2, s.v[0] + 1, s.v[1] + 1, false);
    int to = own_buffer(g, 2, s.v[0], s.v[1], true);
    const char *z = g->bufs[at].name, *t = g->bufs[to].name;
    int x = below(g, 2), y = below(g, 2), u = below(g, 2), w = below(g, 2);

    s.fused = false;
    s.tile = 0;
    in = emit_loops(&s, in);
    emit_axes(&s, in, t);
    fz_line(g, in + 1, "%s[v0, v1] = %s[v0 + %d, v1 + %d]", t, z, x, y);
    emit_axes(&s, in, z);
    if (below(g, 2))
        fz_line(g, in + 1, "%s[v0 + %d, v1 + %d] = %s[v0, v1] + 7", z, u, w, t);
    else
        fz_line(g, in + 1, "%s[v0 + %d, v1 + %d] = v0 * 5 + v1", z, u, w);
}

void fz_emit_self(Gen *g, int in)
{
    switch (below(g, 6)) {
    case 0: emit_in_place(g, in); break;
    case 1: emit_running(g, in); break;
    case 2: emit_shared(g, in); break;
    case 3: emit_shifted_row(g, in); break;
    case 4: emit_placed(g, in); break;
    default: emit_ahead(g, in); break;
    }
}
