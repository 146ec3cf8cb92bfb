/*
 * act_page - what a command prints, as a page to be read; and patience.
 */
#include "repl/command/command.h"
#include "repl/session/frame.h"
#include "repl/view/act/act_impl.h"

void ml_act_be_patient(ml_View *v)
{
    v->act->patient = true;
}

int ml_act_ms(const ml_View *v, int ms)
{
    enum { PATIENCE = 600000 };

    return v->act->patient ? PATIENCE : ms;
}

void ml_act_page(ml_View *v, const char *command, const char *title)
{
    ml_Text out = {0};
    ml_RunOpts run = {.sink = {&out, &out}, .page = v->grid.w > 24 ? v->grid.w - 4 : 20};
    ml_RunFrame f;

    ml_frame_push(v->ss, &f, &run);
    ml_command_run(v->ss, command);
    ml_frame_pop(v->ss, &f);
    if (out.n == 0)
        ml_view_say(v, "%s: nothing to show", title);
    else
        ml_view_page(v, title, ml_text_z(&out));
    ml_text_free(&out);
}
