/*
 * loops - the picture of the loop tree: loops are boxes `j_0 [64] vectorized`, blocks
 * rounded boxes with their iters, an init is dashed; edges are nesting, siblings stand in
 * order. Source: interaction 12.
 */
#include "repl/graph/graph.h"

#include <stdio.h>

typedef struct Draw {
    ml_Schedule *s;
    ml_Graph *g;
    const char *parent; /* id of the node above, or NULL */
    ml_PrintOpts print;
} Draw;

static void edge(Draw *d, const char *to)
{
    if (!d->parent)
        return;
    ml_text_fmt(&d->g->dot, "  %s -> %s [arrowhead=none];\n", d->parent, to);
    d->g->edges++;
}

static void expr(Draw *d, const ml_Expr *e)
{
    ml_Text t = {0};

    if (ml_is_const_int(e)) /* without its dtype */
        ml_text_int(&t, e->as.i);
    else
        ml_print_expr(ml_schedule_ctx(d->s), &t, e, &d->print);
    ml_graph_escape(&d->g->dot, ml_text_z(&t));
    ml_text_free(&t);
}

static void regions(Draw *d, const char *what, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        ml_Text t = {0};

        ml_print_region(ml_schedule_ctx(d->s), &t, &v[k], &d->print);
        ml_text_fmt(&d->g->dot, "%s ", k ? "," : what);
        ml_graph_escape(&d->g->dot, ml_text_z(&t));
        ml_text_free(&t);
    }
}

static void visit_stmt(const ml_Stmt *s, bool in_init, void *user);

static void loop_node(Draw *d, const ml_For *f, const char *id)
{
    ml_text_fmt(&d->g->dot, "  %s [label=\"", id);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, f->var->uid));
    ml_text_add(&d->g->dot, " [");
    expr(d, f->extent);
    ml_text_add(&d->g->dot, "]");
    if (f->kind == ML_FOR_THREAD)
        ml_text_fmt(&d->g->dot, " %s", f->thread.name);
    else if (f->kind != ML_FOR_SERIAL)
        ml_text_fmt(&d->g->dot, " %s", ml_for_kind_name((ml_ForKind)f->kind));
    for (size_t k = 0; k < ml_dict_count(f->annotations); k++) {
        ml_text_add(&d->g->dot, "\\n");
        ml_graph_escape(&d->g->dot, f->annotations->keys[k]);
    }
    ml_text_fmt(&d->g->dot, "\", id=\"%s\", tooltip=\"loop from ", id);
    expr(d, f->min);
    ml_text_add(&d->g->dot, ", extent ");
    expr(d, f->extent);
    ml_text_fmt(&d->g->dot, ", %s\", URL=\"#%s\"%s];\n",
                ml_for_kind_name((ml_ForKind)f->kind), id,
                f->kind == ML_FOR_SERIAL ? "" : ", style=filled, fillcolor=\"#e8eef8\"");
    d->g->nodes++;
    edge(d, id);
}

static void block_node(Draw *d, const ml_Block *b, const char *id)
{
    ml_text_fmt(
        &d->g->dot,
        "  %s [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f2e4\", label=\"", id);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->tag));
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_text_fmt(&d->g->dot, "\\n%s: %s ", b->iters[k].var->hint,
                    ml_iter_kind_name((ml_IterKind)b->iters[k].kind));
        expr(d, b->iters[k].extent);
    }
    ml_text_fmt(&d->g->dot, "\", id=\"%s\", tooltip=\"", id);
    regions(d, "reads", b->reads, b->n_reads);
    if (b->n_reads && b->n_writes)
        ml_text_add(&d->g->dot, "; ");
    regions(d, "writes", b->writes, b->n_writes);
    ml_text_fmt(&d->g->dot, "\", URL=\"#%s\"];\n", id);
    d->g->nodes++;
    edge(d, id);
    if (b->init) {
        ml_text_fmt(&d->g->dot,
                    "  %s_init [label=\"init\", style=\"rounded,dashed\", id=\"%s_init\", "
                    "tooltip=\"runs at the first reduce iteration\", URL=\"#%s_init\"];\n"
                    "  %s -> %s_init [style=dashed, arrowhead=none];\n",
                    id, id, id, id, id);
        d->g->nodes++;
        d->g->edges++;
    }
}

static void visit_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Draw *d = user;
    const char *above = d->parent;
    char id[32];

    if (in_init || (!s->has_block && s->kind != ML_STMT_SEQ))
        return; /* loops inside a leaf block are its body, not the schedule's */
    if (s->kind == ML_STMT_FOR) {
        snprintf(id, sizeof id, "loop_%u", (unsigned)ml_stmt_uid(s));
        loop_node(d, ml_as_for(s), id);
        d->parent = id;
    } else if (s->kind == ML_STMT_BLOCK) {
        snprintf(id, sizeof id, "block_%u", (unsigned)ml_stmt_uid(s));
        block_node(d, ml_as_block(s), id);
        d->parent = id;
    }
    ml_stmt_children(s, visit_stmt, d);
    d->parent = above;
}

static void draw(const ml_Block *root, void *user)
{
    visit_stmt(root->body, false, user);
}

void ml_graph_loops(ml_Schedule *s, ml_Graph *g)
{
    Draw d = {.s = s, .g = g};

    d.print.names = ml_schedule_names(s);
    ml_graph_begin(g, ml_schedule_name(s));
    ml_text_add(&g->dot, "  graph [ordering=out];\n");
    ml_graph_funcs(s, g, draw, &d);
    ml_graph_end(g);
}
