/*
 * look - what the parts of a picture look like, and the legend that says so.
 *
 * No two looks differ by colour alone: outlines, styles and words double it. A legend tells
 * of what occurs in the picture, and of nothing else. Source: interaction 12.
 */
#include "repl/graph/graph.h"

typedef enum Form { BOX, TWICE, UNDERLINED, LINE, SIGN } Form;

typedef struct Look {
    Form form;
    int wide;            /* the outline, in points */
    const char *style;   /* of Graphviz, besides filled */
    const char *fill[2]; /* light, dark */
    const char *sign;    /* where it is drawn in characters */
    const char *words;   /* of the legend */
} Look;

static const Look LOOKS[ML_LOOKS] = {
    [ML_LOOK_SERIAL] = {BOX,
                        1,
                        "",
                        {"#ffffff", "#161b22"},
                        "i [8]",
                        "loop [extent]: one iteration after the other"},
    [ML_LOOK_PARALLEL] = {TWICE,
                          1,
                          "",
                          {"#ddf4ff", "#0c2d6b"},
                          "parallel",
                          "parallel: threads share the iterations"},
    [ML_LOOK_VECTORIZED] = {BOX,
                            3,
                            "",
                            {"#dafbe1", "#033a16"},
                            "vectorized",
                            "vectorized: iterations are lanes of one instruction"},
    [ML_LOOK_UNROLLED] = {BOX,
                          2,
                          "dotted",
                          {"#fff8c5", "#3b2300"},
                          "unrolled",
                          "unrolled: the body is written out for each iteration"},
    [ML_LOOK_THREAD] = {TWICE,
                        1,
                        "dashed",
                        {"#fbefff", "#3c1e70"},
                        "threadIdx.x",
                        "bound to an index of GPU threads"},
    [ML_LOOK_BLOCK] =
        {BOX, 1, "rounded", {"#f6f2e4", "#2d2a20"}, "C", "block: what is computed"},
    [ML_LOOK_ITERS] = {BOX,
                       1,
                       "rounded",
                       {"#f6f2e4", "#2d2a20"},
                       "vi: spatial 8",
                       "block: what is computed, and its iters"},
    [ML_LOOK_INIT] = {BOX,
                      1,
                      "rounded,dashed",
                      {"#ffffff", "#161b22"},
                      "init",
                      "init: runs before the first step of the reduction"},
    [ML_LOOK_PARAM] =
        {UNDERLINED, 1, "", {"#ffffff", "#0d1117"}, "(A)", "parameter of the function"},
    [ML_LOOK_USE] = {LINE, 1, "solid", {NULL, NULL}, NULL, NULL},
    [ML_LOOK_RAW] = {LINE,
                     2,
                     "solid",
                     {NULL, NULL},
                     "x",
                     "RAW: reads buffer x, which the other has written"},
    [ML_LOOK_WAW] = {LINE,
                     2,
                     "dashed",
                     {NULL, NULL},
                     "x (WAW)",
                     "WAW: writes buffer x, which the other has written"},
    [ML_LOOK_ALSO_WAW] = {SIGN,
                          1,
                          "",
                          {"#1f2328", "#e6edf3"},
                          "(WAW)",
                          "writes the buffer, which the other has written"},
    [ML_LOOK_WAR] = {LINE,
                     2,
                     "dotted",
                     {NULL, NULL},
                     "x (WAR)",
                     "WAR: writes buffer x, which the other has read"},
    [ML_LOOK_ALSO_WAR] = {SIGN,
                          1,
                          "",
                          {"#1f2328", "#e6edf3"},
                          "(WAR)",
                          "writes the buffer, which the other has read"},
    [ML_LOOK_NEW] = {SIGN, 1, "", {"#1a7f37", "#3fb950"}, "+", "new"},
    [ML_LOOK_CHANGED] = {SIGN, 1, "", {"#9a6700", "#d29922"}, "~", "changed or moved"},
    [ML_LOOK_GONE] = {SIGN, 1, "", {"#cf222e", "#f85149"}, "-", "gone:"},
};

/* Of the paper, of text, of outlines and lines: light, dark. */
static const char *const PAPER[2] = {"#ffffff", "#0d1117"},
                         *const INK[2] = {"#1f2328", "#e6edf3"},
                         *const OUTLINE[2] = {"#57606a", "#8b949e"};

/* ---- text of DOT */

void ml_graph_escape(ml_Text *out, const char *text)
{
    ml_Text clean = {0};

    ml_text_utf8(&clean, text, strlen(text));
    for (const char *z = ml_text_z(&clean); *z; z++) {
        if (*z == '"' || *z == '\\')
            ml_text_char(out, '\\');
        if (*z == '\n')
            ml_text_add(out, "\\n");
        else if ((unsigned char)*z >= 0x20)
            ml_text_char(out, *z);
    }
    ml_text_free(&clean);
}

static void add_html(ml_Text *out, const char *text)
{
    for (; *text; text++) {
        const char *word = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                                          : NULL;

        if (word)
            ml_text_add(out, word);
        else
            ml_text_char(out, *text);
    }
}

void ml_graph_begin(ml_Graph *g, const char *title)
{
    const char *ink = INK[g->dark], *line = OUTLINE[g->dark];

    ml_text_add(&g->dot, "digraph \"");
    ml_graph_escape(&g->dot, title);
    ml_text_fmt(&g->dot,
                "\" {\n"
                "  graph [rankdir=TB, ranksep=0.3, fontname=\"Helvetica\", fontsize=11, "
                "fontcolor=\"%s\", bgcolor=\"%s\"];\n"
                "  node [fontname=\"monospace\", fontsize=11, shape=box, height=0.4, "
                "fontcolor=\"%s\", color=\"%s\"];\n"
                "  edge [fontname=\"Helvetica\", fontsize=10, fontcolor=\"%s\", "
                "color=\"%s\"];\n",
                ink, PAPER[g->dark], ink, line, ink, line);
}

void ml_graph_cluster(ml_Graph *g, const char *label)
{
    ml_text_add(&g->dot, "label=\"");
    ml_graph_escape(&g->dot, label);
    ml_text_fmt(&g->dot, "\"; style=rounded; color=\"%s\";\n", OUTLINE[g->dark]);
}

void ml_graph_look(ml_Graph *g, ml_GraphLook look)
{
    const Look *l = &LOOKS[look];
    ml_Text *t = &g->dot;

    g->occurs |= UINT32_C(1) << look;
    if (l->form == SIGN) {
        ml_text_fmt(t, "color=\"%s\", fontcolor=\"%s\"", l->fill[g->dark],
                    l->fill[g->dark]);
        return;
    }
    if (l->form == LINE) {
        ml_text_fmt(t, "style=%s", l->style);
        if (l->wide > 1)
            ml_text_fmt(t, ", color=\"%s\"", INK[g->dark]);
        return;
    }
    ml_text_fmt(t, "style=\"filled%s%s\", fillcolor=\"%s\"", *l->style ? "," : "", l->style,
                l->fill[g->dark]);
    if (l->wide > 1)
        ml_text_fmt(t, ", penwidth=%d", l->wide);
    if (l->form == TWICE)
        ml_text_add(t, ", peripheries=2");
    if (l->form == UNDERLINED)
        ml_text_add(t, ", shape=underline, width=0.4, height=0.3");
}

void ml_graph_add_change(ml_Graph *g, ml_GraphLook change)
{
    if (change < ML_LOOKS)
        ml_text_fmt(&g->dot, "%s ", LOOKS[change].sign);
}

void ml_graph_change_look(ml_Graph *g, ml_GraphLook change)
{
    if (change == ML_LOOKS)
        return;
    ml_text_add(&g->dot, ", ");
    ml_graph_look(g, change);
}

/* ---- the legend */

static bool in_legend(const ml_Graph *g, int look)
{
    bool told = (look == ML_LOOK_ALSO_WAW || look == ML_LOOK_ALSO_WAR) &&
                g->occurs >> (look - 1) & 1;

    return g->occurs >> look & 1 && LOOKS[look].words && !told;
}

/* A sample of it, as a table within a cell. */
static void add_sample(const ml_Graph *g, const Look *l, ml_Text *t)
{
    static const char OPEN[] = "<TABLE CELLSPACING=\"%d\" CELLPADDING=\"0\" BORDER=\"%d\" ";
    const char *line = OUTLINE[g->dark];

    switch (l->form) {
    case BOX:
    case TWICE:
        ml_text_fmt(t, OPEN, l->form == TWICE ? 2 : 0, l->wide);
        ml_text_fmt(t, "COLOR=\"%s\" STYLE=\"", line);
        for (const char *z = *l->style ? l->style : "solid"; *z; z++)
            ml_text_char(t, *z >= 'a' && *z <= 'z' ? (char)(*z - 32) : *z);
        ml_text_char(t, '"');
        if (l->form == BOX)
            ml_text_fmt(t, " BGCOLOR=\"%s\"", l->fill[g->dark]);
        ml_text_add(t, "><TR><TD WIDTH=\"18\" HEIGHT=\"7\"");
        ml_text_fmt(t, " BORDER=\"%d\"", l->form == TWICE);
        if (l->form == TWICE)
            ml_text_fmt(t, " BGCOLOR=\"%s\"", l->fill[g->dark]);
        ml_text_add(t, "></TD></TR></TABLE>");
        break;
    case UNDERLINED:
    case LINE: /* a line is the lower side of an empty cell, with as much below it */
        ml_text_fmt(t, OPEN, 0, 0);
        ml_text_fmt(t, "COLOR=\"%s\"><TR><TD BORDER=\"1\" SIDES=\"B\" WIDTH=\"22\" ",
                    l->wide > 1 ? INK[g->dark] : line);
        if (l->form == UNDERLINED)
            ml_text_add(t, "HEIGHT=\"9\">A</TD></TR></TABLE>");
        else
            ml_text_fmt(t,
                        "HEIGHT=\"5\"%s%s%s></TD></TR><TR><TD HEIGHT=\"4\"></TD></TR>"
                        "</TABLE>",
                        ml_streq(l->style, "solid") ? "" : " STYLE=\"",
                        ml_streq(l->style, "solid") ? "" : l->style,
                        ml_streq(l->style, "solid") ? "" : "\"");
        break;
    case SIGN:
        ml_text_fmt(t, "<FONT COLOR=\"%s\">%s</FONT>", l->fill[g->dark], l->sign);
        break;
    }
}

/* The legend is the label of the whole graph: it stands below and moves no node. */
void ml_graph_end(ml_Graph *g)
{
    ml_Text *t = &g->dot;

    if (g->gone.n)
        g->occurs |= UINT32_C(1) << ML_LOOK_GONE;
    if (g->occurs) {
        ml_text_fmt(t,
                    "  fontsize=9; labelloc=b; labeljust=l;\n"
                    "  label=<<TABLE BORDER=\"0\" CELLSPACING=\"1\" CELLPADDING=\"1\">\n");
        for (int k = 0; k < ML_LOOKS; k++) {
            if (!in_legend(g, k))
                continue;
            ml_text_add(t, "    <TR><TD BORDER=\"0\">");
            add_sample(g, &LOOKS[k], t);
            ml_text_add(t, "</TD><TD BORDER=\"0\" ALIGN=\"LEFT\">");
            add_html(t, LOOKS[k].words);
            if (k == ML_LOOK_GONE)
                add_html(t, ml_text_z(&g->gone));
            ml_text_add(t, "</TD></TR>\n");
        }
        ml_text_add(t, "    </TABLE>>;\n");
    }
    ml_text_add(t, "}\n");
}

void ml_graph_legend(ml_Graph *g, ml_Text *out)
{
    size_t wide = 0;

    for (int k = 0; k < ML_LOOKS; k++)
        if (in_legend(g, k) && strlen(LOOKS[k].sign) > wide)
            wide = strlen(LOOKS[k].sign);
    if (g->occurs)
        ml_text_char(out, '\n');
    for (int k = 0; k < ML_LOOKS; k++) {
        const Look *l = &LOOKS[k];
        size_t n = in_legend(g, k) ? strlen(l->sign) : 0;
        bool said = n && strncmp(l->words, l->sign, n) == 0 && l->words[n] == ':';

        if (n)
            ml_text_fmt(out, "%-*s  %s%s\n", (int)wide, l->sign,
                        said ? l->words + n + 2 : l->words,
                        k == ML_LOOK_GONE ? ml_text_z(&g->gone) : "");
    }
}

void ml_graph_free(ml_Graph *g)
{
    ml_text_free(&g->dot);
    ml_text_free(&g->gone);
    ml_text_free(&g->chars);
}
