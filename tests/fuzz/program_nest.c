/* program_nest - the loops, iterators and stores of a stage of a random program. */
#include "program_impl.h"

/* The store (with its init) of a stage, its iterators being v0, v1 ... */
static void emit_body(Gen *g, const Stage *s, int in)
{
    Buf *b = &g->bufs[s->out];
    char at[80] = "", v[8], num[40];

    for (int k = 0, d = 0; k < s->n_it; k++)
        if (!s->it[k].reduce) {
            fz_put(v, sizeof v, "%sv%d", d++ ? ", " : "", k);
            fz_append(at, sizeof at, v);
        }
    if (b->rank == 0)
        fz_put(at, sizeof at, "()");
    if (s->reduce) {
        fz_emit_reduction(g, s, at, in);
        return;
    }
    if (s->n_it && ON(g, FZ_IF, 8)) {
        fz_line(g, in, "if v%d %% 2 == 0:", below(g, s->n_it));
        fz_line(g, in + 1, "%s[%s] = %s", b->name, at, s->value);
        if (below(g, 4) == 0) { /* the rest is never written, nor read */
            b->closed = b->output = true;
            return;
        }
        fz_line(g, in, "else:");
        fz_line(g, in + 1, "%s[%s] = %s", b->name, at, fz_literal(b->dtype, 2, num));
        return;
    }
    if (ON(g, FZ_LET, 8)) {
        fz_line(g, in, "z%d: T.%s = %s", s->k, b->dtype, s->value);
        fz_line(g, in, "%s[%s] = z%d + z%d", b->name, at, s->k, s->k);
        b->mag *= 2;
        return;
    }
    fz_line(g, in, "%s[%s] = %s", b->name, at, s->value);
}

/* A loop of another kind than serial; those that may not be concurrent are unrolled. */
static void emit_kind(Gen *g, int in, char name, Dim d, bool innermost, bool outermost)
{
    static const char *const axes[] = {"blockIdx.x", "threadIdx.x", "threadIdx.y",
                                       "vthread.x"};
    char num[24];

    fz_int_text(g, d.v, num);
    if (innermost && below(g, 2))
        fz_line(g, in, "for %c in T.vectorized(%s):", name, num);
    else if (outermost && below(g, 3))
        fz_line(g, in, "for %c in T.thread_binding(%s, thread=\"%s\"):", name, num,
                axes[below(g, 4)]);
    else
        fz_line(g, in, "for %c in T.unroll(%s):", name, num);
}

/* The extent of a reduce loop that follows a spatial one outside of it, or what a buffer
 * says for it; -1: there are no such loops. The first element is always there. */
static int bounded_loop(Gen *g, const Stage *s, int from, const int *order, int tiled,
                        char out[64])
{
    char one[24], all[24];
    int o = s->n_it - 1, at;

    while (o > from && (!s->it[order[o]].reduce || order[o] == tiled))
        o--;
    if (o <= from)
        return -1;
    at = from + below(g, o - from);
    int k = order[o], x = order[at];
    Dim d = s->it[k].dom, e = s->it[x].dom;

    if (s->it[x].reduce || d.sym || e.sym || x == tiled)
        return -1;
    fz_int_text(g, 1, one);
    fz_int_text(g, d.v, all);
    if (below(g, 3) && !(g->plan->off & FZ_GUARDS)) {
        fz_put(out, 64, "T.min(%c + %s, %s)", LOOPS[x], one, all);
        return k;
    }
    int b = fz_index_buffer(g, s, e);

    if (b < 0 || g->bufs[b].dims[0].v < e.v)
        return -1;
    fz_put(out, 64, "(%s[%c] + 2) %% %s + 1", g->bufs[b].name, LOOPS[x], all);
    return k;
}

/* Loops from iterator `from` on, and the axis lines; outer: the value of those before. */
void fz_emit_nest(Gen *g, const Stage *s, int from, const char *outer, int in,
                  const char *name)
{
    int style = (g->plan->off & FZ_LOOPS) ? 0 : below(g, 10), tiled = -1, factor = 1;
    int order[MAX_ITERS], n = s->n_it;
    char bind[MAX_ITERS][64], where[160] = "", t[40], num[24];
    Buf *b = &g->bufs[s->out];
    char extent_text[64];
    bool guarded = false;
    int bounded = -1;

    for (int k = 0; k < n; k++) {
        order[k] = k;
        fz_put(bind[k], sizeof bind[k], "%c", LOOPS[k]);
        if (k < from)
            fz_put(bind[k], sizeof bind[k], "%s", outer);
    }
    if (style == 1 && n - from >= 2) /* permuted */
        for (int k = n - 1; k > from; k--) {
            int o = from + below(g, k - from + 1), x = order[k];
            order[k] = order[o];
            order[o] = x;
        }
    if (n > from && ON(g, FZ_WHERE, 18)) {
        int k = from + below(g, n - from);
        tiled = k;
        factor = 1 + below(g, 4);
        fz_put(bind[k], sizeof bind[k], "%c_0 * %d + %c_1", LOOPS[k], factor, LOOPS[k]);
        if (s->it[k].dom.sym || s->it[k].dom.v % factor)
            fz_put(where, sizeof where, "%s < %s", bind[k],
                   fz_dim_text(g, s->it[k].dom, t));
    }
    if (n - from >= 2 && tiled < 0 && ON(g, FZ_GUARDS, 8)) {
        int x = from + below(g, n - from), y = from + below(g, n - from);
        bool part = !s->it[y].reduce; /* the others do not compute all elements */
        if (x != y && !s->it[x].reduce &&
            (!part || (!b->consumed && !s->pair && !s->started))) {
            guarded = true;
            if (part && below(g, 2))
                fz_put(where, sizeof where, "%s + %s < %d", bind[x], bind[y],
                       s->it[x].dom.v + below(g, 3));
            else
                fz_put(where, sizeof where, "%s <= %s", bind[y], bind[x]);
            if (part)
                b->closed = b->output = true;
        }
    }
    if (guarded)
        style = style >= 2 && style <= 4 ? 0 : style;
    if (n - from >= 2 && fz_chance(&g->rnd, 15))
        bounded = bounded_loop(g, s, from, order, tiled, extent_text);
    if (bounded >= 0)
        style = style == 1 ? 1 : 0;
    if (n - from >= 2 && style >= 7 && tiled < 0) { /* a grid */
        ml_text_repeat(&g->body, ' ', (size_t)in * 4);
        ml_text_add(&g->body, "for ");
        for (int k = from; k < n; k++)
            ml_text_fmt(&g->body, "%s%c", k > from ? ", " : "", LOOPS[k]);
        ml_text_add(&g->body, " in T.grid(");
        for (int k = from; k < n; k++)
            ml_text_fmt(&g->body, "%s%s", k > from ? ", " : "",
                        fz_dim_text(g, s->it[k].dom, t));
        ml_text_add(&g->body, "):\n");
        in++;
    } else if (style == 2 && n - from >= 2 && tiled < 0 && !s->it[from].dom.sym &&
               !s->it[from + 1].dom.sym &&
               (s->it[from].reduce == s->it[from + 1].reduce || below(g, 2))) {
        int w = s->it[from + 1].dom.v; /* two as one */
        fz_put(bind[from], sizeof bind[from], "f // %d", w);
        fz_put(bind[from + 1], sizeof bind[from + 1], "f %% %d", w);
        fz_line(g, in++, "for f in range(%s):", fz_int_text(g, s->it[from].dom.v * w, num));
        for (int k = from + 2; k < n; k++)
            fz_line(g, in++, "for %c in range(%s):", LOOPS[k],
                    fz_dim_text(g, s->it[k].dom, t));
    } else {
        /* a block without iters around some of them */
        int wrap =
            n - from >= 2 && ON(g, FZ_OPAQUE, 10) ? from + 1 + below(g, n - from) : -1;

        for (int o = from; o < n; o++) {
            int k = order[o];
            if (o == wrap)
                fz_line(g, in++, "with T.block(\"%s_q\"):", name);
            Dim d = s->it[k].dom;
            if (k == bounded) {
                fz_line(g, in++, "for %c in range(%s):", LOOPS[k], extent_text);
            } else if (k == tiled && d.sym) {
                fz_line(g, in++, "for %c_0 in range((%s + %d) // %d):", LOOPS[k],
                        fz_dim_text(g, d, t), factor - 1, factor);
                fz_line(g, in++, "for %c_1 in range(%s):", LOOPS[k],
                        fz_int_text(g, factor, num));
            } else if (k == tiled) {
                fz_line(g, in++, "for %c_0 in range(%s):", LOOPS[k],
                        fz_int_text(g, (d.v + factor - 1) / factor, num));
                fz_line(g, in++, "for %c_1 in range(%s):", LOOPS[k],
                        fz_int_text(g, factor, num));
            } else if (style == 3 && o == from && !s->it[k].reduce) {
                fz_line(g, in++, "for %c in T.parallel(%s):", LOOPS[k],
                        fz_dim_text(g, d, t));
            } else if (style == 5 && !d.sym && !(g->plan->off & FZ_KINDS) && below(g, 2)) {
                emit_kind(g, in++, LOOPS[k], d, o == n - 1 && !s->it[k].reduce,
                          o == from && !s->it[k].reduce);
            } else if (style == 4 && o == from && !d.sym && below(g, 3) == 0) {
                char hi[24];
                fz_line(g, in++, "for %c in range(%s, %s):", LOOPS[k],
                        fz_int_text(g, 2, num), fz_int_text(g, d.v + 2, hi));
                fz_put(bind[k], sizeof bind[k], "%c - 2", LOOPS[k]);
            } else {
                fz_line(g, in++, "for %c in range(%s):", LOOPS[k], fz_dim_text(g, d, t));
            }
        }
        if (wrap == n)
            fz_line(g, in++, "with T.block(\"%s_q\"):", name);
    }
    fz_line(g, in++, "with T.block(\"%s\"):", name);
    bool direct =
        from > 0 && below(g, 2); /* the outer iterator itself, no axis of its own */
    size_t begin = g->body.n;

    for (int k = direct ? from : 0; k < n; k++)
        if (k < from)
            fz_line(g, in, "v%d = T.axis.spatial((%s, %s + 1), %s)", k, bind[k], bind[k],
                    bind[k]);
        else
            fz_line(g, in, "v%d = T.axis.%s(%s, %s)", k,
                    s->it[k].reduce ? "reduce" : "spatial", fz_dim_text(g, s->it[k].dom, t),
                    bind[k]);
    if (where[0])
        fz_line(g, in, "T.where(%s)", where);
    emit_body(g, s, in);
    for (size_t k = begin; direct && k + 1 < g->body.n; k++)
        if (g->body.p[k] == 'v' && g->body.p[k + 1] == '0')
            g->body.p[k] = 'w';
}

/* The first iterator gets a block of its own around the rest; what the source holds there
 * may be copied into a local buffer or matched. */
void fz_emit_nested(Gen *g, Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->src];
    char t[40], shape[160] = "", region[160] = "", all[160] = "", old[12], *cut;
    bool plain = b->rank >= 2 && strcmp(s->idx[0], "v0") == 0;
    int how = plain ? below(g, 3) : 0;

    for (int d = 1; d < b->rank && plain; d++)
        plain = strstr(s->idx[d], "v0") == NULL;
    if (!plain)
        how = 0;
    fz_line(g, in, "for %c in range(%s):", LOOPS[0], fz_dim_text(g, s->it[0].dom, t));
    fz_line(g, in + 1, "with T.block(\"%s_o\"):", name);
    fz_line(g, in + 2, "w0 = T.axis.spatial(%s, %c)", fz_dim_text(g, s->it[0].dom, t),
            LOOPS[0]);
    for (int d = 1; d < b->rank && how; d++) {
        size_t n = strlen(shape), r = strlen(region), a = strlen(all);
        fz_dim_text(g, b->dims[d], t);
        fz_put(shape + n, sizeof shape - n, "%s%s", d > 1 ? ", " : "", t);
        fz_put(region + r, sizeof region - r, ", 0:%s", t);
        fz_put(all + a, sizeof all - a, "%su%d", d > 1 ? ", " : "", d);
    }
    if (how == 1) {
        fz_line(g, in + 2, "t%d = T.alloc_buffer((%s%s), \"%s\")", s->k, shape,
                b->rank == 2 ? "," : "", b->dtype);
        for (int d = 1; d < b->rank; d++)
            fz_line(g, in + 1 + d, "for x%d in range(%s):", d,
                    fz_dim_text(g, b->dims[d], t));
        fz_line(g, in + 1 + b->rank, "with T.block(\"%s_t\"):", name);
        for (int d = 1; d < b->rank; d++)
            fz_line(g, in + 2 + b->rank, "u%d = T.axis.spatial(%s, x%d)", d,
                    fz_dim_text(g, b->dims[d], t), d);
        fz_line(g, in + 2 + b->rank, "t%d[%s] = %s[w0, %s]", s->k, all, b->name, all);
    } else if (how == 2) {
        fz_line(g, in + 2,
                "m%d = T.match_buffer(%s[w0%s], (1, %s), \"%s\", offset_factor=1)", s->k,
                b->name, region, shape, b->dtype);
    }
    if (how) { /* the value reads it in place of the source */
        char *p = s->value, done[1200] = "";
        fz_put(old, sizeof old, "%s[v0, ", b->name);
        while ((cut = strstr(p, old)) != NULL) {
            size_t n = strlen(done);
            fz_put(done + n, sizeof done - n, "%.*s%c%d[%s", (int)(cut - p), p,
                   how == 1 ? 't' : 'm', s->k, how == 1 ? "" : "0, ");
            p = cut + strlen(old);
        }
        fz_append(done, sizeof done, p);
        memcpy(s->value, done, sizeof done);
    }
    fz_emit_nest(g, s, 1, "w0", in + 2, name);
}

void fz_emit_start(Gen *g, const Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->out];
    char at[80] = "", v[8], t[40];

    for (int d = 0; d < b->rank; d++)
        fz_line(g, in++, "for %c in range(%s):", LOOPS[d], fz_dim_text(g, b->dims[d], t));
    fz_line(g, in++, "with T.block(\"%s_i\"):", name);
    for (int d = 0; d < b->rank; d++) {
        fz_line(g, in, "v%d = T.axis.spatial(%s, %c)", d, fz_dim_text(g, b->dims[d], t),
                LOOPS[d]);
        fz_put(v, sizeof v, "%sv%d", d ? ", " : "", d);
        fz_append(at, sizeof at, v);
    }
    fz_line(g, in, "%s[%s] = %s", b->name, b->rank ? at : "()", s->init);
}

void fz_emit_rest(Gen *g, const Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->out];
    Dim first = {s->rest, CONSTANT};
    char at[80] = "", v[24], t[40];

    for (int d = 0; d < b->rank; d++)
        fz_line(g, in++, "for %c in range(%s):", LOOPS[d],
                fz_dim_text(g, d ? b->dims[d] : first, t));
    fz_line(g, in++, "with T.block(\"%s_r\"):", name);
    for (int d = 0; d < b->rank; d++) {
        fz_line(g, in, "v%d = T.axis.spatial(%s, %c)", d,
                fz_dim_text(g, d ? b->dims[d] : first, t), LOOPS[d]);
        if (d == 0)
            fz_put(v, sizeof v, "v0 + %d", b->dims[0].v - s->rest);
        else
            fz_put(v, sizeof v, ", v%d", d);
        fz_append(at, sizeof at, v);
    }
    fz_line(g, in, "%s[%s] = %s", b->name, at, fz_literal(b->dtype, 2, t));
}
