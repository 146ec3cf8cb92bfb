/* program - see program.h. What a stage reads and how is chosen in program_shape.c, its
 * loops are written in program_nest.c; parameters are known when all stages are there. */
#include "program_impl.h"

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

void fz_put(char *out, size_t n, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(out, n, fmt, ap);
    va_end(ap);
}

void fz_append(char *out, size_t n, const char *z)
{
    size_t at = strlen(out);

    fz_put(out + at, n - at, "%s", z);
}

int fz_extent(Gen *g)
{
    static const int some[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12};
    int v = some[below(g, (int)ML_COUNT(some))];

    return v < g->plan->cap ? v : g->plan->cap;
}

const char *fz_int_text(const Gen *g, int v, char out[24])
{
    fz_put(out, 24, g->i64 ? "T.int64(%d)" : "%d", v);
    return out;
}

static void uses(Gen *g, Dim d)
{
    g->uses_n = g->uses_n || d.sym == SHIFTED || d.sym == DOUBLED;
    g->uses_m = g->uses_m || d.sym == SHIFTED_M;
}

const char *fz_dim_text(Gen *g, Dim d, char out[40])
{
    char num[24];

    if (!d.sym) {
        fz_put(out, 40, "%s", fz_int_text(g, d.v, num));
        return out;
    }
    const char *of = d.sym == SHIFTED_M ? "m" : "n";
    int more = d.v - base_of(g, d);

    uses(g, d);
    if (d.sym == DOUBLED)
        fz_put(out, 40, "n * %s", fz_int_text(g, 2, num));
    else if (more == 0)
        fz_put(out, 40, "%s", of);
    else
        fz_put(out, 40, "%s + %s", of, fz_int_text(g, more, num));
    return out;
}

const char *fz_dtype(Gen *g, int mag)
{
    static const char *const some[] = {"float32", "float32", "int64",
                                       "float16", "int8",    "float64"};

    if (!ON(g, FZ_DTYPES, 40))
        return "int32";
    const char *z = some[below(g, (int)ML_COUNT(some))];

    return strcmp(z, "int8") == 0 && mag > 100 ? "int32" : z;
}

const char *fz_literal(const char *type, int v, char out[40])
{
    if (strcmp(type, "int32") == 0)
        fz_put(out, 40, "%d", v);
    else
        fz_put(out, 40, "T.%s(%d)", type, v);
    return out;
}

void fz_line(Gen *g, int indent, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ml_text_repeat(&g->body, ' ', (size_t)indent * 4);
    ml_text_vfmt(&g->body, fmt, ap);
    ml_text_char(&g->body, '\n');
    va_end(ap);
}

int fz_new_buf(Gen *g, bool input, const char *type, const Dim *dims, int rank, int mag)
{
    Buf *b = &g->bufs[g->n_bufs];

    ML_ASSERT(g->n_bufs < MAX_BUFS);
    *b = (Buf){.dtype = type, .rank = rank, .mag = mag, .input = input};
    fz_put(b->name, sizeof b->name, "%c%d", input ? 'A' : 'B',
           input ? g->n_inputs++ : g->n_inter++);
    memcpy(b->dims, dims, (size_t)rank * sizeof *dims);
    return g->n_bufs++;
}

static int new_input(Gen *g)
{
    Dim d[MAX_RANK];
    int rank = 1 + below(g, 3);

    for (int k = 0; k < rank; k++) {
        d[k] = (Dim){fz_extent(g), CONSTANT};
        if (ON(g, FZ_SYMBOLIC, 12))
            d[k] = below(g, 5) ? (Dim){g->n + 2 * below(g, 2), SHIFTED}
                               : (Dim){g->n * 2, DOUBLED};
        if (g->two_sizes && below(g, 4) == 0)
            d[k] = (Dim){g->m, SHIFTED_M};
    }
    while (elements(d, rank) > MAX_ELEMENTS)
        rank--;
    return fz_new_buf(g, true, fz_dtype(g, 2), d, rank, 2);
}

void fz_access(const Buf *b, char idx[][40], const char *type, char *out, size_t n)
{
    char all[MAX_RANK * 44] = "";

    for (int d = 0; d < b->rank; d++) {
        fz_append(all, sizeof all, d ? ", " : "");
        fz_append(all, sizeof all, idx[d]);
    }
    if (b->rank == 0)
        fz_put(all, sizeof all, "()");
    if (strcmp(b->dtype, type) == 0)
        fz_put(out, n, "%s[%s]", b->name, all);
    else
        fz_put(out, n, "T.Cast(\"%s\", %s[%s])", type, b->name, all);
}

int fz_index_buffer(Gen *g, const Stage *s, Dim d)
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
    at = fz_new_buf(g, true, g->i64 ? "int64" : "int32", &d, 1, 2);
    g->bufs[at].consumed = true;
    return at;
}

/* A stage that combines the result of a reduction with something, mostly as it does. */
static void epilogue(Gen *g, const Stage *red, int in)
{
    Stage s = {.k = red->k, .src = red->out};
    Buf *b = &g->bufs[red->out];
    char first[260], other[200], name[8];
    Dim out[MAX_RANK];
    int m2 = 0, mag = b->mag;

    fz_shape_stage(g, &s, below(g, 4) == 0 ? 1 : 0);
    for (int d = 0; d < s.n_it; d++)
        out[d] = s.it[d].dom;
    if (below(g, 8) == 0) {
        mag = fz_value_of(g, &s, b->dtype, false);
    } else {
        b->consumed = true;
        fz_access(b, s.idx, b->dtype, first, sizeof first);
        if (!fz_second_operand(g, &s, b->dtype, false, other, sizeof other, &m2))
            fz_literal(b->dtype, m2 = 1 + below(g, 3), other);
        if (red->reduce[0] == '+')
            fz_put(s.value, sizeof s.value, "%s + %s", first, other);
        else
            fz_put(s.value, sizeof s.value, "T.%s(%s, %s)", red->reduce, other, first);
        mag += m2;
    }
    s.out = fz_new_buf(g, false, b->dtype, out, s.n_it, mag);
    fz_put(name, sizeof name, "%s", g->bufs[s.out].name);
    fz_emit_nest(g, &s, 0, "", in, name);
}

static void stage(Gen *g, int k)
{
    Stage s = {.k = k};
    int tries = 0, kind, mag, total = 1, in = 2, count = 1;
    Dim out[MAX_RANK];
    int rank = 0;
    char name[8];
    const char *type;

    if (!g->i64 && ON(g, FZ_SELF, 12)) {
        fz_emit_self(g, in);
        return;
    }
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
        total = fz_shape_stage(g, &s, kind) ? 1 : 0;
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
    if (ON(g, FZ_GATHER, 4))
        fz_by_floats(g, &s);
    mag = g->bufs[s.src].mag;
    type = fz_dtype(g, mag * (s.reduce ? count : 1));
    mag = fz_value_of(g, &s, type, kind == 11);
    if (s.reduce) {
        s.reduce =
            mag * count > LIMIT || below(g, 3) == 0 ? (below(g, 2) ? "max" : "min") : "+";
        fz_literal(type, s.reduce[0] == '+' ? 0 : s.reduce[1] == 'a' ? -100 : 100, s.init);
        mag = s.reduce[0] == '+' ? mag * count : mag > 100 ? mag : 100;
    }
    if (strcmp(type, "int8") == 0)
        mag = 128;
    if (rank > 0 && !out[0].sym && ON(g, FZ_PARTS, 6) &&
        elements(out, rank) + 2 * elements(out + 1, rank - 1) <= MAX_ELEMENTS)
        out[0].v += s.rest = 1 + below(g, 2);
    s.out = fz_new_buf(g, false, type, out, rank, mag);
    fz_put(name, sizeof name, "%s", g->bufs[s.out].name);
    if (ON(g, FZ_IF, 5)) {
        fz_line(g, in++, "if flag > 0:");
        g->uses_flag = g->bufs[s.out].closed = g->bufs[s.out].output = true;
    }
    if (!s.rest && s.reduce && s.reduce[0] == '+' && g->n_bufs < MAX_BUFS - 4 &&
        ON(g, FZ_PAIR, 10)) {
        s.pair = fz_new_buf(g, false, type, out, rank, mag * 2);
        g->bufs[s.pair].closed = g->bufs[s.out].closed;
    }
    if (ON(g, FZ_OPAQUE, 4))
        fz_line(g, in++, "with T.block(\"%s_w\"):", name);
    if (s.reduce && !s.pair && !s.rest && ON(g, FZ_APART, 12)) {
        fz_emit_start(g, &s, in, name);
        s.started = true;
    }
    if (s.n_it >= 2 && !s.it[0].reduce && ON(g, FZ_NESTED, 15))
        fz_emit_nested(g, &s, in, name);
    else
        fz_emit_nest(g, &s, 0, "", in, name);
    if (s.rest)
        fz_emit_rest(g, &s, in, name);
    if (g->bufs[s.out].closed && s.pair)
        g->bufs[s.pair].closed = g->bufs[s.pair].output = true;
    if (rank > 0 && rank <= 3 && !g->bufs[s.out].closed &&
        ON(g, FZ_INPLACE, 6)) { /* an update of what is there */
        char at[40] = "";
        for (int d = 0; d < rank; d++) {
            char t[40];
            fz_line(g, in + d, "for %c in range(%s):", LOOPS[d], fz_dim_text(g, out[d], t));
            fz_put(at + strlen(at), sizeof at - strlen(at), "%sv%d", d ? ", " : "", d);
        }
        fz_line(g, in + rank, "with T.block(\"%s_u\"):", name);
        for (int d = 0; d < rank; d++) {
            char t[40];
            fz_line(g, in + rank + 1, "v%d = T.axis.spatial(%s, %c)", d,
                    fz_dim_text(g, out[d], t), LOOPS[d]);
        }
        fz_update_inplace(g, s.out, in + rank + 1, at);
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
        ml_text_fmt(out, "%s%s", d ? ", " : "", fz_dim_text(g, b->dims[d], t));
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

    if (fz_is_scalar(plan)) {
        fz_scalar_program(plan, out);
        return;
    }
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
