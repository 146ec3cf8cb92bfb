/*
 * loops - the picture of the loop tree: loops are boxes `j_0 [64] vectorized`, their kind
 * in the outline, too; blocks rounded boxes with their iters, an init is dashed; edges are
 * nesting, siblings stand in order. Source: interaction 12.
 */
#include "repl/graph/graph.h"

#include <stdio.h>

typedef struct Draw {
    ml_Schedule *s;
    ml_Graph *g;
    ml_Ctx *cx;
    const ml_Changes *changes; /* or NULL */
    const char *parent;        /* id of the node above, or NULL */
    ml_PrintOpts print;
} Draw;

static void edge(Draw *d, const char *to)
{
    if (!d->parent)
        return;
    ml_text_fmt(&d->g->dot, "  %s -> %s [arrowhead=none, weight=10];\n", d->parent, to);
    d->g->edges++;
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

static ml_GraphLook change_of(const Draw *d, ml_Uid uid)
{
    return d->changes ? ml_changes_of(d->changes, uid) : ML_LOOKS;
}

static void loop_node(Draw *d, const ml_For *f, const char *id)
{
    static const ml_GraphLook LOOKS[ML_FOR_KINDS] = {
        [ML_FOR_SERIAL] = ML_LOOK_SERIAL,         [ML_FOR_PARALLEL] = ML_LOOK_PARALLEL,
        [ML_FOR_VECTORIZED] = ML_LOOK_VECTORIZED, [ML_FOR_UNROLLED] = ML_LOOK_UNROLLED,
        [ML_FOR_THREAD] = ML_LOOK_THREAD,
    };
    ml_GraphLook change = change_of(d, f->var->uid);

    ml_text_fmt(&d->g->dot, "  %s [", id);
    ml_graph_look(d->g, LOOKS[f->kind]);
    ml_text_add(&d->g->dot, ", label=\"");
    ml_graph_add_change(d->g, change);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, f->var->uid));
    ml_text_add(&d->g->dot, " [");
    ml_graph_expr(d->g, d->s, f->extent);
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
    ml_graph_expr(d->g, d->s, f->min);
    ml_text_add(&d->g->dot, ", extent ");
    ml_graph_expr(d->g, d->s, f->extent);
    ml_text_fmt(&d->g->dot, ", %s\", URL=\"#%s\"", ml_for_kind_name((ml_ForKind)f->kind),
                id);
    ml_graph_change_look(d->g, change);
    ml_text_add(&d->g->dot, "];\n");
    d->g->nodes++;
    edge(d, id);
}

static void block_node(Draw *d, const ml_Block *b, const char *id)
{
    ml_GraphLook change = change_of(d, b->tag);

    ml_text_fmt(&d->g->dot, "  %s [", id);
    ml_graph_look(d->g, b->n_iters ? ML_LOOK_ITERS : ML_LOOK_BLOCK);
    ml_text_add(&d->g->dot, ", label=\"");
    ml_graph_add_change(d->g, change);
    ml_graph_escape(&d->g->dot, ml_name_of(d->s, b->tag));
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_text_fmt(&d->g->dot, "\\n%s: %s ", b->iters[k].var->hint,
                    ml_iter_kind_name((ml_IterKind)b->iters[k].kind));
        ml_graph_expr(d->g, d->s, b->iters[k].extent);
    }
    ml_text_fmt(&d->g->dot, "\", id=\"%s\", tooltip=\"", id);
    regions(d, "reads", b->reads, b->n_reads);
    if (b->n_reads && b->n_writes)
        ml_text_add(&d->g->dot, "; ");
    regions(d, "writes", b->writes, b->n_writes);
    ml_text_fmt(&d->g->dot, "\", URL=\"#%s\"", id);
    ml_graph_change_look(d->g, change);
    ml_text_add(&d->g->dot, "];\n");
    d->g->nodes++;
    edge(d, id);
    if (b->init) {
        ml_text_fmt(&d->g->dot, "  %s_init [", id);
        ml_graph_look(d->g, ML_LOOK_INIT);
        ml_text_fmt(&d->g->dot,
                    ", label=\"init\", id=\"%s_init\", "
                    "tooltip=\"runs at the first reduce iteration\", URL=\"#%s_init\"];\n"
                    "  %s -> %s_init [style=dashed, arrowhead=none];\n",
                    id, id, id, id);
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

static void draw(const ml_Func *f, void *user)
{
    Draw *d = user;

    d->changes = NULL;
    if (d->g->before) {
        d->changes = ml_changes_new(d->cx, ml_module_find(d->g->before, f->name), f);
        ml_changes_gone(d->changes, true, d->s, &d->g->gone);
    }
    visit_stmt(ml_func_root(f)->body, false, d);
}

void ml_graph_loops(ml_Schedule *s, ml_Graph *g)
{
    Draw d = {.s = s, .g = g, .cx = ml_ctx_new(0)};

    d.print.names = ml_schedule_names(s);
    ml_graph_begin(g, ml_schedule_name(s));
    ml_text_add(&g->dot, "  graph [ordering=out];\n");
    ml_graph_funcs(s, g, draw, &d);
    ml_graph_end(g);
    ml_ctx_unref(d.cx);
}
