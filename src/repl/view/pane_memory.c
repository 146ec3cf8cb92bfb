/*
 * pane_memory - pane 8: what the selected loop touches.
 * Source: interaction 8, 10.
 */
#include "repl/footprint.h"
#include "repl/view/panes.h"

static void put_loop(ml_Rows *r, const ml_Shown *sh, ml_Uid loop)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(sh->s));
    ml_Footprints fp = {0};
    ml_Text t = {0};

    ml_ctx_set_limit(cx, 0);
    ml_footprints(cx, sh->p, loop, &fp);
    for (size_t k = 0; k < fp.n; k++) {
        ml_text_clear(&t);
        if (fp.v[k].bytes < 0)
            ml_text_char(&t, '?');
        else
            ml_text_bytes(&t, fp.v[k].bytes);
        ml_rows_begin(r);
        ml_rows_put(r, ML_ROLE_BUFFER, "%s", ml_pane_name(sh, fp.v[k].buffer->uid));
        ml_rows_pad(r, 12, 1);
        ml_rows_put(r, ML_ROLE_NUMBER, "%s%s", fp.v[k].exact ? "" : "≤ ", ml_text_z(&t));
        ml_rows_end(r)->key = ml_pane_name(sh, fp.v[k].buffer->uid);
    }
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

void ml_pane_memory(ml_View *v, ml_Rows *r)
{
    ml_Shown sh;
    const ml_Stmt *st;

    if (!ml_pane_shows(v, r, &sh))
        return;
    st = ml_pane_selected(v, &sh);
    if (st && st->kind == ML_STMT_FOR && st->has_block)
        put_loop(r, &sh, v->node);
    else
        ml_rows_add(r, ML_ROLE_DIM, "select a loop to see what it touches");
}
