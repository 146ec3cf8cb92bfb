/*
 * prefetch - the loop annotation `prefetch`: maps {buffer, distance, bytes, rw, locality, spread}.
 *
 * At the head of the body, one prefetch for each cache line that the iteration touches in
 * the buffer, `distance` iterations and `bytes` bytes ahead. The lines are found from the
 * flat indices of the accesses: a part that inner loops do not change, and offsets from it
 * that inner loops, lanes and constants run through. With `spread` they are asked for in the
 * loops below that are annotated `prefetch_here`, some in each iteration, so that they
 * arrive while something is computed. Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

#include <stdlib.h>

enum {
    LINE = 64,
    MAX_LINES = 256,
    MAX_SPREAD = 8192,
    MAX_INNER = 8,
    MAX_DIMS = 4,
    MAX_EACH = 8,
    MAX_PARTS = 16
};

typedef struct Lines { /* of one invariant part */
    const ml_Expr *part;
    const ml_Buffer *b;
    ML_VEC(int64_t) line;
} Lines;

typedef struct Dim { /* what a loop adds to a flat index */
    int64_t step, n;
} Dim;

typedef struct Prefetcher {
    ml_Cg *g;
    const char *name;
    const ml_Var *inner[MAX_INNER];
    int64_t extent[MAX_INNER];
    size_t n_inner;
    Dim dim[MAX_INNER];  /* of the access at hand */
    size_t n_dims, most; /* most: lines of a part */
    bool lost;           /* a variable without a value was met */
    ML_VEC(Lines) parts;
    ML_VEC(const ml_Expr *) seen; /* flat indices */
} Prefetcher;

static const ml_Expr *at_value(Prefetcher *w, const ml_Expr *e, size_t k, int64_t v)
{
    const ml_Var *x = w->inner[k];

    return ml_expr_subst1(w->g->cx, e, x, ml_int(w->g->cx, x->type, v));
}

/* Whether a is more than b by a literal; *by: that. */
static bool differ_by_literal(Prefetcher *w, const ml_Expr *a, const ml_Expr *b,
                              int64_t *by)
{
    const ml_Expr *s = a == b ? NULL : ml_simplify(w->g->ar, ml_sub(w->g->cx, a, b));

    *by = s && s->kind == ML_EXPR_INT ? s->as.i : 0;
    return !s || s->kind == ML_EXPR_INT;
}

/* The lines of the part that e is a literal away from; *by: that. */
static Lines *lines_of(Prefetcher *w, const ml_Buffer *b, const ml_Expr *e, int64_t *by)
{
    Lines l = {.part = ml_simplify(w->g->ar, e), .b = b};

    for (size_t k = 0; k < w->parts.n && k < MAX_PARTS; k++)
        if (w->parts.v[k].b->data == b->data &&
            differ_by_literal(w, l.part, w->parts.v[k].part, by))
            return &w->parts.v[k];
    *by = 0;
    ml_push(w->g->cx, &w->parts, l);
    return &w->parts.v[w->parts.n - 1];
}

static void add_lines(Prefetcher *w, Lines *l, int64_t from, int64_t to, size_t k)
{
    if (k < w->n_dims) {
        for (int64_t v = 0; v < w->dim[k].n && l->line.n < w->most; v++)
            add_lines(w, l, from + v * w->dim[k].step, to + v * w->dim[k].step, k + 1);
        return;
    }
    for (int64_t at = ml_floordiv_i64(from, LINE); at <= ml_floordiv_i64(to, LINE); at++)
        if (l->line.n < w->most && (l->line.n == 0 || l->line.v[l->line.n - 1] != at))
            ml_push(w->g->cx, &l->line, at);
}

static void touch(Prefetcher *w, const ml_Buffer *b, const ml_Expr *first, int64_t lanes)
{
    int64_t bytes = (int64_t)ml_lane_bytes(b->type), by, from;
    Lines *l = lines_of(w, b, first, &by);

    from = by * b->type.lanes * bytes;
    add_lines(w, l, from, from + lanes * bytes - 1, 0);
}

/* Whether e grows by the same amount with each iteration of inner loop k. */
static bool grows_evenly(Prefetcher *w, const ml_Expr *e, size_t k, int64_t *step)
{
    int64_t n = w->extent[k], whole;
    const ml_Expr *first = at_value(w, e, k, 0);

    return differ_by_literal(w, at_value(w, e, k, 1), first, step) &&
           differ_by_literal(w, at_value(w, e, k, n - 1), first, &whole) &&
           whole == (n - 1) * *step;
}

static void run_through(Prefetcher *w, const ml_Buffer *b, const ml_Expr *first,
                        int64_t lanes, size_t k)
{
    int64_t n, step, bytes = (int64_t)ml_lane_bytes(b->type) * b->type.lanes;

    if (k == w->n_inner) {
        touch(w, b, first, lanes);
        return;
    }
    n = ml_expr_uses_var(first, w->inner[k]) ? w->extent[k] : 1;
    if (n > 2 && grows_evenly(w, first, k, &step)) {
        w->dim[w->n_dims++] = (Dim){step * bytes, n};
        run_through(w, b, at_value(w, first, k, 0), lanes, k + 1);
        w->n_dims--;
        return;
    }
    for (int64_t v = 0; v < n && v < MAX_LINES; v++)
        run_through(w, b, at_value(w, first, k, v), lanes, k + 1);
}

static void see_access(Prefetcher *w, const ml_Buffer *b, const ml_Expr *const *idx,
                       size_t n, unsigned lanes)
{
    const ml_Expr *flat, *base, *step;
    int64_t count = lanes;

    if (!ml_streq(b->name, w->name) || !ml_cg_dtype_ok(w->g, b->type))
        return;
    flat = ml_cg_flat(w->g, b, idx, n);
    if (flat->type.lanes > 1) {
        if (!ml_cg_affine(w->g, flat, &base, &step))
            return;
        if (step->kind == ML_EXPR_INT && step->as.i > 1 && step->as.i < LINE)
            count *= step->as.i;
        flat = base;
    }
    if (flat->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
        return;
    for (size_t k = 0; k < w->seen.n; k++)
        if (w->seen.v[k] == flat)
            return;
    ml_push(w->g->cx, &w->seen, flat);
    run_through(w, b, flat, count, 0);
}

static bool see_load(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_LOAD)
        see_access(user, e->as.buffer, e->args, ml_load_rank(e), e->type.lanes);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static void see_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    if (e->size <= 4096)
        ml_expr_visit(e, see_load, user);
}

static void walk(Prefetcher *w, const ml_Stmt *s);

static void see_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    walk(user, s);
}

static void walk(Prefetcher *w, const ml_Stmt *s)
{
    const ml_For *f = s->kind == ML_STMT_FOR ? ml_as_for(s) : NULL;

    if (s->kind == ML_STMT_STORE) {
        const ml_Store *st = ml_as_store(s);
        see_access(w, st->buffer, st->indices, st->n, st->value->type.lanes);
    }
    ml_stmt_exprs(s, see_role, w);
    if (f && w->n_inner < MAX_INNER) {
        bool known = f->extent->kind == ML_EXPR_INT && ml_is_int(f->min, 0) && !f->step;
        w->inner[w->n_inner] = f->var;
        w->extent[w->n_inner++] = known ? f->extent->as.i : 1;
        ml_arith_bind_loop(w->g->ar, f);
        walk(w, f->body);
        w->n_inner--;
        return;
    }
    if (f)
        return;
    ml_stmt_children(s, see_child, w);
}

/* ---------------------------------------------------------------- emission */

static int64_t number(const ml_Value *map, const char *key, int64_t otherwise)
{
    const ml_Value *v = ml_dict_get(map, key);

    if (v && v->kind == ML_VAL_EXPR && v->as.expr->kind == ML_EXPR_INT)
        return v->as.expr->as.i;
    return v && (v->kind == ML_VAL_INT || v->kind == ML_VAL_BOOL) ? v->as.i : otherwise;
}

static bool see_unknown(const ml_Expr *e, void *user)
{
    Prefetcher *w = user;

    if (e->kind == ML_EXPR_VAR && !ml_map_has(w->g->fn->vars, e->as.var->uid))
        w->lost = true;
    return true;
}

/* What the body itself defines has no value at its head: such a part is left out. */
static bool known_here(Prefetcher *w, const ml_Expr *part)
{
    w->lost = false;
    ml_expr_visit(part, see_unknown, w);
    return !w->lost;
}

static int compare_lines(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Lines in order, each of them once. */
static void sort_lines(Lines *l)
{
    size_t n = 0;

    qsort(l->line.v, l->line.n, sizeof *l->line.v, compare_lines);
    for (size_t k = 0; k < l->line.n; k++)
        if (k == 0 || l->line.v[k] != l->line.v[n - 1])
            l->line.v[n++] = l->line.v[k];
    l->line.n = n;
}

/* The address of a part, `distance` iterations of the loop ahead. */
static LLVMValueRef address_ahead(ml_Cg *g, const Lines *l, const ml_For *loop,
                                  int64_t distance)
{
    const ml_Expr *v = ml_var(g->cx, loop->var), *part = l->part;

    if (distance)
        part = ml_expr_subst1(g->cx, part, loop->var,
                              ml_add(g->cx, v, ml_int(g->cx, v->type, distance)));
    return ml_cg_address(g, l->b, part, l->b->type.lanes, 0, false);
}

static void ask_for(ml_Cg *g, LLVMValueRef at, LLVMValueRef by, int64_t rw,
                    int64_t locality)
{
    LLVMValueRef args[4] = {L(BuildGEP2)(g->b, g->i8, at, &by, 1, ""),
                            ml_cg_int(g, g->i32, 0, rw != 0),
                            ml_cg_int(g, g->i32, 0, locality), ml_cg_int(g, g->i32, 0, 1)};

    (void)ml_cg_intrinsic(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

static int64_t locality_of(const ml_Value *map)
{
    int64_t locality = number(map, "locality", 3);

    return locality < 0 ? 0 : locality > 3 ? 3 : locality;
}

static void emit(ml_Cg *g, const Lines *l, const ml_For *loop, const ml_Value *map)
{
    int64_t bytes = number(map, "bytes", 0);
    LLVMValueRef at = address_ahead(g, l, loop, number(map, "distance", 0));

    for (size_t k = 0; k < l->line.n; k++)
        ask_for(g, at, ml_cg_i64(g, l->line.v[k] * LINE + bytes), number(map, "rw", 0),
                locality_of(map));
}

/* ---------------------------------------------------------------- spread over loops below */

struct ml_CgSpread { /* lines that loops below ask for */
    ml_CgSpread *up;
    LLVMValueRef at, turn; /* the first line; where the number of those asked for is kept */
    Dim dim[MAX_DIMS];     /* the innermost first, in bytes */
    size_t n_dims;
    int64_t lines, each, rw, locality; /* each: in an iteration */
};

/* Lines (in order) as a box of steps; false: they are none. */
static bool fit_box(ml_CgSpread *s, const Lines *l)
{
    int64_t inner = 1, total = (int64_t)l->line.n;
    const int64_t *v = l->line.v;

    while (inner < total && s->n_dims < MAX_DIMS) {
        int64_t step = v[inner] - v[0], n = 1;
        while ((n + 1) * inner <= total && v[n * inner] - v[0] == n * step)
            n++;
        s->dim[s->n_dims++] = (Dim){step * LINE, n};
        inner *= n;
        if (total % inner)
            return false;
    }
    for (int64_t k = 0; k < total; k++) {
        int64_t at = 0, left = k;
        for (size_t d = 0; d < s->n_dims; left /= s->dim[d].n, d++)
            at += left % s->dim[d].n * s->dim[d].step;
        if ((v[k] - v[0]) * LINE != at)
            return false;
    }
    return inner == total;
}

typedef struct Turns {
    int64_t outer, n; /* iterations of the loops outside; of all that ask */
} Turns;

static void count_turns(const ml_Stmt *s, bool in_init, void *user)
{
    const ml_For *f = s->kind == ML_STMT_FOR ? ml_as_for(s) : NULL;
    Turns *t = user;
    int64_t outer = t->outer;

    (void)in_init;
    if (f && f->extent->kind == ML_EXPR_INT && f->extent->as.i < INT32_MAX / t->outer)
        t->outer *= f->extent->as.i > 1 ? f->extent->as.i : 1;
    if (f && ml_code_annotated(f, "prefetch_here"))
        t->n += t->outer;
    ml_stmt_children(s, count_turns, t);
    t->outer = outer;
}

static void spread(ml_Cg *g, const Lines *l, const ml_For *loop, const ml_Value *map)
{
    ml_CgSpread *s = ML_NEW(g->cx, ml_CgSpread);
    Turns turns = {1, 0};
    LLVMValueRef by;

    count_turns(loop->body, false, &turns);
    if (turns.n == 0 || (int64_t)l->line.n > MAX_EACH * turns.n || !fit_box(s, l))
        return; /* no loop asks, or there is too little to hide them behind */
    by = ml_cg_i64(g, l->line.v[0] * LINE + number(map, "bytes", 0));
    s->at = address_ahead(g, l, loop, number(map, "distance", 0));
    s->at = L(BuildGEP2)(g->b, g->i8, s->at, &by, 1, "");
    s->turn = ml_cg_alloca(g, g->i64, 8, "asked");
    L(BuildStore)(g->b, ml_cg_i64(g, 0), s->turn);
    s->lines = (int64_t)l->line.n;
    s->each = (s->lines + turns.n - 1) / turns.n;
    s->rw = number(map, "rw", 0);
    s->locality = locality_of(map);
    s->up = g->fn->spread;
    g->fn->spread = s;
}

/* The next lines of what loops outside spread; the last one again where all were asked for. */
static void ask_in_turn(ml_Cg *g, const ml_CgSpread *s)
{
    LLVMValueRef turn = L(BuildLoad2)(g->b, g->i64, s->turn, "");

    for (int64_t k = 0; k < s->each; k++) {
        LLVMValueRef last = ml_cg_i64(g, s->lines - 1), by = ml_cg_i64(g, 0), left;
        LLVMValueRef past = L(BuildICmp)(g->b, LLVMIntUGT, turn, last, "");
        left = L(BuildSelect)(g->b, past, last, turn, "");
        for (size_t d = 0; d < s->n_dims; d++) {
            LLVMValueRef n = ml_cg_i64(g, s->dim[d].n), digit = left;
            if (d + 1 < s->n_dims)
                digit = L(BuildURem)(g->b, left, n, "");
            by = L(BuildAdd)(
                g->b, by, L(BuildMul)(g->b, digit, ml_cg_i64(g, s->dim[d].step), ""), "");
            left = L(BuildUDiv)(g->b, left, n, "");
        }
        ask_for(g, s->at, by, s->rw, s->locality);
        turn = L(BuildAdd)(g->b, turn, ml_cg_i64(g, 1), "");
    }
    L(BuildStore)(g->b, turn, s->turn);
}

void ml_cg_prefetch(ml_Cg *g, const ml_For *loop)
{
    const ml_Value *list = ml_dict_get(loop->annotations, "prefetch");
    size_t n = list == NULL ? 0 : list->kind == ML_VAL_LIST ? list->n : 1;

    if (ml_code_annotated(loop, "prefetch_here"))
        for (const ml_CgSpread *s = g->fn->spread; s; s = s->up)
            ask_in_turn(g, s);
    for (size_t k = 0; k < n && !g->failed; k++) {
        const ml_Value *map = list->kind == ML_VAL_LIST ? list->as.list[k] : list;
        const ml_Value *name = map->kind == ML_VAL_DICT ? ml_dict_get(map, "buffer") : NULL;
        ml_ArithMark facts = ml_arith_save(g->ar);
        bool spreads = name && number(map, "spread", 0) != 0;
        Prefetcher w = {.g = g, .most = spreads ? MAX_SPREAD : MAX_LINES};
        if (name == NULL || name->kind != ML_VAL_STRING) {
            ml_cg_fail(g, "the annotation prefetch is a list of maps with a buffer's name");
            return;
        }
        w.name = name->as.s;
        walk(&w, loop->body);
        ml_arith_restore(g->ar, facts);
        for (size_t j = 0; j < w.parts.n; j++)
            if (w.parts.v[j].line.n > 0 && known_here(&w, w.parts.v[j].part)) {
                sort_lines(&w.parts.v[j]);
                (spreads ? spread : emit)(g, &w.parts.v[j], loop, map);
            }
    }
}
