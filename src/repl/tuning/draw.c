/*
 * draw - the board in a grid of any size.
 *
 * From the top: the search and how far it is, its best, the curve with facts beside or below
 * it, tasks, the fastest against the first, a note, the keys. What has no room is left out:
 * facts and table first, then the curve. Source: interaction 11.
 */
#include "repl/tuning/board.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "repl/session/progress.h"

/* ---- pieces of text, one behind the other */

typedef struct Flow {
    ml_Grid *g;
    ml_Rect in;
    int x, y; /* in it */
    bool full;
} Flow;

static void put_piece(Flow *f, ml_CellRole role, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Behind the last one, two columns away, or in the next row; whole, or cut where a row has
 * not enough for it. */
static void put_piece(Flow *f, ml_CellRole role, const char *fmt, ...)
{
    enum { BETWEEN = 2 };
    ml_Text t = {0};
    va_list args;
    char z[512];

    va_start(args, fmt);
    vsnprintf(z, sizeof z, fmt, args);
    va_end(args);
    ml_text_add(&t, z);
    int wide = ml_grid_columns(f->g, ml_text_z(&t), t.n);

    if (f->x > 0 && f->x + BETWEEN + wide > f->in.w) {
        f->x = 0;
        f->y++;
    } else if (f->x > 0)
        f->x += BETWEEN;
    f->full = f->full || f->y >= f->in.h;
    if (!f->full && t.n) {
        ml_grid_put_cut(f->g, f->in, f->in.x + f->x, f->in.y + f->y, ml_text_z(&t), role);
        f->x += wide;
    }
    ml_text_free(&t);
}

static int rows_of(const Flow *f)
{
    int n = f->y + (f->x > 0);

    return n < f->in.h ? n : f->in.h;
}

/* ---- the first rows */

static void speed(const ml_Board *b, double seconds, ml_Text *t)
{
    if (b->amount.n > 0) {
        ml_text_giga(t, b->amount, seconds);
        ml_text_fmt(t, " %s", ml_rate_unit(b->amount));
    } else
        ml_text_seconds(t, seconds);
}

void ml_board_done(const ml_Board *b, ml_Text *t)
{
    ml_text_fmt(t, "%lld", (long long)b->st.done);
    if (b->st.total)
        ml_text_fmt(t, "/%lld", (long long)b->st.total);
    ml_text_add(t, " trials");
}

enum {
    WIDE = 64, /* columns from which a row each does for the search and its best */
    RIGHT = 38 /* columns for trials and times */
};

static int put_title(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    ml_Text done = {0}, t = {0};
    Flow f = {.g = g, .in = in};
    const ml_TuneStatus *s = &b->st;

    ml_board_done(b, &done);
    ml_text_add(&t, "tune ");
    ml_text_add(&t, b->name);
    put_piece(&f, ML_ROLE_STRONG, "%s", ml_text_z(&t));
    for (int k = 2; in.w >= WIDE && k > 0; k--) { /* with the strategy, without it, none */
        ml_text_clear(&t);
        ml_text_fmt(&t, "%s   seed %lld", b->target, (long long)b->seed);
        if (b->with && k == 2)
            ml_text_fmt(&t, "   %s", b->with);
        if (f.x + 2 + ml_grid_columns(g, ml_text_z(&t), t.n) + 2 + RIGHT > in.w)
            continue;
        put_piece(&f, ML_ROLE_DIM, "%s", ml_text_z(&t));
        break;
    }
    if (in.w >= WIDE && f.x + 2 < in.w - RIGHT)
        f.x = in.w - RIGHT;
    put_piece(&f, ML_ROLE_NUMBER, "%s", ml_text_z(&done));
    ml_text_clear(&t);
    ml_text_duration(&t, s->elapsed);
    put_piece(&f, ML_ROLE_TEXT, "%s", ml_text_z(&t));
    ml_text_clear(&t);
    if (b->paused)
        put_piece(&f, ML_ROLE_NOTE, "paused");
    else if (!b->over && !(s->elapsed > 0)) /* the start version is run, for reference */
        put_piece(&f, ML_ROLE_NOTE, "starting");
    else if (b->over)
        put_piece(&f, ML_ROLE_OK, "ended");
    else if (isfinite(s->eta)) {
        ml_text_add(&t, "eta ");
        ml_text_duration(&t, s->eta);
        put_piece(&f, ML_ROLE_TEXT, "%s", ml_text_z(&t));
    }
    ml_text_free(&t);
    ml_text_free(&done);
    return rows_of(&f);
}

/* Of several programs. */
static void put_sum(const ml_Board *b, Flow *f)
{
    size_t over = 0;
    ml_Text t = {0};

    for (size_t k = 0; k < b->tasks.n; k++)
        over += b->tasks.v[k].over;
    if (b->st.best > 0)
        ml_text_seconds(&t, b->st.best);
    else
        ml_text_add(&t, "not known yet");
    put_piece(f, ML_ROLE_STRONG, "sum of weighted times %s", ml_text_z(&t));
    if (b->without)
        put_piece(f, ML_ROLE_NOTE, "without %zu of %zu tasks", b->without, b->tasks.n);
    if (over)
        put_piece(f, ML_ROLE_DIM, "%zu done", over);
    ml_text_free(&t);
}

static int put_best(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    const ml_TuneStatus *s = &b->st;
    double gain = ml_board_last_gain(b);
    Flow f = {.g = g, .in = in};
    ml_Text t = {0};

    if (b->tasks.n) {
        put_sum(b, &f);
        return rows_of(&f);
    }
    if (!(s->best > 0)) {
        put_piece(&f, ML_ROLE_DIM, "%s",
                  s->elapsed > 0 ? "no best yet"
                                 : "the start version is run, for reference");
        return rows_of(&f);
    }
    speed(b, s->best, &t);
    put_piece(&f, ML_ROLE_STRONG, "best %s", ml_text_z(&t));
    if (b->roof > 0 && b->amount.n > 0)
        put_piece(&f, ML_ROLE_TEXT, "%.1f %% of %s", 100 * b->amount.n / s->best / b->roof,
                  b->amount.bytes ? "the bandwidth" : "peak");
    put_piece(&f, ML_ROLE_TEXT, "record %lld", (long long)s->best_record);
    if (b->start > 0)
        put_piece(&f, ML_ROLE_TEXT,
                  b->start / s->best < 10 ? "×%.1f of start" : "×%.0f of start",
                  b->start / s->best);
    if (!isnan(gain))
        put_piece(&f, gain > 0 ? ML_ROLE_OK : ML_ROLE_DIM, "last gen +%.1f %%", 100 * gain);
    ml_text_free(&t);
    return rows_of(&f);
}

/* ---- facts, most important first */

typedef ML_VEC(const char *) Facts;

static const char *keep(ml_Ctx *cx, ml_Text *t)
{
    const char *z = ml_strdup(cx, ml_str(ml_text_z(t)));

    ml_text_clear(t);
    return z;
}

static void add_failures(const ml_Board *b, ml_Text *t)
{
    static const char *const NAMES[] = {"replay", "build", "run", "verify", "timeout"};
    const char *between = ": ";
    int64_t n = ml_board_failures(b);

    if (n == 0) {
        ml_text_add(t, "failed none");
        return;
    }
    ml_text_fmt(t, "failed %lld", (long long)n);
    for (size_t k = ML_PHASE_BUILD; k < ML_PHASES; k++)
        if (b->st.failed[k]) {
            ml_text_fmt(t, "%s%s %lld", between, NAMES[k], (long long)b->st.failed[k]);
            between = ", ";
        }
}

static void add_model(const ml_Board *b, ml_Text *t)
{
    double c = ml_board_correlation(b), regret = ml_board_regret(b);

    if (b->model)
        ml_text_fmt(t, "model %s", b->model);
    else
        ml_text_add(t, "predicted against measured");
    if (b->samples)
        ml_text_fmt(t, " of %zu samples", b->samples);
    if (!isnan(c))
        ml_text_fmt(t, ": rank correlation %.2f", c);
    if (!isnan(regret))
        ml_text_fmt(t, ", regret %.0f %%", 100 * regret);
}

static void add_sketch(const ml_Board *b, const ml_BoardSketch *s, ml_Text *t)
{
    ml_text_fmt(t, "%s %lld tried", s->name, (long long)s->measured);
    if (s->failed)
        ml_text_fmt(t, ", %lld failed", (long long)s->failed);
    if (s->best > 0 && b->st.best > 0)
        ml_text_fmt(t, ", %.0f %% of best", 100 * b->st.best / s->best);
    if (s->points)
        ml_text_fmt(t, ", %lld thought of", (long long)s->points);
    if (s->share > 0)
        ml_text_fmt(t, ", %.0f %% of the next", 100 * s->share);
}

/* Of several programs: of the search that is at work. */
static void find_task_facts(const ml_Board *b, ml_Ctx *cx, Facts *out)
{
    ml_Text t = {0};

    if (*b->why)
        ml_push(cx, out, b->why);
    if (b->with)
        ml_text_fmt(&t, "%s, gen %lld", b->with, (long long)b->st.generation);
    if (b->model)
        ml_text_fmt(&t, "%smodel %s", t.n ? ", " : "", b->model);
    if (t.n)
        ml_push(cx, out, keep(cx, &t));
    if (ml_board_failures(b))
        ml_text_fmt(&t, "failed %lld", (long long)ml_board_failures(b));
    else
        ml_text_add(&t, "failed none");
    ml_push(cx, out, keep(cx, &t));
    ml_push(cx, out, "curve: how often a second all of them could run");
    ml_text_free(&t);
}

static void find_facts(const ml_Board *b, ml_Ctx *cx, Facts *out)
{
    const ml_TuneStatus *s = &b->st;
    double spent = s->search_seconds + s->build_seconds + s->run_seconds;
    ml_Text t = {0};

    if (b->tasks.n) {
        find_task_facts(b, cx, out);
        return;
    }
    ml_text_fmt(&t, "gen %lld", (long long)s->generation);
    if (b->points)
        ml_text_fmt(&t, ", population %lld", (long long)b->points);
    ml_push(cx, out, keep(cx, &t));
    add_failures(b, &t);
    ml_push(cx, out, keep(cx, &t));
    if (b->model || !isnan(ml_board_correlation(b))) {
        add_model(b, &t);
        ml_push(cx, out, keep(cx, &t));
    }
    if (spent > 0) {
        ml_text_fmt(&t, "search %.0f %%  build %.0f %%  run %.0f %%",
                    100 * s->search_seconds / spent, 100 * s->build_seconds / spent,
                    100 * s->run_seconds / spent);
        ml_push(cx, out, keep(cx, &t));
    }
    for (size_t k = 0; k < b->gains.n && k < 4; k++)
        ml_text_fmt(&t, "%s%s %.0f %%", k ? ", " : "decides: ", b->gains.v[k].what,
                    100 * b->gains.v[k].share);
    if (t.n)
        ml_push(cx, out, keep(cx, &t));
    for (size_t k = 0; k < b->sketches.n; k++)
        if (b->sketches.v[k].measured || b->sketches.v[k].points) {
            add_sketch(b, &b->sketches.v[k], &t);
            ml_push(cx, out, keep(cx, &t));
        }
    ml_text_free(&t);
}

/* Each in rows of its own, as far as there is room; the rows. */
static int put_facts(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    ml_Ctx *cx = ml_ctx_new(0);
    Facts facts = {0};
    int y = 0;

    find_facts(b, cx, &facts);
    for (size_t k = 0; k < facts.n && y < in.h; k++) {
        ml_Rect at = {in.x, in.y + y, in.w, in.h - y};

        if (ml_grid_folded(g, facts.v[k], in.w) > at.h)
            break;
        y += ml_grid_put_folded(g, at, facts.v[k],
                                strncmp(facts.v[k], "failed ", 7) == 0 &&
                                        ml_board_failures(b) > 0
                                    ? ML_ROLE_ERROR
                                    : ML_ROLE_TEXT);
    }
    ml_ctx_unref(cx);
    return y;
}

/* ---- the fastest */

static int rate_columns(const ml_Board *b)
{
    return b->amount.n > 0 ? (int)strlen(ml_rate_unit(b->amount)) : 9;
}

static void put_rank(const ml_Board *b, ml_Grid *g, ml_Rect row, size_t k, int wide)
{
    const ml_BoardRank *r = &b->rank[k];
    bool both = row.w >= 110, record = row.w >= 60;
    ml_Text t = {0}, speed = {0};

    if (b->amount.n > 0)
        ml_text_giga(&speed, b->amount, r->seconds);
    else
        ml_text_fmt(&speed, "%.4f", r->seconds * 1e3);
    ml_text_fmt(&t, "%4zu %*s", k + 1, wide, ml_text_z(&speed));
    if (record)
        ml_text_fmt(&t, " %7lld", (long long)r->record);
    ml_text_add(&t, "  ");
    int x = ml_grid_columns(g, ml_text_z(&t), t.n);

    ml_grid_put(g, row, row.x, row.y, ml_text_z(&t), ML_ROLE_NUMBER);
    if (both) {
        ml_Rect mid = {row.x + x, row.y, (row.w - x) * 5 / 9, 1};
        ml_Rect end = {mid.x + mid.w, row.y, row.w - x - mid.w, 1};

        mid.w -= 2;
        ml_grid_put_cut(g, mid, mid.x, mid.y, k ? r->against : "the best", ML_ROLE_TEXT);
        ml_grid_put_cut(g, end, end.x, end.y, r->design, ML_ROLE_DIM);
    } else {
        ml_grid_put_cut(g, row, row.x + x, row.y, *r->against ? r->against : r->design,
                        *r->against ? ML_ROLE_TEXT : ML_ROLE_STRONG);
    }
    ml_text_free(&t);
    ml_text_free(&speed);
}

static void put_table(const ml_Board *b, ml_Grid *g, ml_Rect in, int cursor)
{
    int wide = rate_columns(b), first = 0, room = in.h - 1;
    ml_Text t = {0};

    ml_text_fmt(&t, "rank %*s", wide, b->amount.n > 0 ? ml_rate_unit(b->amount) : "ms");
    if (in.w >= 60)
        ml_text_add(&t, "  record");
    ml_text_add(&t, in.w >= 60 ? "  against the best" : "  against best");
    ml_grid_fill(g, (ml_Rect){in.x, in.y, in.w, 1}, ML_ROLE_TEXT);
    ml_grid_put_cut(g, in, in.x, in.y, ml_text_z(&t), ML_ROLE_DIM);
    if (in.w >= 110) {
        int x = 4 + 1 + wide + 8 + 2;

        ml_grid_put(g, in, in.x + x + (in.w - x) * 5 / 9, in.y, "design", ML_ROLE_DIM);
    }
    ml_text_free(&t);
    if (cursor >= room)
        first = cursor - room + 1;
    for (int y = 0; y < room && (size_t)(first + y) < b->n_ranks; y++) {
        ml_Rect row = {in.x, in.y + 1 + y, in.w, 1};

        put_rank(b, g, row, (size_t)(first + y), wide);
        if (first + y == cursor)
            ml_grid_attr(g, row, ML_ATTR_ON_CURSOR);
    }
}

/* ---- all of it */

enum {
    FACTS_BESIDE = 72, /* columns from which they stand beside the curve */
    CURVE_LEAST = 4,
    CURVE_MOST = 14
};

static int put_middle(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    int facts = in.w >= 110 ? in.w * 2 / 5 : 36;

    if (in.w >= FACTS_BESIDE) {
        ml_board_curve(b, g, (ml_Rect){in.x, in.y, in.w - facts - 2, in.h});
        put_facts(b, g, (ml_Rect){in.x + in.w - facts, in.y, facts, in.h});
        return in.h;
    }
    int curve = in.h > 8 ? in.h - 4 : in.h;

    ml_board_curve(b, g, (ml_Rect){in.x, in.y, in.w, curve});
    return curve + put_facts(b, g, (ml_Rect){in.x, in.y + curve, in.w, in.h - curve});
}

int ml_board_draw(const ml_Board *b, ml_Grid *g, ml_Rect in, const ml_BoardLook *look)
{
    int y = 0, below = (look->keys && *look->keys ? 1 : 0) + (*b->note != '\0'), table,
        middle;
    bool narrow = in.w < WIDE;

    ml_grid_fill(g, in, ML_ROLE_TEXT);
    y += put_title(b, g, (ml_Rect){in.x, in.y, in.w, narrow && in.h >= 14 ? 2 : 1});
    y += put_best(b, g,
                  (ml_Rect){in.x, in.y + y, in.w,
                            !narrow      ? 1
                            : in.h >= 20 ? 3
                            : in.h >= 12 ? 2
                                         : 1});
    if (y > in.h) /* one row */
        y = in.h;
    int left = in.h - y - below;

    if (b->tasks.n && left >= 4) {
        int n = (int)b->tasks.n + 1, most = left - CURVE_MOST;

        most = most > left / 2 ? most : left / 2;
        n = n < most ? n : most;
        y += ml_board_put_tasks(b, g, (ml_Rect){in.x, in.y + y, in.w, n}, look->cursor);
        left = in.h - y - below;
    }
    table = (int)b->n_ranks + 1;
    table = left < CURVE_LEAST + 3 ? 0 : table < left - left / 2 ? table : left - left / 2;
    table = b->n_ranks ? table : 0;
    middle = left - table;
    if (middle > CURVE_MOST && in.w >= FACTS_BESIDE)
        middle = CURVE_MOST;
    if (middle >= 3)
        y += put_middle(b, g, (ml_Rect){in.x, in.y + y, in.w, middle});
    table = in.h - y - below;
    if (b->n_ranks && table > (int)b->n_ranks + 1)
        table = (int)b->n_ranks + 1;
    if (b->n_ranks && table >= 2) {
        put_table(b, g, (ml_Rect){in.x, in.y + y, in.w, table}, look->cursor);
        if (look->at)
            *look->at = (ml_BoardAt){y + 1, table - 1};
        y += table;
    }
    if (*b->note && y < in.h)
        ml_grid_put_cut(g, in, in.x, in.y + y++, b->note, ML_ROLE_NOTE);
    if (look->keys && *look->keys && y < in.h)
        ml_grid_put_cut(g, in, in.x, in.y + y++, look->keys, ML_ROLE_KEY);
    return y;
}
