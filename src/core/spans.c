/* spans - see spans.h. */
#include "moonloop/core/spans.h"

typedef struct At {
    const ml_Stmt *stmt;
    uint32_t left; /* expressions before the one wanted */
    const ml_Expr *found;
} At;

static void pick_slot(const ml_Expr *e, ml_Role role, void *user)
{
    At *a = user;

    (void)role;
    if (!a->found && a->left-- == 0)
        a->found = e;
}

static const ml_Expr *slot(const ml_Stmt *s, uint32_t k)
{
    At a = {s, k, NULL};

    ml_stmt_exprs(s, pick_slot, &a);
    return a.found;
}

const ml_Expr *ml_expr_at(const ml_ExprPath *path)
{
    const ml_Expr *e = path->n ? slot(path->stmt, path->steps[0]) : NULL;

    for (size_t k = 1; e && k < path->n; k++)
        e = path->steps[k] < e->n_args ? e->args[path->steps[k]] : NULL;
    return e;
}

/* ---- finding a path */
typedef struct Search {
    ml_Ctx *cx;
    const ml_Expr *want;
    ml_Map *seen; /* ids of nodes that do not contain it */
    ML_VEC(uint32_t) path;
    uint32_t slot;
    bool found;
} Search;

static bool search(Search *s, const ml_Expr *e)
{
    if (e == s->want)
        return true;
    if (e->n_args == 0 || (s->want->bloom & ~e->bloom) || s->want->size >= e->size ||
        ml_map_has(s->seen, e->id))
        return false;
    for (uint32_t k = 0; k < e->n_args; k++) {
        ml_push(s->cx, &s->path, k);
        if (search(s, e->args[k]))
            return true;
        s->path.n--;
    }
    ml_map_set(s->cx, s->seen, e->id, e);
    return false;
}

static void search_slot(const ml_Expr *e, ml_Role role, void *user)
{
    Search *s = user;

    (void)role;
    if (s->found)
        return;
    s->path.n = 0;
    ml_push(s->cx, &s->path, s->slot);
    s->found = search(s, e);
    s->slot++;
}

bool ml_expr_path(ml_Ctx *cx, const ml_Stmt *s, const ml_Expr *e, ml_ExprPath *out)
{
    Search x = {.cx = cx, .want = e, .seen = ml_map_new(cx)};

    ml_stmt_exprs(s, search_slot, &x);
    *out = (ml_ExprPath){s, x.path.n, x.path.v};
    return x.found;
}

/* ---- places */
typedef struct Spot { /* a place read, or the open one that everything is inside of */
    uint32_t line, col, end_line, end_col;
} Spot;

static const Spot ANYWHERE = {0, 0, UINT32_MAX, UINT32_MAX};

static Spot spot_of(const ml_ExprPlace *p)
{
    return (Spot){p->line, p->col, p->end_line, p->end_col};
}

static int order(uint32_t line_a, uint32_t col_a, uint32_t line_b, uint32_t col_b)
{
    if (line_a != line_b)
        return line_a < line_b ? -1 : 1;
    return col_a < col_b ? -1 : col_a > col_b;
}

static bool inside(Spot a, Spot b)
{
    return order(b.line, b.col, a.line, a.col) <= 0 &&
           order(a.end_line, a.end_col, b.end_line, b.end_col) <= 0;
}

static bool same(const ml_ExprPlace *p, const ml_Expr *e)
{
    if (p->expr)
        return p->expr == e;
    if (e->kind == ML_EXPR_INT)
        return (double)e->as.i >= p->number && (double)e->as.i <= p->number;
    return e->kind == ML_EXPR_FLOAT && e->as.f >= p->number && e->as.f <= p->number;
}

/* The leftmost, then widest place inside `in` where e was read, beginning at the end of
 * `after` or behind; NULL: none. */
static const ml_ExprPlace *leftmost(const ml_ExprSpans *x, const ml_Expr *e, Spot in,
                                    const Spot *after)
{
    const ml_ExprPlace *best = NULL;

    for (size_t k = 0; k < x->n; k++) {
        const ml_ExprPlace *p = &x->v[k];
        Spot s = spot_of(p);

        if (!inside(s, in) || !same(p, e) ||
            (after && order(s.line, s.col, after->end_line, after->end_col) < 0))
            continue;
        if (best) {
            int c = order(s.line, s.col, best->line, best->col);

            if (c > 0 || (c == 0 && inside(s, spot_of(best))))
                continue;
        }
        best = p;
    }
    return best;
}

/* Places are given to siblings in order: two equal ones are two places. */
typedef struct Row {
    const ml_ExprSpans *x;
    Spot in;
    Spot last; /* of the sibling before */
    bool any;  /* there was one */
    bool numbers_stand_elsewhere;
    uint32_t left;
    const ml_Expr *expr; /* of the sibling wanted, and its place or NULL */
    const ml_ExprPlace *place;
} Row;

static void next(Row *r, const ml_Expr *e)
{
    const ml_ExprPlace *p = NULL;

    if (r->expr)
        return;
    if (r->any)
        p = leftmost(r->x, e, r->in, &r->last);
    if (!p)
        p = leftmost(r->x, e, r->in, NULL);
    if (r->left-- == 0) {
        r->expr = e;
        r->place = p;
    } else if (p && (p->expr || !r->numbers_stand_elsewhere)) {
        r->last = spot_of(p);
        r->any = true;
    }
}

static void next_slot(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    next(user, e);
}

bool ml_expr_span(const ml_ExprPath *path, ml_Span *out, bool *exact)
{
    const ml_Span *whole = path->stmt->span;
    bool known = false;
    /* Minima that are not written are numbers too: those of a text are no landmarks. */
    Row r = {.in = ANYWHERE,
             .numbers_stand_elsewhere =
                 path->stmt->kind == ML_STMT_FOR || path->stmt->kind == ML_STMT_BLOCK};

    if (exact)
        *exact = false;
    if (!whole)
        return false;
    *out = *whole;
    out->exprs = NULL;
    if (!whole->exprs || path->n == 0)
        return true;
    r.x = whole->exprs;
    r.left = path->steps[0];
    ml_stmt_exprs(path->stmt, next_slot, &r);
    for (size_t k = 1; r.expr; k++) {
        known = r.place != NULL;
        if (known) {
            r.in = spot_of(r.place);
            *out = (ml_Span){.file = whole->file,
                             .line = r.in.line,
                             .col = r.in.col,
                             .end_line = r.in.end_line,
                             .end_col = r.in.end_col};
        }
        if (k == path->n || path->steps[k] >= r.expr->n_args)
            break;

        const ml_Expr *e = r.expr;
        Row below = {.x = r.x, .in = r.in, .left = path->steps[k]};

        for (size_t j = 0; j < e->n_args; j++)
            next(&below, e->args[j]);
        r = below;
        known = false;
    }
    if (exact)
        *exact = known;
    return true;
}

const ml_Span *ml_expr_place(ml_Ctx *cx, const ml_Stmt *s, const ml_Expr *e)
{
    ml_ExprPath path;
    ml_Span *out;

    if (!s->span || !s->span->exprs || !ml_expr_path(cx, s, e, &path))
        return s->span;
    out = ML_NEW(cx, ml_Span);
    return ml_expr_span(&path, out, NULL) ? out : s->span;
}
