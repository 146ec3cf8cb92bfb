/*
 * line - the prompt row: pieces from left to right, cut where the row ends, the keys at
 * its right end when there is room for them.
 */
#include "repl/view/act/act_impl.h"

ml_ActLine ml_act_line_begin(const ml_View *v, ml_Rows *r)
{
    return (ml_ActLine){r, v->grid.w > 1 ? v->grid.w : 1, 0};
}

void ml_act_put(ml_ActLine *l, ml_CellRole role, const char *z, int most)
{
    size_t n = strcspn(z, "\n"), to;
    int room = l->w - l->used;

    room = most < room ? most : room;
    if (room <= 0)
        return;
    to = ml_text_fitting(z, n, room);
    if (to < n) {
        to = ml_text_fitting(z, n, room - 1);
        ml_rows_put(l->r, role, "%.*s…", (int)to, z);
        l->used += ml_text_columns(z, to) + 1;
    } else {
        ml_rows_put(l->r, role, "%.*s", (int)n, z);
        l->used += ml_text_columns(z, n);
    }
}

void ml_act_pad(ml_ActLine *l, int column)
{
    if (column > l->w)
        column = l->w;
    if (column > l->used) {
        ml_rows_put(l->r, ML_ROLE_TEXT, "%*s", column - l->used, "");
        l->used = column;
    }
}

void ml_act_put_check(ml_View *v, ml_ActLine *l, int column)
{
    ml_Act *a = v->act;
    bool works = a->trial.kind == ML_TRIAL_WORKS;
    const char *says = ml_text_z(&a->trial.says);
    int wide = ml_text_columns(says, strcspn(says, "\n")) + 2;

    if (!a->tried || a->trial.kind == ML_TRIAL_NONE)
        return;
    if (l->used + 3 > column ||
        column + wide > l->w) /* no room to stand under the others */
        column = l->used + 3;
    if (column + 4 > l->w)
        column = l->used + 1;
    ml_act_pad(l, column);
    ml_act_put(l, works ? ML_ROLE_OK : ML_ROLE_ERROR, works ? "✓ " : "✗ ", 2);
    ml_act_put(l, works ? ML_ROLE_OK : ML_ROLE_ERROR, says, l->w);
}

void ml_act_line_end(ml_ActLine *l, const char *keys)
{
    int wide = ml_text_columns(keys, strlen(keys));

    if (wide > 0 && l->used + 2 + wide <= l->w) {
        ml_act_pad(l, l->w - wide);
        ml_act_put(l, ML_ROLE_HINT, keys, wide);
    }
    ml_rows_end(l->r);
}
