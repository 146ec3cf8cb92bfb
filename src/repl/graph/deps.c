/*
 * deps - the picture of who uses whose results: the blocks of each scope, a cluster per
 * enclosing block; the parameters that they read and leave; one line from a block to each
 * that depends on it, labelled with the buffers. RAW is solid, WAW dashed, WAR dotted.
 *
 * What follows one from the other stands on a straight line: of the lines that end in a
 * block, that from the nearest one before it weighs most. Source: interaction 12,
 * ir-and-analysis 2.2.
 */
#include "repl/graph/graph.h"

typedef struct Use { /* of a buffer by two blocks */
    const ml_Buffer *buffer;
    unsigned kinds; /* of ml_DepKind, a bit each */
} Use;

typedef struct Line {
    const ml_Block *from, *to;
    ML_VEC(Use) uses;
    bool straight;
} Line;

typedef struct Deps {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Graph *g;
    const ml_Func *f;
    const ml_Changes *changes; /* or NULL */
    ML_VEC(Line) lines;        /* of one scope */
    int depth;
} Deps;

static void indent(Deps *d)
{
    ml_text_repeat(&d->g->dot, ' ', (size_t)(2 + 2 * d->depth));
}

/* ---- lines between blocks */

static void add_use(const ml_Block *from, const ml_Block *to, const ml_Buffer *buf,
                    ml_DepKind kind, void *user)
{
    Deps *d = user;
    Line *l = d->lines.n > 0 ? &d->lines.v[d->lines.n - 1] : NULL;

    if (!l || l->from != from || l->to != to) { /* they come pair by pair */
        ml_push(d->cx, &d->lines, ((Line){.from = from, .to = to}));
        l = &d->lines.v[d->lines.n - 1];
    }
    for (size_t k = 0; k < l->uses.n; k++)
        if (l->uses.v[k].buffer == buf) {
            l->uses.v[k].kinds |= 1U << kind;
            return;
        }
    ml_push(d->cx, &l->uses, ((Use){buf, 1U << kind}));
}

/* For each block the line from the nearest one before it, unless that has one already. */
static void choose_straight(Deps *d, const ml_StmtVec *blocks)
{
    for (size_t k = 0; k < blocks->n; k++) {
        Line *nearest = NULL;

        for (size_t i = 0; i < d->lines.n; i++)
            if (&d->lines.v[i].to->base == blocks->v[k])
                nearest = &d->lines.v[i]; /* in the order of the text: the last counts */
        for (size_t i = 0; nearest && i < d->lines.n; i++)
            if (d->lines.v[i].straight && d->lines.v[i].from == nearest->from)
                nearest = NULL;
        if (nearest)
            nearest->straight = true;
    }
}

/* The buffers; behind each how one block depends on the other, where it is not RAW alone. */
static void add_label(Deps *d, const Line *l, ml_Text *out)
{
    for (size_t k = 0; k < l->uses.n; k++) {
        const char *before = " (";

        ml_text_fmt(out, "%s%s", k ? ", " : "", ml_name_of(d->s, l->uses.v[k].buffer->uid));
        for (int kind = 0; kind <= ML_DEP_OPAQUE; kind++)
            if (l->uses.v[k].kinds != 1U << ML_DEP_RAW && l->uses.v[k].kinds >> kind & 1) {
                ml_text_fmt(out, "%s%s", before, ml_dep_name((ml_DepKind)kind));
                before = ", ";
            }
        if (*before == ',')
            ml_text_char(out, ')');
    }
}

static void draw_line(Deps *d, const Line *l)
{
    static const ml_GraphLook LOOKS[] = {
        [ML_DEP_RAW] = ML_LOOK_RAW, [ML_DEP_WAW] = ML_LOOK_WAW, [ML_DEP_WAR] = ML_LOOK_WAR};
    ml_Text label = {0};
    unsigned kinds = 0;
    ml_DepKind strongest = ML_DEP_RAW;

    for (size_t k = 0; k < l->uses.n; k++)
        kinds |= l->uses.v[k].kinds;
    while (!(kinds >> strongest & 1))
        strongest++;
    add_label(d, l, &label);
    indent(d);
    ml_text_fmt(&d->g->dot, "block_%u -> block_%u [", (unsigned)l->from->tag,
                (unsigned)l->to->tag);
    ml_graph_look(d->g, LOOKS[strongest]);
    for (int k = (int)strongest + 1; k < ML_DEP_OPAQUE; k++)
        if (kinds >> k & 1)
            d->g->occurs |= UINT32_C(1) << (LOOKS[k] + 1);
    ml_text_add(&d->g->dot, ", label=\" "); /* not at the very line */
    ml_graph_escape(&d->g->dot, ml_text_z(&label));
    ml_text_fmt(&d->g->dot, "\", tooltip=\"");
    ml_graph_escape(&d->g->dot, ml_text_z(&label));
    ml_text_fmt(&d->g->dot, "\"%s];\n", l->straight ? ", weight=100" : "");
    d->g->edges++;
    ml_text_free(&label);
}

/* ---- blocks */

static void block_node(Deps *d, const ml_Block *b)
{
    ml_GraphLook change = d->changes ? ml_changes_of(d->changes, b->tag) : ML_LOOKS;

    indent(d);
    ml_text_fmt(&d->g->dot, "block_%u [", (unsigned)b->tag);
    ml_graph_look(d->g, ML_LOOK_BLOCK);
    ml_text_add(&d->g->dot, ", label=\"");
    ml_graph_add_change(d->g, change);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->tag));
    ml_text_fmt(&d->g->dot,
                "\", id=\"block_%u\", tooltip=\"%u reads, %u writes\", "
                "URL=\"#block_%u\"",
                (unsigned)b->tag, b->n_reads, b->n_writes, (unsigned)b->tag);
    ml_graph_change_look(d->g, change);
    ml_text_add(&d->g->dot, "];\n");
    d->g->nodes++;
}

/* ---- parameters: as they are given, above; as they are left, below */

static void param_node(Deps *d, const ml_Buffer *b, const char *which, const char *what)
{
    indent(d);
    ml_text_fmt(&d->g->dot, "param_%u%s [", (unsigned)b->uid, which);
    ml_graph_look(d->g, ML_LOOK_PARAM);
    ml_text_add(&d->g->dot, ", label=\"");
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->uid));
    ml_text_fmt(&d->g->dot, "\", id=\"param_%u%s\", tooltip=\"%s: ", (unsigned)b->uid,
                which, what);
    for (uint32_t k = 0; k < b->rank; k++) {
        ml_text_add(&d->g->dot, k ? " x " : "");
        ml_graph_expr(d->g, d->s, b->shape[k]);
    }
    ml_text_fmt(&d->g->dot, " %s\"];\n", ml_dtype_name(d->cx, b->type));
    d->g->nodes++;
}

static void param_line(Deps *d)
{
    ml_text_add(&d->g->dot, " [arrowhead=vee, arrowsize=0.7, ");
    ml_graph_look(d->g, ML_LOOK_USE);
    ml_text_add(&d->g->dot, "];\n");
    d->g->edges++;
}

static void draw_reader(Deps *d, const ml_Buffer *b, const char *which, bool first,
                        const ml_Block *reader)
{
    if (first)
        param_node(d, b, which, "parameter, as it is given");
    indent(d);
    ml_text_fmt(&d->g->dot, "param_%u%s -> block_%u", (unsigned)b->uid, which,
                (unsigned)reader->tag);
    param_line(d);
}

/* Who reads what was given, who was the last to write. What many read stands beside each
 * of them, so that no lines cross the whole picture. */
static void param(Deps *d, const ml_Buffer *b, const ml_StmtVec *blocks)
{
    enum { MANY = 4 };
    const ml_Block *last = NULL;
    ML_VEC(const ml_Block *) readers = {0};

    for (size_t k = 0; k < blocks->n; k++) {
        const ml_Block *one = ml_as_block(blocks->v[k]);

        if (!last && ml_read_of(one, b))
            ml_push(d->cx, &readers, one);
        if (ml_write_of(one, b))
            last = one;
    }
    for (size_t k = 0; k < readers.n; k++)
        if (readers.n < MANY)
            draw_reader(d, b, "", k == 0, readers.v[k]);
        else
            draw_reader(d, b, ml_format(d->cx, "_%zu", k), true, readers.v[k]);
    if (!last)
        return;
    param_node(d, b, "_left", "parameter, as it is left");
    indent(d);
    ml_text_fmt(&d->g->dot, "block_%u -> param_%u_left", (unsigned)last->tag,
                (unsigned)b->uid);
    param_line(d);
}

static void scope(Deps *d, const ml_Block *root)
{
    ml_StmtVec v = {0};

    ml_child_blocks(d->cx, &root->base, &v);
    for (size_t k = 0; k < v.n; k++) {
        const ml_Block *b = ml_as_block(v.v[k]);
        ml_StmtVec inner = {0};

        ml_child_blocks(d->cx, &b->base, &inner);
        if (inner.n > 0) {
            indent(d);
            ml_text_fmt(&d->g->dot, "subgraph cluster_%u {\n", (unsigned)b->tag);
            d->depth++;
            indent(d);
            ml_graph_cluster(d->g, ml_name_of(d->s, b->tag));
        }
        block_node(d, b);
        if (inner.n > 0) {
            scope(d, b);
            d->depth--;
            indent(d);
            ml_text_add(&d->g->dot, "}\n");
        }
    }
    d->lines.n = 0;
    ml_dep_edges(&v, add_use, d);
    choose_straight(d, &v);
    for (size_t k = 0; k < d->lines.n; k++)
        draw_line(d, &d->lines.v[k]);
    for (uint32_t k = 0; d->depth == 0 && k < d->f->n_params; k++)
        if (d->f->params[k].buffer)
            param(d, d->f->params[k].buffer, &v);
}

static void draw(const ml_Func *f, void *user)
{
    Deps *d = user;

    d->f = f;
    d->changes = NULL;
    if (d->g->before) {
        d->changes = ml_changes_new(d->cx, ml_module_find(d->g->before, f->name), f);
        ml_changes_gone(d->changes, false, d->s, &d->g->gone);
    }
    scope(d, ml_func_root(f));
}

void ml_graph_deps(ml_Schedule *s, ml_Graph *g)
{
    Deps d = {.s = s, .g = g};

    d.cx = ml_ctx_new(0);
    ml_graph_begin(g, ml_schedule_name(s));
    ml_graph_funcs(s, g, draw, &d);
    ml_graph_end(g);
    ml_ctx_unref(d.cx);
}
