/*
 * act_page - what a command prints, as a page to be read; and patience.
 */
#include "repl/run/command.h"
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
    ml_Session *ss = v->ss;
    ml_Out kept = ss->out;
    ml_Text out = {0};

    ss->out.color = ss->out.err_color = ss->out.pager = false;
    ss->out.capture = ss->out.err_capture = &out;
    ss->out.height = 0;
    ss->out.width = v->grid.w > 24 ? v->grid.w - 4 : 20;
    ml_command_run(ss, command);
    ss->out = kept;
    if (out.n == 0)
        ml_view_say(v, "%s: nothing to show", title);
    else
        ml_view_page(v, title, ml_text_z(&out));
    ml_text_free(&out);
}
