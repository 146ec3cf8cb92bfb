/*
 * layout_file - the layouts of panes, kept from session to session in
 * $XDG_STATE_HOME/moonloop/panes (default ~/.local/state). What cannot be read or written
 * is passed over: it is not worth a message. Source: interaction 10.
 */
#include "moonloop/core/base/file.h"
#include "repl/keep/sessions.h"
#include "repl/view/state/view.h"

void ml_view_layout_load(ml_View *v)
{
    ml_Text path = {0}, text = {0};

    if (ml_state_path("panes", &path) && ml_file_read(path.p, &text)) {
        ml_layout_read(v->layout, ml_text_z(&text));
        ml_view_place(v);
    }
    ml_text_free(&path);
    ml_text_free(&text);
}

void ml_view_layout_save(ml_View *v)
{
    ml_Text path = {0}, text = {0};
    bool changed = false;

    for (int s = 0; s < ML_N_SIZES; s++)
        changed = changed || v->layout[s].changed;
    if (changed && ml_state_path("panes", &path)) {
        ml_layout_write(v->layout, &text);
        if (ml_file_folders(path.p) == 0) /* or it is not kept */
            ml_file_write(path.p, ml_text_z(&text), text.n);
    }
    ml_text_free(&path);
    ml_text_free(&text);
}
