/*
 * search - finding rows: by text (small letters match great ones too), by the extent of the
 * loop that a row stands for (>64, <8, =16). In the tree of loops what is folded is found
 * too, and unfolded. Source: interaction 10.
 */
#include "moonloop/core/base/arena.h"
#include "moonloop/core/base/utf8.h"
#include "repl/view/view.h"

void ml_do_search(ml_View *v)
{
    v->asking = true;
    ml_text_clear(&v->ask);
    ml_text_clear(&v->message);
}

/* ---- matching */

typedef struct Pattern {
    char op; /* '>', '<', '='; 0: text */
    int64_t number;
    bool any_case;
    const char *text;
} Pattern;

static Pattern pattern_of(const char *z)
{
    Pattern p = {.text = z, .any_case = true};
    const char *d = z + 1;

    if (*z == '>' || *z == '<' || *z == '=') {
        d += strspn(d, " =");
        for (; *d >= '0' && *d <= '9' && p.number < INT64_MAX / 16; d++)
            p.number = 10 * p.number + (*d - '0');
        if (*d == '\0' && d > z + 1 && d[-1] != '=' && d[-1] != ' ')
            p.op = *z;
    }
    for (const char *c = z; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            p.any_case = false;
    return p;
}

bool ml_view_match(const ml_View *v, const char *text, size_t from, size_t *at, size_t *n)
{
    if (!v->search || !*v->search)
        return false;
    Pattern p = pattern_of(v->search);

    *n = strlen(v->search);
    return !p.op && ml_find_text(text, p.text, from, p.any_case, at);
}

static bool row_matches(const ml_View *v, const Pattern *p, const ml_Row *row)
{
    size_t at;

    if (!p->op)
        return ml_find_text(row->text, p->text, 0, p->any_case, &at);
    const ml_Stmt *st = ml_view_stmt(v, row->node);

    if (!st || st->kind != ML_STMT_FOR || !ml_is_const_int(ml_as_for(st)->extent))
        return false;
    int64_t extent = ml_as_for(st)->extent->as.i;

    return p->op == '>'   ? extent > p->number
           : p->op == '<' ? extent < p->number
                          : extent == p->number;
}

/* ---- walking */

/* The next row that matches, from the cursor on, around the end. For extents a loop counts
 * once: where its rows begin. */
static int next_match(ml_View *v, int by)
{
    const ml_Rows *r = ml_view_rows(v, v->in);
    Pattern p = pattern_of(v->search);
    int n = (int)r->v.n, at = v->pane[v->in].cursor;

    for (int k = 1; k <= n; k++) {
        int m = ((at + by * k) % n + n) % n;

        if (row_matches(v, &p, &r->v.v[m]) &&
            !(p.op && m > 0 && r->v.v[m - 1].node == r->v.v[m].node))
            return m;
    }
    return -1;
}

/* The same below what is folded: its ancestors are unfolded. */
static int match_in_folds(ml_View *v, int by)
{
    size_t n = v->folded.n;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Uid *was = ML_ARRAY(cx, ml_Uid, n + 1), node = 0;
    int at;

    for (size_t k = 0; k < n; k++)
        was[k] = v->folded.v[k];
    while (v->folded.n > 0)
        ml_view_fold(v, v->folded.v[0], false);
    at = next_match(v, by);
    if (at >= 0)
        node = v->pane[v->in].rows.v.v[at].node;
    for (size_t k = 0; k < n; k++)
        if (!node ||
            !ml_index_is_above(ml_schedule_program(v->ss->focus).index, was[k], node))
            ml_view_fold(v, was[k], true);
    ml_ctx_unref(cx);
    if (at < 0)
        return -1;
    const ml_Rows *r = ml_view_rows(v, v->in);

    for (size_t k = 0; k < r->v.n; k++)
        if (r->v.v[k].node == node)
            return (int)k;
    return -1;
}

static void search(ml_View *v, int by, bool anew)
{
    int was = v->pane[v->in].cursor, at = -1;

    if (!v->search || !*v->search) {
        ml_view_say(v, "nothing was searched for yet: / searches");
        return;
    }
    if (ml_view_rows(v, v->in)->v.n > 0)
        at = next_match(v, by);
    if (at < 0 && v->in == ML_PANE_LOOPS && v->folded.n > 0 && v->ss->focus)
        at = match_in_folds(v, by);
    if (at < 0) {
        ml_view_say(v, "%s is not in pane %d %s", v->search, (int)v->in,
                    ml_pane_names[v->in] ? ml_pane_names[v->in] : "");
        return;
    }
    if (!anew && ((by > 0 && at <= was) || (by < 0 && at >= was)))
        ml_view_say(v, "search went around the end");
    ml_view_go(v, v->in, at);
}

void ml_do_search_next(ml_View *v)
{
    search(v, v->row->way, false);
}

/* ---- the line that asks */

void ml_view_search_key(ml_View *v, const ml_Key *k)
{
    if (!k->name) {
        if (v->ask.n < 200)
            ml_text_add(&v->ask, k->ch);
        return;
    }
    if (ml_streq(k->name, "backspace") || ml_streq(k->name, "C-h")) {
        if (v->ask.n == 0)
            v->asking = false;
        ml_text_drop_last(&v->ask);
    } else if (ml_streq(k->name, "C-u")) {
        ml_text_clear(&v->ask);
    } else if (ml_streq(k->name, "esc") || ml_streq(k->name, "C-c")) {
        v->asking = false;
    } else if (ml_streq(k->name, "enter") || ml_streq(k->name, "C-j")) {
        v->asking = false;
        if (v->ask.n > 0) { /* nothing: the last one again */
            ml_heap_free(v->search);
            v->search = ml_heap_text(ml_text_z(&v->ask));
        }
        search(v, 1, v->ask.n > 0);
    } else if (ml_streq(k->name, "up") && v->search) {
        ml_text_clear(&v->ask);
        ml_text_add(&v->ask, v->search);
    }
}
