/* cmd_look - :show :tree :block. Source: interaction 4, 5. */
#include <stdlib.h>

#include "core/json/data.h"
#include "repl/command/command.h"
#include "repl/show/block_facts.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

/* The current version, or the one that is named. */
static bool version_arg(ml_Session *ss, const ml_Words *w, size_t k, int *out)
{
    *out = ml_schedule_version(ss->focus);
    return w->n <= k || ml_find_version(ss, w->v[k], out);
}

static void tell_text(ml_Session *ss, int version, const char *key, ml_Text *text)
{
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_str(d, "schedule", ml_schedule_name(ss->focus));
    ml_data_int(d, "version", version);
    ml_data_str(d, key, ml_text_z(text));
}

bool cmd_show(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};
    ml_Handle h;
    int v = ml_schedule_version(ss->focus);

    if (w->n > 0 && ml_is_version(ss, w->v[0])) {
        if (!version_arg(ss, w, 0, &v))
            return false;
        ml_show_program(ss, ss->focus, v, &t);
    } else if (w->n > 0) {
        if (!ml_resolve(ss->focus, w->v[0], ML_H_BLOCK, &h))
            return ml_session_schedule_error(ss, ss->focus);
        ml_show_block(ss, ss->focus, h.uid, &t);
    } else
        ml_show_program(ss, ss->focus, v, &t);
    tell_text(ss, v, "program", &t);
    ml_page_code(ss, ml_text_z(&t), ML_GOES_ON);
    ml_text_free(&t);
    return true;
}

bool cmd_tree(ml_Session *ss, const ml_Words *w)
{
    ml_Text t = {0};
    int v;

    if (!version_arg(ss, w, 0, &v))
        return false;
    ml_show_tree_sizes(ss, ss->focus, v, &t);
    tell_text(ss, v, "tree", &t);
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

static void tell_expr(ml_Ctx *cx, ml_Data *d, const char *key, const ml_Expr *e,
                      const ml_PrintOpts *o)
{
    ml_Text t = {0};

    if (d)
        ml_print_expr(cx, &t, e, o);
    ml_data_str(d, key, ml_text_z(&t));
    ml_text_free(&t);
}

static void add_regions(ml_Ctx *cx, ml_Text *t, ml_Data *d, const char *what,
                        const ml_Region *v, size_t n, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = names};

    ml_data_list(d, what);
    for (size_t k = 0; k < n; k++) {
        ml_Text one = {0};

        ml_print_region(cx, &one, &v[k], &o);
        ml_data_str(d, NULL, ml_text_z(&one));
        ml_text_free(&one);
    }
    ml_data_end(d);

    ml_text_fmt(t, "  %-8s", what);
    if (n == 0)
        ml_text_add(t, "nothing");
    for (size_t k = 0; k < n; k++) {
        ml_text_add(t, k ? ", " : "");
        ml_print_region(cx, t, &v[k], &o);
    }
    ml_text_char(t, '\n');
}

static void add_block_names(ml_Schedule *s, ml_Text *t, ml_Data *d, const char *what,
                            const ml_UidVec *v)
{
    ml_data_list(d, what);
    for (size_t k = 0; k < v->n; k++)
        ml_data_str(d, NULL, ml_name_of(s, v->v[k]));
    ml_data_end(d);
    if (!v->n)
        return;
    ml_text_fmt(t, "  %-8s", what);
    for (size_t k = 0; k < v->n; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", ml_name_of(s, v->v[k]));
    ml_text_char(t, '\n');
}

bool cmd_block(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_Text t = {0};
    ml_Handle h;

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":block NAME");
    if (!ml_resolve(s, w->v[0], ML_H_BLOCK, &h))
        return ml_session_schedule_error(ss, s);
    ml_Program p = ml_schedule_program(s);
    const ml_Block *b = ml_as_block(ml_index_node(p.index, h.uid));
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    const ml_Names *names = ml_schedule_names(s);
    ml_PrintOpts o = {.spelling = -1, .names = names};

    ml_Data *d = ml_session_data(ss);

    ml_text_fmt(&t, "block %s\n", ml_name_of(s, h.uid));
    ml_data_one(d);
    ml_data_str(d, "block", ml_name_of(s, h.uid));
    ml_data_list(d, "iters");
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        ml_data_object(d, NULL);
        ml_data_str(d, "name", it->var->hint);
        ml_data_str(d, "kind", ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent))
            ml_data_int(d, "extent", it->extent->as.i);
        tell_expr(cx, d, "binding", it->value, &o);
        ml_data_end(d);

        ml_text_fmt(&t, "  iter    %s: %s ", it->var->hint,
                    ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent)) /* without its dtype */
            ml_text_int(&t, it->extent->as.i);
        else
            ml_print_expr(cx, &t, it->extent, &o);
        ml_text_add(&t, " = ");
        ml_print_expr(cx, &t, it->value, &o);
        ml_text_char(&t, '\n');
    }
    ml_data_end(d);
    if (!ml_is_true(b->predicate)) {
        tell_expr(cx, d, "predicate", b->predicate, &o);
        ml_text_add(&t, "  where   ");
        ml_print_expr(cx, &t, b->predicate, &o);
        ml_text_char(&t, '\n');
    }
    add_regions(cx, &t, d, "reads", b->reads, b->n_reads, names);
    add_regions(cx, &t, d, "writes", b->writes, b->n_writes, names);
    if (ml_index_parent(p.index, h.uid)) {
        ml_BlockFacts f;

        ml_block_facts(cx, s, ml_schedule_version(s), h.uid, false, &f);
        if (f.kind == ML_BLOCK_NEITHER)
            ml_text_fmt(&t, "  kind    neither complete nor reduction (%s)\n",
                        f.reduction_why ? f.reduction_why : "?");
        else {
            const char *kind = f.kind == ML_BLOCK_COMPLETE ? "complete" : "reduction";

            ml_data_str(d, "kind", kind);
            ml_text_fmt(&t, "  kind    %s\n", kind);
        }
        ml_data_bool(d, "affine", f.affine);
        ml_text_fmt(&t, "  binding %s", f.affine ? "affine" : "not affine");
        ml_text_fmt(&t, "%s%s\n", f.affine_why ? ": " : "",
                    f.affine_why ? f.affine_why : "");
        add_block_names(s, &t, d, "after", &f.producers);
        add_block_names(s, &t, d, "before", &f.consumers);
        if (f.producers.n)
            ml_text_fmt(&t, "  cover   what it reads is %s\n",
                        f.covered ? "written before" : "not shown to be written before");
    }
    ml_page_prose(ss, ml_text_z(&t));
    ml_ctx_unref(cx);
    ml_text_free(&t);
    return true;
}
