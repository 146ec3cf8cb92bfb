/*
 * tune_record - pages about what a search has measured: a record, how its program differs from the
 * fastest, failures by reason. Source: interaction 11.
 */
#include "repl/cmd/tune_record.h"

#include "moonloop/core/base/arena.h"
#include "moonloop/work/records.h"
#include "moonloop/work/say.h"
#include "repl/command/command.h"
#include "repl/session/frame.h"
#include "repl/show/diff.h"
#include "repl/show/show.h"

/* ---- one, replayed beside the schedule */

typedef struct Beside {
    ml_Ctx *cx;
    ml_Record *r;
    ml_Schedule *s; /* NULL: it is not there, or cannot be replayed */
} Beside;

static Beside beside(const ml_RecordSeen *n, int64_t record, ml_Text *why)
{
    const ml_DbQuery q = {.record = record, .any_seed = true};
    Beside b = {.cx = ml_ctx_new(0)};
    size_t found = 0;

    if (!ml_db_records(n->db, b.cx, &q, &b.r, &found) || found == 0) {
        ml_text_fmt(why, "record %lld is not there\n", (long long)record);
        b.r = NULL;
        return b;
    }
    (void)ml_schedule_names(n->s);
    b.s = ml_schedule_fork_at(n->s, 0);
    if (ml_tune_apply(b.cx, b.s, b.r))
        return b;
    ml_text_fmt(why, "record %lld cannot be replayed\n", (long long)record);
    ml_schedule_unref(b.s);
    b.s = NULL;
    return b;
}

static void end_beside(Beside *b)
{
    ml_schedule_unref(b->s);
    ml_ctx_unref(b->cx);
}

static void add_program(const ml_RecordSeen *n, ml_Schedule *s, ml_Text *out)
{
    ml_show_program(n->ss, s, ml_schedule_version(s), out);
}

/* The steps by the names that the prompt knows. */
static void add_trace(ml_Schedule *s, ml_Text *out)
{
    ml_Step step;

    for (int v = 1; v <= ml_schedule_version(s); v++)
        if (ml_version_step(s, v, &step) && step.prim)
            ml_text_fmt(out, "%s\n", step.headline);
}

/* Of two texts of one kind: how b differs, or all of it when it is compared with itself. */
static void add_against(const char *what, ml_Text *best, ml_Text *own, bool same,
                        ml_Text *out)
{
    const ml_DiffOpts o = {.context = 1, .fold = 0};

    if (same) {
        ml_text_fmt(out, "\n== %s\n", what);
        ml_text_add(out, ml_text_z(own));
    } else {
        ml_text_fmt(out, "\n== %s, against rank 1\n", what);
        if (ml_diff_text(out, ml_text_z(best), ml_text_z(own), &o).shown == 0)
            ml_text_add(out, "the same\n");
    }
    ml_text_free(best);
    ml_text_free(own);
}

/* What a command prints of a schedule that is none of the session's. */
static void add_command(const ml_RecordSeen *n, ml_Schedule *s, const char *command,
                        ml_Text *out)
{
    ml_Session *ss = n->ss;
    ml_Schedule *focus = ss->focus;
    const ml_RunOpts run = {.sink = {out, out}, .page = 100, .tells = true, .apart = true};
    ml_RunFrame f;

    ml_frame_push(ss, &f, &run);
    ss->focus = s;
    ml_command_run(ss, command);
    ss->focus = focus;
    ml_frame_pop(ss, &f);
}

static void add_times(const ml_RecordSeen *n, const ml_Record *r, ml_Text *out)
{
    const ml_Board *b = n->b;

    ml_text_fmt(out, "== record %lld: ", (long long)r->id);
    if (r->n_run == 0) {
        ml_text_fmt(out, "failed in %s, %s\n", r->phase ? r->phase : "a run",
                    r->error ? r->error : "no reason");
        return;
    }
    ml_text_speed(out, b->amount, ml_record_seconds(r), 0);
    ml_text_fmt(out, " measured (%s, %zu sample%s)", r->median > 0 ? "by turns" : "alone",
                r->n_run, r->n_run == 1 ? "" : "s");
    for (size_t k = 0; k < b->trials.n; k++)
        if (b->trials.v[k].record == r->id && b->trials.v[k].expected > 0) {
            ml_text_add(out, ", predicted ");
            ml_text_speed(out, b->amount, b->trials.v[k].expected, 0);
        }
    ml_text_add(out, "\n");
    ml_record_design(n->s, r, out);
    ml_text_add(out, "\n");
}

void ml_record_inspect(const ml_RecordSeen *n, int64_t record, int64_t best, ml_Text *out)
{
    Beside b = beside(n, record, out), first = {0};
    ml_Text own = {0}, others = {0};
    bool same = record == best;

    if (b.r)
        add_times(n, b.r, out);
    if (b.s && !same)
        first = beside(n, best, out);
    if (b.s && (same || first.s)) {
        add_trace(b.s, &own);
        if (!same)
            add_trace(first.s, &others);
        add_against("trace", &others, &own, same, out);
        add_program(n, b.s, &own);
        if (!same)
            add_program(n, first.s, &others);
        add_against("program", &others, &own, same, out);
        ml_text_add(out, "\n== machine code\n");
        add_command(n, b.s, "asm", out);
    }
    if (first.cx)
        end_beside(&first);
    end_beside(&b);
}

void ml_record_diff(const ml_RecordSeen *n, int64_t record, int64_t best, ml_Text *out)
{
    Beside b = beside(n, record, out), first = beside(n, best, out);
    ml_Text own = {0}, others = {0};

    if (record == best)
        ml_text_add(out, "rank 1 itself: ↑ ↓ choose another one\n");
    if (b.s && first.s) {
        ml_text_fmt(out, "record %lld (+) against record %lld (-)\n", (long long)record,
                    (long long)best);
        add_program(n, b.s, &own);
        add_program(n, first.s, &others);
        add_against("program", &others, &own, false, out);
    }
    end_beside(&first);
    end_beside(&b);
}

void ml_record_failures(const ml_Board *b, ml_Text *out)
{
    if (b->st.failed[ML_PHASE_REPLAY])
        ml_text_fmt(out,
                    "%6lld  proposals were no legal program (not measured, no record)\n",
                    (long long)b->st.failed[ML_PHASE_REPLAY]);
    if (b->faults.n == 0)
        ml_text_add(out, "no candidate that was measured by this search has failed\n");
    for (size_t k = 0; k < b->faults.n; k++) {
        const ml_BoardFault *f = &b->faults.v[k];

        ml_text_fmt(out, "%6lld  %-8s %s   the last: record %lld\n", (long long)f->n,
                    f->phase, f->code, (long long)f->record);
    }
    ml_text_add(out, "\n:explain CODE tells what a code means.\n");
}
