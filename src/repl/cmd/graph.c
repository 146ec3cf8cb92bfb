/* cmd_graph - :graph, a picture on the screen or in a file. Source: interaction 12. */
#include "repl/graph/graph.h"

#include "moonloop/core/json/data.h"
#include "repl/cmd/graph_search.h"
#include "repl/cmd/options.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

static void tell_written(ml_Session *ss, const ml_Graph *g, const char *file)
{
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_str(d, "file", file);
    ml_data_int(d, "nodes", (int64_t)g->nodes);
    ml_data_int(d, "edges", (int64_t)g->edges);
    ml_out_say(&ss->out, "wrote %s (%zu node%s, %zu edge%s)", file, g->nodes,
               g->nodes == 1 ? "" : "s", g->edges, g->edges == 1 ? "" : "s");
}

/* The picture as it is, a wide one scrolls sideways; the legend below it folded. */
static void show_picture(ml_Session *ss, ml_Graph *g, const char *text)
{
    ml_Text legend = {0}, shown = {0};
    size_t n = strlen(text);

    ml_graph_legend(g, &legend);
    if (n < legend.n || ss->out.sink.out ||
        strcmp(text + n - legend.n, ml_text_z(&legend)) != 0)
        ml_text_add(&shown, text);
    else {
        ml_text_addn(&shown, text, n - legend.n);
        ml_out_fold(&ss->out, text + n - legend.n, &shown);
    }
    ml_page_as(ss, ml_text_z(&shown), text);
    ml_text_free(&legend);
    ml_text_free(&shown);
}

bool cmd_graph(ml_Session *ss, const ml_Words *w)
{
    const char *kind = NULL, *file = NULL, *diff = NULL, *db = NULL;
    bool dark = false;
    const ml_Option options[] = {
        {.kind = ML_OPTION_WORD, .to = &kind},
        {.kind = ML_OPTION_WORD, .to = &file},
        {"--dark", ML_OPTION_FLAG, &dark, 0, 0, NULL},
        {"--diff", ML_OPTION_TEXT, &diff, 0, 0, ":graph --diff takes a version"},
        {"--db", ML_OPTION_TEXT, &db, 0, 0, "--db takes a file"},
    };
    int since = -1;
    ml_Graph g;
    ml_GraphWhy why = {.code = ML_E_NO_FILE};
    ml_Text said = {0};

    if (!ml_read_options(
            ss, w,
            ":graph loops|deps|search [FILE] knows --dark, --diff VERSION and --db FILE",
            options, ML_COUNT(options)))
        return false;
    if (file && ml_session_forbids(ss, ":graph FILE"))
        return false;
    if (!kind)
        return ml_session_error(
            ss, ML_E_BAD_ARGUMENT,
            ":graph loops|deps|search [FILE] (.svg .png .pdf .txt .dot)");
    if (diff && !ml_find_version(ss, diff, &since))
        return false;

    bool ok = (ml_streq(kind, "search")
                   ? ml_graph_of_search(ss, db, dark, &g, &why)
                   : ml_graph_build(ss->focus, kind, since, dark, &g, &why)) &&
              (file ? ml_graph_write(&g, kind, file, &why)
                    : ml_graph_text(&g, kind, ss->out.ascii, &said, &why));

    if (!ok && why.message.n)
        ml_session_error(ss, why.code, "%s", ml_text_z(&why.message));
    else if (ok && file)
        tell_written(ss, &g, file);
    else if (ok)
        show_picture(ss, &g, said.n ? ml_text_z(&said) : "there is nothing to draw");
    ml_graph_free(&g);
    ml_text_free(&why.message);
    ml_text_free(&said);
    return ok;
}
