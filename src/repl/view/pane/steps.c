/*
 * steps - pane 5: the versions as a tree, one row each.
 *
 * A branch stands indented below the version that it comes from, the line that leads to the
 * current version goes on at the same indentation. Source: interaction 6, 10.
 */
#include "repl/show/versions.h"
#include "repl/view/pane/panes.h"

/* `[4]`, or what was dropped: `[3]…[9]`. */
static void put_number(ml_Rows *r, const ml_VersionEntry *e, bool known)
{
    if (e->last > e->version)
        ml_rows_put(r, ML_ROLE_DIM, "[%d]…[%d]", e->version, e->last);
    else
        ml_rows_put(r, known ? ML_ROLE_KEY : ML_ROLE_DIM, "[%d]", e->version);
}

static void put_joint(ml_Rows *r, const ml_VersionEntry *e)
{
    enum { MOST = 8 }; /* deeper ones stand there, too */
    int side = e->joint == ML_JOINT_SIDE, depth = e->depth - side;

    for (int k = 0; k < depth && k < MOST; k++)
        ml_rows_put(r, ML_ROLE_BORDER, "│");
    if (side)
        ml_rows_put(r, ML_ROLE_BORDER, "├");
}

/* The call, shortest: `split j {auto, 16}`. */
static void put_call(ml_Rows *r, const ml_Step *step)
{
    const char *p = step->line + strlen(step->prim->name);
    size_t n = strlen(p);
    bool in_string = false;
    int depth = 0;

    ml_rows_put(r, ML_ROLE_PRIMITIVE, "%s", step->prim->name);
    if (strncmp(step->line, step->prim->name, strlen(step->prim->name)) != 0) {
        ml_rows_put(r, ML_ROLE_TEXT, " %s", step->line);
        return;
    }
    if (n >= 2 && p[0] == '(' && p[n - 1] == ')') {
        p++;
        n -= 2;
    }
    if (n > 0)
        ml_rows_put(r, ML_ROLE_TEXT, " ");
    for (size_t k = 0; k < n; k++) {
        if (p[k] == '"') {
            in_string = !in_string;
            continue;
        }
        if (!in_string)
            depth += (p[k] == '{') - (p[k] == '}');
        if (in_string || depth > 0 || p[k] != ',') /* else the blank parts them */
            ml_rows_put_n(r, ML_ROLE_TEXT, p + k, 1);
    }
}

static void put_marks(ml_Rows *r, ml_Schedule *s, int version, const ml_Step *step,
                      int column)
{
    const char *marks = ml_schedule_marks_of(s, version);
    const char *branch = ml_version_branch(s, version);

    if (step->speed) {
        ml_rows_pad(r, column - (int)ml_columns(step->speed), 2);
        ml_rows_put(r, ML_ROLE_NUMBER, "%s", step->speed);
    }
    if (step->check)
        ml_rows_put(r, ml_streq(step->check, "ok") ? ML_ROLE_OK : ML_ROLE_ERROR, "  %s",
                    ml_streq(step->check, "ok") ? "✓" : step->check);
    if (marks)
        ml_rows_put(r, ML_ROLE_MATCH, "  «%s»", marks);
    if (branch)
        ml_rows_put(r, ML_ROLE_NOTE, "  [%s]", branch);
}

static void put_step(ml_Rows *r, const ml_Shown *sh, const ml_VersionEntry *e, int column)
{
    bool known = ml_version_known(sh->s, e->version);
    ml_Step step;
    ml_Row *row;

    put_joint(r, e);
    put_number(r, e, known);
    ml_rows_put(r, ML_ROLE_TEXT, " ");
    if (!known || !ml_version_step(sh->s, e->version, &step))
        ml_rows_put(r, ML_ROLE_DIM, "dropped");
    else if (step.prim)
        put_call(r, &step);
    else
        ml_rows_put(r, ML_ROLE_STRONG, "%s", "the start");
    if (known)
        put_marks(r, sh->s, e->version, &step, column);
    if (e->version == sh->version)
        ml_rows_put(r, ML_ROLE_CURSOR, " ◀");
    row = ml_rows_end(r);
    row->depth = (uint16_t)(e->depth < UINT16_MAX ? e->depth : UINT16_MAX);
    row->version = known ? e->version : -1;
}

/* Where speeds end: behind most calls, as far as the pane is wide enough. */
static int speed_column(const ml_View *v, const ml_Shown *sh, const ml_VersionOrder *order)
{
    enum { TAIL = 6 }; /* for ✓ and ◀ */
    int most = ml_pane_width(v, ML_PANE_STEPS) - TAIL, column = 0;
    ml_Step step;

    for (size_t k = 0; k < order->n; k++) {
        const ml_VersionEntry *e = &order->v[k];
        int n;

        if (!ml_version_known(sh->s, e->version) ||
            !ml_version_step(sh->s, e->version, &step) || !step.speed)
            continue;
        n = e->depth + 6 + (int)strlen(step.line ? step.line : "the start") +
            (int)ml_columns(step.speed);
        column = n > column && n <= most ? n : column;
    }
    return column > 0 ? column : most;
}

void ml_pane_steps(ml_View *v, ml_Rows *r)
{
    ml_VersionOrder order = {0};
    ml_Shown sh;
    int column;

    if (!ml_pane_shows(v, r, &sh))
        return;
    ml_version_order(r->cx, sh.s, &order);
    column = speed_column(v, &sh, &order);
    for (size_t k = 0; k < order.n; k++)
        put_step(r, &sh, &order.v[k], column);
}

void ml_pane_steps_wants(ml_View *v, ml_Rows *r, ml_Want *out)
{
    enum { EACH = 4, COLUMNS = 40 }; /* a step more moves no border */
    ml_VersionOrder order = {0};
    ml_Shown sh;

    if (!v->ss->focus || !ml_pane_shows(v, r, &sh))
        return;
    ml_version_order(r->cx, sh.s, &order);
    out->rows = (int)order.n;
    out->more = EACH - 1 - (int)(order.n + EACH - 1) % EACH;
    out->columns = COLUMNS;
}
