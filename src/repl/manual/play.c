/*
 * play - chapters that are played: each line is run as if it were typed, and what came is
 * written; each pair of a table is checked. See play.h.
 *
 * A manual with a line that does not do what it says is none: it is not written, and the
 * line is named.
 */
#include "repl/manual/play.h"

#include "moonloop/core/base/file.h"
#include "repl/graph/graph.h"
#include "repl/run/scratch.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- pictures */

/* The SVG of the focus, appended to *svg; false: *why says why there is none. */
static bool draw(ml_Session *ss, const char *kind, int since, bool dark, ml_Text *svg,
                 ml_Text *why)
{
    static const char FILE_NAME[] = "picture.svg"; /* in the scratch folder */
    ml_GraphWhy reason = {0};
    ml_Graph g;
    bool ok = ml_graph_build(ss->focus, kind, since, dark, &g, &reason) &&
              ml_graph_write(&g, kind, FILE_NAME, &reason) && ml_file_read(FILE_NAME, svg);

    if (!ok)
        ml_text_add(why, reason.message.n ? ml_text_z(&reason.message) : kind);
    unlink(FILE_NAME);
    ml_graph_free(&g);
    ml_text_free(&reason.message);
    return ok;
}

static void picture(ml_ManualPage *p, ml_Session *ss, const char *text)
{
    ml_Text svg[2] = {{0}, {0}}, why = {0}, kind = {0};
    size_t n = strcspn(text, " ");
    const char *since = text[n] ? text + n + 2 : NULL; /* behind " v" */
    int version = since ? (int)strtol(since, NULL, 10) : -1;

    ml_text_addn(&kind, text, n);
    if (!ss->focus)
        ml_text_add(&why, "there is no program");
    if (ss->focus && draw(ss, ml_text_z(&kind), version, false, &svg[0], &why) &&
        draw(ss, ml_text_z(&kind), version, true, &svg[1], &why)) {
        p->form->picture(p, ml_text_z(&svg[0]), ml_text_z(&svg[1]), text);
    } else {
        ml_Text t = {0};

        ml_text_fmt(&t, "(A picture belongs here. %s.)", ml_text_z(&why));
        p->form->paragraph(p, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_text_free(&svg[0]);
    ml_text_free(&svg[1]);
    ml_text_free(&kind);
    ml_text_free(&why);
}

/* ---- steps */

static bool say_failed(ml_Text *why, const char *what, const char *lines, const char *said)
{
    ml_text_fmt(why, "the manual is not written: %s\n%s\n%s", what, lines, said);
    return false;
}

static bool run(ml_ManualPage *p, ml_Scratch *s, ml_Text *said, const ml_ManualStep *step,
                ml_Text *why)
{
    ml_text_clear(said);
    ml_ErrorCode code = ml_scratch_lines(s, step->text);
    bool refused = code != ML_E_OK;
    bool no_code = step->does == ML_DO_MEASURE && code == ML_E_NO_TARGET;

    if (refused != (step->does == ML_DO_REFUSED) && !no_code)
        return say_failed(why, refused ? "a line failed" : "no line was refused",
                          step->text, ml_text_z(said));
    p->form->verbatim(p, ml_text_z(said));
    return true;
}

bool ml_manual_play(ml_ManualPage *p, const ml_ManualStep *steps, size_t n, ml_Text *why)
{
    ml_Text said = {0};
    ml_Scratch s;
    bool ok = true;

    if (!ml_scratch_begin(&s, p->ss, why))
        return false;
    s.ss.out.sink.out = s.ss.out.sink.err = &said;
    for (size_t k = 0; ok && k < n; k++) {
        const char *text = steps[k].text;

        switch (steps[k].does) {
        case ML_DO_SAY: p->form->paragraph(p, text); break;
        case ML_DO_TITLE: p->form->group(p, text); break;
        case ML_DO_THERE: p->form->verbatim(p, text); break;
        case ML_DO_PICTURE: picture(p, &s.ss, text); break;
        case ML_DO_TYPE:
        case ML_DO_REFUSED:
        case ML_DO_MEASURE: ok = run(p, &s, &said, &steps[k], why); break;
        }
    }
    ml_scratch_end(&s);
    ml_text_free(&said);
    return ok;
}

/* ---- pairs */

/* What a pair made is the same program as before, by what it computes. */
static const char CHECK[] = "do local s = moon.focus() local c = s and moon.check(s) "
                            "assert(not c or c.ok, c and c.first_at) end";

static bool check_pair(ml_ManualPage *p, const char *start, const ml_FromPair *pair,
                       ml_Text *why)
{
    const char *const lines[] = {pair->start ? pair->start : start, pair->here, CHECK};
    ml_Text said = {0};
    bool ok = true;
    ml_Scratch s;

    if (!ml_scratch_begin(&s, p->ss, why))
        return false;
    s.ss.out.sink.out = s.ss.out.sink.err = &said;
    for (size_t k = 0; ok && k < ML_COUNT(lines); k++) {
        ml_ErrorCode code = ml_scratch_lines(&s, lines[k]);

        if (code != ML_E_OK && code != ML_E_NO_TARGET) /* a build without machine code */
            ok = say_failed(why, "a line failed", lines[k], ml_text_z(&said));
    }
    ml_scratch_end(&s);
    ml_text_free(&said);
    return ok;
}

bool ml_manual_pairs(ml_ManualPage *p, const ml_From *f, const ml_FromTable *t,
                     ml_Text *why)
{
    p->form->heads(p, f->name, "moonloop");
    for (size_t k = 0; k < t->n; k++) {
        const ml_FromPair *pair = &t->pairs[k];
        const char *lead = ml_from_lead(f, pair);
        ml_Text here = {0};

        if (!check_pair(p, f->start, pair, why))
            return false;
        ml_text_fmt(&here, "%s%s%s", lead, *lead ? "\n" : "", pair->here);
        p->form->pair(p, pair->there, ml_text_z(&here), pair->note);
        ml_text_free(&here);
    }
    return true;
}
