/*
 * perf - pane 6: what the versions reached, and what the machine can do.
 *
 * One bar per timed version, the longest for the fastest; below them the same as points
 * under the roofs of the machine, whole or not at all. What is known of the machine is
 * shown; nothing is measured for it. Source: interaction 8, 10.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "moonloop/work/say.h"
#include "repl/cmd/machine_report.h"
#include "repl/host/host.h"
#include "repl/show/roofline.h"
#include "repl/view/pane/panes.h"

typedef struct Timed {
    int version;
    double rate; /* larger is faster */
    const char *speed, *marks;
} Timed;

static void put_bar(ml_Rows *r, double share, int width)
{
    static const char *const PARTS[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int n = (int)lround(share * width * 8);

    n = n < 1 ? 1 : n;
    for (int k = 0; k < n / 8; k++)
        ml_rows_put(r, ML_ROLE_LOOP_PARALLEL, "█");
    ml_rows_put(r, ML_ROLE_LOOP_PARALLEL, "%s", PARTS[n % 8]);
    ml_rows_pad(r, 0, width - (n + 7) / 8);
}

typedef ML_VEC(Timed) TimedList;

static void put_versions(ml_View *v, ml_Rows *r, const ml_Shown *sh, TimedList *out)
{
    TimedList list = {0};
    int n = ml_schedule_n_versions(sh->s), name = 0, speed = 0, room;
    double best = 0;
    ml_Step step;

    for (int k = 0; k < n; k++)
        if (ml_version_step(sh->s, k, &step) && step.speed) {
            double rate = ml_speed_read(step.speed, NULL);

            best = rate > best ? rate : best;
            speed = ml_wider(speed, step.speed, INT_MAX);
            name = ml_wider(name, ml_format(r->cx, "v%d", k), INT_MAX);
            ml_push(r->cx, &list,
                    ((Timed){k, rate, step.speed, ml_schedule_marks_of(sh->s, k)}));
        }
    if (list.n == 0)
        ml_rows_add(r, ML_ROLE_DIM, "no version was timed yet: t, or :time");
    room = ml_pane_width(v, ML_PANE_PERF) - name - speed - 6;
    room = room < 4 ? 4 : room > 48 ? 48 : room;
    for (size_t k = 0; k < list.n; k++) {
        const Timed *t = &list.v[k];

        ml_rows_put(r, ML_ROLE_KEY, "%-*s ", name, ml_format(r->cx, "v%d", t->version));
        put_bar(r, best > 0 ? t->rate / best : 0, room);
        ml_rows_pad(r, 0, 1 + speed - (int)ml_columns(t->speed));
        ml_rows_put(r, ML_ROLE_NUMBER, "%s", t->speed);
        if (t->version == sh->version)
            ml_rows_put(r, ML_ROLE_CURSOR, " ◀");
        if (t->marks)
            ml_rows_put(r, ML_ROLE_MATCH, " «%s»", t->marks);
        ml_rows_end(r)->version = t->version;
    }
    *out = list;
}

enum { ROOF_ROWS = 11, ROOF_LEAST = 8, ROOF_NARROWEST = 24, ROOF_WIDEST = 72 };

/* Whether there are roofs for one function, measured before. */
static bool has_roofs(ml_View *v, ml_Rows *r, const ml_Shown *sh)
{
    const ml_Machine *m = ml_machine_known(r->cx, ml_host_engine(v->ss->host));

    if (m == NULL)
        ml_error_clear(r->cx);
    return m && m->full && (ml_schedule_func(sh->s) || sh->p.mod->n == 1);
}

/* The timed versions under the roofs, below the rows that there are. */
static void put_roofs(ml_View *v, ml_Rows *r, const ml_Shown *sh, const TimedList *list)
{
    ml_Engine *e = ml_host_engine(v->ss->host);
    int width = ml_pane_width(v, ML_PANE_PERF) - 1;
    int height = ml_view_room(v, ML_PANE_PERF) - (int)r->v.n - 1;
    uint32_t at = ml_schedule_func(sh->s) ? ml_schedule_func_pos(sh->s) : 0;
    ml_TimingOpts o = {0};
    ml_Roofline line;
    ml_Text t = {0};
    ml_Ctx *cx;

    if (!has_roofs(v, r, sh))
        return;
    if (height < ROOF_LEAST || width < ROOF_NARROWEST) {
        ml_pane_say(v, r, ML_PANE_PERF, ML_ROLE_DIM,
                    v->zoomed || v->size <= ML_SIZE_ONE
                        ? "the roofline finds no room here: :roofline"
                        : "the roofline wants more room: z, or :roofline");
        return;
    }
    cx = ml_ctx_fork(ml_schedule_ctx(sh->s));
    ml_ctx_set_limit(cx, 0);
    if (ml_roofline_roofs(cx, e, sh->s, at, &o, &line)) {
        for (size_t k = 0; k < list->n && line.flop > 0; k++) {
            double seconds = ml_speed_seconds(list->v[k].speed, line.flop, line.bytes);

            if (seconds > 0)
                ml_push(cx, &line.points,
                        ((ml_RoofPoint){list->v[k].version, seconds,
                                        list->v[k].version == sh->version, (double)NAN}));
        }
        ml_roofline_draw(&line, width < ROOF_WIDEST ? width : ROOF_WIDEST,
                         height < ROOF_ROWS ? height : ROOF_ROWS, &t);
        ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
        ml_rows_add_lines(r, ML_ROLE_TEXT, ml_text_z(&t));
    }
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

static void put_machine(ml_View *v, ml_Rows *r)
{
    const ml_Machine *m = ml_machine_known(r->cx, ml_host_engine(v->ss->host));
    ml_Text t = {0};

    ml_rows_add(r, ML_ROLE_TEXT, "%s", "");
    if (m == NULL) {
        ml_error_clear(r->cx);
        ml_rows_add(r, ML_ROLE_DIM, "the machine was not measured yet: :machine");
        return;
    }
    ml_machine_report(m, &t);
    size_t at = r->v.n;

    ml_rows_add_lines(r, ML_ROLE_TEXT, ml_text_z(&t));
    r->v.v[at].role = ML_ROLE_STRONG;
    ml_text_free(&t);
}

void ml_pane_perf(ml_View *v, ml_Rows *r)
{
    TimedList list = {0};
    ml_Shown sh;

    if (!ml_pane_shows(v, r, &sh))
        return;
    put_versions(v, r, &sh, &list);
    put_roofs(v, r, &sh, &list);
    put_machine(v, r);
}

void ml_pane_perf_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    ml_Shown sh;
    ml_Step step;

    if (!v->ss->focus || !ml_pane_shows(v, r, &sh))
        return;
    for (int k = 0, n = ml_schedule_n_versions(sh.s); k < n; k++)
        out->rows += ml_version_step(sh.s, k, &step) && step.speed;
    out->rows += out->rows == 0;
    out->rows += has_roofs(v, r, &sh) ? ROOF_ROWS + 1 : 0;
    put_machine(v, r);
    out->rows += (int)r->v.n;
    ml_want_rows(out, r, ROOF_WIDEST);
}
