/*
 * chars - a graph in characters: boxes, lines between them, labels beside the lines.
 *
 * moonloop-draw says where nodes lie (its `plain` format); only their order is taken from
 * it, and which way a line goes past the boxes between. Rows and columns are our own: one
 * row of boxes per layer, as far apart as labels and lines need. Source: interaction 12.
 */
#include <stdlib.h>

#include "moonloop/core/base/arena.h"
#include "repl/graph/graph.h"
#include "repl/screen/grid.h"

enum { MOST_WIDE = 4000, MOST_HIGH = 4000, APART = 3, MOST_LINES = 8 };

typedef struct Node {
    const char *name;
    double x, y;
    const char *line[MOST_LINES];
    int n_lines, wide;  /* of the label */
    int layer, at;      /* at: the column of its middle */
    const char *leaves; /* labels of lines that begin here */
    bool dashed, bare;  /* bare: no box */
} Node;

typedef struct Edge {
    int tail, head; /* nodes; layer of tail < that of head */
    bool turned;    /* it was drawn the other way round */
    uint32_t n;
    double *points; /* x, y */
    int *column;    /* where it passes: of tail, of each layer between, of head */
    int *lane;      /* in the gap below each of its layers but the last */
} Edge;

typedef struct Drawing {
    ml_Ctx *cx;
    ML_VEC(Node) nodes; /* by layer and place */
    ML_VEC(Edge) edges;
    int n_layers;
    int *first;      /* node of each layer; one more at the end */
    int *top, *high; /* of each layer's boxes */
    int *lanes;      /* in the gap below */
    bool arrows;
} Drawing;

/* ---- reading */

/* The next word of a line, in cx; quotes and escapes are undone, \n is a line's end. */
static const char *word(ml_Ctx *cx, const char **p)
{
    ml_Text t = {0};
    const char *z;
    bool quoted;

    *p += strspn(*p, " ");
    quoted = **p == '"';
    *p += quoted;
    while (**p && **p != '\n' && **p != (quoted ? '"' : ' ')) {
        if (**p == '\\' && (*p)[1] == '\n') { /* a long one goes on in the next line */
            ++*p;
        } else if (**p == '\\' && (*p)[1]) {
            ++*p;
            ml_text_char(&t, **p == 'n' || **p == 'l' || **p == 'r' ? '\n' : **p);
        } else {
            ml_text_char(&t, **p);
        }
        ++*p;
    }
    *p += quoted && **p == '"';
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* Places further out than that are none. */
static double inches(const char *z)
{
    double x = strtod(z, NULL);

    return x > -1e4 && x < 1e4 ? x : 0;
}

static void read_node(Drawing *d, const char *p)
{
    Node n = {.name = word(d->cx, &p)};
    const char *label;

    n.x = inches(word(d->cx, &p));
    n.y = inches(word(d->cx, &p));
    (void)word(d->cx, &p);
    (void)word(d->cx, &p);
    label = word(d->cx, &p);
    n.dashed = strstr(word(d->cx, &p), "dashed") != NULL;
    n.bare = ml_streq(word(d->cx, &p), "underline");
    if (n.bare)
        label = ml_format(d->cx, "(%s)", label);
    while (n.n_lines < MOST_LINES) {
        size_t k = strcspn(label, "\n");
        int wide = ml_text_columns(label, k);

        n.line[n.n_lines++] = ml_strdup(d->cx, (ml_Str){label, k});
        n.wide = wide > n.wide ? wide : n.wide;
        if (!label[k] || !label[k + 1])
            break;
        label += k + 1;
    }
    ml_push(d->cx, &d->nodes, n);
}

static int node_named(const Drawing *d, const char *name)
{
    for (size_t k = 0; k < d->nodes.n; k++)
        if (ml_streq(d->nodes.v[k].name, name))
            return (int)k;
    return -1;
}

/* The label stands where the line begins, each text once. */
static void add_label(Drawing *d, Node *n, const char *z)
{
    const char *at;
    size_t k;

    ML_ASSERT(n);
    z += strspn(z, " ");
    k = strlen(z);
    for (at = n->leaves; at && (at = strstr(at, z)) != NULL; at += k)
        if ((at == n->leaves || at[-1] == ' ') && (!at[k] || at[k] == ','))
            return;
    n->leaves = n->leaves ? ml_format(d->cx, "%s, %s", n->leaves, z) : z;
}

static void read_edge(Drawing *d, const char *p)
{
    Edge e = {.tail = node_named(d, word(d->cx, &p))};
    const char *label;

    e.head = node_named(d, word(d->cx, &p));
    e.n = (uint32_t)strtoul(word(d->cx, &p), NULL, 10);
    if (e.tail < 0 || e.head < 0 || e.n == 0 || e.n > 10000)
        return;
    e.points = ML_ARRAY(d->cx, double, (size_t)2 * e.n);
    for (uint32_t k = 0; k < 2 * e.n; k++)
        e.points[k] = inches(word(d->cx, &p));
    label = word(d->cx, &p);
    if (ml_streq(label, "solid") || ml_streq(label, "dashed") ||
        ml_streq(label, "dotted")) { /* no label: that was the style */
        ml_push(d->cx, &d->edges, e);
        return;
    }
    add_label(d, &d->nodes.v[e.tail], label);
    ml_push(d->cx, &d->edges, e);
}

/* Calls fn for each line that begins with the word, with what follows. */
static void each_line(Drawing *d, const char *text, const char *word,
                      void (*fn)(Drawing *d, const char *p))
{
    size_t n = strlen(word);

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strncmp(p, word, n) == 0)
            fn(d, p + n);
}

/* ---- layers */

static bool before(const Node *a, const Node *b)
{
    if (a->y - b->y > 0.1 || b->y - a->y > 0.1)
        return a->y > b->y;
    return a->x < b->x;
}

static void make_layers(Drawing *d)
{
    size_t n = d->nodes.n;
    Node *v = d->nodes.v;

    d->first = ML_ARRAY(d->cx, int, n + 2);
    for (size_t k = 0; k < n; k++) {
        Node one = v[k];
        size_t i = k;

        for (; i > 0 && before(&one, &v[i - 1]); i--)
            v[i] = v[i - 1];
        v[i] = one;
    }
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || v[k - 1].y - v[k].y > 0.1)
            d->first[d->n_layers++] = (int)k;
        v[k].layer = d->n_layers - 1;
    }
    d->first[d->n_layers] = (int)n;
    d->top = ML_ARRAY(d->cx, int, (size_t)d->n_layers + 1);
    d->high = ML_ARRAY(d->cx, int, (size_t)d->n_layers + 1);
    d->lanes = ML_ARRAY(d->cx, int, (size_t)d->n_layers + 1);
}

static int left_half(const Node *n)
{
    return n->wide / 2 + 2;
}

/* Room for the label of its lines, too. */
static int right_half(const Node *n)
{
    int box = n->wide - n->wide / 2 + 2;
    int label = n->leaves ? ml_text_columns(n->leaves, strlen(n->leaves)) + 2 : 0;

    return label > box ? label : box;
}

/* As near to where they lie as labels allow: one scale for all, then no overlap. */
static void place_columns(Drawing *d)
{
    double scale = 6, least = d->nodes.n > 0 ? 1e9 : 0;

    for (size_t k = 0; k + 1 < d->nodes.n; k++) {
        const Node *a = &d->nodes.v[k], *b = &d->nodes.v[k + 1];
        double apart = right_half(a) + left_half(b) + 1;

        if (a->layer == b->layer && b->x - a->x > 0.01 && apart / (b->x - a->x) > scale)
            scale = apart / (b->x - a->x);
    }
    scale = scale > 24 ? 24 : scale;
    for (size_t k = 0; k < d->nodes.n; k++) {
        Node *n = &d->nodes.v[k];
        const Node *left = k > 0 ? &d->nodes.v[k - 1] : NULL;

        n->at = (int)(n->x * scale + 0.5);
        if (left && left->layer == n->layer &&
            n->at < left->at + right_half(left) + left_half(n) + 1)
            n->at = left->at + right_half(left) + left_half(n) + 1;
        if (n->at - left_half(n) < least)
            least = n->at - left_half(n);
    }
    for (size_t k = 0; k < d->nodes.n; k++)
        d->nodes.v[k].at -= (int)least;
    for (size_t k = 0; k < d->edges.n; k++) /* the same for the ways of lines */
        for (uint32_t i = 0; i < d->edges.v[k].n; i++)
            d->edges.v[k].points[(size_t)2 * i] =
                d->edges.v[k].points[(size_t)2 * i] * scale - least;
}

/* ---- lines */

/* The column next to `at` that no box of the layer takes. */
static int free_column(const Drawing *d, int layer, int at)
{
    for (int k = d->first[layer]; k < d->first[layer + 1]; k++) {
        const Node *n = &d->nodes.v[k];
        int from = n->at - left_half(n) - 1, to = n->at + right_half(n) + 1;

        if (at > from && at < to)
            at = at - from < to - at && from >= 0 ? from : to;
    }
    return at;
}

/* Where its polygon of control points is at the height of a layer. */
static int way(const Drawing *d, const Edge *e, int layer)
{
    double y = d->nodes.v[d->first[layer]].y;

    for (size_t k = 0; k + 1 < e->n; k++) {
        double y1 = e->points[2 * k + 1], y2 = e->points[2 * k + 3];
        double x1 = e->points[2 * k], x2 = e->points[2 * k + 2];

        if ((y1 >= y && y >= y2) || (y2 >= y && y >= y1))
            return (int)(y1 - y2 > 1e-6 || y2 - y1 > 1e-6
                             ? x1 + (x2 - x1) * (y1 - y) / (y1 - y2) + 0.5
                             : x1 + 0.5);
    }
    return (int)e->points[0];
}

static void route(Drawing *d, Edge *e)
{
    int from, to;

    if (d->nodes.v[e->tail].layer > d->nodes.v[e->head].layer) {
        int tail = e->tail;

        e->tail = e->head;
        e->head = tail;
        e->turned = true;
    }
    from = d->nodes.v[e->tail].layer;
    to = d->nodes.v[e->head].layer;
    e->column = ML_ARRAY(d->cx, int, (size_t)(to - from) + 1);
    e->lane = ML_ARRAY(d->cx, int, (size_t)(to - from) + 1);
    for (int k = from; k <= to; k++) {
        int at = k == from ? d->nodes.v[e->tail].at
                 : k == to ? d->nodes.v[e->head].at
                           : free_column(d, k, way(d, e, k));

        e->column[k - from] = at > 0 ? at : 0;
    }
}

static bool apart(const Edge *a, int ka, const Edge *b, int kb)
{
    int a1 = a->column[ka], a2 = a->column[ka + 1], b1 = b->column[kb],
        b2 = b->column[kb + 1], t;

    if (a1 == b1 || a2 == b2) /* of one box, or to one: they may join */
        return true;
    if (a1 > a2)
        t = a1, a1 = a2, a2 = t;
    if (b1 > b2)
        t = b1, b1 = b2, b2 = t;
    return a2 < b1 || b2 < a1;
}

/* Lines that would run into each other get rows of their own. */
static void make_lanes(Drawing *d)
{
    for (int layer = 0; layer + 1 < d->n_layers; layer++)
        for (size_t k = 0; k < d->edges.n; k++) {
            Edge *e = &d->edges.v[k];
            int at = layer - d->nodes.v[e->tail].layer, lane = 0;

            if (at < 0 || layer >= d->nodes.v[e->head].layer)
                continue;
            for (size_t i = 0; i < k; i++) {
                const Edge *o = &d->edges.v[i];
                int k2 = layer - d->nodes.v[o->tail].layer;

                if (k2 < 0 || layer >= d->nodes.v[o->head].layer || o->lane[k2] != lane ||
                    apart(e, at, o, k2))
                    continue;
                lane++;
                i = (size_t)-1; /* from the begin, with the next lane */
            }
            e->lane[at] = lane;
            if (lane + 1 > d->lanes[layer])
                d->lanes[layer] = lane + 1;
        }
}

/* ---- drawing */

static void draw_edge(const Drawing *d, const Edge *e, ml_Grid *g)
{
    int from = d->nodes.v[e->tail].layer, to = d->nodes.v[e->head].layer;
    int y = d->top[from] + d->nodes.v[e->tail].n_lines + 1;

    for (int k = from; k < to; k++) {
        int x = e->column[k - from], next = e->column[k - from + 1];
        int lane = d->top[k] + d->high[k] + 1 + e->lane[k - from];
        int end = k + 1 == to ? d->top[k + 1] : d->top[k + 1] + d->high[k + 1] - 1;

        ml_grid_vline(g, x, y, lane - y + 1, ML_ROLE_BORDER);
        if (next != x)
            ml_grid_hline(g, x < next ? x : next, lane,
                          (x < next ? next - x : x - next) + 1, ML_ROLE_BORDER);
        ml_grid_vline(g, next, lane, end - lane + 1, ML_ROLE_BORDER);
        y = end;
    }
}

static void draw_node(const Node *n, const Drawing *d, ml_Grid *g)
{
    ml_Rect box = {n->at - left_half(n), d->top[n->layer], n->wide + 4, n->n_lines + 2};

    ml_grid_fill(g, (ml_Rect){box.x + 1, box.y + 1, box.w - 2, box.h - 2}, ML_ROLE_TEXT);
    if (!n->bare)
        ml_grid_box(g, box, NULL, n->dashed ? ML_ROLE_DIM : ML_ROLE_BORDER);
    for (int k = 0; k < n->n_lines; k++) {
        int wide = ml_text_columns(n->line[k], strlen(n->line[k]));

        ml_grid_put(g, box, box.x + 2 + (n->wide - wide) / 2, box.y + 1 + k, n->line[k],
                    ML_ROLE_TEXT);
    }
    if (n->leaves)
        ml_grid_put(g, (ml_Rect){0, 0, g->w, g->h}, n->at + 2, box.y + box.h, n->leaves,
                    ML_ROLE_BUFFER);
}

static void draw(Drawing *d, ml_Grid *g)
{
    for (size_t k = 0; k < d->nodes.n; k++)
        draw_node(&d->nodes.v[k], d, g);
    for (size_t k = 0; k < d->edges.n; k++)
        if (d->edges.v[k].column)
            draw_edge(d, &d->edges.v[k], g);
    for (size_t k = 0; k < d->edges.n && d->arrows; k++) {
        const Edge *e = &d->edges.v[k];
        const Node *n = &d->nodes.v[e->turned ? e->tail : e->head];

        if (!e->column)
            continue;
        if (e->turned)
            ml_grid_put(g, (ml_Rect){0, 0, g->w, g->h}, n->at,
                        d->top[n->layer] + d->high[n->layer], "^", ML_ROLE_STRONG);
        else
            ml_grid_put(g, (ml_Rect){0, 0, g->w, g->h}, n->at, d->top[n->layer] - !n->bare,
                        "▾", ML_ROLE_STRONG);
    }
}

/* Rows of the layers; the size of the whole. */
static void place_rows(Drawing *d, int *wide, int *high)
{
    int y = 0;

    *wide = 1;
    for (int layer = 0; layer < d->n_layers; layer++) {
        d->high[layer] = 3;
        d->top[layer] = y;
        for (int k = d->first[layer]; k < d->first[layer + 1]; k++) {
            const Node *n = &d->nodes.v[k];

            if (n->n_lines + 2 > d->high[layer])
                d->high[layer] = n->n_lines + 2;
            if (n->at + right_half(n) + 2 > *wide)
                *wide = n->at + right_half(n) + 2;
        }
        y += d->high[layer] + d->lanes[layer] + (d->arrows ? 2 : 1);
    }
    for (size_t k = 0; k < d->edges.n; k++)
        for (int i = 0;
             d->edges.v[k].column && i <= d->nodes.v[d->edges.v[k].head].layer -
                                              d->nodes.v[d->edges.v[k].tail].layer;
             i++)
            if (d->edges.v[k].column[i] + 1 > *wide)
                *wide = d->edges.v[k].column[i] + 1;
    *high = d->n_layers > 0 ? d->top[d->n_layers - 1] + d->high[d->n_layers - 1] : 1;
}

bool ml_graph_chars(const char *plain, bool arrows, bool ascii, ml_Text *out,
                    ml_Text *message)
{
    Drawing d = {.cx = ml_ctx_new(0), .arrows = arrows};
    int wide, high;
    ml_Grid g;

    each_line(&d, plain, "node ", read_node);
    make_layers(&d);
    each_line(&d, plain, "edge ", read_edge);
    place_columns(&d);
    for (size_t k = 0; k < d.edges.n; k++)
        if (d.nodes.v[d.edges.v[k].tail].layer != d.nodes.v[d.edges.v[k].head].layer)
            route(&d, &d.edges.v[k]);
        else
            d.edges.v[k].tail = d.edges.v[k].head; /* no line between neighbours */
    make_lanes(&d);
    place_rows(&d, &wide, &high);
    bool fits = wide <= MOST_WIDE && high <= MOST_HIGH;

    if (fits && d.nodes.n > 0) {
        ml_grid_init(&g, wide, high, ascii);
        draw(&d, &g);
        ml_grid_text(&g, out);
        ml_grid_free(&g);
    } else if (!fits) {
        ml_text_fmt(message,
                    "the picture would take %d columns and %d rows; a file can "
                    "hold it: .svg, .pdf, .png",
                    wide, high);
    }
    ml_ctx_unref(d.cx);
    return fits;
}
