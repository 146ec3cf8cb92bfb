/*
 * beside - code beside the program: whether there is room, and which rows of the one belong
 * to which of the other.
 *
 * Program and code are tied by the line that instructions tell: the rows of the cursor's
 * line are marked in both, and the pane without the cursor scrolls there. A line without
 * instructions, and lines that are not those of the code (regions are shown otherwise than
 * they were compiled), are tied by the selected node. Source: interaction 8, 10.
 */
#include "repl/view/state/view.h"

enum { BESIDE = 100 }; /* columns */

bool ml_view_beside_fits(const ml_View *v)
{
    return v->size > ML_SIZE_ONE && v->grid.w >= BESIDE;
}

ml_Level ml_view_level(const ml_View *v)
{
    return v->beside != ML_LEVEL_PROGRAM && !ml_view_beside_fits(v) ? v->beside : v->level;
}

ml_Level ml_view_coding(const ml_View *v)
{
    return v->beside != ML_LEVEL_PROGRAM ? v->beside : v->level;
}

void ml_view_beside(ml_View *v, ml_Level level)
{
    bool was = ml_view_coding(v) == level;

    v->beside = was ? ML_LEVEL_PROGRAM : level;
    v->level = ML_LEVEL_PROGRAM;
    for (ml_PaneId id = ML_PANE_PROGRAM; id != ML_PANE_NONE;
         id = id == ML_PANE_PROGRAM ? ML_PANE_CODE : ML_PANE_NONE) {
        ml_view_pane_stale(v, id);
        v->pane[id].left = 0;
        v->pane[id].sync = true;
    }
    if (!was)
        v->zoomed = v->zoomed && !ml_view_beside_fits(v);
    ml_view_place(v);
    if (was || ml_view_beside_fits(v))
        return;
    if (v->places.box[ML_PANE_PROGRAM].w == 0)
        ml_view_show_pane(v, ML_PANE_PROGRAM);
    ml_view_say(v, "%s in the program's place; from %dx24 on it stands beside it",
                level == ML_LEVEL_ASM ? "assembly" : "LLVM", BESIDE);
}

ml_PaneId ml_view_other(ml_PaneId id)
{
    return id == ML_PANE_PROGRAM ? ML_PANE_CODE
           : id == ML_PANE_CODE  ? ML_PANE_PROGRAM
                                 : ML_PANE_NONE;
}

static bool has_line(const ml_Rows *r, uint32_t line)
{
    for (size_t k = 0; k < r->v.n; k++)
        if (r->v.v[k].line == line)
            return true;
    return false;
}

uint32_t ml_view_tied(ml_View *v)
{
    ml_PaneId other = ml_view_other(v->in);
    const ml_PaneState *p = &v->pane[v->in];

    if (other == ML_PANE_NONE || v->places.box[ML_PANE_CODE].w == 0 || !p->fresh ||
        p->cursor >= (int)p->rows.v.n || !v->pane[other].fresh ||
        !ml_setting_is(&v->ss->set, ML_SET_regions, "auto"))
        return 0;
    uint32_t line = p->rows.v.v[p->cursor].line;

    return line && has_line(&v->pane[other].rows, line) ? line : 0;
}
