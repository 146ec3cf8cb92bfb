/*
 * echo - what a step changed, as the screen shows it; and the pager.
 *
 * One headline, then the diff of the printed program; when most of it changed, or it is
 * taller than the screen, a diff of the loop tree instead. Source: interaction 5.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moonloop/core/json/data.h"
#include "moonloop/work/fact/fact.h"
#include "repl/out/interrupt.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"

/* ---- after a step */

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *p = text; *p; p++)
        n += *p == '\n';
    return n;
}

/* As the screen has it: a program or a diff, or (mark NULL) sentences and tables. */
static void fold(const ml_Session *ss, const char *text, const char *mark, ml_Text *out)
{
    if (ss->out.sink.out)
        ml_text_add(out, text);
    else if (mark)
        ml_out_fold_code(&ss->out, text, mark, out);
    else
        ml_out_fold(&ss->out, text, out);
}

static void echo_diff(ml_Session *ss, ml_Schedule *s, int from, int to)
{
    static const char TREE[] =
        "      (most of the text changed: this is the loop tree; :show "
        "for the text)";
    ml_Text a = {0}, b = {0}, out = {0}, flat = {0}, shown = {0};
    ml_DiffOpts o = {.fold = 24, .color = ss->out.color};

    o.context = (int)ml_setting_int(&ss->set, ML_SET_context);
    ml_DiffStats st = ml_diff_versions(ss, s, from, to, &o, &out);

    fold(ss, ml_text_z(&out), ML_GOES_ON, &shown);
    size_t total = st.same + (st.added > st.removed ? st.added : st.removed);
    bool too_tall =
        ss->out.height > 0 && count_lines(ml_text_z(&shown)) + 3 > (size_t)ss->out.height;

    bool mostly = total > 40 && (st.added + st.removed) * 10 > total * 12;

    if (too_tall || mostly) {
        ml_text_add(&flat, ml_text_z(&out)); /* what there is without a screen */
        ml_text_clear(&out);
        ml_text_clear(&shown);
        ml_show_tree(ss, s, from, &a);
        ml_show_tree(ss, s, to, &b);
        ml_diff_text(&out, ml_text_z(&a), ml_text_z(&b), &o);
        if (mostly) {
            ml_text_clear(&flat);
            ml_text_fmt(&flat, "%s%s\n", ml_text_z(&out), TREE);
        }
        fold(ss, ml_text_z(&out), "", &shown);
        ml_out_fold(&ss->out, TREE, &shown);
        ml_text_char(&shown, '\n');
    } else
        ml_text_add(&flat, ml_text_z(&out));
    ml_out_as(&ss->out, ml_text_z(&shown), ml_text_z(&flat));
    ml_text_free(&a);
    ml_text_free(&b);
    ml_text_free(&out);
    ml_text_free(&flat);
    ml_text_free(&shown);
}

static void echo_step(ml_Session *ss, ml_Schedule *s, int version)
{
    const char *how = ml_setting_word(&ss->set, ML_SET_echo);
    ml_Step step;
    ml_Text t = {0};

    if (!ml_version_step(s, version, &step))
        return;
    ml_text_fmt(&t, "%s[%d]%s %s", ml_style(ss->out.color, ML_STYLE_STRONG), version,
                ml_style(ss->out.color, ML_STYLE_PLAIN), step.headline);
    if (!ml_streq(how, "brief"))
        ml_text_fmt(&t,
                    step.seconds < 0.0001 ? "   %.2f ms"
                    : step.seconds < 0.01 ? "   %.1f ms"
                                          : "   %.0f ms",
                    step.seconds * 1e3);
    ml_out_prose(&ss->out, ml_text_z(&t));
    ml_text_clear(&t);
    if (ml_streq(how, "diff"))
        echo_diff(ss, s, step.parent, version);
    else if (ml_streq(how, "full")) {
        ml_show_program(ss, s, version, &t);
        ml_out_code(&ss->out, ml_text_z(&t), ML_GOES_ON);
    } else if (ml_streq(how, "tree")) {
        ml_show_tree(ss, s, version, &t);
        ml_out_code(&ss->out, ml_text_z(&t), "");
    }
    for (size_t k = 0; k < step.n_notes; k++) {
        ml_text_clear(&t);
        ml_text_fmt(&t, "%snote: %s%s", ml_style(ss->out.err_color, ML_STYLE_NOTE),
                    step.notes[k], ml_style(ss->out.err_color, ML_STYLE_PLAIN));
        ml_err_prose(&ss->out, ml_text_z(&t));
    }
    ml_text_free(&t);
}

/* --json: {"step": 2, "primitive": "split", "version": 7, …}. */
static void tell_step(ml_Session *ss, ml_Schedule *s, int version)
{
    ml_VersionRow r = {.s = s, .version = version};
    ml_Data d = {.schema = true};
    ml_Step before;
    int n = 0;

    if (!ml_version_step(s, version, &r.step))
        return;
    for (int v = version; ml_version_step(s, v, &before) && before.prim; v = before.parent)
        n++;
    ml_data_row(&d);
    ml_data_int(&d, "step", n);
    ml_data_str(&d, "schedule", ml_schedule_name(s));
    ml_data_fields(&d, &ml_version_fields, &r);
    ml_out(&ss->out, ml_data_lines(&d));
    ml_data_free(&d);
}

void ml_echo_steps(ml_Session *ss, ml_Schedule *s, int from, int to)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ML_VEC(int) path = {0};
    ml_Step step;
    int v = to;

    if (ml_setting_is(&ss->set, ML_SET_echo, "off")) {
        ml_ctx_unref(cx);
        return;
    }
    /* Versions count up along a line: what is at or below `from` was there before. */
    while (v > from && ml_version_step(s, v, &step)) {
        ml_push(cx, &path, v);
        v = step.parent;
    }
    for (size_t k = path.n; k-- > 0;)
        (ss->json ? tell_step : echo_step)(ss, s, path.v[k]);
    ml_ctx_unref(cx);
}

/* ---- the pager */

static bool in_path(const char *prog)
{
    const char *path = getenv("PATH");
    char file[4096];

    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = strchr(path, ':');
        end = end ? end : path + strlen(path);
        int n = snprintf(file, sizeof file, "%.*s/%s", (int)(end - path), path, prog);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* The last line of the screen tells that this is a pager, and the way out, in 20 columns
 * too; `?e…:….` chooses at the end of the text. */
static const char *less_options(const ml_Out *o)
{
    enum { ROOMY = 52 };

    return o->width >= ROOMY
               ? "FRXPs?ethe end, b back:Space more, b back., /TEXT searches, q quits$"
               : "FRXPs?ethe end:Space more., q ends$";
}

void ml_page_as(ml_Session *ss, const char *text, const char *raw)
{
    const char *prog = getenv("MOONLOOP_PAGER");
    bool on = ml_setting_is(&ss->set, ML_SET_pager, "on");

    if (!prog || !*prog)
        prog = getenv("PAGER");
    if (!prog || !*prog)
        prog = in_path("less") ? "less" : NULL;
    if (!prog || ss->batch || ss->out.sink.out || !ss->out.pager || !ss->prompting ||
        ml_setting_is(&ss->set, ML_SET_pager, "off") ||
        (!on && count_lines(text) + 1 < (size_t)ss->out.height)) {
        ml_out_as(&ss->out, text, raw);
        return;
    }
    bool ours = !getenv("LESS");

    if (ours)
        setenv("LESS", less_options(&ss->out), 1);
    FILE *p = popen(prog, "w"); /* NOLINT(cert-env33-c): the pager of the user's choice */

    if (ours)
        unsetenv("LESS");
    if (!p) {
        ml_out_as(&ss->out, text, raw);
        return;
    }
    ml_Text shown = {0}, plain = {0};

    ml_interrupt_child(true);
    ml_out_tell(&ss->out, text, raw);
    ml_out_shown(&shown, text, ss->out.color);
    if (ss->out.ascii)
        ml_out_plain(&plain, ml_text_z(&shown));
    fputs(ml_text_z(ss->out.ascii ? &plain : &shown), p);
    ml_text_free(&plain);
    ml_text_free(&shown);
    int status = pclose(p);

    ml_interrupt_child(false);
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        ml_out_as(&ss->out, text, ""); /* the shell found no such program */
}

void ml_page_code(ml_Session *ss, const char *text, const char *mark)
{
    ml_Text t = {0};

    fold(ss, text, mark, &t);
    ml_page_as(ss, ml_text_z(&t), text);
    ml_text_free(&t);
}

void ml_page_prose(ml_Session *ss, const char *text)
{
    ml_page_code(ss, text, NULL);
}

void ml_page(ml_Session *ss, const char *text)
{
    ml_page_as(ss, text, text);
}
