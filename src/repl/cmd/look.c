/* cmd_look - :show :tree :block. Source: interaction 4, 5. */
#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/command/command.h"
#include "repl/show/show.h"
#include "repl/show/versions.h"

/* The current version, or the one that is named. */
static bool version_arg(ml_Session *ss, const ml_Words *w, size_t k, int *out)
{
    *out = ml_schedule_version(ss->focus);
    return w->n <= k || ml_find_version(ss, w->v[k], out);
}

static void tell_program(ml_Session *ss, int version, ml_Text *text)
{
    ml_Data *d = ml_session_data(ss);

    ml_data_one(d);
    ml_data_str(d, "schedule", ml_schedule_name(ss->focus));
    ml_data_int(d, "version", version);
    ml_data_str(d, "program", ml_text_z(text));
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
    tell_program(ss, v, &t);
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
    ml_tree_data(ss->focus, v, ml_session_data(ss));
    ml_page_prose(ss, ml_text_z(&t));
    ml_text_free(&t);
    return true;
}

static void add_regions(ml_Ctx *cx, ml_Text *t, const char *what, const ml_Region *v,
                        size_t n, const ml_Names *names)
{
    ml_PrintOpts o = {.spelling = -1, .plain = true, .names = names};

    ml_text_fmt(t, "  %-8s", what);
    if (n == 0)
        ml_text_add(t, "nothing");
    for (size_t k = 0; k < n; k++) {
        ml_text_add(t, k ? ", " : "");
        ml_print_region(cx, t, &v[k], &o);
    }
    ml_text_char(t, '\n');
}

static void add_block_names(ml_Schedule *s, ml_Text *t, const char *what,
                            const ml_UidVec *v)
{
    if (!v->n)
        return;
    ml_text_fmt(t, "  %-8s", what);
    for (size_t k = 0; k < v->n; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", ml_name_of(s, v->v[k]));
    ml_text_char(t, '\n');
}

/* What it computes: iters, predicate, regions. */
static void add_signature(const ml_BlockRow *r, const ml_Names *names, ml_Text *t)
{
    const ml_Block *b = r->block;
    ml_PrintOpts o = {.spelling = -1, .names = names};

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        ml_text_fmt(t, "  iter    %s: %s ", it->var->hint,
                    ml_iter_kind_name((ml_IterKind)it->kind));
        if (ml_is_const_int(it->extent)) /* without its dtype */
            ml_text_int(t, it->extent->as.i);
        else
            ml_print_expr(r->cx, t, it->extent, &o);
        ml_text_add(t, " = ");
        ml_print_expr(r->cx, t, it->value, &o);
        ml_text_char(t, '\n');
    }
    if (!ml_is_true(b->predicate)) {
        ml_text_add(t, "  where   ");
        ml_print_expr(r->cx, t, b->predicate, &o);
        ml_text_char(t, '\n');
    }
    add_regions(r->cx, t, "reads", b->reads, b->n_reads, names);
    add_regions(r->cx, t, "writes", b->writes, b->n_writes, names);
}

/* What it is among the blocks around it. */
static void add_properties(const ml_BlockRow *r, ml_Text *t)
{
    const char *why = r->why[ML_IS_REDUCTION];

    if (r->is[ML_IS_COMPLETE] || r->is[ML_IS_REDUCTION])
        ml_text_fmt(t, "  kind    %s\n", r->is[ML_IS_COMPLETE] ? "complete" : "reduction");
    else
        ml_text_fmt(t, "  kind    neither complete nor reduction (%s)\n", why ? why : "?");
    why = r->is[ML_IS_AFFINE] ? NULL : r->why[ML_IS_AFFINE];
    ml_text_fmt(t, "  binding %s%s%s\n", r->is[ML_IS_AFFINE] ? "affine" : "not affine",
                why ? ": " : "", why ? why : "");
    add_block_names(r->s, t, "after", &r->after);
    add_block_names(r->s, t, "before", &r->before);
    if (r->after.n)
        ml_text_fmt(t, "  cover   what it reads is %s\n",
                    r->is[ML_IS_COVERED] ? "written before"
                                         : "not shown to be written before");
}

bool cmd_block(ml_Session *ss, const ml_Words *w)
{
    ml_Schedule *s = ss->focus;
    ml_BlockRow row;
    ml_Text t = {0};
    ml_Handle h;

    if (w->n != 1)
        return ml_session_error(ss, ML_E_BAD_ARGUMENT, ":block NAME");
    if (!ml_resolve(s, w->v[0], ML_H_BLOCK, &h))
        return ml_session_schedule_error(ss, s);
    const ml_Names *names = ml_schedule_names(s);
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_Facts *facts = ml_facts_new(cx);

    ml_block_row(cx, facts, s, h.uid, &row);
    ml_data_one(ml_session_data(ss));
    ml_data_fields(ml_session_data(ss), &ml_block_fields, &row);
    ml_text_fmt(&t, "block %s\n", ml_name_of(s, h.uid));
    add_signature(&row, names, &t);
    if (row.in_scope)
        add_properties(&row, &t);
    ml_page_prose(ss, ml_text_z(&t));
    ml_facts_free(facts);
    ml_ctx_unref(cx);
    ml_text_free(&t);
    return true;
}
