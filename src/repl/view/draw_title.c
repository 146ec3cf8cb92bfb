/*
 * draw_title - the first row: what is worked on, how fast it is, and how that came about.
 * Source: interaction 10.
 */
#include "repl/view/view.h"

#include <stdlib.h>

#include "moonloop/codegen/target/target.h"
#include "moonloop/work/roofs.h"
#include "moonloop/work/say.h"
#include "repl/host/host.h"

enum { SPARKS = 16 };

/* One bar for each timed version on the way from the start to the current one. */
static void add_sparks(ml_Schedule *s, ml_Text *out)
{
    static const char *const BARS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double speed[SPARKS], most = 0;
    int n = 0;
    ml_Step step;

    for (int at = ml_schedule_version(s); at >= 0 && n < SPARKS;) {
        if (!ml_version_step(s, at, &step))
            break;
        double x = ml_speed_read(step.speed, NULL);

        if (x > 0)
            speed[n++] = x;
        most = x > most ? x : most;
        at = step.parent;
    }
    if (n < 2)
        return;
    ml_text_add(out, "  ");
    while (n-- > 0) {
        int k = (int)(speed[n] / most * 7.999);

        ml_text_add(out, BARS[k < 0 ? 0 : k > 7 ? 7 : k]);
    }
}

/* Of its roof, the peak or the bandwidth, as that was measured before, for the start's type: nothing is measured here, and
 * it is worked out once for each timing. */
static double share_of_peak(ml_View *v, ml_Schedule *s, const char *speed)
{
    ml_Engine *e = ml_host_engine(v->ss->host);
    ml_TimingOpts o = {0};
    ml_Roofline line;

    ml_Text of = {0};

    ml_text_fmt(&of, "%s %s", ml_schedule_name(s), speed);
    bool same = ml_streq(ml_text_z(&of), ml_text_z(&v->share_of));

    ml_text_clear(&v->share_of);
    ml_text_add(&v->share_of, ml_text_z(&of));
    ml_text_free(&of);
    if (same)
        return v->share;
    v->share = 0;
    ml_SpeedKind kind;
    double rate = ml_speed_read(speed, &kind);

    if (!ml_schedule_func(s) || kind == ML_SPEED_TIME)
        return 0;
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(s));
    const ml_Machine *m = ml_machine_known(cx, e);

    if (m && m->full && ml_roofline_roofs(cx, e, s, ml_schedule_func_pos(s), &o, &line)) {
        double roof = kind == ML_SPEED_BYTES ? line.roof.bandwidth : line.peak;

        v->share = roof > 0 ? rate / roof : 0;
    }
    ml_ctx_unref(cx);
    return v->share;
}

void ml_view_draw_title(ml_View *v)
{
    ml_Schedule *s = v->ss->focus;
    ml_Rect in = ml_view_row_rect(v, 0);
    ml_Text left = {0}, right = {0};
    const char *marks, *speed = "";
    ml_Step step;

    ml_grid_fill(&v->grid, in, ML_ROLE_TITLE);
    if (s) {
        int version = ml_schedule_version(s);

        ml_text_fmt(&left, " %s", ml_schedule_name(s));
        if (ml_schedule_branch_name(s))
            ml_text_fmt(&left, ":%s", ml_schedule_branch_name(s));
        ml_text_fmt(&left, " v%d", version);
        marks = ml_schedule_marks_of(s, version);
        if (marks)
            ml_text_fmt(&left, " «%s»", marks);
        if (ml_version_step(s, version, &step) && step.speed) {
            double share = v->busy ? v->share : share_of_peak(v, s, step.speed);

            speed = step.speed;
            ml_text_add(&right, speed);
            if (share > 0)
                ml_text_fmt(&right, "  %.*f %% of %s", share < 0.0995, 100 * share,
                            strstr(speed, "FLOP") ? "peak" : "roof");
        }
        add_sparks(s, &right);
    } else {
        ml_text_add(&left, " moonloop");
    }
    int used = ml_grid_put_cut(&v->grid, in, 0, 0, ml_text_z(&left), ML_ROLE_TITLE);
    int wide = ml_grid_columns(&v->grid, ml_text_z(&right), right.n);
    int at = v->grid.w - wide - 1;

    if (right.n && at <= used + 1) { /* the speed alone, where there is no room for all */
        ml_text_clear(&right);
        ml_text_add(&right, speed);
        at = v->grid.w - ml_grid_columns(&v->grid, speed, right.n) - 1;
    }
    if (right.n && at > used + 1)
        ml_grid_put(&v->grid, in, at, 0, ml_text_z(&right), ML_ROLE_STRONG);
    else
        at = v->grid.w;
    ml_text_clear(&left);
    const char *target = ml_setting_word(&v->ss->set, ML_SET_target);
    const char *threads = ml_setting_word(&v->ss->set, ML_SET_threads);

    if (*target)
        ml_text_add(&left, target);
    else {
        ml_Target host = ml_target_host();
        long n = ml_setting_count(threads, 1 << 16);

        ml_text_fmt(&left, "llvm, %ld thread%s", n > 0 ? n : (long)ml_threads(&host),
                    (n > 0 ? n : (long)ml_threads(&host)) == 1 ? "" : "s");
    }
    if (used + 3 + (int)left.n < at - 1)
        ml_grid_put(&v->grid, in, used + 3, 0, ml_text_z(&left), ML_ROLE_DIM);
    ml_text_free(&left);
    ml_text_free(&right);
}
