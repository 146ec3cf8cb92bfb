/*
 * What a key costs while a line is typed: colours, hint, picture, what is sent; and the
 * trial that follows when the keys rest. On a small program and on large ones.
 * Source: interaction 1, 4.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "programs.h"
#include "repl/host/host.h"
#include "repl/house.h"
#include "repl/line/hint.h"
#include "repl/line/line_grid.h"
#include "repl/screen/writer.h"

enum { ROUNDS = 20, MAX = 4000 };

typedef struct Typing {
    ml_Session ss;
    ml_Writer screen;
    ml_Theme theme;
    double key[MAX], trial[MAX];
    size_t n, n_trials;
} Typing;

/* As line_draw shows a line. */
static void show(Typing *t, const char *text, size_t n, const ml_Trial *trial)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_RoleSpans spans = {0};
    ml_Grid picture = {0};
    ml_Text out = {0};

    ml_colour(cx, ml_language_of_input(text), text, n, &spans);
    ml_Hint hint = ml_hint(&t->ss, cx, text, n, 80),
            says = ml_hint_trial(&t->ss, cx, trial);
    ml_LineView v = {.prompt = "matmul v0> ",
                     .text = text,
                     .n = n,
                     .cursor = n,
                     .spans = spans.v,
                     .n_spans = spans.n,
                     .hints = {{hint.text, hint.spans.v, hint.spans.n},
                               {says.text, says.spans.v, says.spans.n}}};

    ml_line_draw(&v, 80, 24, &picture);
    ml_writer_show(&t->screen, &picture, &t->theme, &out);
    ml_grid_free(&picture);
    ml_text_free(&out);
    ml_ctx_unref(cx);
}

static void type(Typing *t, const char *line)
{
    char text[200];

    for (size_t n = 1; n <= strlen(line) && t->n < MAX; n++) {
        ml_Trial none = {0}, trial;

        memcpy(text, line, n);
        text[n] = '\0';
        double from = now();

        show(t, text, n, &none);
        t->key[t->n++] = now() - from;
        from = now();
        ml_trial(&t->ss, text, 1000, false, &trial);
        if (trial.kind != ML_TRIAL_NONE) {
            show(t, text, n, &trial);
            t->trial[t->n_trials++] = now() - from;
        }
        ml_trial_free(&trial);
    }
}

static void measure(const char *what, const char *program, const char *const *lines)
{
    Typing *t = calloc(1, sizeof *t);
    char name[100];

    if (!t)
        abort();
    ml_house_open();
    ml_session_init(&t->ss);
    ml_out_init(&t->ss.out, 0, 80, false);
    t->ss.host = ml_host_new(&t->ss);
    t->ss.mode = ML_MODE_QUIET;
    ml_theme_init(&t->theme, "", ML_DEPTH_256);
    t->screen = (ml_Writer){.to = ml_ansi(), .among = true};
    if (!ml_host_open_text(t->ss.host, program) || !t->ss.focus)
        abort();
    for (int k = 0; k < ROUNDS; k++)
        for (size_t m = 0; lines[m]; m++)
            type(t, lines[m]);
    snprintf(name, sizeof name, "a key, %s", what);
    figure(name, 1e3 * quantile(t->key, t->n, 0.99), 16, "ms", false);
    snprintf(name, sizeof name, "a trial and the key after it, %s", what);
    figure(name, 1e3 * quantile(t->trial, t->n_trials, 0.99), 16, "ms", false);
    ml_writer_forget(&t->screen);
    ml_session_free(&t->ss);
    free(t);
}

int main(int argc, char **argv)
{
    static const char *const DENSE[] = {"split(\"i\", {auto, 16})",
                                        "l = s:fuse(\"i\", \"j\") reorder(\"k\")",
                                        ":before 1 vectorize(\"i\")", NULL};
    static const char *const CHAIN[] = {"split(\"p1\", {auto, 16})",
                                        "compute_inline(\"S3\") vectorize(\"q2\")", NULL};
    static const int BLOCKS[] = {100, 1000};
    ml_Text text = {0};

    report.json = argc > 1 && ml_streq(argv[1], "--json");
    if (!report.json)
        printf("\nthe line while it is typed\n");
    program_text(&dense, 0, &text);
    measure("3 blocks", ml_text_z(&text), DENSE);
    for (size_t k = 0; k < ML_COUNT(BLOCKS); k++) {
        char what[40];

        ml_text_clear(&text);
        chain_text(BLOCKS[k], &text);
        snprintf(what, sizeof what, "%d blocks", BLOCKS[k]);
        measure(what, ml_text_z(&text), CHAIN);
    }
    ml_text_free(&text);
    return 0;
}
