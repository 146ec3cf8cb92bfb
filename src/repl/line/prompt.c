/*
 * prompt - typed lines, one after the other: gathered until they can be run, run,
 * remembered.
 *
 * Apart from input.c because it needs a terminal, which the Lua module must not.
 * Source: interaction 4, 9.
 */
#include "repl/line/prompt.h"

#include <unistd.h>

#include "repl/line/line.h"
#include "repl/out/interrupt.h"
#include "repl/out/loop.h"
#include "repl/run/input.h"
#include "repl/run/run.h"

/* A question of a command: one line, which is no entry of the history. */
static char *ask(ml_Session *ss, const char *question)
{
    bool interrupted = false;
    char *line;

    ml_out_flush(&ss->out);
    line = ml_line_read(ss, question, true, &interrupted); /* no hints, no suggestion */
    ml_interrupt_answer();
    return line;
}

void ml_prompt_run(ml_Session *ss)
{
    ml_Text whole = {0}, prompt = {0};

    ss->mode = ML_MODE_TYPED;
    if (!isatty(STDIN_FILENO)) {
        ml_input_stream(ss, STDIN_FILENO, "standard input", true);
        ss->status = 0; /* as at a terminal: an error there is no failure of the program */
        return;
    }
    ss->prompting = true;
    ml_line_init(ss);
    ss->ask = ask;
    while (!ss->quit && !ss->out.broken) {
        ml_text_clear(&prompt);
        ml_loop_poll(); /* what came in while the line ran */
        ml_tell_tick(ss);
        ml_input_prompt_text(ss, whole.n > 0, &prompt);
        ml_out_flush(&ss->out);
        bool interrupted = false;
        char *line = ml_line_read(ss, ml_text_z(&prompt), whole.n > 0, &interrupted);

        ml_out_measure(&ss->out, (int)ml_setting_int(&ss->set, ML_SET_width));
        if (interrupted) { /* Ctrl-C: what was typed so far is dropped */
            ml_interrupt_answer();
            ml_text_clear(&whole);
            ml_line_free(line);
            continue;
        }
        if (!line) {
            ss->lost_terminal = !isatty(STDIN_FILENO); /* hung up, and nobody was told */
            ml_out_line(&ss->out, "");
            if (ss->lost_terminal || ml_session_let_quit(ss))
                break;
            continue;
        }
        if (whole.n)
            ml_text_char(&whole, '\n');
        ml_text_add(&whole, line);
        if (strchr(line,
                   '\n')) /* pasted or recalled whole: its end is the end of a program */
            ml_text_char(&whole, '\n');
        ml_line_free(line);
        if (ml_wants_more(ss, ml_text_z(&whole)))
            continue;
        ml_line_history_add(ss, ml_text_z(&whole));
        ml_interrupt_answer();
        ml_line_history_judge(ss, ml_text_z(&whole), ml_run(ss, NULL, ml_text_z(&whole)));
        ss->status = 0; /* an error at the prompt is no failure of the program */
        ml_text_clear(&whole);
    }
    ss->lost_terminal |= ss->out.broken;
    ss->ask = NULL;
    ml_line_end(ss);
    ml_text_free(&whole);
    ml_text_free(&prompt);
}
