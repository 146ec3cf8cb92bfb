/* announce - what is said of a program that comes into focus. Source: interaction 3. */
#include "moonloop/work/fact/fact.h"
#include "repl/session/session.h"
#include "repl/show/show.h"
#include "repl/show/start_notes.h"

/* "2 * m * n * 64 FLOP", or "symbolic FLOP" when that would be long or is not known. */
static void say_symbolic(ml_Ctx *cx, ml_Schedule *s, const ml_Expr *e, ml_Text *t)
{
    enum { LONGEST = 48 };
    ml_Text one = {0};

    if (e)
        ml_text_sizes(cx, &one, e, ml_schedule_names(s));
    ml_text_add(t, one.n > 0 && one.n <= LONGEST && !strstr(ml_text_z(&one), "T.")
                       ? ml_text_z(&one)
                       : "symbolic");
    ml_text_free(&one);
}

/* The functions of a module of which none is worked on, and how to choose one. */
static void say_functions(const ml_Module *m, ml_Text *t)
{
    enum { SHOWN = 8 };

    for (uint32_t k = 0; k < m->n && k < SHOWN; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "   functions ", m->funcs[k]->name);
    if (m->n > SHOWN)
        ml_text_fmt(t, ", … %u more", m->n - SHOWN);
    for (uint32_t k = 0; k < m->n; k++)
        if (ml_func_root(m->funcs[k])) {
            ml_text_fmt(t, "   choose one: s = schedule(focus(), {func = \"%s\"})",
                        m->funcs[k]->name);
            return;
        }
}

static void announce_data(ml_Session *ss)
{
    ml_Schedule *s = ss->focus;
    const ml_Func *f = ml_schedule_func(s);
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    ml_StmtVec blocks = {0};
    const ml_Expr *count;
    ml_Data d = {.schema = true};

    ml_data_row(&d);
    ml_data_str(&d, "focus", ml_schedule_name(s));
    ml_data_int(&d, "version", ml_schedule_version(s));
    if (f && ml_func_root(f)) {
        ml_child_blocks(cx, &ml_func_root(f)->base, &blocks);
        ml_data_list(&d, "blocks");
        for (size_t k = 0; k < blocks.n; k++)
            ml_data_str(&d, NULL, ml_name_of(s, ml_stmt_uid(blocks.v[k])));
        ml_data_end(&d);
    }
    if (f && !ml_flops_symbolic(cx, f, NULL, &count))
        ml_data_real(&d, "flop", ml_flops(cx, f));
    ml_ctx_unref(cx);
    ml_start_notes_data(s, &d);
    ml_err(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

void ml_session_announce(ml_Session *ss)
{
    ml_Schedule *s = ss->focus;
    const ml_Func *f = s ? ml_schedule_func(s) : NULL;
    ml_Text t = {0};
    ml_Ctx *cx;
    ml_StmtVec blocks = {0};

    if (!s)
        return;
    if (ss->json) {
        announce_data(ss);
        return;
    }
    ml_text_fmt(&t, "focus: %s v%d", ml_schedule_name(s), ml_schedule_version(s));
    cx = ml_ctx_new(0);
    const ml_Block *root = f ? ml_func_root(f) : NULL;

    if (root)
        ml_child_blocks(cx, &root->base, &blocks);
    if (blocks.n > 0)
        ml_text_add(&t, blocks.n == 1 ? "   block " : "   blocks ");
    for (size_t k = 0; k < blocks.n && k < 8; k++)
        ml_text_fmt(&t, "%s%s", k ? ", " : "", ml_name_of(s, ml_stmt_uid(blocks.v[k])));
    if (blocks.n > 8)
        ml_text_fmt(&t, ", … %zu more", blocks.n - 8);
    if (blocks.n == 1) {
        ml_StmtVec loops = {0};

        ml_index_loops(cx, ml_schedule_program(s).index, ml_stmt_uid(blocks.v[0]), &loops);
        for (size_t k = 0; k < loops.n; k++)
            ml_text_fmt(&t, "%s%s", k ? ", " : "   loops ",
                        ml_name_of(s, ml_stmt_uid(loops.v[k])));
    }
    if (f) {
        const ml_Expr *count;
        ml_Ctx *tmp = ml_ctx_fork(ml_schedule_ctx(s));
        bool open = ml_flops_symbolic(tmp, f, NULL, &count);

        ml_text_add(&t, "   ");
        if (open)
            say_symbolic(tmp, s, count, &t);
        else
            ml_text_si(&t, ml_flops(tmp, f));
        ml_text_add(&t, open ? " FLOP" : "FLOP");
        ml_ctx_unref(tmp);
    }
    ml_ctx_unref(cx);
    if (!f)
        say_functions(ml_schedule_program(s).mod, &t);
    ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_clear(&t);
    ml_start_notes(s, &t);
    if (t.n > 0)
        ml_err_prose(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}
