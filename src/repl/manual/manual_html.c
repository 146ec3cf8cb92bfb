/* manual_html - the manual as one HTML page that needs nothing else: contents at the side,
 * a field that narrows them, light and dark. */
#include "repl/manual/manual.h"

#include "config.h"

/* Whatever an example printed, the page is valid UTF-8 without control characters. */
static void add_escaped(ml_Text *t, const char *text)
{
    ml_Text clean = {0};

    ml_text_utf8(&clean, text, strlen(text));
    for (const char *z = ml_text_z(&clean); *z; z++) {
        switch (*z) {
        case '&': ml_text_add(t, "&amp;"); break;
        case '<': ml_text_add(t, "&lt;"); break;
        case '>': ml_text_add(t, "&gt;"); break;
        case '"': ml_text_add(t, "&quot;"); break;
        default:
            if ((unsigned char)*z < ' ' && *z != '\n' && *z != '\t')
                ml_text_add(t, "\xef\xbf\xbd");
            else
                ml_text_char(t, *z);
        }
    }
    ml_text_free(&clean);
}

/* Rows stand in a table that ends with whatever is no row. */
static void end_table(ml_ManualPage *p)
{
    if (p->in_table)
        ml_text_add(p->out, "</table>\n");
    p->in_table = false;
}

static void link_to(ml_ManualPage *p, const char *class, const char *id, const char *name)
{
    ml_text_fmt(&p->contents, "<li class=\"%s\"><a href=\"#", class);
    add_escaped(&p->contents, id);
    ml_text_add(&p->contents, "\">");
    add_escaped(&p->contents, name);
    ml_text_add(&p->contents, "</a></li>\n");
}

static void chapter(ml_ManualPage *p, const char *id, const char *title)
{
    end_table(p);
    ml_text_fmt(p->out, "<h2 id=\"%s\">%s</h2>\n", id, title);
    link_to(p, "chapter", id, title);
}

static void group(ml_ManualPage *p, const char *title)
{
    end_table(p);
    ml_text_add(p->out, "<h3>");
    add_escaped(p->out, title);
    ml_text_add(p->out, "</h3>\n");
}

static void paragraph(ml_ManualPage *p, const char *text)
{
    end_table(p);
    ml_text_add(p->out, "<p>");
    add_escaped(p->out, text);
    ml_text_add(p->out, "</p>\n");
}

static void verbatim(ml_ManualPage *p, const char *text)
{
    end_table(p);
    ml_text_add(p->out, "<pre>");
    add_escaped(p->out, text);
    ml_text_add(p->out, "</pre>\n");
}

static void row(ml_ManualPage *p, const char *id, const char *name, const char *text)
{
    if (!p->in_table)
        ml_text_add(p->out, "<table>\n");
    p->in_table = true;
    ml_text_add(p->out, "<tr");
    if (id) {
        ml_text_add(p->out, " id=\"");
        add_escaped(p->out, id);
        ml_text_char(p->out, '"');
    }
    ml_text_add(p->out, "><th><code>");
    add_escaped(p->out, name);
    ml_text_add(p->out, "</code></th><td>");
    add_escaped(p->out, text);
    ml_text_add(p->out, "</td></tr>\n");
}

static void entry(ml_ManualPage *p, const char *id, const char *name, const char *text)
{
    end_table(p);
    ml_text_add(p->out, "<section id=\"");
    add_escaped(p->out, id);
    ml_text_add(p->out, "\"><h4><code>");
    add_escaped(p->out, name);
    ml_text_add(p->out, "</code></h4>\n<pre>");
    add_escaped(p->out, text);
    ml_text_add(p->out, "</pre></section>\n");
    link_to(p, "entry", id, name);
}

static void heads(ml_ManualPage *p, const char *there, const char *here)
{
    end_table(p);
    ml_text_fmt(p->out, "<table class=\"pairs\">\n<tr><th>%s</th><th>%s</th></tr>\n", there,
                here);
    p->in_table = true;
}

static void pair(ml_ManualPage *p, const char *there, const char *here, const char *note)
{
    ml_text_add(p->out, "<tr><td><pre>");
    add_escaped(p->out, there);
    ml_text_add(p->out, "</pre></td><td><pre>");
    add_escaped(p->out, here);
    ml_text_add(p->out, "</pre>");
    if (*note) {
        ml_text_add(p->out, "<p>");
        add_escaped(p->out, note);
        ml_text_add(p->out, "</p>");
    }
    ml_text_add(p->out, "</td></tr>\n");
}

/* A picture within the page itself. Whatever might end the address is escaped. */
static void add_data(ml_Text *t, const char *svg)
{
    ml_text_add(t, "data:image/svg+xml,");
    for (const char *z = svg; *z; z++) {
        unsigned char c = (unsigned char)*z;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                     (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';

        if (plain)
            ml_text_char(t, *z);
        else
            ml_text_fmt(t, "%%%02X", c);
    }
}

static void picture(ml_ManualPage *p, const char *light, const char *dark, const char *alt)
{
    end_table(p);
    ml_text_add(p->out,
                "<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"");
    add_data(p->out, dark);
    ml_text_add(p->out, "\"><img src=\"");
    add_data(p->out, light);
    ml_text_add(p->out, "\" alt=\"picture: ");
    add_escaped(p->out, alt);
    ml_text_add(p->out, "\"></picture>\n");
}

const ml_ManualForm ml_manual_html = {.chapter = chapter,
                                      .group = group,
                                      .paragraph = paragraph,
                                      .verbatim = verbatim,
                                      .row = row,
                                      .entry = entry,
                                      .heads = heads,
                                      .pair = pair,
                                      .picture = picture};

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>moonloop, the manual</title>\n<style>\n"
    ":root { color-scheme: light dark; }\n"
    "body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: flex; }\n"
    "nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; flex: 0 0 17rem;\n"
    "  box-sizing: border-box; padding: 1rem; border-right: 1px solid #8886; }\n"
    "nav ul { list-style: none; margin: 0; padding: 0; font-size: 0.85rem; }\n"
    "nav .chapter { margin-top: 0.7rem; font-weight: 600; }\n"
    "nav .entry { padding-left: 0.8rem; white-space: nowrap; overflow: hidden;\n"
    "  text-overflow: ellipsis; }\n"
    "nav input { width: 100%; box-sizing: border-box; padding: 0.3rem; }\n"
    "main { flex: 1; min-width: 0; padding: 1rem 2rem 6rem; max-width: 62rem; }\n"
    "pre { background: #8881; padding: 0.7rem; overflow-x: auto; font-size: 0.85rem; }\n"
    "h2 { margin-top: 3rem; border-bottom: 1px solid #8886; }\n"
    "h4 { margin: 1.6rem 0 0.3rem; }\n"
    "table { border-collapse: collapse; }\n"
    "th { text-align: left; vertical-align: top; padding: 0.15rem 1.2rem 0.15rem 0;\n"
    "  font-weight: normal; }\n"
    ".pairs td { vertical-align: top; padding: 0.3rem 1rem 0.3rem 0; }\n"
    ".pairs pre { margin: 0; padding: 0.3rem 0.5rem; }\n"
    ".pairs p { margin: 0.2rem 0.5rem; font-size: 0.85rem; }\n"
    "img { max-width: 100%; }\n"
    "@media (max-width: 60rem) { body { display: block; }\n"
    "  nav { position: static; height: auto; max-height: 40vh; } }\n"
    "</style></head><body>\n<nav><input type=\"search\" placeholder=\"find a name\" "
    "aria-label=\"find a name\">\n<ul>\n";

static const char SCRIPT[] =
    "<script>\n"
    "document.querySelector('nav input').addEventListener('input', function (e) {\n"
    "  var w = e.target.value.toLowerCase();\n"
    "  document.querySelectorAll('nav li').forEach(function (li) {\n"
    "    li.hidden = w && (li.className == 'chapter' ||\n"
    "      li.textContent.toLowerCase().indexOf(w) < 0);\n"
    "  });\n"
    "});\n"
    "</script>\n";

void ml_manual_begin_html(ml_ManualPage *p, ml_Text *body)
{
    end_table(&(ml_ManualPage){.out = body, .in_table = p->in_table});
    ml_text_add(p->out, HEAD);
    ml_text_add(p->out, ml_text_z(&p->contents));
    ml_text_fmt(p->out, "</ul></nav>\n<main>\n<h1>moonloop %s</h1>\n", ML_VERSION);
    ml_text_add(p->out, ml_text_z(body));
    ml_text_fmt(p->out, "</main>\n%s</body></html>\n", SCRIPT);
}
