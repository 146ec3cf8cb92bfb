/* table - see table.h. */
#include "repl/show/table.h"

#include <math.h>

#include "moonloop/work/say.h"
#include "repl/screen/grid.h"

enum { GAP = 2, DOTS = 3 /* columns of `  …` */ };

typedef struct Cell {
    size_t row;
    ml_Number n;
    const char *text;      /* what is shown; of a number made when its unit is known */
    size_t columns, point; /* of all of it; before the decimal point */
} Cell;

typedef struct Column {
    size_t group;
    const char *head;
    ML_VEC(Cell) cells;  /* ascending by row */
    size_t whole, parts; /* columns before and behind the decimal point */
    size_t width;
} Column;

typedef struct Group {
    const char *name;
    ml_Unit unit;
    bool one;
    double most;       /* of its numbers */
    const char *shown; /* the name with its unit */
    double scale;
} Group;

typedef struct Row {
    const char *label;
    bool loop;
} Row;

struct ml_Table {
    ml_Ctx *cx;
    const char *title, *head;
    const ml_Names *names;
    bool ascii;
    ML_VEC(Group) groups;
    ML_VEC(Column) columns;
    ML_VEC(Row) rows;
    size_t label; /* columns of the labels that numbers stand beside */
    size_t most;  /* columns that a head may have */
    size_t left;  /* columns that the caller has left out */
};

ml_Table *ml_table_new(ml_Ctx *cx, const char *title, const char *head,
                       const ml_Names *names, bool ascii)
{
    ml_Table *t = ML_NEW(cx, ml_Table);

    *t = (ml_Table){.cx = cx, .title = title, .head = head, .names = names, .ascii = ascii};
    return t;
}

size_t ml_table_group(ml_Table *t, const char *name, ml_Unit unit, bool one)
{
    ml_push(t->cx, &t->groups, ((Group){.name = name, .unit = unit, .one = one}));
    if (one)
        ml_push(t->cx, &t->columns, ((Column){.group = t->groups.n - 1, .head = ""}));
    return t->groups.n - 1;
}

void ml_table_row(ml_Table *t, const char *label, bool loop)
{
    ml_push(t->cx, &t->rows, ((Row){ml_strdup(t->cx, ml_str(label)), loop}));
}

/* The column of that head; a new one stands behind those of its group. */
static Column *column_of(ml_Table *t, size_t group, const char *head)
{
    size_t at = t->columns.n;

    head = head ? head : "";
    for (size_t k = 0; k < t->columns.n; k++)
        if (t->columns.v[k].group == group && strcmp(t->columns.v[k].head, head) == 0)
            return &t->columns.v[k];
    ml_push(t->cx, &t->columns, ((Column){.group = group}));
    for (; at > 0 && t->columns.v[at - 1].group > group; at--)
        t->columns.v[at] = t->columns.v[at - 1];
    t->columns.v[at] = (Column){.group = group, .head = ml_strdup(t->cx, ml_str(head))};
    return &t->columns.v[at];
}

void ml_table_put_text(ml_Table *t, size_t group, const char *head, const char *text)
{
    Column *c = column_of(t, group, head);

    ml_push(t->cx, &c->cells,
            ((Cell){.row = t->rows.n - 1, .text = ml_strdup(t->cx, ml_str(text))}));
}

void ml_table_put(ml_Table *t, size_t group, const char *head, ml_Number n)
{
    Column *c = column_of(t, group, head);
    Group *g = &t->groups.v[group];

    if (n.how != ML_UNKNOWN && !n.expr)
        g->most = fmax(g->most, fabs((double)n.n));
    ml_push(t->cx, &c->cells, ((Cell){.row = t->rows.n - 1, .n = n}));
}

/* ---- units */

/* Whole numbers as long as they can be read, else the first unit in which they can. */
static void choose_unit(ml_Table *t, Group *g)
{
    static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    bool binary = g->unit == ML_UNIT_BYTES;
    double longest = binary ? 1e8 : 1e10;
    size_t k = 0;

    for (g->scale = 1; g->most / g->scale >= longest && k + 1 < ML_COUNT(prefix); k++)
        g->scale *= binary ? 1024 : 1000;
    g->shown = g->name;
    if (binary)
        g->shown = ml_format(t->cx, "%s%s", bytes[k], g->name);
    else if (k > 0)
        g->shown = ml_format(t->cx, g->unit == ML_UNIT_SHORT ? "%s%s" : "%s %s", prefix[k],
                             g->name);
}

static void text_scaled(ml_Text *out, int64_t n, double scale)
{
    double v = (double)n / scale;

    if (scale <= 1 || n % (int64_t)scale == 0)
        ml_text_thousands(out, scale <= 1 ? n : n / (int64_t)scale);
    else if (v >= 99.95)
        ml_text_thousands(out, (int64_t)(v + 0.5));
    else if (v >= 0.995)
        ml_text_fmt(out, "%.*f", v < 9.995 ? 2 : 1, v);
    else
        ml_text_fmt(out, "%.2g", v);
}

static void make_text(ml_Table *t, const Group *g, Cell *c)
{
    ml_Text z = {0};

    if (!c->text && (c->n.how == ML_UNKNOWN || c->n.expr))
        ml_text_number(t->cx, &z, c->n, ML_UNIT_COUNT, t->names, t->ascii);
    else if (!c->text) {
        if (c->n.how == ML_AT_MOST)
            ml_text_add(&z, t->ascii ? "<= " : "≤ ");
        text_scaled(&z, c->n.n, g->scale);
    }
    if (!c->text)
        c->text = ml_strdup(t->cx, ml_str(ml_text_z(&z)));
    ml_text_free(&z);
    const char *point = strchr(c->text, '.');

    c->columns = ml_columns(c->text);
    c->point = point ? ml_columns_to(c->text, point) : c->columns;
}

/* ---- layout */

/* Its beginning and its end, by which long names differ, with … between. */
static const char *shorten(const ml_Table *t, const char *name)
{
    size_t n = ml_columns(name), columns = 0, head = t->most / 3;
    const char *p = name;

    if (n <= t->most)
        return name;
    while (columns + (t->most - head - 1) < n)
        p = ml_next_char(p, &columns);
    return ml_format(t->cx, "%.*s…%s", (int)ml_columns_fit(name, head), name, p);
}

static const char *head_of(const ml_Table *t, const Column *c)
{
    const Group *g = &t->groups.v[c->group];

    return shorten(t, g->one ? g->shown : c->head);
}

static void measure_column(ml_Table *t, Column *c)
{
    size_t head = ml_columns(head_of(t, c));

    for (size_t k = 0; k < c->cells.n; k++) {
        Cell *one = &c->cells.v[k];

        make_text(t, &t->groups.v[c->group], one);
        c->whole = one->point > c->whole ? one->point : c->whole;
        if (one->columns - one->point > c->parts)
            c->parts = one->columns - one->point;
    }
    if (head > c->whole + c->parts)
        c->whole = head - c->parts;
    c->width = c->whole + c->parts;
}

static void drop_empty_columns(ml_Table *t)
{
    size_t n = 0;

    for (size_t k = 0; k < t->columns.n; k++)
        if (t->columns.v[k].cells.n > 0)
            t->columns.v[n++] = t->columns.v[k];
    t->columns.n = n;
}

static void measure(ml_Table *t, size_t width)
{
    enum { LEAST = 8 };
    size_t most = width / 2;

    drop_empty_columns(t);
    for (size_t k = 0; k < t->rows.n; k++) {
        size_t n = ml_columns(t->rows.v[k].label);

        if (t->rows.v[k].loop && n > t->label && n <= most)
            t->label = n;
    }
    if (t->label < ml_columns(t->head) + 2)
        t->label = ml_columns(t->head) + 2;
    t->most = LEAST + t->label + GAP + DOTS;
    t->most = width > t->most ? width - t->label - GAP - DOTS : LEAST;
    for (size_t k = 0; k < t->groups.n; k++)
        choose_unit(t, &t->groups.v[k]);
    for (size_t k = 0; k < t->columns.n; k++)
        measure_column(t, &t->columns.v[k]);
}

/* Where the columns of a group end; *columns: what they take from there, and its name. */
static size_t end_of_group(const ml_Table *t, size_t from, size_t *columns)
{
    const Group *g = &t->groups.v[t->columns.v[from].group];
    size_t end = from, name = g->one ? 0 : ml_columns(g->shown);

    for (*columns = 0; end < t->columns.n && &t->groups.v[t->columns.v[end].group] == g;
         end++)
        *columns += GAP + t->columns.v[end].width;
    *columns = name + GAP > *columns ? name + GAP : *columns;
    return end;
}

/* The columns from there that fit; whole: rather none of a group than some. */
static size_t fit(const ml_Table *t, size_t from, size_t width, bool whole)
{
    size_t at = t->label, end = from, columns;

    while (end < t->columns.n) {
        size_t next = end_of_group(t, end, &columns);

        if (at + columns > width && (!whole || end == from))
            break;
        if (at + columns > width)
            return end;
        at += columns;
        end = next;
    }
    while (end < t->columns.n &&
           (end == from || at + GAP + t->columns.v[end].width <= width))
        at += GAP + t->columns.v[end++].width;
    return end;
}

/* Columns of blanks behind a column: the name of its group is longer than all of it. */
static size_t room_behind(const ml_Table *t, size_t k, size_t from, size_t end)
{
    const Column *c = &t->columns.v[k];
    const Group *g = &t->groups.v[c->group];
    size_t name = g->one ? 0 : ml_columns(g->shown), have = 0;

    if (k + 1 < end && c[1].group == c->group)
        return 0;
    for (; k + 1 > from && t->columns.v[k].group == c->group; k--)
        have += GAP + t->columns.v[k].width;
    return name + GAP > have ? name + GAP - have : 0;
}

/* ---- lines */

/* In that column, or behind what reaches into it. */
static void add_at(ml_Text *out, size_t *at, size_t column, const char *z)
{
    size_t blanks = column > *at ? column - *at : *at > 0 ? GAP : 0;

    ml_text_repeat(out, ' ', blanks);
    ml_text_add(out, z);
    *at += blanks + ml_columns(z);
}

static void print_heads(const ml_Table *t, size_t from, size_t end, bool cut, ml_Text *out)
{
    size_t at = 0, column = t->label;

    if (from == 0 && t->title)
        add_at(out, &at, 0, t->title);
    for (size_t k = from; k < end && t->title; k++) {
        const Group *g = &t->groups.v[t->columns.v[k].group];

        if (!g->one && (k == from || t->columns.v[k - 1].group != t->columns.v[k].group))
            add_at(out, &at, column + GAP, g->shown);
        column += GAP + t->columns.v[k].width + room_behind(t, k, from, end);
    }
    if (t->title)
        ml_text_char(out, '\n');
    at = 0;
    add_at(out, &at, 2, t->head);
    column = t->label;
    for (size_t k = from; k < end; k++) {
        const char *head = head_of(t, &t->columns.v[k]);

        column += GAP + t->columns.v[k].width;
        add_at(out, &at, column - ml_columns(head), head);
        column += room_behind(t, k, from, end);
    }
    ml_text_add(out, cut ? "  …\n" : "\n");
}

static const Cell *cell_at(const Column *c, size_t row)
{
    size_t lo = 0, hi = c->cells.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (c->cells.v[mid].row < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->cells.n && c->cells.v[lo].row == row ? &c->cells.v[lo] : NULL;
}

static void print_row(const ml_Table *t, size_t row, size_t from, size_t end, ml_Text *out)
{
    size_t at = 0, column = t->label;
    bool any = false;

    for (size_t k = from; k < end && !any; k++)
        any = cell_at(&t->columns.v[k], row) != NULL;
    if (from > 0 && !any)
        return;
    add_at(out, &at, 0, t->rows.v[row].label);
    if (any && at > t->label) {
        ml_text_char(out, '\n');
        at = 0;
    }
    for (size_t k = from; k < end; k++) {
        const Column *c = &t->columns.v[k];
        const Cell *one = cell_at(c, row);

        if (one)
            add_at(out, &at, column + GAP + c->whole - one->point, one->text);
        column += GAP + c->width + room_behind(t, k, from, end);
    }
    ml_text_char(out, '\n');
}

void ml_table_print(ml_Table *t, size_t width, bool all, const char *rest, ml_Text *out)
{
    size_t from = 0, end;

    measure(t, width);
    if (t->columns.n == 0)
        ml_text_fmt(out, "%s%s\n", t->title ? "" : "  ", t->title ? t->title : t->head);
    do {
        end = fit(t, from, width, all);
        if (!all && end < t->columns.n)
            end = fit(t, from, width - DOTS, false);
        if (t->columns.n > 0)
            print_heads(t, from, end, !all && end < t->columns.n, out);
        for (size_t k = 0; k < t->rows.n; k++)
            print_row(t, k, from, end, out);
        from = end;
    } while (all && from < t->columns.n);
    size_t more = t->columns.n - from + t->left;

    if (more > 0)
        ml_text_fmt(out, "  … %zu more column%s: %s\n", more, more == 1 ? "" : "s", rest);
}

void ml_table_leave_out(ml_Table *t, size_t columns)
{
    t->left = columns;
}
