/*
 * prefetch - the loop annotation `prefetch`: maps {buffer, distance, bytes, rw, locality}.
 *
 * At the head of the body, one prefetch for each cache line that the iteration touches in
 * the buffer, `distance` iterations and `bytes` bytes ahead. The lines are found from the
 * flat indices of the accesses: a part that inner loops do not change, and offsets from it
 * that inner loops, lanes and constants run through. Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { LINE = 64, MAX_LINES = 256, MAX_INNER = 8 };

typedef struct Lines { /* of one invariant part */
    const ml_Expr *part;
    const ml_Buffer *b;
    int64_t *line;
    size_t n;
} Lines;

typedef struct Prefetcher {
    ml_Cg *g;
    const char *name;
    const ml_Var *inner[MAX_INNER];
    int64_t extent[MAX_INNER];
    size_t n_inner;
    bool lost; /* a variable without a value was met */
    ML_VEC(Lines) parts;
} Prefetcher;

static void add_line(Lines *l, int64_t at)
{
    for (size_t k = 0; k < l->n; k++)
        if (l->line[k] == at)
            return;
    if (l->n < MAX_LINES)
        l->line[l->n++] = at;
}

static Lines *lines_of(Prefetcher *w, const ml_Buffer *b, const ml_Expr *part)
{
    Lines l = {part, b, ML_ARRAY(w->g->cx, int64_t, MAX_LINES), 0};

    for (size_t k = 0; k < w->parts.n; k++)
        if (w->parts.v[k].part == part && w->parts.v[k].b->data == b->data)
            return &w->parts.v[k];
    ml_push(w->g->cx, &w->parts, l);
    return &w->parts.v[w->parts.n - 1];
}

static const ml_Expr *at_value(Prefetcher *w, const ml_Expr *e, size_t k, int64_t v)
{
    const ml_Var *x = w->inner[k];

    return ml_expr_subst1(w->g->cx, e, x, ml_int(w->g->cx, x->type, v));
}

/* The part of e that is no literal; *constant: the literal. */
static const ml_Expr *without_constant(Prefetcher *w, const ml_Expr *e, int64_t *constant)
{
    const ml_Expr *s = ml_simplify(w->g->ar, e);

    *constant = 0;
    if (s->kind == ML_EXPR_INT) {
        *constant = s->as.i;
        return ml_int(w->g->cx, s->type, 0);
    }
    if (s->kind == ML_EXPR_ADD && s->args[1]->kind == ML_EXPR_INT) {
        *constant = s->args[1]->as.i;
        return s->args[0];
    }
    if (s->kind == ML_EXPR_SUB && s->args[1]->kind == ML_EXPR_INT) {
        *constant = -s->args[1]->as.i;
        return s->args[0];
    }
    return s;
}

static void touch(Prefetcher *w, const ml_Buffer *b, const ml_Expr *first, int64_t lanes)
{
    int64_t bytes = (int64_t)ml_lane_bytes(b->type), c;
    const ml_Expr *part = without_constant(w, first, &c);
    Lines *l = lines_of(w, b, part);
    int64_t from = c * b->type.lanes * bytes, to = from + lanes * bytes - 1;

    for (int64_t at = ml_floordiv_i64(from, LINE); at <= ml_floordiv_i64(to, LINE); at++)
        add_line(l, at);
}

static void run_through(Prefetcher *w, const ml_Buffer *b, const ml_Expr *first,
                        int64_t lanes, size_t k)
{
    int64_t n;

    if (k == w->n_inner) {
        touch(w, b, first, lanes);
        return;
    }
    n = ml_expr_uses_var(first, w->inner[k]) ? w->extent[k] : 1;
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
    if (flat->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL))
        return;
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

static void emit(ml_Cg *g, const Lines *l, const ml_For *loop, const ml_Value *map)
{
    int64_t distance = number(map, "distance", 0), bytes = number(map, "bytes", 0);
    int64_t rw = number(map, "rw", 0), locality = number(map, "locality", 3);
    const ml_Expr *part = l->part, *v = ml_var(g->cx, loop->var);
    const ml_Expr *ahead;
    LLVMValueRef at;

    locality = locality < 0 ? 0 : locality > 3 ? 3 : locality;
    if (distance) {
        ahead = ml_add(g->cx, v, ml_int(g->cx, v->type, distance));
        part = ml_expr_subst1(g->cx, part, loop->var, ahead);
    }
    at = ml_cg_address(g, l->b, part, l->b->type.lanes, 0, false);
    for (size_t k = 0; k < l->n; k++) {
        LLVMValueRef by = ml_cg_i64(g, l->line[k] * LINE + bytes);
        LLVMValueRef args[4] = {
            L(BuildGEP2)(g->b, g->i8, at, &by, 1, ""), ml_cg_int(g, g->i32, 0, rw != 0),
            ml_cg_int(g, g->i32, 0, locality), ml_cg_int(g, g->i32, 0, 1)};
        (void)ml_cg_intrinsic(g, "llvm.prefetch", &g->ptr, 1, args, 4);
    }
}

void ml_cg_prefetch(ml_Cg *g, const ml_For *loop)
{
    const ml_Value *list = ml_dict_get(loop->annotations, "prefetch");
    size_t n = list == NULL ? 0 : list->kind == ML_VAL_LIST ? list->n : 1;

    for (size_t k = 0; k < n && !g->failed; k++) {
        const ml_Value *map = list->kind == ML_VAL_LIST ? list->as.list[k] : list;
        const ml_Value *name = map->kind == ML_VAL_DICT ? ml_dict_get(map, "buffer") : NULL;
        ml_ArithMark facts = ml_arith_save(g->ar);
        Prefetcher w = {.g = g};
        if (name == NULL || name->kind != ML_VAL_STRING) {
            ml_cg_fail(g, "the annotation prefetch is a list of maps with a buffer's name");
            return;
        }
        w.name = name->as.s;
        walk(&w, loop->body);
        ml_arith_restore(g->ar, facts);
        for (size_t j = 0; j < w.parts.n; j++)
            if (known_here(&w, w.parts.v[j].part))
                emit(g, &w.parts.v[j], loop, map);
    }
}
