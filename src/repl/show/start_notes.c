/*
 * start_notes - see start_notes.h: the blocks whose instances have to keep their order, so
 * that a step which is refused for it does not come as a surprise.
 */
#include "repl/show/start_notes.h"

#include "moonloop/primitives/call/render.h"
#include "moonloop/primitives/rewrite/keep_order.h"

enum { MOST = 4 };

typedef struct Notes {
    ml_Ctx *cx;
    size_t n, more;
    const char *text[MOST];
} Notes;

static void find_notes(ml_Schedule *s, Notes *out)
{
    ml_Findings found = {0};

    *out = (Notes){.cx = ml_ctx_fork(ml_schedule_ctx(s))};
    if (ml_schedule_version(s) != 0)
        return;
    ml_find_order(out->cx, ml_schedule_program(s), s, &found);
    ml_error_clear(out->cx);
    for (; out->n < found.n && out->n < MOST; out->n++) {
        ml_Failure *f =
            ml_failure_about(found.v[out->n].error, s, ml_schedule_program(s).mod);

        out->text[out->n] = ml_strdup(out->cx, ml_str(ml_failure_message(f)));
        ml_failure_free(f);
    }
    out->more = found.n - out->n;
}

void ml_start_notes(ml_Schedule *s, ml_Text *out)
{
    Notes notes;

    find_notes(s, &notes);
    for (size_t k = 0; k < notes.n; k++)
        ml_text_fmt(out, "%snote: %s", k ? "\n" : "", notes.text[k]);
    if (notes.more > 0)
        ml_text_fmt(out,
                    "\nnote: %zu more blocks like these; moon.verify(focus(), {what = "
                    "\"order\"}) lists them",
                    notes.more);
    ml_ctx_unref(notes.cx);
}

void ml_start_notes_data(ml_Schedule *s, ml_Data *d)
{
    Notes notes;

    find_notes(s, &notes);
    if (notes.n > 0) {
        ml_data_list(d, "notes");
        for (size_t k = 0; k < notes.n; k++)
            ml_data_str(d, NULL, notes.text[k]);
        ml_data_end(d);
    }
    ml_ctx_unref(notes.cx);
}
