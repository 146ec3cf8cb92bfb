/*
 * deps - the picture of who uses whose results: the blocks of each scope, a cluster per
 * enclosing block; RAW edges solid, WAW dashed, WAR dotted, labelled with the buffer.
 * Source: interaction 12, ir-and-analysis 2.2.
 */
#include "repl/graph/graph.h"

typedef struct Deps {
    ml_Schedule *s;
    ml_Ctx *cx;
    ml_Graph *g;
    int depth;
} Deps;

static void indent(Deps *d)
{
    ml_text_repeat(&d->g->dot, ' ', (size_t)(2 + 2 * d->depth));
}

static void edge(const ml_Block *from, const ml_Block *to, const ml_Buffer *buf,
                 ml_DepKind kind, void *user)
{
    static const char *const STYLES[] = {"solid", "dashed", "dotted", "bold"};
    Deps *d = user;
    const char *word = ml_dep_name(kind);

    indent(d);
    ml_text_fmt(&d->g->dot, "block_%u -> block_%u [style=%s, label=\"", (unsigned)from->tag,
                (unsigned)to->tag, STYLES[kind]);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, buf->uid));
    ml_text_fmt(&d->g->dot, "\", tooltip=\"%s ", word);
    ml_graph_escape(&d->g->dot, buf->name);
    ml_text_fmt(&d->g->dot, "\"%s];\n", kind == ML_DEP_RAW ? ", color=black" : "");
    d->g->edges++;
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
            ml_text_add(&d->g->dot, "label=\"");
            ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->tag));
            ml_text_add(&d->g->dot, "\"; style=rounded; color=\"#999999\";\n");
        }
        indent(d);
        ml_text_fmt(&d->g->dot,
                    "block_%u [style=\"rounded,filled\", fillcolor=\"#f6f2e4\", label=\"",
                    (unsigned)b->tag);
        ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->tag));
        ml_text_fmt(
            &d->g->dot,
            "\", id=\"block_%u\", tooltip=\"%u reads, %u writes\", URL=\"#block_%u\"];\n",
            (unsigned)b->tag, b->n_reads, b->n_writes, (unsigned)b->tag);
        d->g->nodes++;
        if (inner.n > 0) {
            scope(d, b);
            d->depth--;
            indent(d);
            ml_text_add(&d->g->dot, "}\n");
        }
    }
    ml_dep_edges(&v, edge, d);
}

static void draw(const ml_Block *root, void *user)
{
    scope(user, root);
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
