/* program - see program.h. A stage is chosen by what it reads and how (shape_stage), gets a
 * value (value_of) and a loop nest (emit_nest); parameters are known when all stages are
 * there. */
#include "program.h"

#include <stdio.h>

uint64_t fz_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

int fz_below(uint64_t *state, int n)
{
    return (int)((fz_next(state) >> 33) % (uint64_t)n);
}

/* snprintf that cuts silently: texts are far shorter than their room. */
static void put(char *out, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put(char *out, size_t n, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(out, n, fmt, ap);
    va_end(ap);
}

static void append(char *out, size_t n, const char *z)
{
    size_t at = strlen(out);

    put(out + at, n - at, "%s", z);
}

enum { MAX_RANK = 4, MAX_BUFS = 24, MAX_ITERS = 6, MAX_ELEMENTS = 240, LIMIT = 1000 };

enum { CONSTANT, SHIFTED, DOUBLED, SHIFTED_M };

typedef struct Dim { /* v elements */
    int v;
    int sym; /* SHIFTED: n + (v - value of n), SHIFTED_M of m; DOUBLED: n * 2 */
} Dim;

typedef struct Buf {
    char name[8];
    const char *dtype;
    Dim dims[MAX_RANK];
    int rank;
    int mag;                              /* no value is larger */
    bool input, output, consumed, closed; /* closed: not to be read again */
} Buf;

typedef struct It {
    Dim dom;
    bool reduce;
} It;

typedef struct Gen {
    uint64_t rnd;
    const FzPlan *plan;
    ml_Text body;
    Buf bufs[MAX_BUFS];
    int n_bufs, n_inputs, n_inter;
    int n, m;
    bool i64, two_sizes, uses_n, uses_m, uses_flag;
} Gen;

typedef struct Stage {
    It it[MAX_ITERS];
    int n_it;
    char idx[MAX_RANK][40]; /* of the source */
    char guard[96];         /* "": none; else the source counts as 0 where it is false */
    int n_points;           /* > 1: so many neighbours along dimension 0 are added */
    int src, out, k;
    int pair; /* > 0: another result, accumulated beside it */
    int rest; /* > 0: so many rows behind the others are written by another block */
    char value[400], init[40];
    const char *reduce; /* "+", "max", "min" */
    bool started;       /* its init is another stage */
} Stage;

#define ON(g, bit, percent) (fz_chance(&(g)->rnd, (percent)) && !((g)->plan->off & (bit)))

static int below(Gen *g, int n)
{
    return fz_below(&g->rnd, n);
}

static int extent(Gen *g)
{
    static const int some[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12};
    int v = some[below(g, (int)ML_COUNT(some))];

    return v < g->plan->cap ? v : g->plan->cap;
}

static const char *int_text(const Gen *g, int v, char out[24])
{
    put(out, 24, g->i64 ? "T.int64(%d)" : "%d", v);
    return out;
}

static void uses(Gen *g, Dim d)
{
    g->uses_n = g->uses_n || d.sym == SHIFTED || d.sym == DOUBLED;
    g->uses_m = g->uses_m || d.sym == SHIFTED_M;
}

/* The value of the symbol in d. */
static int base_of(const Gen *g, Dim d)
{
    return d.sym == SHIFTED_M ? g->m : g->n;
}

static const char *dim_text(Gen *g, Dim d, char out[40])
{
    char num[24];

    if (!d.sym) {
        put(out, 40, "%s", int_text(g, d.v, num));
        return out;
    }
    const char *of = d.sym == SHIFTED_M ? "m" : "n";
    int more = d.v - base_of(g, d);

    uses(g, d);
    if (d.sym == DOUBLED)
        put(out, 40, "n * %s", int_text(g, 2, num));
    else if (more == 0)
        put(out, 40, "%s", of);
    else
        put(out, 40, "%s + %s", of, int_text(g, more, num));
    return out;
}

static int elements(const Dim *d, int rank)
{
    int e = 1;

    for (int k = 0; k < rank; k++)
        e *= d[k].v;
    return e;
}

static const char *dtype(Gen *g, int mag)
{
    static const char *const some[] = {"float32", "float32", "int64",
                                       "float16", "int8",    "float64"};

    if (!ON(g, FZ_DTYPES, 40))
        return "int32";
    const char *z = some[below(g, (int)ML_COUNT(some))];

    return strcmp(z, "int8") == 0 && mag > 100 ? "int32" : z;
}

static bool is_int(const char *type)
{
    return type[0] == 'i';
}

static const char *literal(const char *type, int v, char out[40])
{
    if (strcmp(type, "int32") == 0)
        put(out, 40, "%d", v);
    else
        put(out, 40, "T.%s(%d)", type, v);
    return out;
}

static void line(Gen *g, int indent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void line(Gen *g, int indent, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ml_text_repeat(&g->body, ' ', (size_t)indent * 4);
    ml_text_vfmt(&g->body, fmt, ap);
    ml_text_char(&g->body, '\n');
    va_end(ap);
}

static int new_buf(Gen *g, bool input, const char *type, const Dim *dims, int rank, int mag)
{
    Buf *b = &g->bufs[g->n_bufs];

    ML_ASSERT(g->n_bufs < MAX_BUFS);
    *b = (Buf){.dtype = type, .rank = rank, .mag = mag, .input = input};
    put(b->name, sizeof b->name, "%c%d", input ? 'A' : 'B',
        input ? g->n_inputs++ : g->n_inter++);
    memcpy(b->dims, dims, (size_t)rank * sizeof *dims);
    return g->n_bufs++;
}

static int new_input(Gen *g)
{
    Dim d[MAX_RANK];
    int rank = 1 + below(g, 3);

    for (int k = 0; k < rank; k++) {
        d[k] = (Dim){extent(g), CONSTANT};
        if (ON(g, FZ_SYMBOLIC, 12))
            d[k] = below(g, 5) ? (Dim){g->n + 2 * below(g, 2), SHIFTED}
                               : (Dim){g->n * 2, DOUBLED};
        if (g->two_sizes && below(g, 4) == 0)
            d[k] = (Dim){g->m, SHIFTED_M};
    }
    while (elements(d, rank) > MAX_ELEMENTS)
        rank--;
    return new_buf(g, true, dtype(g, 2), d, rank, 2);
}

/* An operand read at `idx`, in the dtype of the stage. */
static void access(const Buf *b, char idx[][40], const char *type, char *out, size_t n)
{
    char all[MAX_RANK * 44] = "";

    for (int d = 0; d < b->rank; d++) {
        append(all, sizeof all, d ? ", " : "");
        append(all, sizeof all, idx[d]);
    }
    if (b->rank == 0)
        put(all, sizeof all, "()");
    if (strcmp(b->dtype, type) == 0)
        put(out, n, "%s[%s]", b->name, all);
    else
        put(out, n, "T.Cast(\"%s\", %s[%s])", type, b->name, all);
}

/* A buffer of integers to index with, over d when it is made; -1: none. */
static int index_buffer(Gen *g, const Stage *s, Dim d)
{
    int at;

    for (int k = 0; k < g->n_bufs && !g->i64; k++) {
        const Buf *b = &g->bufs[k];
        if (!b->input && !b->closed && b->rank == 1 && k != s->out && k != s->pair &&
            !b->dims[0].sym && strcmp(b->dtype, "int32") == 0 && below(g, 2)) {
            g->bufs[k].consumed = true;
            return k;
        }
    }
    if (g->n_bufs >= MAX_BUFS - 4 || (g->plan->off & FZ_GATHER))
        return -1;
    at = new_buf(g, true, g->i64 ? "int64" : "int32", &d, 1, 2);
    g->bufs[at].consumed = true;
    return at;
}

/* Iterators and source indices of a stage; false: this kind does not fit the source. */
static bool shape_stage(Gen *g, Stage *s, int kind)
{
    const Buf *b = &g->bufs[s->src];
    int r = b->rank, d = r ? below(g, r) : 0, e = r ? below(g, r) : 0;

    s->n_it = r;
    for (int k = 0; k < r; k++) {
        s->it[k] = (It){b->dims[k], false};
        put(s->idx[k], sizeof s->idx[k], "v%d", k);
    }
    if (r == 0 || kind == 0)
        return true;
    Dim *x = &s->it[d].dom;

    switch (kind) {
    case 1: { /* transposed */
        It t = s->it[d];
        s->it[d] = s->it[e];
        s->it[e] = t;
        put(s->idx[d], sizeof s->idx[d], "v%d", e);
        put(s->idx[e], sizeof s->idx[e], "v%d", d);
        return true;
    }
    case 2: /* a window, reduced */
    case 3: /* a window, its points added */
        if (x->v < 3 || x->sym == DOUBLED || (x->sym && x->v - base_of(g, *x) < 2))
            return false;
        x->v -= 2;
        if (kind == 2) {
            s->it[s->n_it] = (It){{3, false}, true};
            put(s->idx[d], sizeof s->idx[d], "v%d + v%d", d, s->n_it++);
        } else {
            s->n_points = 2 + below(g, 2);
            put(s->idx[d], sizeof s->idx[d], "v%d @", d);
        }
        return true;
    case 4: { /* padded */
        char t[40];
        if (x->sym == DOUBLED)
            return false;
        put(s->guard, sizeof s->guard, "1 <= v%d and v%d < %s + 1", d, d,
            dim_text(g, *x, t));
        x->v += 2;
        put(s->idx[d], sizeof s->idx[d], "v%d - 1", d);
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
        s->it[s->n_it++] = (It){{extent(g), false}, false};
        return true;
    case 7: { /* two dimensions as one */
        if (r < 2 || s->it[0].dom.sym || s->it[1].dom.sym)
            return false;
        int w = s->it[1].dom.v;
        s->it[0].dom.v *= w;
        put(s->idx[0], sizeof s->idx[0], "v0 // %d", w);
        put(s->idx[1], sizeof s->idx[1], "v0 %% %d", w);
        for (int k = 2; k < r; k++) {
            s->it[k - 1] = s->it[k];
            put(s->idx[k], sizeof s->idx[k], "v%d", k - 1);
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
        put(s->idx[d], sizeof s->idx[d], "v%d * %d + v%d", d, f, s->n_it++);
        return true;
    }
    case 9: /* every second one */
        if (x->sym || x->v < 2)
            return false;
        put(s->idx[d], sizeof s->idx[d], "v%d * 2%s", d, x->v % 2 ? "" : " + 1");
        x->v /= 2;
        return true;
    case 10: /* backwards */
        if (x->sym)
            return false;
        put(s->idx[d], sizeof s->idx[d], "%d - v%d", x->v - 1, d);
        return true;
    case 11: /* a product of matrices: the new operand is made by second_operand */
        s->it[r - 1].reduce = true;
        s->it[s->n_it++] = (It){{extent(g), false}, false};
        return true;
    case 13: { /* a window with strides, its points apart, reduced */
        int by = 1 + below(g, 3), gap = 1 + below(g, 3), w = 2 + below(g, 2);
        if (x->sym || x->v < (w - 1) * gap + 1 || (g->plan->off & FZ_STRIDES))
            return false;
        x->v = (x->v - (w - 1) * gap - 1) / by + 1;
        s->it[s->n_it] = (It){{w, CONSTANT}, true};
        put(s->idx[d], sizeof s->idx[d], "v%d * %d + v%d * %d", d, by, s->n_it, gap);
        s->n_it++;
        return true;
    }
    case 14: { /* where an index buffer says */
        int at = index_buffer(g, s, (Dim){extent(g), CONSTANT});
        if (x->sym || at < 0)
            return false;
        put(s->idx[d], sizeof s->idx[d], "(%s[v%d] + 2) %% %d", g->bufs[at].name, d, x->v);
        *x = g->bufs[at].dims[0];
        return true;
    }
    default: /* one place of a dimension */
        if (r < 2)
            return false;
        put(s->idx[d], sizeof s->idx[d], "%d", x->v - 1);
        if (x->sym)
            return false;
        for (int k = d + 1; k < r; k++) {
            s->it[k - 1] = s->it[k];
            put(s->idx[k], sizeof s->idx[k], "v%d", k - 1);
        }
        s->n_it--;
        return true;
    }
}

/* Some buffer read at iterators of the stage: an old one that fits, or a new input. */
static bool second_operand(Gen *g, Stage *s, const char *type, bool all, char *out,
                           size_t n, int *mag)
{
    char idx[MAX_RANK][40];
    int at = -1;

    if (!all && g->n_bufs > 0 && below(g, 2)) {
        const Buf *b = &g->bufs[at = below(g, g->n_bufs)];
        for (int d = 0; d < b->rank && at >= 0; d++) {
            int v = s->n_it ? below(g, s->n_it) : 0;
            if (s->n_it && s->it[v].dom.sym == b->dims[d].sym &&
                s->it[v].dom.v <= b->dims[d].v)
                put(idx[d], sizeof idx[d], "v%d", v);
            else if (s->n_it && !b->dims[d].sym && !s->it[v].dom.sym && below(g, 2))
                put(idx[d], sizeof idx[d], "v%d %% %d", v, b->dims[d].v);
            else if (!b->dims[d].sym)
                put(idx[d], sizeof idx[d], "%d", below(g, b->dims[d].v));
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
                put(idx[r++], sizeof idx[0], "v%d", v);
            }
        while (r > 0 && elements(d, r) > MAX_ELEMENTS)
            r--;
        if (r == 0 || g->n_bufs >= MAX_BUFS - 2)
            return false;
        at = new_buf(g, true, dtype(g, 2), d, r, 2);
    }
    access(&g->bufs[at], idx, type, out, n);
    g->bufs[at].consumed = true;
    *mag = g->bufs[at].mag;
    return true;
}

/* value of the stage in s->value, of dtype `type`; returns its magnitude. */
static int value_of(Gen *g, Stage *s, const char *type, bool product)
{
    Buf *b = &g->bufs[s->src];
    char first[300] = "", other[120], one[150], num[40];
    int mag = b->mag, m2 = 0;

    b->consumed = true;
    for (int p = 0; p < (s->n_points ? s->n_points : 1); p++) {
        char idx[MAX_RANK][40];
        for (int d = 0; d < b->rank; d++) {
            char *cut;
            memcpy(idx[d], s->idx[d], sizeof idx[d]);
            cut = strchr(idx[d], '@');
            if (cut && p)
                put(cut - 1, 20, " + %d", p);
            else if (cut)
                cut[-1] = '\0';
        }
        access(b, idx, type, one, sizeof one);
        if (p)
            append(first, sizeof first, " + ");
        append(first, sizeof first, one);
    }
    mag *= s->n_points ? s->n_points : 1;
    if (s->n_points) {
        memmove(first + 1, first, sizeof first - 2);
        first[0] = '(';
        append(first, sizeof first, ")");
    }
    if (s->guard[0]) {
        put(s->value, sizeof s->value, "T.if_then_else(%s, %s, %s)", s->guard, first,
            literal(type, 0, num));
        return mag;
    }
    if (product && second_operand(g, s, type, true, other, sizeof other, &m2) &&
        mag * m2 <= LIMIT) {
        put(s->value, sizeof s->value, "%s * %s", first, other);
        return mag * m2;
    }
    if (!ON(g, FZ_OPERANDS, 60) ||
        !second_operand(g, s, type, false, other, sizeof other, &m2)) {
        m2 = 1 + below(g, 3);
        literal(type, m2, other);
    }
    switch (below(g, 8)) {
    case 0:
        if (mag * m2 <= LIMIT) {
            put(s->value, sizeof s->value, "%s * %s", first, other);
            return mag * m2;
        }
        __attribute__((fallthrough));
    case 1:
        put(s->value, sizeof s->value, "T.max(%s, %s)", first, other);
        return mag > m2 ? mag : m2;
    case 2:
        put(s->value, sizeof s->value, "T.min(%s, %s)", other, first);
        return mag > m2 ? mag : m2;
    case 3:
        put(s->value, sizeof s->value, "T.Select(%s < %s, %s, %s)", other, first, first,
            literal(type, 2, num));
        return mag + 2;
    case 4:
        if (is_int(type)) {
            put(s->value, sizeof s->value, below(g, 2) ? "%s // %s + %s" : "%s %% %s + %s",
                first, literal(type, 2 + below(g, 3), num), other);
            return mag + m2 + 4;
        }
        __attribute__((fallthrough));
    case 5: put(s->value, sizeof s->value, "%s - %s", first, other); return mag + m2;
    case 6: put(s->value, sizeof s->value, "%s", first); return mag;
    default: put(s->value, sizeof s->value, "%s + %s", first, other); return mag + m2;
    }
}

static const char LOOPS[] = "ijklmnopq";

/* The store (with its init) of a stage, its iterators being v0, v1 ... */
static void emit_body(Gen *g, const Stage *s, int in)
{
    Buf *b = &g->bufs[s->out];
    char at[80] = "", v[8], num[40];

    for (int k = 0, d = 0; k < s->n_it; k++)
        if (!s->it[k].reduce) {
            put(v, sizeof v, "%sv%d", d++ ? ", " : "", k);
            append(at, sizeof at, v);
        }
    if (b->rank == 0)
        put(at, sizeof at, "()");
    if (s->reduce && s->pair) {
        const char *two = g->bufs[s->pair].name;
        bool lets = below(g, 2);
        line(g, in, "with T.init():");
        line(g, in + 1, "%s[%s] = %s", b->name, at, s->init);
        line(g, in + 1, "%s[%s] = %s", two, at, s->init);
        if (lets) {
            line(g, in, "x%d: T.%s = %s[%s] + %s", s->k, b->dtype, b->name, at, s->value);
            line(g, in, "y%d: T.%s = %s[%s] + %s * %s", s->k, b->dtype, two, at, s->value,
                 literal(b->dtype, 2, num));
        }
        if (lets) {
            line(g, in, "%s[%s] = x%d", b->name, at, s->k);
            line(g, in, "%s[%s] = y%d", two, at, s->k);
        } else {
            line(g, in, "%s[%s] = %s[%s] + %s", b->name, at, b->name, at, s->value);
            line(g, in, "%s[%s] = %s[%s] + %s * %s", two, at, two, at, s->value,
                 literal(b->dtype, 2, num));
        }
        return;
    }
    if (s->reduce) {
        if (!s->started) {
            line(g, in, "with T.init():");
            line(g, in + 1, "%s[%s] = %s", b->name, at, s->init);
        }
        if (s->reduce[0] == '+')
            line(g, in, "%s[%s] = %s[%s] + %s", b->name, at, b->name, at, s->value);
        else
            line(g, in, "%s[%s] = T.%s(%s[%s], %s)", b->name, at, s->reduce, b->name, at,
                 s->value);
        return;
    }
    if (s->n_it && ON(g, FZ_IF, 8)) {
        line(g, in, "if v%d %% 2 == 0:", below(g, s->n_it));
        line(g, in + 1, "%s[%s] = %s", b->name, at, s->value);
        if (below(g, 4) == 0) { /* the rest is never written, nor read */
            b->closed = b->output = true;
            return;
        }
        line(g, in, "else:");
        line(g, in + 1, "%s[%s] = %s", b->name, at, literal(b->dtype, 2, num));
        return;
    }
    if (ON(g, FZ_LET, 8)) {
        line(g, in, "z%d: T.%s = %s", s->k, b->dtype, s->value);
        line(g, in, "%s[%s] = z%d + z%d", b->name, at, s->k, s->k);
        b->mag *= 2;
        return;
    }
    line(g, in, "%s[%s] = %s", b->name, at, s->value);
}

/* A loop of another kind than serial; those that may not be concurrent are unrolled. */
static void emit_kind(Gen *g, int in, char name, Dim d, bool innermost, bool outermost)
{
    static const char *const axes[] = {"blockIdx.x", "threadIdx.x", "threadIdx.y",
                                       "vthread.x"};
    char num[24];

    int_text(g, d.v, num);
    if (innermost && below(g, 2))
        line(g, in, "for %c in T.vectorized(%s):", name, num);
    else if (outermost && below(g, 3))
        line(g, in, "for %c in T.thread_binding(%s, thread=\"%s\"):", name, num,
             axes[below(g, 4)]);
    else
        line(g, in, "for %c in T.unroll(%s):", name, num);
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
    int_text(g, 1, one);
    int_text(g, d.v, all);
    if (below(g, 3) && !(g->plan->off & FZ_GUARDS)) {
        put(out, 64, "T.min(%c + %s, %s)", LOOPS[x], one, all);
        return k;
    }
    int b = index_buffer(g, s, e);

    if (b < 0 || g->bufs[b].dims[0].v < e.v)
        return -1;
    put(out, 64, "(%s[%c] + 2) %% %s + 1", g->bufs[b].name, LOOPS[x], all);
    return k;
}

/* Loops from iterator `from` on, and the axis lines; outer: the value of those before. */
static void emit_nest(Gen *g, const Stage *s, int from, const char *outer, int in,
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
        put(bind[k], sizeof bind[k], "%c", LOOPS[k]);
        if (k < from)
            put(bind[k], sizeof bind[k], "%s", outer);
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
        put(bind[k], sizeof bind[k], "%c_0 * %d + %c_1", LOOPS[k], factor, LOOPS[k]);
        if (s->it[k].dom.sym || s->it[k].dom.v % factor)
            put(where, sizeof where, "%s < %s", bind[k], dim_text(g, s->it[k].dom, t));
    }
    if (n - from >= 2 && tiled < 0 && ON(g, FZ_GUARDS, 8)) {
        int x = from + below(g, n - from), y = from + below(g, n - from);
        bool part = !s->it[y].reduce; /* the others do not compute all elements */
        if (x != y && !s->it[x].reduce &&
            (!part || (!b->consumed && !s->pair && !s->started))) {
            guarded = true;
            if (part && below(g, 2))
                put(where, sizeof where, "%s + %s < %d", bind[x], bind[y],
                    s->it[x].dom.v + below(g, 3));
            else
                put(where, sizeof where, "%s <= %s", bind[y], bind[x]);
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
                        dim_text(g, s->it[k].dom, t));
        ml_text_add(&g->body, "):\n");
        in++;
    } else if (style == 2 && n - from >= 2 && tiled < 0 && !s->it[from].dom.sym &&
               !s->it[from + 1].dom.sym &&
               (s->it[from].reduce == s->it[from + 1].reduce || below(g, 2))) {
        int w = s->it[from + 1].dom.v; /* two as one */
        put(bind[from], sizeof bind[from], "f // %d", w);
        put(bind[from + 1], sizeof bind[from + 1], "f %% %d", w);
        line(g, in++, "for f in range(%s):", int_text(g, s->it[from].dom.v * w, num));
        for (int k = from + 2; k < n; k++)
            line(g, in++, "for %c in range(%s):", LOOPS[k], dim_text(g, s->it[k].dom, t));
    } else {
        for (int o = from; o < n; o++) {
            int k = order[o];
            Dim d = s->it[k].dom;
            if (k == bounded) {
                line(g, in++, "for %c in range(%s):", LOOPS[k], extent_text);
            } else if (k == tiled && d.sym) {
                line(g, in++, "for %c_0 in range((%s + %d) // %d):", LOOPS[k],
                     dim_text(g, d, t), factor - 1, factor);
                line(g, in++, "for %c_1 in range(%s):", LOOPS[k], int_text(g, factor, num));
            } else if (k == tiled) {
                line(g, in++, "for %c_0 in range(%s):", LOOPS[k],
                     int_text(g, (d.v + factor - 1) / factor, num));
                line(g, in++, "for %c_1 in range(%s):", LOOPS[k], int_text(g, factor, num));
            } else if (style == 3 && o == from && !s->it[k].reduce) {
                line(g, in++, "for %c in T.parallel(%s):", LOOPS[k], dim_text(g, d, t));
            } else if (style == 5 && !d.sym && !(g->plan->off & FZ_KINDS) && below(g, 2)) {
                emit_kind(g, in++, LOOPS[k], d, o == n - 1 && !s->it[k].reduce,
                          o == from && !s->it[k].reduce);
            } else if (style == 4 && o == from && !d.sym && below(g, 3) == 0) {
                char hi[24];
                line(g, in++, "for %c in range(%s, %s):", LOOPS[k], int_text(g, 2, num),
                     int_text(g, d.v + 2, hi));
                put(bind[k], sizeof bind[k], "%c - 2", LOOPS[k]);
            } else {
                line(g, in++, "for %c in range(%s):", LOOPS[k], dim_text(g, d, t));
            }
        }
    }
    line(g, in++, "with T.block(\"%s\"):", name);
    bool direct =
        from > 0 && below(g, 2); /* the outer iterator itself, no axis of its own */
    size_t begin = g->body.n;

    for (int k = direct ? from : 0; k < n; k++)
        if (k < from)
            line(g, in, "v%d = T.axis.spatial((%s, %s + 1), %s)", k, bind[k], bind[k],
                 bind[k]);
        else
            line(g, in, "v%d = T.axis.%s(%s, %s)", k,
                 s->it[k].reduce ? "reduce" : "spatial", dim_text(g, s->it[k].dom, t),
                 bind[k]);
    if (where[0])
        line(g, in, "T.where(%s)", where);
    emit_body(g, s, in);
    for (size_t k = begin; direct && k + 1 < g->body.n; k++)
        if (g->body.p[k] == 'v' && g->body.p[k + 1] == '0')
            g->body.p[k] = 'w';
}

/* The first iterator gets a block of its own around the rest; what the source holds there
 * may be copied into a local buffer or matched. */
static void emit_nested(Gen *g, Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->src];
    char t[40], shape[160] = "", region[160] = "", all[160] = "", old[12], *cut;
    bool plain = b->rank >= 2 && strcmp(s->idx[0], "v0") == 0;
    int how = plain ? below(g, 3) : 0;

    for (int d = 1; d < b->rank && plain; d++)
        plain = strstr(s->idx[d], "v0") == NULL;
    if (!plain)
        how = 0;
    line(g, in, "for %c in range(%s):", LOOPS[0], dim_text(g, s->it[0].dom, t));
    line(g, in + 1, "with T.block(\"%s_o\"):", name);
    line(g, in + 2, "w0 = T.axis.spatial(%s, %c)", dim_text(g, s->it[0].dom, t), LOOPS[0]);
    for (int d = 1; d < b->rank && how; d++) {
        size_t n = strlen(shape), r = strlen(region), a = strlen(all);
        dim_text(g, b->dims[d], t);
        put(shape + n, sizeof shape - n, "%s%s", d > 1 ? ", " : "", t);
        put(region + r, sizeof region - r, ", 0:%s", t);
        put(all + a, sizeof all - a, "%su%d", d > 1 ? ", " : "", d);
    }
    if (how == 1) {
        line(g, in + 2, "t%d = T.alloc_buffer((%s%s), \"%s\")", s->k, shape,
             b->rank == 2 ? "," : "", b->dtype);
        for (int d = 1; d < b->rank; d++)
            line(g, in + 1 + d, "for x%d in range(%s):", d, dim_text(g, b->dims[d], t));
        line(g, in + 1 + b->rank, "with T.block(\"%s_t\"):", name);
        for (int d = 1; d < b->rank; d++)
            line(g, in + 2 + b->rank, "u%d = T.axis.spatial(%s, x%d)", d,
                 dim_text(g, b->dims[d], t), d);
        line(g, in + 2 + b->rank, "t%d[%s] = %s[w0, %s]", s->k, all, b->name, all);
    } else if (how == 2) {
        line(g, in + 2, "m%d = T.match_buffer(%s[w0%s], (1, %s), \"%s\", offset_factor=1)",
             s->k, b->name, region, shape, b->dtype);
    }
    if (how) { /* the value reads it in place of the source */
        char *p = s->value, done[400] = "";
        put(old, sizeof old, "%s[v0, ", b->name);
        while ((cut = strstr(p, old)) != NULL) {
            size_t n = strlen(done);
            put(done + n, sizeof done - n, "%.*s%c%d[%s", (int)(cut - p), p,
                how == 1 ? 't' : 'm', s->k, how == 1 ? "" : "0, ");
            p = cut + strlen(old);
        }
        append(done, sizeof done, p);
        memcpy(s->value, done, sizeof done);
    }
    emit_nest(g, s, 1, "w0", in + 2, name);
}

/* A stage that combines the result of a reduction with something, mostly as it does. */
static void epilogue(Gen *g, const Stage *red, int in)
{
    Stage s = {.k = red->k, .src = red->out};
    Buf *b = &g->bufs[red->out];
    char first[150], other[120], name[8];
    Dim out[MAX_RANK];
    int m2 = 0, mag = b->mag;

    shape_stage(g, &s, below(g, 4) == 0 ? 1 : 0);
    for (int d = 0; d < s.n_it; d++)
        out[d] = s.it[d].dom;
    if (below(g, 8) == 0) {
        mag = value_of(g, &s, b->dtype, false);
    } else {
        b->consumed = true;
        access(b, s.idx, b->dtype, first, sizeof first);
        if (!second_operand(g, &s, b->dtype, false, other, sizeof other, &m2))
            literal(b->dtype, m2 = 1 + below(g, 3), other);
        if (red->reduce[0] == '+')
            put(s.value, sizeof s.value, "%s + %s", first, other);
        else
            put(s.value, sizeof s.value, "T.%s(%s, %s)", red->reduce, other, first);
        mag += m2;
    }
    s.out = new_buf(g, false, b->dtype, out, s.n_it, mag);
    put(name, sizeof name, "%s", g->bufs[s.out].name);
    emit_nest(g, &s, 0, "", in, name);
}

/* What a reduction starts from, written beforehand. */
static void emit_start(Gen *g, const Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->out];
    char at[80] = "", v[8], t[40];

    for (int d = 0; d < b->rank; d++)
        line(g, in++, "for %c in range(%s):", LOOPS[d], dim_text(g, b->dims[d], t));
    line(g, in++, "with T.block(\"%s_i\"):", name);
    for (int d = 0; d < b->rank; d++) {
        line(g, in, "v%d = T.axis.spatial(%s, %c)", d, dim_text(g, b->dims[d], t),
             LOOPS[d]);
        put(v, sizeof v, "%sv%d", d ? ", " : "", d);
        append(at, sizeof at, v);
    }
    line(g, in, "%s[%s] = %s", b->name, b->rank ? at : "()", s->init);
}

/* The last rows of the result. */
static void emit_rest(Gen *g, const Stage *s, int in, const char *name)
{
    const Buf *b = &g->bufs[s->out];
    Dim first = {s->rest, CONSTANT};
    char at[80] = "", v[24], t[40];

    for (int d = 0; d < b->rank; d++)
        line(g, in++, "for %c in range(%s):", LOOPS[d],
             dim_text(g, d ? b->dims[d] : first, t));
    line(g, in++, "with T.block(\"%s_r\"):", name);
    for (int d = 0; d < b->rank; d++) {
        line(g, in, "v%d = T.axis.spatial(%s, %c)", d,
             dim_text(g, d ? b->dims[d] : first, t), LOOPS[d]);
        if (d == 0)
            put(v, sizeof v, "v0 + %d", b->dims[0].v - s->rest);
        else
            put(v, sizeof v, ", v%d", d);
        append(at, sizeof at, v);
    }
    line(g, in, "%s[%s] = %s", b->name, at, literal(b->dtype, 2, t));
}

static void stage(Gen *g, int k)
{
    Stage s = {.k = k};
    int tries = 0, kind, mag, total = 1, in = 2, count = 1;
    Dim out[MAX_RANK];
    int rank = 0;
    char name[8], num[40];
    const char *type;

    s.src = s.out = -1;
    if (g->n_bufs > 0 && below(g, 100) < 85)
        for (int c = 0; c < 8 && s.src < 0; c++) {
            int b = g->n_bufs - 1 - below(g, g->n_bufs < 4 ? g->n_bufs : 4);
            if (!g->bufs[b].closed && (!g->bufs[b].input || below(g, 4) == 0))
                s.src = b;
        }
    if (s.src < 0)
        s.src = new_input(g);
    do {
        int keep = s.src;
        s = (Stage){.k = k, .src = keep, .out = -1};
        kind = below(g, 100) < 25 ? 0 : 1 + below(g, 14);
        if ((g->plan->off & FZ_SHAPES) && kind != 5)
            kind = 0;
        if (++tries > 20)
            kind = 0;
        total = shape_stage(g, &s, kind) ? 1 : 0;
        rank = 0;
        count = 1;
        for (int i = 0; i < s.n_it && total; i++) {
            total *= s.it[i].dom.v;
            if (s.it[i].reduce)
                count *= s.it[i].dom.v;
            else if (rank < MAX_RANK)
                out[rank++] = s.it[i].dom;
            if (s.it[i].reduce)
                s.reduce = "+";
        }
    } while (tries <= 20 &&
             (total == 0 || total > 1500 || elements(out, rank) > MAX_ELEMENTS));
    mag = g->bufs[s.src].mag;
    type = dtype(g, mag * (s.reduce ? count : 1));
    mag = value_of(g, &s, type, kind == 11);
    if (s.reduce) {
        s.reduce =
            mag * count > LIMIT || below(g, 3) == 0 ? (below(g, 2) ? "max" : "min") : "+";
        literal(type, s.reduce[0] == '+' ? 0 : s.reduce[1] == 'a' ? -100 : 100, s.init);
        mag = s.reduce[0] == '+' ? mag * count : mag > 100 ? mag : 100;
    }
    if (strcmp(type, "int8") == 0)
        mag = 128;
    if (rank > 0 && !out[0].sym && ON(g, FZ_PARTS, 6) &&
        elements(out, rank) + 2 * elements(out + 1, rank - 1) <= MAX_ELEMENTS)
        out[0].v += s.rest = 1 + below(g, 2);
    s.out = new_buf(g, false, type, out, rank, mag);
    put(name, sizeof name, "%s", g->bufs[s.out].name);
    if (ON(g, FZ_IF, 5)) {
        line(g, in++, "if flag > 0:");
        g->uses_flag = g->bufs[s.out].closed = g->bufs[s.out].output = true;
    }
    if (!s.rest && s.reduce && s.reduce[0] == '+' && g->n_bufs < MAX_BUFS - 4 &&
        ON(g, FZ_PAIR, 10)) {
        s.pair = new_buf(g, false, type, out, rank, mag * 2);
        g->bufs[s.pair].closed = g->bufs[s.out].closed;
    }
    if (ON(g, FZ_OPAQUE, 4))
        line(g, in++, "with T.block(\"%s_w\"):", name);
    if (s.reduce && !s.pair && !s.rest && ON(g, FZ_APART, 12)) {
        emit_start(g, &s, in, name);
        s.started = true;
    }
    if (s.n_it >= 2 && !s.it[0].reduce && ON(g, FZ_NESTED, 15))
        emit_nested(g, &s, in, name);
    else
        emit_nest(g, &s, 0, "", in, name);
    if (s.rest)
        emit_rest(g, &s, in, name);
    if (g->bufs[s.out].closed && s.pair)
        g->bufs[s.pair].closed = g->bufs[s.pair].output = true;
    if (rank > 0 && rank <= 3 && !g->bufs[s.out].closed &&
        ON(g, FZ_INPLACE, 6)) { /* an update of what is there */
        char at[40] = "";
        Buf *b = &g->bufs[s.out];
        for (int d = 0; d < rank; d++) {
            char t[40];
            line(g, in + d, "for %c in range(%s):", LOOPS[d], dim_text(g, out[d], t));
            put(at + strlen(at), sizeof at - strlen(at), "%sv%d", d ? ", " : "", d);
        }
        line(g, in + rank, "with T.block(\"%s_u\"):", name);
        for (int d = 0; d < rank; d++) {
            char t[40];
            line(g, in + rank + 1, "v%d = T.axis.spatial(%s, %c)", d,
                 dim_text(g, out[d], t), LOOPS[d]);
        }
        line(g, in + rank + 1, "%s[%s] = %s[%s] + %s", b->name, at, b->name, at,
             literal(type, 1, num));
        b->mag++;
    } else if (s.reduce && rank > 0 && !g->bufs[s.out].closed && g->n_bufs < MAX_BUFS - 4 &&
               ON(g, FZ_EPILOGUE, 40)) {
        epilogue(g, &s, in);
    }
}

static void shape_text(Gen *g, const Buf *b, ml_Text *out)
{
    char t[40];

    ml_text_char(out, '(');
    for (int d = 0; d < b->rank; d++)
        ml_text_fmt(out, "%s%s", d ? ", " : "", dim_text(g, b->dims[d], t));
    ml_text_add(out, b->rank == 1 ? ",)" : ")");
}

static void function(Gen *g, const char *name, int stages, ml_Text *out)
{
    ml_Text head = {0};
    bool found = false; /* n is the extent of a parameter, not only in one */
    const char *type = g->i64 ? "int64" : "int32";
    int n_params = 0;

    ml_text_clear(&g->body);
    g->n_bufs = g->n_inputs = g->n_inter = 0;
    g->uses_n = g->uses_m = g->uses_flag = false;
    for (int k = 0; k < stages && g->n_bufs < MAX_BUFS - 6; k++)
        stage(g, k);
    for (int k = 0; k < g->n_bufs; k++) {
        Buf *b = &g->bufs[k];
        if (!b->input && (!b->consumed || below(g, 12) == 0))
            b->output = true;
        for (int d = 0; d < b->rank; d++)
            uses(g, b->dims[d]);
    }
    ml_text_fmt(out, "    @T.prim_func\n    def %s(", name);
    for (int k = 0; k < g->n_bufs; k++) {
        const Buf *b = &g->bufs[k];
        if (!b->input && !b->output)
            continue;
        ml_text_add(out, n_params++ ? ", " : "");
        for (int d = 0; d < b->rank; d++)
            found = found || (b->dims[d].sym == SHIFTED && b->dims[d].v == g->n);
        if (g->uses_n || g->uses_m) {
            ml_text_fmt(out, "%s_p: T.handle", b->name);
            ml_text_fmt(&head, "        %s = T.match_buffer(%s_p, ", b->name, b->name);
            shape_text(g, b, &head);
            ml_text_fmt(&head, ", \"%s\")\n", b->dtype);
        } else {
            ml_text_fmt(out, "%s: T.Buffer(", b->name);
            shape_text(g, b, out);
            ml_text_fmt(out, ", \"%s\")", b->dtype);
        }
    }
    if (g->uses_flag)
        ml_text_fmt(out, ", flag: T.int32");
    if (g->uses_n && !found)
        ml_text_fmt(out, ", n: T.%s", type);
    ml_text_add(out, "):\n");
    if (g->uses_n && found)
        ml_text_fmt(out, "        n = T.%s()\n", type);
    if (g->uses_m) /* an input has it as an extent */
        ml_text_fmt(out, "        m = T.%s()\n", type);
    ml_text_add(out, ml_text_z(&head));
    for (int k = 0; k < g->n_bufs; k++) {
        const Buf *b = &g->bufs[k];
        if (b->input || b->output)
            continue;
        static const char *const scopes[] = {"local", "shared", "warp"};
        bool other = ON(g, FZ_KINDS, 5);
        ml_text_fmt(out, "        %s = T.alloc_buffer(", b->name);
        shape_text(g, b, out);
        ml_text_fmt(out, ", \"%s\"", b->dtype);
        if (other)
            ml_text_fmt(out, ", scope=\"%s\"", scopes[below(g, 3)]);
        ml_text_add(out, ")\n");
    }
    ml_text_add(out, ml_text_z(&g->body));
    ml_text_free(&head);
}

int64_t fz_scalar(const FzProgram *p, const char *name)
{
    return strcmp(name, "flag") == 0 ? p->flag : strcmp(name, "m") == 0 ? p->m : p->n;
}

void fz_program(const FzPlan *plan, FzProgram *out)
{
    Gen g = {.rnd = plan->seed * 0x9e3779b97f4a7c15U + 7, .plan = plan};
    int stages = 1 + below(&g, 4);

    g.n = 1 + below(&g, 9);
    if (g.n > plan->cap)
        g.n = plan->cap;
    g.i64 = ON(&g, FZ_INT64, 12);
    g.two_sizes = !(plan->off & FZ_SYMBOLIC) && ON(&g, FZ_SIZES, 12);
    g.m = 1 + below(&g, plan->cap < 9 ? plan->cap : 9);
    *out = (FzProgram){.n = g.n, .m = g.m, .flag = below(&g, 8) ? 1 : 0, .stages = stages};
    ml_text_add(&out->text, "@I.ir_module\nclass Module:\n");
    bool more = ON(&g, FZ_FUNCS, 9);

    function(&g, "main", stages < plan->stages ? stages : plan->stages, &out->text);
    if (more)
        function(&g, "other", 1 + below(&g, 2), &out->text);
    ml_text_free(&g.body);
}
